/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - when one process has to stand still or to end: it was asked to, or its lease runs out
 *
 * Pure: no I/O, no clock, no allocation. Used by the supervisor of each process and by the
 * simulator. All instants are boot time in microseconds: that clock is never set and goes on while
 * the machine sleeps. A process whose control group can be frozen stands still at the end of its
 * lease:
 *
 *         report sent                                FREEZE   verified   deadline
 *     --------+------------------------------------------+--------+----------+------> time
 *             |                                          |<----- 1/6 ------->|
 *             |                                                   |<- 1/12 ->|
 *             |<------------------------- lease_us -------------------------->|
 *
 *     runs --(lease near its end)--> freezing --(seen to stand still)--> frozen
 *       ^                               |                                  |
 *       +---- the lease was renewed in the same epoch, or a thaw of -------+
 *             the present epoch came (fence_thaw)                          |
 *     killed <-- not seen to stand still in time; a stop; frozen for cut_off_kill_us
 *
 * Invariants: as long as the machine runs and its clock does not stand still, nothing of it acts
 * after the deadline. A frozen process that has to end is killed without a thaw and without
 * SIGTERM. A lease that is renewed in another epoch (lease_word.h) thaws nothing.
 *
 * One whose group cannot be frozen is killed, and so is one that is being stopped already:
 *
 *         report sent                          TERM             KILL      deadline
 *     --------+-----------------------------------+----------------+----------+------> time
 *             |                                   |<- 1/4 lease -->|<- 1/12 ->|
 *
 * SIGKILL comes a twelfth of the lease before the deadline: dying and being reaped takes time too.
 * The scheduler waits longer than the deadline before it replaces anything (it counts from when it
 * got the report, and adds a margin). A lease that is renewed after TERM does not take it back: a
 * process that was told to end is of no use.
 *
 * A machine that was suspended beyond the deadline wakes up with processes that are overdue: the
 * first look freezes or kills them at once. Until then they did not run either, but between waking
 * up and the first look they may; no clock can prevent that. Wall-clock jumps do not matter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/lease_word.h"
#include "shared/exit_cause.h"

/* A frozen process is looked at so often, while its lease may be renewed without a gap. */
#define FENCE_POLL_US (UINT64_C(50) * 1000)

enum fence_cause {
    FENCE_NONE,    /* goes on */
    FENCE_STOPPED, /* somebody asked for its end */
    FENCE_LEASE,   /* the lease runs out */
    FENCE_SILENT,  /* it broke its promise to say that it is alive */
};

enum fence_stance {
    FENCE_RUNS,
    FENCE_FREEZING, /* FREEZE was handed out, and is not verified */
    FENCE_FROZEN,
};

struct fence { /* fence_init makes one; read only for others */
    uint64_t lease_us;
    uint64_t grace_us;
    uint64_t kill_at_us;    /* NEVER_US while it goes on */
    bool fenced;            /* the lease was seen running out, the deadline counts no more */
    bool term_due;          /* SIGTERM has not been handed out yet */
    enum fence_cause cause; /* the first one: it is what is reported */
    bool freezes;           /* fence_may_freeze */
    uint64_t cut_off_kill_us;
    enum fence_stance stance; /* this and the rest: while it does not run */
    uint16_t epoch;           /* of the lease that ran out */
    uint64_t since_us, verify_by_us;
};

struct fence_verdict {
    bool term;           /* send SIGTERM now; true once in a fence's life */
    bool kill;           /* send SIGKILL to everything now */
    bool freeze, thaw;   /* the whole group, now */
    uint64_t look_at_us; /* ask again then, or when something happens; NEVER_US for no need */
};

/* fence_term_at - when a process of this lease that cannot be frozen gets SIGTERM; NEVER_US without
 * a lease (lease_us 0) */
uint64_t fence_term_at(uint64_t deadline_us, uint64_t lease_us);

/* fence_freeze_at - when one that can be frozen is; later than fence_term_at */
uint64_t fence_freeze_at(uint64_t deadline_us, uint64_t lease_us);

/* fence_kill_at - when all of it stands still, or nothing of it is left but zombies; never before
 * fence_freeze_at */
uint64_t fence_kill_at(uint64_t deadline_us, uint64_t lease_us);

/* fence_init - lease_us 0: this process is not fenced; grace_us: of its own order */
void fence_init(struct fence *fence, uint64_t lease_us, uint64_t grace_us);

/* fence_may_freeze - its group can be frozen, for cut_off_kill_us at most. Before that a lease that
 * ends kills it. */
void fence_may_freeze(struct fence *fence, uint64_t cut_off_kill_us);

/* fence_may_not_freeze - no agent could thaw it any more: it is killed at the end of its lease if
 * it runs, and is not thawed if it stands still */
void fence_may_not_freeze(struct fence *fence);

/* fence_stop - somebody asks for its end within grace_us; a later call can only bring it nearer.
 * One that does not run has no grace. */
void fence_stop(struct fence *fence, uint64_t grace_us, uint64_t now_us);

/* fence_silent - it broke its promise: it does not act, so it gets no SIGTERM and has no grace. Of
 * one that does not run, or has to end anyway, nothing is held against it. */
void fence_silent(struct fence *fence, uint64_t now_us);

/* fence_verified - all of it was seen to stand still, after FREEZE was handed out */
void fence_verified(struct fence *fence);

/* fence_unfrozen - it was to stand still, and cannot be made to: it has to end now */
void fence_unfrozen(struct fence *fence, uint64_t now_us);

/* fence_thaw - the agent says, by orders of this epoch, that it may go on
 * true: it does, and its group is to be thawed. false: the lease is of another epoch by now, or
 * near its end again; the agent says so again if it still holds. */
bool fence_thaw(struct fence *fence, uint16_t epoch, struct lease_word lease, uint64_t now_us);

/* fence_outlived - of one that was let go on, and still stands: it took so long that the lease
 * ended and was given anew. Orders of the new one decide, so it stands on; one that was asked to
 * end meanwhile has no grace. true: so it was, and its group is not to be thawed */
bool fence_outlived(struct fence *fence, struct lease_word lease, uint64_t now_us);

/* fence_look - what has to be done now; lease: as the lease file has it at this moment */
struct fence_verdict fence_look(struct fence *fence, struct lease_word lease, uint64_t now_us);

/* fence_say - why, for people; "" of FENCE_NONE */
const char *fence_say(enum fence_cause cause);

/* fence_exit_cause - why a process ended of that cause; of FENCE_NONE: otherwise */
enum exit_cause fence_exit_cause(enum fence_cause cause, enum exit_cause otherwise);
