/* SPDX-License-Identifier: Apache-2.0 */
/* leadership.c - see leadership.h */
#include "scheduler/leadership/leadership.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/leadership/candidate.h"
#include "scheduler/leadership/copy_wait.h"
#include "scheduler/leadership/known_term.h"
#include "scheduler/leadership/postgresql_database.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* A report that tells of a higher term ends a term so often at most: the database is asked then,
 * and its answer counts for so long. */
#define WORD_COUNTS_EVERY_US (60 * USEC_PER_SEC)
/* A database that was put back to an earlier moment has lost fewer terms than these. A number
 * beyond them is made up. */
#define TERMS_LOST_MAX (UINT64_C(1) << 20)
/* Three signs of life. */
#define FRESH_US (1500 * USEC_PER_MSEC)
#define OF_NODES (ROUTE_NODE | ROUTE_JOIN | ROUTE_PROCESS)

const char *leadership_role_to_string(enum leadership_role role)
{
    static const char *const names[] = { "alone", "standby", "leader", "away" };

    return names[role];
}

enum leadership_role leadership_shown_role(const struct leadership *leadership)
{
    const struct scheduler_peer *leader = &leadership->leader;
    bool follows = leader->name[0] != '\0' && !streq(leader->name, leadership->self.name) &&
                   leadership->leader_term > leadership->term;

    return leadership->role == ROLE_AWAY && follows ? ROLE_STANDBY : leadership->role;
}

void leadership_init(struct scheduler *scheduler)
{
    struct leadership *leadership = &scheduler->leadership;
    const struct scheduler_options *options = &scheduler->options;
    struct scheduler_peer *self = &leadership->self;

    leadership->role = options->store[0] == '\0' ? ROLE_ALONE : ROLE_STANDBY;
    leadership->kept_term = leadership->role == ROLE_ALONE ? 0 : known_term_read(options);
    leadership->database = options->database != NULL ? options->database : &postgresql_database;
    (void)snprintf(self->name, sizeof self->name, "%s", options->scheduler_name);
    if (self->name[0] == '\0' && gethostname(self->name, sizeof self->name) == -1)
        (void)snprintf(self->name, sizeof self->name, "scheduler");
    self->name[sizeof self->name - 1] = '\0';
    (void)snprintf(self->address, sizeof self->address, "%s",
                   options->address[0] != '\0' ? options->address : scheduler->listeners.url);
}

/* --- the permission --- */

bool leadership_may_lease(const struct scheduler *scheduler)
{
    const struct leadership *leadership = &scheduler->leadership;

    return leadership->role == ROLE_ALONE ||
           permission_holds(&leadership->permission, clock_read_us(CLOCK_BOOTTIME));
}

void leadership_stored(struct scheduler *scheduler, uint64_t sent_us)
{
    if (scheduler->leadership.role == ROLE_LEADER && !scheduler->leadership.ends)
        permission_stored(&scheduler->leadership.permission, sent_us);
}

bool leadership_is_fresh(const struct scheduler *scheduler)
{
    const struct leadership *leadership = &scheduler->leadership;
    uint64_t sent_us = leadership->permission.until_us - PERMISSION_US;

    return leadership->role == ROLE_ALONE ||
           (leadership->role == ROLE_LEADER && leadership->permission.until_us != 0 &&
            clock_read_us(CLOCK_BOOTTIME) < sent_us + FRESH_US);
}

int leadership_doubt(const struct scheduler *scheduler, const struct http_route *route,
                     struct edl_error *error)
{
    if (error->code == -EAGAIN || (route->flags & OF_NODES) == 0 || leadership_is_fresh(scheduler))
        return error->code;
    return edl_error_set(error, -EAGAIN, "scheduler %s does not know now whether it leads",
                         scheduler->leadership.self.name);
}

/* --- calls that are answered --- */

bool leadership_knows_state(const struct scheduler *scheduler)
{
    enum leadership_role role = scheduler->leadership.role;

    return role == ROLE_ALONE || (role == ROLE_LEADER && leadership_may_lease(scheduler));
}

bool leadership_may_open(const struct http_route *route)
{
    return route->handler == api_scrape;
}

bool leadership_opens(const struct scheduler *scheduler, const struct http_route *route)
{
    return leadership_may_open(route) && !leadership_knows_state(scheduler);
}

static bool is_served(const struct scheduler *scheduler, const struct http_route *route)
{
    bool public = route_is_public_read(route) || leadership_opens(scheduler, route);

    switch (scheduler->leadership.role) {
    case ROLE_ALONE:
        return true;
    case ROLE_LEADER: /* one that was stopped for long may be none, and its callers would believe it
                       */
        return public || leadership_may_lease(scheduler);
    case ROLE_STANDBY:
        return public;
    case ROLE_AWAY:
        return public || (route->handler == api_node_report && leadership_may_lease(scheduler));
    }
    return false;
}

/* No credential is looked at before, so the answer has no names. */
static int refuse(const struct scheduler *scheduler, struct http_request *request,
                  struct edl_error *error)
{
    const struct leadership *leadership = &scheduler->leadership;
    const struct scheduler_peer *leader = &leadership->leader;

    bool follows = leader->name[0] != '\0' && !streq(leader->name, leadership->self.name);

