/* SPDX-License-Identifier: Apache-2.0 */
/* answered_keys.h - which Idempotency-Keys may have an answer in a database that is far away
 *
 * Most keys are new. Each call with one would wait for a read that finds nothing. So the names of
 * all keys that have an answer are known here, as hashes: one that is not among them needs no read.
 * A name is a user, a blank and a key. With a near store (SQLite) nothing is kept.
 *
 * Used by: idempotency.c, state.c. Tests: tests/unit/test_answered_keys.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answered_key;
struct edl_error;
struct store;

#define ANSWERED_KEYS_MAX ((size_t)1 << 19) /* four times as many as a database keeps */

struct answered_keys {
    struct answered_key *table; /* owned: open addressing, by hash */
    size_t n, room;
    uint64_t seed;    /* random: nobody outside knows where a name comes to stand */
    uint64_t n_added; /* ever */
    bool whole;       /* a key that is not here has no answer */
};

/* answered_keys_load - the keys of that database alone; near: a near store of the database. Before
 * the first load nothing is known. Errors: as store_events */
int answered_keys_load(struct answered_keys *keys, struct store *near, struct edl_error *error);
void answered_keys_done(struct answered_keys *keys);

/* answered_keys_add - its answer is stored. Of too many the older half is forgotten, those first
 * that have had their day */
void answered_keys_add(struct answered_keys *keys, const char *name, uint64_t wall_us);

/* answered_keys_look - 1: there is, or was, an answer; *ret_added: n_added before it came. 0: there
 * is none. -ENODATA: not known */
int answered_keys_look(const struct answered_keys *keys, const char *name, uint64_t *ret_added);
