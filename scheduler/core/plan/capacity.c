/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.c - the room of many nodes, kept in the order in which it is to be used up */
#include "scheduler/core/plan/capacity.h"

#include <limits.h>
#include <stdlib.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/macro.h"

static int sign_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int room_compare(const struct room *a, const struct room *b)
{
    int r = sign_of(a->later.gpus, b->later.gpus);

    if (r == 0)
        r = sign_of(a->later.cpu_millicores, b->later.cpu_millicores);
    if (r == 0)
        r = sign_of(a->later.memory_bytes, b->later.memory_bytes);
    return r != 0 ? r : strcmp(a->name, b->name);
}

static int compare(const struct tree_node *a, const struct tree_node *b)
{
    return room_compare((const struct room *)a, (const struct room *)b);
}

/* The room that is free later and open to the present request. */
static struct resources open_later(const struct room *room, bool holding)
{
    struct resources open = room->later;

    if (holding)
        resources_add(&open, &room->held, -1);
    return open;
}

#define LEVELS (2 * SPEED_LEVEL_MOST + 1)

_Static_assert(GPU_TYPES_MAX *LEVELS <= 64, "classes are bits of a mask");

uint64_t capacity_level_class(int8_t level)
{
    return UINT64_C(1) << (level + SPEED_LEVEL_MOST);
}

uint64_t capacity_type_classes(uint32_t gpu_type)
{
    return ((UINT64_C(1) << LEVELS) - 1) << gpu_type * LEVELS;
}

/* 0: it is nothing for a request with a GPU */
static uint64_t class_of(const struct room *room, enum speed_kind kind)
{
    if (kind == SPEED_CPU)
        return capacity_level_class(room->speed[kind]);
    return room->gpu_type == GPU_TYPE_NONE
               ? 0
               : capacity_level_class(room->speed[kind]) << room->gpu_type * LEVELS;
}

static void raise_by(struct room_extent *to, const struct room_extent *what)
{
    resources_raise(&to->max_now, &what->max_now);
    for (size_t held = 0; held < ELEMENTS(to->max_later); held++) {
        resources_raise(&to->max_later[held], &what->max_later[held]);
        resources_raise(&to->max_could[held], &what->max_could[held]);
    }
    to->signatures |= what->signatures;
    for (int kind = 0; kind < _SPEED_KINDS; kind++)
        to->classes[kind] |= what->classes[kind];
    to->n += what->n;
}

static void update(struct tree_node *tree_node)
{
    struct room *room = (struct room *)tree_node;

    room->all = room->own;
    if (tree_node->left != NULL)
        raise_by(&room->all, &((const struct room *)tree_node->left)->all);
    if (tree_node->right != NULL)
        raise_by(&room->all, &((const struct room *)tree_node->right)->all);
}

static void add(struct tree_node *tree_node, const struct tree_node *below)
{
    raise_by(&((struct room *)tree_node)->all, &((const struct room *)below)->own);
}

static struct room_extent extent_of(const struct room *room)
{
    struct room_extent extent = { .max_now = room->now, .signatures = room->signature, .n = 1 };

    for (size_t held = 0; held < ELEMENTS(extent.max_later); held++) {
        extent.max_later[held] = open_later(room, held != 0);
        extent.max_could[held] = extent.max_later[held];
        resources_add(&extent.max_could[held], &room->facts.yield, 1);
    }
    for (int kind = 0; kind < _SPEED_KINDS; kind++)
        extent.classes[kind] = class_of(room, (enum speed_kind)kind);
    return extent;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t label_bit(const char *name, const char *value)
{
    uint64_t hash = hash_text(hash_text(UINT64_C(0xCBF29CE484222325), name) * 31, value);

    return UINT64_C(1) << (hash >> 58);
}

static uint64_t labels_signature(const struct labels *labels)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; labels != NULL && i < labels->n; i++)
        bits |= label_bit(labels->items[i].name, labels->items[i].value);
    return bits;
}

static uint64_t want_signature(const struct want *want)
{
    return labels_signature(want->selector) |
           (want->rack != NULL ? label_bit(LABEL_RACK, want->rack) : 0);
}

