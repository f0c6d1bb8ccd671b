/* SPDX-License-Identifier: Apache-2.0 */
/* node_report.h - the body of an agent's report, as the core takes it
 *
 * Used by: nodes.c. Tests: tests/unit/test_nodes.c. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct node_report;
struct process_report;

/* node_report_machine_id - "" and NULL: not told, as by agents of before */
int node_report_machine_id(const json_t *body, const char **ret, struct edl_error *error);

/* node_report_read - its texts are borrowed from the body; list and ports are the caller's, who
 * frees them */
int node_report_read(const json_t *body, struct node_report *ret, struct process_report **ret_list,
                     uint16_t **ret_ports, struct edl_error *error);
