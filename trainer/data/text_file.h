/* SPDX-License-Identifier: Apache-2.0 */
/* text_file.h - a whole file in memory, as long as it is not too large */
#pragma once

#include <stddef.h>

struct edl_error;

/* text_file_read - all bytes of a regular file, and a NUL after them; *ret is the caller's
 * Errors: what opening and reading give, -EINVAL when it is no regular file (a FIFO would make the
 * caller wait), -E2BIG above bytes_max. */
int text_file_read(const char *path, size_t bytes_max, char **ret, size_t *ret_size,
                   struct edl_error *error);
