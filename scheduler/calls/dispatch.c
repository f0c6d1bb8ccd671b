/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - what stands between the HTTP server and the handlers of the route table
 *
 * One thread serves everybody. A report of a node must not wait for a thousand questions of
 * somebody else. So only calls that keep nodes in the cluster are handled whenever they come. All
 * else has a budget of time in each pass of the loop. A request beyond it waits in a queue for each
 * caller, and callers take turns (fair.h). Between two rounds of them the loop looks at its
 * sockets. While nobody waits and the budget lasts, a request is handled at once, as if there were
 * no queue.
 *
 * From a turn's first change to its commit the core is ahead of the disk. A state that a read would
 * show then may never have been: the commit can fail. So a read that comes in between is kept, and
 * handled right behind the commit, before anything else can change the core. It asks for no turn
 * and makes no commit of its own: it waits for one that is due anyway. */
#include "scheduler/calls/dispatch.h"

#include <errno.h>
#include <stdio.h>

#include "scheduler/api/api.h"
#include "scheduler/api/forecast.h"
#include "scheduler/accounts/auth.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/calls/asking.h"
#include "scheduler/calls/idempotency.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* Of each kind of caller in a pass of the loop; one handler may go beyond it. */
#define BUDGET_US (5 * USEC_PER_MSEC)

/* A request has a connection, and those of one owner are bounded (http_guard.h); so few of a person
 * wait that the last is answered long before its client gives up. Calls of processes are held back
 * by their agents' connections, and not refused here. */
static const struct fair_limits limits[] = {
    [DISPATCH_NODES] = { 0 },
    [DISPATCH_PROCESSES] = { 0 },
    [DISPATCH_PEOPLE] = { .each = 256, .all = 8192 },
    [DISPATCH_POLLS] = { 0 }, /* they were let in, and have a connection each */
    [DISPATCH_FORECASTS] = { .each = 4, .all = 32 },
};

#define OPENING_PART_OF_LEASE 5
#define OPENING_TAKE_OVER_US (250 * USEC_PER_MSEC) /* people have waited for the leader already */

/* So many passes of the loop go to other sources before one goes to the queues here. */
#define PASSES_FIRST 4
#define PRIORITY_LAST (SD_EVENT_PRIORITY_NORMAL + 10)

struct queued {
    struct fair_item item; /* first */
    struct scheduler *scheduler;
    struct http_request *request; /* borrowed */
    enum dispatch_tier tier;
    bool was_read; /* and counts as such; few forecasts wait, and the reports of nodes are few */
    uint64_t since_us; /* it waits, at the longest */
};

const char *dispatch_tier_to_string(enum dispatch_tier tier)
{
    static const char *const names[] = { "node", "process", "person", "poll", "forecast" };

    return names[tier];
}

/* --- callers --- */

/* A word that is not understood is refused by the handler. */
static bool asks_only(const struct http_request *request)
{
    struct edl_error error = { 0 };
    bool asks = false;

    return http_request_query(request, "dry_run") != NULL &&
           api_dry_run(request, &asks, &error) == 0 && asks;
}

/* tier_of - and the sharing of queues: name is the caller that fair.h is told */
static enum dispatch_tier tier_of(struct scheduler *scheduler, struct http_request *request,
                                  const struct http_route *route, char name[FAIR_NAME_MAX])
{
    const char *node = http_request_param(request, "node");
    char peer[HTTP_PEER_MAX];
    struct process *process;
    struct caller caller;

    (void)snprintf(name, FAIR_NAME_MAX, "node %s", node != NULL ? node : "");
    if ((route->flags & ROUTE_FIRST) != 0)
        return DISPATCH_NODES;
    if ((route->flags & ROUTE_PUBLIC) == 0 && auth_caller(scheduler, request, &caller) == 1) {
        (void)snprintf(name, FAIR_NAME_MAX, "user %s", caller.user);
        return asks_only(request) ? DISPATCH_FORECASTS : DISPATCH_PEOPLE;
    }
    if ((route->flags & ROUTE_NODE) != 0 && node != NULL)
        return DISPATCH_PROCESSES; /* its name is there */
    if ((route->flags & ROUTE_PROCESS) != 0 &&
        auth_process(scheduler, request, &process, NULL) == 0) {
        (void)snprintf(name, FAIR_NAME_MAX, "jobs of %s", process->job->user);
        return DISPATCH_PROCESSES;
    }
    (void)snprintf(name, FAIR_NAME_MAX, "from %s", http_request_peer(request, peer));
    return (route->flags & ROUTE_PROCESS) != 0 ? DISPATCH_PROCESSES : DISPATCH_PEOPLE;
}

