/* SPDX-License-Identifier: Apache-2.0 */
/* test_capacity.c - the index of rooms: its order, its log, and the same answers as a plain list's
 *
 * EDL_SEED chooses the run; the seed is printed. */
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/plan/capacity.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define ROOMS 60
#define STEPS 100000

static struct room_facts facts(int64_t now_cpu, int64_t later_cpu, int64_t gpus)
{
    struct room_facts facts = {
        .now = { .cpu_millicores = now_cpu, .memory_bytes = 1000, .gpus = gpus, .ports = 4 }
    };

    facts.later = facts.now;
    facts.later.cpu_millicores = later_cpu;
    return facts;
}

struct few {
    struct capacity capacity;
    struct room rooms[3];
    struct labels labels[3];
};

static void few_init(struct few *few, const struct room_facts facts[3])
{
    static const char *const names[] = { "a", "b", "c" };

    *few = (struct few){ 0 };
    capacity_init(&few->capacity);
    for (size_t i = 0; i < 3; i++) {
        few->rooms[i] = (struct room){ .name = names[i], .labels = &few->labels[i] };
        assert_true(capacity_set(&few->capacity, &few->rooms[i], &facts[i]));
    }
}

TEST(test_best_fit_takes_the_tightest_that_fits)
{
    struct room_facts given[] = { facts(3000, 3000, 0), facts(500, 500, 0), facts(1000, 1000, 0) };
    struct want want = { .need = { .cpu_millicores = 800, .memory_bytes = 10 } };
    struct few few;

    few_init(&few, given);
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[2]);
    want.need.cpu_millicores = 3001;
    assert_null(capacity_best_fit(&few.capacity, &want, true));
    want.need = (struct resources){ .cpu_millicores = 1, .memory_bytes = 1001 };
    assert_null(capacity_best_fit(&few.capacity, &want, true));
    assert_int_equal(capacity_largest_cpu(&few.capacity), 3000);
    assert_int_equal(few.capacity.free_cpu_millicores, 4500);
    capacity_done(&few.capacity);
}

TEST(test_best_fit_spares_gpus_and_keeps_whole_nodes)
{
    struct room_facts given[] = { facts(1000, 1000, 4), facts(3000, 3000, 0),
                                  facts(3000, 3000, 2) };
    struct want want = { .need = { .cpu_millicores = 800 } };
    struct few few;

    few_init(&few, given);
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[1]);
    want.need.gpus = 1;
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[2]);
    want.need.gpus = 3;
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[0]);
    capacity_done(&few.capacity);
}

TEST(test_the_fastest_come_before_the_tightest)
{
    struct room_facts given[] = { facts(1000, 1000, 0), facts(3000, 3000, 1),
                                  facts(2000, 2000, 0) };
    struct want want = { .need = { .cpu_millicores = 800 } };
    struct few few;

    few_init(&few, given);
    assert_false(capacity_has_levels(&few.capacity, SPEED_CPU));
    few.rooms[0].speed[SPEED_CPU] = -1;
    (void)capacity_set(&few.capacity, &few.rooms[0], &given[0]);
    assert_true(capacity_has_levels(&few.capacity, SPEED_CPU));
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[2]);
    few.rooms[1].speed[SPEED_CPU] = 1;
    (void)capacity_set(&few.capacity, &few.rooms[1], &given[1]);
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[1]);
    want.of = capacity_level_class(-1); /* and no other */
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[0]);
    want.need.cpu_millicores = 1500;
    assert_null(capacity_best_fit(&few.capacity, &want, true));
    want.of = 0; /* what one without GPUs was seen to do says nothing of one with */
    want.need.gpus = 1;
    assert_false(capacity_has_levels(&few.capacity, SPEED_GPU));
    capacity_done(&few.capacity);
}

TEST(test_now_needs_room_that_is_not_promised)
{
    struct room_facts given[] = { facts(1000, 400, 0), facts(0, 1000, 0), facts(0, 0, 0) };
    struct want want = { .need = { .cpu_millicores = 500 } };
    struct few few;

    few_init(&few, given);
    assert_null(capacity_best_fit(&few.capacity, &want, true));
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, false), &few.rooms[1]);
    want.need.cpu_millicores = 400;
    assert_ptr_equal(capacity_best_fit(&few.capacity, &want, true), &few.rooms[0]);
    capacity_done(&few.capacity);
}

