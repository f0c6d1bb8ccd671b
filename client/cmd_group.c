/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_group.c - `edl group`: groups of users and their shares of the cluster */
#include <inttypes.h>

#include "client/collection.h"
#include "client/json_read.h"
#include "client/owner_options.h"
#include "client/table_print.h"
#include "client/verb.h"
#include "shared/parse.h"

struct group_options {
    struct common_options common;
    const char *permille; /* as text: 0 is a share */
    uint64_t weight;      /* 0: not given */
    struct owner_options limits;
};

static const struct option_row group_options[] = {
    { "permille", "N", "guaranteed of all cores and GPUs, 0 to 1000 (default 0)", option_text,
      OPTION_FIELD(struct group_options, permille) },
    { "weight", "N", "of the room beyond all guarantees (default 1)", option_positive,
      OPTION_FIELD(struct group_options, weight) },
    OWNER_OPTION_ROWS(struct group_options),
};

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
    if (owner_options_add(&options->limits, body) == 0)
        return body;
    json_decref(body);
    return NULL;
}

static void print_group(const json_t *group)
{
    if (json_object_get(group, "state") != NULL)
        (void)printf("%s: %s\n", json_text(group, "name"), json_text(group, "state"));
    else
        (void)printf("%s: %.1f%% guaranteed, weight %" PRIu64 "\n", json_text(group, "name"),
                     (double)json_u64(group, "guaranteed_permille") / 10,
                     json_u64(group, "weight"));
    owner_limits_print_over(group);
}

static void add_row(struct table *table, const json_t *group)
{
    char limits[96];

    table_add(table, "%s", json_text(group, "name"));
    table_add(table, "%.1f%%", (double)json_u64(group, "guaranteed_permille") / 10);
    table_add(table, "%.1f%%", (double)json_u64(group, "held_permille") / 10);
    table_add(table, "%" PRIu64, json_u64(group, "weight"));
    table_add(table, "%" PRIu64, json_u64(group, "members"));
    table_add(table, "%s", owner_limits_text(group, limits, sizeof limits));
}

static const char *const headers[] = { "GROUP", "GUARANTEED", "HOLDS", "WEIGHT",
                                       "USERS", "LIMITS",     NULL };

static const struct collection groups = {
    .name = "groups",
    .body = group_body,
    .print = print_group,
    .headers = headers,
    .right = 0x1e,
    .add_row = add_row,
};

const struct verb verb_group = {
    .name = "group",
    .usage = "add NAME [--permille N] [--weight N] [--max-...] | set NAME [--permille N]"
             " [--weight N] [--max-...] | remove NAME | list",
    .summary = "Groups of users, and the part of the cluster that each is guaranteed",
    .details = "A group that has less than its guarantee goes first, and room is made for it by "
               "shrinking\nothers that hold more than theirs. The idle part of a guarantee is "
               "lent. The room beyond all\nguarantees is shared by weight. Users join with `edl "
               "user set NAME --group"
               " GROUP`.",
    VERB_OPTIONS(group_options, struct group_options),
    .collection = &groups,
    .min_args = 1,
    .max_args = 2,
    .run = collection_run,
};
