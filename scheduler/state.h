/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state directory: its owner, its files, and the state that is loaded from it */
#pragma once

struct edl_error;
struct scheduler;
struct scheduler_options;

#define STATE_PATH_MAX 4096

/* state_path - DIR/name; ret has STATE_PATH_MAX bytes */
void state_path(const struct scheduler_options *options, const char *name, char *ret);

/* state_lock - makes the directory unless it is there, checks whose it is, and takes its lock
 * Returns the descriptor that holds the lock; -EEXIST when a scheduler uses it, -EPERM, -ENOTDIR.
 */
int state_lock(const struct scheduler_options *options, struct edl_error *error);

/* state_open - lock, tokens, database, everything that is stored. On a disk that takes nothing the
 * database is opened read-only, and *ret_why tells (code 0: it is not). With a database that
 * several schedulers share nothing is opened, and scheduler->store is NULL (leadership.h) */
int state_open(struct scheduler *scheduler, struct edl_error *ret_why, struct edl_error *error);

/* state_new_run - versions of orders and sessions of nodes are other ones than any before */
int state_new_run(struct scheduler *scheduler, struct edl_error *error);

/* state_load - puts what is stored in the place of the cluster and the logs in memory
 * Nodes get a full lease, as at a start. After a failure memory is as it was. */
int state_load(struct scheduler *scheduler, struct edl_error *error);

/* state_tell_kept - store and core hear how much of ended jobs and events the options keep */
void state_tell_kept(struct scheduler *scheduler);

/* state_reopen - a database that was opened read-only is opened for writing; state_load follows
 * Errors: as store_open, and it is read-only still; EDL_ECORRUPT: it can not even be read. */
int state_reopen(struct scheduler *scheduler, struct edl_error *error);

/* state_write_port_file - nothing is written when it is right already */
int state_write_port_file(const struct scheduler *scheduler, struct edl_error *error);
