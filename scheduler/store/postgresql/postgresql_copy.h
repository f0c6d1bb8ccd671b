/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_copy.h - a database of PostgreSQL to copy from or into (scheduler/store/copy/copy.h)
 *
 * Used by: scheduler/migrate.c. Tests: tests/integration/272-migrate.sh. */
#pragma once

#include <stdbool.h>

struct copy_place;
struct edl_error;

/* postgresql_copy_source - one state of all, read only; alone: no scheduler may use the database.
 * postgresql_copy_target - of the newest schema, which is made where there is none, without the
 * triggers' work. Both hold the lock of a leader while they are open, a source unless others may
 * use it.
 * -EEXIST a scheduler is connected; else as postgresql_open (postgresql.h) */
int postgresql_copy_source(const char *url, bool alone, struct copy_place **ret,
                           struct edl_error *error);
int postgresql_copy_target(const char *url, struct copy_place **ret, struct edl_error *error);
