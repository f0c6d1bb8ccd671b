/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput_division.c - targets of elastic jobs
 *
 * Every job keeps its base: its minimum, or all that it holds while it is not stable. What that
 * leaves of the cluster is sold segment by segment: the group that is furthest below its guarantee
 * buys first, within it the job to which a part of the cluster is worth most. */
#include "scheduler/core/policy_goodput_division.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/goodput_allocate.h"
#include "scheduler/core/goodput_learn.h"
#include "scheduler/core/goodput_weights.h"
#include "shared/macro.h"

/* One step of priority counts as twice as many jobs. */
#define PRIORITY_STEP 2.0
#define PRIORITY_MOST 16

struct room {
    int64_t cpu_millicores, memory_bytes, gpus;
};

struct division {
    struct goodput_share **heaps[POLICY_GROUPS_MAX]; /* parts of one array: the best one first */
    size_t n_heap[POLICY_GROUPS_MAX];
    struct policy_group groups[POLICY_GROUPS_MAX]; /* with what is planned */
    uint32_t n_groups;
    const struct policy_totals *totals; /* borrowed */
    struct room room;
    double price;
};

static double priority_weight(const struct policy_job *job)
{
    int32_t steps = MIN_OF(MAX_OF(job->priority, -PRIORITY_MOST), PRIORITY_MOST);

    return pow(PRIORITY_STEP, steps);
}

void goodput_share_init(struct goodput_share *share, const struct policy_job *job)
{
    const struct goodput_span span = { .min = MAX_OF(job->min, 1),
                                       .max = MAX_OF(job->max, 1),
                                       .current = job->parallelism,
                                       .cost_per_instance = 1 };
    struct goodput_learned nothing;
    const struct goodput_learned *learned = job->learned;
    struct goodput_work work;
    struct goodput_change change = { .horizon_s = goodput_defaults.horizon_s,
                                     .floor = goodput_defaults.change_floor };

    if (learned == NULL) {
        goodput_learn_init(&nothing);
        learned = &nothing;
    }
    share->job = job;
    share->plan = job->parallelism;
    share->measured = learned->largest;
    goodput_learn_curve(learned, &span, &share->curve);
    work = goodput_learn_work(learned, job->units_done, job->units_left);
    share->remaining_s = goodput_remaining(&goodput_defaults.levels, &work);
    change.remaining_s = share->remaining_s;
    change.resize_s = learned->resize_s;
    change.current = goodput_curve_at(&share->curve, job->parallelism);
    goodput_curve_values(&share->curve, goodput_defaults.q, &change, share->values);
}

/* --- weights -------------------------------------------------------------------------------------
 */

static double part(uint64_t amount, int64_t total)
{
    return total > 0 ? (double)amount / (double)total : 0;
}

static double dominant_part(const struct policy_job *job, const struct policy_totals *totals)
{
    double cpu = part(job->cpu_millicores, totals->cpu_total_millicores);
    double memory = part(job->memory_bytes, totals->memory_total_bytes);
    double gpu = part(job->gpus, totals->gpu_total);

    /* one that asks for nothing is not free of cost: the order would be lost */
    return fmax(fmax(fmax(cpu, memory), gpu), 1e-9);
}

static void set_weights(struct goodput_share **shares, size_t n, const struct policy_totals *totals)
{
    struct goodput_weighed *jobs = xcalloc(n, sizeof *jobs);

    for (size_t i = 0; i < n; i++)
        jobs[i] = (struct goodput_weighed){ .id = shares[i]->job->id,
                                            .curve = &shares[i]->curve,
                                            .priority_weight = priority_weight(shares[i]->job),
                                            .remaining_s = shares[i]->remaining_s };
    goodput_weigh_by_rank(jobs, n, goodput_defaults.rank_p);
    for (size_t i = 0; i < n; i++) {
        shares[i]->a = jobs[i].a;
        shares[i]->dominant = dominant_part(shares[i]->job, totals);
    }
    free(jobs);
}

/* --- room ----------------------------------------------------------------------------------------
 */

static void take(struct division *d, const struct policy_job *job, int64_t instances)
{
    d->room.cpu_millicores -= instances * (int64_t)job->cpu_millicores;
    d->room.memory_bytes -= instances * (int64_t)job->memory_bytes;
    d->room.gpus -= instances * (int64_t)job->gpus;
    d->groups[job->group].cpu_millicores += instances * (int64_t)job->cpu_millicores;
    d->groups[job->group].gpus += instances * (int64_t)job->gpus;
}

static int64_t count_in(int64_t room, uint64_t each, int64_t most)
{
    return each == 0 ? most : MIN_OF(MAX_OF(room, 0) / (int64_t)each, most);
}

/* How many of it there is room for, in all of the cluster */
static int64_t room_for(const struct division *d, const struct policy_job *job)
{
    int64_t n = count_in(d->room.cpu_millicores, job->cpu_millicores, job->max);

    n = count_in(d->room.memory_bytes, job->memory_bytes, n);
    return count_in(d->room.gpus, job->gpus, n);
}

static void set_base(struct division *d, struct goodput_share *share, bool any_gang)
{
    const struct policy_job *job = share->job;

    /* who is not stable is not shrunk, so what it holds cannot be sold */
    share->base = job->stable || any_gang ? MIN_OF(job->min, job->parallelism) : job->parallelism;
    share->point = goodput_curve_within(&share->curve, share->base);
    share->target = share->base;
    take(d, job, (int64_t)share->base - (int64_t)job->parallelism);
    goodput_hull_of(&share->curve, share->values, share->point, &share->hull);
    share->closed = share->hull.n == 0;
    share->next = 0;
}

