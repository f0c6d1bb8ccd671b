/* SPDX-License-Identifier: Apache-2.0 */
/* restore_backup.c - a backup takes the place of the database
 *
 * FILE --copy--> edl.db.new --check, migrate, revoke, new epoch--> (mark) --> old aside, new in
 * place --> (no mark)
 *
 * Why no number is given twice: an epoch is the seconds of the wall clock at the restore, or one
 * more than that of the backup and the last one begun in this directory. Events, and incarnations
 * of the jobs that go on, are numbered from epoch << 20 on. So those of an earlier epoch are lower
 * as long as fewer than a million are given in a second. Jobs have short numbers, as people type
 * them: behind all that the backup and the former database know, with a margin for the jobs of the
 * lost days (epoch_first_job), and behind those that nodes still run (cluster_meet_job). Orders and
 * logs are numbered anew with every start. */
#include "scheduler/restore_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/cluster_clock.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/migrate.h"
#include "scheduler/options.h"
#include "scheduler/restore_shared.h"
#include "scheduler/state.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "shared/write_all.h"

#define MARK "restoring"
#define EPOCH_FILE "epoch"
#define COPY RESTORE_COPY
#define COPY_BYTES (1 << 20)

static const char *const suffixes[] = { "", "-wal", "-shm" }; /* of a database's files */

/* --- the copy --- */

static void path_of(const struct scheduler_options *options, const char *name, const char *suffix,
                    char *ret)
{
    char whole[64];

    (void)snprintf(whole, sizeof whole, "%s%s", name, suffix);
    state_path(options, whole, ret);
}

void restore_remove_copy(const struct scheduler_options *options)
{
    char path[STATE_PATH_MAX];

    for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
        path_of(options, COPY, suffixes[i], path);
        (void)unlink(path);
    }
}

/* Root restores for the account that the scheduler runs as: new files in its directory become its
 * own, as else it could not read them. That account may change the directory meanwhile: nothing
 * but a plain file of one name, of root or already its own, is given away. */
static int give_to_owner(const struct scheduler_options *options, int fd, const char *path,
                         struct edl_error *error)
{
    struct stat dir, file;

    if (geteuid() != 0)
        return 0;
    if (stat(options->state_dir, &dir) == -1 || fstat(fd, &file) == -1)
        return edl_error_errno(error, -errno, "looking at %s", path);
    if (!S_ISREG(file.st_mode) || file.st_nlink != 1 ||
        (file.st_uid != 0 && file.st_uid != dir.st_uid))
        return edl_error_set(error, -EPERM, "%s is no file of this restore any more", path);
    if (fchown(fd, dir.st_uid, dir.st_gid) == -1)
        return edl_error_errno(error, -errno, "giving %s to the owner of its folder", path);
    return 0;
}

/* write_own - a small file of the state directory, on disk when it returns */
static int write_own(const struct scheduler_options *options, const char *path, const char *text,
                     struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    int r = whole_file_write(path, text, 0600, error);

    if (r < 0)
        return r;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd == -1)
        return edl_error_errno(error, -errno, "opening %s", path);
    return give_to_owner(options, fd, path, error);
}

static int copy_file(const struct scheduler_options *options, const char *from, const char *to,
                     struct edl_error *error)
{
    _cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int out = -1;
    _cleanup_free_ char *buffer = xcalloc(COPY_BYTES, 1);
    ssize_t n;

    if (in == -1)
        return edl_error_errno(error, -errno, "opening %s", from);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out == -1)
        return edl_error_errno(error, -errno, "making %s", to);
    if (give_to_owner(options, out, to, error) < 0)
        return error->code;
    while ((n = read(in, buffer, COPY_BYTES)) > 0) {
        int r = write_all(out, buffer, (size_t)n);

        if (r < 0)
            return edl_error_errno(error, r, "writing %s", to);
    }
    if (n == -1)
        return edl_error_errno(error, -errno, "reading %s", from);
    return fsync(out) == -1 ? edl_error_errno(error, -errno, "syncing %s", to) : 0;
}

/* A database that was set aside may have a log beside it, which is part of it. */
int restore_make_copy(const struct scheduler_options *options, struct edl_error *error)
{
    int r = 0;

    restore_remove_copy(options);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        char from[STATE_PATH_MAX + 8], to[STATE_PATH_MAX];

        (void)snprintf(from, sizeof from, "%s%s", options->restore_file, suffixes[i]);
        path_of(options, COPY, suffixes[i], to);
        if (i == 0 || access(from, F_OK) == 0)
            r = copy_file(options, from, to, error);
    }
    return r;
}

