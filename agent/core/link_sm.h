/* SPDX-License-Identifier: Apache-2.0 */
/* link_sm.h - decisions of the connection to the scheduler: what to call, and when
 *
 * Pure: no I/O, no clock, no allocation; the instant (boot time) and a random number are handed in.
 *
 *     out of the cluster --JOIN taken--> joined --REPORT refused--> out of the cluster
 *
 * Two calls are in flight at most: the main one (JOIN or REPORT) and the long poll for orders. Each
 * call has a number. An answer with another number is of a call that was given up and is ignored,
 * so nothing arrives twice or out of order. The caller carries out the actions of one input in
 * their order before the next input. A call that cannot even be started is answered with
 * LINK_FAILED.
 *
 *  - A report goes out at once after a change, else each heartbeat. It goes later when the
 *    scheduler asks for that, but four times in a lease at least; after a failure with back-off.
 *  - Two in a row that are lost cost no lease: while it lasts each is given up after a seventh of
 *    it, and sent again soon. The processes here get SIGTERM at two thirds (core/fence.c). From the
 *    third on each has twice as long, or a slow scheduler could never answer.
 *  - On a slow link, where the last two answers took longer than half of that seventh, a report has
 *    twice their time, and a third of the lease at most. There two that are lost do cost it.
 *  - Orders are first asked for after a report was taken: the scheduler knows then the processes
 *    that run here.
 *  - The first poll does not wait, and neither does the first one after the lease had run out or
 *    the node joined anew: the work ordered before may have been given to others. A poll in flight
 *    from before is given up, its answer may be from before too.
 *  - A report that speaks of other orders than we have, three times in a row, ends a poll that does
 *    not bring them.
 *  - Where hundreds of processes are told of, reports and polls are further apart, up to
 *    LINK_CROWD_MOST_US: each lists all of them, and the calls of processes are answered between.
 *  - No circle is tight: polls are spaced, repeated orders and unreadable ones wait.
 *
 * Of several schedulers (server_round.h) all calls go to one, until a report is not taken there:
 *
 *  - The next one is asked at once, and the poll is given up: its answer is of the former one. Only
 *    when each was asked there is a wait. Lost ones make the next ones longer a third as
 *    soon while some scheduler answers: it is more likely that one of them stands still than that
 *    the network is slow.
 *  - A refusal counts when each was asked: a scheduler that was deposed may not know this node yet.
 *  - A poll that fails brings the next report forward, which finds the one that leads.
 *  - Two answers in a row that nothing was stored: one of the others is asked as well, each time.
 *    Where that one takes the report it is the one from then on. Else all stays as it was, and the
 *    poll was never given up. One answer of that kind is common, while a database is slow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/server_round.h"

/* JOIN, and REPORT without a lease: four round trips of 2 s on a new connection (TCP, TLS, the
 * call), and some */
#define LINK_CALL_TIMEOUT_US (UINT64_C(10) * 1000000)
/* The same with several schedulers, at first */
#define LINK_SEVERAL_TIMEOUT_US (UINT64_C(2) * 1000000)
/* REPORT while there is a lease, at most */
#define LINK_REPORT_TIMEOUT_US (UINT64_C(5) * 1000000)
#define LINK_ORDERS_WAIT_S 25
#define LINK_AWAY_MOST_US (UINT64_C(925) * 1000000) /* what is believed: 15 min, and one poll */
#define LINK_ORDERS_TIMEOUT_US ((LINK_ORDERS_WAIT_S + UINT64_C(10)) * 1000000)
#define LINK_ACTIONS_MAX 8
/* From one to the next, for each process in the last one beyond the first ones. */
#define LINK_CROWD_FREE 100
#define LINK_CROWD_EACH_US UINT64_C(100)
#define LINK_CROWD_MOST_US (UINT64_C(400) * 1000)

enum link_result {
    LINK_TAKEN,      /* answered with success */
    LINK_FAILED,     /* no answer, or an error of the server */
    LINK_ELSEWHERE,  /* an answer that says that it does not lead, or that shows it */
    LINK_REFUSED,    /* 401, 403, 404: the credential (or the join token) is not accepted */
    LINK_UNREADABLE, /* answered with success, but it makes no sense */
};

