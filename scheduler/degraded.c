/* SPDX-License-Identifier: Apache-2.0 */
/* degraded.c - read-only mode: nothing can be stored
 *
 *   normal --(a commit failed; loaded again)--> read-only --(a probe was stored; loaded again)-->
 * normal
 *
 * The cluster stands still: no timer of it fires, nothing is planned, so memory cannot get ahead of
 * the disk. An agent that reports is answered with a lease: counted from when it asked, it ends
 * before the full one that every node is given when the state is loaded again. Nothing is granted
 * before that, so the promise of one incarnation holds.
 *
 * A disk that is full has a little room now and then: it has to have ROOM_MIN_BYTES, and the
 * interval goes back to its first length only when a turn was committed. */
#include "scheduler/degraded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <systemd/sd-daemon.h>

#include "scheduler/api/forecast.h"
#include "scheduler/accounts/auth.h"
#include "scheduler/calls/event_stream.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/leadership/copy_wait.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "shared/agent_wire.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define DELAY_FIRST_US (250 * USEC_PER_MSEC)
#define DELAY_MOST_US (60 * USEC_PER_SEC)
#define ROOM_MIN_BYTES (UINT64_C(1) << 20) /* a few hundred turns */
#define RETRY_AFTER_S "5"

static const struct {
    int code;
    const char *remedy; /* the folder is its argument */
} remedies[] = {
    { -ENOSPC, "make room on the disk of %s" },
    { -EDQUOT, "make room on the disk of %s" },
    { -EROFS, "mount the file system of %s read-write" },
    { -EFBIG, "raise the file size limit of the scheduler (ulimit -f), which fills %s" },
    { -EIO, "see dmesg: the disk of %s has errors" },
    { -EACCES, "let the scheduler write in %s" },
    { -EAGAIN, "end what keeps the database locked: fuser %s/edl.db" },
    { -ENOMEM, "leave the scheduler more memory" },
};

bool degraded_survives(int code)
{
    for (size_t i = 0; i < ELEMENTS(remedies); i++)
        if (remedies[i].code == code)
            return true;
    return false;
}

