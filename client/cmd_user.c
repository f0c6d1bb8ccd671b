/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_user.c - `edl user`: people and their roles */
#include <inttypes.h>

#include "client/collection.h"
#include "client/json_read.h"
#include "client/login_line.h"
#include "client/owner_options.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/macro.h"

struct user_options {
    struct common_options common;
    bool forget;
    const char *role;
    const char *group;
    struct owner_options limits;
};

static const struct option_row user_options[] = {
    { "role", "ROLE", "none, viewer, user (default), operator or admin", option_text,
      OPTION_FIELD(struct user_options, role) },
    { "group", "GROUP", "whose share of the cluster the user's jobs have; \"\": none", option_text,
      OPTION_FIELD(struct user_options, group) },
    OWNER_OPTION_ROWS(struct user_options),
    { "forget", NULL, "remove: nor is it known that the name is to be kept out of the socket",
      option_flag, OPTION_FIELD(struct user_options, forget) },
};

static json_t *user_body(const struct invocation *invocation)
{
    const struct user_options *options = invocation->options;

    json_t *body = json_pack("{s:s*,s:s*}", "role", options->role, "group", options->group);

    if (owner_options_add(&options->limits, body) == 0)
        return body;
    json_decref(body);
    return NULL;
}

static void print_user(const json_t *user)
{
    (void)printf("%s: %s\n", json_text(user, "name"),
                 json_text(user, json_object_get(user, "role") != NULL ? "role" : "state"));
    owner_limits_print_over(user);
}

/* print_added - somebody who may come in has the line for another machine as well */
static void print_added(const struct invocation *invocation, struct server *server, json_t *user)
{
    json_t *made = NULL;

    if (!invocation->common->json)
        print_user(user);
    if (!streq(json_text(user, "role"), "none"))
        made = login_line_ask(server, json_text(user, "name"));
    if (made != NULL && !invocation->common->json)
        login_line_print(made);
    if (made != NULL)
        (void)json_object_set_new(user, "login", made);
    if (invocation->common->json)
        json_print(user);
}

static void add_row(struct table *table, const json_t *user)
{
    char since[32], limits[96];

    table_add(table, "%s", json_text(user, "name"));
    table_add(table, "%s", json_text(user, "role"));
    table_add(table, "%s", json_text(user, "group"));
    table_add(table, "%" PRIu64, json_u64(user, "tokens"));
    table_add(table, "%s", text_time(json_u64(user, "created_us"), since, sizeof since));
    table_add(table, "%s", owner_limits_text(user, limits, sizeof limits));
}

static const char *query(const struct invocation *invocation)
{
    const struct user_options *options = invocation->options;

    return options->forget ? "?forget=1" : "";
}

static const char *const headers[] = { "USER", "ROLE", "GROUP", "TOKENS", "SINCE", "LIMITS", NULL };

static const struct collection users = {
    .name = "users",
    .body = user_body,
    .query = query,
    .print = print_user,
    .print_added = print_added,
    .headers = headers,
    .right = 1 << 3,
    .add_row = add_row,
};

const struct verb verb_user = {
    .name = "user",
    .usage = "add NAME [--role ROLE] [--group GROUP] [--max-...] | set NAME [--role ROLE]"
             " [--group GROUP] [--max-...] | remove [--forget] NAME | list",
    .summary = "People who may come in, and their roles",
    .details =
        "A viewer looks. A user also submits jobs and changes or stops their own. An operator"
        " changes\nand stops anybody's, and cordons, drains and removes nodes. An admin also "
        "manages users.\nA name is that of an account: on the scheduler's own"
        " machine its owner needs no token.\nFor other machines `edl user add` prints the line "
        "`edl login ...`, which is good once.",
    VERB_OPTIONS(user_options, struct user_options),
    .collection = &users,
    .min_args = 1,
    .max_args = 2,
    .run = collection_run,
};
