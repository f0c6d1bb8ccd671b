/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_copy.h - a file of SQLite to copy from or into (see scheduler/store/copy/copy.h)
 *
 * Used by: copy.c, scheduler/migrate.c. Tests: tests/unit/test_copy.c. */
#pragma once

struct copy_place;
struct edl_error;

/* sqlite_copy_source - the file at path, checked as a whole and of the newest schema; nothing is
 * changed in it or beside it. The caller makes sure that nobody writes. EDL_ECORRUPT, -EINVAL with
 * remedy, -ENOENT */
int sqlite_copy_source(const char *path, struct copy_place **ret, struct edl_error *error);

/* sqlite_copy_target - makes the file, of the newest schema and without rows; -EEXIST. Until its
 * commit it may be damaged by a crash: its maker gives it its own name only then */
int sqlite_copy_target(const char *path, struct copy_place **ret, struct edl_error *error);

/* sqlite_copy_fresh - in memory: how a database begins */
int sqlite_copy_fresh(struct copy_place **ret, struct edl_error *error);
