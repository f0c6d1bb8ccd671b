/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_family.c - how much work jobs of a family take */
#include "scheduler/core/goodput_family.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "shared/macro.h"

#define AS_MUCH_AGAIN 2
#define ENDED_MAX 1024 /* of a family; more say nothing new, and every other one is forgotten */

struct family {
    char *name;
    double *ended; /* work, ascending */
    size_t n, cap;
    double most; /* that any of its jobs has done */
    size_t n_begun;
    UT_hash_handle hh; /* k: name */
};

struct goodput_families {
    struct family *table;
};

struct goodput_families *goodput_families_new(void)
{
    return xcalloc(1, sizeof(struct goodput_families));
}

struct goodput_families *goodput_families_free(struct goodput_families *families)
{
    struct family *family, *next;

    if (families == NULL)
        return NULL;
    HASH_ITER(hh, families->table, family, next)
    {
        HASH_DEL(families->table, family);
        free(family->name);
        free(family->ended);
        free(family);
    }
    free(families);
    return NULL;
}

static struct family *find(const struct goodput_families *families, const char *name)
{
    struct family *family;

    HASH_FIND_STR(families->table, name, family);
    return family;
}

/* NULL: it is none */
static struct family *family_of(struct goodput_families *families, const char *name)
{
    struct family *family = find(families, name);

    if (family != NULL || name[0] == '\0')
        return family;
    family = xcalloc(1, sizeof(*family));
    family->name = xstrdup(name);
    HASH_ADD_KEYPTR(hh, families->table, family->name, strlen(family->name), family);
    return family;
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
    if (family->n == ENDED_MAX)
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
