/* SPDX-License-Identifier: Apache-2.0 */
/* fair.h - who is served next, when more is asked for than one thread does at once
 *
 * A queue for each caller, and the callers in turn: one that asks for a thousand things waits for
 * them, and one that asks for one waits for one of each other caller. A caller that had its turn
 * goes behind all others; one that comes is the last as well. The queue is bounded, for each caller
 * and in all; where all is full, one who has nothing waiting is still let in.
 *
 * Some requests may be served at any time, some only between two turns (scheduler.h): the taker
 * says which.
 *
 * Pure: no clock, no I/O. All operations but fair_take cost O(1); that walks the callers that have
 * nothing that may be served now. Used by: dispatch.c. Tests: tests/unit/test_fair.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/account_name.h"

struct fair;
struct fair_caller;

enum fair_class {
    FAIR_ANYTIME,
    FAIR_SETTLED, /* between two turns */
    FAIR_LATE,    /* at any time, and also while a turn is in flight for long */
    FAIR_CLASSES,
};

/* Sets of classes, for fair_take and fair_waiting. */
#define FAIR_ONLY(class) (1U << (class))
#define FAIR_ALL (FAIR_ONLY(FAIR_CLASSES) - 1)

#define FAIR_NAME_MAX (ACCOUNT_NAME_MAX + 25) /* "jobs of " and a name */

/* A member of its owner's object; caller NULL: it does not wait. */
struct fair_item {
    struct fair_caller *caller; /* borrowed */
    enum fair_class class;
    struct fair_item *prev, *next;
};

struct fair_limits {
    size_t each; /* of one caller; 0: any */
    size_t all;  /* 0: any */
};

enum fair_answer {
    FAIR_TAKEN,
    FAIR_CALLER_FULL, /* the caller has as many waiting as it may */
    FAIR_FULL,        /* all have, and the caller has some */
    FAIR_ANSWERS,
};

/* fair_new - an empty one; never NULL */
struct fair *fair_new(const struct fair_limits *limits);

/* fair_free - what waits still is its owner's; accepts NULL, returns NULL */
struct fair *fair_free(struct fair *fair);

/* fair_add - item waits behind all else of that caller and class; borrowed until it is taken
 * caller: FAIR_NAME_MAX - 1 characters count. Where it is refused, item is as it was. */
enum fair_answer fair_add(struct fair *fair, const char *caller, enum fair_class class,
                          struct fair_item *item);

/* fair_take - what is next of these classes, and waits no more; NULL: nothing of them waits */
struct fair_item *fair_take(struct fair *fair, unsigned classes);

/* fair_remove - it waits no more; one that does not is left alone */
void fair_remove(struct fair *fair, struct fair_item *item);

/* fair_waiting - how many of these classes wait */
size_t fair_waiting(const struct fair *fair, unsigned classes);
