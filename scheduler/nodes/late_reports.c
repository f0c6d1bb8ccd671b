/* SPDX-License-Identifier: Apache-2.0 */
/* late_reports.c - see late_reports.h */
#include "scheduler/nodes/late_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "shared/macro.h"
#include "shared/node_name.h"

struct late_report {
    char node[NODE_NAME_MAX + 1];
    uint64_t sent_us;
    json_t *body; /* owned */
    UT_hash_handle hh;
};

/* One that its agent has given up may still have waited, and come behind the next. */
void late_reports_keep(struct late_reports *reports, const char *node, uint64_t sent_us,
                       json_t *body)
{
    struct late_report *report;

    HASH_FIND_STR(reports->by_node, node, report);
    if (report != NULL && report->sent_us > sent_us)
        return;
    if (report == NULL) {
        report = xcalloc(1, sizeof *report);
        (void)snprintf(report->node, sizeof report->node, "%s", node);
        HASH_ADD_STR(reports->by_node, node, report);
    }
    json_decref(report->body);
    report->body = json_incref(body);
    report->sent_us = sent_us;
}

void late_reports_take(struct late_reports *reports, late_report_fn fn, void *userdata)
{
    struct late_report *report, *next;

    HASH_ITER(hh, reports->by_node, report, next)
    {
        HASH_DEL(reports->by_node, report);
        if (fn != NULL)
            fn(userdata, report->node, report->body);
        json_decref(report->body);
        free(report);
    }
}
