/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the state directory: its owner, its files, and the state that is loaded from it
 *
 * On a disk that takes nothing everything that only has to be read is still read: the scheduler
 * comes up and tells what is wrong (degraded.h). */
#include "scheduler/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/users.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/restore_backup.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/file_system.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

/* A job that is over stays in the core for a moment: agents tell the ends of its logs, people look
 * at it, and neither shall cost a look into the database. */
#define ENDED_IN_CORE_MAX 1000
#define ENDED_IN_CORE_US (60 * USEC_PER_SEC)
/* beyond them, that jobs which have not run yet were to run after */
#define NAMED_IN_CORE_MAX 10000
#define LEASE_MARGIN_MIN_US USEC_PER_SEC
#define LEASE_MARGIN_MAX_US (10 * USEC_PER_SEC)

void state_path(const struct scheduler_options *options, const char *name, char *ret)
{
    (void)snprintf(ret, STATE_PATH_MAX, "%s/%s", options->state_dir, name);
}

/* Root restores a backup for the account that the scheduler runs as (restore_backup.c). */
static bool may_use(const struct scheduler_options *options, const struct stat *dir)
{
    return dir->st_uid == geteuid() || (geteuid() == 0 && options->restore_file[0] != '\0');
}

static int make_dir(const struct scheduler_options *options, struct edl_error *error)
{
    const char *path = options->state_dir;
    bool made = mkdir(path, 0700) == 0;
    struct stat st;
    int r;

    if (!made && errno != EEXIST && errno != EROFS)
        return edl_error_errno(error, -errno, "making the state directory %s", path);
    r = name_sync(path, made ? error : NULL); /* its maker need not have done that */
    if (r < 0 && made)
        return r;
    if (stat(path, &st) == -1)
        return edl_error_errno(error, -errno, "the state directory %s", path);
    if (!S_ISDIR(st.st_mode))
        return edl_error_set(error, -ENOTDIR, "--state-dir %s is not a directory", path);
    if (!may_use(options, &st)) {
        (void)edl_error_set(error, -EPERM, "--state-dir %s belongs to somebody else", path);
        return edl_error_remedy(error, "do it as its owner: runuser -u NAME -- ... (`ls -ld %s`)",
                                path);
    }
    if ((st.st_mode & 077) != 0) {
        (void)edl_error_set(error, -EPERM, "--state-dir %s is open to others, and it holds tokens",
                            path);
        return edl_error_remedy(error, "chmod 700 %s", path);
    }
    return 0;
}

static int check_file_system(const char *folder, struct edl_error *error)
{
    struct file_system disk;
    int r = file_system_look(folder, &disk);

    if (r < 0)
        return edl_error_errno(error, r, "the file system of %s", folder);
    if (disk.network == NULL)
        return 0;
    (void)edl_error_set(error, -EINVAL,
                        "--state-dir %s is on %s: no database is safe on a network file system",
                        folder, disk.network);
    return edl_error_remedy(error, "give a --state-dir on a local disk, such as"
                                   " /var/lib/edl/scheduler");
}

