/* SPDX-License-Identifier: Apache-2.0 */
/* file_write.h - whole reads, a file that is read back, and the folder of a file */
#pragma once

#include <stddef.h>

struct edl_error;

/* file_read_all - exactly size bytes; -ENODATA at an early end */
int file_read_all(int fd, void *data, size_t size);

/* Bytes that follow each other in a file. */
struct file_piece {
    const void *data;
    size_t size;
};

/* file_write_pieces - all of them, on disk when this returns */
int file_write_pieces(int fd, const struct file_piece *pieces, size_t n);

/* file_reads_back - whether a file that was synced has just these bytes; from the disk, where the
 * kernel lets go of what it keeps in memory. -EIO: it has others, or more, or fewer */
int file_reads_back(int folder, const char *name, const struct file_piece *pieces, size_t n);

/* file_parent - the folder that path lies in, new string */
char *file_parent(const char *path);

/* file_make_parent - the folder that path lies in (one level; existing is fine); on disk */
int file_make_parent(const char *path, struct edl_error *error);
