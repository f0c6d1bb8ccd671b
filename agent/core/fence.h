/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - when one process has to end: because it was asked to, or because the lease runs out
 *
 * Pure: no I/O, no clock, no allocation. Used by the supervisor of each process and by the
 * simulator. All instants are boot time in microseconds: that clock is never set and goes on while
 * the machine sleeps.
 *
 *         report sent                          TERM             KILL      deadline
 *     --------+-----------------------------------+----------------+----------+------> time
 *             |                                   |<- 1/4 lease -->|<- 1/12 ->|
 *             |<------------------------- lease_us -------------------------->|
 *
 * Invariant: as long as the machine runs and its clock does not stand still, a fenced process is
 * dead before the deadline. That is why SIGKILL comes a twelfth of the lease before it: dying and
 * being reaped takes time too. The scheduler waits longer than the deadline before it replaces
 * anything (it counts from when it got the report, and adds a margin). The whole third before the
 * deadline is given to ending: a node that was silent for two thirds of its lease has missed
 * several reports in a row.
 *
 * A machine that was suspended beyond the deadline wakes up with processes that are overdue: the
 * first look kills them at once. Until then they did not run either, but between waking up and the
 * first look they may; no clock can prevent that. Wall-clock jumps do not matter. A lease that is
 * renewed after TERM does not take it back: a process that was told to end is of no use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fence_cause {
    FENCE_NONE,    /* goes on */
    FENCE_STOPPED, /* somebody asked for its end */
    FENCE_LEASE,   /* the lease runs out */
};

struct fence { /* fence_init makes one; read only for others */
    uint64_t lease_us;
    uint64_t grace_us;
    uint64_t kill_at_us;    /* NEVER_US while it goes on */
    bool fenced;            /* the lease was seen running out, the deadline counts no more */
    bool term_due;          /* SIGTERM has not been handed out yet */
    enum fence_cause cause; /* the first one: it is what is reported */
};

struct fence_verdict {
    bool term;           /* send SIGTERM now; true once in a fence's life */
    bool kill;           /* send SIGKILL to everything now */
    uint64_t look_at_us; /* ask again then, or when something happens; NEVER_US for no need */
};

/* fence_term_at - when a process of this lease gets SIGTERM; NEVER_US without a lease (lease_us 0)
 */
uint64_t fence_term_at(uint64_t deadline_us, uint64_t lease_us);

/* fence_kill_at - when nothing of it may be left but zombies; never before fence_term_at */
uint64_t fence_kill_at(uint64_t deadline_us, uint64_t lease_us);

/* fence_init - lease_us 0: this process is not fenced; grace_us: of its own order */
void fence_init(struct fence *fence, uint64_t lease_us, uint64_t grace_us);

/* fence_stop - somebody asks for its end within grace_us; a later call can only bring it nearer */
void fence_stop(struct fence *fence, uint64_t grace_us, uint64_t now_us);

/* fence_look - what has to be done now; deadline_us as the lease file has it at this moment */
struct fence_verdict fence_look(struct fence *fence, uint64_t deadline_us, uint64_t now_us);
