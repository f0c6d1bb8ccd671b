/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_file.h - reading the files of a scenario; private to scenario*.c */
#pragma once

#include <stddef.h>

#include "shared/job_document.h"

struct edl_error;

/* scenarios go through the job documents' reader and have its bound */
#define SCENARIO_FILE_MAX_BYTES JOB_DOCUMENT_MAX_BYTES

/* scenario_read_file - the whole of a file, NUL-terminated, owned by the caller; -EINVAL, -E2BIG */
int scenario_read_file(const char *path, char **ret, size_t *ret_size, struct edl_error *error);
