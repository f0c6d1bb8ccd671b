/* SPDX-License-Identifier: Apache-2.0 */
/* link_sm.c - decisions of the connection to the scheduler (see link_sm.h) */
#include "agent/core/link_sm.h"

#include "shared/macro.h"

#define BACKOFF_FIRST_US (100 * USEC_PER_MSEC)
#define BACKOFF_MOST_US (2 * USEC_PER_SEC)
#define BACKOFF_DOUBLINGS 10U
#define POLL_SPACING_US (5 * USEC_PER_MSEC) /* from one poll to the next */
/* A poll is given up when so many reports in a row, over so long a time, spoke of other orders. */
#define BEHIND_REPORTS 3
#define BEHIND_LEAST_US (500 * USEC_PER_MSEC)
/* Two in a row that are lost must not cost the lease, of which two thirds are there for it: after a
 * quarter the first, which is given up after a seventh and sent again, twice. */
#define REPORT_PART_OF_LEASE 4
#define TIMEOUT_PART_OF_LEASE 7
#define SLOW_PART_OF_LEASE 3 /* for a link whose answers take longer than half of that seventh */
#define BACKOFF_PART_OF_LEASE 16
#define QUICK_FAILURES 2
/* While programs stand still, each second counts. */
#define EAGER_TIMEOUT_US USEC_PER_SEC
#define PATIENT_ONE_IN 16 /* tries: a slow link needs longer for a new connection */
#define EAGER_TRY_US (250 * USEC_PER_MSEC) /* up to twice that */
/* Between rounds in which somebody answered: thousands of nodes ask the one that is to take over.
 */
#define ANSWERED_PART_OF_LEASE 8
#define NOT_STORED_ANSWERS 2 /* in a row: then another scheduler is asked as well */
#define SEVERAL_SLOWLY 3     /* rounds in which another one answered count as one that was lost */
#define SLOWER_MOST 3U       /* doublings of LINK_SEVERAL_TIMEOUT_US */

static struct link_action *add(struct link_actions *actions, enum link_action_kind kind)
{
    struct link_action *action = &actions->list[actions->n++];

    *action = (struct link_action){ .kind = kind };
    return action;
}

static void add_timer(struct link_actions *actions, enum link_action_kind kind, uint64_t at_us)
{
    add(actions, kind)->at_us = at_us;
}

static void arm_main(struct link_sm *sm, uint64_t at_us, struct link_actions *ret)
{
    sm->main_at_us = at_us;
    add_timer(ret, LINK_ARM_MAIN, at_us);
}

uint64_t link_backoff_us(unsigned n, uint64_t most_us, uint32_t noise)
{
    uint64_t delay_us = MIN_OF(BACKOFF_FIRST_US << MIN_OF(n, BACKOFF_DOUBLINGS), most_us);

    return delay_us / 2 + (delay_us / 2) * (noise % 1024) / 1024;
}

static void poll_orders(struct link_sm *sm, uint64_t now_us, struct link_actions *ret);

/* ---- join and report ---- */

/* spacing_us - from a report or a poll to the next one, when the last one listed n processes */
static uint64_t spacing_us(size_t n)
{
    size_t beyond = n > LINK_CROWD_FREE ? n - LINK_CROWD_FREE : 0;

    return MIN_OF(beyond * LINK_CROWD_EACH_US, LINK_CROWD_MOST_US);
}

/* report_at - the next report with news; some of the lease is left for it in any case */
static uint64_t report_at(const struct link_sm *sm, uint64_t now_us)
{
    uint64_t us = spacing_us(sm->n_reported);

    if (sm->lease_us > 0)
        us = MIN_OF(us, sm->lease_us / TIMEOUT_PART_OF_LEASE);
    return MAX_OF(now_us, sm->sent_us + us);
}

/* act - the next step, unless one is under way */
static void act(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    if (sm->main_call != 0)
        return;
    sm->main_call = ++sm->calls;
    sm->eager_tries += sm->eager;
    add(ret, sm->joined ? LINK_REPORT : LINK_JOIN)->call = sm->main_call;
    if (!sm->joined)
        return;
    sm->reporting = sm->changes;
    sm->sent_us = now_us;
}

