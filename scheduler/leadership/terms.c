/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - how a term begins and ends in the loop
 *
 * The candidate brings a store that waits for its database. The state is loaded from it, while
 * nobody else uses it. Then it is the writing thread's (far.h), and calls are served. A term that
 * ended leaves memory as it was, for reports alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "scheduler/api/workspaces.h"
#include "scheduler/calls/answered_keys.h"
#include "scheduler/calls/asking.h"
#include "scheduler/leadership/candidate.h"
#include "scheduler/leadership/copy_wait.h"
#include "scheduler/leadership/known_term.h"
#include "scheduler/leadership/leadership.h"
#include "scheduler/leadership/watch.h"
#include "scheduler/migrate.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/notices/notices.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ALIVE_EVERY_US (500 * USEC_PER_MSEC)
#define ALIVE_ACCURACY_US (20 * USEC_PER_MSEC)
#define CLOCK_WRONG_US ((int64_t)USEC_PER_SEC)
#define CLOCK_ERROR_MAX_US (500 * USEC_PER_MSEC)
#define START_US (3 * USEC_PER_SEC) /* a former process of the same name ends within */

/* --- the status --- */

static void tell_status(struct leadership *leadership, const char *status)
{
    if (streq(leadership->status, status))
        return;
    (void)snprintf(leadership->status, sizeof leadership->status, "%s", status);
    (void)sd_notifyf(0, "STATUS=%s", status);
    log_info("scheduler %s: %s", leadership->self.name, status);
}

static void tell_ready(struct leadership *leadership)
{
    if (!leadership->ready)
        (void)sd_notify(0, "READY=1");
    leadership->ready = true;
}

/* A candidate waits for one of these. */
static void tell_waiting(struct leadership *leadership)
{
    const struct scheduler_peer *leader = &leadership->leader;
    struct edl_error wait = { 0 };
    char status[sizeof leadership->status];

    if (copy_wait_error(&leadership->facts, &wait) < 0)
        (void)snprintf(status, sizeof status, "%.199s", wait.text);
    else if (leadership->why.code != 0)
        (void)snprintf(status, sizeof status, "waits for the database: %.250s%s%.200s",
                       leadership->why.text, leadership->why.remedy[0] != '\0' ? "; " : "",
                       leadership->why.remedy);
    else if (leader->name[0] == '\0')
        (void)snprintf(status, sizeof status, "waits to lead");
    else if (streq(leader->name, leadership->self.name))
        (void)snprintf(status, sizeof status, "waits for the end of its own term %" PRIu64,
                       leadership->leader_term);
    else
        (void)snprintf(status, sizeof status, "standby of %s (term %" PRIu64 ")", leader->name,
                       leadership->leader_term);
    tell_status(leadership, status);
}

/* --- the database tells --- */

/* know - whoever is started here next knows it, too. A database that was never open here may be
 * that of another cluster */
static void know(struct scheduler *scheduler, uint64_t term)
{
    struct leadership *leadership = &scheduler->leadership;
    struct edl_error error = { 0 };

    if (leadership->candidate != NULL)
        candidate_know(leadership->candidate, term);
    if (!leadership->was_open || term <= leadership->kept_term)
        return;
    if (known_term_keep(&scheduler->options, term, &error) == 0)
        leadership->kept_term = term;
    else if (leadership->unkept_term != term) /* it is tried again with each look */
        log_warning("the term %" PRIu64 " cannot be kept: %s", term, error.text);
    leadership->unkept_term = term;
}

/* Times that are stored and shown are those of the database's clock. The own one is that of the
 * log and of certificates. A look that took long tells little. */
static void look_at_clock(struct scheduler *scheduler, const struct shared_facts *facts)
{
    struct leadership *leadership = &scheduler->leadership;
    int64_t ahead_us = facts->clock_ahead_us;
    bool is_wrong = llabs(ahead_us) > CLOCK_WRONG_US;

    if (facts->clock_error_us > CLOCK_ERROR_MAX_US)
        return;
    cluster_clock_compared(&scheduler->clock, ahead_us);
    if (is_wrong && !leadership->clock_is_wrong)
        log_warning("the clock of this machine is %.1f s %s that of the database: set both by NTP",
                    (double)llabs(ahead_us) / (double)USEC_PER_SEC,
                    ahead_us > 0 ? "ahead of" : "behind");
    leadership->clock_is_wrong = is_wrong;
}