static uint64_t room_bytes(const struct scheduler *scheduler)
{
    struct statvfs disk;

    if (statvfs(scheduler->options.state_dir, &disk) == -1)
        return 0;
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

static int database_is_full(const struct scheduler *scheduler, struct edl_error *error)
{
    const struct edl_error *why = &scheduler->degraded.why; /* it names the server */

    (void)edl_error_set(error, -EAGAIN, "nothing can be stored, as a disk is full: %.300s",
                        why->text);
    return edl_error_remedy(error, "%.200s; the scheduler then goes on by itself",
                            why->remedy[0] != '\0' ? why->remedy : "make room there");
}

int degraded_error(const struct scheduler *scheduler, struct edl_error *error)
{
    const char *dir = scheduler->options.state_dir;

    if ((scheduler->degraded.away || !scheduler->degraded.on) &&
        copy_wait_error(&scheduler->leadership.facts, error) < 0)
        return error->code;
    if (scheduler->degraded.on && scheduler->leadership.role != ROLE_ALONE &&
        scheduler->degraded.why.code == -ENOSPC)
        return database_is_full(scheduler, error);
    if (scheduler->degraded.away) {
        (void)edl_error_set(error, -EAGAIN, "this scheduler does not lead: %.200s",
                            scheduler->degraded.why.text);
        (void)edl_error_remedy(error, "%.200s; it goes on by itself",
                               scheduler->degraded.why.remedy[0] != '\0'
                                   ? scheduler->degraded.why.remedy
                                   : "ask again in a moment");
        return -EAGAIN;
    }
    if (!scheduler->degraded.on) {
        (void)edl_error_set(error, -EAGAIN, "scheduler %s waits for its database",
                            scheduler->leadership.self.name);
        return edl_error_remedy(error, "ask again in a moment");
    }
    (void)edl_error_set(error, -ENOSPC,
                        "nothing can be stored in %.120s (%" PRIu64 " bytes free): %.160s", dir,
                        room_bytes(scheduler), scheduler->degraded.why.text);
    for (size_t i = 0; i < ELEMENTS(remedies); i++)
        if (remedies[i].code == scheduler->degraded.why.code) {
            char remedy[160];

            (void)snprintf(remedy, sizeof remedy, remedies[i].remedy, dir);
            (void)edl_error_remedy(error, "%s; the scheduler then goes on by itself", remedy);
        }
    return -ENOSPC;
}

int degraded_nameless(const struct scheduler *scheduler, struct edl_error *error)
{
    const struct degraded *degraded = &scheduler->degraded;

    if (scheduler->leadership.role == ROLE_ALONE)
        return degraded_error(scheduler, error);
    if ((degraded->away || !degraded->on) &&
        copy_wait_nameless(&scheduler->leadership.facts, error) < 0)
        return error->code;
    if (!degraded->on)
        return degraded_error(scheduler, error);
    if (degraded->why.code == -ENOSPC) {
        (void)edl_error_set(error, -EAGAIN,
                            "nothing can be stored, as a disk is full on the server of the"
                            " database");
        return edl_error_remedy(error, "make room there; the scheduler then goes on by itself, and"
                                       " its log has the names");
    }
    (void)edl_error_set(error, -EAGAIN, "scheduler %s does not lead now%s",
                        scheduler->leadership.self.name,
                        degraded->why.code == -ENOTCONN ? ", as its database is away" : "");
    return edl_error_remedy(error, "ask again in a moment; the scheduler's log says why");
}

void degraded_refuse(const struct scheduler *scheduler, struct http_request *request)
{
    struct edl_error error = { 0 };

    if (degraded_error(scheduler, &error) != -EAGAIN) /* with that one it is in each answer */
        http_reply_header(request, "Retry-After", RETRY_AFTER_S);
    http_reply_error(request, &error);
}

bool degraded_serves(const struct http_request *request, const struct http_route *route)
{
    struct edl_error error = { 0 };
    bool dry_run = false;

    if (streq(route->method, "GET") || (route->flags & ROUTE_UNSTORED) != 0)
        return true;
    return http_request_query(request, "dry_run") != NULL &&
           api_dry_run(request, &dry_run, &error) == 0 && dry_run;
}

/* No version of its orders: those that it has are good, and it is not to ask for others. */
json_t *degraded_lease(const struct scheduler *scheduler)
{
    return leadership_add(scheduler,
                          agent_wire_add(json_pack("{s:I,s:b}", "lease_us",
                                                   (json_int_t)scheduler->options.lease_us,
                                                   "stored", 0)));
}

void degraded_report(struct scheduler *scheduler, struct http_request *request,
                     const struct node *node, const struct node_report *report)
{
    if (node->state == NODE_LOST || !streq(node->boot_id, report->boot_id)) {
        degraded_refuse(scheduler, request);
        return;
    }
    node_extend_lease(scheduler->cluster, cluster_node(scheduler->cluster, node->name),
                      clock_instant());
    http_reply_json(request, 200, degraded_lease(scheduler));
}

/* Nothing is listened to before the stored state is back, so only the restart's own first commit,
 * and the store, are left. */
int scheduler_ready(struct scheduler *scheduler, struct edl_error *error)
{
    int r;

    if (scheduler->failed)
        return edl_error_set(error, -EAGAIN,
                             "not ready: the last commit failed, the scheduler is restarting");
    if (scheduler->degraded.on) {
        (void)degraded_nameless(scheduler, error);
        edl_error_prefix(error, "not ready: ");
        error->code = -EAGAIN; /* 503, whatever it is: come again */
        return -EAGAIN;
    }
    if (!scheduler->committed)
        return edl_error_set(error, -EAGAIN,
                             "not ready: the changes of the restart are not stored yet");
    r = store_check(scheduler->store, error);
    if (r < 0) {
        edl_error_prefix(error, "not ready: ");
        error->code = -EAGAIN; /* 503, whatever it is: come again */
    }
    return r < 0 ? -EAGAIN : 0;
}

/* --- in and out --- */

static void arm(struct scheduler *scheduler)
{
    struct degraded *degraded = &scheduler->degraded;

    (void)sd_event_source_set_time_relative(degraded->retry, degraded->delay_us);
    (void)sd_event_source_set_enabled(degraded->retry, SD_EVENT_ONESHOT);
    degraded->delay_us = MIN_OF(2 * degraded->delay_us, DELAY_MOST_US);
}

void degraded_begin(struct scheduler *scheduler, const struct edl_error *why)
{
    struct degraded *degraded = &scheduler->degraded;
    struct edl_error error = { 0 };

    degraded->on = true;
    degraded->why = *why;
    degraded->since_us = clock_read_us(CLOCK_BOOTTIME);
    (void)degraded_error(scheduler, &error);
    log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_STATE_READ_ONLY },
              "read-only: %s; changes are refused, processes go on; %s", error.text, error.remedy);
    (void)sd_notify(0, "STATUS=Read-only: nothing can be stored.");
    (void)sd_event_source_set_enabled(scheduler->timer, SD_EVENT_OFF);
    waiters_notify_all(scheduler);
    arm(scheduler);
}

