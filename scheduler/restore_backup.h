/* SPDX-License-Identifier: Apache-2.0 */
/* restore_backup.h - a backup takes the place of the database (edl-scheduler --restore)
 *
 * Tests: tests/unit/test_restore_backup.c, tests/integration/270-backup.sh. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "scheduler/restore_archives.h"
#include "scheduler/store/store.h"
#include "shared/error.h"

struct scheduler_options;

struct restored {
    char aside[4096]; /* where the former database is; "" there was none */
    uint64_t jobs, nodes;
    uint64_t first_job;           /* new jobs are numbered from here on */
    size_t n_revoked[REVOKED_N];  /* since the backup was made */
    char *revoked[REVOKED_N];     /* owned; a line for each, NULL for none */
    struct edl_error unknown;     /* why that cannot be known; code 0: it is */
    struct needed_archives lacks; /* archives of workspaces that jobs need and that are not there */
};

/* restore_backup - options.restore_file becomes the database of options.state_dir
 * No scheduler may run there. The copy is checked as a whole and brought to the newest schema
 * before anything is changed, and rights that the former database knows to be revoked since are
 * revoked in it; where that database cannot be read, ret->unknown says so and the backup is
 * restored all the same. A crash in the middle leaves a mark, and no scheduler starts before the
 * restore was repeated. Errors: -EEXIST a scheduler runs, EDL_ECORRUPT, -EINVAL not one of ours or
 * a newer one,
 * -ENOSPC, -EIO. The caller clears ret in any case. */
int restore_backup(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error);

void restored_clear(struct restored *restored);

/* RESTORE_COPY - the file of the state directory in which the next database is made.
 * restore_make_copy - it is options.restore_file. restore_prepare_copy - checked, of the newest
 * schema and of a new epoch, without what `former` knows to be revoked since; "": nobody knows it;
 * NULL: it is found in the state directory */
#define RESTORE_COPY "edl.db.new"
int restore_make_copy(const struct scheduler_options *options, struct edl_error *error);
int restore_prepare_copy(const struct scheduler_options *options, const char *former,
                         struct restored *ret, struct edl_error *error);
void restore_remove_copy(const struct scheduler_options *options);

/* restore_unfinished - -EINVAL with remedy when a restore was broken off. restore_check - so, and
 * when the state was moved elsewhere (migrate.h): a scheduler does not start then */
int restore_unfinished(const struct scheduler_options *options, struct edl_error *error);
int restore_check(const struct scheduler_options *options, struct edl_error *error);

/* restore_name_aside - a name for a database that is of the past since then, which nothing has yet;
 * ret has room for STATE_PATH_MAX */
void restore_name_aside(const struct scheduler_options *options, time_t when, char *ret);
