/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_file.h - reading the files of a scenario; private to scenario*.c */
#pragma once

#include <stddef.h>

struct document_bounds;
struct edl_error;

/* Scenarios go through the job documents' reader; they are one's own, and list many jobs. */
#define SCENARIO_FILE_MAX_BYTES (1024 * 1024)
extern const struct document_bounds scenario_file_bounds;

/* scenario_read_file - the whole of a file, NUL-terminated, owned by the caller; -EINVAL, -E2BIG */
int scenario_read_file(const char *path, char **ret, size_t *ret_size, struct edl_error *error);
