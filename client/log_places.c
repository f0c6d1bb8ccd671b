/* SPDX-License-Identifier: Apache-2.0 */
/* log_places.c - see log_places.h
 *
 * A place is a byte of the log: the reader has seen nothing behind it. The end of an entry is
 * exact. Its beginning is exact where it goes on behind the entry before. Else its text may begin
 * at the next line, so the node is asked for all up to its end. */
#include "client/log_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "client/json_read.h"
#include "shared/macro.h"

#define KEY_MAX 128
#define UNKNOWN UINT64_MAX

struct log_place {
    char key[KEY_MAX]; /* "role-index", or with ".incarnation" behind it */
    uint64_t at;       /* UNKNOWN: it has seen nothing */
    uint64_t next;     /* the end of the entry under way */
    uint64_t
        as_text; /* entries that end here are printed: the first of them could not be fetched */
    bool refused;
    json_t *held; /* owned */
    UT_hash_handle hh;
};

struct log_places {
    bool from_start;
    struct log_place *places; /* k: key -> v: owned */
};

struct log_places *log_places_new(bool from_start)
{
    struct log_places *places = xcalloc(1, sizeof *places);

    places->from_start = from_start;
    return places;
}

struct log_places *log_places_free(struct log_places *places)
{
    struct log_place *place, *next;

    if (places == NULL)
        return NULL;
    HASH_ITER(hh, places->places, place, next)
    {
        HASH_DEL(places->places, place);
        json_decref(place->held);
        free(place);
    }
    free(places);
    return NULL;
}

static struct log_place *get(struct log_places *places, const char *key, bool *ret_is_new)
{
    struct log_place *place;

    HASH_FIND_STR(places->places, key, place);
    *ret_is_new = place == NULL;
    if (place == NULL) {
        place = xcalloc(1, sizeof *place);
        (void)snprintf(place->key, sizeof place->key, "%s", key);
        place->at = UNKNOWN;
        place->held = json_array();
        HASH_ADD_STR(places->places, key, place);
    }
    return place;
}

/* place_of - each start of a process has a log of its own; one that was not the first to be seen is
 * read from its beginning on */
static struct log_place *place_of(struct log_places *places, const json_t *entry)
{
    struct log_place *place;
    char slot[KEY_MAX], key[KEY_MAX];
    bool is_first, is_new;

    (void)snprintf(slot, sizeof slot, "%.60s-%" PRIu64, json_text(entry, "role"),
                   json_u64(entry, "index"));
    (void)snprintf(key, sizeof key, "%.85s.%" PRIu64, slot, json_u64(entry, "incarnation"));
    place = get(places, key, &is_new);
    if (is_new) {
        (void)get(places, slot, &is_first);
        if (places->from_start || !is_first)
            place->at = 0;
    }
    return place;
}

struct log_verdict log_places_take(struct log_places *places, json_t *entry)
{
    struct log_place *place = place_of(places, entry);
    struct log_verdict verdict = { .step = LOG_PRINT, .place = place };
    const json_t *offset = json_object_get(entry, "offset");
    uint64_t next = json_u64(entry, "next_offset"); /* 0: the server does not know */
    uint64_t dropped = json_u64(entry, "dropped_bytes");

    if (json_is_true(json_object_get(entry, "notice"))) {
        (void)json_array_append(place->held, entry);
        verdict.step = LOG_SKIP;
        return verdict;
    }
    if (next == 0 || next == place->as_text)
        return verdict;
    place->next = next;
    if (place->at != UNKNOWN && next <= place->at) {
        (void)json_array_clear(place->held);
        verdict.step = LOG_SKIP;
    } else if (place->at == UNKNOWN || place->refused ||
               (offset != NULL && (uint64_t)json_integer_value(offset) == place->at)) {
        place->at = next;
    } else {
        verdict.step = LOG_FETCH;
        verdict.dropped = dropped > place->at ? MIN_OF(dropped, next) - place->at : 0;
        verdict.offset = place->at + verdict.dropped;
        verdict.bytes = next - verdict.offset;
    }
    return verdict;
}

json_t *log_places_held(const struct log_verdict *verdict)
{
    json_t *held = verdict->place->held;

    verdict->place->held = json_array();
    return held;
}

void log_places_fetched(const struct log_verdict *verdict)
{
    verdict->place->at = verdict->place->next;
    (void)json_array_clear(verdict->place->held);
}

void log_places_not_fetched(const struct log_verdict *verdict, bool refused)
{
    verdict->place->at = verdict->place->as_text = verdict->place->next;
    verdict->place->refused = refused;
}
