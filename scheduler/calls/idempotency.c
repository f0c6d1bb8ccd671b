/* SPDX-License-Identifier: Apache-2.0 */
/* idempotency.c - Idempotency-Key: the same request again has the same answer and no second effect
 *
 * A key has three lives. While its handler runs the request carries it (http_request_data). If the
 * handler had an effect, the key is in scheduler->keyed until that turn's commit, and the same
 * request that comes in meanwhile waits with the first. Behind the commit it is in the database,
 * and only there. */
#include "scheduler/calls/idempotency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/answered_keys.h"
#include "scheduler/calls/asking.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/json_text.h"
#include "shared/macro.h"

struct keyed {
    struct scheduler *scheduler; /* borrowed */
    struct stored_answer answer; /* owned; the rest once it is sealed */
    char *name;                  /* owned: user and key, for the hash */
    struct held *held;           /* borrowed: the first request; NULL while its handler runs */
    struct held *again;          /* owned list: the same request, again within the turn */
    bool sealed;
    UT_hash_handle hh; /* in scheduler->keyed while held is set */
};

static int check_key(const char *key, struct edl_error *error)
{
    size_t size = strlen(key);
    bool good = size > 0 && size <= IDEMPOTENCY_KEY_MAX;

    for (const char *p = key; good && *p != '\0'; p++)
        good = *p > ' ' && *p < 0x7f;
    if (good)
        return 0;
    if (size > IDEMPOTENCY_KEY_MAX)
        (void)edl_error_set(error, -EINVAL, "the Idempotency-Key has more than %d characters: %zu",
                            IDEMPOTENCY_KEY_MAX, size);
    else
        (void)edl_error_set(error, -EINVAL, "the Idempotency-Key %s",
                            size == 0 ? "is empty" : "has a character that is not visible ASCII");
    return edl_error_remedy(error, "give a random one for each thing that is to be done, such as a"
                                   " UUID");
}

static int refuse_other(const char *key, struct edl_error *error)
{
    (void)edl_error_set(error, EDL_EKEYREUSED,
                        "the Idempotency-Key \"%.80s\" was used for a request with another method,"
                        " path or body",
                        key);
    return edl_error_remedy(error, "send that request again as it was, or take a new key");
}

static void reply(struct http_request *request, const struct stored_answer *answer, bool again)
{
    if (again)
        http_reply_header(request, "Idempotent-Replayed", "true");
    if (answer->location[0] != '\0')
        http_reply_header(request, "Location", answer->location);
    if (answer->etag[0] != '\0')
        http_reply_header(request, "ETag", answer->etag);
    http_reply_bytes(request, answer->status, "application/json", answer->body,
                     strlen(answer->body));
}

/* --- before the handler --- */

static struct keyed *keyed_new(struct scheduler *scheduler, const char *user, const char *key,
                               const char *digest)
{
    struct keyed *keyed = xcalloc(1, sizeof *keyed);
    size_t size = strlen(user) + strlen(key) + 2;

    keyed->scheduler = scheduler;
    keyed->answer.user = xstrdup(user);
    keyed->answer.key = xstrdup(key);
    keyed->answer.digest = xstrdup(digest);
    keyed->name = xcalloc(size, 1);
    (void)snprintf(keyed->name, size, "%s %s", user, key); /* a key has no blank */
    return keyed;
}

void idempotency_free(struct keyed *keyed)
{
    if (keyed == NULL)
        return;
    if (keyed->held != NULL)
        HASH_DEL(keyed->scheduler->keyed, keyed);
    while (keyed->again != NULL) {
        struct held *held = keyed->again;

        DL_DELETE(keyed->again, held);
        held->request = NULL; /* whoever had an answer for it has given it */
        held_reply_json(held, 0, NULL);
    }
    stored_answer_clear(&keyed->answer);
    free(keyed->name);
    free(keyed);
}

/* The same key within the turn under way: waits with the first, or is refused behind the commit. */
static void join(struct scheduler *scheduler, struct http_request *request, struct keyed *first,
                 const char *digest)
{
    struct edl_error error = { 0 };

    if (streq(first->answer.digest, digest)) {
        struct held *held = held_new(request);

        DL_APPEND(first->again, held);
        return;
    }
    (void)refuse_other(first->answer.key, &error);
    refuse_after_commit(scheduler, request, &error);
}

/* false: no answer to it is stored, and memory knows that without a read. Rows that were read
 * before an answer came are older than it. */
static bool may_be_answered(struct scheduler *scheduler, const char *name)
{
    uint64_t added;

    if (!store_is_far(scheduler->store))
        return true;
    switch (answered_keys_look(&scheduler->answered, name, &added)) {
    case 0:
        return false;
    case 1:
        askings_read_behind(scheduler, added);
        return true;
    default:
        return true;
    }
}

