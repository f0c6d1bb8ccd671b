/* SPDX-License-Identifier: Apache-2.0 */
/* file_write.h - whole reads and writes, and what makes a rename survive a power cut */
#pragma once

#include <stddef.h>

struct edl_error;

int file_write_all(int fd, const void *data, size_t size);

/* file_read_all - exactly size bytes; -ENODATA at an early end */
int file_read_all(int fd, void *data, size_t size);

/* file_parent - the folder that path lies in, new string */
char *file_parent(const char *path);

/* file_make_parent - the folder that path lies in (one level; existing is fine) */
int file_make_parent(const char *path, struct edl_error *error);

/* file_sync_parent - makes a rename into path's folder durable */
int file_sync_parent(const char *path, struct edl_error *error);
