/* SPDX-License-Identifier: Apache-2.0 */
/* policy_tiresias.c - two queues by attained service (Tiresias, NSDI 2019: discretised 2D-LAS)
 *
 * Rigid jobs. A job that has held its instances for 16 instance-hours goes behind those that have
 * not. In each queue the first one goes first; a job that does not fit is left out, smaller ones
 * behind it run. As in the port that comes with Pollux' simulator: time counts in whole seconds
 * from one decision to the next, and there is no promotion back. */
#include <math.h>
#include <stdbool.h>
#include <uthash.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

#define THRESHOLD_S (16 * 3600) /* instances times seconds */

struct served {
    uint32_t id;
    bool running, second;
    uint64_t run_s, checked_s;
    uint64_t demoted; /* the order in the second queue; 0: it is in the first */
    UT_hash_handle hh;
};

struct tiresias {
    struct served *known;
    uint64_t n_demoted;
    struct served **now; /* of view->jobs */
    size_t cap;
};

static void *begin(const struct view *view)
{
    (void)view;
    return xcalloc(1, sizeof(struct tiresias));
}

static void end(void *state)
{
    struct tiresias *self = state;
    struct served *served, *next;

    HASH_ITER(hh, self->known, served, next)
    {
        HASH_DEL(self->known, served);
        free(served);
    }
    free(self->now);
    free(self);
}

static struct served *served_of(struct tiresias *self, uint32_t id, uint64_t now_s)
{
    struct served *served;

    HASH_FIND(hh, self->known, &id, sizeof(id), served);
    if (served == NULL) {
        served = xcalloc(1, sizeof(*served));
        served->id = id;
        served->checked_s = now_s;
        HASH_ADD(hh, self->known, id, sizeof(id), served);
    }
    return served;
}

static void count(struct tiresias *self, struct served *served, const struct view_job *job,
                  uint64_t now_s)
{
    if (served->running)
        served->run_s += now_s - served->checked_s;
    served->checked_s = now_s;
    if (served->running && served->demoted == 0 && served->run_s * job->requested >= THRESHOLD_S)
        served->demoted = ++self->n_demoted;
}

static int by_demotion(const void *a, const void *b, void *userdata)
{
    const struct tiresias *self = userdata;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t x = self->now[i]->demoted, y = self->now[j]->demoted;

    if (x != y)
        return x < y ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void look(struct tiresias *self, const struct view *view)
{
    uint64_t now_s = (uint64_t)view->now_s;

    if (view->n > self->cap) {
        self->cap = 2 * view->n;
        self->now = xreallocarray(self->now, self->cap, sizeof(struct served *));
    }
    for (size_t i = 0; i < view->n; i++) {
        self->now[i] = served_of(self, view->jobs[i].id, now_s);
        count(self, self->now[i], &view->jobs[i], now_s);
    }
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    struct tiresias *self = state;
    uint32_t left = view->capacity;

    look(self, view);
    qsort_r(plan->order, view->n, sizeof(*plan->order), by_demotion, self);
    for (size_t at = 0; at < view->n; at++) {
        uint32_t i = plan->order[at], wants = view->jobs[i].requested;

        self->now[i]->running = wants <= left;
        if (wants > left)
            continue;
        plan->counts[i] = wants;
        left -= wants;
    }
}

/* wake_s - when the next one that runs has had his share of the first queue */
static double wake_s(void *state, const struct view *view)
{
    const struct tiresias *self = state;
    double next_s = INFINITY;

    for (size_t i = 0; i < view->n; i++) {
        const struct served *served = self->now[i];
        double left = THRESHOLD_S - (double)served->run_s * view->jobs[i].requested;

        if (served->running && served->demoted == 0)
            next_s = fmin(next_s, view->now_s + fmax(1, ceil(left / view->jobs[i].requested)));
    }
    return next_s;
}

const struct trace_policy trace_policy_tiresias = {
    .name = "tiresias",
    .summary = "rigid; two queues by attained service",
    .begin = begin,
    .decide = decide,
    .wake_s = wake_s,
    .end = end,
};
