/* SPDX-License-Identifier: Apache-2.0 */
/* goodput.c - instances go where they shorten the sum of completion times most
 *
 * The worth of the next instance of a job: its gain for the speed of the job (policy/worth.c, from
 * the learnt speeds and the cost of a resize), times the worth of a unit of its speed (its own
 * waiting and that of the longer ones that it displaces: policy/ranks.c), by the part of the
 * cluster that it takes, of the scarcest resource. Whoever's next one is worth most grows,
 * whoever's last one is worth least gives; how: policy/engine.h. When no job has anything to gain
 * from a move, the worth of the last instance given is the price: that is the division of
 * policy/allocate.h, reached step by step.
 *
 * A job that is behind the progress of its fair share of the cluster counts for more, the further
 * the more (speed/length.h).
 *
 * The instances that a job needs to be over before its deadline go before all others of any worth,
 * the earliest deadline first; a deadline that no size keeps is nobody's concern.
 *
 * Instances of a job beyond those that use their GPUs are worth nothing.
 *
 * Room that is worth nothing to anybody is tried still, while nobody else is to have it, by jobs
 * that a change costs little and that were not seen to be slower with it.
 *
 * It ends: each transfer raises the sum of the worth of all instances, of which there are finitely
 * many divisions; the margin keeps rounding out of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/policy/allocate.h"
#include "scheduler/core/policy/deadline_share.h"
#include "scheduler/core/policy/engine.h"
#include "scheduler/core/policy/index.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"
#include "scheduler/core/policy/ranks.h"
#include "scheduler/core/policy/weights.h"
#include "scheduler/core/policy/worth.h"
#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/length.h"
#include "scheduler/core/speed/measure.h"
#include "shared/macro.h"

/* One step of priority counts as twice as many jobs. */
#define PRIORITY_STEP 2.0
#define PRIORITY_MOST 16
/* The speed of longer jobs with a part of the cluster is that part to this power: 0.3 to 0.9 differ
 * by two per cent in the mean completion time. */
#define BUDGET_POWER 0.6
/* Jobs whose lengths lie in one such step share a rank. In a steady stream of equal jobs the older
 * ones are only a little shorter, and would keep a newcomer at one instance. */
#define LENGTH_STEP 3.0
/* By which a taker must be ahead of a giver. Measurements vary, and so does the order of the jobs:
 * 1.05 to 2 differ by a per cent in the mean completion time, and threefold in resizes. Of a job
 * that tells nothing no number varies. */
#define MARGIN 1.35
#define MARGIN_SILENT 1.05
/* Scores of the needs of deadlines: the earliest first, all of them before all other worth. Later
 * ones are alike: half a year of a machine that is up. */
#define LATEST_S 15e6
/* Below what anything else is worth */
#define SPARE 1e-20
/* A job that does not get on for reasons of its own is behind as well: it never counts for more
 * than a step of priority would make of it. */
#define BOOST_MOST 2
/* The time that a job may take to begin to work without being behind */
#define ISOLATED_START_S 30
/* The measure of a cluster changes with each node; that of a part of it does so in steps of a
 * tenth, or a node that joins would be news for every job. */
#define TOTALS_STEP 0.0953101798 /* log(1.1) */

/* The measure of a job: whether it changed */
struct facts {
    uint32_t windows;
    double resize_s, units_done, units_left, learned_at_s, due_s;
};

/* How a job gets on, by its submission */
struct progress {
    double elapsed_s, done_s, remaining_s; /* done_s below 0: nobody knows */
    uint32_t crowd;                        /* jobs that there are */
};

struct goodput_entry {
    struct entry entry; /* first */
    struct goodput_rank rank;
    struct goodput_worth worth;
    struct facts facts;
    struct progress progress;
    bool silent;      /* nothing is measured of it */
    uint32_t urgency; /* score of the needs of its deadline */
    double a;         /* weight: the worth of a unit of its speed */
    double dominant;  /* part of the cluster that one instance takes, of the scarcest resource: */
    enum policy_resource scarcest;
    double units; /* of that one, in one instance: cores, GiB, GPUs; 0: it asks for nothing */
};

/* How much there is of each resource, in steps */
struct scale {
    int steps[POLICY_RESOURCES];
};

struct market {
    const struct goodput_options *options;
    struct policy_state *state; /* borrowed */
    struct goodput_ranks ranks;
    struct scale scale;
};

static struct goodput_entry *entry_of(struct entry *entry)
{
    return (struct goodput_entry *)entry;
}

