/* SPDX-License-Identifier: Apache-2.0 */
/* notices.c - see notices.h */
#include "scheduler/notices/notices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/record/epoch.h"
#include "scheduler/notices/notice_json.h"
#include "scheduler/notices/notice_means.h"
#include "scheduler/notices/notice_send.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_notify.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

struct sender_slot {
    struct worker *worker;    /* owned; NULL: not needed yet */
    struct notice_send *send; /* in its thread; NULL: none */
};

struct notices {
    struct scheduler *scheduler; /* borrowed */
    struct outbox *outbox;       /* owned */
    struct sender_slot slots[OUTBOX_AT_ONCE];
    sd_event_source *timer; /* owned: when the next is due */
    int stop_fd;            /* owned: eventfd */
    char mark[20];          /* of this cluster, in each number */
    char host[256];
    struct notice_figures figures;
    bool looked[NOTICE_CHANNELS], lacks[NOTICE_CHANNELS]; /* in this turn; what was seen */
    bool told_lack[NOTICE_CHANNELS];
    bool told_full;
};

static const char *const channel_names[] = { [NOTICE_MAIL] = "mail", [NOTICE_WEBHOOK] = "webhook" };

static struct outbox_rules rules_of(const struct scheduler *scheduler)
{
    return (struct outbox_rules){ .tries = (uint32_t)scheduler->options.notify_tries,
                                  .per_hour = (uint32_t)scheduler->options.notify_rate };
}

/* --- what is due becomes messages --- */

/* lacks - what is needed to send is not there; said once, until it was there again. Looked at once
 * in a turn */
static bool lacks(struct notices *notices, enum notice_channel channel)
{
    struct scheduler *scheduler = notices->scheduler;
    struct edl_error error = { 0 };

    if (notices->looked[channel])
        return notices->lacks[channel];
    notices->looked[channel] = true;
    notices->lacks[channel] = notice_means(&scheduler->options.notices, channel, &error) < 0;
    if (notices->lacks[channel] && !notices->told_lack[channel])
        effect_event(scheduler->cluster, clock_instant(), NULL, "", "notices-off",
                     "owners of jobs are not told by %s: %s; %s", channel_names[channel],
                     error.text, error.remedy);
    notices->told_lack[channel] = notices->lacks[channel];
    return notices->lacks[channel];
}

static void tell_full(struct notices *notices, const char *user)
{
    if (!notices->told_full)
        effect_event(notices->scheduler->cluster, clock_instant(), NULL, "", "notices-dropped",
                     "too many notices of %s wait to be sent: the next ones are dropped", user);
    notices->told_full = true;
}

/* of one turn many may be to one target: what has no room in its message is not even written */
static char *write_notice(const struct notices *notices, const struct effect *effect)
{
    json_t *json = notice_to_json(effect->job, (enum notify_event)effect->id, effect->array,
                                  notices->mark, clock_instant());
    char *line = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    return line != NULL ? line : xstrdup("");
}

static void add(struct notices *notices, const struct effect *effect, enum notice_channel channel,
                const char *target)
{
    const char *user = effect->job->user;
    _cleanup_free_ char *line = NULL;

    if (lacks(notices, channel)) {
        notices->figures.dropped++;
        return;
    }
    if (outbox_wants(notices->outbox, channel, user, target))
        line = write_notice(notices, effect);
    if (outbox_add(notices->outbox, channel, user, target, line != NULL ? line : "",
                   clock_instant().wall_us)) {
        notices->told_full = false;
        return;
    }
    notices->figures.dropped++;
    tell_full(notices, user);
}

static char *join_mails(char *const *mails)
{
    char *text = xstrdup(*mails);

    for (mails++; *mails != NULL; mails++) {
        char *longer = text_format("%s,%s", text, *mails);

        free(text);
        text = longer;
    }
    return text;
}

/* effect: a copy, as telling of it may add effects, which moves their list */
static void take(struct notices *notices, const struct effect *effect)
{
    const struct job_notify *notify = effect->job->spec->notify;
    _cleanup_free_ char *mails = notify->mails != NULL ? join_mails(notify->mails) : NULL;

    if (mails != NULL)
        add(notices, effect, NOTICE_MAIL, mails);
    if (notify->webhook != NULL)
        add(notices, effect, NOTICE_WEBHOOK, notify->webhook);
}

