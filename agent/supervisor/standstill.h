/* SPDX-License-Identifier: Apache-2.0 */
/* standstill.h - a supervisor makes its program stand still, and tells its agent
 *
 * core/fence.h decides what is done, and when; freezer.h does it. The record in the
 * process folder says since when it stands, for this agent and for one that comes later. */
#pragma once

#include <stdint.h>

#include "agent/core/fence.h"
#include "agent/supervisor/freezer.h"

struct lease_map;
struct supervisor_record;

struct standstill {
    struct fence *fence; /* borrowed, as the record; NULL: it cannot be frozen */
    struct supervisor_record *record;
    int dir_fd; /* borrowed */
    struct freezer freezer;
    uint64_t stood_us; /* for so long, in all, of what is over */
    bool untold;       /* the record could not be written, and is tried again */
    bool thaw_due;     /* the record says that it goes on, and it stands still yet */
};

#define STANDSTILL_NONE                                                                            \
    {                                                                                              \
        .freezer = {.events_fd = -1 }                                                              \
    }

/* standstill_begin - the program of this group runs, and may be frozen if that can be
 * cut_off_kill_us: as the order says; 0: its agent is of an earlier version, and could not thaw it.
 * Without a lease nothing changes. */
void standstill_begin(struct standstill *ret, struct fence *fence, int dir_fd,
                      struct supervisor_record *record, const char *group,
                      uint64_t cut_off_kill_us);
void standstill_end(struct standstill *standstill);

/* standstill_fd - readable by priority when there is something to verify; -1: it runs */
int standstill_fd(const struct standstill *standstill);

/* standstill_verify - before each look of the fence: a frozen program stands still, nobody else has
 * set it going, and its agent could thaw it, by this lease */
void standstill_verify(struct standstill *standstill, const struct lease_map *lease,
                       uint64_t now_us);

/* standstill_look_at - when standstill_verify is to tell again what it could not; NEVER_US */
uint64_t standstill_look_at(const struct standstill *standstill, uint64_t now_us);

/* standstill_freeze - the fence says so. 0, or -errno; then it has to be killed */
int standstill_freeze(struct standstill *standstill, uint64_t now_us);

/* standstill_goes_on - the fence says so: its agent is told first, while it stands still. A disk
 * may hold this for long, so the fence is asked again before standstill_thaw. */
void standstill_goes_on(struct standstill *standstill, uint64_t now_us);

/* standstill_judge - the verdict of the fence; one to go on is followed by standstill_goes_on and
 * by another look, as a disk may have held the first, even until the next lease */
struct fence_verdict standstill_judge(struct standstill *standstill, struct fence *fence,
                                      const struct lease_map *lease);

/* standstill_thaw - it goes on if it is to, and the fence has not changed its mind meanwhile */
void standstill_thaw(struct standstill *standstill);

/* standstill_us - for so long it stood still, in all and so far */
uint64_t standstill_us(const struct standstill *standstill);
