/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - the laboratory's questions to an allocation policy, and its view for it
 *
 * To add one: a file with a struct trace_policy, and its line in policies.c. A policy says which
 * figures it uses; a figure that it does not use, or that the run does not offer, is NAN to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct run_job;

/* What a policy looks at beyond what every submission says. */
enum trace_uses {
    USES_LENGTHS = 1U << 0, /* how much work a job has left */
    USES_HISTORY = 1U << 2, /* how much work those had who have ended, and who runs has done */
    USES_SPEEDS = 1U << 1,  /* how fast it is with other amounts */
};

enum trace_speeds {
    SPEEDS_HIDDEN,
    SPEEDS_TRUE,
    SPEEDS_LEARNT, /* found out by each job by itself */
    SPEEDS_FAMILY, /* found out by all jobs of a family together */
};

/* trace_speeds_name - "unknown", "true", "learnt", "learnt by families" */
const char *trace_speeds_name(enum trace_speeds speeds);

/* What a run offers to all policies: one level, one table. */
struct information {
    bool lengths; /* of the work that is left */
    bool history; /* of the work that others did */
    enum trace_speeds speeds;
    bool adaptive_batch;
};

struct view_job {
    uint32_t id; /* by submission */
    double submit_s, weight, deadline_s;
    const char *family, *user;
    uint32_t requested, min, max; /* min <= requested <= max <= what the cluster has */
    uint32_t held;                /* now; 0: it waits */
    uint32_t pservers;            /* of held */
    uint32_t restarts;
    double attained_s;      /* instances times seconds */
    double run_s;           /* seconds with anything at all */
    double work;            /* that was done, as its family counts it (progress) */
    double restart_left_s;  /* until it goes on after its last change */
    const uint32_t *counts; /* the amounts that differ from the next smaller one; NULL: all */
    size_t n_counts;
    /* while it is the same, so is what view_speed says of each amount; 0: ask again */
    uint32_t speeds;
    bool has_pservers;
    struct run_job *run_job;
};

/* A job that has ended. */
struct view_ended {
    const char *family;
    double work;
};

struct view {
    double now_s, round_s, restart_s; /* round_s 0: whenever something happens */
    uint32_t n_nodes, per_node, capacity;
    const struct view_job *jobs; /* that are here and not done, by submission */
    size_t n;
    const struct view_ended *ended; /* all until now; none are shown to who does not use it */
    size_t n_ended;
    unsigned uses; /* what is shown: enum trace_uses */
    struct run *run;
};

/* view_speed - against the smallest amount; of n instances on as few nodes as they fill */
double view_speed(const struct view *view, size_t job, uint32_t n);

/* view_remaining_s - until the end with n instances from now on, without a restart */
double view_remaining_s(const struct view *view, size_t job, uint32_t n);

/* view_rate - work per second with n instances, as it is now; NAN: not known */
double view_rate(const struct view *view, size_t job, uint32_t n);

/* view_step_s, view_steps_left - as one sees them who counts steps, by whole epochs where there are
 * some; of a split into n - pservers trainers and pservers (0: the best) */
double view_step_s(const struct view *view, size_t job, uint32_t n, uint32_t pservers);
double view_steps_left(const struct view *view, size_t job);

/* view_next - the next larger amount that makes a difference, up to the job's max; 0: none.
 * view_prev - the next smaller one, down to its min; 0: none */
uint32_t view_next(const struct view_job *job, uint32_t n);
uint32_t view_prev(const struct view_job *job, uint32_t n);
/* view_first - the smallest amount at or above the job's min */
uint32_t view_first(const struct view_job *job);

enum placing {
    PLACE_MOST_FREE, /* each time on the node with the most room */
    PLACE_WHOLE,     /* whole nodes, the rest where it fits best; else as above */
    PLACE_ALIGNED,   /* as PLACE_WHOLE, but others are moved before a job is split further */
};

/* What a policy answers; arrays have view->n items. */
struct plan {
    uint32_t *counts;   /* instances; begins as 0 */
    uint32_t *pservers; /* of counts; 0: the best split; begins as 0 */
    uint32_t *order;    /* who changed is placed in this order; begins as 0, 1, 2 ... */
    enum placing placing;
};

struct trace_policy {
    const char *name, *summary;
    unsigned uses;                           /* without it there is no deciding */
    unsigned profits;                        /* used where it is offered */
    void *(*begin)(const struct view *view); /* may be NULL */
    void (*decide)(void *state, const struct view *view, struct plan *plan);
    /* when it wants to decide although nothing happens; INFINITY: never. May be NULL */
    double (*wake_s)(void *state, const struct view *view);
    void (*end)(void *state); /* may be NULL */
};

extern const struct trace_policy *const trace_policies[]; /* ends with NULL */
const struct trace_policy *trace_policy_find(const char *name);