void notices_gather(struct scheduler *scheduler)
{
    struct notices *notices = scheduler->notices;
    size_t n, n_now;
    const struct effect *effects = cluster_effects(scheduler->cluster, &n);

    memset(notices->looked, 0, sizeof notices->looked);
    for (size_t i = 0; i < n; i++) {
        struct effect effect;

        if (effects[i].kind != EFFECT_NOTICE)
            continue;
        effect = effects[i];
        take(notices, &effect);
        effects = cluster_effects(scheduler->cluster, &n_now);
    }
}

struct stored_notice *notices_seal(struct scheduler *scheduler, size_t *ret_n)
{
    const struct outbox *outbox = scheduler->notices->outbox;
    struct stored_notice *list = NULL;
    size_t n = 0, room = 0;

    *ret_n = 0;
    if (!outbox_has_changes(outbox))
        return NULL;
    for (const struct outbox_message *message = outbox_first(outbox); message != NULL;
         message = message->next) {
        if (!message->changed)
            continue;
        if (n == room) {
            room = MAX_OF(2 * room, 16U);
            list = xreallocarray(list, room, sizeof *list);
        }
        list[n++] = (struct stored_notice){ .id = message->id,
                                            .channel = message->channel,
                                            .user = message->user,
                                            .target = message->target,
                                            .notices = message->notices,
                                            .n_notices = message->n_notices,
                                            .n_more = message->n_more,
                                            .tries = message->tries,
                                            .made_wall_us = message->made_wall_us,
                                            .due_wall_us = message->due_wall_us,
                                            .gone = message->gone };
    }
    *ret_n = n;
    return list;
}

/* --- messages are sent --- */

static void go(struct notices *notices);

/* tell_failed - everybody reads events: no address of mail stands there, nor a webhook's path */
static void tell_failed(struct notices *notices, const struct outbox_message *message,
                        const char *why)
{
    char shown[WEBHOOK_SHOWN_MAX];
    bool is_mail = message->channel == NOTICE_MAIL;
    const char *target = is_mail ? "mail" : webhook_url_shown(message->target, shown);

    effect_event(notices->scheduler->cluster, clock_instant(), NULL, "", "notice-failed",
                 "%u notice%s of %s %s %.60s %s given up after %u tr%s: %s",
                 message->n_notices + message->n_more, PLURAL(message->n_notices + message->n_more),
                 message->user, is_mail ? "by" : "to", target,
                 message->n_notices + message->n_more == 1 ? "was" : "were", message->tries,
                 message->tries == 1 ? "y" : "ies", why);
}

/* A message that is not there any more: the state was loaded again since, and its job has not
 * ended. */
static void settle(struct notices *notices, const struct notice_send *send)
{
    struct outbox_message *message = outbox_find(notices->outbox, send->message_id);
    const struct outbox_rules rules = rules_of(notices->scheduler);
    struct notice_figures *figures = &notices->figures;

    if (message == NULL || !message->sending)
        return;
    if (send->result == NOTICE_SENT) {
        figures->sent[send->channel]++;
        outbox_sent(notices->outbox, message);
        return;
    }
    figures->tries_failed[send->channel]++;
    if (!outbox_failed(notices->outbox, message, &rules, send->result == NOTICE_NEVER,
                       clock_instant().wall_us))
        return;
    figures->failed[send->channel]++;
    tell_failed(notices, message, send->why);
}

static void on_sent(struct worker_job *job)
{
    struct notice_send *send = (struct notice_send *)(void *)job;
    struct notices *notices = send->owner;

    notices->slots[send->slot].send = NULL;
    settle(notices, send);
    free(send);
    scheduler_touch(notices->scheduler);
    go(notices);
}

void notices_pause(struct notices *notices, bool pause)
{
    for (size_t i = 0; i < ELEMENTS(notices->slots); i++)
        worker_pause(notices->slots[i].worker, pause);
}

