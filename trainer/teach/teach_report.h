/* SPDX-License-Identifier: Apache-2.0 */
/* teach_report.h - a teacher of a job tells its agent once a second how it is
 *
 * POST /processes/self/progress, for people, and to choose the number of teachers by: its queue,
 * its busy share, its batches. POST /processes/self/steps: each batch is a step, and the time
 * without work its wait. */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct teach_report;
struct teach_server;

/* teach_report_new - socket: the agent's; server outlives the report; model: its name */
int teach_report_new(sd_event *event, const char *socket, const struct teach_server *server,
                     const char *model, struct teach_report **ret, struct edl_error *error);
struct teach_report *teach_report_free(struct teach_report *report);
