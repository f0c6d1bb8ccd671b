/* SPDX-License-Identifier: Apache-2.0 */
/* file_write.h - whole reads and writes, and the folder of a file */
#pragma once

#include <stddef.h>

struct edl_error;

int file_write_all(int fd, const void *data, size_t size);

/* file_read_all - exactly size bytes; -ENODATA at an early end */
int file_read_all(int fd, void *data, size_t size);

/* file_parent - the folder that path lies in, new string */
char *file_parent(const char *path);

/* file_make_parent - the folder that path lies in (one level; existing is fine); on disk */
int file_make_parent(const char *path, struct edl_error *error);