/* --- changes
 * ----------------------------------------------------------------------------------------- */

void capacity_init(struct capacity *capacity)
{
    *capacity = (struct capacity){ .tree = { .compare = compare, .update = update, .add = add } };
}

void capacity_done(struct capacity *capacity)
{
    free(capacity->log);
    *capacity = (struct capacity){ 0 };
}

static void count_free(struct capacity *capacity, const struct room *room, int64_t sign)
{
    struct resources free_now = { 0 };

    resources_raise(&free_now, &room->now);
    resources_add(&capacity->free, &free_now, sign);
    capacity->free_cpu_millicores = capacity->free.cpu_millicores;
}

static void take_out(struct capacity *capacity, struct room *room)
{
    if (!room_is_listed(room))
        return;
    tree_remove(&capacity->tree, &room->tree);
    count_free(capacity, room, -1);
}

static void put_in(struct capacity *capacity, struct room *room)
{
    room->now = room->facts.now;
    resources_add(&room->now, &room->taken_now, -1);
    room->later = room->facts.later;
    resources_add(&room->later, &room->taken_later, -1);
    room->own = extent_of(room);
    tree_insert(&capacity->tree, &room->tree);
    count_free(capacity, room, 1);
}

static struct resources could(const struct room_facts *facts)
{
    struct resources sum = facts->later;

    resources_add(&sum, &facts->yield, 1);
    return sum;
}

/* More is taken of something than there is. */
static bool is_overdrawn(const struct resources *taken, const struct resources *left)
{
    return (taken->cpu_millicores > 0 && left->cpu_millicores < 0) ||
           (taken->memory_bytes > 0 && left->memory_bytes < 0) ||
           (taken->gpus > 0 && left->gpus < 0) || (taken->ports > 0 && left->ports < 0);
}

static bool breaks_promise(const struct room *room)
{
    return is_overdrawn(&room->taken_later, &room->later) ||
           is_overdrawn(&room->taken_now, &room->now);
}

bool capacity_set(struct capacity *capacity, struct room *room, const struct room_facts *facts)
{
    struct resources before = could(&room->facts);
    struct resources after = could(facts);
    bool grew = !room_is_listed(room) || resources_exceed(&facts->now, &room->facts.now) ||
                resources_exceed(&facts->later, &room->facts.later) ||
                resources_exceed(&after, &before);
    bool lends = resources_exceed(&facts->yield, &room->facts.yield);

    take_out(capacity, room);
    room->facts = *facts;
    room->signature = labels_signature(room->labels);
    put_in(capacity, room);
    return grew || lends || breaks_promise(room);
}

void capacity_unlist(struct capacity *capacity, struct room *room)
{
    take_out(capacity, room);
}

static void count_taken(const struct take *take, int64_t times)
{
    resources_add(&take->room->taken_later, &take->what, times);
    if (take->now)
        resources_add(&take->room->taken_now, &take->what, times);
}

void capacity_take(struct capacity *capacity, struct room *room, const struct resources *what,
                   bool now)
{
    bool listed = room_is_listed(room);
    struct take *take;

    if (capacity->n_log == capacity->cap_log) {
        capacity->cap_log = capacity->cap_log ? 2 * capacity->cap_log : 64;
        capacity->log = xreallocarray(capacity->log, capacity->cap_log, sizeof *capacity->log);
    }
    take = &capacity->log[capacity->n_log++];
    *take = (struct take){ .room = room, .what = *what, .now = now };
    take_out(capacity, room);
    count_taken(take, 1);
    if (listed)
        put_in(capacity, room);
}

/* Several of one room in a row, as most are, move it once. */
void capacity_roll_back(struct capacity *capacity, size_t mark)
{
    while (capacity->n_log > mark) {
        struct room *room = capacity->log[capacity->n_log - 1].room;
        bool listed = room_is_listed(room);

        take_out(capacity, room);
        while (capacity->n_log > mark && capacity->log[capacity->n_log - 1].room == room)
            count_taken(&capacity->log[--capacity->n_log], -1);
        if (listed)
            put_in(capacity, room);
    }
}

void capacity_assign(struct capacity *capacity, size_t mark)
{
    while (capacity->n_log > mark)
        count_taken(&capacity->log[--capacity->n_log], -1);
}

