/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_plain.c - the policy's index decides as a plain loop over everything does */
#include "scheduler/core/policy/limits.h"
#include "tests/unit/policy_world.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

/* --- the plain algorithm: arrays, and a look at everything for every step --- */

struct plain {
    struct world *w;
    struct policy_totals held; /* with what is being stopped, and what was moved */
    bool any_pending;
    bool blocked[JOBS_MAX]; /* no node has room for one more of the i-th job */
    uint32_t plan[JOBS_MAX];
};

static struct policy_job planned(const struct plain *p, size_t i)
{
    struct policy_job job = p->w->jobs[i];

    job.parallelism = p->plan[i];
    return job;
}

static bool asks_for_no_less(const struct policy_job *a, const struct policy_job *b)
{
    return a->cpu_millicores >= b->cpu_millicores && a->memory_bytes >= b->memory_bytes &&
           a->gpus >= b->gpus;
}

static bool stopping_covers(const struct policy_totals *t, const struct policy_job *job)
{
    return t->cpu_stopping_millicores >= (int64_t)job->cpu_millicores &&
           t->memory_stopping_bytes >= (int64_t)job->memory_bytes &&
           t->gpu_stopping >= (int64_t)job->gpus;
}

/* the index of the least (up) or most fulfilled job that may step, or -1 */
static int plain_choose(const struct plain *p, bool up)
{
    int best = -1;

    for (size_t i = 0; i < p->w->n_jobs; i++) {
        const struct policy_job job = planned(p, i);
        struct policy_totals totals = p->w->totals;
        struct policy_job other;

        if (job.pending || (!up && !job.stable && !p->any_pending) ||
            (up && (p->plan[i] >= job.max || (p->blocked[i] && !stopping_covers(&totals, &job)))) ||
            policy_fulfilment_dry_run(&totals, &job, p->plan[i], !up, true) != (up ? 1 : -1))
            continue;
        if (best >= 0)
            other = planned(p, (size_t)best);
        if (best < 0 || (policy_fulfilment_compare(&job, &other) < 0) == up)
            best = (int)i;
    }
    return best;
}

/* No node has room for it: then there is none for whoever asks for more either. */
static void block(struct plain *p, const struct policy_job *job)
{
    for (size_t k = 0; k < p->w->n_jobs; k++)
        p->blocked[k] = p->blocked[k] || asks_for_no_less(&p->w->jobs[k], job);
}

static void plain_grow(struct plain *p)
{
    struct world *w = p->w;
    int i;

    while ((i = plain_choose(p, true)) >= 0) {
        struct policy_job *job = &w->jobs[i];

        struct policy_totals held = p->held;

        if (!p->blocked[i] && policy_fulfilment_dry_run(&held, job, p->plan[i], false, true) != 1) {
            block(p, job);
            continue;
        }
        if (p->blocked[i]) {
            w->totals.cpu_stopping_millicores -= (int64_t)job->cpu_millicores;
            w->totals.memory_stopping_bytes -= (int64_t)job->memory_bytes;
            w->totals.gpu_stopping -= job->gpus;
        } else if (job->stable || p->any_pending) {
            if (!place(w, job)) {
                block(p, job);
                continue;
            }
            w->target[i]++;
            p->held = held;
        }
        (void)policy_fulfilment_dry_run(&w->totals, job, p->plan[i]++, false, true);
    }
}

static bool plain_shrink(struct plain *p)
{
    bool moved = false;
    int i;

    while ((i = plain_choose(p, false)) >= 0) {
        (void)policy_fulfilment_dry_run(&p->w->totals, &p->w->jobs[i], p->plan[i]--, true, true);
        p->w->target[i]--;
        moved = true;
    }
    return moved;
}

/* The first of those who request the same, in the order of a direction: for the others it speaks.
 */
static bool speaks(const struct plain *p, size_t i, bool up)
{
    const struct policy_job job = planned(p, i);

    if (job.pending || (up ? job.parallelism >= job.max : job.parallelism <= job.min))
        return false;
    for (size_t k = 0; k < p->w->n_jobs; k++) {
        const struct policy_job other = planned(p, k);

        if (k != i && asks_for_no_less(&other, &job) && asks_for_no_less(&job, &other) &&
            !other.pending && (up || other.stable == job.stable) &&
            (up ? other.parallelism < other.max : other.parallelism > other.min) &&
            (policy_fulfilment_compare(&other, &job) < 0) == up)
            return false;
    }
    return true;
}

static bool is_worth_it(struct policy_job giver, struct policy_job taker)
{
    giver.parallelism--;
    taker.parallelism++;
    return policy_fulfilment_score_ppm(&giver) > policy_fulfilment_score_ppm(&taker) + 50000;
}

/* the most fulfilled who could give to this one, or -1 */
static int plain_giver(const struct plain *p, const struct policy_job *taker)
{
    int best = -1;

    for (size_t i = 0; i < p->w->n_jobs; i++) {
        const struct policy_job job = planned(p, i);
        struct policy_job other;

        if (!speaks(p, i, false) || (!job.stable && !p->any_pending) ||
            p->plan[i] > p->w->jobs[i].parallelism || !asks_for_no_less(&job, taker) ||
            !is_worth_it(job, *taker))
            continue;
        if (best >= 0)
            other = planned(p, (size_t)best);
        if (best < 0 || policy_fulfilment_compare(&job, &other) > 0)
            best = (int)i;
    }
    return best;
}