/* tells_late - it is answered while a turn is in flight for long, with what is no news of the
 * state: a report with its lease, and a scrape with the figures of the scheduler itself */
static bool tells_late(const struct http_route *route)
{
    return ((route->flags & ROUTE_FIRST) != 0 && (route->flags & ROUTE_UNSTORED) != 0) ||
           route->handler == api_scrape;
}

/* Public routes tell nothing of the state: they answer whatever the disk does. */
static enum fair_class class_of(const struct http_route *route, enum dispatch_tier tier)
{
    bool reads = streq(route->method, "GET") && (route->flags & ROUTE_PUBLIC) == 0;

    if (tells_late(route))
        return FAIR_LATE;
    return reads || tier == DISPATCH_FORECASTS ? FAIR_SETTLED : FAIR_ANYTIME;
}

/* Whether a caller that was let in when the headers came may still; else the request is
 * answered. */
static bool may(struct scheduler *scheduler, struct http_request *request)
{
    struct edl_error error = { 0 };

    if (auth_recheck(scheduler, request, &error) == 0)
        return true;
    http_reply_error(request, &error);
    return false;
}

/* --- handling --- */

static void refuse(struct http_request *request)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EAGAIN, "the scheduler is restarting");
    http_reply_error(request, &error);
}

/* Nothing can be stored. An earlier request with that key is still answered. */
static void refuse_change(struct scheduler *scheduler, struct http_request *request,
                          const struct http_route *route)
{
    bool keyed = (route->flags & ROUTE_KEYED) != 0;

    if (keyed && idempotency_begin(scheduler, request))
        return;
    degraded_refuse(scheduler, request);
    if (keyed)
        idempotency_end(request);
}

static void serve_route(struct scheduler *scheduler, struct http_request *request,
                        const struct http_route *route)
{
    struct edl_error error = { 0 };

    if (!leaving_serves(scheduler, route, &error)) {
        http_reply_error(request, &error);
    } else if (scheduler->degraded.on && !degraded_serves(request, route)) {
        refuse_change(scheduler, request, route);
    } else if ((route->flags & ROUTE_KEYED) == 0) {
        route->handler(request, scheduler);
    } else if (!idempotency_begin(scheduler, request)) {
        route->handler(request, scheduler);
        idempotency_end(request);
    }
}

static void call_handler(struct scheduler *scheduler, struct http_request *request,
                         const struct http_route *route)
{
    struct asking *asking = asking_request_begin(scheduler, request);

    serve_route(scheduler, request, route);
    asking_request_end(scheduler, request, asking);
}

/* spent - of this pass of the loop, in handlers for the tier */
static uint64_t *spent(struct scheduler *scheduler, enum dispatch_tier tier)
{
    struct dispatch *dispatch = &scheduler->dispatch;
    uint64_t pass = 0;

    (void)sd_event_get_iteration(scheduler->event, &pass);
    if (pass != dispatch->pass) {
        dispatch->pass = pass;
        memset(dispatch->spent_us, 0, sizeof dispatch->spent_us);
    }
    return &dispatch->spent_us[tier];
}

static bool is_within_budget(struct scheduler *scheduler, enum dispatch_tier tier)
{
    return tier == DISPATCH_NODES || *spent(scheduler, tier) < BUDGET_US;
}

