/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c - see rounds.h */
#include "trainer/server/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

void rounds_await(struct rounds *rounds, uint32_t trainers)
{
    rounds->awaited = trainers;
}

void rounds_clear(struct rounds *rounds)
{
    free(rounds->members);
    free(rounds->met);
    *rounds = (struct rounds){ 0 };
}

/* place_of - of the trainer, or where it would be */
static size_t place_of(const struct rounds *rounds, uint32_t trainer)
{
    size_t low = 0, high = rounds->n_members;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rounds->members[middle].trainer < trainer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct rounds_member *member_of(const struct rounds *rounds, uint32_t trainer)
{
    size_t place = place_of(rounds, trainer);

    return place < rounds->n_members && rounds->members[place].trainer == trainer
               ? &rounds->members[place]
               : NULL;
}

static struct rounds_member *add(struct rounds *rounds, uint32_t trainer)
{
    size_t place = place_of(rounds, trainer);

    if (rounds->n_members == rounds->room) {
        rounds->room = MAX_OF(2 * rounds->room, (size_t)16);
        rounds->members = xreallocarray(rounds->members, rounds->room, sizeof *rounds->members);
    }
    memmove(rounds->members + place + 1, rounds->members + place,
            (rounds->n_members - place) * sizeof *rounds->members);
    rounds->n_members++;
    rounds->members[place] = (struct rounds_member){ .trainer = trainer };
    return &rounds->members[place];
}

/* Those that are awaited are few: as many as a person has started. */
static void meet(struct rounds *rounds, uint32_t trainer)
{
    for (uint32_t i = 0; i < rounds->n_met; i++)
        if (rounds->met[i] == trainer)
            return;
    rounds->met = xreallocarray(rounds->met, rounds->n_met + 1, sizeof *rounds->met);
    rounds->met[rounds->n_met++] = trainer;
}

void rounds_enter(struct rounds *rounds, uint32_t trainer, uint64_t from)
{
    struct rounds_member *member = member_of(rounds, trainer);

    if (rounds->n_met < rounds->awaited)
        meet(rounds, trainer);
    if (member == NULL)
        member = add(rounds, trainer);
    member->owes = MAX_OF(from, rounds->now);
    member->pushed = member->leaves = false;
}

int rounds_push(struct rounds *rounds, uint32_t trainer, uint64_t round, bool leaves)
{
    struct rounds_member *member = member_of(rounds, trainer);

    if (member == NULL || member->pushed || member->owes != round || round != rounds->now)
        return EDL_ESTALE;
    member->pushed = true;
    member->leaves = leaves;
    return 0;
}

void rounds_leave(struct rounds *rounds, uint32_t trainer)
{
    struct rounds_member *member = member_of(rounds, trainer);
    size_t place;

    if (member == NULL)
        return;
    place = (size_t)(member - rounds->members);
    rounds->n_members--;
    memmove(member, member + 1, (rounds->n_members - place) * sizeof *member);
}

bool rounds_is_over(const struct rounds *rounds)
{
    if (rounds->n_members == 0 || rounds->n_met < rounds->awaited)
        return false;
    for (size_t i = 0; i < rounds->n_members; i++)
        if (!rounds->members[i].pushed && rounds->members[i].owes == rounds->now)
            return false;
    return true;
}

void rounds_next(struct rounds *rounds)
{
    uint64_t next = UINT64_MAX;
    size_t n = 0;

    for (size_t i = 0; i < rounds->n_members; i++) {
        struct rounds_member member = rounds->members[i];

        if (member.pushed && member.leaves)
            continue;
        if (member.pushed)
            member.owes = rounds->now + 1;
        member.pushed = false;
        next = MIN_OF(next, member.owes);
        rounds->members[n++] = member;
    }
    rounds->n_members = n;
    rounds->now = n > 0 ? next : rounds->now + 1;
}
