/* SPDX-License-Identifier: Apache-2.0 */
/* group_histories.h - random histories of a group whose ranks come and go, and designs of it
 *
 * A history is a seed. Two to five processes train twelve steps. Meanwhile some are killed, come,
 * follow, leave, freeze, are given up and thaw. Links are cut with messages on the way. Each new
 * generation begins by libedl/group_plan.c; the rest of a rank is modelled here as libedl/group.c
 * does it.
 *
 * A design is the one that is built, or one with a mistake in it that looks right. Each mistake
 * must break a history, else nobody knows that the simulator sees anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a design does otherwise than the one that is built. */
enum group_difference {
    SUMS_IN_PLACE = 1 << 0,       /* no shadow: sums grow in the rank's own gradient */
    ALL_REDO = 1 << 1,            /* nobody takes a state, each redoes its own next step */
    FETCHES = 1 << 2,             /* who lacks one step fetches its sum instead of the state */
    ONE_RESULT = 1 << 3,          /* ... which is kept in the buffer that the next step uses */
    FORGETS_FETCHED = 1 << 4,     /* ... and is offered to others, but not kept */
    REDOES_OWN_PART = 1 << 5,     /* nobody computes what a dead rank had to */
    KEEPS_ANY_GRADIENT = 1 << 6,  /* whatever step it is of */
    OWN_VIEW_OF_MISSING = 1 << 7, /* each shares out what is missing as it sees it */
    PUBLISHES_AT_COMMIT = 1 << 8, /* before all have the step */
    KEEPS_LINKS = 1 << 9,         /* streams go on in the next generation */
    STATE_IN_PLACE = 1 << 10,     /* the old state is overwritten while the new one comes */
    HAS_WHILE_TAKING = 1 << 11,   /* ... and counts as the new one at once */
    TORN_IS_ZERO = 1 << 12,       /* ... and half a state counts as that of step 0 */
    OWN_DONOR = 1 << 13,          /* each chooses the donor by an order of its own */
    EXITS_BEHIND_LAST = 1 << 14,  /* as soon as it has the last step */
    WITHOUT_IDENTITY = 1 << 15,   /* steps are compared by number alone */
    EXCLUDED_COME_BACK = 1 << 16, /* a rank that was given up goes on when it thaws */
    STRANGERS_EXCLUDE = 1 << 17,  /* a generation without any member of the one before */
    CHOOSES = 1 << 18,            /* no mistake: micro-batches follow from state and ranks */
    OWN_CHOICE = 1 << 19          /* ... and each takes its own choice */
};

struct group_design {
    const char *name;
    unsigned differences; /* enum group_difference */
    bool exact;           /* a step has the same bits whoever redoes it */
    unsigned histories;   /* each mistake shows within so many; 0: it has none */
    const char *story;    /* of a history that breaks it */
};

/* group_designs - all of them; the first is the one that is built, exact and not */
const struct group_design *group_designs(size_t *ret_n);

#define GROUP_FAILURE_MAX 200

/* group_history_run - 0, or 1: it ended in what must not be, which ret_failure says
 * trace: each event is a line there; NULL: none */
int group_history_run(const struct group_design *design, uint64_t seed, FILE *trace,
                      char ret_failure[GROUP_FAILURE_MAX]);
