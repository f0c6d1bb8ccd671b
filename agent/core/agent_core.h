/* SPDX-License-Identifier: Apache-2.0 */
/* agent_core.h - everything an agent decides about the processes of its node
 *
 * Pure: no I/O, no clock; facts and the instant (boot time, microseconds) come in as calls, actions
 * go out as data. edl-agent and the simulator carry them out with the very same object code.
 *
 * A unit is a process as its agent sees it: ordered, running, ending, or over and not yet forgotten
 * by the scheduler. These rules hold:
 *  1. Before the first orders nothing is started, stopped or forgotten.
 *  2. A unit starts only while the lease holds and its end is not near (fence.h). It starts only by
 *     orders that were asked for within this unbroken lease: during a gap the scheduler may have
 *     given the slot to another node.
 *  3. Of a slot at most one unit is alive, and no incarnation starts that is older than one known
 *     here. An order that cannot be followed for good becomes a unit that ended, with the reason.
 *  4. An end is reported after the last lines of its log were offered to the scheduler, taken or
 *     not. Until then the unit is reported as "preparing", which is never news.
 *  5. A unit that ended stays until orders do not list it: only then is its end on record.
 *  6. At most AGENT_STARTS_MAX units of an owner are under way at a time: given as START, and
 *     neither seen to run nor to have ended. Of all owners twice as many are, and each may have as
 *     many as are still free (fair_share.h). The others start in their turn. One that waits (for a
 * workspace, for devices) is not counted, nor one that is under way for AGENT_START_SLOW_US: others
 * need not wait with it.
 *  7. The cost of one event does not grow with the number of orders: only its slot is looked at.
 *     Orders and reports look at all, as they list all.
 *  8. A unit that stands still because a lease ran out is thawed by the rule of a start (2), and by
 *     the epoch of the lease (lease_word.h). If orders do not list it or stop it, it is stopped as
 *     it stands.
 *  9. Nothing is started or thawed any more once stopping. LEAVE comes when every unit is over and
 *     the scheduler knows it, or AGENT_GOODBYE_US after the last end.
 *
 * 10. A unit that promised to be alive (promise.h) and said nothing is to be killed: SILENT, again
 *     until its end is seen. It is judged while it runs, and while the lease is held: near the end
 *     of one its supervisor may have frozen it already.
 *
 * 11. The node's owner may have drop-ins (visits.h). Then nothing of a job starts before its prolog
 *     has ended well. Its epilog runs when the last unit of it is gone. The end of that unit is
 * told after the epilog, so that its grants are nobody else's meanwhile. A start that
 * failed is told at once.
 *
 * Use: after each input take all actions and carry them out, in their order, before new orders are
 * handed in (START speaks of them by index). Results may be handed in while actions are taken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/lease_word.h"
#include "agent/core/process_id.h"
#include "agent/core/promise.h"
#include "agent/core/reconcile.h"
#include "agent/core/unit_sm.h"
#include "agent/core/visits.h"
#include "shared/exit_cause.h"
#include "shared/start_fault.h"
#include "shared/unfit.h"

#define AGENT_REASON_SIZE 256
#define AGENT_GOODBYE_US (UINT64_C(3) * 1000000) /* for the last report when nobody answers */
/* Left of its grace to a program that has saved all it wanted to: to hear the answer and to end. */
#define AGENT_SAVED_GRACE_US (UINT64_C(1) * 1000000)

#define AGENT_STARTS_MAX 64
#define AGENT_START_SLOW_US (UINT64_C(10) * 1000000)

struct agent_core;
struct slot;

struct agent_unit { /* read only for others */
    struct process_id id;
    enum unit_state state;
    uint64_t grace_us;
    int exit_code; /* this and the next three: when exited */
    int exit_signal;
    char reason[AGENT_REASON_SIZE];
    enum exit_cause cause;
    enum unfit unfit;       /* likewise: this node cannot run it */
    enum start_fault fault; /* likewise: it could not be started */
    bool frozen;            /* it stands still, since a lease ran out */
    bool started;           /* the program was seen running, now or earlier */
    bool found;             /* the runtime has found what looks after it */
    bool exit_public;       /* its last log lines were offered: the end may be reported */
    bool tail_sent;         /* no further try */
    bool saved;             /* what it had to, while it is being stopped */
    bool held;              /* its end is told behind the epilog of its job */
    bool under_way;         /* counted in the starts that are */
    uint64_t owner;         /* of its order; 0: not told */
    uint64_t given_us;      /* when it was given as START */
    struct agent_unit *prev, *next;
    struct slot *slot; /* and the others of it */
    struct agent_unit *slot_prev, *slot_next;
    struct promise promise; /* and the others that made one */
    struct agent_unit *promise_prev, *promise_next;
};

