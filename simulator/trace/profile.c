/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - paces that were asked for before, by shape */
#include "simulator/trace/profile.h"

#include <errno.h>
#include <math.h>
#include <uthash.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct pace_entry {
    struct pace pace;
    uint32_t *key; /* pservers, then the counts, as the rotation that sorts first */
    UT_hash_handle hh;
};

void profile_init(struct profile *profile, const struct profile_ops *ops, const char *name)
{
    profile->ops = ops;
    profile->name = xstrdup(name);
    profile->refs = 1;
    profile->n_phases = 1;
    profile->min = 1;
    profile->max = UINT32_MAX;
}

struct profile *profile_ref(struct profile *profile)
{
    profile->refs++;
    return profile;
}

static void free_pace(struct pace_entry *entry)
{
    free(entry->pace.rate);
    free(entry->pace.after_s);
    free(entry->key);
    free(entry);
}

struct profile *profile_unref(struct profile *profile)
{
    struct pace_entry *entry, *next;

    if (profile == NULL || --profile->refs > 0)
        return NULL;
    HASH_ITER(hh, profile->cache, entry, next)
    {
        HASH_DEL(profile->cache, entry);
        free_pace(entry);
    }
    free(profile->by_count);
    free(profile->known);
    free(profile->name);
    profile->ops->free(profile);
    return NULL;
}

/* first_rotation - where to begin so that the counts, read round, sort first */
static uint32_t first_rotation(const struct shape *shape)
{
    uint32_t best = 0;

    for (uint32_t from = 1; from < shape->n_nodes; from++)
        for (uint32_t i = 0; i < shape->n_nodes; i++) {
            uint32_t a = shape->counts[(from + i) % shape->n_nodes];
            uint32_t b = shape->counts[(best + i) % shape->n_nodes];

            if (a != b) {
                best = a < b ? from : best;
                break;
            }
        }
    return best;
}

/* new_key - what is the same for shapes of one pace; *ret_bytes: its size */
static uint32_t *new_key(const struct profile *profile, const struct shape *shape,
                         size_t *ret_bytes)
{
    uint32_t n = profile->needs_shape ? shape->n_nodes : 1;
    uint32_t *key = xcalloc(n + 1, sizeof(*key));
    uint32_t from;

    key[0] = shape->pservers;
    key[1] = shape->n;
    from = profile->needs_shape ? first_rotation(shape) : 0;
    for (uint32_t i = 0; profile->needs_shape && i < n; i++)
        key[1 + i] = shape->counts[(from + i) % n];
    *ret_bytes = (n + 1) * sizeof(*key);
    return key;
}

/* sum_up - seconds from each phase on, where progress has the profile's bounds */
static void sum_up(const struct profile *profile, struct pace *pace)
{
    for (uint32_t p = profile->n_phases; profile->bounds != NULL && p > 0; p--)
        pace->after_s[p - 1] =
            pace->after_s[p] + (profile->bounds[p] - profile->bounds[p - 1]) / pace->rate[p - 1];
}

static struct pace_entry *new_pace(struct profile *profile, const struct shape *shape,
                                   struct edl_error *error)
{
    struct pace_entry *entry = xcalloc(1, sizeof(*entry));

    entry->pace.rate = xcalloc(profile->n_phases, sizeof(double));
    entry->pace.after_s = xcalloc(profile->n_phases + 1, sizeof(double));
    if (profile->ops->pace(profile, shape, &entry->pace, error) < 0) {
        free_pace(entry);
        return NULL;
    }
    sum_up(profile, &entry->pace);
    return entry;
}

const struct pace *profile_pace(struct profile *profile, const struct shape *shape,
                                struct edl_error *error)
{
    struct pace_entry *entry;
    uint32_t *key;
    size_t bytes;

    key = new_key(profile, shape, &bytes);
    HASH_FIND(hh, profile->cache, key, bytes, entry);
    if (entry == NULL) {
        struct shape known = *shape;

        known.counts = profile->needs_shape ? key + 1 : shape->counts;
        entry = new_pace(profile, &known, error);
        if (entry != NULL) {
            entry->key = TAKE_PTR(key);
            HASH_ADD_KEYPTR(hh, profile->cache, entry->key, bytes, entry);
        }
    }
    free(key);
    return entry != NULL ? &entry->pace : NULL;
}

/* fewest - n instances with per_node on each node but the last */
static const struct pace *fewest(struct profile *profile, uint32_t n, uint32_t per_node,
                                 struct edl_error *error)
{
    uint32_t n_nodes = (n + per_node - 1) / per_node;
    uint32_t *counts = xcalloc(n_nodes, sizeof(*counts));
    const struct pace *pace;

    for (uint32_t i = 0; i < n_nodes; i++)
        counts[i] = MIN_OF(per_node, n - i * per_node);
    pace = profile_pace(profile, &(struct shape){ .counts = counts, .n_nodes = n_nodes, .n = n },
                        error);
    free(counts);
    return pace;
}

/* Stands for an amount of which nothing is known, so that it is looked for once. */
static const struct pace nothing_known;

const struct pace *profile_pace_of(struct profile *profile, uint32_t n, uint32_t per_node,
                                   struct edl_error *error)
{
    if (profile->by_count_per_node != per_node && profile->by_count_cap > 0)
        memset(profile->by_count, 0, profile->by_count_cap * sizeof(*profile->by_count));
    profile->by_count_per_node = per_node; /* another cluster than before */
    if (n >= profile->by_count_cap) {
        uint32_t cap = MAX_OF(n + 1, 2 * profile->by_count_cap);

        profile->by_count = xreallocarray(profile->by_count, cap, sizeof(*profile->by_count));
        memset(profile->by_count + profile->by_count_cap, 0,
               (cap - profile->by_count_cap) * sizeof(*profile->by_count));
        profile->by_count_cap = cap;
    }
    if (profile->by_count[n] == NULL)
        profile->by_count[n] = fewest(profile, n, per_node, error);
    else if (profile->by_count[n] == &nothing_known && error != NULL)
        (void)fewest(profile, n, per_node, error); /* for its words */
    if (profile->by_count[n] == NULL)
        profile->by_count[n] = &nothing_known;
    return profile->by_count[n] != &nothing_known ? profile->by_count[n] : NULL;
}

/* look_for_known - only where places matter there are amounts that nobody measured */
static void look_for_known(struct profile *profile, uint32_t most, uint32_t per_node)
{
    profile->known = xreallocarray(profile->known, most + 1, sizeof(*profile->known));
    profile->n_known = 0;
    profile->known_per_node = per_node;
    profile->known_most = most;
    for (uint32_t n = profile->min; n <= most; n++)
        if (profile_pace_of(profile, n, per_node, NULL) != NULL)
            profile->known[profile->n_known++] = n;
}

const uint32_t *profile_known(struct profile *profile, uint32_t most, uint32_t per_node,
                              size_t *ret_n)
{
    most = MIN_OF(most, profile->max);
    *ret_n = 0;
    if (!profile->needs_shape)
        return NULL;
    if (profile->known == NULL || profile->known_per_node != per_node ||
        profile->known_most != most)
        look_for_known(profile, most, per_node);
    *ret_n = profile->n_known;
    return profile->known;
}
