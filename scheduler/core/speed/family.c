/* SPDX-License-Identifier: Apache-2.0 */
/* family.c - how much work jobs of a family take */
#include "scheduler/core/speed/family.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "shared/macro.h"

#define AS_MUCH_AGAIN 2

struct owner {
    char *name;
    size_t n;          /* families; > 0 */
    UT_hash_handle hh; /* k: name */
};

struct family {
    char *name;
    struct owner *owner; /* borrowed */
    double *ended;       /* work, ascending */
    size_t n, cap;
    double most; /* that any of its jobs has done */
    uint64_t n_begun;
    struct goodput_prior prior;
    struct gpu_speeds types;
    UT_hash_handle hh; /* k: name */
};

struct goodput_families {
    struct family *table; /* in the order in which something was noted of them, when bounded */
    struct owner *owners; /* of all in the table */
    size_t most;          /* 0: as many as come */
    size_t most_ended;    /* of each */
};

struct goodput_families *goodput_families_new(void)
{
    struct goodput_families *families = xcalloc(1, sizeof(*families));

    families->most_ended = GOODPUT_FAMILY_ENDED_MAX;
    return families;
}

size_t goodput_family_owner(const char *name)
{
    const char *end = strrchr(name, ':');

    return end != NULL ? (size_t)(end - name) : 0;
}

static struct owner *owner_of(struct goodput_families *families, const char *name)
{
    size_t n = goodput_family_owner(name);
    struct owner *owner;

    HASH_FIND(hh, families->owners, name, n, owner);
    if (owner != NULL)
        return owner;
    owner = xcalloc(1, sizeof(*owner));
    owner->name = xcalloc(n + 1, 1);
    memcpy(owner->name, name, n);
    HASH_ADD_KEYPTR(hh, families->owners, owner->name, n, owner);
    return owner;
}

static void disown(struct goodput_families *families, struct owner *owner)
{
    if (--owner->n > 0)
        return;
    HASH_DEL(families->owners, owner);
    free(owner->name);
    free(owner);
}

static void forget(struct goodput_families *families, struct family *family)
{
    HASH_DEL(families->table, family);
    disown(families, family->owner);
    free(family->name);
    free(family->ended);
    free(family);
}

struct goodput_families *goodput_families_free(struct goodput_families *families)
{
    struct family *family, *next;

    if (families == NULL)
        return NULL;
    HASH_ITER(hh, families->table, family, next)
    {
        forget(families, family);
    }
    free(families);
    return NULL;
}

static void append(struct goodput_families *families, struct family *family)
{
    HASH_ADD_KEYPTR(hh, families->table, family->name, strlen(family->name), family);
}

static void add(struct goodput_families *families, struct family *family)
{
    append(families, family);
    family->owner = owner_of(families, family->name);
    family->owner->n++;
}

/* Of those whose owner has the most: the one that nothing was noted of for longest. Linear, for
 * each family that is new while the table is full: a digest of a job's document costs as much. */
static struct family *first_to_go(const struct goodput_families *families)
{
    struct family *family = families->table;
    const struct owner *owner;
    size_t most = 0;

    for (owner = families->owners; owner != NULL; owner = owner->hh.next)
        most = MAX_OF(most, owner->n);
    while (family->owner->n < most)
        family = family->hh.next;
    return family;
}

static void forget_beyond(struct goodput_families *families, size_t most)
{
    while (HASH_COUNT(families->table) > most)
        forget(families, first_to_go(families));
}

void goodput_families_bound(struct goodput_families *families, size_t most, size_t most_ended)
{
    families->most = most;
    families->most_ended = most_ended;
    forget_beyond(families, most);
}

struct goodput_families *goodput_families_copy(const struct goodput_families *families)
{
    struct goodput_families *copy = goodput_families_new();
    const struct family *family;

    copy->most = families->most;
    copy->most_ended = families->most_ended;
    for (family = families->table; family != NULL; family = family->hh.next) {
        struct family *to = xcalloc(1, sizeof(*to));

        *to = *family;
        to->name = xstrdup(family->name);
        to->cap = family->n;
        to->ended = family->n > 0 ? xcalloc(family->n, sizeof(double)) : NULL;
        if (family->n > 0)
            memcpy(to->ended, family->ended, family->n * sizeof(double));
        add(copy, to);
    }
    return copy;
}

static struct family *find(const struct goodput_families *families, const char *name)
{
    struct family *family;

    HASH_FIND_STR(families->table, name, family);
    return family;
}