TEST(test_debts_of_what_is_not_needed_do_not_count)
{
    struct resources have = { .cpu_millicores = 100, .memory_bytes = -5 };
    struct resources need = { .cpu_millicores = 100 };

    assert_true(resources_fit(&have, &need));
    assert_true(resources_owe(&have));
    need.memory_bytes = 1;
    assert_false(resources_fit(&have, &need));
}

TEST(test_set_says_whether_something_might_fit_now)
{
    struct room_facts given[] = { facts(100, 100, 0), facts(200, 200, 0), facts(300, 300, 0) };
    struct resources some = { .cpu_millicores = 150 };
    struct room_facts changed = facts(50, 100, 0);
    struct few few;

    few_init(&few, given);
    assert_false(capacity_set(&few.capacity, &few.rooms[0], &changed)); /* less */
    changed = facts(50, 110, 0);
    assert_true(capacity_set(&few.capacity, &few.rooms[0], &changed)); /* more, later */
    changed.yield.cpu_millicores = 20;
    assert_true(capacity_set(&few.capacity, &few.rooms[0], &changed)); /* somebody could go */
    capacity_take(&few.capacity, &few.rooms[1], &some, false);
    changed = facts(180, 180, 0);
    assert_false(capacity_set(&few.capacity, &few.rooms[1], &changed)); /* the promise holds */
    changed = facts(140, 140, 0);
    assert_true(capacity_set(&few.capacity, &few.rooms[1], &changed)); /* it does not any more */
    capacity_roll_back(&few.capacity, 0);
    assert_int_equal(few.rooms[1].later.cpu_millicores, 140);
    capacity_done(&few.capacity);
}

/* --- against a plain list
 * -------------------------------------------------------------------------------- */

struct model {
    bool alike;
    struct capacity capacity;
    struct room rooms[ROOMS];
    struct labels labels[ROOMS];
    char names[ROOMS][8];
    uint64_t random;
};

static int64_t below(struct model *m, uint64_t n)
{
    return (int64_t)random_below(&m->random, n);
}

static struct resources random_resources(struct model *m, int64_t debt)
{
    return (struct resources){ .cpu_millicores = below(m, 12) * 100 - debt * below(m, 4) * 100,
                               .memory_bytes = below(m, 8) - debt * below(m, 3),
                               .gpus = below(m, 3) == 0 ? below(m, 5) : 0,
                               .ports = below(m, 6) };
}

static void random_set(struct model *m, struct room *room)
{
    struct room_facts facts = { .now = random_resources(m, 1), .yield = random_resources(m, 0) };
    struct resources stopping = random_resources(m, 0);

    facts.later = facts.now;
    resources_add(&facts.later, &stopping, 1);
    (void)capacity_set(&m->capacity, room, &facts);
}

/* What was taken last becomes a fact, of each room something else. */
static void random_assign(struct model *m, size_t mark)
{
    struct room *rooms[ROOMS];
    size_t n = 0;

    for (size_t i = 0; i < ROOMS; i++)
        for (size_t t = mark; t < m->capacity.n_log; t++)
            if (m->capacity.log[t].room == &m->rooms[i] && room_is_listed(&m->rooms[i])) {
                rooms[n++] = &m->rooms[i];
                break;
            }
    capacity_assign(&m->capacity, mark);
    while (n > 0)
        random_set(m, rooms[--n]);
}

static struct resources open_plainly(const struct model *m, const struct room *room)
{
    struct resources later = room->later;

    if (m->capacity.holding)
        resources_add(&later, &room->held, -1);
    return later;
}

static bool fits_plainly(const struct model *m, const struct room *room, const struct want *want,
                         bool now)
{
    const char *rack = labels_get(room->labels, LABEL_RACK);
    struct resources later = open_plainly(m, room);

    return room_is_listed(room) && resources_fit(&later, &want->need) &&
           (!now || resources_fit(&room->now, &want->need)) &&
           (want->selector == NULL || labels_cover(room->labels, want->selector)) &&
           (want->rack == NULL || (rack != NULL && streq(rack, want->rack)));
}

/* A level counts as four steps of the order of types. */
static int worth_plainly(const struct room *room, const struct want *want)
{
    return want->need.gpus > 0 ? 4 * room->speed[SPEED_GPU] + want->order.step[room->gpu_type]
                               : 4 * room->speed[SPEED_CPU];
}

