/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_nodes.c - `edl nodes`: the machines, their offers and grants; with a name, one of them and
 * the figures of its agent */
#include <inttypes.h>
#include <stdio.h>

#include "client/cmd_standby.h"
#include "client/json_read.h"
#include "client/node_view.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

static void add_cpu(struct table *table, const json_t *node, const char *name)
{
    char text[32];

    table_add(table, "%s", text_cpu(json_u64(node, name), text, sizeof(text)));
}

static void add_bytes(struct table *table, const json_t *node, const char *name)
{
    char text[32];

    table_add(table, "%s", text_bytes(json_u64(node, name), text, sizeof(text)));
}

static void add_labels(struct table *table, json_t *labels)
{
    char text[1024] = "-"; /* 8 labels have at most 768 bytes */
    size_t used = 0;
    const char *name;
    json_t *value;

    json_object_foreach(labels, name, value) if (used < sizeof(text)) used +=
        (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%s", used > 0 ? "," : "", name,
                         json_string_value(value) != NULL ? json_string_value(value) : "?");
    table_add(table, "%s", text);
}

static void add_node(struct table *table, const json_t *node)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    uint64_t report_us = json_u64(node, "last_report_us");
    char text[32];

    table_add(table, "%s", json_text(node, "name"));
    table_add(table, "%s", json_text(node, "state"));
    table_add(table, "%s", json_text(node, "address"));
    add_cpu(table, node, "cpu_millicores");
    add_cpu(table, node, "cpu_granted_millicores");
    add_cpu(table, node, "foreign_cpu_millicores");
    add_bytes(table, node, "memory_bytes");
    add_bytes(table, node, "memory_granted_bytes");
    table_add(table, "%" PRIu64 "/%" PRIu64, json_u64(node, "gpus_granted"),
              json_u64(node, "gpus"));
    table_add(table, "%" PRIu64, json_u64(node, "processes"));
    if (report_us == 0 || report_us > now_us)
        table_add(table, "%s", report_us == 0 ? "never" : "now");
    else
        table_add(table, "%s ago", text_duration(now_us - report_us, text, sizeof(text)));
    add_labels(table, json_object_get(node, "labels"));
}

/* What a node waits for is a sentence: it stands below the table. */
static void print_reasons(json_t *nodes)
{
    size_t i;
    const json_t *node;

    json_array_foreach(nodes, i, node)
    {
        const char *reason = json_text(node, "reason");

        if (*reason != '\0')
            printf("node %s %s\n", json_text(node, "name"), reason);
    }
}

/* fetch - one node as an object, or {"nodes": [...]} */
static int fetch(const struct invocation *invocation, struct server *server, json_t **ret)
{
    const struct option_words *given = &invocation->arguments;
    _cleanup_free_ char *name = NULL;

    if (given->n_args != 1)
        return server_list(server, "/nodes?limit=1000", "nodes", ret);
    name = text_url_segment(given->args[0]);
    return server_get(server, ret, "/nodes/%s", name);
}

static int show(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = { "NODE",    "STATE",  "ADDRESS", "CPU",  "GRANTED",
                                           "FOREIGN", "MEMORY", "GRANTED", "GPUS", "PROCESSES",
                                           "REPORT",  "LABELS", NULL };
    _cleanup_json_ json_t *answer = NULL;
    int status = fetch(invocation, server, &answer);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    bool one = invocation->arguments.n_args == 1;
    _cleanup_json_ json_t *nodes =
        one ? json_pack("[O]", answer) : json_incref(json_object_get(answer, "nodes"));
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x3f8);
    size_t i;
    json_t *node;

    json_array_foreach(nodes, i, node) add_node(table, node);
    table_print(table, stdout);
    print_reasons(nodes);
    if (one)
        node_view_print(answer);
    else
        schedulers_print(server);
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = show(invocation, &server);
    server_clear(&server);
    return status;
}

const struct verb verb_nodes = {
    .name = "nodes",
    .usage = "[NODE]",
    .summary = "List the machines, their offers and grants; all about one",
    .details =
        "Several schedulers may share a database. Then lines below the table tell which of them "
        "leads, and how\nlong ago the others were heard of. They tell the copies of the database "
        "as well.",
    .max_args = 1,
    .run = run,
};
