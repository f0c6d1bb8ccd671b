/* SPDX-License-Identifier: Apache-2.0 */
/* restore_shared.c - a restore, or a new epoch, where schedulers share a database
 *
 *   database --copy--> edl.db.former --> edl.db.before-TIME (knows the rights revoked since)
 *   FILE, or the database --copy--> edl.db.new --check, revoke, new epoch--> database
 *
 * The rules of a restore are those of SQLite, on a file of it. The database changes in the last
 * step, which is one transaction. */
#include "scheduler/restore_shared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/leadership/known_term.h"
#include "scheduler/leadership/store_url.h"
#include "scheduler/migrate.h"
#include "scheduler/options.h"
#include "scheduler/restore_backup.h"
#include "scheduler/state.h"
#include "scheduler/store/copy/copy.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "scheduler/store/store.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"

#define FORMER "edl.db.former"

/* Agents and schedulers refuse a lower term than the highest that they know, and the lost time had
 * terms, too. The state is here from now on, wherever it was moved to before. */
#define TERM_GOES_ON                                                                               \
    "UPDATE leader SET term = greatest(term, %" PRIu64 ") + 1000, moved_wall_us = 0, moved_to = "  \
    "'', led = 1"

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

/* keep_former - under its name it is whole, and on disk */
static int keep_former(const struct scheduler_options *options, char *ret_aside,
                       struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r;

    state_path(options, FORMER, path);
    (void)unlink(path); /* of one that was broken off */
    r = take_out(options, path, error);
    if (r == 0)
        r = file_sync(path, error);
    if (r < 0)
        return r;
    restore_name_aside(options, time(NULL), ret_aside);
    if (rename(path, ret_aside) == -1)
        return edl_error_errno(error, -errno, "moving %s to %s", path, ret_aside);
    return name_sync(ret_aside, error);
}

static int put_in(const struct scheduler_options *options, const char *path, struct restored *ret,
                  struct edl_error *error)
{
    char where[STORE_URL_MAX];
    _cleanup_free_ char *also = text_format(TERM_GOES_ON, known_term_read(options));
    struct copy_wishes wishes = { .replace = true, .also = also, .where = where };
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

/* whose - the pin of the cluster's authority, where this folder has it */
static int whose(const struct scheduler_options *options, char ret[CERTIFICATE_PIN_MAX],
                 struct edl_error *error)
{
    _cleanup_free_ char *certificate = NULL;
    char path[STATE_PATH_MAX];
    int r;

    ret[0] = '\0';
    state_path(options, "ca.pem", path);
    if (access(path, F_OK) == -1)
        return 0;
    r = whole_file_read(path, false, &certificate, error);
    return r < 0 ? r : certificate_pin(certificate, ret, error);
}

/* make_ready - what is refused is refused before the schema changes */
static int make_ready(const struct scheduler_options *options, const char *copy, bool stays,
                      struct edl_error *error)
{
    char authority[CERTIFICATE_PIN_MAX];
    int r = stays ? 0 : store_check_file(copy, error);

    if (r < 0)
        return edl_error_remedy(error, "name a file that `edl admin backup` made; the rows are as"
                                       " they were");
    r = whose(options, authority, error);
    return r == 0 ? postgresql_copy_forward(options->store, !stays, authority, error) : r;
}

int restore_shared(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error)
{
    bool stays = options->restore_file[0] == '\0'; /* the rows, and begin an epoch */
    const char *former = stays ? options->former : ret->aside;
    char copy[STATE_PATH_MAX];
    bool is_put = false;
    int r = stays ? 0 : restore_make_copy(options, error);

    state_path(options, RESTORE_COPY, copy);
    if (stays)
        restore_remove_copy(options); /* of one that was broken off */
    if (r == 0)
        r = migrate_become_owner(options->state_dir, error);
    if (r == 0)
        r = make_ready(options, copy, stays, error);
    if (r == 0)
        r = stays ? take_out(options, copy, error) : keep_former(options, ret->aside, error);
    if (r == 0)
        r = restore_prepare_copy(options, former, ret, error);
    if (r == 0) {
        r = put_in(options, copy, ret, error);
        is_put = r == 0 || r == -ENOTCONN; /* perhaps: it may have been lost behind its commit */
    }
    restore_remove_copy(options);
    if (r < 0 && is_put)
        (void)edl_error_remedy(error, "type the same again, when the database can be reached%s%s",
                               stays ? "" : "; the rows of before are in ", ret->aside);
    else if (r < 0 && error->remedy[0] == '\0')
        (void)edl_error_remedy(error,
                               "the rows are as they were: mend that and type the same again");
    if (!is_put && !stays && ret->aside[0] != '\0') /* else no other place has its rows */
        (void)unlink(ret->aside);
    return r;
}
