/* SPDX-License-Identifier: Apache-2.0 */
/* policy_sia.c - Sia (SOSP 2023) on equal nodes: the best choice of configurations, exactly
 *
 * Configurations are powers of two within a node and whole nodes beyond. G is a configuration's
 * speed over the job's slowest one. Of another configuration than the one that runs it is scaled by
 * (age - restarts * cost) / (age + cost). To minimise the sum of G^P over running jobs and LAMBDA
 * over the others is, on nodes of one kind, a knapsack with one choice per job: solved by dynamic
 * programming. A job at most doubles per decision; one that stands still after a change is left as
 * it is. Lengths are not looked at. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

#define P (-0.5)
#define LAMBDA 1.1
#define LEAST_FACTOR 0.01
#define OPTIONS_MAX 250 /* of a job */
#define ROUND_S 60.0    /* between decisions, where nothing happens */

struct option {
    uint32_t n;
    double value; /* LAMBDA - G^P */
};

struct sia {
    struct option *options;
    size_t *first; /* of each job's options; [n] is the end */
    size_t n_options, cap;
};

static bool is_configuration(const struct view *view, const struct view_job *job, uint32_t n)
{
    bool allowed = job->counts == NULL;

    for (size_t i = 0; i < job->n_counts; i++)
        allowed = allowed || job->counts[i] == n;
    if (!allowed || n < job->min || n > job->max)
        return false;
    return n < view->per_node ? (n & (n - 1)) == 0 : n % view->per_node == 0;
}

/* most_now - twice what it has; who has nothing begins with the least */
static uint32_t most_now(const struct view *view, const struct view_job *job)
{
    if (job->held > 0)
        return MIN_OF(2 * job->held, job->max);
    for (uint32_t n = job->min; n <= job->max; n++)
        if (is_configuration(view, job, n))
            return n;
    return job->min;
}

static double restart_factor(const struct view *view, const struct view_job *job)
{
    double age_s = view->now_s - job->submit_s;

    return fmax((age_s - job->restarts * view->restart_s) / (age_s + view->restart_s),
                LEAST_FACTOR);
}

static void add_option(struct sia *sia, uint32_t n, double speed)
{
    if (sia->n_options == sia->cap) {
        sia->cap = sia->cap ? 2 * sia->cap : 256;
        sia->options = xreallocarray(sia->options, sia->cap, sizeof(*sia->options));
    }
    sia->options[sia->n_options++] = (struct option){ .n = n, .value = speed };
}

/* set_values - from speeds */
static void set_values(const struct view *view, const struct view_job *job, struct option *options,
                       size_t n)
{
    double slowest = INFINITY;

    for (size_t i = 0; i < n; i++)
        slowest = fmin(slowest, options[i].value);
    for (size_t i = 0; i < n; i++) {
        double g = options[i].value / slowest;

        if (job->held > 0 && options[i].n != job->held)
            g *= restart_factor(view, job);
        options[i].value = LAMBDA - pow(g, P);
    }
}

static void add_job(struct sia *sia, const struct view *view, size_t i)
{
    const struct view_job *job = &view->jobs[i];
    uint32_t most = most_now(view, job);
    size_t first = sia->n_options;

    sia->first[i] = first;
    for (uint32_t n = job->min; n <= most && sia->n_options - first < OPTIONS_MAX; n++) {
        double speed =
            n == job->held || is_configuration(view, job, n) ? view_speed(view, i, n) : 0;

        if (speed > 0)
            add_option(sia, n, speed);
    }
    if (sia->n_options == first)
        add_option(sia, job->min, 1); /* no power of two fits its bounds */
    set_values(view, job, &sia->options[first], sia->n_options - first);
}

/* put - one job's choice for every capacity up to what the jobs so far can take: from before, what
 * those ahead of it reach with so much, to best, what they reach with this one */
static void put(const struct option *options, size_t n, const struct view_job *job,
                uint32_t capacity, const double *before, double *best, uint8_t *choice)
{
    bool pinned = job->held > 0 && job->restart_left_s > 0;

    for (uint32_t c = 0; c <= capacity; c++)
        best[c] = pinned ? -INFINITY : before[c];
    for (size_t o = 0; o < n; o++) {
        uint32_t taken = options[o].n;
        double value = options[o].value;

        if (taken > capacity || (pinned && taken != job->held))
            continue;
        for (uint32_t c = taken; c <= capacity; c++) {
            double with = before[c - taken] + value;
            bool better = with > best[c];

            best[c] = better ? with : best[c];
            choice[c] = better ? (uint8_t)(o + 1) : choice[c];
        }
    }
}

/* set_reach - what the jobs up to each can take together: with more than that they are as well off,
 * so that no table has to be wider, however large the cluster is */
static void set_reach(const struct sia *sia, const struct view *view, uint32_t *reach)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < view->n; i++) {
        uint32_t most = 0;

        for (size_t o = sia->first[i]; o < sia->first[i + 1]; o++)
            most = MAX_OF(most, sia->options[o].n);
        sum = MIN_OF(sum + most, view->capacity);
        reach[i] = sum;
    }
}

static void choose(const struct sia *sia, const struct view *view, struct plan *plan)
{
    uint32_t *reach = xcalloc(view->n, sizeof(*reach)), reached = 0, c;
    size_t width;
    double *before, *best;
    uint8_t *choices;

    set_reach(sia, view, reach);
    width = (size_t)reach[view->n - 1] + 1;
    before = xcalloc(width, sizeof(*before));
    best = xcalloc(width, sizeof(*best));
    choices = xcalloc(view->n * width, sizeof(*choices));
    for (size_t i = 0; i < view->n; i++) {
        double *swap = before;

        for (uint32_t more = reached + 1; more <= reach[i]; more++)
            before[more] = before[reached];
        put(&sia->options[sia->first[i]], sia->first[i + 1] - sia->first[i], &view->jobs[i],
            reach[i], before, best, &choices[i * width]);
        reached = reach[i];
        before = best;
        best = swap;
    }
    c = reached;
    for (size_t i = view->n; i-- > 0;) {
        uint8_t choice;

        c = MIN_OF(c, reach[i]);
        choice = choices[i * width + c];
        if (choice == 0)
            continue;
        plan->counts[i] = sia->options[sia->first[i] + choice - 1].n;
        c -= plan->counts[i];
    }
    free(choices);
    free(best);
    free(before);
    free(reach);
}

static int by_count(const void *a, const void *b, void *userdata)
{
    const struct plan *plan = userdata;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    if (plan->counts[i] != plan->counts[j])
        return plan->counts[i] > plan->counts[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    struct sia sia = { .first = xcalloc(view->n + 1, sizeof(*sia.first)) };

    (void)state;
    for (size_t i = 0; i < view->n; i++)
        add_job(&sia, view, i);
    sia.first[view->n] = sia.n_options;
    choose(&sia, view, plan);
    plan->placing = PLACE_ALIGNED;
    qsort_r(plan->order, view->n, sizeof(*plan->order), by_count, plan);
    free(sia.options);
    free(sia.first);
}

static double wake_s(void *state, const struct view *view)
{
    (void)state;
    return view->now_s + ROUND_S;
}

const struct trace_policy trace_policy_sia = {
    .name = "sia",
    .summary = "the best configurations for all, exactly",
    .uses = USES_SPEEDS,
    .decide = decide,
    .wake_s = wake_s,
};
