/* SPDX-License-Identifier: Apache-2.0 */
/* log_rank.h - the process of a job that is meant by its rank
 *
 * A process is told its rank among those of its role (RANK, OMPI_COMM_WORLD_RANK). A role of a
 * fixed size has them by the index of its processes. One that grows and shrinks is told none, and
 * the index stands for it.
 *
 * Used by: cmd_logs.c. Tests: tests/unit/test_client_verbs.c. */
#pragma once

struct log_request;
struct server;

struct log_rank {
    char *role, *index; /* owned */
};

/* log_rank_find - of the role that is asked for, or of the one that works: trainer, or the first of
 * the job. Returns enum status; that there is no such rank is told with those that there are */
int log_rank_find(struct server *server, const struct log_request *request, const char *rank,
                  struct log_rank *ret);
void log_rank_clear(struct log_rank *rank);
