/* SPDX-License-Identifier: Apache-2.0 */
/* file_reads.h - files of processes on their way from a node to the caller
 *
 * Agents are called by nobody: a read that somebody waits for is listed in the node's orders
 * ("reads"), and its agent brings the answer, a piece a call (POST /nodes/{node}/reads/{read}). A
 * piece goes on to the client, and the agent's call is answered when the client's connection has
 * taken it: so the slower of the two sets the pace, and no more than two pieces of a read are held
 * here. Nothing of it is stored, and nobody looks at its contents.
 *
 * A read ends when its agent says so, when its client leaves, or when the agent is silent for 20 s.
 *
 * Used by: api/files.c, api/nodes.c. Tests: tests/integration/297-fetch.sh. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct file_read;
struct http_request;
struct scheduler;

#define FILE_READS_MAX 256    /* at once, of all; each user may have as many as are still free */
#define FILE_READS_USER_MAX 4 /* of one user that is no admin */
#define FILE_PIECE_BYTES (256 * 1024)

struct file_reads {
    struct file_read *list; /* owned; utlist */
    unsigned n;
    uint64_t last_id; /* begins at the wall clock's reading: agents outlive the scheduler */
};

struct file_ask {
    const char *node; /* which is there */
    const char *user; /* the caller */
    const char
        *owner; /* the only user who may, beside admins; NULL: anybody who may call the route */
    const char *type; /* media type of the answer */
    json_t *order;    /* for the agent; taken */
};

/* file_read_begin - keeps the request, which is answered by and by
 * EDL_ETOOMANY: too many are under way; the order is freed then, too */
int file_read_begin(struct scheduler *scheduler, struct http_request *request,
                    const struct file_ask *ask, struct edl_error *error);

/* file_reads_order - adds to the orders of a node what is asked of it */
void file_reads_order(const struct scheduler *scheduler, const char *node, json_t *orders);

/* file_read_take - a node brings a piece; answers the request now or later */
void file_read_take(struct scheduler *scheduler, struct http_request *request, const char *node,
                    uint64_t id);

/* file_reads_done - the servers are closed: nothing is left to be answered */
void file_reads_done(struct scheduler *scheduler);
