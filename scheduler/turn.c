/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c - plan, commit, answer, wake
 *
 * All changes of the core since the last turn are one turn: requests that came in one pass of the
 * loop, a timer, the plan that follows. Its records are one transaction (one fsync for all of
 * them). Nobody hears of a change before it is on disk: answers, orders and events go out behind
 * the commit.
 *
 * When the commit fails, memory is ahead of the disk and nothing can take it back: the state on
 * disk is loaded again in its place, and the turn's requests are refused. Nothing is changed any
 * more until something can be stored (degraded.h). When that cannot be loaded, or is damaged, the
 * process ends.
 *
 *   idle --turn wanted: planned, given to the store--> in flight --stored--> idle
 *                                                          `--lost--> away, or loaded again
 *
 * A far store (store/far/far.h) has a turn in flight as long as its database likes. Nothing changes
 * the core then, but leases that reports renew: calls wait (dispatch.h), and become the next turn.
 * A store in the state directory is done at once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/users.h"
#include "scheduler/api/api.h"
#include "scheduler/calls/account_numbers.h"
#include "scheduler/calls/audit.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/event_stream.h"
#include "scheduler/calls/idempotency.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/notices/notices.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/store.h"
#include "scheduler/turn_flight.h"
#include "scheduler/workspaces/archive_drain.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

/* For the answers to leave before the process does. */
#define FAILED_LINGER_US (200 * USEC_PER_MSEC)
#define HANGS_US (2 * USEC_PER_SEC) /* behind the moment when it is late */

/* --- requests that wait for their answer --- */

static void on_gone(struct http_request *request, void *userdata)
{
    struct held *held = userdata;

    (void)request;
    held->request = NULL; /* its holder frees it when its turn comes */
    if (held->waiter != NULL)
        waiter_left(held->waiter);
}

struct held *held_new(struct http_request *request)
{
    struct held *held = xcalloc(1, sizeof *held);

    held->request = request;
    http_request_defer(request, on_gone, held);
    return held;
}

static void held_free(struct held *held)
{
    idempotency_free(held->keyed);
    json_decref(held->json);
    free(held->refusal);
    free(held->etag);
    free(held);
}

void held_reply_json(struct held *take_held, unsigned status, json_t *take_json)
{
    if (take_held->request != NULL)
        http_reply_json(take_held->request, status, take_json);
    else
        json_decref(take_json);
    held_free(take_held);
}

void held_reply_error(struct held *take_held, const struct edl_error *error)
{
    if (error->code == -EINPROGRESS && take_held->postponed != NULL) {
        *take_held->postponed = true; /* and it waits on (waiters.c) */
        return;
    }
    if (take_held->request != NULL)
        http_reply_error(take_held->request, error);
    held_free(take_held);
}

static void queue_answer(struct scheduler *scheduler, struct held *take_held, unsigned status,
                         json_t *take_json)
{
    take_held->status = status;
    take_held->json = take_json;
    DL_APPEND(scheduler->answers, take_held);
    scheduler_touch(scheduler);
}

void held_after_commit(struct scheduler *scheduler, struct held *take_held, unsigned status,
                       json_t *take_json)
{
    idempotency_take(take_held);
    audit_take(scheduler, take_held, status);
    queue_answer(scheduler, take_held, status, take_json);
}

void held_build_after_commit(struct scheduler *scheduler, struct held *take_held, unsigned status,
                             held_build_fn build, const char *key, uint64_t id)
{
    take_held->build = build;
    take_held->id = id;
    (void)snprintf(take_held->key, sizeof take_held->key, "%s", key != NULL ? key : "");
    held_after_commit(scheduler, take_held, status, NULL);
}

void held_tell(struct scheduler *scheduler, struct held *take_held, unsigned status,
               json_t *take_json)
{
    if (scheduler->turn_wanted)
        queue_answer(scheduler, take_held, status, take_json);
    else
        held_reply_json(take_held, status, take_json);
}

void tell_after_commit(struct scheduler *scheduler, struct http_request *request, unsigned status,
                       json_t *take_json)
{
    if (scheduler->turn_wanted)
        queue_answer(scheduler, held_new(request), status, take_json);
    else
        http_reply_json(request, status, take_json);
}

void held_refuse(struct scheduler *scheduler, struct held *take_held, const struct edl_error *error)
{
    /* why: a postponed request tells of nothing yet */
    if (!scheduler->turn_wanted || error->code == -EINPROGRESS) {
        held_reply_error(take_held, error);
        return;
    }
    take_held->refusal = xcalloc(1, sizeof *take_held->refusal);
    *take_held->refusal = *error;
    queue_answer(scheduler, take_held, 0, NULL);
}

void refuse_after_commit(struct scheduler *scheduler, struct http_request *request,
                         const struct edl_error *error)
{
    if (!scheduler->turn_wanted || error->code == -EINPROGRESS)
        http_reply_error(request, error);
    else
        held_refuse(scheduler, held_new(request), error);
}

json_t *held_json(struct scheduler *scheduler, struct held *held)
{
    return held->build != NULL ? held->build(scheduler, held->key, held->id) : TAKE_PTR(held->json);
}

bool held_tag(struct scheduler *scheduler, const struct held *held, char ret[ETAG_MAX])
{
    if (held->tag != NULL)
        return held->tag(scheduler, held->key, held->id, ret);
    (void)snprintf(ret, ETAG_MAX, "%s", held->etag != NULL ? held->etag : "");
    return held->etag != NULL;
}

static void answer(struct scheduler *scheduler, struct held *held)
{
    struct edl_error error = { 0 };
    char tag[ETAG_MAX];
    json_t *json;

    if (held->keyed != NULL) {
        idempotency_answer(held, NULL);
        return;
    }
    if (held->refusal != NULL) {
        held_reply_error(held, held->refusal);
        return;
    }
    json = held_json(scheduler, held);
    if (held->request != NULL && held->location[0] != '\0')
        http_reply_header(held->request, "Location", held->location);
    if (held->request != NULL && held_tag(scheduler, held, tag))
        http_reply_header(held->request, "ETag", tag);
    if (json != NULL || held->build == NULL) {
        held_reply_json(held, held->status, json);
        return;
    }
    (void)edl_error_set(&error, -ENOENT, HELD_REMOVED_TEXT);
    held_reply_error(held, &error);
}

static void answer_all(struct scheduler *scheduler, const struct edl_error *error)
{
    struct held *list = TAKE_PTR(scheduler->answers);
    struct held *held, *next;

    DL_FOREACH_SAFE(list, held, next)
    {
        DL_DELETE(list, held);
        if (error != NULL && held->keyed != NULL)
            idempotency_answer(held, error);
        else if (error != NULL)
            held_reply_error(held, error);
        else
            answer(scheduler, held);
    }
}

/* A topic to wake once the commit is done. */
struct later {
    char topic[TOPIC_MAX];
    struct later *next, *prev;
};

void scheduler_notify(struct scheduler *scheduler, const char *topic)
{
    struct later *later;

    if (!scheduler->turn_wanted) {
        waiters_notify(scheduler, topic);
        return;
    }
    later = xcalloc(1, sizeof *later);
    (void)snprintf(later->topic, sizeof later->topic, "%s", topic);
    DL_APPEND(scheduler->later, later);
}

static void wake_later(struct scheduler *scheduler, bool silently)
{
    struct later *list = TAKE_PTR(scheduler->later);
    struct later *later, *next;

    DL_FOREACH_SAFE(list, later, next)
    {
        DL_DELETE(list, later);
        if (!silently)
            waiters_notify(scheduler, later->topic);
        free(later);
    }
}

void turn_done(struct scheduler *scheduler)
{
    struct held *held, *next;

    DL_FOREACH_SAFE(scheduler->answers, held, next)
    {
        DL_DELETE(scheduler->answers, held);
        held->request = NULL;
        held_reply_json(held, 0, NULL);
    }
    wake_later(scheduler, true);
    api_rendezvous_forget(scheduler);
    scheduler->flight = turn_flight_free(scheduler->flight);
}

/* --- after the commit --- */

static void tell(struct scheduler *scheduler, const struct notice *notice)
{
    if (streq(notice->topic, "events"))
        event_streams_wake(scheduler);
    waiters_notify(scheduler, notice->topic);
}

static bool changes_people(const struct turn_records *records)
{
    for (size_t i = 0; i < records->n_accounts; i++)
        if (records->accounts[i].kind != ACCOUNT_AUDIT)
            return true;
    return false;
}

/* Tasks that came free, passes that ended and generations that came about or to their end are
 * handed out within the same turn, so that a waiting process pays for one commit and not for
 * two. */
static void serve_processes(struct scheduler *scheduler)
{
    static const struct {
        enum effect_kind kind;
        const char *topic;
    } served[] = { { EFFECT_SAVE_TASKS, "tasks" },
                   { EFFECT_SAVE_DATASET, "tasks" },
                   { EFFECT_MEMBERSHIP, "rendezvous" } };
    size_t n;
    const struct effect *effects = cluster_effects(scheduler->cluster, &n);
    char(*topics)[TOPIC_MAX] = xcalloc(n, sizeof *topics);
    size_t n_topics = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ELEMENTS(served); k++)
            if (effects[i].kind == served[k].kind)
                (void)snprintf(topics[n_topics++], sizeof *topics, "%s/%" PRIu64, served[k].topic,
                               effects[i].job->id);
    for (size_t i = 0; i < n_topics; i++)
        waiters_notify(scheduler, topics[i]);
    free(topics);
}

static int on_end(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    return sd_event_exit(userdata, 1);
}

void scheduler_end(struct scheduler *scheduler, enum end_cause cause, const struct edl_error *error)
{
    static const char *const words[][2] = {
        [END_TURN_LOST] = { "nothing of this turn was stored", "continues from what is stored" },
        [END_NOT_LOADED] = { "the stored state could not be loaded", "tries that again" },
        [END_DAMAGED] = { "nothing more is stored there", "looks at it again" },
    };
    bool is_alone = scheduler->leadership.role == ROLE_ALONE;

    log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_STATE_TURN_LOST },
              "%s; %s. Ending: %s %s%s%s", error->text, words[cause][0],
              is_alone ? "a restart" : "the next leader", words[cause][1],
              error->remedy[0] != '\0' ? "; " : "", error->remedy);
    scheduler->failed = true;
    answer_all(scheduler, error);
    dispatch_refuse(scheduler);
    if (sd_event_add_time_relative(scheduler->event, &scheduler->end, CLOCK_MONOTONIC,
                                   FAILED_LINGER_US, 0, on_end, scheduler->event) < 0)
        (void)sd_event_exit(scheduler->event, 1);
}

void scheduler_away(struct scheduler *scheduler, const struct edl_error *why)
{
    struct edl_error error = { 0 };

    scheduler->turn_wanted = false;
    (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    degraded_begin_away(scheduler, why);
    (void)degraded_error(scheduler, &error);
    wake_later(scheduler, true);
    answer_all(scheduler, &error);
    datasets_refuse(scheduler, &error);
    leadership_lost(scheduler, why);
}

/* The commit failed. Requests of this turn are refused, and readers are told the state on disk. */
static void fail(struct scheduler *scheduler, const struct edl_error *why)
{
    struct edl_error error = { 0 };

    scheduler->turn_wanted = false;
    (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    if (!leadership_outlives(scheduler, why->code) && leadership_ends_at(scheduler, why->code)) {
        scheduler_away(scheduler, why);
        return;
    }
    if (!degraded_survives(why->code)) {
        scheduler_end(scheduler, END_TURN_LOST, why);
        return;
    }
    if (state_load(scheduler, &error) < 0 || notices_load(scheduler, &error) < 0) {
        if (leadership_ends_at(scheduler, error.code))
            scheduler_away(scheduler, &error);
        else
            scheduler_end(scheduler, END_NOT_LOADED, &error);
        return;
    }
    wake_later(scheduler, true);
    degraded_begin(scheduler, why);
    (void)degraded_error(scheduler, &error);
    answer_all(scheduler, &error);
    datasets_refuse(scheduler, &error);
    dispatch_readers(scheduler);
}

/* One that is armed for an earlier instant stays: each report moves the first lease a little, and
 * finding nothing to do once in a lease costs less than setting the timer each time. */
static void arm_timer(struct scheduler *scheduler)
{
    uint64_t deadline_us = cluster_next_deadline_us(scheduler->cluster);
    uint64_t armed_us = 0;
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(scheduler->timer, &enabled);
    (void)sd_event_source_get_time(scheduler->timer, &armed_us);
    if (deadline_us == NEVER_US || (enabled != SD_EVENT_OFF && armed_us <= deadline_us))
        return;
    (void)sd_event_source_set_time(scheduler->timer, deadline_us);
    (void)sd_event_source_set_enabled(scheduler->timer, SD_EVENT_ONESHOT);
}

bool scheduler_skip_turn(struct scheduler *scheduler)
{
    size_t n;

    (void)cluster_effects(scheduler->cluster, &n);
    if (n > 0 || cluster_has_news(scheduler->cluster) || scheduler->turn_wanted)
        return false;
    arm_timer(scheduler);
    return true;
}

static void plan(struct scheduler *scheduler)
{
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);
    uint64_t cpu_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);

    if (!cluster_wants_plan(scheduler->cluster) ||
        !cluster_plan(scheduler->cluster, clock_instant()))
        return;
    cluster_plan_took(scheduler->cluster, clock_instant(),
                      clock_read_us(CLOCK_THREAD_CPUTIME_ID) - cpu_us);
    histogram_observe(&scheduler->metrics.plans, clock_read_us(CLOCK_MONOTONIC) - start_us);
}

bool turn_is_in_flight(const struct scheduler *scheduler)
{
    return scheduler->flight != NULL;
}

/* seal - the records of the turn, as its transaction takes them */
static void seal(struct scheduler *scheduler, struct turn_flight *flight)
{
    struct turn_records *records = &flight->records;

    records->effects = cluster_effects(scheduler->cluster, &records->n_effects);
    records->n_ended =
        cluster_count_ended(scheduler->cluster) - cluster_ended_beyond(scheduler->cluster);
    records->wall_us = clock_instant().wall_us;
    cluster_clock_seal(&scheduler->clock, scheduler->leaving.on, records);
    log_hub_note_effects(scheduler->logs, records->effects, records->n_effects);
    records->tails = log_hub_pending(scheduler->logs, &records->n_tails);
    records->answers = flight->answers = idempotency_seal(scheduler, &records->n_answers);
    records->accounts = users_pending(scheduler->users, &records->n_accounts);
    records->tokens = flight->tokens = join_tokens_seal(scheduler, &records->n_tokens);
    records->begun = scheduler->committed ? NULL : scheduler->cluster;
    job_series_seal(scheduler, records);
    records->notices = flight->stored_notices = notices_seal(scheduler, &records->n_notices);
    datasets_slice(scheduler, records);
    turn_flight_note(flight);
}

/* people_changed - it changed who may what; the audit log's lines are told on the way */
static bool people_changed(struct scheduler *scheduler, struct turn_records *records)
{
    size_t n;
    bool people;

    records->accounts = users_pending(scheduler->users, &n); /* more may stand behind */
    people = changes_people(records);
    audit_log(records->accounts, records->n_accounts);
    users_pending_clear(scheduler->users, records->n_accounts);
    return people;
}

/* tell_turn - the turn is on disk */
static void tell_turn(struct scheduler *scheduler, struct turn_flight *flight)
{
    bool people;

    scheduler->committed = true;
    cluster_clock_stored(&scheduler->clock, &flight->records);
    job_series_stored(&scheduler->series);
    degraded_committed(scheduler);
    turn_flight_log(flight);
    log_hub_pending_clear(scheduler->logs);
    notices_stored(scheduler);
    people = people_changed(scheduler, &flight->records);
    answer_all(scheduler, NULL);
    dispatch_readers(scheduler);
    if (people) {
        waiters_recheck(scheduler);
        event_streams_wake(scheduler);
        sessions_recheck(scheduler);
    }
    sessions_look(scheduler);
    for (size_t i = 0; i < flight->n_notices; i++)
        tell(scheduler, &flight->notices[i]);
    wake_later(scheduler, false);
    datasets_stored(scheduler);
    archive_drain_go_on(scheduler);
    arm_timer(scheduler);
}

/* --- in flight --- */

/* pause_others - what changes a turn's records, or the core, and is no call */
static void pause_others(struct scheduler *scheduler, bool pause)
{
    notices_pause(scheduler->notices, pause);
    worker_pause(scheduler->datasets.worker, pause);
    account_numbers_pause(scheduler->account_numbers, pause);
}

/* A report is told that nothing of it is stored yet, and gets its lease. A scrape waits for longer,
 * as it is told less then. */
static int on_late(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    (void)usec;
    if (scheduler->flight == NULL)
        return 0;
    if (scheduler->flight->late) {
        scheduler->flight->hangs = true;
        dispatch_wake(scheduler);
        return 0;
    }
    scheduler->flight->late = true;
    api_reports_are_late(scheduler);
    dispatch_wake(scheduler);
    (void)sd_event_source_set_time_relative(source, HANGS_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

bool scheduler_hangs(const struct scheduler *scheduler)
{
    return scheduler->flight != NULL && scheduler->flight->hangs;
}

bool scheduler_is_late(const struct scheduler *scheduler)
{
    return scheduler->flight != NULL && scheduler->flight->late;
}

/* Its effects are the store's: those that come are the next turn's. */
static void take_off(struct scheduler *scheduler, struct turn_flight *take_flight)
{
    uint64_t patience_us;

    take_flight->since_us = clock_read_us(CLOCK_BOOTTIME);
    scheduler->flight = take_flight;
    cluster_effects_clear(scheduler->cluster);
    pause_others(scheduler, true);
    patience_us = flight_patience_us(scheduler->flights_took_us, scheduler->options.lease_us);
    (void)sd_event_source_set_time_relative(scheduler->late, patience_us);
    (void)sd_event_source_set_enabled(scheduler->late, SD_EVENT_ONESHOT);
}

/* A database that is slow is as a disk that is: nobody could be heard. */
static void note_stall(struct scheduler *scheduler, const struct turn_flight *flight)
{
    struct instant now = clock_instant();
    uint64_t took_us = now.now_us - MIN_OF(now.now_us, flight->since_us);

    scheduler->flights_took_us[1] = scheduler->flights_took_us[0];
    scheduler->flights_took_us[0] = took_us;
    if (took_us >= cluster_stall_least_us(scheduler->cluster))
        cluster_stalled(scheduler->cluster, took_us, now);
}

void scheduler_stored(void *userdata, int r, uint64_t sent_us, const struct edl_error *why)
{
    struct scheduler *scheduler = userdata;
    struct turn_flight *flight = TAKE_PTR(scheduler->flight);
    bool again = scheduler->turn_wanted; /* by something that waits for no turn */

    if (flight == NULL)
        return;
    (void)sd_event_source_set_enabled(scheduler->late, SD_EVENT_OFF);
    pause_others(scheduler, false);
    scheduler->turn_wanted = false;
    if (r < 0) {
        fail(scheduler, why);
    } else {
        leadership_stored(scheduler, sent_us);
        note_stall(scheduler, flight);
        tell_turn(scheduler, flight);
    }
    turn_flight_free(flight);
    if (again)
        scheduler_touch(scheduler);
    waiters_go_on(scheduler);
    askings_go_on(scheduler);
    dispatch_landed(scheduler);
    leaving_go_on(scheduler);
}

int scheduler_turn(struct scheduler *scheduler)
{
    struct edl_error error = { 0 };
    struct turn_flight *flight;
    int r;

    if (scheduler->failed)
        return -EIO;
    if (scheduler->flight != NULL) { /* it comes behind the one in flight */
        scheduler->turn_wanted = true;
        return 1;
    }
    flight = xcalloc(1, sizeof *flight);
    scheduler->turn_wanted = false;
    api_rendezvous_forget(scheduler);
    plan(scheduler);
    serve_processes(scheduler);
    archive_drain_turn(scheduler);
    notices_gather(scheduler);
    seal(scheduler, flight);
    r = store_commit(scheduler->store, &flight->records, &error);
    api_rendezvous_forget(scheduler);
    turn_flight_sent(flight);
    if (r < 0) {
        fail(scheduler, &error);
        turn_flight_free(flight);
        return r;
    }
    /* serve_processes touched us on its way: that was this turn. */
    scheduler->turn_wanted = false;
    (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    if (r == 1) {
        take_off(scheduler, flight);
        return 1;
    }
    cluster_effects_clear(scheduler->cluster);
    tell_turn(scheduler, flight);
    turn_flight_free(flight);
    return 0;
}

/* --- event sources --- */

static int on_turn(sd_event_source *source, void *userdata)
{
    (void)source;
    (void)scheduler_turn(userdata);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct instant now;

    (void)source;
    (void)usec;
    if (scheduler->leaving.on) /* who was told that he may go on is not judged any more */
        return 0;
    if (scheduler->flight != NULL) /* the timer is set anew when the turn is back */
        return 0;
    pulse_look(scheduler);
    now = clock_instant();
    cluster_tick(scheduler->cluster, now);
    if (!scheduler_skip_turn(scheduler))
        scheduler_touch(scheduler);
    return 0;
}

void scheduler_touch(struct scheduler *scheduler)
{
    if (scheduler->turn_wanted || scheduler->failed || scheduler->degraded.on)
        return;
    scheduler->turn_wanted = true;
    if (scheduler->flight == NULL)
        (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_ONESHOT);
}

int turn_init(struct scheduler *scheduler, struct edl_error *error)
{
    int r = sd_event_add_defer(scheduler->event, &scheduler->turn, on_turn, scheduler);

    if (r >= 0)
        r = sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(scheduler->event, &scheduler->timer, CLOCK_BOOTTIME, NEVER_US,
                              10 * USEC_PER_MSEC, on_timer, scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(scheduler->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(scheduler->event, &scheduler->late, CLOCK_BOOTTIME, NEVER_US,
                              USEC_PER_MSEC, on_late, scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(scheduler->late, SD_EVENT_OFF);
    if (r >= 0)
        return archive_drain_init(scheduler, error);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}