enum link_action_kind {
    LINK_JOIN,            /* call */
    LINK_REPORT,          /* call */
    LINK_POLL_ORDERS,     /* call, after, wait_s */
    LINK_CANCEL_POLL,     /* call: give it up; its answer would be ignored */
    LINK_CANCEL_MAIN,     /* call: the same, of a report */
    LINK_DROP_CREDENTIAL, /* the credential is worth nothing any more */
    LINK_NEXT,            /* server: all calls go to that one from now on */
    LINK_ARM_MAIN,        /* at_us: link_sm_main_timer then (replaces an earlier instant) */
    LINK_ARM_ORDERS,      /* at_us: link_sm_orders_timer then; NEVER_US: not at all */
};

struct link_action {
    enum link_action_kind kind;
    uint64_t call;
    uint64_t at_us;
    uint64_t after; /* version of the orders we have; 0 at first */
    unsigned wait_s;
    unsigned server;
};

struct link_actions { /* each input function fills it anew */
    struct link_action list[LINK_ACTIONS_MAX];
    size_t n;
};

struct link_sm { /* link_sm_init makes one; read only for others */
    uint64_t heartbeat_us;
    bool joined;
    uint64_t calls;       /* number of the last call that was started */
    uint64_t main_call;   /* 0: none in flight */
    uint64_t cut_call;    /* given up by the main timer while programs stand still; 0: none yet */
    uint64_t orders_call; /* 0: none in flight */
    uint64_t sent_us;     /* instant of the report in flight, or of the last one */
    uint64_t took_us;     /* how long the answer to the last one that was taken took; 0: none was */
    uint64_t answer_us; /* the same of the last two, the shorter: one that was slow says nothing */
    uint64_t asked_us;  /* instant of the poll in flight, or of the last one */
    uint64_t
        away_until_us; /* the scheduler has left, and keeps our slots until then; 0: it has not */
    uint64_t away_told_us; /* no report that was sent before speaks of another run of it */
    uint64_t session;  /* the next report repeats it: it shows that we hear the answers; 0: none */
    uint64_t lease_us; /* as the scheduler told last; 0: it did not */
    uint64_t lease_end_us;
    bool lapsed;          /* it had ended before it was kept, and no report was taken since */
    bool eager;           /* programs stand still until the scheduler is heard */
    unsigned eager_tries; /* calls that were begun since then */
    uint64_t main_at_us;  /* what its timer is armed for */
    uint64_t changes;     /* told so far */
    uint64_t reporting;   /* changes in the report in flight */
    uint64_t reported;    /* changes the scheduler has */
    unsigned failures;    /* rounds in a row in which nobody took it */
    struct server_round round;
    bool refused;        /* by one of several, in this round */
    unsigned not_stored; /* answers in a row that were a sign of life only */
    unsigned home;       /* 1 + the one that gave the last of them while another one is asked */
    uint64_t home_at_us; /* and when it is asked again */
    unsigned other;      /* the one that was asked like that last */
    unsigned orders_failures;
    unsigned orders_behind; /* reports that spoke of other orders in a row */
    uint64_t behind_since_us;
    bool have_orders;
    uint64_t version;
    size_t n_reported, n_ordered;  /* processes in the last report and in the last orders */
    uint64_t orders_not_before_us; /* no poll earlier, whatever a report says */
};

struct link_report_answer {
    enum link_result result;
    uint64_t lease_us; /* 0: the answer gave none */
    uint64_t next_us;  /* the next report may come so late; 0: the answer did not say */
    uint64_t session;  /* to be repeated by the next report; 0: the answer gave none */
    bool has_version;
    uint64_t version; /* of the orders that the scheduler has for this node */
    bool not_stored;  /* taken as a sign of life only: it has to be told again */
};

/* link_sm_init - joined: there is a credential of an earlier run. Arms the main timer. */
void link_sm_init(struct link_sm *sm, uint64_t heartbeat_us, bool joined, uint64_t now_us,
                  struct link_actions *ret);

