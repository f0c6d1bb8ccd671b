/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_copy.h - a database of PostgreSQL to copy from or into (scheduler/store/copy/copy.h)
 *
 * Used by: scheduler/migrate.c. Tests: tests/integration/272-migrate.sh. */
#pragma once

#include <stdbool.h>

#include "scheduler/store/copy/copy.h"

struct edl_error;

/* postgresql_copy_source - one state of all, read only; alone: no scheduler may use the database.
 * postgresql_copy_target - of the newest schema, which is made where there is none, without the
 * triggers' work. Both hold the lock of a leader while they are open, a source unless others may
 * use it.
 * -EEXIST a scheduler is connected, or another copy is made; else as postgresql_open (postgresql.h)
 */
int postgresql_copy_source(const char *url, bool alone, struct copy_place **ret,
                           struct edl_error *error);
int postgresql_copy_target(const char *url, struct copy_place **ret, struct edl_error *error);

/* postgresql_copy_forward - the schema becomes the newest, so that the database can be a source;
 * make: also where there is none (else -EINVAL). authority: the pin of the cluster's, "": not
 * known; -EINVAL: the database is of another one. Errors: those of postgresql_copy_target */
int postgresql_copy_forward(const char *url, bool make, const char *authority,
                            struct edl_error *error);

/* postgresql_copy_rows - of a query, in the state of all that a source has */
int postgresql_copy_rows(struct copy_place *place, const char *select, copy_line_fn fn,
                         void *userdata, struct edl_error *error);

/* postgresql_copy_of_past - what the row of the leader is set to where the state is `where`, and no
 * scheduler leads over this database (postgresql_check_here); the caller frees it
 * postgresql_copy_leave - of a source that is alone, whose rows were read: it is
 * of the past from now on. -ESTALE: a scheduler has led meanwhile; -ENOTCONN: it may be so or not
 * postgresql_copy_moved - that `where`; "": the state is here */
#define COPY_MOVED_MAX 4400
char *postgresql_copy_of_past(const char *where);
int postgresql_copy_leave(struct copy_place *place, const char *where, struct edl_error *error);
int postgresql_copy_moved(struct copy_place *place, char ret[COPY_MOVED_MAX],
                          struct edl_error *error);
