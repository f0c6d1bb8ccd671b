/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_play.h - a copy of a cluster, played forward in time
 *
 * A caller changes the copy through cluster_*, then calls play_plan, then play_step as long as it
 * wants to know more. Nodes stay as they are: none is lost, none comes. Jobs that tell nothing grow
 * older, and the policy is told so as by reports. Of the others nobody knows what they will tell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/clock.h"

struct edl_error;
struct play_end;
struct play_pending;
struct process;

struct play {
    struct cluster *cluster; /* the copy; owned */
    struct instant now;
    uint64_t until_us;          /* looks no further */
    uint64_t stop_us, start_us; /* how long a stop and a start take */
    bool longest;               /* a stop takes the whole grace */
    uint32_t steps_left;
    uint32_t renewals_left; /* of them, that only renew beliefs: a day has many */
    bool cut_short;         /* no steps were left, though something would have happened */
    /* a process of a job that goes on was asked to stop; may be NULL */
    void (*on_stop)(const struct process *process, void *userdata);
    void *userdata;
    const struct job *ended; /* the last one that ended; NULL: none did */
    bool ended_by_limit;     /* it reached its time limit */
    uint32_t n_ended;
    /* its own */
    struct play_pending *pending; /* uthash by process; owned */
    struct play_end *ends;        /* owned */
    size_t n_ends;
};

struct forecast_options;

/* play_init - copies the cluster; EDL_ECORRUPT when it does not hold together */
int play_init(struct play *play, const struct cluster *cluster, struct instant now,
              const struct forecast_options *options, bool longest, struct edl_error *error);
void play_done(struct play *play);

/* play_plan - plans, and notes what starts and stops from it */
void play_plan(struct play *play);

/* play_end_is_next - nothing happens any more before some job ends */
bool play_end_is_next(const struct play *play);

/* play_knows_an_end - of a job that is at work it is known how much it has left */
bool play_knows_an_end(const struct play *play);

/* play_is_settled - nothing starts or stops */
bool play_is_settled(const struct play *play);

/* play_step - on to the next instant at which something happens, and plans; false: nothing happens
 * until the horizon, or all steps are used up. Jobs end only with_ends. */
bool play_step(struct play *play, bool with_ends);
