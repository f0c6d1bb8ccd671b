/* SPDX-License-Identifier: Apache-2.0 */
/* visit_record.h - what is remembered of a job that is on this node, for its epilog
 *
 * A folder for each job (STATE_DIR/visits/7) with record.json in it. A run of drop-ins of the
 * job holds the lock of the folder. The record outlives the machine: its epilog is due until it has
 * run. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct edl_error;

enum visit_stage { VISIT_STAGE_PROLOG, VISIT_STAGE_OPEN, VISIT_STAGE_EPILOG };

struct visit_record {
    enum visit_stage stage; /* that began */
    uint64_t job_id;
    char *job, *user; /* owned */
    uid_t uid;
    gid_t gid;
    char *gpus; /* owned; "0,1" */
};

void visit_record_done(struct visit_record *record);

/* visit_open - makes the folder and waits for its lock, as long as no signal comes: -EINTR. *ret_fd
 * is the caller's to close */
int visit_open(const char *path, int *ret_fd, struct edl_error *error);

/* visit_read - -ENOENT: there is none. visit_write - durable */
int visit_read(int fd, struct visit_record *ret, struct edl_error *error);
int visit_write(int fd, const struct visit_record *record, struct edl_error *error);

/* visit_remove - by the holder of its lock */
void visit_remove(int fd, const char *path);