/* --- a heap for each group -----------------------------------------------------------------------
 */

static double offer(const struct goodput_share *share)
{
    return share->a * goodput_slope(&share->hull.segments[share->next]) / share->dominant;
}

static bool is_before(const struct goodput_share *a, const struct goodput_share *b)
{
    double x = offer(a), y = offer(b);

    return x != y ? x > y : a->job->id < b->job->id;
}

static void sink(struct goodput_share **heap, size_t n, size_t at)
{
    struct goodput_share *share = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(heap[child + 1], heap[child]))
            child++;
        if (!is_before(heap[child], share))
            break;
        heap[at] = heap[child];
    }
    heap[at] = share;
}

static void again_or_pop(struct division *d, uint32_t group, bool done)
{
    if (done)
        d->heaps[group][0] = d->heaps[group][--d->n_heap[group]];
    if (d->n_heap[group] > 0)
        sink(d->heaps[group], d->n_heap[group], 0);
}

static void open_markets(struct division *d, struct goodput_share **shares, size_t n,
                         struct goodput_share **room_of_heaps)
{
    for (size_t i = 0; i < n; i++)
        d->n_heap[shares[i]->job->group] += !shares[i]->closed;
    for (uint32_t g = 0; g < d->n_groups; g++) {
        d->heaps[g] = room_of_heaps;
        room_of_heaps += d->n_heap[g];
        d->n_heap[g] = 0;
    }
    for (size_t i = 0; i < n; i++)
        if (!shares[i]->closed)
            d->heaps[shares[i]->job->group][d->n_heap[shares[i]->job->group]++] = shares[i];
    for (uint32_t g = 0; g < d->n_groups; g++)
        for (size_t at = d->n_heap[g] / 2; at-- > 0;)
            sink(d->heaps[g], d->n_heap[g], at);
}

/* The group with the least beyond its guarantee that would still buy; n_groups: none */
static uint32_t poorest(const struct division *d)
{
    uint32_t best = d->n_groups;
    int64_t least = 0;

    for (uint32_t g = 0; g < d->n_groups; g++) {
        int64_t level;

        if (d->n_heap[g] == 0)
            continue;
        level = d->n_groups == 1
                    ? 0
                    : policy_group_level(&d->groups[g], d->totals->cpu_total_millicores,
                                         d->totals->gpu_total);
        if (best < d->n_groups && level >= least)
            continue;
        best = g;
        least = level;
    }
    return best;
}

static void give(struct division *d, struct goodput_share *share, int point)
{
    uint32_t instances = share->curve.points[point].instances;

    take(d, share->job, (int64_t)instances - (int64_t)share->target);
    share->target = instances;
    share->point = point;
}

static void sell(struct division *d, uint32_t group)
{
    struct goodput_share *share = d->heaps[group][0];
    const struct goodput_segment *segment = &share->hull.segments[share->next];
    int64_t room = room_for(d, share->job);
    /* whose turn it is among groups may change with every instance */
    int end = d->n_groups > 1 ? share->point + 1 : segment->point;
    int64_t wanted = (int64_t)share->curve.points[end].instances - (int64_t)share->target;
    int point;

    if (wanted <= room) {
        give(d, share, end);
        share->next += end == segment->point;
        share->closed = share->next == share->hull.n;
    } else {
        d->price = fmax(d->price, offer(share));
        point = goodput_fill(&share->curve, share->values, share->point, (double)room,
                             goodput_defaults.cut_gain);
        if (point != share->point)
            give(d, share, point);
        share->closed = true;
    }
    again_or_pop(d, group, share->closed);
}

void goodput_divide(struct goodput_share **shares, size_t n, const struct policy_totals *totals,
                    bool any_gang, double *ret_price)
{
    struct division d = { .n_groups = MAX_OF(totals->n_groups, 1U), .totals = totals };
    struct goodput_share **heaps = xcalloc(n, sizeof(struct goodput_share *));
    uint32_t group;

    d.room.cpu_millicores = totals->cpu_total_millicores * totals->max_load_permille / 1000 -
                            totals->cpu_requested_millicores;
    /* strictly more than a request is to be free of memory (policy_fulfilment.c) */
    d.room.memory_bytes = totals->memory_total_bytes - totals->memory_requested_bytes - 1;
    d.room.gpus = totals->gpu_total - totals->gpu_requested;
    if (totals->groups != NULL)
        memcpy(d.groups, totals->groups, d.n_groups * sizeof *d.groups);
    set_weights(shares, n, totals);
    for (size_t i = 0; i < n; i++)
        set_base(&d, shares[i], any_gang);
    open_markets(&d, shares, n, heaps);
    while ((group = poorest(&d)) < d.n_groups)
        sell(&d, group);
    *ret_price = d.price;
    free(heaps);
}

double goodput_worth_at(const struct goodput_share *share, uint32_t instances)
{
    int at = goodput_curve_within(&share->curve, instances);
    const struct goodput_point *points = share->curve.points;

    if (at <= 0 || instances <= share->job->min)
        return INFINITY;
    return share->a * fmax(points[at].speed - points[at - 1].speed, 0) /
           (points[at].cost - points[at - 1].cost) / share->dominant;
}
