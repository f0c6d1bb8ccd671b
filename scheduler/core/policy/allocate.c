/* SPDX-License-Identifier: Apache-2.0 */
/* allocate.c - who gets how much of a budget
 *
 * A heap of the jobs by the worth of a bundle of their next segment: only bought segments are
 * looked at. Of one job segments come in the order of its curve, because their slopes fall. */
#include "scheduler/core/policy/allocate.h"

#include <math.h>
#include <stdlib.h>

#include "scheduler/core/policy/weights.h"
#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/length.h"
#include "shared/macro.h"

#define COMMON                                                                                     \
    .weights = GOODPUT_WEIGHTS_RECURSION, .rank_p = 0.9, .horizon_s = 600, .change_floor = 0.02,   \
    .cut_gain = 0.02, .fairness_gain = 0.1, .levels = GOODPUT_LEVELS

const struct goodput_options goodput_defaults = { COMMON, .beta = 0.8, .q = 1 };
const struct goodput_options goodput_balanced = { COMMON, .beta = 0.4, .q = 0.75 };

struct buyer {
    const struct goodput_request *request; /* borrowed */
    struct goodput_target *target;         /* borrowed */
    double length;
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull; /* above what it was given first */
    int next;                 /* segment that it would buy */
    bool admitted;            /* has its floor, or needs none */
};

/* The key of the heap stands beside the buyer, which is large: a comparison touches no other
 * memory. */
struct stall {
    double offer;
    uint64_t id;
    struct buyer *buyer; /* borrowed */
};

struct market {
    const struct goodput_options *options; /* borrowed */
    struct buyer *buyers;                  /* owned */
    size_t n;
    struct buyer **order; /* owned: for the floors */
    struct stall *heap;   /* owned */
    size_t n_heap;
    struct goodput_tenant *tenants; /* borrowed */
    size_t n_tenants;
    double budget, used;
    double price;
};

static double point_cost(const struct buyer *buyer, int point)
{
    return point < 0 ? 0 : buyer->request->curve->points[point].cost;
}

static struct goodput_tenant *tenant_of(const struct market *market, const struct buyer *buyer)
{
    uint32_t tenant = buyer->request->tenant;

    return tenant < market->n_tenants ? &market->tenants[tenant] : NULL;
}

static void give(struct market *market, struct buyer *buyer, int point, bool own)
{
    struct goodput_tenant *tenant = tenant_of(market, buyer);
    double before = point_cost(buyer, buyer->target->point);
    double more = point_cost(buyer, point) - before;
    double value = buyer->target->point < 0 ? 0 : buyer->values[buyer->target->point];

    buyer->target->worth = buyer->target->a * (buyer->values[point] - value) / more;
    buyer->target->point = point;
    market->used += more;
    if (tenant != NULL) {
        tenant->used += more;
        buyer->target->borrowed += own ? 0 : more;
    }
}

/* --- weights ------------------------------------------------------------------------------------
 */

static void set_weights(struct market *market, struct goodput_weighing *weighing)
{
    const struct goodput_options *options = market->options;
    struct goodput_weighed *jobs = xcalloc(market->n, sizeof *jobs);

    for (size_t i = 0; i < market->n; i++) {
        const struct goodput_request *request = market->buyers[i].request;

        jobs[i] = (struct goodput_weighed){ .id = request->id,
                                            .curve = request->curve,
                                            .priority_weight = request->priority_weight,
                                            .remaining_s = goodput_remaining(&options->levels,
                                                                             &request->work) };
    }
    if (options->weights == GOODPUT_WEIGHTS_RANK)
        goodput_weigh_by_rank(jobs, market->n, options->rank_p);
    else
        goodput_weigh(weighing, jobs, market->n, market->budget);
    for (size_t i = 0; i < market->n; i++) {
        struct buyer *buyer = &market->buyers[i];
        struct goodput_change change = { .current = buyer->request->current,
                                         .remaining_s = jobs[i].remaining_s,
                                         .resize_s = buyer->request->resize_s,
                                         .horizon_s = options->horizon_s,
                                         .floor = options->change_floor };

        buyer->length = jobs[i].length_s;
        buyer->target->a = (options->beta == 1 ? jobs[i].a : pow(jobs[i].a, options->beta)) *
                           goodput_fairness_boost(buyer->request->rho, options->fairness_gain);
        goodput_curve_values(buyer->request->curve, options->q, &change, buyer->values);
    }
    free(jobs);
}

