/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.c - the state goes from one engine to the other
 *
 *   edl.db, workspaces/ --copy--> PostgreSQL, its rows of the past --committed--> (mark "moved":
 * edl.db is of the past) --> its rows are the state
 *   PostgreSQL --copy--> edl.db.new, workspaces/ --synced--> (mark of the leader's row: its rows
 * are of the past) --> an edl.db of the past aside, new in place --> (no mark "moved")
 *
 * A mark keeps a scheduler whose configuration names the former engine from going on with the state
 * of then. Both orders may be broken off anywhere and done again: rows that are of the past, or
 * that nobody has led over since they were copied, may be replaced. */
#include "scheduler/migrate.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/leadership/known_term.h"
#include "scheduler/leadership/store_url.h"
#include "scheduler/options.h"
#include "scheduler/restore_backup.h"
#include "scheduler/state.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "scheduler/workspaces/workspace_move.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/elapsed_clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"

#define MARK MIGRATE_MARK
#define DATABASE "edl.db"
#define COPY "edl.db.new"
#define ARCHIVES "workspaces"
#define TO_SQLITE "sqlite:"

void migrated_clear(struct migrated *migrated)
{
    copy_sum_done(&migrated->sum);
    workspace_moved_done(&migrated->archives);
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
    (void)edl_error_set(error, -EINVAL, "the state of %s is in %s", options->state_dir, where);
    return edl_error_remedy(error,
                            "write `store: %s` into scheduler.conf; or go back: edl admin migrate"
                            " --to sqlite:%s; or go on with the state of then: rm %s",
                            where, options->state_dir, path);
}

/* A package starts a scheduler, and perhaps the agent of its machine, before anybody has a say: so
 * one node is none. */
int migrate_check_empty(const struct scheduler_options *options, struct edl_error *error)
{
    static const char sum[] =
        "SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM \"user\") +"
        " (SELECT count(*) / 2 FROM node)";
    struct copy_place *place = NULL;
    char path[STATE_PATH_MAX];
    int64_t rows;
    int r;

    state_path(options, DATABASE, path);
    if (has_mark(options) || access(path, F_OK) == -1)
        return 0;
    r = sqlite_copy_source(path, &place, error);
    if (r < 0)
        return edl_error_remedy(
            error,
            "leave it behind: mv %s %s.aside; or start edl-scheduler once without"
            " `store`, stop it, and take it along: edl admin migrate",
            path, path);
    rows = place->calls->number(place, sum);
    (void)copy_close(place);
    if (rows == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "%s has the state of a cluster, which is in no other place",
                        path);
    return edl_error_remedy(error,
                            "take it along: edl admin migrate --to postgresql://... --state-dir %s;"
                            " or leave it behind: mv %s %s.aside",
                            options->state_dir, path, path);
}

int migrate_remember(const struct scheduler_options *options, struct edl_error *error)
{
    _cleanup_free_ char *there = NULL;
    char url[STORE_URL_MAX], path[STATE_PATH_MAX];

    store_url_without_password(options->store, url);
    state_path(options, MARK, path);
    if (has_mark(options) && whole_file_read(path, false, &there, NULL) >= 0 && streq(there, url))
        return 0;
    return set_mark(options, url, error);
}

int migrate_check(const struct scheduler_options *options, struct edl_error *error)
{
    if (options->store[0] == '\0')
        return has_mark(options) ? say_moved(options, error) : 0;
    return migrate_check_empty(options, error);
}

/* name_folder - a folder of this machine, the same whichever way it is typed */
static int name_folder(const struct scheduler_options *options, char ret[COPY_MOVED_MAX],
                       struct edl_error *error)
{
    _cleanup_free_ char *folder = realpath(options->state_dir, NULL);
    char host[HOST_NAME_MAX + 1] = "";

    if (folder == NULL)
        return edl_error_errno(error, -errno, "looking at %s", options->state_dir);
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(ret, COPY_MOVED_MAX, TO_SQLITE "%s on %s", folder, host);
    return 0;
}