/* link_sm_changed - there is something to report; coalesced */
void link_sm_changed(struct link_sm *sm, uint64_t now_us, struct link_actions *ret);

void link_sm_main_timer(struct link_sm *sm, uint64_t now_us, uint32_t noise,
                        struct link_actions *ret);
void link_sm_orders_timer(struct link_sm *sm, uint64_t now_us, struct link_actions *ret);

/* link_sm_reports - the report that is being sent lists n processes. link_sm_is_ordered - orders
 * that came do, before link_sm_orders_answered */
void link_sm_reports(struct link_sm *sm, size_t n);
void link_sm_is_ordered(struct link_sm *sm, size_t n);

/* link_sm_awaits - is this call in flight? What an answer of another one says is not to be used. */
bool link_sm_awaits(const struct link_sm *sm, uint64_t call);

/* Answers. noise: a random number for the back-off.
 * link_sm_report_answered: when it was awaited and taken, the lease ends at sent_us + lease_us.
 * link_sm_orders_answered: after the orders were read (and handed to the agent core). */
void link_sm_join_answered(struct link_sm *sm, uint64_t call, enum link_result result,
                           uint64_t now_us, uint32_t noise, struct link_actions *ret);
void link_sm_report_answered(struct link_sm *sm, uint64_t call,
                             const struct link_report_answer *answer, uint64_t now_us,
                             uint32_t noise, struct link_actions *ret);
void link_sm_orders_answered(struct link_sm *sm, uint64_t call, enum link_result result,
                             uint64_t version, uint64_t now_us, uint32_t noise,
                             struct link_actions *ret);

/* link_sm_renewed - the lease goes on as if a report that was sent at sent_us had been taken: tries
 * to report stay close together while the scheduler is away */
void link_sm_renewed(struct link_sm *sm, uint64_t sent_us, uint64_t lease_us, uint64_t now_us);

/* link_sm_away - the orders that are awaited say that the scheduler leaves, and for how long this
 * node may go on from the instant on in which it asked. Without a lease there is nothing to go on
 * with.
 * link_sm_renew_away - whether the lease goes on for that reason alone: then from *ret_sent_us on,
 * as if a report that was sent at that instant had been taken (link_sm_renewed), and this is to be
 * asked again within a part of the lease. False: until it is told again. A report that a scheduler
 * takes ends it: that one counts the lease anew. No lease that was given is ever made shorter, so
 * whoever watches one has to look no sooner than it did. */
void link_sm_away(struct link_sm *sm, uint64_t away_us, uint64_t now_us);
bool link_sm_renew_away(struct link_sm *sm, uint64_t now_us, uint64_t *ret_sent_us);

/* link_sm_eager - whether programs stand still: then a try to report takes 1 s at most, or twice as
 * long as the last answer took (one in 16: LINK_CALL_TIMEOUT_US), also one that is under way (the
 * main timer ends it), and the next one comes 250 to 500 ms later */
void link_sm_eager(struct link_sm *sm, bool eager, uint64_t now_us, uint32_t noise,
                   struct link_actions *ret);

/* link_sm_servers - which schedulers there are: a bit for each, below SERVER_ROUND_MAX. Without it
 * there is one, with the number 0. The one that is asked stays. link_sm_hint - the answer that is
 * handed in next names the one that leads */
void link_sm_servers(struct link_sm *sm, uint32_t listed);
void link_sm_hint(struct link_sm *sm, unsigned server);

/* link_sm_all_told - does the scheduler know of every change? */
bool link_sm_all_told(const struct link_sm *sm);

/* link_sm_timeout_us - of the join or report that begins now */
uint64_t link_sm_timeout_us(const struct link_sm *sm, uint64_t now_us);

/* link_backoff_us - delay before try n (0, 1, ..): doubles from 100 ms to most_us, times 0.5 .. 1
 */
uint64_t link_backoff_us(unsigned n, uint64_t most_us, uint32_t noise);