static bool has_lease(const struct link_sm *sm, uint64_t now_us)
{
    return sm->joined && now_us < sm->lease_end_us;
}

/* eager_timeout_us - a second, but no connection is given up that answers, only slowly */
static uint64_t eager_timeout_us(const struct link_sm *sm)
{
    return MIN_OF(MAX_OF(EAGER_TIMEOUT_US, 2 * sm->answer_us), LINK_CALL_TIMEOUT_US);
}

static uint64_t eager_us(uint32_t noise)
{
    return EAGER_TRY_US + EAGER_TRY_US * (noise % 1024) / 1024;
}

/* fail - a round is over */
static void fail(struct link_sm *sm, uint64_t now_us, uint32_t noise, struct link_actions *ret)
{
    bool answered = server_round_several(&sm->round) && sm->round.silent == 0;
    uint64_t part = answered ? ANSWERED_PART_OF_LEASE : BACKOFF_PART_OF_LEASE;
    unsigned n = sm->failures;
    uint64_t most_us =
        has_lease(sm, now_us) ? MIN_OF(sm->lease_us / part, BACKOFF_MOST_US) : BACKOFF_MOST_US;

    sm->failures += sm->failures < BACKOFF_DOUBLINGS;
    arm_main(sm, now_us + (sm->eager ? eager_us(noise) : link_backoff_us(n, most_us, noise)), ret);
}

static void cancel_poll(struct link_sm *sm, struct link_actions *ret)
{
    sm->orders_behind = 0;
    if (sm->orders_call == 0)
        return;
    add(ret, LINK_CANCEL_POLL)->call = sm->orders_call;
    sm->orders_call = 0;
}

/* forget_orders - what we know of them may be from before others got what was ours */
static void forget_orders(struct link_sm *sm, struct link_actions *ret)
{
    cancel_poll(sm, ret);
    sm->have_orders = false;
}

/* leave - another scheduler is asked; orders only once it has taken a report */
static void leave(struct link_sm *sm, struct link_actions *ret)
{
    cancel_poll(sm, ret);
    add_timer(ret, LINK_ARM_ORDERS, NEVER_US);
    add(ret, LINK_NEXT)->server = sm->round.current;
}

static void drop_credential(struct link_sm *sm, struct link_actions *ret)
{
    sm->refused = false;
    sm->joined = false;
    add(ret, LINK_DROP_CREDENTIAL);
    forget_orders(sm, ret);
    add_timer(ret, LINK_ARM_ORDERS, NEVER_US);
}

/* go_home - the other one did not take it; all goes on with the one that gave the lease */
static void go_home(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    sm->round.current = sm->home - 1;
    sm->home = 0;
    server_round_taken(&sm->round);
    add(ret, LINK_NEXT)->server = sm->round.current;
    arm_main(sm, MAX_OF(now_us, sm->home_at_us), ret);
    poll_orders(sm, now_us, ret);
}

/* not_taken - a join or a report was not; the next one is asked, or there is a wait */
static void not_taken(struct link_sm *sm, enum link_result result, uint64_t now_us, uint32_t noise,
                      struct link_actions *ret)
{
    unsigned before = sm->round.current;
    bool more;

    if (sm->home != 0) {
        go_home(sm, now_us, ret);
        return;
    }
    sm->refused = sm->refused || (result == LINK_REFUSED && sm->joined);
    more = server_round_next(&sm->round, result != LINK_FAILED);
    if (sm->round.current != before)
        leave(sm, ret);
    if (more) {
        arm_main(sm, now_us, ret);
        return;
    }
    if (sm->refused)
        drop_credential(sm, ret);
    fail(sm, now_us, noise, ret);
}

/* ask_another - whether the one that stored nothing was deposed */
static void ask_another(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    unsigned home = sm->round.current;

    sm->home_at_us = sm->main_at_us;
    sm->other = server_round_other(&sm->round, sm->other);
    sm->round.current = sm->other;
    sm->home = home + 1;
    add(ret, LINK_NEXT)->server = sm->round.current;
    arm_main(sm, now_us, ret);
}

