/* SPDX-License-Identifier: Apache-2.0 */
/* store_schedulers.h - the schedulers of a database that several share
 *
 * Each has a connection of its own, and tells there that it is there. It is no part of the state of
 * the cluster: nobody's term is needed to write it, and nothing waits until a copy has it.
 * These block: for a thread. Used by: leadership. Tests: tests/integration/402-standby.sh. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct engine;
struct store;

struct stored_scheduler {
    const char *name, *address; /* borrowed during the call */
    uint64_t seen_ago_us;       /* by the clock of the database */
};
typedef void (*store_scheduler_fn)(const struct stored_scheduler *row, void *userdata);

/* store_scheduler_begin - lets a connection for reading write these rows, and lets nothing wait
 * for copies */
int store_scheduler_begin(struct engine *engine, struct edl_error *error);

/* store_scheduler_make - the table, unless it is there */
int store_scheduler_make(struct store *store, struct edl_error *error);

/* store_scheduler_take - name and address are that connection's until it ends; address "": it has
 * none. -EEXIST with remedy: another one has one of them. -EBUSY: a session has it whose commit
 * waits for a copy of the database; it may be gone, and keeps both until the copy is back */
int store_scheduler_take(struct store *store, const char *name, const char *address,
                         struct edl_error *error);

/* store_scheduler_seen - a scheduler is there, now. ret_wall_us: now, by the database's clock */
int store_scheduler_seen(struct engine *engine, const char *name, const char *address,
                         uint64_t *ret_wall_us, struct edl_error *error);

/* store_scheduler_each - all that were told and not forgotten, by their names */
int store_scheduler_each(struct engine *engine, store_scheduler_fn fn, void *userdata,
                         struct edl_error *error);

/* store_scheduler_forget - until it tells again */
int store_scheduler_forget(struct engine *engine, const char *name, struct edl_error *error);