enum agent_action_kind {
    AGENT_START,     /* id, idx_order; answer: agent_core_observed or agent_core_start_failed */
    AGENT_STOP,      /* id, grace_us; ask it to end, with force after grace_us */
    AGENT_SILENT,    /* id, grace_us; it broke its promise to say something within grace_us */
    AGENT_THAW,      /* id, epoch; it stands still, and may go on in this epoch of the lease */
    AGENT_FORGET,    /* id; drop what is left of it (folder); the unit is gone already */
    AGENT_SEND_TAIL, /* id; offer the end of its log; answer: agent_core_tail_offered */
    AGENT_EPILOG,    /* id, of the one that ended last, or of its job alone; the drop-ins behind a
                        job are to run; answer: agent_core_epilog_ended */
    AGENT_REFRESH,   /* id; look at it again; answer: agent_core_observed */
    AGENT_REPORT,    /* there is something new to report: link_sm_changed */
    AGENT_MOVED,     /* id; its state changed, or whether it stands still: for people (log) */
    AGENT_UNLISTED,  /* id; agent_core_unlisted tells of a bug: nothing was changed (log) */
    AGENT_LEAVE,     /* the program may end */
};

struct agent_action {
    enum agent_action_kind kind;
    struct process_id id;
    size_t idx_order;
    uint64_t grace_us;
    uint16_t epoch;
};

enum agent_phase { AGENT_STARTING, AGENT_RUNNING, AGENT_GONE };

struct agent_facts { /* what the runtime sees of a unit */
    enum agent_phase phase;
    bool found;  /* false: looked for again with each report that is taken */
    bool frozen; /* RUNNING: it stands still, since a lease ran out */
    int exit_code;
    int exit_signal;
    enum exit_cause cause;
    const char *reason; /* borrowed, NULL as "" */
    enum unfit unfit;
    enum start_fault fault;
};

struct agent_unit_report { /* what a report says of a unit */
    enum unit_state state;
    int exit_code;
    int exit_signal;
    enum exit_cause cause;
    const char *reason; /* never NULL; as long as the unit */
    enum unfit unfit;
    enum start_fault fault;
};

/* agent_core_new - lease: as an earlier agent of this boot left it, all 0 for none */
struct agent_core *agent_core_new(struct lease_word lease);
struct agent_core *agent_core_free(struct agent_core *core);

/* agent_core_adopt - a unit that an earlier agent started, before any other input
 * One that is gone already is reported at once, its log is offered after that. */
void agent_core_adopt(struct agent_core *core, const struct process_id *id, uint64_t grace_us,
                      const struct agent_facts *facts);

/* agent_core_orders - the whole desired state, which replaces the last one; copied
 * asked_us: when the call was made whose answer this is (link_sm.asked_us). */
void agent_core_orders(struct agent_core *core, const struct reconcile_order *orders, size_t n,
                       uint64_t asked_us, uint64_t now_us);

/* agent_core_observed - level-triggered: saying the same twice is harmless, unknown units too */
void agent_core_observed(struct agent_core *core, const struct process_id *id,
                         const struct agent_facts *facts, uint64_t now_us);

/* agent_core_start_failed - it never came to be; its end with this reason is all that is told */
void agent_core_start_failed(struct agent_core *core, const struct process_id *id,
                             enum start_fault fault, const char *reason, uint64_t now_us);

/* agent_core_enter - the unit of a START is to begin next; drop_ins: there are any (not looked at
 * when agent_core_is_entered). A waiting process enters again when prolog or epilog has ended */
enum visit_entry agent_core_enter(struct agent_core *core, const struct process_id *id,
                                  bool drop_ins);
bool agent_core_is_entered(const struct agent_core *core, uint64_t job_id);

/* agent_core_prolog_ended - well: whoever enters now goes on. agent_core_epilog_ended - answer of
 * AGENT_EPILOG, however it ended */
