/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_user.c - `edl user`: people and their roles */
#include <inttypes.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct user_options {
    struct common_options common;
    bool forget;
    const char *role;
    const char *group;
};

static const struct option_spec user_options[] = {
    { "role", 0, OPTION_TEXT, "ROLE", "none, viewer, user (default), operator or admin",
      offsetof(struct user_options, role) },
    { "group", 0, OPTION_TEXT, "GROUP",
      "whose share of the cluster the user's jobs have; \"\": none",
      offsetof(struct user_options, group) },
    { "forget", 0, OPTION_FLAG, NULL,
      "remove: nor is it known that the name is to be kept out of the socket",
      offsetof(struct user_options, forget) },
    { .name = NULL },
};

static char *user_path(const struct invocation *invocation)
{
    _cleanup_free_ char *segment = text_url_segment(invocation->arguments.args[1]);

    return text_format("/users/%s", segment);
}

static json_t *user_body(const struct invocation *invocation)
{
    const struct user_options *options = invocation->options;

    return json_pack("{s:s*,s:s*}", "role", options->role, "group", options->group);
}

/* One call; prints the answer. */
static int ask(const struct invocation *invocation, struct server *server, const char *method,
               const char *path, const json_t *body)
{
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, method, path, body, &answer);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json)
        json_print(answer);
    else
        (void)printf("%s: %s\n", json_text(answer, "name"),
                     json_text(answer, json_object_get(answer, "role") != NULL ? "role" : "state"));
    return STATUS_OK;
}

static int add(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *body = user_body(invocation);

    (void)json_object_set_new(body, "name", json_string(invocation->arguments.args[1]));
    return ask(invocation, server, "POST", "/users", body);
}

static int set(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *body = user_body(invocation);
    _cleanup_free_ char *path = user_path(invocation);

    return ask(invocation, server, "PATCH", path, body);
}

static int take_away(const struct invocation *invocation, struct server *server)
{
    const struct user_options *options = invocation->options;
    _cleanup_free_ char *user = user_path(invocation);
    _cleanup_free_ char *path = text_format("%s%s", user, options->forget ? "?forget=1" : "");

    return ask(invocation, server, "DELETE", path, NULL);
}

static int list(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = { "USER", "ROLE", "GROUP", "TOKENS", "SINCE", NULL };
    _cleanup_json_ json_t *answer = NULL;
    int status = server_list(server, "/users?limit=1000", "users", &answer);
    size_t i;
    json_t *user;

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1 << 3);

    json_array_foreach(json_object_get(answer, "users"), i, user)
    {
        char since[32];

        table_add(table, "%s", json_text(user, "name"));
        table_add(table, "%s", json_text(user, "role"));
        table_add(table, "%s", json_text(user, "group"));
        table_add(table, "%" PRIu64, json_u64(user, "tokens"));
        table_add(table, "%s", text_time(json_u64(user, "created_us"), since, sizeof since));
    }
    table_print(table, stdout);
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    static const struct action actions[] = {
        { "add", 1, add }, { "set", 1, set }, { "remove", 1, take_away }, { "list", 0, list }
    };

    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_user = {
    .name = "user",
    .usage = "add NAME [--role ROLE] [--group GROUP] | set NAME [--role ROLE] [--group GROUP] |"
             " remove [--forget] NAME | list",
    .summary = "People who may come in, and their roles",
    .details =
        "A viewer looks; a user also submits jobs and changes or stops their own; an operator"
        " changes\nand stops anybody's, and cordons, drains and removes nodes; an admin also "
        "manages users.\nA name is that of a Unix account: on the scheduler's own"
        " machine its owner needs no token.",
    .options = user_options,
    .options_size = sizeof(struct user_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