/* It is the last one that will be forgotten. */
static void keep(struct goodput_families *families, struct family *family)
{
    if (families->most == 0)
        return;
    HASH_DEL(families->table, family);
    append(families, family);
}

/* Something of it is about to be noted; NULL: it is none */
static struct family *family_of(struct goodput_families *families, const char *name)
{
    struct family *family = find(families, name);

    if (name[0] == '\0')
        return NULL;
    if (family != NULL) {
        keep(families, family);
        return family;
    }
    family = xcalloc(1, sizeof(*family));
    family->name = xstrdup(name);
    add(families, family);
    if (families->most > 0) /* itself it is not: it was noted of last, and counts for its owner */
        forget_beyond(families, families->most);
    return family;
}

struct goodput_prior *goodput_family_prior(struct goodput_families *families, const char *name)
{
    struct family *family = family_of(families, name);

    return family != NULL ? &family->prior : NULL;
}

struct gpu_speeds *goodput_family_types(struct goodput_families *families, const char *name)
{
    struct family *family = family_of(families, name);

    return family != NULL ? &family->types : NULL;
}

const struct gpu_speeds *goodput_family_speeds(const struct goodput_families *families,
                                               const char *name)
{
    const struct family *family = find(families, name);

    return family != NULL ? &family->types : NULL;
}

/* The first of those that took more. */
static size_t above(const struct family *family, double work)
{
    size_t low = 0, high = family->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (family->ended[middle] > work)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void thin_out(struct family *family)
{
    for (size_t i = 0; 2 * i + 1 < family->n; i++)
        family->ended[i] = family->ended[2 * i + 1];
    family->n /= 2;
}

void goodput_family_begun(struct goodput_families *families, const char *name)
{
    struct family *family = family_of(families, name);

    if (family != NULL)
        family->n_begun++;
}

void goodput_family_done(struct goodput_families *families, const char *name, double work)
{
    struct family *family = family_of(families, name);

    if (family != NULL)
        family->most = MAX_OF(family->most, work);
}

void goodput_family_ended(struct goodput_families *families, const char *name, double work)
{
    struct family *family = family_of(families, name);
    size_t at;

    if (family == NULL)
        return;
    while (family->n >= families->most_ended)
        thin_out(family);
    if (family->n == family->cap) {
        family->cap = family->cap > 0 ? 2 * family->cap : 16;
        family->ended = xreallocarray(family->ended, family->cap, sizeof(double));
    }
    at = above(family, work);
    memmove(&family->ended[at + 1], &family->ended[at], (family->n - at) * sizeof(double));
    family->ended[at] = work;
    family->n++;
}

bool goodput_family_get(const struct goodput_families *families, const char *name,
                        struct goodput_family_facts *ret)
{
    const struct family *family = find(families, name);

    if (family == NULL)
        return false;
    *ret = (struct goodput_family_facts){ .name = family->name,
                                          .n_begun = family->n_begun,
                                          .most = family->most,
                                          .ended = family->ended,
                                          .n_ended = family->n,
                                          .prior = family->prior,
                                          .types = family->types };
    return true;
}

void goodput_family_put(struct goodput_families *families, const struct goodput_family_facts *facts)
{
    struct family *family = family_of(families, facts->name);

    if (family == NULL)
        return;
    family->n_begun = facts->n_begun;
    family->most = facts->most;
    family->prior = facts->prior;
    family->types = facts->types;
    family->n = family->cap = facts->n_ended;
    family->ended = xreallocarray(family->ended, MAX_OF(family->n, 1), sizeof(double));
    if (family->n > 0)
        memcpy(family->ended, facts->ended, family->n * sizeof(double));
}

double goodput_family_work(const struct goodput_families *families, const char *name, double done)
{
    const struct family *family = find(families, name);
    size_t first;

    if (family == NULL)
        return 0;
    first = above(family, done);
    if (first < family->n)
        return family->ended[first + (family->n - first) / 2];
    return family->n_begun > 1 ? AS_MUCH_AGAIN * MAX_OF(family->most, done) : 0;
}

double goodput_family_tenth(const struct goodput_family_facts *family, unsigned tenths)
{
    return family->ended[MIN_OF(family->n_ended * tenths / 10, family->n_ended - 1)];
}

double goodput_family_longest(const struct goodput_families *families, const char *name,
                              double done)
{
    struct goodput_family_facts family;

    if (!goodput_family_get(families, name, &family) || family.n_ended == 0)
        return 0;
    return MAX_OF(goodput_family_tenth(&family, GOODPUT_LONGEST_TENTHS),
                  goodput_family_work(families, name, done));
}
