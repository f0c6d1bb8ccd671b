/* SPDX-License-Identifier: Apache-2.0 */
/* search_submit.h - the calls with which a search changes something: a trial's job comes or goes
 *
 * Each can be made again, and by two at once, to one effect. Used by: search_run.c, cmd_search.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct search_action;
struct search_jobs;
struct server;

/* search_submit - a trial's job on its rung; *ret_full: it was refused, as its user has as many as
 * may be (then STATUS_OK). Prints a failure, returns enum status
 * attempt: how often it was stopped with its search on this rung. values: n_parameters */
int search_submit(struct server *server, struct search_jobs *jobs,
                  const struct search_action *action, unsigned attempt, const double *values,
                  bool *ret_full);

/* search_end_job - kills it for one of the reasons of search_jobs.h; one that is over is no
 * failure. Prints a failure, returns enum status */
int search_end_job(struct server *server, uint64_t id, const char *reason);
