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
#define REPLACED "\xef\xbf\xbd" /* the log has another byte there */

struct log_place {
    char key[KEY_MAX]; /* "role-index.incarnation" */
    uint64_t at;
    UT_hash_handle hh;
};

struct log_places {
    struct log_place *places; /* k: key -> v: owned */
};

struct log_places *log_places_new(void)
{
    return xcalloc(1, sizeof(struct log_places));
}

struct log_places *log_places_free(struct log_places *places)
{
    struct log_place *place, *next;

    if (places == NULL)
        return NULL;
    HASH_ITER(hh, places->places, place, next)
    {
        HASH_DEL(places->places, place);
        free(place);
    }
    free(places);
    return NULL;
}

/* place_of - each start of a process has a log of its own */
static struct log_place *place_of(struct log_places *places, const char *role, uint64_t index,
                                  uint64_t incarnation)
{
    struct log_place *place;
    char key[KEY_MAX];

    (void)snprintf(key, sizeof key, "%.60s-%" PRIu64 ".%" PRIu64, role, index, incarnation);
    HASH_FIND_STR(places->places, key, place);
    if (place == NULL) {
        place = xcalloc(1, sizeof *place);
        memcpy(place->key, key, sizeof key);
        HASH_ADD_STR(places->places, key, place);
    }
    return place;
}

void log_places_set(struct log_places *places, const char *role, uint64_t index,
                    uint64_t incarnation, uint64_t at)
{
    struct log_place *place = place_of(places, role, index, incarnation);

    place->at = MAX_OF(place->at, at);
}

struct log_verdict log_places_take(struct log_places *places, const json_t *entry)
{
    struct log_place *place = place_of(places, json_text(entry, "role"), json_u64(entry, "index"),
                                       json_u64(entry, "incarnation"));
    struct log_verdict verdict = { .step = LOG_PRINT };
    const json_t *offset = json_object_get(entry, "offset");
    uint64_t next = json_u64(entry, "next_offset"); /* 0: the server does not know */

    if (json_is_true(json_object_get(entry, "notice"))) {
        verdict.step = LOG_SKIP;
    } else if (next == 0) {
        return verdict;
    } else if (next <= place->at) {
        verdict.step = LOG_SKIP;
    } else if (offset == NULL || (uint64_t)json_integer_value(offset) != place->at ||
               strstr(json_text(entry, "text"), REPLACED) != NULL) {
        verdict.step = LOG_FETCH;
        verdict.offset = place->at;
        verdict.end = next;
    }
    place->at = MAX_OF(place->at, next);
    return verdict;
}
