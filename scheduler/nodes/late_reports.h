/* SPDX-License-Identifier: Apache-2.0 */
/* late_reports.h - reports that were answered with a lease alone, because a turn was in flight
 *
 * Nothing may change the core then, and the agent tells its news again. Where turns follow each
 * other and each takes long, every report may come in one. So the newest of each node is kept, and
 * taken as soon as the turn is back: news reach the core within a turn, however long it takes.
 *
 * Used by: api/nodes.c, calls/dispatch.c. Tests: tests/unit/test_store_far.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct late_report;

/* One of each node at most; zeroed to begin with. */
struct late_reports {
    struct late_report *by_node; /* owned, uthash */
};

typedef void (*late_report_fn)(void *userdata, const char *node, const json_t *body);

/* late_reports_keep - the body of a report that was sent at sent_us; an earlier one of that node is
 * forgotten */
void late_reports_keep(struct late_reports *reports, const char *node, uint64_t sent_us,
                       json_t *body);

/* late_reports_take - each of them, which is forgotten then. NULL: all are forgotten */
void late_reports_take(struct late_reports *reports, late_report_fn fn, void *userdata);
