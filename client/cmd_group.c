/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_group.c - `edl group`: groups of users and their shares of the cluster */
#include <inttypes.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

struct group_options {
    struct common_options common;
    const char *permille; /* as text: 0 is a share */
    uint64_t weight;      /* 0: not given */
};

static const struct option_spec group_options[] = {
    { "permille", 0, OPTION_TEXT, "N", "guaranteed of all cores and GPUs, 0 to 1000 (default 0)",
      offsetof(struct group_options, permille) },
    { "weight", 0, OPTION_COUNT, "N", "of the room beyond all guarantees (default 1)",
      offsetof(struct group_options, weight) },
    { .name = NULL },
};

static char *group_path(const struct invocation *invocation)
{
    _cleanup_free_ char *segment = text_url_segment(invocation->arguments.args[1]);

    return text_format("/groups/%s", segment);
}

/* NULL: the share is no number, which is said */
static json_t *group_body(const struct invocation *invocation)
{
    const struct group_options *options = invocation->options;
    json_t *body = json_object();
    uint64_t permille;

    if (options->permille != NULL && parse_u64(options->permille, &permille) < 0) {
        (void)fprintf(stderr, "edl: --permille %s is not a number; 300 is 30.0%%\n",
                      options->permille);
        json_decref(body);
        return NULL;
    }
    if (options->permille != NULL)
        (void)json_object_set_new(body, "guaranteed_permille", json_integer((json_int_t)permille));
    if (options->weight != 0)
        (void)json_object_set_new(body, "weight", json_integer((json_int_t)options->weight));
    return body;
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
    else if (json_object_get(answer, "state") != NULL)
        (void)printf("%s: %s\n", json_text(answer, "name"), json_text(answer, "state"));
    else
        (void)printf("%s: %.1f%% guaranteed, weight %" PRIu64 "\n", json_text(answer, "name"),
                     (double)json_u64(answer, "guaranteed_permille") / 10,
                     json_u64(answer, "weight"));
    return STATUS_OK;
}

static int add(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *body = group_body(invocation);

    if (body == NULL)
        return STATUS_BAD_INPUT;
    (void)json_object_set_new(body, "name", json_string(invocation->arguments.args[1]));
    return ask(invocation, server, "POST", "/groups", body);
}

static int set(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *body = group_body(invocation);
    _cleanup_free_ char *path = group_path(invocation);

    return body == NULL ? STATUS_BAD_INPUT : ask(invocation, server, "PATCH", path, body);
}

static int take_away(const struct invocation *invocation, struct server *server)
{
    _cleanup_free_ char *path = group_path(invocation);

    return ask(invocation, server, "DELETE", path, NULL);
}

static int list(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = {
        "GROUP", "GUARANTEED", "HOLDS", "WEIGHT", "USERS", NULL
    };
    _cleanup_json_ json_t *answer = NULL;
    int status = server_list(server, "/groups?limit=1000", "groups", &answer);
    size_t i;
    json_t *group;

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x1e);

    json_array_foreach(json_object_get(answer, "groups"), i, group)
    {
        table_add(table, "%s", json_text(group, "name"));
        table_add(table, "%.1f%%", (double)json_u64(group, "guaranteed_permille") / 10);
        table_add(table, "%.1f%%", (double)json_u64(group, "held_permille") / 10);
        table_add(table, "%" PRIu64, json_u64(group, "weight"));
        table_add(table, "%" PRIu64, json_u64(group, "members"));
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

const struct verb verb_group = {
    .name = "group",
    .usage = "add NAME [--permille N] [--weight N] | set NAME [--permille N] [--weight N] |"
             " remove NAME | list",
    .summary = "Groups of users, and the part of the cluster that each is guaranteed",
    .details = "A group that has less than its guarantee goes first, and room is made for it by "
               "shrinking\nothers that hold more than theirs. The idle part of a guarantee is "
               "lent. The room beyond all\nguarantees is shared by weight. Users join with `edl "
               "user set NAME --group"
               " GROUP`.",
    .options = group_options,
    .options_size = sizeof(struct group_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
