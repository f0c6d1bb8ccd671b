/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_audit.c - `edl audit`: the changes that people made */
#include <inttypes.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"

struct audit_options {
    struct common_options common;
    uint64_t after;
};

static const struct option_row audit_options[] = {
    { "after", "ID", "only entries after this one", option_number,
      OPTION_FIELD(struct audit_options, after) },
};

static void add_entry(struct table *table, const json_t *entry)
{
    char time[32];

    table_add(table, "%" PRIu64, json_u64(entry, "id"));
    table_add(table, "%s", text_time(json_u64(entry, "time_us"), time, sizeof time));
    table_add(table, "%s", json_text(entry, "user"));
    table_add(table, "%s", json_text(entry, "via"));
    table_add(table, "%s", json_text(entry, "method"));
    table_add(table, "%s", json_text(entry, "target"));
    table_add(table, "%" PRIu64, json_u64(entry, "status"));
}

/* Page by page, until one is empty. */
static int read_all(struct server *server, uint64_t after, json_t **ret)
{
    json_t *all = json_array();

    for (;;) {
        _cleanup_json_ json_t *page = NULL;
        int status = server_get(server, &page, "/audit?after=%" PRIu64, after);
        json_t *entries = json_object_get(page, "entries");
        size_t n = json_array_size(entries);

        if (status != STATUS_OK || n == 0) {
            *ret = all;
            return status;
        }
        (void)json_array_extend(all, entries);
        after = json_u64(json_array_get(entries, n - 1), "id");
    }
}

static int run(const struct invocation *invocation)
{
    static const char *const headers[] = { "ID",     "TIME",   "USER",   "KNOWN BY",
                                           "METHOD", "TARGET", "STATUS", NULL };
    const struct audit_options *options = invocation->options;
    _cleanup_json_ json_t *entries = NULL;
    struct server server;
    int status = server_open(&options->common, &server);
    size_t i;
    json_t *entry;

    if (status != STATUS_OK)
        return status;
    status = read_all(&server, options->after, &entries);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        json_array_foreach(entries, i, entry) json_print_line(entry);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1);

    json_array_foreach(entries, i, entry) add_entry(table, entry);
    table_print(table, stdout);
    return STATUS_OK;
}

const struct verb verb_audit = {
    .name = "audit",
    .usage = "[--after ID]",
    .summary = "The changes that people made, and how they were known",
    VERB_OPTIONS(audit_options, struct audit_options),
    .run = run,
};