/* --- the term --- */

/* Nodes refuse a lower term than the highest that they know. */
static int keep_term(const struct scheduler_options *options, struct copy_place *from,
                     struct edl_error *error)
{
    int64_t term = from->calls->number(from, "SELECT term FROM leader");

    return term <= 0 ? 0 : known_term_keep(options, (uint64_t)term, error);
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

/* Rows of the past, or of a move that was broken off behind its commit. */
static bool may_replace(struct copy_place *from, struct copy_place *to)
{
    return copy_same_cluster(from, to) &&
           to->calls->number(to, "SELECT CASE WHEN moved_wall_us > 0 OR led = 0 THEN 1 ELSE 0 END"
                                 " FROM leader") == 1;
}

static int copy_in(struct copy_place *from, struct copy_place *to, struct copy_wishes *wishes,
                   struct workspace_move *archives, struct migrated *ret, struct edl_error *error)
{
    int r;

    wishes->replace = ret->replaced = may_replace(from, to);
    wishes->behind = workspace_move_in;
    wishes->behind_what = archives;
    archives->wishes = wishes;
    r = copy(from, to, wishes, ret, error);
    ret->archives = archives->moved;
    return r;
}

/* is_this_move - whether the mark is of this very move, which was broken off behind it. One into
 * another database may have been broken off before. A move home that was broken off there has left
 * led = 1: its rows are newer than the file */
static bool is_this_move(const struct scheduler_options *options, struct copy_place *to,
                         const char *url, const char *here)
{
    _cleanup_free_ char *where = NULL;
    char moved[COPY_MOVED_MAX], path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    return whole_file_read(path, false, &where, NULL) >= 0 && streq(where, url) &&
           to->calls->number(to, "SELECT led FROM leader") == 0 &&
           postgresql_copy_moved(to, moved, NULL) == 0 && streq(moved, here);
}

/* leave_file - no moment has two sides over which a scheduler leads */
static int leave_file(const struct scheduler_options *options, struct copy_place *to,
                      struct migrated *ret, struct edl_error *error)
{
    int r = set_mark(options, ret->to, error);

    if (r == 0)
        r = to->calls->run(to, "UPDATE leader SET moved_wall_us = 0, moved_to = ''", error);
    if (r < 0)
        (void)edl_error_remedy(error, "type the same again: all rows are there, and a scheduler"
                                      " leads over them when this has been done");
    return r;
}

static int to_postgresql(const struct scheduler_options *options, struct copy_wishes *wishes,
                         struct migrated *ret, struct edl_error *error)
{
    struct copy_place *from = NULL, *to = NULL;
    char here[COPY_MOVED_MAX], folder[STATE_PATH_MAX];
    struct workspace_move archives = { .folder = folder };
    _cleanup_free_ char *of_past = NULL;
    _cleanup_free_ char *also = NULL;
    int r = name_folder(options, here, error);

    if (r < 0)
        return r;
    of_past = postgresql_copy_of_past(here);
    also = text_format("UPDATE leader SET term = greatest(term, %" PRIu64 "), %s, led = 0",
                       known_term_read(options), of_past);
    wishes->also = also;
    state_path(options, ARCHIVES, folder);
    state_path(options, DATABASE, ret->from);
    store_url_without_password(options->migrate_to, ret->to);
    (void)snprintf(ret->conf, sizeof ret->conf, "store: %s", ret->to);
    wishes->clear = "give a database of its own, for example: createdb --owner=edl --encoding=UTF8"
                    " --locale=C --template=template0 NAME";
    r = sqlite_copy_source(ret->from, &from, error);
    if (r == 0)
        r = postgresql_copy_target(options->migrate_to, &to, error);
    if (has_mark(options) && (r < 0 || !is_this_move(options, to, ret->to, here)))
        r = say_moved(options, error);
    if (r == 0)
        r = copy_in(from, to, wishes, &archives, ret, error);
    if (r == 0)
        r = leave_file(options, to, ret, error);
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

/* A database that was moved away is of the past: it goes aside, its log with it. Its name tells
 * when it was left: that of this move typed again is the same, and its log is not parted from it.
 */
static int set_aside(const struct scheduler_options *options, struct migrated *ret,
                     struct edl_error *error)
{
    static const char *const names[] = { DATABASE "-wal", DATABASE "-shm", DATABASE };
    char path[STATE_PATH_MAX], mark[STATE_PATH_MAX];
    struct stat st;
    int r = 0;

