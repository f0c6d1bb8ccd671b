/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_nodes.c - see deploy_nodes.h */
#include "client/deploy/deploy_nodes.h"

#include "client/deploy/deploy_internal.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define READY_TIMEOUT_US (60 * USEC_PER_SEC)
#define SILENCE_TIMEOUT_US (300 * USEC_PER_SEC) /* leases are shorter */

static bool is_ready(const json_t *nodes, const char *name)
{
    size_t i;
    json_t *node;

    json_array_foreach(nodes, i, node) if (streq(json_text(node, "name"),
                                                 name)) return streq(json_text(node, "state"),
                                                                     "ready");
    return false;
}

/* What joined has to report once before a job can go there. */
void deploy_nodes_await_ready(struct run *run)
{
    uint64_t end_us = clock_read_us(CLOCK_MONOTONIC) + READY_TIMEOUT_US, revision = 0, now_us;
    bool all = false;

    if (server_event_revision(run->server, &revision) != STATUS_OK)
        return;
    while (!all && (now_us = clock_read_us(CLOCK_MONOTONIC)) < end_us) {
        _cleanup_json_ json_t *answer = NULL;

        if (server_list(run->server, "/nodes?limit=1000", "nodes", &answer) != STATUS_OK)
            return;
        all = true;
        for (size_t i = 0; i < run->n; i++) {
            const struct deploy_host *core = &run->targets[i].core;

            if (core->step == DEPLOY_DONE && core->changed)
                all = all && is_ready(json_object_get(answer, "nodes"), core->facts.member);
        }
        if (!all)
            (void)server_event_wait(run->server, &revision, end_us - now_us);
    }
    if (!all)
        report_note("not every node has reported yet: edl nodes");
}

/* await_silence - until the scheduler has missed the node's reports for a lease: before, it would
 * believe nobody that the machine is gone */
static void await_silence(struct server *server, const char *path)
{
    uint64_t end_us = clock_read_us(CLOCK_MONOTONIC) + SILENCE_TIMEOUT_US, revision = 0, now_us;

    if (server_event_revision(server, &revision) != STATUS_OK)
        return;
    while ((now_us = clock_read_us(CLOCK_MONOTONIC)) < end_us) {
        _cleanup_json_ json_t *node = NULL;

        if (server_get(server, &node, "%s", path) != STATUS_OK ||
            streq(json_text(node, "state"), "lost"))
            return;
        (void)server_event_wait(server, &revision, end_us - now_us);
    }
}

/* Processes of a host ended with its packages; the scheduler is told that the machine is gone. */
void deploy_nodes_forget(struct run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        const struct deploy_host *core = &run->targets[i].core;
        _cleanup_free_ char *name = NULL, *path = NULL, *gone = NULL;

        if (core->step != DEPLOY_DONE || !core->changed || !deploy_is_node(core->facts.member, run))
            continue;
        name = text_url_segment(core->facts.member);
        path = text_format("/nodes/%s", name);
        gone = text_format("%s?gone=1", path);
        await_silence(run->server, path);
        if (server_request(run->server, "DELETE", gone, NULL, NULL) != STATUS_OK)
            report_note("say it again later: edl node remove --gone %s", core->facts.member);
    }
}
