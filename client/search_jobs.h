/* SPDX-License-Identifier: Apache-2.0 */
/* search_jobs.h - the jobs of a search, as the scheduler has them, and its trials by that
 *
 * A trial has a job for each rung, and a new one each time that it was stopped with its search. Of
 * a rung the newest counts. Used by: search_run.c, search_view.c, cmd_search.c. Tests:
 * tests/unit/test_search_jobs.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/search_core.h"
#include "client/search_record.h"

struct edl_error;
struct server;

/* With these reasons, word for word, the verbs of a search end its jobs: what a kill was for is
 * kept by the scheduler as it was given, and nowhere else. */
#define SEARCH_STOPPED "it was stopped with its search"
#define SEARCH_REACHED "it has come as far as its search lets it"

struct search_job {
    uint64_t id;
    unsigned trial, rung, attempt;
    json_t *json; /* owned; as the scheduler shows it */
};

struct search_jobs {
    char *name, *user;           /* owned */
    struct search_record record; /* of the oldest; json NULL: there are no jobs */
    struct search_job *jobs;     /* owned; n, by id */
    size_t n;
};

/* search_jobs_read - all of the caller's jobs of that search; prints a failure, returns enum
 * status. None at all is none */
int search_jobs_read(struct server *server, const char *name, struct search_jobs *ret);

/* search_jobs_look - at one job, which may be new; *ret_ours (may be NULL): it is of the search.
 * Returns enum status */
int search_jobs_look(struct server *server, struct search_jobs *jobs, uint64_t id, bool *ret_ours);

/* search_jobs_take - a job as the server shows it; false: it is of another search, or of none */
bool search_jobs_take(struct search_jobs *jobs, const json_t *job);

/* search_jobs_has - whether it is one of them */
bool search_jobs_has(const struct search_jobs *jobs, uint64_t id);
void search_jobs_clear(struct search_jobs *jobs);

/* A trial, and what its jobs say beside. */
struct search_trial_jobs {
    struct search_job newest; /* of its highest rung; its json is held */
    bool is_stopped;          /* with its search: to be started anew */
    bool is_ending;           /* somebody ends it */
};

struct search_trials {
    struct search_trial *trials; /* n, by number; owned, with all that they point to */
    struct search_trial_jobs *jobs;
    size_t n;
    uint64_t first_us; /* when the first job was submitted; 0: there is none */
};

/* search_trials_make - what is known of them; jobs may change behind it */
void search_trials_make(const struct search_jobs *jobs, struct search_trials *ret);
void search_trials_clear(struct search_trials *trials);

/* search_trials_history - borrowed; now_us: of the wall clock */
struct search_history search_trials_history(const struct search_trials *trials, uint64_t now_us);

/* search_job_is_stopped - it ends, or ended, because its search was stopped */
bool search_job_is_stopped(const json_t *job);
