/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_report.h - a server of a job tells its agent how many pushes of each trainer it took, and
 * the scheduler how it has come back
 *
 * For people (edl show): POST /processes/self/progress, now and then, when something has changed.
 * Each server tells of its own shard; the agent keeps what the other servers of a process said.
 * How it came back goes through the agent: POST /jobs/self/recovered, at once. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct edl_error;
struct pserver;
struct pserver_report;

/* pserver_report_new - socket: the agent's; server outlives the report, and takes no more frames
 * behind its end. tells_pushes: also how many there were */
int pserver_report_new(sd_event *event, const char *socket, struct pserver *server,
                       bool tells_pushes, struct pserver_report **ret, struct edl_error *error);
struct pserver_report *pserver_report_free(struct pserver_report *report);