    state_path(options, DATABASE, path);
    state_path(options, MARK, mark);
    if (access(path, F_OK) == -1)
        return 0;
    if (stat(mark, &st) == -1)
        return edl_error_errno(error, -errno, "looking at %s", mark);
    restore_name_aside(options, st.st_mtime, ret->aside);
    for (size_t i = 0; r == 0 && i < ELEMENTS(names); i++) {
        char to[STATE_PATH_MAX + 8];

        (void)snprintf(to, sizeof to, "%s%s", ret->aside, names[i] + strlen(DATABASE));
        r = move(options, names[i], to, error);
    }
    return r;
}

static int place(const struct scheduler_options *options, struct migrated *ret,
                 struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r = set_aside(options, ret, error);

    state_path(options, DATABASE, path);
    if (r == 0)
        r = move(options, COPY, path, error);
    return r == 0 ? clear_mark(options, error) : r;
}

/* check_ends - the rows are of the past, unless it is this very move that was broken off behind its
 * mark. A file without the mark is the state, perhaps that of this move */
static int check_ends(const struct scheduler_options *options, struct copy_place *from,
                      const char *target, struct edl_error *error)
{
    char moved[COPY_MOVED_MAX], path[STATE_PATH_MAX];
    int r = postgresql_copy_moved(from, moved, error);

    state_path(options, DATABASE, path);
    if (r == 0 && access(path, F_OK) == 0 && !has_mark(options)) {
        bool done = streq(moved, target);

        (void)edl_error_set(error, -EEXIST, "%s is there already%s", path,
                            done ? ", and the state came to it from there" : "");
        return edl_error_remedy(error,
                                done ? "it goes on with `store: sqlite` in scheduler.conf"
                                     : "give another folder, or move it: mv %s %s.aside",
                                path, path);
    }
    if (r < 0 || moved[0] == '\0' || streq(moved, target))
        return r;
    (void)edl_error_set(error, -EINVAL, "the state was moved from there to %.300s", moved);
    return edl_error_remedy(error, "take it from there; or go on with the rows of then: edl admin"
                                   " begin-epoch");
}

/* clock_of_here - the last record may be of another machine, and whoever starts here would take it
 * for one of this: it would count the time for which this machine is up. NULL: the boot has no
 * name. The caller frees it */
static char *clock_of_here(void)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    char boot_id[ELAPSED_BOOT_ID_SIZE];

    if (clock_boot_id(boot_id, sizeof boot_id) < 0)
        return NULL;
    return text_format("UPDATE clock SET elapsed_us = elapsed_us + min(max(%" PRIu64
                       " - real_us, 0), %" PRIu64 "), real_us = %" PRIu64 ", boot_us = %" PRIu64
                       ", boot_id = '%s' WHERE boot_id <> '%s'",
                       now_us, ELAPSED_GAP_MAX_US, now_us, clock_read_us(CLOCK_BOOTTIME), boot_id,
                       boot_id);
}

/* lacks_authority - nodes and people believe it, and it is in no row */
static bool lacks_authority(const struct scheduler_options *options, struct copy_place *from)
{
    char path[STATE_PATH_MAX];

    state_path(options, "ca.pem", path);
    return access(path, F_OK) == -1 &&
           from->calls->number(from, "SELECT count(*) FROM leader WHERE authority <> ''") == 1;
}

/* copy_out - into a new file and the folder of archives: all of it on disk when it returns */
static int copy_out(const struct scheduler_options *options, struct copy_place *from,
                    struct copy_wishes *wishes, struct migrated *ret, struct edl_error *error)
{
    char path[STATE_PATH_MAX], folder[STATE_PATH_MAX];
    struct workspace_move archives = { .folder = folder, .wishes = wishes };
    _cleanup_free_ char *clock = clock_of_here();
    struct copy_place *to = NULL;
    int r;