/* slot_for - a free one, with its thread; NULL: none can be had now */
static struct sender_slot *slot_for(struct notices *notices)
{
    struct edl_error error = { 0 };
    struct sender_slot *slot = notices->slots;

    while (slot < notices->slots + OUTBOX_AT_ONCE && slot->send != NULL)
        slot++;
    if (slot == notices->slots + OUTBOX_AT_ONCE)
        return NULL;
    if (slot->worker == NULL &&
        worker_new(notices->scheduler->event, "notices", &slot->worker, &error) < 0)
        return NULL;
    return worker_has_thread(slot->worker) ? slot : NULL;
}

static void start(struct notices *notices, struct sender_slot *slot,
                  const struct outbox_message *message)
{
    struct notice_send *send = xcalloc(1, sizeof *send + strlen(message->notices) + 1);

    send->job.run = notice_send_run;
    send->job.done = on_sent;
    send->owner = notices;
    send->slot = (size_t)(slot - notices->slots);
    send->message_id = message->id;
    send->channel = message->channel;
    send->ways = notices->scheduler->options.notices;
    (void)snprintf(send->host, sizeof send->host, "%s", notices->host);
    (void)snprintf(send->id, sizeof send->id, "%s-%" PRIu64, notices->mark, message->id);
    (void)snprintf(send->target, sizeof send->target, "%s", message->target);
    send->wall_us = clock_read_us(CLOCK_REALTIME);
    send->n_more = message->n_more;
    send->stop_fd = notices->stop_fd;
    memcpy(send->lines, message->notices, strlen(message->notices) + 1);
    slot->send = send;
    worker_start(slot->worker, &send->job);
}