/* The lock is on the directory itself: it needs no room and no permission to write. */
int state_lock(const struct scheduler_options *options, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    int r = make_dir(options, error);

    if (r == 0)
        r = check_file_system(options->state_dir, error);
    if (r < 0)
        return r;
    fd = open(options->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return edl_error_errno(error, -errno, "opening %s", options->state_dir);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return TAKE_FD(fd);
    if (errno != EWOULDBLOCK)
        return edl_error_errno(error, -errno, "locking %s", options->state_dir);
    (void)edl_error_set(error, -EEXIST, "another edl-scheduler uses the state directory %s",
                        options->state_dir);
    return edl_error_remedy(error, "stop it, or give another --state-dir; for the end of `edl admin"
                                   " migrate` or `restore` wait");
}

static int read_tokens(struct scheduler *scheduler, struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r;

    state_path(&scheduler->options, "admin-token", path);
    r = auth_token_file(path, scheduler->admin_token, error);
    if (r < 0)
        return r;
    state_path(&scheduler->options, "join-token", path);
    return auth_token_file(path, scheduler->join_token, error);
}

/* --- the stored state --- */

static uint64_t lease_margin_us(uint64_t lease_us)
{
    return MIN_OF(MAX_OF(lease_us / 4, LEASE_MARGIN_MIN_US), LEASE_MARGIN_MAX_US);
}

/* bound 0: there is none */
static uint64_t least_but_0(uint64_t most, uint64_t bound)
{
    return bound != 0 ? MIN_OF(most, bound) : most;
}

/* At most half of the kept ones: those of the core stay for every user, and the rest is shared. */
static uint64_t ended_in_core(const struct scheduler_options *options)
{
    uint64_t keep = options->keep_jobs;

    return keep == 0 ? ENDED_IN_CORE_MAX : MAX_OF(MIN_OF(ENDED_IN_CORE_MAX, keep / 2), 1);
}

static uint64_t ended_in_core_us(const struct scheduler_options *options)
{
    return least_but_0(ENDED_IN_CORE_US, options->keep_us);
}

static void tell_store(struct store *store, const struct scheduler_options *options)
{
    if (store == NULL)
        return;
    store_keep(store, &(struct store_history){ .events = options->keep_events,
                                               .jobs = options->keep_jobs,
                                               .job_bytes = options->keep_jobs_bytes,
                                               .us = options->keep_us,
                                               .log_bytes = options->keep_logs_bytes,
                                               .audit = options->keep_audit,
                                               .audit_us = options->keep_audit_us });
}

void state_tell_kept(struct scheduler *scheduler)
{
    tell_store(scheduler->store, &scheduler->options);
    cluster_keep_ended(scheduler->cluster, ended_in_core(&scheduler->options),
                       ended_in_core_us(&scheduler->options));
}

static int load_cluster(struct scheduler *scheduler, struct cluster *cluster, struct instant now,
                        struct edl_error *error)
{
    struct store *store = store_near(scheduler->store);
    int r = store != NULL ? store_load(store, cluster, now, error) : 0;

    if (r < 0)
        return r;
    for (struct node *node = cluster_nodes(cluster); node != NULL; node = node->hh.next)
        node->orders_version = scheduler->orders_base + (++scheduler->n_joins << 20);
    cluster_restored(cluster, now);
    r = cluster_check(cluster, error);
    if (r < 0)
        edl_error_prefix(error, "the stored state contradicts itself: ");
    return r;
}

/* The state that is read back, as a whole: it takes the place of the former one only when all of it
 * is good.
 */
struct loaded {
    struct users *users;
    struct group_table *groups;
    struct cluster *cluster;
    struct log_hub *logs;
};

static void loaded_done(struct loaded *loaded)
{
    (void)cluster_free(loaded->cluster);
    (void)group_table_free(loaded->groups); /* the cluster borrowed it */
    (void)log_hub_free(loaded->logs);
    (void)users_free(loaded->users);
}

/* Groups first: whose share a job counts to is known when it is restored. */
static int load_all(struct scheduler *scheduler, struct instant now, struct loaded *ret,
                    struct edl_error *error)
{
    struct cluster_config config = {
        .policy = scheduler->options.policy,
        .max_load_permille = scheduler->options.max_load_permille,
        .lease_us = scheduler->options.lease_us,
        .lease_margin_us = lease_margin_us(scheduler->options.lease_us),
        .follows_leader = scheduler->options.store[0] != '\0',
        .first_session = scheduler->orders_base, /* random, of this run */
        .foreign_hold_us = FOREIGN_HOLD_US,
        .parking_us = scheduler->options.parking_us,
        .keep_ended_jobs = ended_in_core(&scheduler->options),
        .keep_ended_us = ended_in_core_us(&scheduler->options),
        .keep_named_jobs = NAMED_IN_CORE_MAX,
        .first_come = scheduler->options.first_come,
    };
    struct store *store = store_near(scheduler->store);
    int r = 0;

    if (store == NULL)
        ret->users = users_new();
    else
        r = users_load(store, &ret->users, error);
    if (r < 0)
        return r;
    ret->groups = groups_table(ret->users);
    config.groups = ret->groups;
    ret->cluster = cluster_new(&config);
    r = load_cluster(scheduler, ret->cluster, now, error);
    if (r == 0)
        r = log_hub_new(store, now.wall_us, &ret->logs, error);
    if (r == 0)
        log_hub_set_store(ret->logs, scheduler->store);
    return r;
}

int state_load(struct scheduler *scheduler, struct edl_error *error)
{
    struct join_tokens before = scheduler->join_tokens;
    struct loaded old = { scheduler->users, scheduler->groups, scheduler->cluster,
                          scheduler->logs };
    struct loaded loaded = { 0 };
    int r;

    tell_store(scheduler->store, &scheduler->options);
    r = load_all(scheduler, clock_instant(), &loaded, error);
    scheduler->join_tokens = (struct join_tokens){ 0 };
    if (r == 0)
        r = join_tokens_load(scheduler, error);
    if (r == 0 && store_is_far(scheduler->store))
        r = answered_keys_load(&scheduler->answered, store_near(scheduler->store), error);
    if (r < 0) {
        join_tokens_done(&scheduler->join_tokens);
        scheduler->join_tokens = before;
        loaded_done(&loaded);
        return r;
    }
    join_tokens_done(&before);
    loaded_done(&old);
    job_series_done(&scheduler->series); /* what is stored is read back when its job is heard of */
    scheduler->users = loaded.users;
    scheduler->groups = loaded.groups;
    scheduler->cluster = loaded.cluster;
    scheduler->logs = loaded.logs;
    return 0;
}

int state_new_run(struct scheduler *scheduler, struct edl_error *error)
{
    uint64_t random;
    int r = auth_random_u64(&random, error);

    /* 30 random bits above 32 that count: versions of two runs do not meet, and fit a JSON integer.
     */
    if (r == 0)
        scheduler->orders_base = (random >> 34) << 32;
    return r;
}

static int open_store(struct scheduler *scheduler, struct edl_error *ret_why,
                      struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r;

    state_path(&scheduler->options, "edl.db", path);
    r = store_open(path, &scheduler->store, error);
    if (r == 0 || !degraded_survives(r) || access(path, F_OK) == -1)
        return r;
    *ret_why = *error;
    r = store_open_read_only(path, &scheduler->store, error);
    if (r < 0)
        edl_error_prefix(error, "%.160s; and to read only: ", ret_why->text);
    return r;
}

/* Tests try with it what holds of a database that is far. */
static int delay_store(struct scheduler *scheduler, const char *delay_ms, struct edl_error *error)
{
    const struct far_config config = { .writer = scheduler->store,
                                       .delay_us = strtoull(delay_ms, NULL, 10) * USEC_PER_MSEC };
    int r = answered_keys_load(&scheduler->answered, scheduler->store, error);

    if (r == 0)
        r = store_far_new(scheduler->event, &config, &scheduler->store, error);
    if (r < 0)
        return r;
    store_on_stored(scheduler->store, scheduler_stored, scheduler);
    log_hub_set_store(scheduler->logs, scheduler->store);
    return 0;
}

int state_open(struct scheduler *scheduler, struct edl_error *ret_why, struct edl_error *error)
{
    const char *delay_ms = getenv("EDL_STORE_DELAY_MS");
    int r = state_lock(&scheduler->options, error);

    if (r < 0)
        return r;
    scheduler->lock_fd = r;
    r = restore_check(&scheduler->options, error);
    if (r == 0)
        r = read_tokens(scheduler, error);
    if (r == 0)
        r = state_new_run(scheduler, error);
    if (r == 0 && scheduler->options.store[0] != '\0') /* a standby: nothing is its own yet */
        return state_load(scheduler, error);
    if (r == 0)
        r = open_store(scheduler, ret_why, error);
    if (r == 0)
        r = cluster_clock_begin(&scheduler->clock, scheduler->store, error);
    if (r == 0)
        r = state_load(scheduler, error);
    return r == 0 && delay_ms != NULL ? delay_store(scheduler, delay_ms, error) : r;
}

/* The old one first: closing a file drops every lock of the process on it. */
int state_reopen(struct scheduler *scheduler, struct edl_error *error)
{
    struct edl_error why = { 0 };
    char path[STATE_PATH_MAX];
    int r;

    if (!store_is_read_only(scheduler->store))
        return 0;
    scheduler->store = store_free(scheduler->store);
    state_path(&scheduler->options, "edl.db", path);
    r = store_open(path, &scheduler->store, error);
    if (r < 0 && store_open_read_only(path, &scheduler->store, &why) < 0) {
        *error = why;
        return EDL_ECORRUPT;
    }
    log_hub_set_store(scheduler->logs, scheduler->store);
    return r;
}

/* --- where it listens --- */

static bool port_file_says(const struct scheduler *scheduler, const char *line)
{
    _cleanup_fclose_ FILE *file = fopen(scheduler->options.port_file, "re");
    char found[LISTEN_URL_MAX + 1] = "";

    return file != NULL && fgets(found, sizeof found, file) != NULL && streq(found, line);
}

/* "127.0.0.1:7010" as ever, or a whole URL where that would not do. */
int state_write_port_file(const struct scheduler *scheduler, struct edl_error *error)
{
    const char *path = scheduler->options.port_file;
    const struct listen_spec *first = &scheduler->listeners.specs[0];
    char temporary[STATE_PATH_MAX + 8], url[LISTEN_URL_MAX], line[LISTEN_URL_MAX + 1];
    _cleanup_fclose_ FILE *file = NULL;

    listen_spec_url(first, NULL, url, sizeof url);
    (void)snprintf(line, sizeof line, "%s\n",
                   first->is_unix || first->tls ? url : url + strlen("http://"));
    if (port_file_says(scheduler, line))
        return 0;
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    file = fopen(temporary, "we");
    if (file == NULL)
        return edl_error_errno(error, -errno, "writing %s", temporary);
    errno = EIO; /* for a short write */
    if (fputs(line, file) < 0 || fflush(file) != 0 || rename(temporary, path) == -1)
        return edl_error_errno(error, -errno, "writing %s", path);
    return 0;
}
