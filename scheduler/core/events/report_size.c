/* SPDX-License-Identifier: Apache-2.0 */
/* report_size.c - how much a node's next report may hold: as much as its processes need
 *
 * A process is told of until its agent has read that it is ordered no more. That takes a moment, in
 * which it is over here already: so processes that a node had in the last minute count as well. A
 * node that was not heard since the scheduler started, or since its lease ended, may run processes
 * that nobody here knows of. A thief of its credential gets the same, and no more. */
#include "scheduler/core/events/report_size.h"

#include "scheduler/core/model/node.h"
#include "shared/clock.h"
#include "shared/document_bounds.h"
#include "shared/macro.h"
#include "shared/report_bounds.h"

#define MINUTE_US (60 * USEC_PER_SEC)
#define KIB ((size_t)1024)

enum {
    UNHEARD = 2048,  /* processes that it may have */
    TOLD_MAX = 4096, /* no node runs more: its list before it is heard counts up to here */
};

void node_note_processes(struct node *node, size_t n_told, struct instant now)
{
    size_t told = MIN_OF(n_told, (size_t)TOLD_MAX);
    size_t n = node->heard ? node->n_processes : MAX_OF(told, (size_t)node->n_processes);

    if (now.now_us >= node->had.since_us + MINUTE_US) {
        node->had.before = now.now_us < node->had.since_us + 2 * MINUTE_US ? node->had.now : 0;
        node->had.now = 0;
        node->had.since_us = now.now_us;
    }
    node->had.now = MAX_OF(node->had.now, n);
}

void cluster_bound_report(const struct node *node, struct document_bounds *bounds)
{
    size_t n = MAX_OF(node->had.now, node->had.before);

    n = MAX_OF(n, (size_t)node->n_processes) + node->n_stale;
    if (!node->heard)
        n = MAX_OF(n, (size_t)UNHEARD);
    bounds->bytes = MIN_OF(bounds->bytes, (REPORT_KIB + REPORT_PROCESS_KIB * n) * KIB);
    bounds->values = MIN_OF(bounds->values, REPORT_VALUES + REPORT_PROCESS_VALUES * n);
}