/* note_wait - it has waited since since_us at the longest; returns what time it is */
static uint64_t note_wait(struct scheduler *scheduler, enum dispatch_tier tier, uint64_t since_us)
{
    struct dispatch *dispatch = &scheduler->dispatch;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    uint64_t waited_us = now_us > since_us ? now_us - since_us : 0;

    histogram_observe(&dispatch->waits[tier], waited_us);
    dispatch->longest_wait_us[tier] = MAX_OF(dispatch->longest_wait_us[tier], waited_us);
    return now_us;
}

static void handle(struct scheduler *scheduler, struct http_request *request,
                   enum dispatch_tier tier, uint64_t since_us)
{
    uint64_t begin_us = note_wait(scheduler, tier, since_us);

    call_handler(scheduler, request, http_request_route(request));
    *spent(scheduler, tier) += clock_read_us(CLOCK_MONOTONIC) - begin_us;
}

static void look(struct scheduler *scheduler, struct dispatch_poll *poll)
{
    uint64_t begin_us = note_wait(scheduler, DISPATCH_POLLS, poll->since_us);

    poll->look(poll);
    *spent(scheduler, DISPATCH_POLLS) += clock_read_us(CLOCK_MONOTONIC) - begin_us;
}

/* --- waiting --- */

static unsigned servable(const struct scheduler *scheduler, enum dispatch_tier tier)
{
    unsigned classes = FAIR_ALL;

    if (scheduler->flight != NULL)
        return (tier == DISPATCH_NODES ? scheduler_is_late(scheduler) : scheduler_hangs(scheduler))
                   ? FAIR_ONLY(FAIR_LATE)
                   : 0;
    if (scheduler->turn_wanted)
        classes &= ~FAIR_ONLY(FAIR_SETTLED);
    if (scheduler->turn_wanted && tier != DISPATCH_NODES) /* a scrape tells of the state, too */
        classes &= ~FAIR_ONLY(FAIR_LATE);
    if (tier == DISPATCH_FORECASTS && (scheduler->forecast != NULL || scheduler->dispatch.opening))
        return 0;
    if (tier == DISPATCH_PEOPLE && scheduler->dispatch.opening)
        classes &= ~FAIR_ONLY(FAIR_ANYTIME);
    return classes;
}

/* A request that only the commit can free is served behind it, the next forecast behind the one
 * being made.
 */
