/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.c - the state goes from one engine to the other
 *
 *   edl.db --copy--> PostgreSQL --committed--> (mark "moved": edl.db is of the past)
 *   PostgreSQL --copy--> edl.db.new --synced--> an edl.db of the past aside, new in place --> (no
 * mark)
 *
 * The mark keeps a scheduler whose configuration forgets the other engine from going on with the
 * state of then. Both orders may be broken off anywhere and done again. */
#include "scheduler/migrate.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/leadership/store_url.h"
#include "scheduler/options.h"
#include "scheduler/restore_backup.h"
#include "scheduler/state.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define MARK "moved"
#define TERM_FILE "term"
#define DATABASE "edl.db"
#define COPY "edl.db.new"
#define TO_SQLITE "sqlite:"

void migrated_clear(struct migrated *migrated)
{
    copy_sum_done(&migrated->sum);
}

/* --- the account --- */

/* Root migrates for the account that the scheduler runs as: it becomes that account. So the files
 * are its own, and the database knows it by its name, as later on. */
int migrate_become_owner(const char *state_dir, struct edl_error *error)
{
    const struct passwd *account;
    struct stat st;

    if (geteuid() != 0 || stat(state_dir, &st) == -1 || st.st_uid == 0)
        return 0;
    account = getpwuid(st.st_uid);
    if (account == NULL)
        return edl_error_set(error, -ENOENT, "%s belongs to the account %u, which has no name",
                             state_dir, (unsigned)st.st_uid);
    if (initgroups(account->pw_name, st.st_gid) == -1 || setgid(st.st_gid) == -1 ||
        setuid(st.st_uid) == -1)
        return edl_error_errno(error, -errno, "becoming the account %s", account->pw_name);
    (void)setenv("HOME", account->pw_dir, 1); /* of its .pgpass */
    return 0;
}

/* --- the mark --- */

static int set_mark(const struct scheduler_options *options, const char *url,
                    struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    return whole_file_write(path, url, 0600, error);
}

static bool has_mark(const struct scheduler_options *options)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    return access(path, F_OK) == 0;
}

static int clear_mark(const struct scheduler_options *options, struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    if (unlink(path) == -1 && errno != ENOENT)
        return edl_error_errno(error, -errno, "removing %s", path);
    return name_sync(path, error);
}

static int say_moved(const struct scheduler_options *options, struct edl_error *error)
{
    _cleanup_free_ char *where = NULL;
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    if (whole_file_read(path, false, &where, NULL) < 0)
        where = xstrdup("postgresql://...");
    (void)edl_error_set(error, -EINVAL, "the state of %s was moved to %s", options->state_dir,
                        where);
    return edl_error_remedy(error,
                            "write `store: %s` into scheduler.conf; or go back: edl admin migrate"
                            " --to sqlite:%s; or go on with the state of then: rm %s",
                            where, options->state_dir, path);
}

int migrate_check(const struct scheduler_options *options, struct edl_error *error)
{
    if (options->store[0] != '\0' || !has_mark(options))
        return 0;
    return say_moved(options, error);
}

/* --- the term --- */

/* Nodes refuse a lower term than the highest that they know, and only PostgreSQL has terms. So the
 * last one waits in a file while the state is in SQLite. 0: there was none */
static uint64_t read_term(const struct scheduler_options *options)
{
    _cleanup_free_ char *text = NULL;
    char path[STATE_PATH_MAX];

    state_path(options, TERM_FILE, path);
    if (access(path, F_OK) == -1 || whole_file_read(path, false, &text, NULL) < 0)
        return 0;
    return strtoull(text, NULL, 10);
}

static int write_term(const struct scheduler_options *options, struct copy_place *from,
                      struct edl_error *error)
{
    int64_t term = from->calls->number(from, "SELECT term FROM leader");
    char path[STATE_PATH_MAX], text[24];

    if (term <= 0)
        return 0;
    state_path(options, TERM_FILE, path);
    (void)snprintf(text, sizeof text, "%" PRId64 "\n", term);
    return whole_file_write(path, text, 0600, error);
}

/* --- to PostgreSQL --- */

static int copy(struct copy_place *from, struct copy_place *to, struct copy_wishes *wishes,
                struct migrated *ret, struct edl_error *error)
{
    uint64_t began_us = clock_read_us(CLOCK_BOOTTIME);
    int r;

    wishes->where = ret->to;
    r = copy_all(from, to, wishes, &ret->sum, error);
    ret->jobs = from->calls->number(from, "SELECT count(*) FROM job");
    ret->nodes = from->calls->number(from, "SELECT count(*) FROM node");
    ret->took_us = clock_read_us(CLOCK_BOOTTIME) - began_us;
    return r;
}

static int to_postgresql(const struct scheduler_options *options, struct copy_wishes *wishes,
                         struct migrated *ret, struct edl_error *error)
{
    struct copy_place *from = NULL, *to = NULL;
    char also[80];
    int r;

