/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h - where an instance goes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/capacity.h"
#include "shared/job_spec.h"

struct job;
struct job_spec;

/* Nodes of a job that are looked at before all others. */
#define NEAR_MAX 16

/* A role's instances to be placed. */
struct demand {
    uint32_t role;
    uint32_t count;
    struct want want;               /* of one; of the first, where each has a node of its own */
    const struct role_spec *pinned; /* it names the node of each; NULL: any node; borrowed */
    bool spread;                    /* one to each idle node, if there are as many */
    const uint32_t *slots;          /* pinned: their indexes; NULL: from 0 on; borrowed */
};

struct placed {
    struct room *room;
    uint32_t role;
    struct resources need;
};

/* Rooms in which a job has something already. */
struct near {
    struct room *rooms[NEAR_MAX];
    size_t n, next;
};

struct want want_of_role(const struct role_spec *role);

/* want_of - the same for this job: on no node that cannot run it */
struct want want_of(const struct job *job, uint32_t role);

/* want_of_slot - want_of this instance, which its role may pin to a node */
struct want want_of_slot(const struct job *job, uint32_t role, uint32_t index);
void near_add(struct near *near, struct room *room);
void near_job(struct near *near, const struct job *job);

/* place_one - by the side of near ones, else in its rack, else where it fits best; NULL: nowhere
 */
struct room *place_one(const struct capacity *capacity, const struct want *want,
                       const struct near *near, bool now);

/* gang_demands - the minimum of every role in placing order: pservers first, larger first */
size_t gang_demands(const struct job_spec *spec, struct demand ret[JOB_ROLES_MAX]);

/* gang_demands_of_job - the same for this job, as want_of */
size_t gang_demands_of_job(const struct job *job, struct demand ret[JOB_ROLES_MAX]);

/* gang_fits_by_count - false: place_gang would fail, as there are not so many places for one of the
 * demands */
bool gang_fits_by_count(const struct capacity *capacity, const struct demand *demands, size_t n,
                        bool now);

/* is_harder - to find a place for: an instance with one node only, then one that wants more labels,
 * then one that is larger by GPUs, CPU, memory: the order of repairs and of tight packing */
bool is_harder(const struct want *a, const struct want *b);

/* demands_hardest_first - the same demands in that order */
void demands_hardest_first(const struct demand *demands, size_t n,
                           struct demand ret[JOB_ROLES_MAX]);
size_t gang_size(const struct demand *demands, size_t n);
struct resources gang_total(const struct demand *demands, size_t n);

/* place_gang - takes room for every instance and tells where (placed: gang_size entries, or NULL);
 * false: it does not fit, and nothing is taken */
bool place_gang(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed);

/* place_in - takes room for every instance there, where all of it fits; placed: as place_gang */
void place_in(struct capacity *capacity, struct room *room, const struct demand *demands, size_t n,
              bool now, struct placed *placed);

/* the room in which all of it fits, or NULL */
struct room *place_whole(const struct capacity *capacity, const struct demand *demands, size_t n,
                         bool now);
