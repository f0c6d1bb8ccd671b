/* SPDX-License-Identifier: Apache-2.0 */
/* report_size.h - how much a node's next report may hold
 *
 * Used by: node_report.c, routes.c. Tests: tests/unit/test_body_reads.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct document_bounds;
struct instant;
struct node;

/* cluster_bound_report - lowers bounds to 64 KiB, and 8 KiB more for each process that it has or
 * had a minute ago; 2,048 of them where it has to be heard first */
void cluster_bound_report(const struct node *node, struct document_bounds *bounds);

/* node_note_processes - it reports, and tells of so many: see cluster_bound_report */
void node_note_processes(struct node *node, size_t n_told, struct instant now);
