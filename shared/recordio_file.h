/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_file.h - the bytes of a RecordIO file, and the header of a chunk as it stands there
 *
 * For recordio.c and recordio_survey.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"

/* A chunk's header as it was read: five little endian words. */
struct recordio_header {
    uint32_t magic, crc, compressor, stored_bytes, n_records;
};

/* recordio_file_open - a regular file; *ret_fd is the caller's */
int recordio_file_open(const char *path, int *ret_fd, uint64_t *ret_size_bytes,
                       struct edl_error *error);

/* recordio_file_read - all of size bytes; -ENODATA when the file ends before */
int recordio_file_read(int fd, uint64_t offset_bytes, uint8_t *data, size_t size);

uint32_t recordio_load_le32(const uint8_t *p);

/* recordio_header_read - the header at a place, and the checks that need no payload
 * EDL_ECORRUPT: *ret_what says how it is damaged (static), and *ret is what stands there, or zeros.
 */
int recordio_header_read(int fd, uint64_t offset_bytes, uint64_t file_bytes,
                         struct recordio_header *ret, const char **ret_what);

/* recordio_damaged - sets error to what is wrong with the chunk at a place; EDL_ECORRUPT */
int recordio_damaged(const char *path, uint64_t offset_bytes, const char *what,
                     struct edl_error *error);
