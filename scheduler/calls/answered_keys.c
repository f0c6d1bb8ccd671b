/* SPDX-License-Identifier: Apache-2.0 */
/* answered_keys.c - see answered_keys.h
 *
 * Two names of one hash are one entry: then a read finds nothing, which costs its time alone. */
#include "scheduler/calls/answered_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ROOM_LEAST ((size_t)1024)

struct answered_key {
    uint64_t hash; /* 0: the place is free */
    uint64_t added;
    uint64_t wall_us;
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ (value >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ (value >> 33);
}

static uint64_t hash_of(const struct answered_keys *keys, const char *name)
{
    uint64_t hash = keys->seed;

    for (; *name != '\0'; name++)
        hash = mix(hash ^ (unsigned char)*name);
    return hash != 0 ? hash : 1;
}

/* place_of - where it stands, or would */
static struct answered_key *place_of(const struct answered_keys *keys, uint64_t hash)
{
    size_t at = (size_t)hash & (keys->room - 1);

    while (keys->table[at].hash != 0 && keys->table[at].hash != hash)
        at = (at + 1) & (keys->room - 1);
    return &keys->table[at];
}

static void put(struct answered_keys *keys, const struct answered_key *key)
{
    struct answered_key *place = place_of(keys, key->hash);

    keys->n += place->hash == 0;
    *place = *key;
}

/* rebuild - with this room, and those alone that came after `added` and not before wall_us */
static void rebuild(struct answered_keys *keys, size_t room, uint64_t added, uint64_t wall_us)
{
    struct answered_key *before = keys->table;
    size_t n = keys->room;

    keys->table = xcalloc(room, sizeof *keys->table);
    keys->room = room;
    keys->n = 0;
    for (size_t i = 0; i < n; i++)
        if (before[i].hash != 0 && before[i].added >= added && before[i].wall_us >= wall_us)
            put(keys, &before[i]);
    free(before);
}

static void begin(struct answered_keys *keys)
{
    if (keys->seed == 0 && getrandom(&keys->seed, sizeof keys->seed, 0) != sizeof keys->seed)
        keys->seed = 1;
    if (keys->room == 0)
        rebuild(keys, ROOM_LEAST, 0, 0);
}

static void make_room(struct answered_keys *keys, uint64_t wall_us)
{
    uint64_t oldest_us = wall_us > STORED_ANSWER_US ? wall_us - STORED_ANSWER_US : 0;

    if (keys->n < keys->room / 2)
        return;
    if (keys->n < ANSWERED_KEYS_MAX) {
        rebuild(keys, keys->room * 2, 0, 0);
        return;
    }
    rebuild(keys, keys->room, 0, oldest_us);
    if (keys->n < ANSWERED_KEYS_MAX / 2)
        return;
    rebuild(keys, keys->room, keys->n_added - ANSWERED_KEYS_MAX / 2, 0);
    keys->whole = false;
}

void answered_keys_add(struct answered_keys *keys, const char *name, uint64_t wall_us)
{
    begin(keys);
    make_room(keys, wall_us);
    put(keys, &(struct answered_key){ hash_of(keys, name), keys->n_added++, wall_us });
}

int answered_keys_look(const struct answered_keys *keys, const char *name, uint64_t *ret_added)
{
    const struct answered_key *place = keys->room > 0 ? place_of(keys, hash_of(keys, name)) : NULL;

    if (place == NULL || place->hash == 0)
        return keys->whole ? 0 : -ENODATA;
    *ret_added = place->added;
    return 1;
}

static void load_one(const char *user, const char *key, uint64_t wall_us, void *userdata)
{
    struct answered_keys *keys = userdata;
    size_t size = strlen(user) + strlen(key) + 2;
    char *name = xcalloc(size, 1);

    (void)snprintf(name, size, "%s %s", user, key);
    answered_keys_add(keys, name, wall_us);
    free(name);
}

int answered_keys_load(struct answered_keys *keys, struct store *near, struct edl_error *error)
{
    int r;

    answered_keys_done(keys);
    begin(keys);
    keys->whole = true;
    r = store_answer_keys(near, load_one, keys, error);
    keys->whole = keys->whole && r == 0;
    return r;
}

void answered_keys_done(struct answered_keys *keys)
{
    free(keys->table);
    *keys = (struct answered_keys){ .n_added = keys->n_added };
}
