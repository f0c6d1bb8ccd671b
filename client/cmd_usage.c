/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_usage.c - `edl usage`: the grants of each user's jobs, and their use */
#include <inttypes.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct usage_options {
    struct common_options common;
    const char *user;
};

static const struct option_row usage_options[] = {
    { "user", "NAME", "only this one's", option_text, OPTION_FIELD(struct usage_options, user) },
};

static double seconds(const json_t *user, const char *kind, const char *what)
{
    const json_t *usage = json_object_get(json_object_get(user, "usage"), kind);

    return json_number_value(json_object_get(usage, what));
}

static void add_user(struct table *table, const json_t *user)
{
    static const char *const kinds[] = { "useful", "idle", "resize", "wasted" };
    double gpu = 0;

    table_add(table, "%s", json_text(user, "user"));
    table_add(table, "%" PRIu64, json_u64(user, "jobs"));
    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        table_add(table, "%.2f", seconds(user, kinds[i], "cpu_core_seconds") / 3600);
        gpu += seconds(user, kinds[i], "gpu_seconds");
    }
    table_add(table, "%.2f", gpu / 3600);
}

static int run(const struct invocation *invocation)
{
    static const char *const headers[] = { "USER",   "JOBS",   "USEFUL CORE-H", "IDLE",
                                           "RESIZE", "WASTED", "GPU-H",         NULL };
    const struct usage_options *options = invocation->options;
    _cleanup_free_ char *segment = text_url_segment(options->user != NULL ? options->user : "");
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = server_open(&options->common, &server);
    size_t i;
    json_t *user;

    if (status != STATUS_OK)
        return status;
    status = server_get(&server, &answer, options->user != NULL ? "/usage?user=%s" : "/usage%s",
                        segment);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, ~UINT32_C(1));

    json_array_foreach(json_object_get(answer, "users"), i, user) add_user(table, user);
    table_print(table, stdout);
    return STATUS_OK;
}

const struct verb verb_usage = {
    .name = "usage",
    .usage = "[--user NAME]",
    .summary = "The grants of each user's jobs, and their use",
    .details = "In core-hours: useful; idle, granted and not used; resize, while processes started"
               " and stopped;\nwasted. Wasted work has to be done again because a process failed, "
               "was lost or had to stop.",
    VERB_OPTIONS(usage_options, struct usage_options),
    .run = run,
};
