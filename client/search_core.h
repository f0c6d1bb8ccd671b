/* SPDX-License-Identifier: Apache-2.0 */
/* search_core.h - what a search does next: history in, actions out
 *
 * Pure: no clock, no I/O, no state between calls. Which values trial k has depends on the space
 * (its seed too), on k, on the values of the trials before it and on the results of trials 1 to k -
 * parallel, never on when somebody asked, or how often. Which trials of a rung go on depends on
 * their results in the order of their numbers. So a search that was killed decides the same when
 * somebody resumes it, and two that run at once ask for the same trials.
 * Used by: search_run.c. Tests: tests/unit/test_search_core.c, test_search_methods.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "client/search_space.h"

enum search_trial_state {
    SEARCH_TRIAL_WAITS, /* submitted, and has not begun */
    SEARCH_TRIAL_RUNS,
    SEARCH_TRIAL_PAUSED, /* its rung is done, and it may go on from its checkpoint */
    SEARCH_TRIAL_DONE,   /* its program ended well; on a rung below the last it may go on, too */
    SEARCH_TRIAL_FAILED, /* on its rung; its figures of the rungs before still count */
};

/* A value of the metric, in the order of telling. */
struct search_point {
    unsigned int rung; /* of the job that told it */
    double resource;   /* NAN when none was told with it */
    double value;      /* NAN and infinities count as the worst */
};

struct search_trial {
    unsigned int number;  /* from 1 on */
    const double *values; /* n_parameters */
    unsigned int rung;    /* the last one that was started; 0 without asha */
    enum search_trial_state state;
    const struct search_point *points;
    size_t n_points;
    double core_s; /* of all rungs, so far */
};

struct search_history {
    const struct search_trial *trials; /* by number; a number may be missing, none is there twice */
    size_t n_trials;
    double elapsed_s; /* since the first trial was submitted */
};

enum search_act {
    SEARCH_START,    /* a new trial */
    SEARCH_CONTINUE, /* a trial goes on to the next rung, from its checkpoint */
    SEARCH_PAUSE, /* it has gone beyond its rung's resource: its program does not stop by itself */
    SEARCH_STOP,  /* as above on the last rung, or the search ends */
};

struct search_action {
    enum search_act act;
    unsigned int number;
    double *values; /* of SEARCH_START: n_parameters, owned by the actions; else NULL */
    unsigned int rung;
    uint64_t resource; /* to reach; 0: the space names none */
};

enum search_end {
    SEARCH_GOES_ON,
    SEARCH_END_TRIALS,     /* all trials of the budget have ended */
    SEARCH_END_POINTS,     /* each point of the space was tried */
    SEARCH_END_CORE_HOURS, /* budgets that are used up */
    SEARCH_END_TIME,
    SEARCH_END_FAILING,   /* the first trials failed, and none succeeded: `trial` failed first */
    SEARCH_END_NO_METRIC, /* `trial` ended well and told no value of the metric, nor did another */
};

struct search_actions {
    struct search_action *actions;
    size_t n;
    enum search_end end; /* SEARCH_GOES_ON without actions: wait until something changes */
    unsigned int trial;  /* that shows why; 0: none */
    unsigned int best;   /* the trial with the best result so far; 0: none has one */
};

/* search_next - what to do now
 *
 * room: how many jobs may be started beside those under way. ret: search_actions_clear. The same
 * call again gives the same; after the actions are part of the history it gives what follows. */
void search_next(const struct search_space *space, const struct search_history *history,
                 unsigned int room, struct search_actions *ret);

void search_actions_clear(struct search_actions *actions);

/* search_result - the metric's value of a trial: of the last rung that has one; NAN: none, or it
 * failed. Trials under way have one, too, which may change. */
double search_result(const struct search_space *space, const struct search_trial *trial);

/* search_best - number of the trial with the best result among those that ended or paused; 0: none
 */
unsigned int search_best(const struct search_space *space, const struct search_history *history);

/* search_rungs - how many the space has: 1 without asha */
unsigned int search_rungs(const struct search_space *space);

/* search_rung_resource - what a trial reaches on it; 0: the space names no resource */
uint64_t search_rung_resource(const struct search_space *space, unsigned int rung);

/* search_end_text - "all trials have ended", static */
const char *search_end_text(enum search_end end);