static void arm(struct scheduler *scheduler)
{
    struct dispatch *dispatch = &scheduler->dispatch;
    size_t n = 0;

    for (enum dispatch_tier tier = 0; tier < DISPATCH_TIERS; tier++)
        n += fair_waiting(dispatch->waiting[tier], servable(scheduler, tier));
    (void)sd_event_source_set_enabled(dispatch->serve, n > 0 ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void queued_free(struct queued *queued)
{
    struct scheduler *scheduler = queued->scheduler;

    scheduler->dispatch.n_read -= queued->was_read;
    free(queued);
    body_reads_wake(scheduler);
}

static void on_gone(struct http_request *request, void *userdata)
{
    struct queued *queued = userdata;

    (void)request;
    fair_remove(queued->scheduler->dispatch.waiting[queued->tier], &queued->item);
    queued_free(queued);
}

/* take - its request waits no more; NULL: there is none of these classes */
static struct http_request *take(struct scheduler *scheduler, enum dispatch_tier tier,
                                 unsigned classes, uint64_t *ret_since_us)
{
    struct queued *queued = (struct queued *)fair_take(scheduler->dispatch.waiting[tier], classes);
    struct http_request *request;

    if (queued == NULL)
        return NULL;
    request = queued->request;
    *ret_since_us = queued->since_us;
    http_request_defer(request, NULL, NULL);
    queued_free(queued);
    return request;
}

/* serve_one - false: there is none of these classes */
static bool serve_one(struct scheduler *scheduler, enum dispatch_tier tier, unsigned classes)
{
    struct http_request *request;
    struct fair_item *item;
    uint64_t since_us;

    if (tier == DISPATCH_POLLS) {
        item = fair_take(scheduler->dispatch.waiting[tier], classes);
        if (item != NULL)
            look(scheduler, (struct dispatch_poll *)item);
        return item != NULL;
    }
    request = take(scheduler, tier, classes, &since_us);
    if (request != NULL && leadership_serves(scheduler, request, http_request_route(request)) &&
        may(scheduler, request))
        handle(scheduler, request, tier, since_us);
    return request != NULL;
}

/* serve - in turn, as far as the budget goes, and one in any case */
static void serve(struct scheduler *scheduler, enum dispatch_tier tier, unsigned classes)
{
    while (serve_one(scheduler, tier, classes & servable(scheduler, tier)) &&
           is_within_budget(scheduler, tier))
        continue;
}

static void serve_all(struct scheduler *scheduler, unsigned classes)
{
    for (enum dispatch_tier tier = 0; tier < DISPATCH_TIERS; tier++)
        serve(scheduler, tier, classes);
    arm(scheduler);
}

/* The sockets go first, but not for ever: a client that asks without end is only put behind the
 * others. (A source like this one is never younger to the loop than what came after it: at one
 * priority nothing else would be dispatched while somebody waits.) */
static int on_prepare(sd_event_source *source, void *userdata)
{
    struct scheduler *scheduler = userdata;

    return sd_event_source_set_priority(source, scheduler->dispatch.passed_over++ < PASSES_FIRST
                                                    ? PRIORITY_LAST
                                                    : SD_EVENT_PRIORITY_NORMAL);
}

static int on_serve(sd_event_source *source, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    scheduler->dispatch.passed_over = 0;
    serve_all(scheduler, FAIR_ALL);
    return 0;
}

static void refuse_more(struct scheduler *scheduler, struct http_request *request, const char *what,
                        size_t most, enum fair_answer why)
{
    struct edl_error error = { 0 };

    scheduler->dispatch.refused[why]++;
    if (why == FAIR_CALLER_FULL)
        (void)edl_error_set(&error, EDL_ETOOMANY, "%zu %s of yours wait already", most, what);
    else
        (void)edl_error_set(&error, EDL_ETOOMANY, "%zu %s wait already, and some are yours", most,
                            what);
    (void)edl_error_remedy(&error, "wait for some of their answers before asking for more");
    refusals_add(&scheduler->dispatch.refusals, request, &error);
}

static void wait_turn(struct scheduler *scheduler, struct http_request *request,
                      enum dispatch_tier tier, const char *name, uint64_t since_us)
{
    struct queued *queued = xcalloc(1, sizeof *queued);
    enum fair_answer answer;

    *queued = (struct queued){
        .scheduler = scheduler, .request = request, .tier = tier, .since_us = since_us
    };
    answer = fair_add(scheduler->dispatch.waiting[tier], name,
                      class_of(http_request_route(request), tier), &queued->item);
    if (answer != FAIR_TAKEN) {
        free(queued);
        refuse_more(scheduler, request, tier == DISPATCH_FORECASTS ? "dry runs" : "requests",
                    answer == FAIR_CALLER_FULL ? limits[tier].each : limits[tier].all, answer);
        return;
    }
    queued->was_read =
        (tier == DISPATCH_PEOPLE || tier == DISPATCH_PROCESSES) && http_request_was_read(request);
    scheduler->dispatch.n_read += queued->was_read;
    http_request_defer(request, on_gone, queued);
    arm(scheduler);
}

static bool is_next(struct scheduler *scheduler, const struct http_route *route,
                    enum dispatch_tier tier)
{
    const struct fair *waiting = scheduler->dispatch.waiting[tier];
    unsigned classes = servable(scheduler, tier);

    return (classes & FAIR_ONLY(class_of(route, tier))) != 0 &&
           (tier == DISPATCH_NODES ||
            (fair_waiting(waiting, classes) == 0 && is_within_budget(scheduler, tier)));
}

/* --- the start --- */

static void end_opening(struct scheduler *scheduler)
{
    scheduler->dispatch.opening = false;
    (void)sd_event_source_set_enabled(scheduler->dispatch.opened, SD_EVENT_OFF);
    body_reads_wake(scheduler);
    arm(scheduler);
}

static int on_opened(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    end_opening(userdata);
    return 0;
}

static void note_report(struct scheduler *scheduler)
{
    if (scheduler->dispatch.opening && cluster_unheard_nodes(scheduler->cluster) == 0)
        end_opening(scheduler);
}

void dispatch_open(struct scheduler *scheduler)
{
    struct dispatch *dispatch = &scheduler->dispatch;
    uint64_t most_us = MIN_OF(scheduler->options.lease_us / OPENING_PART_OF_LEASE, USEC_PER_SEC);

    if (scheduler->leadership.role != ROLE_ALONE)
        most_us = MIN_OF(most_us, (uint64_t)OPENING_TAKE_OVER_US);
    if (cluster_unheard_nodes(scheduler->cluster) == 0)
        return;
    if (sd_event_source_set_time_relative(dispatch->opened, most_us) >= 0)
        dispatch->opening = sd_event_source_set_enabled(dispatch->opened, SD_EVENT_ONESHOT) >= 0;
}

/* --- all together --- */

static void read_first(struct scheduler *scheduler, struct http_request *request,
                       enum dispatch_tier tier, const char *name, uint64_t since_us)
{
    enum fair_answer answer = body_reads_add(scheduler, request, tier, name, since_us);

    if (answer != FAIR_TAKEN)
        refuse_more(scheduler, request, "large bodies", body_reads_most(answer), answer);
}

/* is_its_turn - one whose body was read has waited for that, and may not keep what came of it for
 * long: that takes more memory than the body. So with one whose rows came */
static bool is_its_turn(struct scheduler *scheduler, struct http_request *request,
                        enum dispatch_tier tier)
{
    const struct http_route *route = http_request_route(request);

    if (scheduler->flight != NULL && route_is_public_read(route))
        return true;
    return is_next(scheduler, route, tier) ||
           (http_request_was_read(request) && tier != DISPATCH_FORECASTS &&
            scheduler->flight == NULL) ||
           (asking_is_again(request) &&
            (servable(scheduler, tier) & FAIR_ONLY(class_of(route, tier))) != 0) ||
           (scheduler->dispatch.opening && (route->flags & ROUTE_PUBLIC) != 0);
}

static void dispatch_since(struct scheduler *scheduler, struct http_request *request,
                           uint64_t since_us)
{
    const struct http_route *route = http_request_route(request);
    char name[FAIR_NAME_MAX];
    enum dispatch_tier tier;

    if (scheduler->failed) { /* its headers came before that: auth_check let it pass */
        refuse(request);
        return;
    }
    if (!leadership_serves(scheduler, request, route)) /* its headers came before that, too */
        return;
    if (!may(scheduler, request))
        return;
    tier = tier_of(scheduler, request, route, name);
    if (body_reads_wants(request, tier))
        read_first(scheduler, request, tier, name, since_us);
    else if (is_its_turn(scheduler, request, tier))
        handle(scheduler, request, tier, since_us);
    else
        wait_turn(scheduler, request, tier, name, since_us);
    if (tier == DISPATCH_NODES)
        note_report(scheduler);
}

void dispatch(struct http_request *request, const struct http_route *route, void *userdata)
{
    (void)route;
    dispatch_since(userdata, request,
                   clock_read_us(CLOCK_MONOTONIC) - http_request_waited_us(request));
}

void dispatch_read(struct scheduler *scheduler, struct http_request *request, uint64_t since_us)
{
    dispatch_since(scheduler, request, since_us);
}

void dispatch_again(struct scheduler *scheduler, struct http_request *request)
{
    dispatch_since(scheduler, request, clock_read_us(CLOCK_MONOTONIC));
}

void dispatch_readers(struct scheduler *scheduler)
{
    /* Should one of them change the core, the rest waits for that turn's commit. */
    for (enum dispatch_tier tier = 0; tier < DISPATCH_TIERS; tier++)
        serve(scheduler, tier,
              tier == DISPATCH_NODES ? FAIR_ONLY(FAIR_SETTLED)
                                     : FAIR_ONLY(FAIR_SETTLED) | FAIR_ONLY(FAIR_LATE));
    arm(scheduler);
}

/* Whatever has asked for another turn already: behind it nodes would wait for as long again. */
void dispatch_landed(struct scheduler *scheduler)
{
    bool takes = !scheduler->degraded.on && !scheduler->failed && !scheduler->leaving.on;

    late_reports_take(&scheduler->late_reports, takes ? api_late_report : NULL, scheduler);
    if (takes)
        serve(scheduler, DISPATCH_NODES, FAIR_ALL);
    arm(scheduler);
}

void dispatch_caller(struct scheduler *scheduler, struct http_request *request,
                     char ret[FAIR_NAME_MAX])
{
    (void)tier_of(scheduler, request, http_request_route(request), ret);
}

void dispatch_poll(struct scheduler *scheduler, const char *caller, struct dispatch_poll *poll)
{
    if (poll->item.caller != NULL)
        return;
    poll->since_us = clock_read_us(CLOCK_MONOTONIC);
    (void)fair_add(scheduler->dispatch.waiting[DISPATCH_POLLS], caller, FAIR_SETTLED, &poll->item);
    arm(scheduler);
}

void dispatch_unpoll(struct scheduler *scheduler, struct dispatch_poll *poll)
{
    fair_remove(scheduler->dispatch.waiting[DISPATCH_POLLS], &poll->item);
}

void dispatch_wake(struct scheduler *scheduler)
{
    arm(scheduler);
}

void dispatch_refuse(struct scheduler *scheduler)
{
    struct http_request *request;
    uint64_t since_us;

    for (enum dispatch_tier tier = 0; tier < DISPATCH_TIERS; tier++)
        while (tier != DISPATCH_POLLS && /* those wait as long as they were to */
               (request = take(scheduler, tier, FAIR_ALL, &since_us)) != NULL)
            refuse(request);
}

size_t dispatch_n_readers(const struct scheduler *scheduler)
{
    size_t n = 0;

    for (size_t i = 0; i < DISPATCH_TIERS; i++)
        n += i != DISPATCH_POLLS
                 ? fair_waiting(scheduler->dispatch.waiting[i], FAIR_ONLY(FAIR_SETTLED))
                 : 0;
    return n;
}

/* --- life --- */

int dispatch_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct dispatch *dispatch = &scheduler->dispatch;
    int r;

    for (size_t i = 0; i < DISPATCH_TIERS; i++) {
        dispatch->waiting[i] = fair_new(&limits[i]);
        histogram_init(&dispatch->waits[i], histogram_work_us);
    }
    r = sd_event_add_defer(scheduler->event, &dispatch->serve, on_serve, scheduler);
    if (r >= 0)
        r = sd_event_source_set_prepare(dispatch->serve, on_prepare);
    if (r >= 0)
        r = sd_event_source_set_enabled(dispatch->serve, SD_EVENT_OFF);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the requests on the event loop");
    r = sd_event_add_time(scheduler->event, &dispatch->opened, CLOCK_BOOTTIME, 0, 1, on_opened,
                          scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(dispatch->opened, SD_EVENT_OFF);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the start on the event loop");
    (void)sd_event_source_set_description(dispatch->serve, "requests");
    return refusals_init(&dispatch->refusals, scheduler->event, error);
}

void dispatch_done(struct scheduler *scheduler)
{
    struct dispatch *dispatch = &scheduler->dispatch;

    refusals_done(&dispatch->refusals);
    late_reports_take(&scheduler->late_reports, NULL, NULL);
    dispatch->serve = sd_event_source_disable_unref(dispatch->serve);
    dispatch->opened = sd_event_source_disable_unref(dispatch->opened);
    for (size_t i = 0; i < DISPATCH_TIERS; i++)
        dispatch->waiting[i] = fair_free(dispatch->waiting[i]);
}