static const struct goodput_entry *entry_of_const(const struct entry *entry)
{
    return (const struct goodput_entry *)entry;
}

/* --- scores --------------------------------------------------------------------------------------
 */

/* The order of positive numbers is that of their bits: the dearest has the lowest score. */
static uint32_t score_of_worth(double worth)
{
    const float most = (float)fmin(worth, 1e38);
    uint32_t bits;

    memcpy(&bits, &most, sizeof bits);
    return isinf(worth) ? 0 : UINT32_C(0x7f800000) - bits;
}

/* It has, or had a while ago, as many that do not use their GPUs. */
static bool would_idle(const struct goodput_entry *entry, uint32_t instances)
{
    const struct policy_job *job = &entry->entry.job;

    return job->busy > 0 && instances > MAX_OF(job->busy, job->min);
}

/* For its part of the cluster; a job with fewer instances has the spare ones first. */
static double worth_of(const struct goodput_entry *entry, uint32_t instances)
{
    double value = would_idle(entry, instances) ? -1 : goodput_worth_of(&entry->worth, instances);

    if (value == 0)
        return SPARE / instances;
    return value < 0 ? 0 : value * entry->a / entry->dominant;
}

static bool is_needed_in_time(const struct goodput_entry *entry, uint32_t instances)
{
    return instances > entry->entry.job.min && instances <= entry->worth.required &&
           !would_idle(entry, instances);
}

static uint32_t score_of(const struct goodput_entry *entry, uint32_t instances, double margin)
{
    if (is_needed_in_time(entry, instances))
        return entry->urgency;
    return score_of_worth(worth_of(entry, instances) / margin);
}

static void score(const struct entry *base, struct policy_scores *ret)
{
    const struct goodput_entry *entry = entry_of_const(base);
    uint32_t planned = base->plan.parallelism;
    double next = worth_of(entry, planned + 1);
    double margin = entry->silent ? MARGIN_SILENT : MARGIN;

    ret->down = ret->giver =
        planned > entry->worth.harmless ? SCORE_HARMFUL : score_of(entry, planned, 1);
    ret->up = next > 0 ? score_of(entry, planned + 1, 1) : SCORE_NEVER;
    ret->taker = next > SPARE ? score_of(entry, planned + 1, margin) : SCORE_NEVER;
}

/* --- the knowledge of a job ----------------------------------------------------------------------
 */

static void set_dominant(struct goodput_entry *entry, const struct scale *scale)
{
    static const double unit[] = {
        [POLICY_CPU] = 1000, [POLICY_MEMORY] = 1024.0 * 1024 * 1024, [POLICY_GPU] = 1
    };
    const struct request request = request_of_job(&entry->entry.job);

    /* one that asks for nothing is not free of cost: the order would be lost */
    entry->dominant = 1e-9;
    entry->scarcest = POLICY_CPU;
    entry->units = 0;
    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++) {
        double amount = (double)request_amount(&request, r);
        double part = amount / exp(scale->steps[r] * TOTALS_STEP);

        if (part <= entry->dominant)
            continue;
        entry->dominant = part;
        entry->scarcest = r;
        entry->units = amount / unit[r];
    }
}

/* Against the time that it would take from its submission to its end alone in its share, as if all
 * that are there had the same. */
static double boost(const struct market *market, const struct goodput_entry *entry)
{
    const struct progress *at = &entry->progress;
    double speed, whole_s, rho;

    if (at->done_s < 0 || at->crowd == 0)
        return 1;
    speed = goodput_worth_speed(&entry->worth, 1 / (entry->dominant * at->crowd));
    whole_s = (at->done_s + at->remaining_s) / speed + ISOLATED_START_S;
    rho = goodput_rho(at->elapsed_s, at->remaining_s / speed, whole_s);
    return fmin(goodput_fairness_boost(rho, market->options->fairness_gain), BOOST_MOST);
}

static void weigh(const struct market *market, struct goodput_entry *entry)
{
    double a = goodput_worth_weight(&entry->worth, goodput_ranks_before(&entry->rank),
                                    entry->rank.weight, entry->dominant, BUDGET_POWER);

    entry->a = pow(a, market->options->beta) * boost(market, entry);
}

static struct facts facts_of(const struct policy_job *job)
{
    struct facts facts = { .units_done = job->units_done,
                           .units_left = job->units_left,
                           .learned_at_s = job->learned_at_s,
                           .due_s = job->due_s };

