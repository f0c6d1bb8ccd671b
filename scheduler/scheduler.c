/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - the root object: state directory, restore, listening, the loop
 *
 * Built in order, freed in reverse. Nothing is answered before the stored state is back in the
 * core. */
#include "scheduler/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "scheduler/api.h"
#include "scheduler/auth.h"
#include "scheduler/dispatch.h"
#include "scheduler/log_hub.h"
#include "scheduler/peer.h"
#include "scheduler/store/store.h"
#include "scheduler/users.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define LEASE_MARGIN_MIN_US USEC_PER_SEC
#define LEASE_MARGIN_MAX_US (10 * USEC_PER_SEC)

/* --- state directory --- */

static void state_path(const struct scheduler *scheduler, const char *name, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s/%s", scheduler->options.state_dir, name);
}

static int make_state_dir(const char *path, struct edl_error *error)
{
    struct stat st;

    if (mkdir(path, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making the state directory %s", path);
    if (stat(path, &st) == -1)
        return edl_error_errno(error, -errno, "the state directory %s", path);
    if (!S_ISDIR(st.st_mode))
        return edl_error_set(error, -ENOTDIR, "--state-dir %s is not a directory", path);
    if (st.st_uid != geteuid())
        return edl_error_set(error, -EPERM, "--state-dir %s belongs to somebody else", path);
    if ((st.st_mode & 077) != 0) {
        (void)edl_error_set(error, -EPERM, "--state-dir %s is open to others, and it holds tokens",
                            path);
        return edl_error_remedy(error, "chmod 700 %s", path);
    }
    return 0;
}

static int lock_state_dir(struct scheduler *scheduler, struct edl_error *error)
{
    char path[4096];

    state_path(scheduler, "lock", path, sizeof path);
    scheduler->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (scheduler->lock_fd == -1)
        return edl_error_errno(error, -errno, "opening %s", path);
    if (flock(scheduler->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return edl_error_errno(error, -errno, "locking %s", path);
    (void)edl_error_set(error, -EEXIST, "another edl-scheduler uses the state directory %s",
                        scheduler->options.state_dir);
    return edl_error_remedy(error, "stop it, or give another --state-dir");
}

static int read_tokens(struct scheduler *scheduler, struct edl_error *error)
{
    char path[4096];
    int r;

    state_path(scheduler, "admin-token", path, sizeof path);
    r = auth_token_file(path, scheduler->admin_token, error);
    if (r < 0)
        return r;
    state_path(scheduler, "join-token", path, sizeof path);
    return auth_token_file(path, scheduler->join_token, error);
}

/* --- restore --- */

static uint64_t lease_margin_us(uint64_t lease_us)
{
    return MIN_OF(MAX_OF(lease_us / 4, LEASE_MARGIN_MIN_US), LEASE_MARGIN_MAX_US);
}

static int restore(struct scheduler *scheduler, struct edl_error *error)
{
    const struct cluster_config config = {
        .policy = scheduler->options.policy,
        .max_load_permille = scheduler->options.max_load_permille,
        .lease_us = scheduler->options.lease_us,
        .lease_margin_us = lease_margin_us(scheduler->options.lease_us),
        .foreign_hold_us = FOREIGN_HOLD_US,
    };
    struct instant now = clock_instant();
    uint64_t random;
    char path[4096];
    int r;

    state_path(scheduler, "edl.db", path, sizeof path);
    r = store_open(path, &scheduler->store, error);
    if (r < 0)
        return r;
    scheduler->cluster = cluster_new(&config);
    r = store_load(scheduler->store, scheduler->cluster, now, error);
    if (r == 0)
        r = users_load(scheduler->store, &scheduler->users, error);
    if (r == 0)
        r = join_tokens_load(scheduler, error);
    if (r == 0)
        r = auth_random_u64(&random, error);
    if (r < 0)
        return r;
    /* 30 random bits above 32 that count: versions of two runs do not meet, and fit a JSON integer.
     */
    scheduler->orders_base = (random >> 34) << 32;
    for (struct node *node = scheduler->cluster->nodes; node != NULL; node = node->hh.next)
        node->orders_version = scheduler->orders_base + (++scheduler->n_joins << 20);
    cluster_restored(scheduler->cluster, now);
    r = cluster_check(scheduler->cluster, error);
    if (r < 0) {
        edl_error_prefix(error, "the stored state contradicts itself: ");
        return r;
    }
    return log_hub_new(scheduler->store, now.wall_us, &scheduler->logs, error);
}

/* --- listening --- */

/* "127.0.0.1:7010" as ever, or a whole URL where that would not do. */
static int write_port_file(const struct scheduler *scheduler, struct edl_error *error)
{
    const char *path = scheduler->options.port_file;
    const struct listen_spec *first = &scheduler->listeners.specs[0];
    char url[LISTEN_URL_MAX];
    char temporary[4200];
    _cleanup_fclose_ FILE *file = NULL;

    listen_spec_url(first, NULL, url, sizeof url);
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    file = fopen(temporary, "we");
    if (file == NULL)
        return edl_error_errno(error, -errno, "writing %s", temporary);
    errno = EIO; /* for a short write */
    if (fprintf(file, "%s\n", first->is_unix || first->tls ? url : url + strlen("http://")) < 0 ||
        fflush(file) != 0 || rename(temporary, path) == -1)
        return edl_error_errno(error, -errno, "writing %s", path);
    return 0;
}

/* --- life --- */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    log_info("stopping (%s)", info->ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
    return sd_event_exit(scheduler->event, 0);
}

static int add_signals(struct scheduler *scheduler, struct edl_error *error)
{
    static const int signals[] = { SIGTERM, SIGINT };
    sigset_t mask;
    int r = 0;

    (void)sigemptyset(&mask);
    for (size_t i = 0; i < ELEMENTS(signals); i++)
        (void)sigaddset(&mask, signals[i]);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) == -1)
        return edl_error_errno(error, -errno, "blocking signals");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ,
                 SIG_IGN); /* a file size limit is then an error of the commit, not a crash */
    for (size_t i = 0; r >= 0 && i < ELEMENTS(signals); i++)
        r = sd_event_add_signal(scheduler->event, NULL, signals[i], on_signal, scheduler);
    return r < 0 ? edl_error_errno(error, r, "signals") : 0;
}

static int init(struct scheduler *scheduler, struct edl_error *error)
{
    int r = make_state_dir(scheduler->options.state_dir, error);

    if (r == 0)
        r = lock_state_dir(scheduler, error);
    if (r == 0)
        r = read_tokens(scheduler, error);
    if (r == 0)
        r = restore(scheduler, error);
    if (r < 0)
        return r;
    r = sd_event_new(&scheduler->event);
    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    r = add_signals(scheduler, error);
    if (r == 0)
        r = turn_init(scheduler, error);
    if (r == 0)
        r = metrics_init(scheduler, error);
    if (r == 0)
        r = denials_init(&scheduler->denials, scheduler->event, error);
    if (r == 0)
        r = listeners_open(scheduler, error);
    if (r == 0)
        r = write_port_file(scheduler, error);
    if (r == 0)
        scheduler_touch(
            scheduler); /* what the restart brought about is stored, and the timer armed */
    return r;
}

int scheduler_new(const struct scheduler_options *options, struct scheduler **ret,
                  struct edl_error *error)
{
    struct scheduler *scheduler = xcalloc(1, sizeof *scheduler);
    int r;

    scheduler->options = *options;
    scheduler->lock_fd = -1;
    r = init(scheduler, error);
    if (r < 0) {
        (void)scheduler_free(scheduler);
        return r;
    }
    *ret = scheduler;
    return 0;
}

struct scheduler *scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return NULL;
    listeners_close(&scheduler->listeners); /* answers 503 to what still waits */
    turn_done(scheduler);
    dispatch_done(scheduler);
    waiters_done(&scheduler->waiters);
    join_tokens_done(&scheduler->join_tokens);
    denials_done(&scheduler->denials);
    metrics_done(&scheduler->metrics);
    (void)sd_event_source_disable_unref(scheduler->hub_timer);
    (void)sd_event_source_disable_unref(scheduler->end);
    (void)sd_event_source_disable_unref(scheduler->timer);
    (void)sd_event_source_disable_unref(scheduler->turn);
    (void)sd_event_unref(scheduler->event);
    (void)log_hub_free(scheduler->logs);
    (void)users_free(scheduler->users);
    scheduler->peers = peers_free(scheduler->peers);
    (void)cluster_free(scheduler->cluster);
    (void)store_free(scheduler->store);
    (void)safe_close(scheduler->lock_fd);
    free(scheduler);
    return NULL;
}

int scheduler_run(struct scheduler *scheduler)
{
    int r;

    listeners_log(&scheduler->listeners);
    log_info("%u nodes, %u jobs known; policy %s", HASH_COUNT(scheduler->cluster->nodes),
             HASH_COUNT(scheduler->cluster->jobs), scheduler->options.policy->name);
    (void)sd_notify(0, "READY=1");
    r = sd_event_loop(scheduler->event);
    (void)sd_notify(0, "STOPPING=1");
    if (!scheduler->failed && scheduler->turn_wanted)
        (void)scheduler_turn(scheduler); /* what came in with the signal is not lost */
    return scheduler->failed || r != 0 ? -EIO : 0;
}
