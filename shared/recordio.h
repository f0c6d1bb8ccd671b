/* SPDX-License-Identifier: Apache-2.0 */
/* recordio.h - Paddle's RecordIO file: chunks of records with a checksum
 *
 * File = chunks, no file header. Chunk = 20-byte little-endian header {magic 0x01020304, CRC32
 * (IEEE) of the stored payload, compressor 0 none | 1 snappy framing | 2 gzip, stored size,
 * records} + payload; payload = (uint32 length, bytes) for each record. Untrusted input: every size
 * is checked before use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"

#define RECORDIO_MAGIC UINT32_C(0x01020304)
#define RECORDIO_HEADER_BYTES 20
#define RECORDIO_CHUNK_BYTES_MAX (64u * 1024 * 1024) /* larger stored or raw sizes are refused */

enum recordio_compressor { RECORDIO_NONE = 0, RECORDIO_SNAPPY = 1, RECORDIO_GZIP = 2 };

/* One chunk of a file's index. */
struct recordio_chunk {
    uint64_t offset_bytes;
    uint32_t stored_bytes;
    uint32_t n_records;
    enum recordio_compressor compressor;
};

/* Writer. A record that would take the chunk over chunk_bytes starts a new one. Synced and renamed
 * into place at close. */
struct recordio_writer;
int recordio_writer_open(const char *path, enum recordio_compressor compressor, size_t chunk_bytes,
                         struct recordio_writer **ret, struct edl_error *error);
int recordio_write(struct recordio_writer *writer, const void *record, size_t size,
                   struct edl_error *error);
int recordio_writer_close(struct recordio_writer *take_writer, struct edl_error *error);
void recordio_writer_abort(struct recordio_writer *take_writer); /* leaves no file; accepts NULL */

/* recordio_index - reads headers only; *ret_chunks: malloc'd array of *ret_n */
int recordio_index(const char *path, struct recordio_chunk **ret_chunks, size_t *ret_n,
                   struct edl_error *error);

/* What the headers of a file say, up to the first that is damaged. */
struct recordio_survey {
    struct recordio_chunk *chunks; /* owned */
    size_t n_chunks;
    uint64_t file_bytes;
    uint64_t lost_bytes;     /* from the damaged header to the end; 0: none is damaged */
    struct edl_error damage; /* where, and how; set when lost_bytes is not 0 */
};

/* recordio_survey - as recordio_index, of a file that may be damaged; recordio_survey_clear */
int recordio_survey(const char *path, struct recordio_survey *ret, struct edl_error *error);
void recordio_survey_clear(struct recordio_survey *survey);

/* recordio_begins - the open file begins as a RecordIO file does; its position stays */
bool recordio_begins(int fd);

/* One chunk in memory: records as (offset, size) into data. */
struct recordio_records {
    uint8_t *data;
    uint32_t *offsets; /* n + 1 entries are not used: see sizes */
    uint32_t *sizes;
    uint32_t n;
};

/* recordio_read_chunk - one chunk, checksum verified; EDL_ECORRUPT names file and offset */
int recordio_read_chunk(const char *path, uint64_t offset_bytes, struct recordio_records *ret,
                        struct edl_error *error);
void recordio_records_clear(struct recordio_records *records);