/* Each commit stands still then, and its own error comes late, without the cause. */
static void look_at_copies(struct leadership *leadership)
{
    struct edl_error wait = { 0 };
    bool is_missed = copy_wait_error(&leadership->facts, &wait) < 0;

    if (is_missed && !leadership->copy_is_missed)
        log_warning("%s: %s", wait.text, wait.remedy);
    if (!is_missed && leadership->copy_is_missed)
        log_info("the database at %s waits for no copy any more", leadership->facts.server);
    leadership->copy_is_missed = is_missed;
}

static void take_facts(struct scheduler *scheduler, const struct shared_facts *facts)
{
    struct leadership *leadership = &scheduler->leadership;

    leadership->facts = *facts;
    leadership->facts_us = clock_read_us(CLOCK_BOOTTIME);
    leadership->leader = facts->leader;
    leadership->leader_term = facts->term;
    look_at_clock(scheduler, facts);
    look_at_copies(leadership);
    leadership->n_others = 0;
    for (size_t i = 0; i < facts->n_schedulers; i++)
        if (!streq(facts->schedulers[i].name, leadership->self.name))
            leadership->others[leadership->n_others++] = facts->schedulers[i];
}

static void on_told(const struct shared_facts *facts, const struct edl_error *error, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct leadership *leadership = &scheduler->leadership;

    (void)error; /* the candidate and the turns tell what is wrong */
    if (facts == NULL) {
        leadership->facts.commit_waits_us = 0; /* it is not known any more */
        leadership->copy_is_missed = false;
        return;
    }
    take_facts(scheduler, facts);
    know(scheduler, facts->term);
    if (leadership->role != ROLE_LEADER)
        tell_waiting(leadership);
}

/* --- a term begins --- */

/* make_far - the near store is the far one's then */
static int make_far(struct scheduler *scheduler, struct store *near, struct edl_error *error)
{
    const struct far_config config = { .writer = near };
    struct store *far;
    int r = answered_keys_load(&scheduler->answered, near, error);

    scheduler->leadership.database->loaded(near);
    if (r == 0)
        r = store_far_new(scheduler->event, &config, &far, error);
    if (r < 0)
        return r;
    scheduler->store = far;
    log_hub_set_store(scheduler->logs, far);
    store_on_stored(far, scheduler_stored, scheduler);
    state_tell_kept(scheduler);
    return 0;
}

/* Its files may be others since it began to wait. In a later term the rows of the database tell. */
static int reread_workspaces(struct scheduler *scheduler, struct edl_error *error)
{
    if (scheduler->workspaces.rows != NULL || scheduler->workspaces.uploads != NULL)
        return 0;
    api_workspaces_done(scheduler);
    return api_workspaces_init(scheduler, error);
}

/* load - the stored state takes the place of the one in memory */
static int load(struct scheduler *scheduler, const struct lead *lead, struct edl_error *error)
{
    struct store *near = lead->store, *former = scheduler->store;
    int r = state_new_run(scheduler, error);

    scheduler->store = near;
    if (r == 0)
        r = cluster_clock_take_over(&scheduler->clock, near, lead->clock_ahead_us, error);
    if (r == 0)
        r = state_load(scheduler, error);
    if (r == 0)
        r = notices_load(scheduler, error);
    if (r == 0)
        r = reread_workspaces(scheduler, error);
    if (r == 0)
        r = api_workspaces_begin_term(scheduler, near, lead->term, error);
    if (r == 0)
        r = make_far(scheduler, near, error);
    if (r == 0) {
        (void)store_free(former);
        return 0;
    }
    scheduler->store = former;
    log_hub_set_store(scheduler->logs, former);
    return r;
}

/* tell_advice - before the store is the writing thread's */
static void tell_advice(struct leadership *leadership, const struct store *store)
{
    const char *line = leadership->advice;

    (void)snprintf(leadership->advice, sizeof leadership->advice, "%s",
                   leadership->database->warnings(store));
    while (*line != '\0') {
        size_t size = strcspn(line, "\n");

        log_warning("%.*s", (int)size, line);
        line += size + (line[size] == '\n');
    }
}