    if (!follows && copy_wait_nameless(&leadership->facts, error) < 0)
        return error->code;
    if (!follows && scheduler->degraded.away)
        return degraded_nameless(scheduler, error);
    if (leadership_shown_role(leadership) == ROLE_STANDBY)
        (void)edl_error_set(error, -EAGAIN, "scheduler %s is a standby", leadership->self.name);
    else
        (void)edl_error_set(error, -EAGAIN, "scheduler %s does not lead now",
                            leadership->self.name);
    if (!follows)
        return edl_error_remedy(error, "ask again: one of the cluster's schedulers leads soon");
    if (leader->address[0] == '\0')
        return edl_error_remedy(error, "ask %s, which leads", leader->name);
    http_reply_header(request, "EDL-Leader", leader->address);
    return edl_error_remedy(error, "ask %s, which leads: edl --server %s%s", leader->name,
                            leader->address,
                            http_request_peer_fd(request) >= 0 ? ", with a token" : "");
}

int leadership_check(const struct scheduler *scheduler, struct http_request *request,
                     const struct http_route *route, struct edl_error *error)
{
    return is_served(scheduler, route) ? 0 : refuse(scheduler, request, error);
}

bool leadership_serves(const struct scheduler *scheduler, struct http_request *request,
                       const struct http_route *route)
{
    struct edl_error error = { 0 };

    if (leadership_check(scheduler, request, route, &error) == 0)
        return true;
    http_reply_error(request, &error);
    return false;
}

/* --- the word of a node --- */

static bool may_be(const struct leadership *leadership, uint64_t term)
{
    return leadership->role != ROLE_ALONE && term > leadership->term && term < TERM_END &&
           term - leadership->term <= TERMS_LOST_MAX;
}

/* Nothing that an agent says may keep a leader from leading for long. */
static bool counts(const struct leadership *leadership)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    return leadership->role == ROLE_LEADER &&
           (leadership->ended_by_word_us == 0 ||
            now_us - leadership->ended_by_word_us >= WORD_COUNTS_EVERY_US);
}

bool leadership_hear(struct scheduler *scheduler, struct http_request *request, const char *node,
                     uint64_t term)
{
    struct leadership *leadership = &scheduler->leadership;
    struct edl_error error = { 0 };

    if (!may_be(leadership, term))
        return true;
    leadership->told_term = MAX_OF(leadership->told_term, term);
    if (leadership->candidate != NULL) /* a test has none */
        candidate_climb(leadership->candidate, leadership->told_term + 1);
    if (!counts(leadership))
        return true;
    leadership->ended_by_word_us = clock_read_us(CLOCK_BOOTTIME);
    (void)edl_error_set(&error, -ESTALE, "node %s knows of term %" PRIu64, node, term);
    leadership_end(scheduler, &error);
    return leadership_serves(scheduler, request, http_request_route(request));
}

/* --- answers --- */

/* is_for_all - an address without TLS is of its own machine alone. On another one anybody may
 * answer at it, and a node or a person would show a credential there */
static bool is_for_all(const struct leadership *leadership, const char *address)
{
    static const char tls[] = "https://";
    bool needs_tls = strncmp(leadership->self.address, tls, strlen(tls)) == 0;

    return address[0] != '\0' && (!needs_tls || strncmp(address, tls, strlen(tls)) == 0);
}

json_t *leadership_add(const struct scheduler *scheduler, json_t *object)
{
    const struct leadership *leadership = &scheduler->leadership;
    json_t *servers;

    if (leadership->role == ROLE_ALONE)
        return object;
    (void)json_object_set_new(object, "term", json_integer((json_int_t)leadership->term));
    servers = json_array();
    if (leadership->self.address[0] != '\0')
        (void)json_array_append_new(servers, json_string(leadership->self.address));
    for (size_t i = 0; i < leadership->n_others; i++)
        if (is_for_all(leadership, leadership->others[i].address))
            (void)json_array_append_new(servers, json_string(leadership->others[i].address));
    (void)json_object_set_new(object, "servers", servers);
    return object;
}

static bool why_not_stored(const struct scheduler *scheduler, struct edl_error *error)
{
    return copy_wait_nameless(&scheduler->leadership.facts, error) < 0 ||
           (scheduler->degraded.on && degraded_nameless(scheduler, error) < 0);
}

json_t *leadership_health(const struct scheduler *scheduler)
{
    const struct leadership *leadership = &scheduler->leadership;
    bool leads = leadership->role == ROLE_LEADER;
    const char *address = leads ? leadership->self.address : leadership->leader.address;
    uint64_t term = leads ? leadership->term : leadership->leader_term;
    json_t *health = json_pack("{s:s}", "status", "ok");
    struct edl_error error = { 0 };

    if (leadership->role == ROLE_ALONE)
        return health;
    (void)json_object_set_new(health, "role",
                              json_string(
                                  leadership_role_to_string(leadership_shown_role(leadership))));
    if (address[0] != '\0')
        (void)json_object_set_new(health, "leader", json_string(address));
    if (term != 0)
        (void)json_object_set_new(health, "term", json_integer((json_int_t)term));
    if (why_not_stored(scheduler, &error))
        (void)json_object_update_new(health, json_pack("{s:s,s:s}", "detail", error.text, "remedy",
                                                       error.remedy));
    return health;
}