/* --- a new epoch --- */

struct begun {
    uint64_t epoch;
    uint64_t first_job; /* 0: an earlier program has written it */
};

/* The last epoch that was begun here, in a file of its own: the database may be damaged, which is
 * why it is replaced, or set aside by a restore that was broken off. Epoch 0: none. */
static struct begun read_epoch(const struct scheduler_options *options)
{
    _cleanup_fclose_ FILE *file = NULL;
    char path[STATE_PATH_MAX];
    struct begun begun = { 0 };

    state_path(options, EPOCH_FILE, path);
    file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%" SCNu64 " %" SCNu64, &begun.epoch, &begun.first_job) < 1)
        return (struct begun){ 0 };
    return begun;
}

/* On disk before a number of it can be given. */
static int write_epoch(const struct scheduler_options *options, const struct begun *begun,
                       struct edl_error *error)
{
    char path[STATE_PATH_MAX], line[48];

    state_path(options, EPOCH_FILE, path);
    (void)snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 "\n", begun->epoch, begun->first_job);
    return write_own(options, path, line, error);
}

/* What the backup and the former database know together; the cluster is the backup's. */
static int next_epoch(const struct scheduler_options *options, struct store *store,
                      const struct cluster *cluster, const struct epoch_known *former,
                      uint64_t now_us, struct begun *ret, struct edl_error *error)
{
    struct begun last = read_epoch(options);
    struct epoch_known known;
    int r = store_known(store, &known, error);

    if (r < 0)
        return r;
    known.next_job = MAX_OF(MAX_OF(known.next_job, cluster_next_job(cluster)),
                            MAX_OF(former->next_job, last.first_job));
    known.known_until_us = MAX_OF(known.known_until_us, former->known_until_us);
    ret->epoch = MAX_OF(MAX_OF(last.epoch, store_epoch(store)) + 1, now_us / USEC_PER_SEC);
    ret->first_job = epoch_first_job(&known, now_us);
    return 0;
}

static int begin_epoch(const struct scheduler_options *options, struct store *store,
                       struct cluster *cluster, const struct epoch_known *former,
                       struct restored *ret, struct edl_error *error)
{
    static struct cluster_clock clock; /* clock_instant reads it from now on */
    struct turn_records records = { 0 };
    struct epoch_numbers numbers;
    struct instant now;
    struct begun begun;
    int r = cluster_clock_restore(&clock, store, error);

    if (r < 0)
        return r;
    now = clock_instant();
    r = store_load(store, cluster, now, error);
    if (r < 0)
        return r;
    r = next_epoch(options, store, cluster, former, now.wall_us, &begun, error);
    if (r == 0)
        r = write_epoch(options, &begun, error);
    if (r == 0)
        r = store_begin_epoch(store, begun.epoch, begun.first_job, now.wall_us, error);
    if (r < 0)
        return r;
    cluster_restored(cluster, now);
    needed_archives_add(&ret->lacks, cluster);
    needed_archives_in_folder(&ret->lacks, options);
    (void)store_epoch_numbers(store, &numbers);
    cluster_begin_epoch(cluster, &numbers, now);
    /* nobody knows the orders of nodes since the backup was made */
    cluster_leave(cluster, MAX_OF(options->away_us[0], options->away_us[1]));
    r = cluster_check(cluster, error);
    if (r < 0) {
        edl_error_prefix(error, "the stored state contradicts itself: ");
        return r;
    }
    records.effects = cluster_effects(cluster, &records.n_effects);
    ret->jobs = HASH_CNT(hh, cluster_jobs(cluster)) + store_archived_total(store);
    ret->nodes = HASH_COUNT(cluster_nodes(cluster));
    ret->first_job = numbers.first_job;
    cluster_clock_seal(&clock, true, &records);
    return store_commit(store, &records, error);
}

/* --- the mark of a restore that is being done --- */

/* It holds the name that the former database gets. */
static int set_mark(const struct scheduler_options *options, const char *aside,
                    struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    return write_own(options, path, strrchr(aside, '/') + 1, error);
}

