/* SPDX-License-Identifier: Apache-2.0 */
/* job_columns.h - what a list of jobs shows of each: columns by their names
 *
 * Tests: tests/unit/test_job_filter.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct edl_error;
struct job_column;

#define JOB_COLUMNS_MAX 16

/* The columns of `edl ps` when nobody names any. */
#define JOB_COLUMNS_USUAL "id,job,state,instances,progress,time,reason"

struct job_columns {
    const struct job_column *columns[JOB_COLUMNS_MAX]; /* static */
    size_t n;
};

/* job_columns_read - a list such as "id,name,state", with commas or blanks between. -EINVAL: the
 * nearest name is the remedy */
int job_columns_read(const char *list, struct job_columns *ret, struct edl_error *error);

/* job_columns_print - a table of jobs. header: with the names of the columns */
void job_columns_print(const struct job_columns *shown, const json_t *jobs, bool header, FILE *out);
