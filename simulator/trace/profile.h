/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - how fast a job goes with its amount: the laboratory's job physics
 *
 * A job makes progress through phases (epochs of training; one phase where its speed never
 * changes). Its pace at a shape - how many instances on which nodes - is a rate of progress in each
 * phase. Kinds of profiles: measured on a cluster (pollux), throughput tables, parameter servers,
 * formulas. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct profile;

/* Instances on each node that has some, in the order of placing. */
struct shape {
    const uint32_t *counts;
    uint32_t n_nodes;
    uint32_t n;        /* all of them */
    uint32_t pservers; /* of n, how many are parameter servers; 0: the profile's best split */
};

struct pace {
    double step_s; /* one step of the whole batch, in the first phase; NAN where none is meant */
    uint32_t pservers; /* the split that was used */
    double *rate;      /* progress per second in each phase */
    double *after_s;   /* [n_phases + 1]: from the beginning of each phase to the end of all */
};

struct profile_learning;

struct profile_ops {
    const char *name;
    /* pace - fills step_s, pservers and rate; the caller made room. -ERANGE: nothing is known of
     * such a shape */
    int (*pace)(struct profile *profile, const struct shape *shape, struct pace *ret,
                struct edl_error *error);
    /* epoch_steps - steps that are left of phases that have not begun, as one who counts whole
     * epochs knows them; NULL: work is in steps */
    double (*epoch_steps)(const struct profile *profile, uint32_t phase);
    void (*free)(struct profile *profile);
    bool law;   /* quickly worked out from the amount alone: only small amounts are remembered */
    bool rises; /* each instance makes it faster, and none makes it cheaper */
};

struct profile {
    const struct profile_ops *ops;
    const struct profile_learning *learning; /* learn.h; NULL: there is none */
    char *name;                              /* the model */
    uint32_t refs;
    uint32_t batch;         /* of a step; 0: chosen anew for every shape and phase */
    uint32_t n_phases;      /* 1 when bounds is NULL */
    const double *bounds;   /* [n_phases + 1] progress at the ends of phases; NULL: each job has
                               its own work, in steps */
    bool whole_seconds;     /* in rounds, phases end at whole seconds (Pollux' simulator) */
    bool needs_shape;       /* where the instances are matters, not only how many */
    uint32_t min, max;      /* instances with which it can run */
    const uint32_t *counts; /* the only ones that make a difference, ascending; NULL: all */
    size_t n_counts;
    /* of profile.c */
    struct pace_entry *cache;
    const struct pace **by_count;
    uint32_t by_count_cap, by_count_per_node;
    uint32_t *known; /* profile_known */
    size_t n_known;
    uint32_t known_per_node, known_most;
};

/* profile_init - of a new one that begins with a struct profile; name is copied */
void profile_init(struct profile *profile, const struct profile_ops *ops, const char *name);

struct profile *profile_ref(struct profile *profile);
struct profile *profile_unref(struct profile *profile);

/* profile_pace - at a shape; remembered, and valid as long as the profile. NULL: error is set */
const struct pace *profile_pace(struct profile *profile, const struct shape *shape,
                                struct edl_error *error);

/* profile_pace_of - n instances on as few nodes as they fill, per_node on each */
const struct pace *profile_pace_of(struct profile *profile, uint32_t n, uint32_t per_node,
                                   struct edl_error *error);

/* What somebody who only looks wants to know of a pace. */
struct glance {
    double step_s, rate; /* rate: in that phase */
    double after_s;      /* of the phases behind it */
};

/* profile_glance - of n instances on as few nodes as they fill, in a phase; pservers of them are
 * parameter servers (0: the best split). Nothing of a law is remembered for it, so that
 * looking at all amounts of a large cluster costs no memory. -ERANGE: nothing is known of it */
int profile_glance(struct profile *profile, uint32_t n, uint32_t pservers, uint32_t per_node,
                   uint32_t phase, struct glance *ret);

/* profile_known - the amounts up to most that have a pace on as few nodes as they fill, ascending;
 * valid until it is asked for another cluster. NULL: all that are within its bounds have one, or
 * those of its counts. */
const uint32_t *profile_known(struct profile *profile, uint32_t most, uint32_t per_node,
                              size_t *ret_n);