void agent_core_prolog_ended(struct agent_core *core, uint64_t job_id, bool well);
void agent_core_epilog_ended(struct agent_core *core, uint64_t job_id, uint64_t now_us);

/* agent_core_adopt_visit - an earlier agent ran the prolog of this job; well: to a good end. After
 * its units, before any other input */
void agent_core_adopt_visit(struct agent_core *core, uint64_t job_id, bool well);

/* agent_core_start_waits - a START has to wait; agent_core_start_late follows, or its end */
void agent_core_start_waits(struct agent_core *core, const struct process_id *id, uint64_t now_us);

/* agent_core_may_start_more - fewer starts of the owner are under way than may be */
bool agent_core_may_start_more(const struct agent_core *core, uint64_t owner);

/* agent_core_start_late - a START had to wait (for a workspace, for GPUs): is it still to be done?
 * false: not any more. When it is the lease that is over, or near its end, the unit has ended. */
bool agent_core_start_late(struct agent_core *core, const struct process_id *id, uint64_t now_us);

/* agent_core_checkpoint_done - its program says that it has saved what it wanted to
 * One that is being stopped needs no more of its grace than AGENT_SAVED_GRACE_US: true. Any other
 * goes on as if nothing had been said: false. */
bool agent_core_checkpoint_done(struct agent_core *core, const struct process_id *id);

/* agent_core_promised - its program is alive, and promises to say so again within that time; 0: no
 * more. false: it is over. An adopted one is told as well, with the promise in its folder. */
bool agent_core_promised(struct agent_core *core, const struct process_id *id, uint64_t within_us,
                         uint64_t now_us);

/* agent_core_tail_offered - sent: the scheduler has it, or there is none */
void agent_core_tail_offered(struct agent_core *core, const struct process_id *id, bool sent,
                             uint64_t now_us);

/* agent_core_reported - a report was taken that was sent at sent_us; the beat of everything that is
 * looked at again and again. all_told: nothing was new since it was made (link_sm_all_told).
 * now_us: the very instant that link_sm_report_answered got, so that both see the same gap. */
void agent_core_reported(struct agent_core *core, uint64_t sent_us, uint64_t lease_us,
                         bool all_told, uint64_t now_us);

/* agent_core_renewed - the lease goes on as after a report that was sent at sent_us
 * (link_sm_renew_away), and nothing else is known by it */
void agent_core_renewed(struct agent_core *core, uint64_t sent_us, uint64_t lease_us,
                        uint64_t now_us);

/* agent_core_refused - the scheduler does not know this node any more (LINK_DROP_CREDENTIAL): what
 * it ordered before starts nothing more */
void agent_core_refused(struct agent_core *core);

/* agent_core_stop - end all units and leave; a second call ends them without grace */
void agent_core_stop(struct agent_core *core, uint64_t now_us);

/* agent_core_timer - at (or after) agent_core_next_us, which is NEVER_US for none */
void agent_core_timer(struct agent_core *core, uint64_t now_us);
uint64_t agent_core_next_us(const struct agent_core *core);

/* agent_core_take - the next action; false when there is none */
bool agent_core_take(struct agent_core *core, struct agent_action *ret);

/* agent_core_unlisted - the last move that no table of states lists; "" when there was none */
const char *agent_core_unlisted(const struct agent_core *core);

struct lease_word
agent_core_lease(const struct agent_core *core); /* to be written where it is read */
uint64_t agent_core_lease_deadline_us(const struct agent_core *core);
uint64_t agent_core_lease_us(const struct agent_core *core); /* 0 before the first report */
bool agent_core_is_stopping(const struct agent_core *core);
bool agent_core_is_all_told(const struct agent_core *core); /* the scheduler knows all of it */

/* Units in the order they came to be: for (u = agent_core_units(c); u; u = u->next) */
const struct agent_unit *agent_core_units(const struct agent_core *core);
const struct agent_unit *agent_core_unit(const struct agent_core *core,
                                         const struct process_id *id);
size_t agent_core_count_alive(const struct agent_core *core);

/* agent_core_any_frozen - a unit stands still and waits for a lease and orders; O(1) */
bool agent_core_any_frozen(const struct agent_core *core);

/* agent_core_compared - orders and units that were compared with each other so far: what its plans
 * cost, for tests */
uint64_t agent_core_compared(const struct agent_core *core);

struct agent_unit_report agent_unit_report(const struct agent_unit *unit);
