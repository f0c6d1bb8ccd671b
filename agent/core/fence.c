/* SPDX-License-Identifier: Apache-2.0 */
/* fence.c - when one process has to end (see the picture in fence.h) */
#include "agent/core/fence.h"

#include "shared/macro.h"

#define TERM_PART 3  /* of the lease, before its deadline */
#define KILL_PART 12 /* likewise */

/* before - an instant, a part of the lease before the deadline; 0 when that is before the boot */
static uint64_t before(uint64_t deadline_us, uint64_t lease_us, uint64_t part)
{
    if (lease_us == 0)
        return NEVER_US;
    return deadline_us > lease_us / part ? deadline_us - lease_us / part : 0;
}

static uint64_t after(uint64_t now_us, uint64_t delay_us)
{
    return delay_us > NEVER_US - now_us ? NEVER_US : now_us + delay_us;
}

uint64_t fence_term_at(uint64_t deadline_us, uint64_t lease_us)
{
    return before(deadline_us, lease_us, TERM_PART);
}

uint64_t fence_kill_at(uint64_t deadline_us, uint64_t lease_us)
{
    return before(deadline_us, lease_us, KILL_PART);
}

void fence_init(struct fence *fence, uint64_t lease_us, uint64_t grace_us)
{
    *fence = (struct fence){ .lease_us = lease_us, .grace_us = grace_us, .kill_at_us = NEVER_US };
}

/* end - the first cause is the one that is told; SIGTERM is for the first one only */
static void end(struct fence *fence, enum fence_cause cause, uint64_t kill_at_us)
{
    fence->kill_at_us = MIN_OF(fence->kill_at_us, kill_at_us);
    if (fence->cause != FENCE_NONE)
        return;
    fence->cause = cause;
    fence->term_due = true;
}

void fence_stop(struct fence *fence, uint64_t grace_us, uint64_t now_us)
{
    end(fence, FENCE_STOPPED, after(now_us, grace_us));
}

struct fence_verdict fence_look(struct fence *fence, uint64_t deadline_us, uint64_t now_us)
{
    uint64_t term_at_us = fence_term_at(deadline_us, fence->lease_us);
    struct fence_verdict verdict = { .look_at_us = NEVER_US };

    if (!fence->fenced && now_us >= term_at_us) {
        fence->fenced = true;
        end(fence, FENCE_LEASE,
            MIN_OF(after(now_us, fence->grace_us),
                   MAX_OF(fence_kill_at(deadline_us, fence->lease_us), now_us)));
    }
    verdict.term = fence->term_due;
    fence->term_due = false;
    verdict.kill = now_us >= fence->kill_at_us;
    if (!verdict.kill)
        verdict.look_at_us = MIN_OF(fence->kill_at_us, fence->fenced ? NEVER_US : term_at_us);
    return verdict;
}
