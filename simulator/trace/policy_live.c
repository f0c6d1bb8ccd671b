/* SPDX-License-Identifier: Apache-2.0 */
/* policy_live.c - ours as the scheduler runs it: the very policy of scheduler/core/policy/goodput.c
 *
 * It moves one instance at a time and knows only the changes, by ranks instead of the recursion. A
 * waiting job is started as the scheduler does it: in the order of its turn (job_turn.c), with its
 * minimum, as soon as others could give that much; and nobody who runs is stopped for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/policy/allocate.h"
#include "scheduler/core/policy/worth.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"
#include "simulator/trace/goodput_view.h"
#include "simulator/trace/policy.h"

#define INSTANCE_MILLICORES 1000
#define EVERYTHING_PERMILLE 1000
/* Decisions one after the other, before the next event; a few are enough for it to settle. */
#define TURNS_MAX 100
/* memory does not count here */
#define MEMORY_BYTES INT64_MAX

struct live {
    const struct policy *policy;     /* borrowed */
    struct policy_state *state;      /* owned */
    struct goodput_history *history; /* owned */
    uint32_t *known;                 /* owned: ids of those that the policy was told of */
    size_t n_known, cap_known;
};

struct decision {
    const struct view *view;
    uint32_t *counts;
    size_t moves;
};

