/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - a token for a code: the call of `edl login`
 *
 * The code goes and the token comes in one turn, so in one transaction: a code is good once.
 * Neither is stored, only their SHA-256; a lost answer needs another code. */
#include "scheduler/api/api.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/body.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"

#define LOGIN_NOTE "edl login"

int login_url(struct scheduler *scheduler, const char **ret_url, struct edl_error *error)
{
    int r = listeners_look(scheduler, ret_url, error);

    if (r < 0 || strncmp(*ret_url, "https://", 8) == 0)
        return r;
    (void)edl_error_set(error, EDL_EBADTRANSITION,
                        "no other machine reaches this scheduler, so no login code was made");
    return edl_error_remedy(error,
                            "accounts of its machine need none: they come by its socket; for "
                            "other machines start it with --listen 0.0.0.0:7010");
}

/* exchange - the code is gone then */
static int exchange(struct scheduler *scheduler, struct token *take_code, json_t **ret,
                    struct edl_error *error)
{
    uint64_t now_wall_us = clock_instant().wall_us;
    const struct token code = *take_code;
    char text[TOKEN_HEX + 1], hash[TOKEN_HASH_MAX + 1];
    struct token_wish wish = { .hash = hash,
                               .note = code.note[0] != '\0' ? code.note : LOGIN_NOTE,
                               .made_with = code.made_with };
    const struct token *token;
    int r = auth_make_token(text, error);

    if (r == 0)
        r = auth_hash(text, hash, error);
    if (r < 0)
        return r;
    tokens_drop(scheduler->users, take_code);
    r = tokens_add(scheduler->users, users_find(scheduler->users, code.user), &wish, now_wall_us,
                   &token, error);
    if (r < 0)
        return r;
    *ret = api_token_json(token);
    (void)json_object_set_new(*ret, "token", json_string(text));
    return 0;
}

/* note - in the audit log it is the person's, by the code */
static void note(struct scheduler *scheduler, struct held *held, const struct caller *caller)
{
    struct audit_entry entry = { .wall_us = clock_instant().wall_us,
                                 .user = caller->user,
                                 .via = caller->via,
                                 .method = http_request_method(held->request),
                                 .target = http_request_target(held->request),
                                 .request_id = http_request_id(held->request),
                                 .status = 201 };

    held->audited = true;
    users_note(scheduler->users, &entry);
}

void api_login(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct caller caller;
    struct token *code = auth_login_code(scheduler, request, &caller);
    struct held *held;
    json_t *body = NULL, *answer = NULL;
    int r = body_object(request, &body, &error);

    if (r == 0)
        r = body_known(&(struct body_field){ .object = body, .at = "" }, "", &error);
    if (r == 0 && code == NULL) /* it expired while the body came */
        r = edl_error_set(&error, EDL_EUNAUTHENTICATED, "the login code has expired");
    if (r == 0)
        r = exchange(scheduler, code, &answer, &error);
    json_decref(body);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held = held_new(request);
    note(scheduler, held, &caller);
    held_after_commit(scheduler, held, 201, answer);
}
