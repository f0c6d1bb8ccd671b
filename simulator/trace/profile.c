/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - paces that were asked for before, by shape */
#include "simulator/trace/profile.h"

#include <errno.h>
#include <math.h>
#include <uthash.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LAW_REMEMBERED                                                                             \
    256            /* amounts of a law below it: those that policies ask for all the time          \
                    */
#define KEY_FEW 18 /* words of a key that need no memory of their own */

struct pace_entry {
    struct pace pace;
    uint32_t *key; /* pservers, then the counts, as the rotation that sorts first */
    UT_hash_handle hh;
    double numbers[]; /* the pace's rate and after_s, then the key */
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

struct profile *profile_unref(struct profile *profile)
{
    struct pace_entry *entry, *next;

    if (profile == NULL || --profile->refs > 0)
        return NULL;
    HASH_ITER(hh, profile->cache, entry, next)
    {
        HASH_DEL(profile->cache, entry);
        free(entry);
    }
    free(profile->by_count);
    free(profile->known);
    free(profile->name);
    profile->ops->free(profile);
    return NULL;
}

/* first_rotation - where to begin so that the counts, read round, sort first: of two candidates,
 * and all between them, one goes at the first difference, so that no count is looked at often */
static uint32_t first_rotation(const uint32_t *counts, uint32_t n)
{
    uint32_t a = 0, b = 1, same = 0;

    while (a < n && b < n && same < n) {
        uint32_t x = counts[(a + same) % n], y = counts[(b + same) % n];

        if (x == y) {
            same++;
            continue;
        }
        if (x > y)
            a += same + 1;
        else
            b += same + 1;
        b += a == b;
        same = 0;
    }
    return MIN_OF(a, b);
}

/* write_key - what is the same for shapes of one pace; has room for 1 + n words; returns n */
static uint32_t write_key(const struct profile *profile, const struct shape *shape, uint32_t *key)
{
    uint32_t n = shape->n_nodes, from;

    key[0] = shape->pservers;
    if (!profile->needs_shape) {
        key[1] = shape->n;
        return 1;
    }
    from = first_rotation(shape->counts, n);
    for (uint32_t i = 0; i < n; i++)
        key[1 + i] = shape->counts[(from + i) % n];
    return n;
}

/* sum_up - seconds from each phase on, where progress has the profile's bounds */
static void sum_up(const struct profile *profile, struct pace *pace)
{
    for (uint32_t p = profile->n_phases; profile->bounds != NULL && p > 0; p--)
        pace->after_s[p - 1] =
            pace->after_s[p] + (profile->bounds[p] - profile->bounds[p - 1]) / pace->rate[p - 1];
}

static struct pace_entry *new_pace(struct profile *profile, const struct shape *shape,
                                   const uint32_t *key, uint32_t key_bytes, struct edl_error *error)
{
    uint32_t n_numbers = 2 * profile->n_phases + 1;
    struct pace_entry *entry =
        xcalloc(1, sizeof(*entry) + n_numbers * sizeof(entry->numbers[0]) + key_bytes);

    entry->pace.rate = entry->numbers;
    entry->pace.after_s = entry->numbers + profile->n_phases;
    entry->key = (uint32_t *)(entry->numbers + n_numbers);
    memcpy(entry->key, key, key_bytes);
    if (profile->ops->pace(profile, shape, &entry->pace, error) < 0) {
        free(entry);
        return NULL;
    }
    sum_up(profile, &entry->pace);
    return entry;
}

const struct pace *profile_pace(struct profile *profile, const struct shape *shape,
                                struct edl_error *error)
{
    uint32_t few[KEY_FEW], *key = few, key_bytes;
    struct shape known = *shape;
    struct pace_entry *entry;

    if (profile->needs_shape && shape->n_nodes >= KEY_FEW)
        key = xcalloc(shape->n_nodes + 1, sizeof(*key));
    key_bytes = (1 + write_key(profile, shape, key)) * (uint32_t)sizeof(*key);
    HASH_FIND(hh, profile->cache, key, key_bytes, entry);
    if (entry == NULL) {
        known.counts = profile->needs_shape ? key + 1 : shape->counts;
        entry = new_pace(profile, &known, key, key_bytes, error);
        if (entry != NULL)
            HASH_ADD_KEYPTR(hh, profile->cache, entry->key, key_bytes, entry);
    }
    if (key != few)
        free(key);
    return entry != NULL ? &entry->pace : NULL;
}

/* fewest - n instances with per_node on each node but the last; a law does not ask where */
static const struct pace *fewest(struct profile *profile, uint32_t n, uint32_t per_node,
                                 struct edl_error *error)
{
    struct shape shape = { .n_nodes = (n + per_node - 1) / per_node, .n = n };
    _cleanup_free_ uint32_t *counts = NULL;

    if (!profile->ops->law) {
        counts = xcalloc(shape.n_nodes, sizeof(*counts));
        for (uint32_t i = 0; i < shape.n_nodes; i++)
            counts[i] = MIN_OF(per_node, n - i * per_node);
        shape.counts = counts;
    }
    return profile_pace(profile, &shape, error);
}

/* Stands for an amount of which nothing is known, so that it is looked for once. */
static const struct pace nothing_known;

const struct pace *profile_pace_of(struct profile *profile, uint32_t n, uint32_t per_node,
                                   struct edl_error *error)
{
    if (profile->ops->law && n >= LAW_REMEMBERED)
        return fewest(profile, n, per_node, error);
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

/* work_out - a law, without remembering it */
static int work_out(struct profile *profile, uint32_t n, uint32_t pservers, struct glance *ret)
{
    const struct shape shape = { .n_nodes = 1, .n = n, .pservers = pservers };
    double rate = 0, after_s[2] = { 0, 0 };
    struct pace pace = { .rate = &rate, .after_s = after_s };
    int r = profile->ops->pace(profile, &shape, &pace, NULL);

    if (r == 0)
        *ret = (struct glance){ .step_s = pace.step_s, .rate = rate };
    return r;
}

/* remembered - without more ado; NULL: it has to be looked for */
static const struct pace *remembered(const struct profile *profile, uint32_t n, uint32_t per_node)
{
    if (n >= profile->by_count_cap || profile->by_count_per_node != per_node)
        return NULL;
    return profile->by_count[n] != &nothing_known ? profile->by_count[n] : NULL;
}

int profile_glance(struct profile *profile, uint32_t n, uint32_t pservers, uint32_t per_node,
                   uint32_t phase, struct glance *ret)
{
    const struct pace *pace = pservers == 0 ? remembered(profile, n, per_node) : NULL;

    if (pace == NULL && profile->ops->law && (n >= LAW_REMEMBERED || pservers > 0))
        return work_out(profile, n, pservers, ret);
    if (pace == NULL)
        pace = profile_pace_of(profile, n, per_node, NULL);
    if (pace == NULL)
        return -ERANGE;
    *ret = (struct glance){ .step_s = pace->step_s,
                            .rate = pace->rate[phase],
                            .after_s = pace->after_s[phase + 1] };
    return 0;
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
