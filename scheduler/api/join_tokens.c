/* SPDX-License-Identifier: Apache-2.0 */
/* join_tokens.c - one-time tokens with which nodes join: make, list, revoke */
#include "scheduler/api/api.h"

#include <stdio.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/body.h"
#include "scheduler/accounts/join_tokens.h"
#include "scheduler/leadership/leadership.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

static uint64_t now_wall_us(void)
{
    return clock_instant().wall_us;
}

static const char *state_of(const struct stored_token *token)
{
    if (token->used_wall_us != 0)
        return "used";
    return token->expires_wall_us <= now_wall_us() ? "expired" : "unused";
}

static json_t *token_to_json(const struct stored_token *token)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:o}", "id", token->id, "state",
                     state_of(token), "node", token->node, "made_by", token->made_by, "made_us",
                     (json_int_t)clock_shown_us(token->made_wall_us), "expires_us",
                     (json_int_t)clock_shown_us(token->expires_wall_us), "used_us",
                     (json_int_t)clock_shown_us(token->used_wall_us), "used_by", token->used_by,
                     "made_with",
                     token->made_with != 0 ? json_integer((json_int_t)token->made_with)
                                           : json_null());
}

static int read_wish(const json_t *body, const char **ret_node, uint64_t *ret_ttl_us,
                     struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    int64_t ttl_us = JOIN_TOKEN_US;
    int r = body_known(&may, "node ttl_us", error);

    *ret_node = "";
    if (r == 0)
        r = body_string(&may, "node", NODE_NAME_MAX, ret_node, error);
    if (r == 0 && (*ret_node)[0] != '\0')
        r = api_check_node_name(*ret_node, error);
    if (r == 0)
        r = body_i64(&may, "ttl_us", 1, JOIN_TOKEN_MAX_US, &ttl_us, error);
    *ret_ttl_us = (uint64_t)ttl_us;
    return r;
}

void api_join_token_make(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct stored_token *made;
    struct edl_error error = { 0 };
    struct caller caller = { .user = "" };
    char token[TOKEN_HEX + 1];
    const char *node, *url;
    uint64_t ttl_us;
    json_t *body = NULL, *answer;
    int r = body_object(request, &body, &error);

    (void)auth_caller(scheduler, request, &caller);
    if (r == 0)
        r = read_wish(body, &node, &ttl_us, &error);
    if (r == 0)
        r = listeners_look(scheduler, &url, &error);
    if (r == 0)
        r = join_tokens_make(scheduler, node,
                             &(struct join_token_maker){ caller.user, caller.role >= USER_ADMIN,
                                                         caller.token_id },
                             now_wall_us(), ttl_us, token, &made, &error);
    if (r < 0) {
        json_decref(body);
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    log_entry(LOG_LEVEL_INFO, &(struct log_subject){ .node = made->node },
              "join token %s was made for %s%s", made->id,
              made->node[0] != '\0' ? "node " : "a new node", made->node);
    answer = token_to_json(made);
    (void)json_object_set_new(answer, "token", json_string(token));
    if (url[0] != '\0')
        (void)json_object_set_new(answer, "server", json_string(url));
    if (scheduler->listeners.tls.pin[0] != '\0')
        (void)json_object_set_new(answer, "ca_pin", json_string(scheduler->listeners.tls.pin));
    answer = leadership_add(scheduler, answer);
    held_after_commit(scheduler, held_new(request), 201, answer);
    json_decref(body);
}

static void add_token(const struct stored_token *token, void *userdata)
{
    (void)json_array_append_new(userdata, token_to_json(token));
}

void api_join_tokens_list(struct http_request *request, void *userdata)
{
    json_t *tokens = json_array();

    join_tokens_each(userdata, add_token, tokens);
    http_reply_json(request, 200, json_pack("{s:o}", "tokens", tokens));
}

void api_join_token_revoke(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct stored_token *token;
    struct edl_error error = { 0 };
    const char *id = http_request_param(request, "token");

    if (join_tokens_revoke(scheduler, id, now_wall_us(), &token, &error) < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    log_info("join token %s was revoked", token->id);
    held_after_commit(scheduler, held_new(request), 200, token_to_json(token));
}
