/* SPDX-License-Identifier: Apache-2.0 */
/* whole_logs.h - `edl logs --all`: all that processes wrote, from their nodes
 *
 * Used by: cmd_logs.c. Tests: tests/integration/297-fetch.sh. */
#pragma once

struct log_request;
struct server;

/* job_whole_logs - one process after the other, of each slot the newest; returns enum status. A
 * node that cannot be asked is told of, and the others' logs come */
int job_whole_logs(struct server *server, const struct log_request *request);