void capacity_hold(struct capacity *capacity, struct room *room, const struct resources *what,
                   int64_t times)
{
    bool listed = room_is_listed(room);

    take_out(capacity, room);
    resources_add(&room->held, what, times);
    if (listed)
        put_in(capacity, room);
}

/* --- searches
 * ---------------------------------------------------------------------------------------- */

bool room_carries(const struct room *room, const struct want *want)
{
    const char *rack;

    if (want->selector != NULL && !labels_cover(room->labels, want->selector))
        return false;
    if (want->of != 0 && !(want->of & class_of(room, want_kind(want))))
        return false;
    if (want->unfit != NULL && unfit_nodes_hold(want->unfit, room->node, want->unfit_roles))
        return false;
    if (want->only != NULL && !streq(room->name, want->only))
        return false;
    if (want->avoids != NULL && want->avoids(room, want->userdata))
        return false;
    if (want->rack == NULL)
        return true;
    rack = labels_get(room->labels, LABEL_RACK);
    return rack != NULL && streq(rack, want->rack);
}

struct resources room_open(const struct capacity *capacity, const struct room *room, bool now)
{
    struct resources later = open_later(room, capacity->holding);

    return now ? resources_lesser(&later, &room->now) : later;
}

bool room_fits(const struct capacity *capacity, const struct room *room, const struct want *want,
               bool now)
{
    struct resources later = open_later(room, capacity->holding);

    return resources_fit(&later, &want->need) && (!now || resources_fit(&room->now, &want->need)) &&
           room_carries(room, want);
}

struct room *capacity_room(const struct capacity *capacity, const char *name)
{
    struct tree_node *at = capacity->find == NULL ? tree_first(&capacity->tree) : NULL;
    struct room *room = NULL;

    if (capacity->find != NULL)
        room = capacity->find(capacity->userdata, name);
    for (; at != NULL; at = tree_after(&capacity->tree, at))
        if (streq(((struct room *)at)->name, name))
            return (struct room *)at;
    return room != NULL && room_is_listed(room) ? room : NULL;
}

/* No search: it is the one, or there is none. */
static struct room *only_fit(const struct capacity *capacity, const struct want *want, bool now)
{
    struct room *room = capacity_room(capacity, want->only);

    return room != NULL && room_fits(capacity, room, want, now) ? room : NULL;
}

static struct room *first_fit(const struct capacity *capacity, struct tree_node *at,
                              const struct want *want, uint64_t signature, bool now)
{
    struct room *room = (struct room *)at;
    struct room *found;

    if (room == NULL || !resources_fit(&room->all.max_later[capacity->holding], &want->need) ||
        (now && !resources_fit(&room->all.max_now, &want->need)) ||
        (room->all.signatures & signature) != signature ||
        (want->of != 0 && !(want->of & room->all.classes[want_kind(want)])))
        return NULL;
    found = first_fit(capacity, at->left, want, signature, now);
    if (found != NULL)
        return found;
    if (room_fits(capacity, room, want, now))
        return room;
    return first_fit(capacity, at->right, want, signature, now);
}

bool capacity_has_levels(const struct capacity *capacity, enum speed_kind kind)
{
    const struct room *root = (const struct room *)capacity->tree.root;

    return root != NULL && (root->all.classes[kind] & (root->all.classes[kind] - 1)) != 0;
}

static int worth_of(const struct want *want, unsigned class)
{
    int level = (int)(class % LEVELS) - SPEED_LEVEL_MOST;

    return level * GPU_STEPS_OF_LEVEL + want->order.step[class / LEVELS];
}

int want_worth(const struct want *want, const struct room *room)
{
    uint64_t class = class_of(room, want_kind(want));

    return class != 0 ? worth_of(want, (unsigned)__builtin_ctzll(class)) : INT_MIN;
}

static uint64_t classes_there(const struct capacity *capacity, const struct want *want)
{
    const struct room *root = (const struct room *)capacity->tree.root;
    uint64_t there = root != NULL ? root->all.classes[want_kind(want)] : 0;

    return want->of != 0 ? there & want->of : there;
}

