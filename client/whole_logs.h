/* SPDX-License-Identifier: Apache-2.0 */
/* whole_logs.h - what processes wrote, from their nodes: all of it, or a part
 *
 * Used by: cmd_logs.c. Tests: tests/integration/297-fetch.sh. */
#pragma once

#include <stdint.h>

struct log_lines;
struct log_request;
struct server;

/* job_whole_logs - one process after the other, of each slot the newest; returns enum status. A
 * node that cannot be asked is told of, and the others' logs come */
int job_whole_logs(struct server *server, const struct log_request *request);

/* A part of the log of one start of a process. */
struct log_part {
    const char *role;
    uint64_t index, incarnation;
    const char *node;  /* "": not told */
    const char *shown; /* in front of each line, without the index */
    uint64_t offset, bytes;
};

/* job_log_part - prints it; *ret_got: as much of it as came. Returns enum status and prints no
 * failure; *ret_http: the answer's status, 0 without one */
int job_log_part(struct server *server, const struct log_request *request,
                 const struct log_part *part, struct log_lines *lines, uint64_t *ret_got,
                 unsigned *ret_http);
