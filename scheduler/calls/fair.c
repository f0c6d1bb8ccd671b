/* SPDX-License-Identifier: Apache-2.0 */
/* fair.c - who is served next, when more is asked for than one thread does at once */
#include "scheduler/calls/fair.h"

#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

struct fair_caller {
    char name[FAIR_NAME_MAX];
    struct fair_item *items[FAIR_CLASSES]; /* borrowed lists */
    size_t n;                              /* in all of them */
    enum fair_class last;                  /* class of the request taken last */
    struct fair_caller *prev, *next;       /* in fair->turns */
    UT_hash_handle hh;
};

struct fair {
    struct fair_limits limits;
    struct fair_caller *callers; /* uthash by name; owned; all have something that waits */
    struct fair_caller *turns;   /* the same, in the order in which they are served */
    size_t n[FAIR_CLASSES];
};

struct fair *fair_new(const struct fair_limits *limits)
{
    struct fair *fair = xcalloc(1, sizeof *fair);

    fair->limits = *limits;
    return fair;
}

static void forget(struct fair *fair, struct fair_caller *caller)
{
    DL_DELETE(fair->turns, caller);
    HASH_DEL(fair->callers, caller);
    free(caller);
}

struct fair *fair_free(struct fair *fair)
{
    struct fair_caller *caller, *next;
    struct fair_item *item;

    if (fair == NULL)
        return NULL;
    HASH_ITER(hh, fair->callers, caller, next)
    {
        for (size_t c = 0; c < FAIR_CLASSES; c++)
            DL_FOREACH(caller->items[c], item)
        item->caller = NULL;
        forget(fair, caller);
    }
    free(fair);
    return NULL;
}

size_t fair_waiting(const struct fair *fair, unsigned classes)
{
    size_t n = 0;

    for (size_t c = 0; c < FAIR_CLASSES; c++)
        if ((classes & FAIR_ONLY(c)) != 0)
            n += fair->n[c];
    return n;
}

static struct fair_caller *add_caller(struct fair *fair, const char *name)
{
    struct fair_caller *caller = xcalloc(1, sizeof *caller);

    caller->last = FAIR_CLASSES - 1;
    (void)snprintf(caller->name, sizeof caller->name, "%s", name);
    HASH_ADD_STR(fair->callers, name, caller);
    DL_APPEND(fair->turns, caller);
    return caller;
}

enum fair_answer fair_add(struct fair *fair, const char *name, enum fair_class class,
                          struct fair_item *item)
{
    const struct fair_limits *limits = &fair->limits;
    char key[FAIR_NAME_MAX];
    struct fair_caller *caller;

    (void)snprintf(key, sizeof key, "%s", name);
    HASH_FIND_STR(fair->callers, key, caller);
    if (caller != NULL && limits->each != 0 && caller->n >= limits->each)
        return FAIR_CALLER_FULL;
    if (caller != NULL && limits->all != 0 && fair_waiting(fair, FAIR_ALL) >= limits->all)
        return FAIR_FULL;
    if (caller == NULL)
        caller = add_caller(fair, key);
    item->caller = caller;
    item->class = class;
    DL_APPEND(caller->items[class], item);
    caller->n++;
    fair->n[class]++;
    return FAIR_TAKEN;
}

void fair_remove(struct fair *fair, struct fair_item *item)
{
    struct fair_caller *caller = TAKE_PTR(item->caller);

    if (caller == NULL)
        return;
    DL_DELETE(caller->items[item->class], item);
    fair->n[item->class]--;
    if (--caller->n == 0)
        forget(fair, caller);
}

/* first_of - classes in turn as well: a caller that reads and changes at once gets on with both */
static struct fair_item *first_of(struct fair_caller *caller, unsigned classes)
{
    for (size_t i = 1; i <= FAIR_CLASSES; i++) {
        enum fair_class class = (enum fair_class)((caller->last + i) % FAIR_CLASSES);

        if ((classes & FAIR_ONLY(class)) != 0 && caller->items[class] != NULL) {
            caller->last = class;
            return caller->items[class];
        }
    }
    return NULL;
}

struct fair_item *fair_take(struct fair *fair, unsigned classes)
{
    struct fair_caller *caller;

    if (fair_waiting(fair, classes) == 0)
        return NULL;
    DL_FOREACH(fair->turns, caller)
    {
        struct fair_item *item = first_of(caller, classes);

        if (item == NULL)
            continue;
        DL_DELETE(fair->turns, caller);
        DL_APPEND(fair->turns, caller);
        fair_remove(fair, item);
        return item;
    }
    return NULL;
}
