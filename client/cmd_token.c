/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_token.c - `edl token`: bearers of one's own */
#include <inttypes.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/login_line.h"
#include "client/report.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct token_options {
    struct common_options common;
    const char *user, *note;
    uint64_t ttl_us;
    bool login, browser;
};

static const struct option_row token_options[] = {
    { "user", "NAME", "whose (default: yours; an admin may make anybody's)", option_text,
      OPTION_FIELD(struct token_options, user) },
    { "note", "TEXT", "a name for it", option_text, OPTION_FIELD(struct token_options, note) },
    { "ttl", "TIME", "how long it is good (default: until it is removed)", option_period,
      OPTION_FIELD(struct token_options, ttl_us) },
    { "login", NULL, "create: a code for edl login, good once (--ttl: default 1d, at most 7d)",
      option_flag, OPTION_FIELD(struct token_options, login) },
    { "browser", NULL, "create: the page's address with such a code, to sign a browser in",
      option_flag, OPTION_FIELD(struct token_options, browser) },
};

static int create(const struct invocation *invocation, struct server *server)
{
    const struct token_options *options = invocation->options;
    _cleanup_json_ json_t *body = json_object();
    _cleanup_json_ json_t *answer = NULL;
    int status;

    if (options->user != NULL)
        (void)json_object_set_new(body, "user", json_string(options->user));
    if (options->note != NULL)
        (void)json_object_set_new(body, "note", json_string(options->note));
    if (options->ttl_us != 0)
        (void)json_object_set_new(body, "ttl_s",
                                  json_integer((json_int_t)((options->ttl_us + USEC_PER_SEC - 1) /
                                                            USEC_PER_SEC)));
    if (options->login)
        (void)json_object_set_new(body, "login", json_true());
    if (options->browser)
        (void)json_object_set_new(body, "browser", json_true());
    status = server_request(server, "POST", "/tokens", body, &answer);
    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }
    if (options->browser) {
        login_page_print(answer);
        return STATUS_OK;
    }
    if (options->login) {
        login_line_print(answer);
        return STATUS_OK;
    }
    (void)printf("%s\n", json_text(answer, "token"));
    report_note("token %" PRIu64 " of %s; it is shown this once. Keep it in a file with mode 0600"
                " and give\nthat: edl --token-file FILE, or EDL_TOKEN_FILE",
                json_u64(answer, "id"), json_text(answer, "user"));
    return STATUS_OK;
}

static int take_away(const struct invocation *invocation, struct server *server)
{
    _cleanup_free_ char *segment = text_url_segment(invocation->arguments.args[1]);
    _cleanup_free_ char *path = text_format("/tokens/%s", segment);
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, "DELETE", path, NULL, &answer);

    if (status == STATUS_OK && invocation->common->json)
        json_print(answer);
    else if (status == STATUS_OK)
        (void)printf("token %" PRIu64 " removed\n", json_u64(answer, "id"));
    return status;
}

/* A code has no other name until its owner gives it one. */
static const char *note_of(const json_t *token)
{
    const char *note = json_text(token, "note");

    if (*note != '\0' || !json_is_true(json_object_get(token, "login")))
        return note;
    return json_is_true(json_object_get(token, "browser")) ? "browser code" : "login code";
}

static int list(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = { "ID", "USER", "NOTE", "MADE", "EXPIRES", NULL };
    _cleanup_json_ json_t *answer = NULL;
    int status = server_get(server, &answer, "/tokens");
    size_t i;
    json_t *token;

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1);

    json_array_foreach(json_object_get(answer, "tokens"), i, token)
    {
        char made[32], expires[32];

        table_add(table, "%" PRIu64, json_u64(token, "id"));
        table_add(table, "%s", json_text(token, "user"));
        table_add(table, "%s", note_of(token));
        table_add(table, "%s", text_time(json_u64(token, "created_us"), made, sizeof made));
        table_add(table, "%s", text_time(json_u64(token, "expires_us"), expires, sizeof expires));
    }
    table_print(table, stdout);
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    static const struct action actions[] = {
        { .name = "create", .run = create },
        { .name = "remove", .n_args = 1, .run = take_away },
        { .name = "list", .run = list },
    };

    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_token = {
    .name = "token",
    .usage =
        "create [--login | --browser] [--note TEXT] [--ttl TIME] [--user NAME] | remove ID | list",
    .summary = "Tokens to come in with from elsewhere",
    .details = "A token is printed when it is made and never again: the scheduler keeps its SHA-256"
               " only.",
    VERB_OPTIONS(token_options, struct token_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