/* --- floors: the shortest first -----------------------------------------------------------------
 */

static int shorter_first(const void *left, const void *right)
{
    const struct buyer *a = *(struct buyer *const *)left, *b = *(struct buyer *const *)right;
    bool a_required = a->request->required >= 0, b_required = b->request->required >= 0;

    if (a_required != b_required)
        return a_required ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return (a->request->id > b->request->id) - (a->request->id < b->request->id);
}

static bool fits(const struct market *market, const struct buyer *buyer, double cost, bool own)
{
    const struct goodput_tenant *tenant = tenant_of(market, buyer);

    if (market->used + cost > market->budget)
        return false;
    if (tenant == NULL)
        return true;
    return tenant->used + cost <= tenant->limit && (!own || tenant->used + cost <= tenant->quota);
}

static bool give_floors(struct market *market, bool own)
{
    bool missing = false;

    for (size_t i = 0; i < market->n; i++) {
        struct buyer *buyer = market->order[i];
        int floor = MAX_OF(buyer->request->required, market->options->no_floors ? -1 : 0);

        if (buyer->admitted || (own && tenant_of(market, buyer) == NULL))
            continue;
        buyer->admitted = floor < 0 || fits(market, buyer, point_cost(buyer, floor), own);
        if (buyer->admitted && floor >= 0)
            give(market, buyer, floor, own);
        missing |= !buyer->admitted;
    }
    return missing;
}

static bool set_floors(struct market *market)
{
    bool missing;

    for (size_t i = 0; i < market->n; i++)
        market->order[i] = &market->buyers[i];
    qsort(market->order, market->n, sizeof(struct buyer *), shorter_first);
    if (market->n_tenants > 0)
        (void)give_floors(market, true);
    missing = give_floors(market, false);
    for (size_t i = 0; i < market->n; i++) {
        struct buyer *buyer = &market->buyers[i];

        goodput_hull_of(buyer->request->curve, buyer->values, buyer->target->point, &buyer->hull);
    }
    return missing;
}

/* --- the heap of segments on offer ---------------------------------------------------------------
 */

static double offer(const struct buyer *buyer)
{
    return buyer->target->a * goodput_slope(&buyer->hull.segments[buyer->next]);
}

static bool is_before(const struct stall *a, const struct stall *b)
{
    return a->offer != b->offer ? a->offer > b->offer : a->id < b->id;
}

static void sink(struct market *market, size_t at)
{
    struct stall stall = market->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= market->n_heap)
            break;
        if (child + 1 < market->n_heap && is_before(&market->heap[child + 1], &market->heap[child]))
            child++;
        if (!is_before(&market->heap[child], &stall))
            break;
        market->heap[at] = market->heap[child];
        at = child;
    }
    market->heap[at] = stall;
}

static void pop(struct market *market)
{
    market->heap[0] = market->heap[--market->n_heap];
    if (market->n_heap > 0)
        sink(market, 0);
}

/* go_on - the first one has bought: its next segment is on offer, or it has none left */
static void go_on(struct market *market)
{
    struct stall *first = &market->heap[0];

    if (++first->buyer->next == first->buyer->hull.n) {
        pop(market);
        return;
    }
    first->offer = offer(first->buyer);
    sink(market, 0);
}

/* tenant: of these only; NULL: all */
static void open_market(struct market *market, const struct goodput_tenant *tenant)
{
    market->n_heap = 0;
    for (size_t i = 0; i < market->n; i++) {
        struct buyer *buyer = &market->buyers[i];

        if (buyer->admitted && buyer->next < buyer->hull.n &&
            (tenant == NULL || tenant_of(market, buyer) == tenant))
            market->heap[market->n_heap++] =
                (struct stall){ .offer = offer(buyer), .id = buyer->request->id, .buyer = buyer };
    }
    for (size_t i = market->n_heap / 2; i-- > 0;)
        sink(market, i);
}

