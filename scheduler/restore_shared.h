/* SPDX-License-Identifier: Apache-2.0 */
/* restore_shared.h - a restore, or a new epoch, where schedulers share a database (--store)
 *
 * Tests: tests/integration/273-restore-shared.sh. */
#pragma once

struct edl_error;
struct restored;
struct scheduler_options;

/* restore_shared - options.restore_file takes the place of all rows of the database options.store;
 * with options.begin_epoch these rows stay, and begin an epoch. See restore_backup; the rows
 * of before are a file of SQLite in the state directory then, ret->aside. The caller has
 * the lock of the state directory. -EEXIST: a scheduler uses the database */
int restore_shared(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error);