    wishes->also = clock;
    state_path(options, COPY, path);
    state_path(options, ARCHIVES, folder);
    r = workspace_move_check_room(from, &archives, error);
    if (r == 0)
        r = sqlite_copy_target(path, &to, error);
    if (r == 0)
        r = copy(from, to, wishes, ret, error);
    (void)copy_close(to);
    if (r == 0)
        r = file_sync(path, error);
    if (r == 0)
        r = keep_term(options, from, error);
    if (r == 0)
        r = workspace_move_out(from, &archives, error);
    wishes->also = NULL;
    ret->lacks_authority = lacks_authority(options, from);
    ret->archives = archives.moved;
    return r;
}

/* leave_and_place - from the mark on nobody leads over the database, and this is not gone back on.
 * A scheduler that is started in a new folder meanwhile would begin an empty state */
static int leave_and_place(const struct scheduler_options *options, struct copy_place *from,
                           const char *target, struct migrated *ret, struct edl_error *error)
{
    int r = has_mark(options) ? 0 : set_mark(options, ret->from, error);

    if (r == 0)
        r = postgresql_copy_leave(from, target, error);
    if (r == 0)
        r = place(options, ret, error);
    if (r < 0)
        (void)edl_error_remedy(error, "type the same again: the database may have been left"
                                      " already, and no scheduler leads over it then");
    return r;
}

static int to_sqlite(const struct scheduler_options *options, struct copy_wishes *wishes,
                     struct migrated *ret, struct edl_error *error)
{
    char path[STATE_PATH_MAX], target[COPY_MOVED_MAX];
    struct copy_place *from = NULL;
    int r;

    store_url_without_password(options->store, ret->from);
    state_path(options, DATABASE, ret->to);
    (void)snprintf(ret->conf, sizeof ret->conf, "store: sqlite");
    state_path(options, COPY, path);
    (void)unlink(path); /* of one that was broken off */
    wishes->clear = "give another folder";
    r = name_folder(options, target, error);
    if (r == 0)
        r = postgresql_copy_source(options->store, true, &from, error);
    if (r == 0)
        r = check_ends(options, from, target, error);
    if (r == 0)
        r = copy_out(options, from, wishes, ret, error);
    if (r == 0)
        r = leave_and_place(options, from, target, ret, error);
    (void)copy_close(from);
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

/* A folder whose name was mistyped would be made by the lock. */
static int check_there(const struct scheduler_options *options, struct edl_error *error)
{
    if (access(options->state_dir, F_OK) == 0)
        return 0;
    (void)edl_error_errno(error, -errno, "looking at the state directory %s", options->state_dir);
    return edl_error_remedy(error, "give the folder of the scheduler: --state-dir DIR");
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
    if (r == 0 && !back)
        r = check_there(own, error);
    if (r == 0)
        r = migrate_become_owner(own->state_dir, error);
    if (r == 0)
        r = lock = state_lock(own, error);
    if (r >= 0)
        r = restore_unfinished(own, error);
    if (r < 0)
        return r;
    r = back ? to_sqlite(own, &own_wishes, ret, error)
             : to_postgresql(own, &own_wishes, ret, error);
    if (r < 0 && error->remedy[0] == '\0')
        (void)edl_error_remedy(error,
                               "the state is where it was: mend that and type the same again");
    return r;
}