static void begin_term(struct scheduler *scheduler, const struct lead *lead)
{
    struct leadership *leadership = &scheduler->leadership;
    char status[sizeof leadership->status];

    leadership->role = ROLE_LEADER;
    leadership->term = leadership->leader_term = lead->term;
    leadership->since_wall_us = clock_shown_us(clock_instant().wall_us);
    leadership->leader = leadership->self;
    leadership->ends = false;
    leadership->why = (struct edl_error){ 0 };
    know(scheduler, lead->term);
    permission_stored(&leadership->permission, lead->sent_us);
    if (scheduler->degraded.on) /* its status is none: ours comes behind it */
        degraded_end(scheduler);
    (void)snprintf(status, sizeof status, "leads (term %" PRIu64 ")", lead->term);
    tell_status(leadership, status);
    scheduler_tell_state(scheduler);
    tell_ready(leadership);
    scheduler->committed = false;
    (void)sd_event_source_set_time_relative(leadership->alive, ALIVE_EVERY_US);
    (void)sd_event_source_set_enabled(leadership->alive, SD_EVENT_ON);
    scheduler_begin(scheduler);
    askings_go_on(scheduler);
    leadership->facts = (struct shared_facts){ 0 }; /* they may be of another server */
    leadership->facts_us = 0;
    watch_renew(leadership->watch);
}

/* passes - it says nothing of the state. -ETIMEDOUT: a person, or a program that watches the
 * database, ended the statement */
static bool passes(int code)
{
    return code == -ENOTCONN || code == -ESTALE || code == -EAGAIN || code == -ETIMEDOUT;
}

/* A state that cannot be read is no reason to be tried for ever: it is as it is. */
static void on_leads(const struct lead *lead, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    int r;

    tell_advice(&scheduler->leadership, lead->store);
    r = load(scheduler, lead, &error);
    if (r == 0) {
        begin_term(scheduler, lead);
        return;
    }
    (void)store_free(lead->store);
    if (passes(r)) {
        log_warning("term %" PRIu64 " ended while the state was loaded: %s", lead->term,
                    error.text);
        candidate_start(scheduler->leadership.candidate);
        return;
    }
    scheduler_end(scheduler, END_NOT_LOADED, &error);
}

/* --- waiting --- */

static void on_waits(void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct leadership *leadership = &scheduler->leadership;
    struct edl_error error = { 0 };

    leadership->why = (struct edl_error){ 0 };
    leadership->was_open = true;
    if (migrate_remember(&scheduler->options, &error) < 0)
        log_warning("where the state is cannot be kept: %s", error.text);
    watch_tell(leadership->watch, true);
    watch_ask(leadership->watch);
    tell_ready(leadership);
}

/* lasts - what may be so for long, and ends by itself or by somebody's work at the database */
static bool lasts(int code)
{
    return code == -ENOTCONN || code == -EBUSY || code == -ENOSPC;
}

/* ends_start - whether a process that has not been ready yet is to end: somebody has to do
 * something about it, and sees it at the service that does not start */
static bool ends_start(const struct leadership *leadership, int code)
{
    uint64_t tried_us = clock_read_us(CLOCK_BOOTTIME) - leadership->began_us;

    if (leadership->ready || lasts(code) || code == -EAGAIN || code == -ESTALE)
        return false;
    return code != -EEXIST || tried_us > START_US;
}

static void on_failed(const struct edl_error *why, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct leadership *leadership = &scheduler->leadership;

    leadership->why = *why;
    if (why->code == -EEXIST)
        watch_tell(leadership->watch, false);
    if (ends_start(leadership, why->code)) {
        (void)log_failure(why, "cannot start");
        scheduler->failed = true;
        (void)sd_event_exit(scheduler->event, 1);
        return;
    }
    tell_waiting(leadership);
    if (lasts(why->code)) /* and the boot goes on */
        tell_ready(leadership);
}

/* --- a term ends --- */

static void on_alive(void *userdata, int r, uint64_t sent_us, const struct edl_error *error)
{
    struct scheduler *scheduler = userdata;

    if (r >= 0)
        leadership_stored(scheduler, sent_us);
    else
        leadership_end(scheduler, error);
}

static int on_alive_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)usec;
    (void)sd_event_source_set_time_relative(source, ALIVE_EVERY_US);
    if (scheduler->flight == NULL && scheduler->leadership.role == ROLE_LEADER)
        store_live_probe(scheduler->store, on_alive, scheduler);
    return 0;
}