    (void)snprintf(also, sizeof also, "UPDATE leader SET term = greatest(term, %" PRIu64 ")",
                   read_term(options));
    wishes->also = also;
    state_path(options, DATABASE, ret->from);
    store_url_without_password(options->migrate_to, ret->to);
    (void)snprintf(ret->conf, sizeof ret->conf, "store: %s", ret->to);
    wishes->clear = "give a database of its own, for example: createdb --owner=edl --encoding=UTF8"
                    " --locale=C --template=template0 NAME";
    r = has_mark(options) ? say_moved(options, error) : 0;
    if (r == 0)
        r = sqlite_copy_source(ret->from, &from, error);
    if (r == 0)
        r = postgresql_copy_target(options->migrate_to, &to, error);
    if (r == 0)
        r = copy(from, to, wishes, ret, error);
    if (r == 0)
        r = set_mark(options, ret->to, error);
    (void)copy_close(to);
    (void)copy_close(from);
    return r;
}

/* --- to SQLite --- */

static int move(const struct scheduler_options *options, const char *from, const char *to,
                struct edl_error *error)
{
    char before[STATE_PATH_MAX];

    state_path(options, from, before);
    if (rename(before, to) == 0)
        return name_sync(to, error);
    return errno == ENOENT ? 0 : edl_error_errno(error, -errno, "moving %s to %s", before, to);
}

/* A database that was moved away is of the past: it goes aside, its log with it. */
static int set_aside(const struct scheduler_options *options, struct migrated *ret,
                     struct edl_error *error)
{
    static const char *const names[] = { DATABASE "-wal", DATABASE "-shm", DATABASE };
    char path[STATE_PATH_MAX];
    int r = 0;

    state_path(options, DATABASE, path);
    if (access(path, F_OK) == -1)
        return 0;
    restore_name_aside(options, ret->aside);
    for (size_t i = 0; r == 0 && i < ELEMENTS(names); i++) {
        char to[STATE_PATH_MAX + 8];

        (void)snprintf(to, sizeof to, "%s%s", ret->aside, names[i] + strlen(DATABASE));
        r = move(options, names[i], to, error);
    }
    return r;
}

static int check_target(const struct scheduler_options *options, struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, DATABASE, path);
    if (access(path, F_OK) == -1 || has_mark(options))
        return 0;
    (void)edl_error_set(error, -EEXIST, "%s is there already", path);
    return edl_error_remedy(error, "give another folder, or move it: mv %s %s.aside", path, path);
}

static int place(const struct scheduler_options *options, struct migrated *ret,
                 struct edl_error *error)
{
    char new_path[STATE_PATH_MAX], path[STATE_PATH_MAX];
    _cleanup_close_ int fd = -1;
    int r;

    state_path(options, COPY, new_path);
    state_path(options, DATABASE, path);
    fd = open(new_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -1 || fsync(fd) == -1)
        return edl_error_errno(error, -errno, "syncing %s", new_path);
    r = set_aside(options, ret, error);
    if (r == 0)
        r = move(options, COPY, path, error);
    return r == 0 ? clear_mark(options, error) : r;
}

static int to_sqlite(const struct scheduler_options *options, struct copy_wishes *wishes,
                     struct migrated *ret, struct edl_error *error)
{
    struct copy_place *from = NULL, *to = NULL;
    char path[STATE_PATH_MAX];
    int r = check_target(options, error);

    store_url_without_password(options->store, ret->from);
    state_path(options, DATABASE, ret->to);
    (void)snprintf(ret->conf, sizeof ret->conf, "store: sqlite");
    state_path(options, COPY, path);
    (void)unlink(path); /* of one that was broken off */
    wishes->clear = "give another folder";
    if (r == 0)
        r = postgresql_copy_source(options->store, true, &from, error);
    if (r == 0)
        r = sqlite_copy_target(path, &to, error);
    if (r == 0)
        r = copy(from, to, wishes, ret, error);
    if (r == 0)
        r = write_term(options, from, error);
    (void)copy_close(to);
    (void)copy_close(from);
    if (r == 0)
        r = place(options, ret, error);
    if (r < 0)
        (void)unlink(path);
    return r;
}

/* --- both --- */

static int check_wish(const struct scheduler_options *options, bool back, struct edl_error *error)
{
    if (back && options->store[0] == '\0') {
        (void)edl_error_set(error, -EINVAL, "no database is named that has the state now");
        return edl_error_remedy(error, "edl admin migrate --to sqlite:DIR --from postgresql://...");
    }
    if (back || store_url_is_known(options->migrate_to))
        return 0;
    (void)edl_error_set(error, -EINVAL, "--migrate is neither postgresql://... nor sqlite:DIR");
    return edl_error_remedy(error, "for example edl admin migrate --to postgresql:///edl");
}

int migrate(const struct scheduler_options *options, const struct copy_wishes *wishes,
            struct migrated *ret, struct edl_error *error)
{
    bool back = strncmp(options->migrate_to, TO_SQLITE, strlen(TO_SQLITE)) == 0;
    struct copy_wishes own_wishes = *wishes;
    struct scheduler_options *own = xcalloc(1, sizeof *own);
    _cleanup_free_ struct scheduler_options *freed = own;
    _cleanup_close_ int lock = -1;
    int r = check_wish(options, back, error);

    *own = *options;
    if (r == 0 && back)
        (void)snprintf(own->state_dir, sizeof own->state_dir, "%s",
                       options->migrate_to + strlen(TO_SQLITE));
    if (r == 0)
        r = migrate_become_owner(own->state_dir, error);
    if (r == 0)
        r = lock = state_lock(own, error);
    if (r >= 0)
        r = restore_unfinished(own, error);
    if (r < 0)
        return r;
    return back ? to_sqlite(own, &own_wishes, ret, error)
                : to_postgresql(own, &own_wishes, ret, error);
}
