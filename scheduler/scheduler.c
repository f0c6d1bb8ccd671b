/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - the root object: its parts, listening, the loop
 *
 * Built in order, freed in reverse. Nothing is answered before the stored state is back in the
 * core. */
#include "scheduler/scheduler.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/users.h"
#include "scheduler/api/api.h"
#include "scheduler/api/backup.h"
#include "scheduler/api/forecast.h"
#include "scheduler/api/workspaces.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/account_numbers.h"
#include "scheduler/calls/peer.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/events/node_orders.h"
#include "scheduler/database_check.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/notices/notices.h"
#include "scheduler/reload.h"
#include "scheduler/state.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store.h"
#include "scheduler/workspaces/archive.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

static void warn_of_short_lease(const struct scheduler *scheduler)
{
    uint64_t least_us = cluster_least_lease_us(scheduler->cluster);

    if (scheduler->options.lease_us < least_us)
        log_warning("a lease of %.0f s is short for %u node%s, which all report four times in it: "
                    "lease: %.0fs in scheduler.conf is better",
                    (double)scheduler->options.lease_us / (double)USEC_PER_SEC,
                    HASH_COUNT(cluster_nodes(scheduler->cluster)),
                    PLURAL(HASH_COUNT(cluster_nodes(scheduler->cluster))),
                    (double)(least_us + USEC_PER_SEC - 1) / (double)USEC_PER_SEC);
}

void scheduler_tell_state(const struct scheduler *scheduler)
{
    log_info("known nodes: %u, jobs: %" PRIu64 "; policy %s",
             HASH_COUNT(cluster_nodes(scheduler->cluster)),
             HASH_COUNT(cluster_jobs(scheduler->cluster)) + store_archived_total(scheduler->store),
             scheduler->options.policy->name);
    warn_of_short_lease(scheduler);
}

void scheduler_begin(struct scheduler *scheduler)
{
    scheduler_touch(scheduler); /* the changes of the restart; and the timer is armed */
    dispatch_open(scheduler);
}

/* A disk that takes nothing is no reason to leave those who read alone, and to be started again and
 * again: it is told, and waited for. */
static int begin(struct scheduler *scheduler, struct edl_error *why, struct edl_error *error)
{
    int r = state_write_port_file(scheduler, error);

    if (r < 0 && !degraded_survives(r))
        return r;
    if (r < 0 && why->code == 0)
        *why = *error;
    if (why->code != 0)
        degraded_begin(scheduler, why);
    if (scheduler->leadership.role == ROLE_ALONE)
        scheduler_begin(scheduler);
    return leadership_begin(scheduler, error);
}

void scheduler_tell_groups(struct scheduler *scheduler)
{
    struct group_table *old = scheduler->groups;

    scheduler->groups = groups_table(scheduler->users);
    cluster_set_groups(scheduler->cluster, scheduler->groups);
    (void)group_table_free(old);
}

/* --- life --- */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    if (info->ssi_signo == SIGHUP) {
        scheduler_reload(scheduler);
        return 0;
    }
    log_info("stopping (%s)", info->ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
    (void)sd_notify(0, "STOPPING=1");
    leaving_begin(scheduler);
    return 0;
}

static int add_signals(struct scheduler *scheduler, struct edl_error *error)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
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

/* The orders that waited for it go out. */
static void on_account_known(const char *name, void *userdata)
{
    struct scheduler *scheduler = userdata;

    if (cluster_order_account(scheduler->cluster, name))
        scheduler_touch(scheduler);
}

/* The page is as good without pictures. */
static void read_library(struct scheduler *scheduler)
{
    struct edl_error error = { 0 };

    if (web_library_read(&scheduler->library, &error) < 0)
        log_info("the page shows figures without pictures: %s", error.text);
}