/* settle - the current one took a report: another one's poll brings nothing more */
static void settle(struct link_sm *sm, struct link_actions *ret)
{
    if (sm->home != 0)
        cancel_poll(sm, ret);
    sm->home = 0;
    sm->refused = false;
    server_round_taken(&sm->round);
}

/* cut - gives up the report that is under way */
static void cut(struct link_sm *sm, uint64_t now_us, uint32_t noise, struct link_actions *ret)
{
    add(ret, LINK_CANCEL_MAIN)->call = sm->main_call;
    sm->main_call = 0;
    not_taken(sm, LINK_FAILED, now_us, noise, ret);
}

void link_sm_eager(struct link_sm *sm, bool eager, uint64_t now_us, uint32_t noise,
                   struct link_actions *ret)
{
    ret->n = 0;
    if (sm->eager == eager)
        return;
    sm->eager = eager;
    sm->eager_tries = 0;
    if (!eager || !sm->joined)
        return;
    if (sm->main_call != 0 && now_us - sm->sent_us >= eager_timeout_us(sm)) {
        cut(sm, now_us, noise, ret);
    } else if (sm->main_call != 0) {
        sm->cut_call = sm->main_call;
        arm_main(sm, sm->sent_us + eager_timeout_us(sm), ret);
    } else if (sm->main_at_us > now_us + EAGER_TRY_US) {
        arm_main(sm, now_us + EAGER_TRY_US, ret);
    }
}

void link_sm_init(struct link_sm *sm, uint64_t heartbeat_us, bool joined, uint64_t now_us,
                  struct link_actions *ret)
{
    ret->n = 0;
    *sm = (struct link_sm){ .heartbeat_us = heartbeat_us, .joined = joined };
    sm->changes = 1; /* the first report */
    arm_main(sm, now_us, ret);
}

void link_sm_changed(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    ret->n = 0;
    sm->changes++;
    if (sm->main_call != 0 || sm->failures != 0)
        return; /* after the answer, or with back-off */
    if (sm->main_at_us > report_at(sm, now_us))
        /* else: armed anew it would wait behind all that happens meanwhile */
        arm_main(sm, report_at(sm, now_us), ret);
}

void link_sm_main_timer(struct link_sm *sm, uint64_t now_us, uint32_t noise,
                        struct link_actions *ret)
{
    ret->n = 0;
    if (sm->eager && sm->main_call != 0 && sm->main_call == sm->cut_call)
        cut(sm, now_us, noise, ret);
    else
        act(sm, now_us, ret);
}

void link_sm_reports(struct link_sm *sm, size_t n)
{
    sm->n_reported = n;
}

void link_sm_is_ordered(struct link_sm *sm, size_t n)
{
    sm->n_ordered = n;
    sm->orders_not_before_us = MAX_OF(sm->orders_not_before_us, sm->asked_us + spacing_us(n));
}

bool link_sm_awaits(const struct link_sm *sm, uint64_t call)
{
    return call != 0 && (call == sm->main_call || call == sm->orders_call);
}

bool link_sm_all_told(const struct link_sm *sm)
{
    return sm->reported == sm->changes;
}

uint64_t link_sm_timeout_us(const struct link_sm *sm, uint64_t now_us)
{
    bool several = server_round_several(&sm->round);
    unsigned lost =
        several ? MAX_OF(sm->round.silent, sm->failures / SEVERAL_SLOWLY) : sm->failures;
    unsigned slower = lost > QUICK_FAILURES ? lost - QUICK_FAILURES : 0;
    uint64_t limit_us = MIN_OF(sm->lease_us / TIMEOUT_PART_OF_LEASE, LINK_REPORT_TIMEOUT_US);
    uint64_t slow_us;

    if (sm->eager)
        return sm->eager_tries % PATIENT_ONE_IN == 0 ? LINK_CALL_TIMEOUT_US : eager_timeout_us(sm);
    if (!has_lease(sm, now_us) && several)
        return MIN_OF(LINK_SEVERAL_TIMEOUT_US << MIN_OF(lost, SLOWER_MOST), LINK_CALL_TIMEOUT_US);
    if (!has_lease(sm, now_us))
        return LINK_CALL_TIMEOUT_US;
    /* A new connection takes some rounds. */
    slow_us = MIN_OF(2 * sm->answer_us, sm->lease_us / SLOW_PART_OF_LEASE);
    return MIN_OF(MAX_OF(limit_us << slower, slow_us), LINK_CALL_TIMEOUT_US);
}

