/* SPDX-License-Identifier: Apache-2.0 */
/* search_view.h - the trials of a search as a table, as CSV and as JSON
 *
 * Sorted: the best first, then those without a result, then those that failed. Pure. Used by:
 * cmd_search.c, search_tell.c. Tests: tests/unit/test_search_jobs.c. */
#pragma once

#include <jansson.h>
#include <stdio.h>

struct search_jobs;
struct search_space;
struct search_trials;

/* search_view_order - indexes of trials, as they are shown; the caller's to free */
size_t *search_view_order(const struct search_space *space, const struct search_trials *trials);

/* search_view_values - "lr=0.001 layers=3", without what is not active; new string */
char *search_view_values(const struct search_space *space, const double *values);

/* search_view_command - of the trial's job, as a shell takes it; new string */
char *search_view_command(const json_t *job);

void search_view_table(const struct search_jobs *jobs, const struct search_trials *trials,
                       FILE *out);
void search_view_csv(const struct search_jobs *jobs, const struct search_trials *trials, FILE *out);

/* search_view_best - one trial in two lines: its result with its values, and its command */
void search_view_best(const struct search_jobs *jobs, const struct search_trials *trials,
                      unsigned number, FILE *out);

/* search_view_json - all that is known, with the way of each metric; new reference */
json_t *search_view_json(const struct search_jobs *jobs, const struct search_trials *trials);

/* search_view_state - "waits", "runs", "paused", "done", "failed", "stopped"; static */
const char *search_view_state(const struct search_trials *trials, size_t i);
