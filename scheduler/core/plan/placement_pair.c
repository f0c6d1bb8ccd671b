/* SPDX-License-Identifier: Apache-2.0 */
/* placement_pair.c - a gang of two sizes on few nodes: if there is a place, it is found
 *
 * Node by node: with so many of the role of which there are fewer placed so far, how many of the
 * other one can there be at most? Fewer of anything always fit, so that this number is all that has
 * to be known of the nodes before.
 *
 * Cost: ROOMS_MAX * FEWER_MAX^2 steps at most; of more nodes those with the most are looked at. */
#include "scheduler/core/plan/placement_pair.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/capacity.h"

#define ROOMS_MAX 64
#define FEWER_MAX 16

struct pair {
    struct capacity *capacity;
    const struct demand *fewer, *other;
    bool now;
    struct room *rooms[ROOMS_MAX];
    size_t n_rooms;
    uint8_t chosen[ROOMS_MAX][FEWER_MAX + 1]; /* of fewer there, when so many are placed up to it */
};

static bool collect(struct room *room, void *userdata)
{
    struct pair *pair = userdata;

    pair->rooms[pair->n_rooms++] = room;
    return pair->n_rooms < ROOMS_MAX;
}

static uint32_t times(int64_t have, int64_t need, uint32_t most)
{
    return need == 0 ? most : (uint32_t)MIN_OF(MAX_OF(have, 0) / need, (int64_t)most);
}

/* So many of these, most of all, in the rest of the room there. */
static uint32_t count_in(const struct pair *pair, const struct room *room,
                         const struct resources *left, const struct demand *demand)
{
    const struct resources *need = &demand->want.need;
    uint32_t n = demand->count;

    if (!room_fits(pair->capacity, room, &demand->want, pair->now))
        return 0;
    n = times(left->cpu_millicores, need->cpu_millicores, n);
    n = times(left->memory_bytes, need->memory_bytes, n);
    n = times(left->gpus, need->gpus, n);
    return times(left->ports, need->ports, n);
}

/* Of the other role beside so many of the one of which there are fewer. */
static uint32_t count_beside(const struct pair *pair, const struct room *room, uint32_t n_fewer)
{
    struct resources left = room_open(pair->capacity, room, pair->now);

    resources_add(&left, &pair->fewer->want.need, -(int64_t)n_fewer);
    return count_in(pair, room, &left, pair->other);
}

/* One node more: most[n] of the other role beside n of the one of which there are fewer; -1: so
 * many have no place. */
static void add_room(struct pair *pair, size_t i, int64_t most[FEWER_MAX + 1])
{
    const struct room *room = pair->rooms[i];
    struct resources open = room_open(pair->capacity, room, pair->now);
    uint32_t n_here = count_in(pair, room, &open, pair->fewer);
    uint32_t beside[FEWER_MAX + 1];

    for (uint32_t here = 0; here <= n_here; here++)
        beside[here] = count_beside(pair, room, here);
    for (uint32_t n = pair->fewer->count + 1; n-- > 0;) { /* downwards: less is as it was before */
        int64_t best = -1;

        for (uint32_t here = 0; here <= MIN_OF(n, n_here); here++)
            if (most[n - here] >= 0 && most[n - here] + beside[here] > best) {
                best = most[n - here] + beside[here];
                pair->chosen[i][n] = (uint8_t)here;
            }
        most[n] = MIN_OF(best, (int64_t)pair->other->count);
    }
}

static void take(const struct pair *pair, struct room *room, const struct demand *demand,
                 uint32_t count, struct placed **at)
{
    for (uint32_t i = 0; i < count; i++) {
        capacity_take(pair->capacity, room, &demand->want.need, pair->now);
        if (*at != NULL)
            *(*at)++ =
                (struct placed){ .room = room, .role = demand->role, .need = demand->want.need };
    }
}

static void take_all(const struct pair *pair, size_t n_rooms, struct placed *placed)
{
    uint32_t fewer = pair->fewer->count;
    uint32_t other = pair->other->count;

    while (n_rooms-- > 0) {
        struct room *room = pair->rooms[n_rooms];
        uint32_t here = pair->chosen[n_rooms][fewer];
        uint32_t beside = MIN_OF(count_beside(pair, room, here), other);

        take(pair, room, pair->fewer, here, &placed);
        take(pair, room, pair->other, beside, &placed);
        fewer -= here;
        other -= beside;
    }
}

bool place_pair(struct capacity *capacity, const struct demand demands[2], bool now,
                struct placed *placed)
{
    bool first = demands[0].count <= demands[1].count;
    struct pair pair = { .capacity = capacity,
                         .fewer = &demands[first ? 0 : 1],
                         .other = &demands[first ? 1 : 0],
                         .now = now };
    struct resources least = resources_lesser(&demands[0].want.need, &demands[1].want.need);
    int64_t most[FEWER_MAX + 1] = { 0 };

    if (pair.fewer->count > FEWER_MAX)
        return false;
    for (size_t n = 1; n <= FEWER_MAX; n++)
        most[n] = -1;
    capacity_each_open(capacity, &least, now, collect, &pair);
    for (size_t i = 0; i < pair.n_rooms; i++) {
        add_room(&pair, i, most);
        if (most[pair.fewer->count] == pair.other->count) {
            take_all(&pair, i + 1, placed);
            return true;
        }
    }
    return false;
}