void link_sm_join_answered(struct link_sm *sm, uint64_t call, enum link_result result,
                           uint64_t now_us, uint32_t noise, struct link_actions *ret)
{
    ret->n = 0;
    if (call != sm->main_call || call == 0)
        return;
    sm->main_call = 0;
    if (result != LINK_TAKEN) {
        not_taken(sm, result, now_us, noise, ret);
        return;
    }
    server_round_taken(&sm->round);
    sm->joined = true; /* failures go on counting: a credential may be given and refused in turn */
    act(sm, now_us, ret);
}

/* ---- orders ---- */

static void poll_orders(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    struct link_action *action;

    if (sm->orders_call != 0 || !sm->joined || sm->home != 0)
        return;
    if (now_us < sm->orders_not_before_us) {
        add_timer(ret, LINK_ARM_ORDERS, sm->orders_not_before_us);
        return;
    }
    add_timer(ret, LINK_ARM_ORDERS, NEVER_US);
    sm->orders_call = ++sm->calls;
    sm->asked_us = now_us;
    sm->orders_not_before_us = now_us + MAX_OF(POLL_SPACING_US, spacing_us(sm->n_ordered));
    action = add(ret, LINK_POLL_ORDERS);
    action->call = sm->orders_call;
    action->after = sm->version;
    action->wait_s = sm->have_orders ? LINK_ORDERS_WAIT_S : 0;
}

/* notice_version - a long poll that does not bring what reports speak of is dead
 * The time beside the count: reports in quick succession must not cut off an answer on its way. */
static void notice_version(struct link_sm *sm, const struct link_report_answer *answer,
                           uint64_t now_us, struct link_actions *ret)
{
    if (!answer->has_version || (sm->have_orders && answer->version == sm->version)) {
        sm->orders_behind = 0;
        return;
    }
    if (sm->orders_behind++ == 0)
        sm->behind_since_us = now_us;
    if (sm->orders_behind >= BEHIND_REPORTS && now_us - sm->behind_since_us >= BEHIND_LEAST_US)
        cancel_poll(sm, ret);
}

void link_sm_orders_timer(struct link_sm *sm, uint64_t now_us, struct link_actions *ret)
{
    ret->n = 0;
    poll_orders(sm, now_us, ret);
}

/* The heartbeat, or the scheduler's wish for fewer reports, within what its lease allows. */
static uint64_t period_us(const struct link_sm *sm, const struct link_report_answer *answer)
{
    if (answer->lease_us == 0)
        return sm->heartbeat_us;
    return MIN_OF(MAX_OF(sm->heartbeat_us, answer->next_us),
                  answer->lease_us / REPORT_PART_OF_LEASE);
}

void link_sm_renewed(struct link_sm *sm, uint64_t sent_us, uint64_t lease_us, uint64_t now_us)
{
    sm->lapsed = sm->lapsed || now_us >= sm->lease_end_us;
    sm->lease_us = lease_us;
    sm->lease_end_us = MAX_OF(sm->lease_end_us, sent_us + lease_us);
}

void link_sm_away(struct link_sm *sm, uint64_t away_us, uint64_t now_us)
{
    if (!has_lease(sm, now_us) || sm->lapsed)
        return;
    sm->away_until_us = sm->asked_us + MIN_OF(away_us, LINK_AWAY_MOST_US);
    sm->away_told_us = now_us;
}

bool link_sm_renew_away(struct link_sm *sm, uint64_t now_us, uint64_t *ret_sent_us)
{
    uint64_t last_us;

    if (!has_lease(sm, now_us) || sm->away_until_us <= sm->lease_end_us) {
        sm->away_until_us = 0;
        return false;
    }
    last_us = sm->away_until_us - sm->lease_us; /* it ends after this lease, which lasts so long */
    *ret_sent_us = MIN_OF(now_us, last_us);
    return true;
}