    if (job->learned != NULL) {
        facts.windows = job->learned->windows;
        facts.resize_s = job->learned->resize_s;
    }
    return facts;
}

static bool is_news(const struct entry *base, const struct policy_job *job)
{
    const struct facts *before = &entry_of_const(base)->facts;
    const struct facts now = facts_of(job);

    return job->known != NULL || now.windows != before->windows ||
           now.resize_s != before->resize_s || now.units_done != before->units_done ||
           now.units_left != before->units_left || now.learned_at_s != before->learned_at_s ||
           now.due_s != before->due_s;
}

/* length: by its speeds and the work left, not by its priority */
static void rank(struct market *market, struct goodput_entry *entry, double length)
{
    const struct policy_job *job = &entry->entry.job;
    int32_t steps = MIN_OF(MAX_OF(job->priority, -PRIORITY_MOST), PRIORITY_MOST);
    double weight = pow(PRIORITY_STEP, steps);

    length = pow(LENGTH_STEP, floor(log(length) / log(LENGTH_STEP)));
    if (job->pending)
        goodput_ranks_remove(&market->ranks, &entry->rank);
    else
        goodput_ranks_put(&market->ranks, &entry->rank, length / weight, weight);
}

/* The first size that ends it in time, with something to spare; the fastest when none has that; the
 * largest that it may grow to now when only a larger one does. The first when nobody knows, or none
 * ends it in time at all: then it is nothing that others should give up anything for. */
static int required_point(const struct goodput_curve *curve, const struct goodput_curve *full,
                          double remaining_s, double left_s)
{
    double best = full->points[goodput_curve_best(full)].speed;
    double speed = fmin(remaining_s / (GOODPUT_IN_TIME * left_s), best);
    int point = 0;

    if (remaining_s < 0 || left_s <= 0 || remaining_s / left_s > best)
        return 0;
    while (point < curve->n - 1 && curve->points[point].speed < speed)
        point++;
    return point;
}

/* Work that has to be done before its deadline: the time that nine in ten like it took, which its
 * owner was promised; when that cannot be done in time, the time that half of them took. */
static double due_work(const struct goodput_learned *learned, const struct goodput_work *work,
                       const struct goodput_curve *full, double left_s)
{
    double longest_s = goodput_learn_longest(learned, work);
    double best = full->points[goodput_curve_best(full)].speed;

    return longest_s <= best * left_s ? longest_s : goodput_learn_remaining(learned, work);
}

/* The curve as far as it may grow now, and (ret_full) as if it could have any size at once */
static void known_by_learning(const struct policy_job *job, struct goodput_known *ret,
                              struct goodput_curve *ret_full)
{
    struct goodput_span span = { .min = MAX_OF(job->min, 1),
                                 .max = MAX_OF(job->max, 1),
                                 .current = job->parallelism,
                                 .cost_per_instance = 1 };
    const struct goodput_learned *learned = job->learned;
    struct goodput_learned nothing;
    struct goodput_work work;
    double left_s;

    if (learned == NULL) {
        goodput_learn_init(&nothing);
        learned = &nothing;
    }
    goodput_learn_curve(learned, &span, &ret->curve);
    work = goodput_learn_work(learned, job->units_done, job->units_left);
    ret->remaining_s = goodput_remaining(&goodput_defaults.levels, &work);
    ret->done_s = work.remaining_s >= 0 ? work.attained_s : -1;
    ret->resize_s = learned->resize_s;
    ret->held = goodput_curve_at(&ret->curve, job->parallelism);
    span.current = span.max;
    goodput_learn_curve(learned, &span, ret_full);
    left_s = job->due_s - job->learned_at_s;
    ret->required = job->due_s > 0
                        ? required_point(&ret->curve, ret_full,
                                         due_work(learned, &work, ret_full, left_s), left_s)
                        : 0;
}

static void set_worth(const struct market *market, struct goodput_entry *entry,
                      const struct goodput_known *known, uint32_t measured)
{
    const struct goodput_change change = { .current = known->held,
                                           .remaining_s = known->remaining_s,
                                           .resize_s = known->resize_s,
                                           .horizon_s = goodput_defaults.horizon_s,
                                           .floor = goodput_defaults.change_floor };

    goodput_worth_set(&entry->worth, &known->curve, market->options->q, &change, known->required,
                      measured);
}