/* 1: it was used in an earlier turn, and the request is answered */
static int look_up(struct scheduler *scheduler, struct http_request *request,
                   const struct keyed *keyed, struct edl_error *error)
{
    struct stored_answer found;
    int r = may_be_answered(scheduler, keyed->name)
                ? store_find_answer(scheduler->store, keyed->answer.user, keyed->answer.key,
                                    askings_wall_us(scheduler), &found, error)
                : 0;

    if (r != 1)
        return r;
    if (streq(found.digest, keyed->answer.digest))
        reply(request, &found, true);
    else
        r = refuse_other(found.key, error);
    stored_answer_clear(&found);
    return r;
}

bool idempotency_begin(struct scheduler *scheduler, struct http_request *request)
{
    const char *key = http_request_header(request, "Idempotency-Key");
    struct edl_error error = { 0 };
    struct caller caller = { .user = "" };
    struct keyed *keyed, *first;
    char digest[65];
    int r;

    if (key == NULL)
        return false;
    (void)auth_caller(scheduler, request, &caller);
    r = check_key(key, &error);
    if (r == 0)
        r = auth_hash_request(request, digest, &error);
    if (r < 0) {
        http_reply_error(request, &error);
        return true;
    }
    keyed = keyed_new(scheduler, caller.user, key, digest);
    HASH_FIND_STR(scheduler->keyed, keyed->name, first);
    if (first != NULL)
        join(scheduler, request, first, digest);
    else
        r = look_up(scheduler, request, keyed, &error);
    if (r < 0)
        http_reply_error(request, &error);
    if (first != NULL || r != 0) {
        idempotency_free(keyed);
        return true;
    }
    http_request_set_data(request, keyed);
    return false;
}

/* --- the turn --- */

void idempotency_take(struct held *held)
{
    struct http_request *request = held->request;
    struct keyed *keyed = NULL;

    /* Of a call that takes no key the data is its own, e.g. an upload. */
    if (request != NULL && (http_request_route(request)->flags & ROUTE_KEYED) != 0)
        keyed = http_request_data(request);
    if (keyed == NULL)
        return;
    keyed->held = held;
    held->keyed = keyed;
    HASH_ADD_KEYPTR(hh, keyed->scheduler->keyed, keyed->name, strlen(keyed->name), keyed);
}

void idempotency_end(struct http_request *request)
{
    struct keyed *keyed = http_request_data(request);

    http_request_set_data(request, NULL);
    if (keyed != NULL && keyed->held == NULL) /* no effect: nothing to remember */
        idempotency_free(keyed);
}

/* false: what it would tell of was removed in the same turn */
static bool seal(struct scheduler *scheduler, struct keyed *keyed, uint64_t wall_us)
{
    json_t *json = held_json(scheduler, keyed->held);
    char *text = json != NULL ? json_to_text(json, NULL) : NULL;
    char tag[ETAG_MAX] = "";

    json_decref(json);
    if (text == NULL)
        return false;
    keyed->answer.body = text;
    keyed->answer.location = xstrdup(keyed->held->location);
    (void)held_tag(scheduler, keyed->held, tag);
    keyed->answer.etag = xstrdup(tag);
    keyed->answer.status = keyed->held->status;
    keyed->answer.wall_us = wall_us;
    keyed->sealed = true;
    return true;
}

struct stored_answer *idempotency_seal(struct scheduler *scheduler, size_t *ret_n)
{
    struct stored_answer *answers = xcalloc(HASH_COUNT(scheduler->keyed), sizeof *answers);
    uint64_t wall_us = clock_instant().wall_us;
    size_t n = 0;

    for (struct keyed *keyed = scheduler->keyed; keyed != NULL; keyed = keyed->hh.next)
        if (seal(scheduler, keyed, wall_us))
            answers[n++] = keyed->answer;
    *ret_n = n;
    return answers;
}

static void answer_one(struct held *held, const struct keyed *keyed, bool again,
                       const struct edl_error *error)
{
    struct http_request *request = held->request;

    held->request = NULL; /* answered here */
    if (request != NULL && error != NULL)
        http_reply_error(request, error);
    else if (request != NULL)
        reply(request, &keyed->answer, again);
}

static void note_stored(const struct keyed *keyed)
{
    if (store_is_far(keyed->scheduler->store))
        answered_keys_add(&keyed->scheduler->answered, keyed->name, keyed->answer.wall_us);
}

void idempotency_answer(struct held *take_held, const struct edl_error *error)
{
    struct keyed *keyed = take_held->keyed;
    struct edl_error removed = { 0 };
    struct held *held;

    if (error == NULL && !keyed->sealed) {
        (void)edl_error_set(&removed, -ENOENT, HELD_REMOVED_TEXT);
        error = &removed;
    }
    if (error == NULL)
        note_stored(keyed);
    answer_one(take_held, keyed, false, error);
    DL_FOREACH(keyed->again, held)
    answer_one(held, keyed, true, error);
    held_reply_json(take_held, 0, NULL); /* frees both */
}