void link_sm_report_answered(struct link_sm *sm, uint64_t call,
                             const struct link_report_answer *answer, uint64_t now_us,
                             uint32_t noise, struct link_actions *ret)
{
    bool lapsed = sm->lapsed || now_us >= sm->lease_end_us;
    uint64_t took_us;

    ret->n = 0;
    if (call != sm->main_call || call == 0)
        return;
    sm->main_call = 0;
    sm->session = answer->session;
    if (answer->result != LINK_TAKEN && answer->session != 0 && sm->home == 0) {
        fail(sm, now_us, noise, ret); /* it leads, and wants the report once more */
        return;
    }
    if (answer->result != LINK_TAKEN) {
        not_taken(sm, answer->result, now_us, noise, ret);
        return;
    }
    settle(sm, ret);
    sm->failures = 0;
    took_us = now_us - sm->sent_us;
    sm->answer_us = sm->took_us == 0 ? took_us : MIN_OF(took_us, sm->took_us);
    sm->took_us = took_us;
    sm->lapsed = false;
    if (sm->sent_us >= sm->away_told_us)
        sm->away_until_us = 0;
    else
        sm->session = 0; /* repeated, it would say that we have dropped what we were told */
    if (!answer->not_stored)
        sm->reported = sm->reporting;
    arm_main(sm,
             answer->not_stored || link_sm_all_told(sm) ? now_us + period_us(sm, answer)
                                                        : report_at(sm, now_us),
             ret);
    if (answer->lease_us > 0) {
        sm->lease_us = answer->lease_us;
        sm->lease_end_us = MAX_OF(sm->lease_end_us, sm->sent_us + answer->lease_us);
    }
    sm->not_stored = answer->not_stored ? sm->not_stored + 1 : 0;
    if (sm->not_stored >= NOT_STORED_ANSWERS && server_round_several(&sm->round))
        ask_another(sm, now_us, ret);
    if (lapsed)
        forget_orders(sm, ret);
    else
        notice_version(sm, answer, now_us, ret);
    poll_orders(sm, now_us, ret);
}

/* look_for_leader - a poll that broke off is the first sign that a scheduler is gone */
static void look_for_leader(struct link_sm *sm, uint64_t now_us, uint32_t noise,
                            struct link_actions *ret)
{
    uint64_t at_us = now_us + link_backoff_us(0, BACKOFF_MOST_US, noise);

    if (server_round_several(&sm->round) && sm->home == 0 && sm->main_call == 0 &&
        sm->failures == 0 && sm->main_at_us > at_us)
        arm_main(sm, at_us, ret);
}

void link_sm_servers(struct link_sm *sm, uint32_t listed)
{
    server_round_list(&sm->round, listed);
}

void link_sm_hint(struct link_sm *sm, unsigned server)
{
    server_round_hint(&sm->round, server);
}

void link_sm_orders_answered(struct link_sm *sm, uint64_t call, enum link_result result,
                             uint64_t version, uint64_t now_us, uint32_t noise,
                             struct link_actions *ret)
{
    bool news = !sm->have_orders || version != sm->version;

    ret->n = 0;
    if (call != sm->orders_call || call == 0)
        return;
    sm->orders_call = 0;
    if (result == LINK_UNREADABLE) {
        sm->orders_not_before_us = now_us + BACKOFF_MOST_US;
    } else if (result != LINK_TAKEN) {
        /* Reports run into the same trouble and tell it; the first one taken asks at once. */
        look_for_leader(sm, now_us, noise, ret);
        add_timer(ret, LINK_ARM_ORDERS,
                  now_us + link_backoff_us(sm->orders_failures, BACKOFF_MOST_US, noise));
        sm->orders_failures += sm->orders_failures < BACKOFF_DOUBLINGS;
        return;
    } else {
        sm->have_orders = true;
        sm->version = version;
        sm->orders_failures = 0;
        if (!news) /* the wait is over, or the server does not wait */
            sm->orders_not_before_us = now_us + BACKOFF_FIRST_US;
    }
    poll_orders(sm, now_us, ret);
}
