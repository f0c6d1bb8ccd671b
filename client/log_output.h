/* SPDX-License-Identifier: Apache-2.0 */
/* log_output.h - where lines go: standard output, or a file, whole lines at a time
 *
 * Lines are put together in memory and written together. So a file that somebody reads meanwhile,
 * or that a disk had no room for, ends with a whole line.
 *
 * Used by: cmd_logs.c, job_logs.c. Tests: tests/integration/302-logs-whole.sh. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct edl_error;
struct log_output;

/* log_output_open - path NULL: standard output. grows: the file has the lines as they come. Else
 * the file of before stays until all are there; they are in PATH.part meanwhile. */
int log_output_open(const char *path, bool grows, struct log_output **ret, struct edl_error *error);

/* log_output_stream - for whole lines; borrowed */
FILE *log_output_stream(const struct log_output *output);

/* log_output_flush - what is there goes out; -errno, also of an earlier one, with error */
int log_output_flush(struct log_output *output, struct edl_error *error);

/* log_output_is_due - much is there */
bool log_output_is_due(const struct log_output *output);

/* log_output_close - done: all came, so the file takes its name; frees it in any case */
int log_output_close(struct log_output *output, bool done, struct edl_error *error);