static void told(struct policy_state *state, struct entry *base, const struct policy_job *job)
{
    struct goodput_entry *entry = entry_of(base);
    struct market *market = state->own;
    struct goodput_known learned;
    struct goodput_curve learned_full;
    const struct goodput_known *known = job->known;
    const struct goodput_curve *full = &learned_full;
    double length;

    if (known != NULL) {
        full = &known->curve;
        set_worth(market, entry, known, UINT32_MAX);
    } else {
        known_by_learning(job, &learned, &learned_full);
        known = &learned;
        set_worth(market, entry, known, job->learned != NULL ? job->learned->largest : 0);
    }
    goodput_worth_set_sizes(&entry->worth, full);
    length = goodput_length(full, known->remaining_s, 1);
    rank(market, entry,
         job->learned != NULL && job->learned->length > 0 ? job->learned->length : length);
    set_dominant(entry, &market->scale);
    entry->progress =
        (struct progress){ job->elapsed_s, known->done_s, known->remaining_s, job->crowd };
    if (!job->pending)
        weigh(market, entry);
    entry->urgency = 1 + (uint32_t)fmin(job->due_s, LATEST_S);
    entry->silent = job->learned != NULL && job->learned->silent;
    entry->facts = facts_of(job);
}

static void forget(struct policy_state *state, struct entry *base)
{
    struct market *market = state->own;

    goodput_ranks_remove(&market->ranks, &entry_of(base)->rank);
    goodput_worth_done(&entry_of(base)->worth);
}

/* --- before a decision ---------------------------------------------------------------------------
 */

static void weigh_anew(struct goodput_rank *rank, void *userdata)
{
    struct goodput_entry *entry =
        (struct goodput_entry *)((char *)rank - offsetof(struct goodput_entry, rank));
    struct market *market = userdata;

    index_take_out(market->state, &entry->entry);
    weigh(market, entry);
    index_file_in(market->state, &entry->entry);
}

static int steps_of(int64_t total)
{
    return total > 0 ? (int)floor(log((double)total) / TOTALS_STEP) : 0;
}

static void measure_cluster(struct market *market, const struct policy_totals *totals)
{
    const struct scale scale = { .steps = { [POLICY_CPU] = steps_of(totals->cpu_total_millicores),
                                            [POLICY_MEMORY] = steps_of(totals->memory_total_bytes),
                                            [POLICY_GPU] = steps_of(totals->gpu_total) } };
    struct entry *entry, *next;

    if (memcmp(&scale, &market->scale, sizeof scale) == 0)
        return;
    market->scale = scale;
    HASH_ITER(hh, market->state->entries, entry, next)
    {
        index_take_out(market->state, entry);
        set_dominant(entry_of(entry), &scale);
        if (!entry->job.pending)
            weigh(market, entry_of(entry));
        index_file_in(market->state, entry);
    }
}

static void prepare(struct policy_state *state, const struct policy_totals *totals)
{
    struct market *market = state->own;

    measure_cluster(market, totals);
    goodput_ranks_settle(&market->ranks, weigh_anew, market);
}

/* --- the policy ----------------------------------------------------------------------------------
 */

static const struct policy_scoring scoring = {
    .entry_size = sizeof(struct goodput_entry),
    .score = score,
    .is_news = is_news,
    .told = told,
    .forget = forget,
    .prepare = prepare,
};

static struct policy_state *new_with(const struct goodput_options *options)
{
    struct policy_state *state = index_new(&scoring);
    struct market *market = xcalloc(1, sizeof *market);

    market->options = options;
    market->state = state;
    goodput_ranks_init(&market->ranks);
    state->own = market;
    return state;
}

static struct policy_state *state_new(void)
{
    return new_with(&goodput_defaults);
}

/* The one knob: how much weights and the last instances of a large job count. */
static struct policy_state *state_new_balanced(void)
{
    return new_with(&goodput_balanced);
}

static struct policy_state *state_free(struct policy_state *state)
{
    struct market *market = state != NULL ? state->own : NULL;

    state = index_free(state);
    if (market != NULL)
        goodput_ranks_done(&market->ranks);
    free(market);
    return state;
}

/* --- prices and words ----------------------------------------------------------------------------
 */

/* Of the last of so many instances, by its part of the resource that is scarcest for it */
static double worth_of_unit(const struct goodput_entry *entry, uint32_t instances)
{
    double worth = worth_of(entry, instances);

    return worth > SPARE && entry->units > 0 ? worth * entry->dominant / entry->units : 0;
}