/* Where the restore that was broken off has set the former database aside; "": nowhere. */
static int read_mark(const struct scheduler_options *options, char *ret, struct edl_error *error)
{
    _cleanup_free_ char *name = NULL;
    char path[STATE_PATH_MAX];
    int r;

    ret[0] = '\0';
    state_path(options, MARK, path);
    if (access(path, F_OK) == -1)
        return 0;
    r = whole_file_read(path, false, &name, error);
    if (r < 0)
        return r;
    if (name[0] == '\0' || strlen(name) > NAME_MAX)
        return 0;
    state_path(options, name, ret);
    if (access(ret, F_OK) == -1)
        ret[0] = '\0'; /* it was not moved */
    return 0;
}

static int clear_mark(const struct scheduler_options *options, struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    if (unlink(path) == -1)
        return edl_error_errno(error, -errno, "removing %s", path);
    return name_sync(path, error);
}

/* On disk before the next one begins: a restore that goes on after a loss of power finds them done
 * in their order, a log never without its database or beside another. */
static int move(const char *from, const char *to, struct edl_error *error)
{
    if (rename(from, to) == 0)
        return name_sync(to, error);
    return errno == ENOENT ? 0 : edl_error_errno(error, -errno, "moving %s to %s", from, to);
}

/* --- rights revoked since the backup --- */

/* The lines of its kind with one line more. */
static void note_revoked(enum revoked_kind kind, const char *what, void *userdata)
{
    struct restored *restored = userdata;
    const char *before = restored->revoked[kind] != NULL ? restored->revoked[kind] : "";
    size_t size = strlen(before) + strlen(what) + sizeof "  \n";
    char *lines = xcalloc(size, 1);

    (void)snprintf(lines, size, "%s  %s\n", before, what);
    free(restored->revoked[kind]);
    restored->revoked[kind] = lines;
    restored->n_revoked[kind]++;
}

static void clear_revoked(struct restored *restored)
{
    for (size_t i = 0; i < ELEMENTS(restored->revoked); i++) {
        free(restored->revoked[i]);
        restored->revoked[i] = NULL;
        restored->n_revoked[i] = 0;
    }
}

void restored_clear(struct restored *restored)
{
    needed_archives_done(&restored->lacks);
    clear_revoked(restored);
}

/* A restore that was broken off may have set the former database aside already; its mark says
 * where. Its log belongs to it: a file that was not moved yet is moved now. "" in ret: there is
 * none.
 */
static int find_former(const struct scheduler_options *options, char *ret, struct edl_error *error)
{
    char path[STATE_PATH_MAX], to[STATE_PATH_MAX + 8];
    int r;

    path_of(options, "edl.db", "", ret);
    if (access(ret, F_OK) == 0)
        return 0;
    r = read_mark(options, ret, error);
    if (r < 0 || ret[0] == '\0')
        return r;
    for (size_t i = 1; r == 0 && i < ELEMENTS(suffixes); i++) {
        path_of(options, "edl.db", suffixes[i], path);
        (void)snprintf(to, sizeof to, "%s%s", ret, suffixes[i]);
        r = move(path, to, error);
    }
    return r;
}

/* That nobody knows what was revoked is no reason to have no scheduler: people are told. */
static int revoke_since(const struct scheduler_options *options, const char *copy,
                        const char *known_former, struct restored *ret,
                        struct epoch_known *ret_known, struct edl_error *error)
{
    char former[STATE_PATH_MAX];
    int r = 0;

    if (known_former != NULL)
        (void)snprintf(former, sizeof former, "%s", known_former);
    else
        r = find_former(options, former, error);
    if (r < 0)
        return r;
    if (former[0] == '\0') {
        (void)edl_error_set(&ret->unknown, -ENOENT, "no former database is known");
        return 0;
    }
    if (store_revoke(copy, former, clock_instant().wall_us, note_revoked, ret, ret_known,
                     &ret->unknown) < 0) {
        edl_error_prefix(&ret->unknown, "the former database: ");
        clear_revoked(ret);
    }
    return 0;
}

/* The copy is of the newest schema from here on. */
static int migrate_copy(const char *path, struct edl_error *error)
{
    struct store *store;
    int r = store_check_file(path, error);

    if (r == 0)
        r = store_open(path, &store, error);
    if (r == 0)
        (void)store_free(store);
    return r;
}

