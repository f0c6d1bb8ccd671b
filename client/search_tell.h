/* SPDX-License-Identifier: Apache-2.0 */
/* search_tell.h - what happens to a search, for the person who waits for it: on stderr
 *
 * Used by: search_run.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search_actions;
struct search_jobs;
struct search_trial_jobs;
struct search_trials;
struct server;

/* The state of each job that people were told last. */
struct search_told {
    struct search_told_job {
        uint64_t id;      /* 0: nothing */
        int state;        /* enum search_trial_state */
        bool was_stopped; /* with its search, before this began */
    } * jobs;             /* owned */
    size_t n;
    double best; /* result that was told as the best so far; NAN: none was */
};

/* search_told_begin - what is there counts as told, and is said in one line */
void search_told_begin(struct search_told *told, const struct search_jobs *jobs,
                       const struct search_trials *trials);
void search_told_end(struct search_told *told);

/* search_told_before - whether the newest job of a trial was stopped before this began */
bool search_told_before(const struct search_told *told, const struct search_trial_jobs *jobs);

/* search_tell_news - trials that started or ended since */
void search_tell_news(struct search_told *told, const struct search_jobs *jobs,
                      const struct search_trials *trials);

/* search_tell_stopped - somebody stopped it; search_tell_end - it is over, why, and what came of
 * it. Return enum status */
int search_tell_stopped(const struct search_jobs *jobs);
int search_tell_end(struct server *server, const struct search_jobs *jobs,
                    const struct search_trials *trials, const struct search_actions *actions);