/* From the most to the least fulfilled of those for whom there is somebody. */
static bool plain_transfer(struct plain *p)
{
    int giver = -1, taker = -1;

    for (size_t i = 0; i < p->w->n_jobs; i++) {
        const struct policy_job job = planned(p, i);
        struct policy_job other;
        int from = speaks(p, i, true) ? plain_giver(p, &job) : -1;

        if (from < 0)
            continue;
        if (taker >= 0)
            other = planned(p, (size_t)taker);
        if (taker < 0 || policy_fulfilment_compare(&job, &other) < 0) {
            giver = from;
            taker = (int)i;
        }
    }
    if (taker < 0)
        return false;
    p->plan[giver]--;
    p->w->target[giver]--;
    p->plan[taker]++;
    return true;
}

/* No transfer that was made is unfair. */
static void check_transfers(const struct plain *p, const struct world *w)
{
    for (size_t i = 0; i < w->n_jobs; i++) {
        struct policy_job giver = w->jobs[i], taker;

        if (w->target[i] >= p->w->target[i])
            continue;
        giver.parallelism = w->target[i]; /* it gave: it must be ahead of somebody still */
        for (size_t k = 0; k < w->n_jobs; k++) {
            taker = planned(p, k);
            if (k != i && !taker.pending &&
                policy_fulfilment_score_ppm(&giver) > policy_fulfilment_score_ppm(&taker))
                break;
            if (k + 1 == w->n_jobs)
                fail_msg("job %zu gave to nobody", i + 1);
        }
    }
}

static void reference(struct plain *p)
{
    for (size_t i = 0; i < p->w->n_jobs; i++) {
        p->any_pending = p->any_pending || p->w->jobs[i].pending;
        p->plan[i] = p->w->target[i] = p->w->jobs[i].parallelism;
    }
    p->held = p->w->totals;
    p->held.cpu_requested_millicores += p->held.cpu_stopping_millicores;
    p->held.memory_requested_bytes += p->held.memory_stopping_bytes;
    p->held.gpu_requested += p->held.gpu_stopping;
    do
        plain_grow(p);
    while (plain_shrink(p));
    while (plain_transfer(p))
        continue;
}

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return random_below(&seed, n);
}

static void make_random(struct world *w)
{
    static const uint64_t cpus[] = { 0, 100, 500, 1000, 2500 };

    *w = (struct world){ .n_jobs = 1 + below(12), .n_nodes = 1 + below(6) };
    w->totals.max_load_permille = 500 + (uint32_t)below(501);
    for (size_t i = 0; i < w->n_nodes; i++) {
        w->nodes[i].cpu = (int64_t)below(8000);
        w->nodes[i].memory = (int64_t)below(8000);
        w->nodes[i].gpus = (int64_t)below(8);
        w->totals.cpu_total_millicores += 8000;
        w->totals.memory_total_bytes += 8000;
        w->totals.gpu_total += 8;
        w->totals.cpu_requested_millicores += 8000 - w->nodes[i].cpu;
        w->totals.memory_requested_bytes += 8000 - w->nodes[i].memory;
        w->totals.gpu_requested += 8 - w->nodes[i].gpus;
    }
    w->totals.cpu_stopping_millicores = (int64_t)below(3000);
    w->totals.memory_stopping_bytes = (int64_t)below(3000);
    w->totals.gpu_stopping = (int64_t)below(3);
    for (size_t i = 0; i < w->n_jobs; i++) {
        struct policy_job *job = &w->jobs[i];

        job->id = i + 1;
        job->min = 1 + (uint32_t)below(3);
        job->max = job->min + (uint32_t)below(8);
        job->parallelism = job->min + (uint32_t)below(job->max - job->min + 1);
        job->stable = below(4) != 0;
        job->pending = below(12) == 0;
        job->cpu_millicores = cpus[below(ELEMENTS(cpus))];
        job->memory_bytes = cpus[below(ELEMENTS(cpus))];
        job->gpus = (uint32_t)below(3);
    }
}

/* Whatever the numbers: the index decides as the plain loop does, in whatever order and however
 * often it was told; within the bounds; and growth passes no limit. */
TEST(test_random_decisions_equal_the_plain_algorithm)
{
    seed = the_seed(7);
    for (int round = 0; round < 5000; round++) {
        struct policy_state *policy = policy_fulfilment.new();
        struct world w, plain_world;
        struct plain plain = { .w = &plain_world };
        int64_t grown = 0;

        make_random(&w);
        plain_world = w;
        for (size_t i = 0; i < 3 * w.n_jobs; i++) {
            struct policy_job other = w.jobs[below(w.n_jobs)];

            other.parallelism = other.min;
            other.gpus = (uint32_t)below(3);
            policy_fulfilment.put(policy, &other);
            if (below(3) == 0)
                policy_fulfilment.drop(policy, below(w.n_jobs + 2));
        }
        for (size_t i = w.n_jobs; i-- > 0;)
            policy_fulfilment.put(policy, &w.jobs[i]);
        reference(&plain);
        decide_with(policy, &w);
        for (size_t i = 0; i < w.n_jobs; i++) {
            if (w.target[i] != plain_world.target[i])
                fail_msg("round %d: job %zu: %u, the plain algorithm says %u", round, i + 1,
                         w.target[i], plain_world.target[i]);
            if (!w.jobs[i].pending)
                assert_in_range(w.target[i], w.jobs[i].min, w.jobs[i].max);
            grown +=
                ((int64_t)w.target[i] - w.jobs[i].parallelism) * (int64_t)w.jobs[i].cpu_millicores;
        }
        check_transfers(&plain, &w);
        if (grown > 0)
            assert_true(
                w.totals.cpu_requested_millicores + grown <=
                policy_load_limit(w.totals.cpu_total_millicores, w.totals.max_load_permille));
        policy_fulfilment.free(policy);
    }
}