void leadership_lost(struct scheduler *scheduler, const struct edl_error *error)
{
    struct leadership *leadership = &scheduler->leadership;

    if (leadership->role != ROLE_LEADER)
        return;
    leadership->role = ROLE_AWAY;
    leadership->ends = false;
    leadership->leader = (struct scheduler_peer){ .name = "" };
    leadership->why = *error;
    (void)sd_event_source_set_enabled(leadership->alive, SD_EVENT_OFF);
    log_warning("term %" PRIu64 " of scheduler %s has ended: %s", leadership->term,
                leadership->self.name, error->text);
    if (leadership->candidate == NULL) /* a test */
        return;
    candidate_start(leadership->candidate);
    watch_ask(leadership->watch);
}

bool leadership_outlives(const struct scheduler *scheduler, int code)
{
    const struct leadership *leadership = &scheduler->leadership;

    return code == -ENOSPC && leadership->role == ROLE_LEADER && !leadership->ends;
}

bool leadership_ends_at(const struct scheduler *scheduler, int code)
{
    return scheduler->leadership.role != ROLE_ALONE && (passes(code) || degraded_survives(code));
}

static int on_ending(sd_event_source *source, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct leadership *leadership = &scheduler->leadership;

    if (scheduler->flight != NULL) /* scheduler_stored comes first */
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    if (leadership->role == ROLE_LEADER)
        scheduler_away(scheduler, &leadership->why);
    return 0;
}

void leadership_end(struct scheduler *scheduler, const struct edl_error *why)
{
    struct leadership *leadership = &scheduler->leadership;

    if (why->code == -ESTALE)
        leadership->permission = (struct permission){ 0 };
    if (leadership->role != ROLE_LEADER || leadership->ends)
        return;
    leadership->ends = true;
    leadership->why = *why;
    if (scheduler->flight == NULL)
        scheduler_away(scheduler, why);
    else if (leadership->ending != NULL)
        (void)sd_event_source_set_enabled(leadership->ending, SD_EVENT_ONESHOT);
}

/* --- life --- */

static int make_sources(struct scheduler *scheduler, struct edl_error *error)
{
    struct leadership *leadership = &scheduler->leadership;
    int r = sd_event_add_time(scheduler->event, &leadership->alive, CLOCK_MONOTONIC, 0,
                              ALIVE_ACCURACY_US, on_alive_timer, scheduler);

    if (r >= 0)
        r = sd_event_source_set_enabled(leadership->alive, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_post(scheduler->event, &leadership->ending, on_ending, scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(leadership->ending, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

int leadership_begin(struct scheduler *scheduler, struct edl_error *error)
{
    struct leadership *leadership = &scheduler->leadership;
    const struct shared_self self = { .name = leadership->self.name,
                                      .address = leadership->self.address,
                                      .authority = scheduler->listeners.tls.pin,
                                      .known_term = leadership->kept_term };
    const struct candidate_config candidate = { .database = leadership->database,
                                                .url = scheduler->options.store,
                                                .self = self,
                                                .waits = on_waits,
                                                .failed = on_failed,
                                                .leads = on_leads,
                                                .userdata = scheduler };
    const struct watch_config watch = { .database = leadership->database,
                                        .url = scheduler->options.store,
                                        .self = self,
                                        .told = on_told,
                                        .userdata = scheduler };
    int r;

    if (leadership->role == ROLE_ALONE)
        return 0;
    leadership->began_us = clock_read_us(CLOCK_BOOTTIME);
    r = make_sources(scheduler, error);
    if (r == 0)
        r = watch_new(scheduler->event, &watch, &leadership->watch, error);
    if (r == 0)
        r = candidate_new(scheduler->event, &candidate, &leadership->candidate, error);
    if (r == 0)
        candidate_start(leadership->candidate);
    return r;
}

void leadership_done(struct scheduler *scheduler)
{
    struct leadership *leadership = &scheduler->leadership;

    leadership->candidate = candidate_free(leadership->candidate);
    leadership->watch = watch_free(leadership->watch);
    leadership->alive = sd_event_source_disable_unref(leadership->alive);
    leadership->ending = sd_event_source_disable_unref(leadership->ending);
}
