/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h - the room of many nodes, kept in the order in which it is to be used up
 *
 * A room is the free part of a node: now, and later when all stopping processes are gone. Takes
 * come off it - trials of a gang, places kept for somebody - and every take is in a log: a trial
 * that fails is rolled back at the cost of the rooms that it touched. Takes that stay in the log
 * between two plans are promises.
 *
 * Order: fewest free GPUs, then least CPU, then least memory, then by name. So the first room that
 * fits is the best fit, large holes and whole-GPU nodes stay for instances that need them, and one
 * without a GPU does not sit on such a node while there is another place. Each subtree knows its
 * maxima, so that a search passes by rooms that cannot fit: O(log n) when one resource decides,
 * more only when rooms have enough of one thing and lack another in turn.
 *
 * Before all that comes how fast the node is, where that is known, in the few levels of
 * node_speed.h: a search looks for the best fit among the fastest, then among those of the next
 * level. For instances with GPUs type and level together make a class of rooms, and the comparison
 * of the types is part of the want: it differs from job to job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/gpu_types.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/label.h"

struct node;

/* The most that rooms have, of each kind. */
struct room_extent {
    struct resources max_now, max_later[2], max_could[2]; /* could: later + yield; [1]: less held */
    uint64_t signatures;
    uint64_t classes[_SPEED_KINDS]; /* one bit each */
    uint32_t n;                     /* rooms */
};

struct room {
    struct tree_node tree;       /* first: a tree's node is its room */
    struct node *node;           /* borrowed; NULL in tests */
    const char *name;            /* borrowed */
    const struct labels *labels; /* borrowed; must not change while the room is listed */
    struct room_facts facts;
    struct resources now, later; /* facts less what is taken */
    struct resources taken_now, taken_later;
    struct resources held;      /* of later: not open to searches while capacity.holding */
    int8_t speed[_SPEED_KINDS]; /* levels of it; a function that changes one calls capacity_set */
    uint8_t gpu_type;           /* the same for that; GPU_TYPE_NONE: it has none */
    uint64_t signature; /* one bit of 64 per label: a subtree without a wanted bit is passed by */
    struct room_extent own, all; /* of this one, when it was listed; of the subtree */
    struct resources total, requested, stopping; /* of the node in the figures for the policy */
    struct resources yield; /* of the node: held by instances that could be shrunk away */
    uint32_t noted;         /* by the caller of a search: its facts of the room */
};

struct take {
    struct room *room;
    struct resources what;
    bool now;
};

struct capacity {
    struct tree tree;
    struct take *log; /* owned */
    size_t n_log, cap_log;
    int64_t free_cpu_millicores; /* sum of the room that is free now, debts left out */
    struct resources free;       /* the same of each kind */
    bool holding;                /* held room is open to nobody; may be set at any time */
    /* a room by its node's name, listed or not; NULL: there is none. Not set: all are gone through
     */
    struct room *(*find)(const void *userdata, const char *name);
    const void *userdata;
};

/* The needs of one instance on a node. */
struct want {
    struct resources need;
    const struct labels *selector;   /* the node carries all of these; NULL: any node */
    const char *rack;                /* and this rack label; NULL: any */
    const char *only;                /* and is the one of this name; NULL: any */
    bool any_speed;                  /* the tightest hole, however fast the node is */
    struct gpu_order order;          /* how the types of GPU compare for it */
    uint64_t of;                     /* it is of one of these classes; 0: of any */
    const struct unfit_nodes *unfit; /* and is none of these, for these roles; NULL: any */
    uint32_t unfit_roles;
    /* rooms that are passed by; NULL: none */
    bool (*avoids)(const struct room *room, const void *userdata);
    const void *userdata;
};

void capacity_init(struct capacity *capacity);
void capacity_done(struct capacity *capacity);

/* capacity_set - lists the room, or changes it; true when something might fit now that did not
 * before, or when less is left than was taken already. O(log n) */
bool capacity_set(struct capacity *capacity, struct room *room, const struct room_facts *facts);
/* not listed any more; takes of it stay */
void capacity_unlist(struct capacity *capacity, struct room *room);
static inline bool room_is_listed(const struct room *room)
{
    return tree_holds(&room->tree);
}

/* capacity_take - from later, and from now as well; a negative amount gives. O(log n) */
void capacity_take(struct capacity *capacity, struct room *room, const struct resources *what,
                   bool now);
