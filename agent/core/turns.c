/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h */
#include "agent/core/turns.h"

#include <uthash.h>
#include <utlist.h>

#include "shared/macro.h"

struct turn_owner { /* of one thing at least that waits */
    uint64_t name;
    struct turn *waiting; /* borrowed; utlist */
    struct turn_owner *prev, *next;
    UT_hash_handle hh;
};

static struct turn_owner *get(struct turns *turns, uint64_t name)
{
    struct turn_owner *owner;

    HASH_FIND(hh, turns->by_name, &name, sizeof name, owner);
    if (owner != NULL)
        return owner;
    owner = xcalloc(1, sizeof *owner);
    owner->name = name;
    HASH_ADD(hh, turns->by_name, name, sizeof owner->name, owner);
    DL_APPEND(turns->first, owner);
    return owner;
}

void turns_add(struct turns *turns, uint64_t owner, struct turn *turn, void *item)
{
    if (turn->owner != NULL)
        return;
    turn->item = item;
    turn->owner = get(turns, owner);
    DL_APPEND(turn->owner->waiting, turn);
}

void turns_remove(struct turns *turns, struct turn *turn)
{
    struct turn_owner *owner = turn->owner;

    if (owner == NULL)
        return;
    turn->owner = NULL;
    DL_DELETE(owner->waiting, turn);
    DL_DELETE(turns->first, owner);
    if (owner->waiting != NULL) {
        DL_APPEND(turns->first, owner);
        return;
    }
    HASH_DEL(turns->by_name, owner);
    free(owner);
}

void *turns_next(const struct turns *turns, turns_may_f *may, const void *userdata)
{
    const struct turn_owner *owner;

    DL_FOREACH(turns->first, owner)
    if (may(owner->name, userdata))
        return owner->waiting->item;
    return NULL;
}