static size_t place_of(const struct view *view, uint64_t id)
{
    size_t low = 0, high = view->n;

    while (low < high) { /* they are in the order of their ids */
        size_t middle = (low + high) / 2;

        if (view->jobs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool move(struct decision *d, uint64_t id, int change)
{
    size_t at = place_of(d->view, id);

    if (at >= d->view->n || d->view->jobs[at].id != id)
        return false;
    d->counts[at] = (uint32_t)((int64_t)d->counts[at] + change);
    d->moves++;
    return true;
}

static bool grow(void *userdata, uint64_t id)
{
    return move(userdata, id, 1);
}

static bool shrink(void *userdata, uint64_t id)
{
    return move(userdata, id, -1);
}

/* What all have beyond their minima, and what nobody has */
static uint32_t to_be_had(const struct view *view)
{
    uint32_t had = view->capacity;

    for (size_t i = 0; i < view->n; i++)
        if (view->jobs[i].held > 0)
            had -= MIN_OF(view->jobs[i].held, view_first(&view->jobs[i]));
    return had;
}

struct waiting {
    size_t at; /* in view->jobs */
    double turn_s;
};

static int by_turn(const void *left, const void *right)
{
    const struct waiting *a = left, *b = right;

    if (a->turn_s != b->turn_s)
        return a->turn_s < b->turn_s ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void start(struct live *live, const struct view *view, uint32_t counts[])
{
    struct waiting *waiting = xcalloc(view->n, sizeof(*waiting));
    uint32_t room = to_be_had(view);
    size_t n = 0;

    for (size_t i = 0; i < view->n; i++) {
        struct goodput_work work;

        counts[i] = view->jobs[i].held;
        if (counts[i] > 0)
            continue;
        work = goodput_view_work(live->history, view, i);
        waiting[n++] =
            (struct waiting){ i, view->jobs[i].submit_s +
                                     goodput_remaining(&goodput_defaults.levels, &work) };
    }
    qsort(waiting, n, sizeof(*waiting), by_turn);
    for (size_t w = 0; w < n; w++) {
        uint32_t first = view_first(&view->jobs[waiting[w].at]);

        if (first > room)
            continue;
        counts[waiting[w].at] = first;
        room -= first;
    }
    free(waiting);
}

static void tell(struct live *live, const struct view *view, size_t i, uint32_t count)
{
    const struct view_job *job = &view->jobs[i];
    struct goodput_known known = { .resize_s = job->held > 0 ? view->restart_s : 0 };
    struct goodput_work work = goodput_view_work(live->history, view, i);
    struct policy_job told = { .id = job->id,
                               .elapsed_s = view->now_s - job->submit_s,
                               .crowd = (uint32_t)view->n,
                               .priority = (int32_t)lrint(log2(job->weight)),
                               .min = view_first(job),
                               .max = MAX_OF(job->max, view_first(job)),
                               .parallelism = count,
                               .stable = true,
                               .cpu_millicores = INSTANCE_MILLICORES,
                               .units_left = -1,
                               .known = &known };

    goodput_view_curve(view, i, job->held, &known.curve);
    known.remaining_s = goodput_remaining(&goodput_defaults.levels, &work);
    known.done_s = work.remaining_s >= 0 ? work.attained_s : -1;
    known.held = job->held > 0 ? goodput_curve_at(&known.curve, job->held) : GOODPUT_NO_POINT;
    live->policy->put(live->state, &told);
}

/* Who is not in the view any more is over. */
static void forget_ended(struct live *live, const struct view *view)
{
    size_t kept = 0;

    for (size_t i = 0; i < live->n_known; i++) {
        size_t at = place_of(view, live->known[i]);

        if (at < view->n && view->jobs[at].id == live->known[i])
            live->known[kept++] = live->known[i];
        else
            live->policy->drop(live->state, live->known[i]);
    }
    live->n_known = kept;
}

static void remember(struct live *live, uint32_t id)
{
    size_t at = live->n_known;

    while (at > 0 && live->known[at - 1] > id) /* one that waited while later ones began */
        at--;
    if (at > 0 && live->known[at - 1] == id)
        return;
    if (live->n_known == live->cap_known) {
        live->cap_known = live->cap_known > 0 ? 2 * live->cap_known : 64;
        live->known = xreallocarray(live->known, live->cap_known, sizeof *live->known);
    }
    memmove(live->known + at + 1, live->known + at, (live->n_known - at) * sizeof *live->known);
    live->known[at] = id;
    live->n_known++;
}

static int64_t tell_all(struct live *live, const struct view *view, const uint32_t counts[])
{
    int64_t held = 0;

    for (size_t i = 0; i < view->n; i++) {
        held += counts[i];
        if (counts[i] == 0)
            continue;
        tell(live, view, i, counts[i]);
        remember(live, view->jobs[i].id);
    }
    return held;
}

/* Who could have its next amount of what is left and gains most by it, or view->n. */
static size_t next_to_fill(const struct live *live, const struct view *view,
                           const uint32_t counts[], uint32_t left)
{
    struct policy_job best = { 0 };
    size_t best_at = view->n;

    for (size_t i = 0; i < view->n; i++) {
        const struct view_job *job = &view->jobs[i];
        uint32_t next = counts[i] > 0 && job->counts != NULL ? view_next(job, counts[i]) : 0;
        const struct policy_job with = { .id = job->id, .parallelism = next };

        if (next == 0 || next - counts[i] > left)
            continue;
        if (best_at < view->n && live->policy->compare_givers(live->state, &best, &with) >= 0)
            continue;
        best = with;
        best_at = i;
    }
    return best_at;
}

/* Of some jobs not all amounts can be had here, or make a difference. The policy knows nothing of
 * that; what it gave in between goes to those for whom the next one can be had, by its worth. */
static void round_amounts(const struct live *live, const struct view *view, uint32_t counts[])
{
    uint32_t left = 0;
    size_t at;

    for (size_t i = 0; i < view->n; i++) {
        const struct view_job *job = &view->jobs[i];
        uint32_t had = counts[i];

        if (had == 0 || job->counts == NULL)
            continue;
        counts[i] = MAX_OF(view_prev(job, had + 1), view_first(job));
        left += had - counts[i];
    }
    while (left > 0 && (at = next_to_fill(live, view, counts, left)) < view->n) {
        uint32_t next = view_next(&view->jobs[at], counts[at]);

        left -= next - counts[at];
        counts[at] = next;
    }
}

/* What one gives is free at the scheduler's next decision, which follows at once, so to others it
 * goes then: until nothing moves. */
static void decide(void *state, const struct view *view, struct plan *plan)
{
    static const struct policy_ops ops = { .grow = grow, .shrink = shrink };
    struct live *live = state;
    struct decision d = { .view = view, .counts = plan->counts };
    struct policy_totals totals = {
        .cpu_total_millicores = (int64_t)view->capacity * INSTANCE_MILLICORES,
        .memory_total_bytes = MEMORY_BYTES,
        .max_load_permille = EVERYTHING_PERMILLE,
    };
    int turns = TURNS_MAX;

    goodput_history_look(live->history, view);
    forget_ended(live, view);
    start(live, view, plan->counts);
    do {
        d.moves = 0;
        totals.cpu_requested_millicores = tell_all(live, view, plan->counts) * INSTANCE_MILLICORES;
        live->policy->decide(live->state, &totals, &ops, &d);
    } while (d.moves > 0 && --turns > 0);
    round_amounts(live, view, plan->counts);
    plan->placing = PLACE_ALIGNED;
}

static struct live *begin_with(const struct policy *policy)
{
    struct live *live = xcalloc(1, sizeof *live);

    live->policy = policy;
    live->state = policy->new ();
    live->history = goodput_history_new();
    return live;
}

static void *begin(const struct view *view)
{
    (void)view;
    return begin_with(&policy_goodput);
}

static void *begin_balanced(const struct view *view)
{
    (void)view;
    return begin_with(&policy_goodput_balanced);
}

static void end(void *state)
{
    struct live *live = state;

    (void)live->policy->free(live->state);
    (void)goodput_history_free(live->history);
    free(live->known);
    free(live);
}

const struct trace_policy trace_policy_goodput_live = {
    .name = "goodput-live",
    .summary = "ours as the scheduler runs it, one instance at a time",
    .uses = USES_SPEEDS,
    .profits = USES_LENGTHS | USES_HISTORY,
    .begin = begin,
    .decide = decide,
    .end = end,
};

const struct trace_policy trace_policy_goodput_live_balanced = {
    .name = "goodput-live-balanced",
    .summary = "as goodput-live, with an eye on the makespan",
    .uses = USES_SPEEDS,
    .profits = USES_LENGTHS | USES_HISTORY,
    .begin = begin_balanced,
    .decide = decide,
    .end = end,
};
