/* SPDX-License-Identifier: Apache-2.0 */
/* search_world.h - a pretended cluster under a search: trials take time, fail, and end in any order
 *
 * What a trial tells follows from its values, its number and `seed`. When it ends, how many run
 * beside it, and how often the search is killed follow from `timing`. So two worlds that differ in
 * timing alone must make the same decisions. Each action is checked as it comes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/search_core.h"

struct world;

/* The metric's value at a resource, 0 to 1 of the most; without noise. */
typedef double (*world_metric_fn)(const struct search_space *space, const double *values,
                                  double part);

struct world_config {
    const char *space; /* text */
    world_metric_fn metric;
    double noise;  /* of each value told: its deviation */
    double curve;  /* so much worse is a trial at the beginning, some more than others */
    double wanted; /* the world stops when a trial at its last resource is as good; see found */
    bool wants;
    double failures;   /* the part of the trials that fail, on a rung of theirs */
    double slow;       /* durations are up to so many times longer than the shortest; 1: alike */
    unsigned int room; /* at most; it changes from time to time when has_changes */
    bool has_changes;  /* of room */
    bool is_killed;    /* the search: its actions are lost, some of them or all */
    bool goes_beyond;  /* programs do not stop at their rung's resource */
    uint64_t seed, timing;
};

struct world_trial {
    struct search_trial trial;
    double *values;
    struct search_point *points;
    double left_s; /* of its rung */
    unsigned int n_starts;
    uint64_t resource; /* of its rung */
};

struct world {
    struct world_config config;
    struct search_space *space;
    struct world_trial *trials;
    struct search_trial *history;
    unsigned int n;
    double now_s, core_s;
    uint64_t random;
    unsigned int most_under_way;
    enum search_end end;
    unsigned int best, shown;
    unsigned int found; /* number of the first trial that was as good as wanted; 0: none */
};

void world_begin(struct world *world, const struct world_config *config);
void world_done(struct world *world);

/* world_run - until the search ends */
void world_run(struct world *world);

/* world_search - what search_next says now; the caller clears it */
void world_search(struct world *world, unsigned int room, struct search_actions *ret);

/* world_metric - of a trial at its last resource, without noise; the lower the better */
double world_quality(const struct world *world, unsigned int number);

/* world_same - both made the same decisions: the trials, their values, the rungs that they reached
 */
bool world_same(const struct world *a, const struct world *b);