/* The copy becomes a database of the newest schema and a new epoch, in one closed file. */
int restore_prepare_copy(const struct scheduler_options *options, const char *known_former,
                         struct restored *ret, struct edl_error *error)
{
    const struct cluster_config config = { .policy = options->policy,
                                           .max_load_permille = options->max_load_permille,
                                           .first_come = options->first_come,
                                           .lease_us = options->lease_us };
    char path[STATE_PATH_MAX], log[STATE_PATH_MAX];
    struct epoch_known former = { 0 };
    struct cluster *cluster;
    struct store *store;
    int r;

    path_of(options, COPY, "", path);
    path_of(options, COPY, "-wal", log);
    r = migrate_copy(path, error);
    if (r == 0)
        r = revoke_since(options, path, known_former, ret, &former, error);
    if (r == 0)
        r = store_open(path, &store, error);
    if (r < 0)
        return r;
    cluster = cluster_new(&config);
    r = begin_epoch(options, store, cluster, &former, ret, error);
    (void)cluster_free(cluster);
    (void)store_free(store);
    if (r == 0 && access(log, F_OK) == 0) /* it could not be brought into the file */
        r = edl_error_set(error, -EIO, "the copy %s cannot be completed", path);
    return r;
}

/* --- in place --- */

void restore_name_aside(const struct scheduler_options *options, time_t when, char *ret)
{
    char stamp[40] = "", name[56];
    struct tm parts;

    (void)strftime(stamp, sizeof stamp, "edl.db.before-%Y%m%dT%H%M%SZ", gmtime_r(&when, &parts));
    (void)snprintf(name, sizeof name, "%s", stamp);
    state_path(options, name, ret);
    for (unsigned i = 1; access(ret, F_OK) == 0; i++) {
        (void)snprintf(name, sizeof name, "%s.%u", stamp, i);
        state_path(options, name, ret);
    }
}

/* The log of the old database must never meet the new one: hence the mark around it all. */
static int swap(const struct scheduler_options *options, struct restored *ret,
                struct edl_error *error)
{
    char path[STATE_PATH_MAX], copy[STATE_PATH_MAX], aside[STATE_PATH_MAX];
    int r;

    path_of(options, "edl.db", "", path);
    r = access(path, F_OK) == 0 ? 0 : read_mark(options, ret->aside, error);
    if (r < 0)
        return r;
    (void)snprintf(aside, sizeof aside, "%s", ret->aside); /* of the restore that was broken off */
    if (aside[0] == '\0')
        restore_name_aside(options, time(NULL), aside);
    if (access(path, F_OK) == 0)
        (void)snprintf(ret->aside, sizeof ret->aside, "%s", aside);
    r = set_mark(options, aside, error);
    for (size_t i = 0; r == 0 && i < ELEMENTS(suffixes); i++) {
        char to[STATE_PATH_MAX + 8];

        path_of(options, "edl.db", suffixes[i], path);
        (void)snprintf(to, sizeof to, "%s%s", aside, suffixes[i]);
        r = move(path, to, error);
    }
    path_of(options, "edl.db", "", path);
    path_of(options, COPY, "", copy);
    if (r == 0)
        r = move(copy, path, error);
    return r == 0 ? clear_mark(options, error) : r;
}

int restore_backup(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error)
{
    const char *former = options->former[0] != '\0' ? options->former : NULL;
    _cleanup_close_ int lock = state_lock(options, error);
    int r;

    if (lock < 0)
        return lock;
    if (options->store[0] != '\0')
        return restore_shared(options, ret, error);
    r = restore_make_copy(options, error);
    if (r == 0)
        r = restore_prepare_copy(options, former, ret, error);
    if (r < 0) {
        restore_remove_copy(options);
        return r;
    }
    r = swap(options, ret, error);
    return r;
}

int restore_unfinished(const struct scheduler_options *options, struct edl_error *error)
{
    char path[STATE_PATH_MAX];

    state_path(options, MARK, path);
    if (access(path, F_OK) == -1)
        return 0;
    (void)edl_error_set(error, -EINVAL, "a restore of %s was broken off", options->state_dir);
    return edl_error_remedy(error, "do it again: edl admin restore FILE --state-dir %s",
                            options->state_dir);
}

int restore_check(const struct scheduler_options *options, struct edl_error *error)
{
    int r = restore_unfinished(options, error);

    return r == 0 ? migrate_check(options, error) : r;
}