static inline size_t capacity_mark(const struct capacity *capacity)
{
    return capacity->n_log;
}
/* capacity_roll_back - undoes every take since that mark, the last one first */
void capacity_roll_back(struct capacity *capacity, size_t mark);
/* capacity_assign - the same for takes that become facts: each of those rooms has to be listed
 * afresh (capacity_set) before the next search, and stays where it is until then */
void capacity_assign(struct capacity *capacity, size_t mark);

/* capacity_hold - holds so much of later, beside the part that is held already; times -1: not any
 * more. In no log. O(log n) */
void capacity_hold(struct capacity *capacity, struct room *room, const struct resources *what,
                   int64_t times);

/* room_fits - it does: later (beside the held part, while holding), and now as well if asked */
bool room_fits(const struct capacity *capacity, const struct room *room, const struct want *want,
               bool now);
/* room_carries - all of its wants but resources: labels, rack, class, that it can run there */
bool room_carries(const struct room *room, const struct want *want);
/* capacity_room - the listed one of the node of this name, or NULL */
struct room *capacity_room(const struct capacity *capacity, const char *name);
/* room_open - what searches find there */
struct resources room_open(const struct capacity *capacity, const struct room *room, bool now);
/* the order described above */
int room_compare(const struct room *a, const struct room *b);
/* want_kind - which of its speeds counts */
static inline enum speed_kind want_kind(const struct want *want)
{
    return want->need.gpus > 0 ? SPEED_GPU : SPEED_CPU;
}
/* capacity_has_levels - not all rooms are equally fast, as far as that is known. O(1) */
bool capacity_has_levels(const struct capacity *capacity, enum speed_kind kind);
/* capacity_level_class, capacity_type_classes - the class of a level, for instances without GPUs;
 * all of a type, for those with GPUs */
uint64_t capacity_level_class(int8_t level);
uint64_t capacity_type_classes(uint32_t gpu_type);
/* capacity_classes_like - of those that this wants as much as that of the room. O(classes) */
uint64_t capacity_classes_like(const struct capacity *capacity, const struct want *want,
                               const struct room *room);
/* want_worth - how much that room is worth to it by its class, in steps of gpu_types.h */
int want_worth(const struct want *want, const struct room *room);
/* capacity_best_fit - of the fastest rooms that fit the first one, or NULL */
struct room *capacity_best_fit(const struct capacity *capacity, const struct want *want, bool now);
/* capacity_each_possible - calls fn for each room that might fit if somebody gave way, the largest
 * first, until fn returns false */
void capacity_each_possible(const struct capacity *capacity, const struct want *want,
                            bool (*fn)(struct room *room, void *userdata), void *userdata);
/* capacity_each_open - calls fn for each room in which that is open, with any labels, the largest
 * first, until fn returns false */
void capacity_each_open(const struct capacity *capacity, const struct resources *need, bool now,
                        bool (*fn)(struct room *room, void *userdata), void *userdata);
/* The cost for capacity_cheapest; INT64_MAX: not possible. */
struct room_cost {
    int64_t (*of)(struct room *room, void *userdata);
    /* of a room that has so much later once all gave way: of none with less is it less */
    int64_t (*least)(const struct resources *could, void *userdata);
    void *userdata;
};
/* capacity_cheapest - of the first `looks` rooms, the largest first, that of the least cost, of
 * several the first; NULL: it is possible in none. Held room is open. Passes by rooms that cannot
 * be cheaper */
struct room *capacity_cheapest(const struct capacity *capacity, uint32_t looks,
                               const struct room_cost *cost);
/* some room might */
bool capacity_might_fit(const struct capacity *capacity, const struct want *want);
/* capacity_fits_times - so many of it fit, with nothing else beside them: where not, no order of
 * placing finds room for them. Takes nothing; looks at `times` rooms at most that fit one. */
bool capacity_fits_times(const struct capacity *capacity, const struct want *want, uint32_t times,
                         bool now);
/* capacity_might_fit_times - the same, if all gave way that could */
bool capacity_might_fit_times(const struct capacity *capacity, const struct want *want,
                              uint32_t times);
/* capacity_most - of each kind the most that is free now on one node that carries these labels
 * (NULL: any); zeros when there is none */
struct resources capacity_most(const struct capacity *capacity, const struct labels *selector);
/* capacity_bound - of each kind no node has more free, now and later. O(1) */
struct resources capacity_bound(const struct capacity *capacity);
/* the most CPU that is free now on one node; 0 when nothing is */
int64_t capacity_largest_cpu(const struct capacity *capacity);
static inline uint32_t capacity_n_rooms(const struct capacity *capacity)
{
    return capacity->tree.n;
}