/* The fastest first. */
static int compare_plainly(const struct room *a, const struct room *b, const struct want *want)
{
    int by_worth = worth_plainly(b, want) - worth_plainly(a, want);

    return by_worth != 0 ? by_worth : room_compare(a, b);
}

static void check_best_fit(struct model *m, const struct want *want, bool now)
{
    const struct room *best = NULL;

    for (size_t i = 0; i < ROOMS; i++)
        if (fits_plainly(m, &m->rooms[i], want, now) &&
            (best == NULL || compare_plainly(&m->rooms[i], best, want) < 0))
            best = &m->rooms[i];
    assert_ptr_equal(capacity_best_fit(&m->capacity, want, now), best);
}

/* One after the other, until the room is full; who asks for nothing is there any number of times.
 */
static uint32_t times_plainly(struct resources have, const struct want *want, uint32_t most)
{
    uint32_t n = 0;

    for (; n < most && resources_fit(&have, &want->need); n++)
        resources_add(&have, &want->need, -1);
    return n;
}

static void check_times(struct model *m, const struct want *want, bool now)
{
    uint32_t times = (uint32_t)below(m, 40), fit = 0, might = 0;

    for (size_t i = 0; i < ROOMS; i++) {
        const struct room *room = &m->rooms[i];
        struct resources open = open_plainly(m, room), could = open;

        if (!room_is_listed(room) ||
            (want->selector != NULL && !labels_cover(room->labels, want->selector)))
            continue;
        resources_add(&could, &room->facts.yield, 1);
        might += times_plainly(could, want, times);
        if (now)
            open = resources_lesser(&open, &room->now);
        fit += times_plainly(open, want, times);
    }
    assert_int_equal(capacity_fits_times(&m->capacity, want, times, now), fit >= times);
    assert_int_equal(capacity_might_fit_times(&m->capacity, want, times), might >= times);
}

struct seen {
    struct room *last;
    size_t n;
};

static bool see(struct room *room, void *userdata)
{
    struct seen *seen = userdata;

    assert_true(seen->last == NULL || room_compare(room, seen->last) < 0);
    seen->last = room;
    seen->n++;
    return true;
}

static void check_possible(struct model *m, const struct want *want)
{
    struct seen seen = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < ROOMS; i++) {
        const struct room *room = &m->rooms[i];
        struct resources most = open_plainly(m, room);

        resources_add(&most, &room->facts.yield, 1);
        n += room_is_listed(room) && resources_fit(&most, &want->need) &&
             (want->selector == NULL || labels_cover(room->labels, want->selector));
    }
    capacity_each_possible(&m->capacity, want, see, &seen);
    assert_int_equal(seen.n, n);
}

/* What is short, coarsely: few different costs, so that the first of several counts. */
static int64_t short_of(const struct resources *could, void *userdata)
{
    const struct want *want = userdata;

    return MAX_OF(want->need.cpu_millicores - could->cpu_millicores, 0) / 200 +
           MAX_OF(want->need.gpus - could->gpus, 0);
}

static int64_t cost_of(struct room *room, void *userdata)
{
    const struct want *want = userdata;
    struct resources could = room->later;

    resources_add(&could, &room->facts.yield, 1);
    return want->selector != NULL && !labels_cover(room->labels, want->selector)
               ? INT64_MAX
               : short_of(&could, userdata);
}

static int compare_rooms(const void *a, const void *b)
{
    return -room_compare(*(struct room *const *)a, *(struct room *const *)b);
}

static void check_cheapest(struct model *m, struct want *want)
{
    const struct room_cost cost = { cost_of, short_of, want };
    uint32_t looks = (uint32_t)below(m, ROOMS + 10), n = 0;
    struct room *listed[ROOMS], *best = NULL;

    for (size_t i = 0; i < ROOMS; i++)
        if (room_is_listed(&m->rooms[i]))
            listed[n++] = &m->rooms[i];
    qsort(listed, n, sizeof *listed, compare_rooms);
    for (uint32_t i = 0; i < MIN_OF(n, looks); i++)
        if (cost_of(listed[i], want) < (best != NULL ? cost_of(best, want) : INT64_MAX))
            best = listed[i];
    assert_ptr_equal(capacity_cheapest(&m->capacity, looks, &cost), best);
}