static void arm(struct notices *notices)
{
    const struct outbox_rules rules = rules_of(notices->scheduler);
    uint64_t next_us = outbox_next_us(notices->outbox, &rules);
    struct instant now = clock_instant();

    if (next_us == UINT64_MAX) {
        (void)sd_event_source_set_enabled(notices->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time(notices->timer,
                                   now.now_us + (next_us - MIN_OF(next_us, now.wall_us)));
    (void)sd_event_source_set_enabled(notices->timer, SD_EVENT_ONESHOT);
}

/* go - while the result could not be stored, nothing is sent */
static void go(struct notices *notices)
{
    const struct scheduler *scheduler = notices->scheduler;
    const struct outbox_rules rules = rules_of(scheduler);
    struct sender_slot *slot;

    if (scheduler->degraded.on || scheduler->failed || scheduler->leaving.on)
        return;
    while (outbox_next_us(notices->outbox, &rules) <= clock_instant().wall_us &&
           (slot = slot_for(notices)) != NULL)
        start(notices, slot, outbox_take(notices->outbox, &rules, clock_instant().wall_us));
    arm(notices);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    go(userdata);
    return 0;
}

void notices_stored(struct scheduler *scheduler)
{
    struct notices *notices = scheduler->notices;

    if (outbox_has_changes(notices->outbox))
        outbox_stored(notices->outbox, clock_instant().wall_us);
    if (outbox_waiting(notices->outbox) > outbox_sending(notices->outbox))
        go(notices);
}

/* --- what a submitter is told --- */

int notices_check(const struct scheduler *scheduler, const struct job_spec *spec,
                  struct edl_error *error)
{
    const struct webhook_rules *allowed = &scheduler->options.notices.webhooks;
    struct webhook_url url;

    if (spec->notify == NULL || spec->notify->webhook == NULL ||
        webhook_url_read(spec->notify->webhook, &url, NULL) < 0 ||
        !webhook_host_refused(allowed, url.host))
        return 0;
    (void)edl_error_at(error, -EACCES, "/spec/notify/webhook",
                       "the scheduler does not call %.100s for jobs", url.host);
    return edl_error_remedy(error, "an administrator says which it calls: webhook-allow, in "
                                   "scheduler.conf");
}

void notices_note(const struct scheduler *scheduler, const struct job_spec *spec, json_t *notes)
{
    for (int channel = 0; spec->notify != NULL && channel < NOTICE_CHANNELS; channel++) {
        struct edl_error error = { 0 };
        bool wanted =
            channel == NOTICE_MAIL ? spec->notify->mails != NULL : spec->notify->webhook != NULL;

        if (wanted &&
            notice_means(&scheduler->options.notices, (enum notice_channel)channel, &error) < 0)
            (void)json_array_append_new(notes, json_sprintf("nobody will be told by %s: %s; %s",
                                                            channel_names[channel], error.text,
                                                            error.remedy));
    }
}

void notices_figures(const struct scheduler *scheduler, struct notice_figures *ret)
{
    const struct notices *notices = scheduler->notices;

    *ret = notices->figures;
    ret->waiting = outbox_waiting(notices->outbox);
    ret->sending = outbox_sending(notices->outbox);
}

/* --- life --- */

static void load_one(const struct stored_notice *stored, void *userdata)
{
    const struct outbox_message message = {
        .id = stored->id,
        .channel = stored->channel == NOTICE_MAIL ? NOTICE_MAIL : NOTICE_WEBHOOK,
        .user = xstrdup(stored->user),
        .target = xstrdup(stored->target),
        .notices = xstrdup(stored->notices),
        .n_notices = stored->n_notices,
        .n_more = stored->n_more,
        .tries = stored->tries,
        .made_wall_us = stored->made_wall_us,
        .due_wall_us = stored->due_wall_us,
    };

    outbox_restore(userdata, &message);
}

int notices_load(struct scheduler *scheduler, struct edl_error *error)
{
    struct notices *notices = scheduler->notices;
    struct outbox *outbox = outbox_new();
    struct epoch_known known = { 0 };
    uint64_t last = 0;
    int r;

    if (scheduler->store == NULL) { /* a standby has none */
        (void)outbox_free(outbox);
        return 0;
    }
    r = store_notices(store_near(scheduler->store), load_one, outbox, &last, error);

    if (r == 0)
        r = store_known(store_near(scheduler->store), &known, error);
    if (r < 0) {
        (void)outbox_free(outbox);
        return r;
    }
    outbox_number_from(outbox, last);
    for (size_t i = 0; i < OUTBOX_AT_ONCE; i++)
        if (notices->slots[i].send != NULL)
            outbox_resume(outbox, notices->slots[i].send->message_id);
    (void)outbox_free(notices->outbox);
    notices->outbox = outbox;
    (void)snprintf(notices->mark, sizeof notices->mark, "%" PRIx64, known.made_us);
    return 0;
}

int notices_new(struct scheduler *scheduler, struct notices **ret, struct edl_error *error)
{
    struct notices *notices = xcalloc(1, sizeof *notices);
    int r;

    notices->scheduler = scheduler;
    notices->outbox = outbox_new();
    notices->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gethostname(notices->host, sizeof notices->host - 1) == -1 || notices->host[0] == '\0')
        (void)snprintf(notices->host, sizeof notices->host, "localhost");
    *ret = notices;
    r = notices->stop_fd == -1
            ? -errno
            : sd_event_add_time(scheduler->event, &notices->timer, CLOCK_BOOTTIME, 0,
                                TIMER_ACCURACY_US, on_timer, notices);
    if (r >= 0)
        r = sd_event_source_set_enabled(notices->timer, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "notices of jobs") : 0;
}

/* A look-up of a name cannot be cut short: its thread is left to the end of the process. */
struct notices *notices_free(struct notices *notices)
{
    const uint64_t one = 1;
    bool left = false;

    if (notices == NULL)
        return NULL;
    (void)!write(notices->stop_fd, &one, sizeof one);
    (void)sd_event_source_disable_unref(notices->timer);
    for (size_t i = 0; i < OUTBOX_AT_ONCE; i++) {
        struct sender_slot *slot = &notices->slots[i];

        if (slot->send != NULL && atomic_load(&slot->send->looking_up)) {
            (void)worker_abandon(slot->worker);
            left = true;
            continue;
        }
        if (slot->send != NULL)
            slot->send->job.done = notice_send_drop;
        (void)worker_free(slot->worker);
    }
    if (!left)
        (void)safe_close(notices->stop_fd);
    (void)outbox_free(notices->outbox);
    free(notices);
    return NULL;
}