static void buy_own(struct market *market, struct goodput_tenant *tenant)
{
    open_market(market, tenant);
    while (market->n_heap > 0) {
        struct buyer *buyer = market->heap[0].buyer;
        const struct goodput_segment *segment = &buyer->hull.segments[buyer->next];

        if (!fits(market, buyer, segment->cost, true)) {
            tenant->price = market->heap[0].offer;
            return;
        }
        give(market, buyer, segment->point, true);
        go_on(market);
    }
}

static double room_for(const struct market *market, const struct buyer *buyer)
{
    const struct goodput_tenant *tenant = tenant_of(market, buyer);
    double room = market->budget - market->used;

    return tenant == NULL ? room : fmin(room, tenant->limit - tenant->used);
}

/* The smallest step that anybody could take: below it nothing can be sold any more. */
static double least_step(const struct market *market)
{
    double least = INFINITY;

    for (size_t i = 0; i < market->n_heap; i++) {
        const struct buyer *buyer = market->heap[i].buyer;
        int at = buyer->target->point;

        for (int p = at + 1; p <= buyer->hull.segments[buyer->hull.n - 1].point; p++)
            least = fmin(least, point_cost(buyer, p) - point_cost(buyer, p - 1));
    }
    return least;
}

/* A cut segment is given in part, and its job is done with; the rest of the budget goes on
 * downwards. */
static void buy_cut(struct market *market, struct buyer *buyer)
{
    int at = buyer->target->point;
    int point = goodput_fill(buyer->request->curve, buyer->values, at, room_for(market, buyer),
                             market->options->cut_gain);

    if (point > at)
        give(market, buyer, point, false);
    pop(market);
}

static void buy_common(struct market *market)
{
    double least = 0;

    open_market(market, NULL);
    while (market->n_heap > 0 && market->budget - market->used >= least) {
        struct buyer *buyer = market->heap[0].buyer;
        const struct goodput_segment *segment = &buyer->hull.segments[buyer->next];

        if (fits(market, buyer, segment->cost, false)) {
            give(market, buyer, segment->point, false);
            go_on(market);
            continue;
        }
        if (market->price == 0 && market->used + segment->cost > market->budget) {
            market->price = market->heap[0].offer;
            least = least_step(market);
        }
        buy_cut(market, buyer);
    }
    if (market->price == 0 && market->n_heap > 0)
        market->price = market->heap[0].offer;
}

int goodput_fill(const struct goodput_curve *curve, const double values[], int at, double room,
                 double gain)
{
    double cost = at < 0 ? 0 : curve->points[at].cost;
    double value = at < 0 ? 0 : values[at];

    for (int p = curve->n - 1; p > at; p--)
        if (curve->points[p].cost - cost <= room && values[p] > (1 + gain) * value)
            return p;
    return at;
}

struct goodput_outcome goodput_allocate(struct goodput_weighing *weighing,
                                        const struct goodput_options *options,
                                        const struct goodput_request *requests, size_t n,
                                        struct goodput_tenant *tenants, size_t n_tenants,
                                        double budget, struct goodput_target *ret_targets)
{
    struct market market = { .options = options,
                             .buyers = xcalloc(n, sizeof *market.buyers),
                             .n = n,
                             .order = xcalloc(n, sizeof(struct buyer *)),
                             .heap = xcalloc(n, sizeof *market.heap),
                             .tenants = tenants,
                             .n_tenants = n_tenants,
                             .budget = budget };
    struct goodput_outcome outcome;

    for (size_t i = 0; i < n; i++) {
        ret_targets[i] = (struct goodput_target){ .point = GOODPUT_NO_POINT };
        market.buyers[i].request = &requests[i];
        market.buyers[i].target = &ret_targets[i];
    }
    for (size_t t = 0; t < n_tenants; t++)
        tenants[t].price = tenants[t].used = 0;
    set_weights(&market, weighing);
    outcome.short_of_floors = set_floors(&market);
    for (size_t t = 0; t < n_tenants; t++)
        buy_own(&market, &tenants[t]);
    buy_common(&market);
    outcome.price = market.price;
    outcome.used = market.used;
    free(market.buyers);
    free(market.order);
    free(market.heap);
    return outcome;
}