static void check_sums(const struct model *m)
{
    int64_t free_cpu = 0;
    int64_t largest = 0;
    uint32_t n = 0;

    for (size_t i = 0; i < ROOMS; i++) {
        const struct room *room = &m->rooms[i];
        struct resources later = room->facts.later;

        resources_add(&later, &room->taken_later, -1);
        if (!room_is_listed(room))
            continue;
        assert_true(resources_equal(&later, &room->later));
        n++;
        free_cpu += MAX_OF(room->now.cpu_millicores, 0);
        largest = MAX_OF(largest, room->now.cpu_millicores);
    }
    assert_int_equal(capacity_n_rooms(&m->capacity), n);
    assert_int_equal(m->capacity.free_cpu_millicores, free_cpu);
    assert_int_equal(capacity_largest_cpu(&m->capacity), largest);
}

static void step(struct model *m)
{
    static const char *const racks[] = { "r0", "r1", "r2", "nowhere" };
    struct room *room = &m->rooms[below(m, ROOMS)];
    struct resources what = random_resources(m, 1);
    struct labels selector = { 0 };
    struct want want = { .need = random_resources(m, 0) };

    m->capacity.holding = below(m, 2) == 0;
    switch (below(m, 8)) {
    case 0:
    case 1: /* for a while all are alike again */
        room->gpu_type = (uint8_t)(m->alike ? 0 : below(m, GPU_TYPES_MAX));
        for (int kind = 0; kind < _SPEED_KINDS; kind++)
            room->speed[kind] = (int8_t)(m->alike ? 0 : (int)below(m, 5) - 2);
        random_set(m, room);
        break;
    case 2:
        capacity_unlist(&m->capacity, room);
        break;
    case 3:
        capacity_roll_back(&m->capacity, (size_t)below(m, m->capacity.n_log + 1));
        break;
    case 7:
        random_assign(m, (size_t)below(m, m->capacity.n_log + 1));
        break;
    case 4: /* something else is held there */
        what = room->held;
        capacity_hold(&m->capacity, room, &what, -1);
        what = random_resources(m, 0);
        capacity_hold(&m->capacity, room, &what, 1);
        break;
    default:
        capacity_take(&m->capacity, room, &what, below(m, 2) == 0);
        break;
    }
    if (below(m, 3) == 0)
        want.rack = racks[below(m, ELEMENTS(racks))];
    if (below(m, 3) == 0) {
        assert_int_equal(labels_set(&selector, "disk", below(m, 2) == 0 ? "ssd" : "hdd", NULL), 0);
        want.selector = &selector;
    }
    for (size_t t = 0; below(m, 2) == 0 && t < GPU_TYPES_MAX; t++)
        want.order.step[t] = (int8_t)(below(m, 13) - 6);
    check_best_fit(m, &want, below(m, 2) == 0);
    want.rack = NULL;
    check_possible(m, &want);
    check_cheapest(m, &want);
    check_times(m, &want, below(m, 2) == 0);
}

TEST(test_random_steps_answer_as_a_plain_list_does)
{
    struct model *m = xcalloc(1, sizeof *m);

    m->random = the_seed(20181103);
    capacity_init(&m->capacity);
    for (size_t i = 0; i < ROOMS; i++) {
        char rack[8];

        (void)snprintf(m->names[i], sizeof m->names[i], "n%zu", i);
        (void)snprintf(rack, sizeof rack, "r%d", (int)below(m, 3));
        m->rooms[i] = (struct room){ .name = m->names[i], .labels = &m->labels[i] };
        if (below(m, 4) != 0)
            assert_int_equal(labels_set(&m->labels[i], LABEL_RACK, rack, NULL), 0);
        if (below(m, 2) == 0)
            assert_int_equal(labels_set(&m->labels[i], "disk", "ssd", NULL), 0);
        random_set(m, &m->rooms[i]);
    }
    for (int i = 0; i < STEPS; i++) {
        m->alike = i / (STEPS / 10) % 2 == 0;
        step(m);
        if (i % 16 == 0)
            check_sums(m);
    }
    capacity_roll_back(&m->capacity, 0);
    for (size_t i = 0; i < ROOMS; i++)
        assert_true(resources_equal(&m->rooms[i].taken_later, &(struct resources){ 0 }));
    check_sums(m);
    capacity_done(&m->capacity);
    free(m);
}
