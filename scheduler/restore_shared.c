/* SPDX-License-Identifier: Apache-2.0 */
/* restore_shared.c - a restore, or a new epoch, where schedulers share a database
 *
 *   database --copy--> edl.db.before-TIME        (knows the rights that were revoked since)
 *   FILE, or the database --copy--> edl.db.new --check, revoke, new epoch--> database
 *
 * The rules of a restore are those of SQLite, on a file of it. The database changes in the last
 * step, which is one transaction. */
#include "scheduler/restore_shared.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/leadership/store_url.h"
#include "scheduler/migrate.h"
#include "scheduler/options.h"
#include "scheduler/restore_backup.h"
#include "scheduler/state.h"
#include "scheduler/store/copy/copy.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "shared/error.h"

/* Agents refuse a lower term than the highest that they know, and the lost time had terms, too. The
 * state is here from now on, wherever it was moved to before. */
#define TERM_GOES_ON                                                                               \
    "UPDATE leader SET term = term + 1000, moved_wall_us = 0, moved_to = '', led = 1"

static int take_out(const struct scheduler_options *options, const char *path,
                    struct edl_error *error)
{
    struct copy_wishes wishes = { .where = path };
    struct copy_place *from = NULL, *to = NULL;
    struct copy_sum sum = { 0 };
    int r = postgresql_copy_source(options->store, true, &from, error);

    if (r == 0)
        r = sqlite_copy_target(path, &to, error);
    if (r == 0)
        r = copy_all(from, to, &wishes, &sum, error);
    copy_sum_done(&sum);
    (void)copy_close(to);
    (void)copy_close(from);
    if (r < 0)
        (void)unlink(path);
    return r;
}

static int put_in(const struct scheduler_options *options, const char *path, struct restored *ret,
                  struct edl_error *error)
{
    char where[STORE_URL_MAX];
    struct copy_wishes wishes = { .replace = true, .also = TERM_GOES_ON, .where = where };
    struct copy_place *from = NULL, *to = NULL;
    struct copy_sum sum = { 0 };
    int r = sqlite_copy_source(path, &from, error);

    store_url_without_password(options->store, where);
    if (r == 0)
        r = postgresql_copy_target(options->store, &to, error);
    if (r == 0)
        r = copy_all(from, to, &wishes, &sum, error);
    if (r == 0)
        needed_archives_in_rows(&ret->lacks, to);
    copy_sum_done(&sum);
    (void)copy_close(to);
    (void)copy_close(from);
    return r;
}

int restore_shared(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error)
{
    bool stays = options->restore_file[0] == '\0'; /* the rows, and begin an epoch */
    const char *former = stays ? options->former : ret->aside;
    char copy[STATE_PATH_MAX];
    int r = stays ? 0 : restore_make_copy(options, error);

    state_path(options, RESTORE_COPY, copy);
    if (stays)
        restore_remove_copy(options); /* of one that was broken off */
    else
        restore_name_aside(options, time(NULL), ret->aside);
    if (r == 0)
        r = migrate_become_owner(options->state_dir, error);
    if (r == 0)
        r = take_out(options, stays ? copy : ret->aside, error);
    if (r == 0)
        r = restore_prepare_copy(options, former, ret, error);
    if (r == 0)
        r = put_in(options, copy, ret, error);
    restore_remove_copy(options);
    if (r < 0 && !stays)
        (void)unlink(ret->aside);
    return r;
}