static int init(struct scheduler *scheduler, struct edl_error *error)
{
    struct edl_error why = { 0 };
    int r = sd_event_new(&scheduler->event);

    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    r = state_open(scheduler, &why, error);
    if (r < 0)
        return r;
    r = add_signals(scheduler, error);
    if (r == 0 && sd_event_set_watchdog(scheduler->event, 1) < 0) /* if one was asked for */
        r = edl_error_set(error, -EINVAL, "the watchdog of the service manager cannot be fed");
    if (r == 0)
        r = turn_init(scheduler, error);
    if (r == 0)
        r = degraded_init(scheduler, error);
    if (r == 0)
        r = metrics_init(scheduler, error);
    if (r == 0)
        r = dispatch_init(scheduler, error);
    if (r == 0)
        r = body_reads_init(scheduler, error);
    if (r == 0)
        r = askings_init(scheduler, error);
    if (r == 0)
        r = sessions_init(scheduler, error);
    if (r == 0)
        r = denials_init(&scheduler->denials, scheduler->event, error);
    if (r == 0)
        r = api_workspaces_init(scheduler, error);
    if (r == 0)
        r = datasets_init(scheduler, error);
    if (r == 0)
        read_library(scheduler);
    if (r == 0)
        r = history_reads_init(scheduler, error);
    if (r == 0)
        r = database_check_init(scheduler, error);
    if (r == 0)
        r = peers_new(scheduler->event, PEER_WAIT_US, &scheduler->peers, error);
    if (r == 0)
        r = account_numbers_new(scheduler->event, on_account_known, scheduler,
                                &scheduler->account_numbers, error);
    if (r == 0)
        r = notices_new(scheduler, &scheduler->notices, error);
    if (r == 0)
        r = notices_load(scheduler, error);
    if (r == 0)
        r = listeners_open(scheduler, error);
    if (r == 0)
        leadership_init(scheduler);
    if (r == 0)
        r = renewal_init(scheduler, error);
    if (r == 0)
        r = pulse_init(scheduler, error);
    return r == 0 ? begin(scheduler, &why, error) : r;
}

int scheduler_new(const struct scheduler_options *options, struct scheduler **ret,
                  struct edl_error *error)
{
    struct scheduler *scheduler = xcalloc(1, sizeof *scheduler);
    int r;

    scheduler->options = *options;
    scheduler->tokens =
        (struct call_rate){ .at_once = TOKEN_CALLS_AT_ONCE, .period_us = TOKEN_CALL_PERIOD_US };
    scheduler->lock_fd = -1;
    scheduler->workspaces.dir_fd = -1;
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
    sessions_stop(scheduler);
    leadership_done(scheduler);
    listeners_close(&scheduler->listeners); /* answers 503 to requests that still wait */
    api_workspaces_done(scheduler);
    datasets_done(scheduler);
    history_reads_done(scheduler);
    web_library_done(&scheduler->library);
    database_check_done(scheduler);
    file_reads_done(scheduler);
    sessions_done(scheduler);
    scheduler->notices = notices_free(scheduler->notices);
    backup_done(scheduler);
    turn_done(scheduler);
    api_forecast_done(scheduler);
    body_reads_done(scheduler);
    dispatch_done(scheduler);
    waiters_done(&scheduler->waiters);
    join_tokens_done(&scheduler->join_tokens);
    denials_done(&scheduler->denials);
    call_rate_done(&scheduler->tokens);
    metrics_done(&scheduler->metrics);
    machines_done(&scheduler->machines);
    progresses_done(&scheduler->progresses);
    job_series_done(&scheduler->series);
    degraded_done(scheduler);
    pulse_done(&scheduler->pulse);
    leaving_done(&scheduler->leaving);
    (void)sd_event_source_disable_unref(scheduler->hub_timer);
    (void)sd_event_source_disable_unref(scheduler->end);
    (void)sd_event_source_disable_unref(scheduler->timer);
    (void)sd_event_source_disable_unref(scheduler->turn);
    (void)sd_event_source_disable_unref(scheduler->late);
    (void)sd_event_source_disable_unref(scheduler->drain);
    (void)sd_event_unref(scheduler->event);
    (void)log_hub_free(scheduler->logs);
    (void)users_free(scheduler->users);
    scheduler->peers = peers_free(scheduler->peers);
    scheduler->account_numbers = account_numbers_free(scheduler->account_numbers);
    archive_done(scheduler);
    (void)cluster_free(scheduler->cluster);
    (void)group_table_free(scheduler->groups);
    clock_keep(NULL);
    askings_done(scheduler);
    answered_keys_done(&scheduler->answered);
    (void)store_free(scheduler->store);
    (void)safe_close(scheduler->lock_fd);
    free(scheduler);
    return NULL;
}

int scheduler_run(struct scheduler *scheduler)
{
    size_t n_tails;
    int r;

    listeners_log(&scheduler->listeners);
    if (scheduler->leadership.role == ROLE_ALONE) {
        scheduler_tell_state(scheduler);
        (void)sd_notify(0, "READY=1");
    }
    r = sd_event_loop(scheduler->event);
    if (r < 0)
        log_error("the event loop ended: %s", strerror(-r));
    (void)sd_notify(0, "STOPPING=1");
    store_wait(scheduler->store);
    (void)log_hub_pending(scheduler->logs, &n_tails);
    if (!scheduler->failed && !scheduler->leaving.told && scheduler->store != NULL &&
        (scheduler->turn_wanted || n_tails > 0))
        (void)scheduler_turn(scheduler); /* requests that came in with the signal are not lost */
    store_wait(scheduler->store);
    return scheduler->failed || r != 0 ? -EIO : 0;
}
