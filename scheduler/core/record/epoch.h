/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.h - the history is begun anew from a backup */
#pragma once

#include <stdint.h>

struct cluster;
struct instant;

/* The part of a history that is left when its last days are lost. */
struct epoch_known {
    uint64_t next_job;       /* above each number that somebody who is left knows */
    uint64_t made_us;        /* the cluster, by the wall clock */
    uint64_t known_until_us; /* the newest moment that is known */
};

struct epoch_numbers {
    uint64_t
        first; /* of incarnations and generations of the jobs that go on: above all ever given */
    uint64_t first_job;
    uint64_t first_incarnation; /* of the jobs that are submitted from now on */
};

/* epoch_first_job - where jobs go on at now_us of the wall clock
 * People type these numbers, so they stay short: the next round thousand behind ten times as many
 * jobs as came in an equal time in the mean; 1000 at least, LOST_JOBS_MOST (cluster.h) at most. */
uint64_t epoch_first_job(const struct epoch_known *known, uint64_t now_us);

/* epoch_first_incarnation - epoch: seconds. Should more jobs have come than that, the second one of
 * a number has other incarnations than the first. */
uint64_t epoch_first_incarnation(uint64_t epoch);

/* cluster_begin_epoch - after cluster_restored, from a backup: what goes on is numbered from
 * numbers on. Linear. */
void cluster_begin_epoch(struct cluster *cluster, const struct epoch_numbers *numbers,
                         struct instant now);
