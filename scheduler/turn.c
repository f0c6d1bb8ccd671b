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
 * process ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/users.h"
#include "scheduler/api/api.h"
#include "scheduler/calls/audit.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/event_stream.h"
#include "scheduler/calls/idempotency.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/notices/notices.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/store.h"
#include "scheduler/workspaces/archive_drain.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FAILED_LINGER_US                                                                           \
    (200 * USEC_PER_MSEC) /* for the answers to leave before the process does */

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
    if (!scheduler->turn_wanted) {
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
    if (!scheduler->turn_wanted)
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
}

/* --- after the commit --- */

/* Notices of a turn, kept apart from the effects: those die with the core's next event. */
struct notice {
    enum effect_kind kind;
    char topic[TOPIC_MAX];
};

static void log_event(const struct effect *effect)
{
    struct log_subject subject = { .message = message_by_name(effect->event),
                                   .job = effect->job != NULL ? effect->job->id : 0,
                                   .node = effect->name };

    if (effect->id > 0) {
        subject.role = effect->job->spec->roles[effect->role].name;
        subject.index = effect->index;
        subject.incarnation = effect->id;
    }
    if (effect->job != NULL)
        log_entry(LOG_LEVEL_INFO, &subject, "%s: job %s (%" PRIu64 "): %s", effect->event,
                  effect->job->spec->name, effect->job->id, effect->text);
    else
        log_entry(LOG_LEVEL_INFO, &subject, "%s: %s%s%s", effect->event, effect->name,
                  effect->name[0] != '\0' ? ": " : "", effect->text);
}

static size_t collect_notices(const struct effect *effects, size_t n, struct notice **ret)
{
    struct notice *notices = xcalloc(n + 1, sizeof *notices);
    bool events = false;
    size_t used = 0;

    log_hold();
    for (size_t i = 0; i < n; i++) {
        struct notice *notice = &notices[used];

        if (effects[i].kind == EFFECT_EVENT) {
            log_event(&effects[i]);
            events = true;
        } else if (effects[i].kind == EFFECT_ORDERS) {
            (void)snprintf(notice->topic, sizeof notice->topic, "orders/%s", effects[i].node->name);
            used++;
        } else if (effect_saves_job(&effects[i])) {
            (void)snprintf(notice->topic, sizeof notice->topic, "logs/%" PRIu64,
                           effects[i].job->id); /* an ended job ends its `logs --follow` */
            used++;
        } else if (effects[i].kind == EFFECT_MEMBERSHIP) {
            (void)snprintf(notice->topic, sizeof notice->topic, "service/%s",
                           effects[i].job->spec->name);
            used++;
        }
    }
    log_release();
    if (events)
        (void)snprintf(notices[used++].topic, sizeof notices->topic, "events");
    *ret = notices;
    return used;
}

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
    (void)sd_event_exit(userdata, 1);
    return 0;
}

void scheduler_end(struct scheduler *scheduler, const struct edl_error *error)
{
    log_entry(
        LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_STATE_TURN_LOST },
        "%s; nothing of this turn was stored. Ending: a restart continues from the last stored "
        "state%s%s",
        error->text, error->remedy[0] != '\0' ? "; " : "", error->remedy);
    scheduler->failed = true;
    answer_all(scheduler, error);
    dispatch_refuse(scheduler);
    if (sd_event_add_time_relative(scheduler->event, &scheduler->end, CLOCK_MONOTONIC,
                                   FAILED_LINGER_US, 0, on_end, scheduler->event) < 0)
        (void)sd_event_exit(scheduler->event, 1);
}

/* The commit failed. The requests of this turn are refused, and readers are told the state on
 * disk. */
static void fail(struct scheduler *scheduler, const struct edl_error *why)
{
    struct edl_error error = { 0 };

    scheduler->turn_wanted = false;
    (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    if (!degraded_survives(why->code)) {
        scheduler_end(scheduler, why);
        return;
    }
    if (state_load(scheduler, &error) < 0 || notices_load(scheduler, &error) < 0) {
        scheduler_end(scheduler, &error);
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

int scheduler_turn(struct scheduler *scheduler)
{
    struct edl_error error = { 0 };
    struct notice *notices;
    struct turn_records records = { 0 };
    struct stored_answer *answers;
    struct stored_token *tokens;
    struct stored_notice *stored_notices;
    size_t n_notices;
    bool people;
    int r;

    if (scheduler->failed)
        return -EIO;
    scheduler->turn_wanted = false;
    api_rendezvous_forget(scheduler);
    plan(scheduler);
    serve_processes(scheduler);
    archive_drain_turn(scheduler);
    notices_gather(scheduler);
    records.effects = cluster_effects(scheduler->cluster, &records.n_effects);
    records.n_ended =
        cluster_count_ended(scheduler->cluster) - cluster_ended_beyond(scheduler->cluster);
    records.wall_us = clock_instant().wall_us;
    cluster_clock_seal(&scheduler->clock, scheduler->leaving.on, &records);
    log_hub_note_effects(scheduler->logs, records.effects, records.n_effects);
    records.tails = log_hub_pending(scheduler->logs, &records.n_tails);
    records.answers = answers = idempotency_seal(scheduler, &records.n_answers);
    records.accounts = users_pending(scheduler->users, &records.n_accounts);
    records.tokens = tokens = join_tokens_seal(scheduler, &records.n_tokens);
    records.begun = scheduler->committed ? NULL : scheduler->cluster;
    job_series_seal(scheduler, &records);
    records.notices = stored_notices = notices_seal(scheduler, &records.n_notices);
    datasets_slice(scheduler, &records);
    r = store_commit(scheduler->store, &records, &error);
    api_rendezvous_forget(scheduler);
    free(answers);
    free(tokens);
    free(stored_notices);
    if (r < 0) {
        fail(scheduler, &error);
        return r;
    }
    scheduler->committed = true;
    cluster_clock_stored(&scheduler->clock, &records);
    job_series_stored(&scheduler->series);
    degraded_committed(scheduler);
    n_notices = collect_notices(records.effects, records.n_effects, &notices);
    cluster_effects_clear(scheduler->cluster);
    log_hub_pending_clear(scheduler->logs);
    notices_stored(scheduler);
    people = changes_people(&records);
    audit_log(records.accounts, records.n_accounts);
    users_pending_clear(scheduler->users);
    /* serve_processes touched us on its way: that was this turn. */
    scheduler->turn_wanted = false;
    (void)sd_event_source_set_enabled(scheduler->turn, SD_EVENT_OFF);
    answer_all(scheduler, NULL);
    dispatch_readers(scheduler);
    if (people) {
        waiters_recheck(scheduler);
        event_streams_wake(scheduler);
        sessions_recheck(scheduler);
    }
    sessions_look(scheduler);
    for (size_t i = 0; i < n_notices; i++)
        tell(scheduler, &notices[i]);
    free(notices);
    wake_later(scheduler, false);
    datasets_stored(scheduler);
    archive_drain_go_on(scheduler);
    arm_timer(scheduler);
    return 0;
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
        (void)degraded_error(scheduler, error);
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
        return archive_drain_init(scheduler, error);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}
