/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_report.h - a server of a job tells its agent how many pushes of each trainer it took
 *
 * For people (edl show): POST /processes/self/progress, now and then, when something has changed.
 * Only the server of shard 0 tells: a push goes to all shards, and one process of a job may have
 * several, whose reports would take each other's place. */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct pserver;
struct pserver_report;

/* pserver_report_new - socket: the agent's; server outlives the report */
int pserver_report_new(sd_event *event, const char *socket, const struct pserver *server,
                       struct pserver_report **ret, struct edl_error *error);
struct pserver_report *pserver_report_free(struct pserver_report *report);