/* Of some classes those that are worth exactly so much, and the most that any of them is. */
static uint64_t classes_worth(const struct want *want, uint64_t classes, int worth)
{
    uint64_t found = 0;

    for (; classes != 0; classes &= classes - 1)
        if (worth_of(want, (unsigned)__builtin_ctzll(classes)) == worth)
            found |= classes & -classes;
    return found;
}

static int most_worth(const struct want *want, uint64_t classes)
{
    int most = INT_MIN;

    for (; classes != 0; classes &= classes - 1)
        most = MAX_OF(most, worth_of(want, (unsigned)__builtin_ctzll(classes)));
    return most;
}

uint64_t capacity_classes_like(const struct capacity *capacity, const struct want *want,
                               const struct room *room)
{
    return classes_worth(want, classes_there(capacity, want), want_worth(want, room));
}

struct room *capacity_best_fit(const struct capacity *capacity, const struct want *want, bool now)
{
    struct want best = *want;
    uint64_t signature = want_signature(want);
    uint64_t left = classes_there(capacity, want);
    struct room *found = NULL;

    if (want->only != NULL)
        return only_fit(capacity, want, now);
    if (want->any_speed || (left & (left - 1)) == 0)
        return first_fit(capacity, capacity->tree.root, want, signature, now);
    for (; found == NULL && left != 0; left &= ~best.of) {
        best.of = classes_worth(want, left, most_worth(want, left));
        found = first_fit(capacity, capacity->tree.root, &best, signature, now);
    }
    return found;
}

/* false: enough */
static bool each_open(const struct capacity *capacity, struct tree_node *at,
                      const struct resources *need, bool now,
                      bool (*fn)(struct room *room, void *userdata), void *userdata)
{
    struct room *room = (struct room *)at;
    struct resources open;

    if (room == NULL || !resources_fit(&room->all.max_later[capacity->holding], need) ||
        (now && !resources_fit(&room->all.max_now, need)))
        return true;
    if (!each_open(capacity, at->right, need, now, fn, userdata))
        return false;
    open = room_open(capacity, room, now);
    if (resources_fit(&open, need) && !fn(room, userdata))
        return false;
    return each_open(capacity, at->left, need, now, fn, userdata);
}

void capacity_each_open(const struct capacity *capacity, const struct resources *need, bool now,
                        bool (*fn)(struct room *room, void *userdata), void *userdata)
{
    (void)each_open(capacity, capacity->tree.root, need, now, fn, userdata);
}

struct visit {
    const struct want *want;
    uint64_t signature;
    bool holding;
    bool (*fn)(struct room *room, void *userdata);
    void *userdata;
};

static bool is_possible(const struct room *room, const struct want *want, bool holding)
{
    struct resources most = open_later(room, holding);

    resources_add(&most, &room->facts.yield, 1);
    return resources_fit(&most, &want->need) && room_carries(room, want);
}

/* false: enough */
static bool each_possible(struct tree_node *at, const struct visit *visit)
{
    struct room *room = (struct room *)at;

    if (room == NULL || !resources_fit(&room->all.max_could[visit->holding], &visit->want->need) ||
        (room->all.signatures & visit->signature) != visit->signature)
        return true;
    if (!each_possible(at->right, visit))
        return false;
    if (is_possible(room, visit->want, visit->holding) && !visit->fn(room, visit->userdata))
        return false;
    return each_possible(at->left, visit);
}

void capacity_each_possible(const struct capacity *capacity, const struct want *want,
                            bool (*fn)(struct room *room, void *userdata), void *userdata)
{
    struct visit visit = {
        .want = want,
        .signature = want_signature(want),
        .holding = capacity->holding,
        .fn = fn,
        .userdata = userdata,
    };
    struct room *only = want->only != NULL ? capacity_room(capacity, want->only) : NULL;

    if (only != NULL && is_possible(only, want, capacity->holding))
        (void)fn(only, userdata);
    if (want->only == NULL)
        (void)each_possible(capacity->tree.root, &visit);
}

struct cheapest {
    const struct room_cost *cost;
    uint32_t looks; /* left */
    struct room *best;
    int64_t least;
};

