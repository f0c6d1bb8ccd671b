/* SPDX-License-Identifier: Apache-2.0 */
/* turns.h - things that wait for their turn: owners take turns, and those of one owner keep their
 * order
 *
 * Pure but for memory. So an owner of thousands that wait holds up nobody else's. Used for the
 * starts that wait until others are done (agent_core.c, late_starts.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_owner;

struct turn { /* a part of what waits; zeroed: it does not wait */
    void *item;
    struct turn_owner *owner;
    struct turn *prev, *next;
};

struct turns {                  /* zeroed: nobody waits */
    struct turn_owner *by_name; /* owned; uthash */
    struct turn_owner *first;   /* utlist: whose turn is first */
};

typedef bool turns_may_f(uint64_t owner, const void *userdata);

/* turns_add - behind the others of its owner, unless it waits already */
void turns_add(struct turns *turns, uint64_t owner, struct turn *turn, void *item);

/* turns_remove - it waits no more, if it did; its owner's turn comes behind those of the others */
void turns_remove(struct turns *turns, struct turn *turn);

/* turns_next - the item whose turn is first among the owners that may; NULL: there is none */
void *turns_next(const struct turns *turns, turns_may_f *may, const void *userdata);
