/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h - traces in the project's own form, CSV or JSON: edl-trace(5) */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct edl_error;
struct trace;

/* trace_read - a file whose name ends in .json is JSON, any other CSV; adaptive: jobs with
 * Pollux' physics choose their batches
 * Errors: -EINVAL and what opening gives; they name file, line or job, column and remedy. */
int trace_read(const char *path, bool adaptive, struct trace **ret, struct edl_error *error);

/* trace_parse_csv, trace_parse_json - text of n bytes with a NUL behind it; CSV is taken over
 * (malloc'ed), JSON is borrowed */
int trace_parse_csv(const char *name, char *text, size_t n, bool adaptive, struct trace **ret,
                    struct edl_error *error);
int trace_parse_json(const char *name, const char *text, size_t n, bool adaptive,
                     struct trace **ret, struct edl_error *error);

/* trace_write - the same form; what was read again is the same trace. -EIO */
int trace_write(const struct trace *trace, bool json, FILE *file, struct edl_error *error);