void degraded_begin_away(struct scheduler *scheduler, const struct edl_error *why)
{
    struct degraded *degraded = &scheduler->degraded;
    struct edl_error error = { 0 };

    degraded->on = degraded->away = true;
    degraded->why = *why;
    degraded->since_us = clock_read_us(CLOCK_BOOTTIME);
    (void)degraded_error(scheduler, &error);
    log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_STATE_READ_ONLY },
              "%s; calls are refused, processes go on", error.text);
    (void)sd_notify(0, "STATUS=Does not lead: waits for the database.");
    (void)sd_event_source_set_enabled(scheduler->timer, SD_EVENT_OFF);
    waiters_refuse_all(scheduler, &error);
    event_streams_end(scheduler);
}

void degraded_end(struct scheduler *scheduler)
{
    struct degraded *degraded = &scheduler->degraded;

    degraded->on = degraded->away = false;
    log_entry(LOG_LEVEL_INFO, &(struct log_subject){ .message = MESSAGE_STATE_WRITABLE },
              "changes can be stored again, after %" PRIu64 " s",
              (clock_read_us(CLOCK_BOOTTIME) - degraded->since_us) / USEC_PER_SEC);
    (void)sd_notify(0, "STATUS=");
    scheduler_touch(scheduler); /* as after a start */
    waiters_notify_all(scheduler);
}

static int try_to_store(struct scheduler *scheduler, struct edl_error *error)
{
    uint64_t bytes = room_bytes(scheduler);
    int r;

    if (bytes < ROOM_MIN_BYTES)
        return edl_error_set(error, -ENOSPC, "less than %" PRIu64 " bytes are free",
                             ROOM_MIN_BYTES);
    r = state_reopen(scheduler, error);
    if (r == 0)
        r = store_probe(store_near(scheduler->store), error);
    if (r == 0)
        r = state_write_port_file(scheduler, error);
    return r == 0 ? state_load(scheduler, error) : r;
}

/* The term goes on meanwhile by its signs of life (terms.c). A database that lets nobody make a
 * table of his own is tried by a turn. */
static void on_room(void *userdata, int r, uint64_t sent_us, const struct edl_error *why)
{
    struct scheduler *scheduler = userdata;
    struct degraded *degraded = &scheduler->degraded;
    struct edl_error error = { 0 };

    (void)sent_us;
    if (!degraded->on || degraded->away)
        return;
    if (r == -ENOSPC) {
        degraded->why = *why;
        arm(scheduler);
    } else if (r == -ENOTCONN || r == -ESTALE) {
        leadership_end(scheduler, why);
    } else if (state_load(scheduler, &error) < 0) {
        leadership_end(scheduler, &error);
    } else {
        degraded_end(scheduler);
    }
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct degraded *degraded = &scheduler->degraded;
    struct edl_error error = { 0 };
    int r;

    (void)source;
    (void)usec;
    if (!degraded->on || degraded->away) /* a new term ends that */
        return 0;
    if (scheduler->leadership.role != ROLE_ALONE && store_is_far(scheduler->store)) {
        if (!store_room_probe(scheduler->store, ROOM_MIN_BYTES, on_room, scheduler))
            arm(scheduler);
        return 0;
    }
    r = try_to_store(scheduler, &error);
    if (r < 0 && !degraded_survives(r)) {
        scheduler_end(scheduler, END_NOT_LOADED, &error);
        return 0;
    }
    if (r < 0) {
        degraded->why = error;
        arm(scheduler);
        return 0;
    }
    degraded_end(scheduler);
    return 0;
}

void degraded_committed(struct scheduler *scheduler)
{
    scheduler->degraded.delay_us = DELAY_FIRST_US;
}

int degraded_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct degraded *degraded = &scheduler->degraded;
    int r;

    degraded->delay_us = DELAY_FIRST_US;
    r = sd_event_add_time(scheduler->event, &degraded->retry, CLOCK_BOOTTIME, NEVER_US, 0, on_retry,
                          scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(degraded->retry, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

void degraded_done(struct scheduler *scheduler)
{
    (void)sd_event_source_disable_unref(scheduler->degraded.retry);
}
