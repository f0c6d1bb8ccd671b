/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - a token for a code: the call of `edl login`, and of the page in a browser
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
#define BROWSER_NOTE "browser"

/* What the bearer of a code asks for. */
struct login_wish {
    const char *note; /* borrowed from the body; "": none */
    uint64_t ttl_s;   /* 0: for ever, of a browser's for BROWSER_TOKEN_S */
    bool is_browser;  /* a token that reads, and takes itself away */
};

int login_url(struct scheduler *scheduler, bool is_browser, const char **ret_url,
              struct edl_error *error)
{
    int r = listeners_look(scheduler, ret_url, error);

    if (r < 0 || strncmp(*ret_url, is_browser ? "http" : "https://", is_browser ? 4 : 8) == 0)
        return r;
    (void)edl_error_set(error, EDL_EBADTRANSITION,
                        "no other machine reaches this scheduler, so no login code was made");
    return edl_error_remedy(error,
                            "accounts of its machine need none: they come by its socket; for "
                            "other machines start it with --listen 0.0.0.0:7010");
}

/* read_wish - a code that was made for a browser makes no other token */
static int read_wish(const json_t *body, const struct token *code, struct login_wish *ret,
                     struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    int r = body_known(&may, "browser note ttl_s", error);

    *ret = (struct login_wish){ .note = "" };
    if (r == 0)
        r = body_bool(&may, "browser", &ret->is_browser, error);
    ret->is_browser = ret->is_browser || code->is_browser;
    if (r == 0)
        r = body_string(&may, "note", TOKEN_NOTE_MAX, &ret->note, error);
    if (r == 0)
        r = body_u64(&may, "ttl_s", ret->is_browser ? BROWSER_TOKEN_MAX_S : TOKEN_TTL_MAX_S,
                     &ret->ttl_s, error);
    if (ret->is_browser && ret->ttl_s == 0)
        ret->ttl_s = BROWSER_TOKEN_S;
    return r;
}

/* note_of - by which name the owner finds the token again: the code's own counts most */
static const char *note_of(const struct token *code, const struct login_wish *wish)
{
    if (code->note[0] != '\0')
        return code->note;
    if (wish->note[0] != '\0')
        return wish->note;
    return wish->is_browser ? BROWSER_NOTE : LOGIN_NOTE;
}

/* exchange - the code is gone then */
static int exchange(struct scheduler *scheduler, struct token *take_code,
                    const struct login_wish *login, json_t **ret, struct edl_error *error)
{
    uint64_t now_wall_us = clock_instant().wall_us;
    const struct token code = *take_code;
    char text[TOKEN_HEX + 1], hash[TOKEN_HASH_MAX + 1];
    struct token_wish wish = { .hash = hash,
                               .note = note_of(&code, login),
                               .made_with = code.made_with,
                               .is_browser = login->is_browser };
    const struct token *token;
    int r = auth_make_token(text, error);

    if (r == 0)
        r = auth_hash(text, hash, error);
    if (r < 0)
        return r;
    if (login->ttl_s != 0)
        wish.expires_wall_us = now_wall_us + login->ttl_s * USEC_PER_SEC;
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
    struct login_wish wish;
    struct held *held;
    json_t *body = NULL, *answer = NULL;
    int r = body_object(request, &body, &error);

    if (r == 0 && code == NULL) /* it expired while the body came */
        r = edl_error_set(&error, EDL_EUNAUTHENTICATED, "the login code has expired");
    if (r == 0)
        r = read_wish(body, code, &wish, &error);
    if (r == 0)
        r = exchange(scheduler, code, &wish, &answer, &error);
    json_decref(body);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held = held_new(request);
    note(scheduler, held, &caller);
    held_after_commit(scheduler, held, 201, answer);
}