static void find_cheapest(struct tree_node *at, struct cheapest *search)
{
    struct room *room = (struct room *)at;
    const struct room_cost *cost = search->cost;
    int64_t here;

    if (room == NULL || search->looks == 0)
        return;
    if (cost->least(&room->all.max_could[0], cost->userdata) >= search->least) {
        search->looks -= MIN_OF(search->looks, room->all.n);
        return;
    }
    find_cheapest(at->right, search);
    if (search->looks == 0)
        return;
    search->looks--;
    here = cost->of(room, cost->userdata);
    if (here < search->least) {
        search->least = here;
        search->best = room;
    }
    find_cheapest(at->left, search);
}

struct room *capacity_cheapest(const struct capacity *capacity, uint32_t looks,
                               const struct room_cost *cost)
{
    struct cheapest search = { .cost = cost, .looks = looks, .least = INT64_MAX };

    find_cheapest(capacity->tree.root, &search);
    return search.best;
}

static bool take_first(struct room *room, void *userdata)
{
    *(struct room **)userdata = room;
    return false;
}

bool capacity_might_fit(const struct capacity *capacity, const struct want *want)
{
    struct room *found = NULL;

    capacity_each_possible(capacity, want, take_first, &found);
    return found != NULL;
}

struct count {
    const struct want *want;
    uint64_t signature;
    const struct capacity *capacity;
    bool now;
    int64_t left;
};

/* false: enough */
static bool count_open(struct tree_node *at, struct count *count)
{
    struct room *room = (struct room *)at;
    const struct resources *need = &count->want->need;
    struct resources open;

    if (room == NULL || !resources_fit(&room->all.max_later[count->capacity->holding], need) ||
        (count->now && !resources_fit(&room->all.max_now, need)) ||
        (room->all.signatures & count->signature) != count->signature)
        return true;
    if (!count_open(at->right, count))
        return false;
    open = room_open(count->capacity, room, count->now);
    if (resources_fit(&open, need) && room_carries(room, count->want))
        count->left -= MIN_OF(count->left, resources_times(&open, need));
    return count->left > 0 && count_open(at->left, count);
}

bool capacity_fits_times(const struct capacity *capacity, const struct want *want, uint32_t times,
                         bool now)
{
    struct count count = { want, want_signature(want), capacity, now, times };

    return times == 0 || !count_open(capacity->tree.root, &count);
}

static bool count_possible(struct room *room, void *userdata)
{
    struct count *count = userdata;
    struct resources could = open_later(room, count->capacity->holding);

    resources_add(&could, &room->facts.yield, 1);
    count->left -= MIN_OF(count->left, resources_times(&could, &count->want->need));
    return count->left > 0;
}

bool capacity_might_fit_times(const struct capacity *capacity, const struct want *want,
                              uint32_t times)
{
    struct count count = { .want = want, .capacity = capacity, .left = times };

    capacity_each_possible(capacity, want, count_possible, &count);
    return count.left <= 0;
}

static void most(struct tree_node *at, const struct want *want, uint64_t signature,
                 struct resources *ret)
{
    struct room *room = (struct room *)at;

    if (room == NULL || (room->all.signatures & signature) != signature ||
        !resources_exceed(&room->all.max_now, ret))
        return;
    if (room_carries(room, want))
        resources_raise(ret, &room->now);
    most(at->right, want, signature, ret);
    most(at->left, want, signature, ret);
}

struct resources capacity_most(const struct capacity *capacity, const struct labels *selector)
{
    struct want want = { .selector = selector };
    struct resources ret = { 0 };

    most(capacity->tree.root, &want, want_signature(&want), &ret);
    return ret;
}

struct resources capacity_bound(const struct capacity *capacity)
{
    const struct room *root = (const struct room *)capacity->tree.root;

    return root != NULL ? resources_lesser(&root->all.max_now, &root->all.max_later[0])
                        : (struct resources){ 0 };
}

int64_t capacity_largest_cpu(const struct capacity *capacity)
{
    const struct room *root = (const struct room *)capacity->tree.root;

    return root != NULL ? MAX_OF(root->all.max_now.cpu_millicores, 0) : 0;
}