static bool is_priced_by(const struct entry *base, enum policy_resource resource)
{
    const struct goodput_entry *entry = entry_of_const(base);

    return entry->units > 0 && entry->scarcest == resource;
}

static struct policy_price price_of(const struct policy_state *state,
                                    const struct policy_totals *totals,
                                    enum policy_resource resource)
{
    const struct entry *giver = index_cheapest(state, resource, is_priced_by);
    int64_t has_free = policy_free(totals, resource);
    uint32_t held;

    if (policy_total(totals, resource) <= 0)
        return (struct policy_price){ .none = true, .for_sale = true };
    if (giver == NULL)
        return (struct policy_price){ .for_sale = has_free > 0 };
    held = giver->plan.parallelism;
    if (has_free >= (int64_t)request_amount(&giver->shape->request, resource))
        return (struct policy_price){ .for_sale = true };
    if (is_needed_in_time(entry_of_const(giver), held))
        return (struct policy_price){ .for_sale = false };
    return (struct policy_price){ .for_sale = true,
                                  .worth = worth_of_unit(entry_of_const(giver), held) };
}

static void prices(const struct policy_state *state, const struct policy_totals *totals,
                   struct policy_price ret[POLICY_RESOURCES])
{
    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++)
        ret[r] = price_of(state, totals, r);
}

static void note_price(const struct policy_state *state, enum policy_resource resource,
                       char *buffer, size_t size)
{
    struct policy_price price;

    if (state->planned == NULL)
        return;
    price = price_of(state, state->planned, resource);
    if (price.for_sale)
        (void)snprintf(buffer, size, ", price %.3g per %s", price.worth,
                       policy_resource_unit(resource));
    else
        (void)snprintf(buffer, size, ", no %s for sale", policy_resource_unit(resource));
}

/* The worth of so many instances, in words */
static void describe(const struct goodput_entry *entry, uint32_t instances, char *buffer,
                     size_t size)
{
    double worth = worth_of(entry, instances);

    if (instances <= entry->entry.job.min)
        (void)snprintf(buffer, size, "its minimum");
    else if (would_idle(entry, instances))
        (void)snprintf(buffer, size, "idle");
    else if (is_needed_in_time(entry, instances))
        (void)snprintf(buffer, size, "needed for its deadline");
    else if (worth <= SPARE)
        (void)snprintf(buffer, size, worth > 0 ? "spare" : "of no use");
    else
        (void)snprintf(buffer, size, "worth %.3g", worth_of_unit(entry, instances));
}

static void explain(const struct policy_state *state, uint64_t id, char *buffer, size_t size)
{
    const struct entry *base = index_find(state, id);
    char last[32], next[32];
    uint32_t planned;

    if (base == NULL) {
        (void)snprintf(buffer, size, "goodput");
        return;
    }
    planned = base->plan.parallelism;
    describe(entry_of_const(base), planned, last, sizeof last);
    describe(entry_of_const(base), planned + 1, next, sizeof next);
    (void)snprintf(buffer, size, "goodput: of %u the last is %s, one more %s", planned, last, next);
    note_price(state, entry_of_const(base)->scarcest, buffer + strlen(buffer),
               size - strlen(buffer));
    policy_engine_note_taker(state, buffer + strlen(buffer), size - strlen(buffer));
}

/* Whose last one is worth least */
static int compare_givers(const struct policy_state *state, const struct policy_job *a,
                          const struct policy_job *b)
{
    const struct entry *a_entry = index_find(state, a->id), *b_entry = index_find(state, b->id);
    uint32_t a_score, b_score;

    if (a_entry == NULL || b_entry == NULL)
        return policy_compare_spans(state, a, b);
    a_score = score_of(entry_of_const(a_entry), a->parallelism, 1);
    b_score = score_of(entry_of_const(b_entry), b->parallelism, 1);
    return a_score > b_score ? -1 : a_score < b_score;
}

#define COMMON                                                                                     \
    .learns = true, .by_turn = true, .free = state_free, .put = index_put, .drop = index_drop,     \
    .prepare = prepare, .decide = policy_engine_decide, .explain = explain, .prices = prices,      \
    .compare_givers = compare_givers

const struct policy policy_goodput = {
    COMMON,
    .name = "goodput",
    .summary = "instances go where they shorten the sum of completion times most",
    .new = state_new,
};

const struct policy policy_goodput_balanced = {
    COMMON,
    .name = "goodput-balanced",
    .summary = "as goodput, with an eye on when the last job is over",
    .new = state_new_balanced,
};
