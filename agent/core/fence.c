/* SPDX-License-Identifier: Apache-2.0 */
/* fence.c - when one process has to stand still or to end (see the pictures in fence.h) */
#include "agent/core/fence.h"

#include "shared/macro.h"

#define TERM_PART 3   /* of the lease, before its deadline */
#define FREEZE_PART 6 /* likewise */
#define KILL_PART 12  /* likewise */
/* Of one that is frozen late. A thousand processes take 5 ms, a fork bomb 40. */
#define VERIFY_LATE_US (UINT64_C(200) * 1000)

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

uint64_t fence_freeze_at(uint64_t deadline_us, uint64_t lease_us)
{
    return before(deadline_us, lease_us, FREEZE_PART);
}

uint64_t fence_kill_at(uint64_t deadline_us, uint64_t lease_us)
{
    return before(deadline_us, lease_us, KILL_PART);
}

void fence_init(struct fence *fence, uint64_t lease_us, uint64_t grace_us)
{
    *fence = (struct fence){ .lease_us = lease_us, .grace_us = grace_us, .kill_at_us = NEVER_US };
}

void fence_may_freeze(struct fence *fence, uint64_t cut_off_kill_us)
{
    fence->freezes = true;
    fence->cut_off_kill_us = cut_off_kill_us;
}

void fence_may_not_freeze(struct fence *fence)
{
    fence->freezes = false;
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

/* end_frozen - SIGTERM would wake it */
static void end_frozen(struct fence *fence, enum fence_cause cause, uint64_t now_us)
{
    end(fence, cause, now_us);
    fence->term_due = false;
}

void fence_stop(struct fence *fence, uint64_t grace_us, uint64_t now_us)
{
    if (fence->stance != FENCE_RUNS)
        end_frozen(fence, FENCE_STOPPED, now_us);
    else
        end(fence, FENCE_STOPPED, after(now_us, grace_us));
}

void fence_silent(struct fence *fence, uint64_t now_us)
{
    if (fence->stance == FENCE_RUNS && fence->cause == FENCE_NONE)
        end_frozen(fence, FENCE_SILENT, now_us);
}

void fence_verified(struct fence *fence)
{
    if (fence->stance == FENCE_FREEZING)
        fence->stance = FENCE_FROZEN;
}

void fence_unfrozen(struct fence *fence, uint64_t now_us)
{
    end_frozen(fence, FENCE_LEASE, now_us);
}

static bool is_held(const struct fence *fence, struct lease_word lease, uint64_t now_us)
{
    return now_us < fence_freeze_at(lease.deadline_us, fence->lease_us);
}

bool fence_thaw(struct fence *fence, uint16_t epoch, struct lease_word lease, uint64_t now_us)
{
    if (fence->stance == FENCE_RUNS || fence->cause != FENCE_NONE || epoch != lease.epoch ||
        !is_held(fence, lease, now_us))
        return false;
    fence->stance = FENCE_RUNS;
    fence->epoch = epoch;
    return true;
}

bool fence_outlived(struct fence *fence, struct lease_word lease, uint64_t now_us)
{
    if (fence->stance != FENCE_RUNS || fence->epoch == lease.epoch)
        return false;
    fence->stance = FENCE_FROZEN;
    fence->since_us = now_us;
    if (fence->cause != FENCE_NONE)
        end_frozen(fence, fence->cause, now_us);
    return true;
}

/* verify_by - when one that is frozen now has to be seen to stand still: in time, or as soon as can
 * be asked of one that is frozen late, and at the deadline in any case that is not past */
static uint64_t verify_by(const struct fence *fence, uint64_t deadline_us, uint64_t now_us)
{
    const uint64_t late_us = now_us + MIN_OF(fence->lease_us / KILL_PART, VERIFY_LATE_US);

    return MAX_OF(fence_kill_at(deadline_us, fence->lease_us),
                  now_us < deadline_us ? MIN_OF(late_us, deadline_us) : late_us);
}

/* look_running - it goes on, or is to be frozen; returns when to look again */
static uint64_t look_running(struct fence *fence, struct lease_word lease, uint64_t now_us,
                             struct fence_verdict *verdict)
{
    if (is_held(fence, lease, now_us))
        return fence_freeze_at(lease.deadline_us, fence->lease_us);
    fence->stance = FENCE_FREEZING;
    fence->epoch = lease.epoch;
    fence->since_us = now_us;
    fence->verify_by_us = verify_by(fence, lease.deadline_us, now_us);
    verdict->freeze = true;
    return fence->verify_by_us;
}

/* look_frozen - it goes on, stands still for some time more, or is to be killed; likewise */
static uint64_t look_frozen(struct fence *fence, struct lease_word lease, uint64_t now_us,
                            struct fence_verdict *verdict)
{
    uint64_t end_us = fence->stance == FENCE_FREEZING
                          ? fence->verify_by_us
                          : after(fence->since_us, fence->cut_off_kill_us);

    if (fence->cause != FENCE_NONE)
        return NEVER_US;
    if (fence->freezes && lease.epoch == fence->epoch && is_held(fence, lease, now_us)) {
        fence->stance = FENCE_RUNS;
        verdict->thaw = true;
        return fence_freeze_at(lease.deadline_us, fence->lease_us);
    }
    if (now_us >= end_us)
        end_frozen(fence, FENCE_LEASE, now_us);
    if (lease.epoch == fence->epoch && now_us < lease.deadline_us)
        end_us = MIN_OF(end_us, now_us + FENCE_POLL_US);
    return end_us;
}

/* look_ending - it cannot be frozen, or is being stopped; likewise */
static uint64_t look_ending(struct fence *fence, uint64_t deadline_us, uint64_t now_us)
{
    uint64_t kill_at_us = fence_kill_at(deadline_us, fence->lease_us);
    uint64_t end_at_us = fence->freezes ? kill_at_us : fence_term_at(deadline_us, fence->lease_us);

    if (!fence->fenced && now_us >= end_at_us) {
        fence->fenced = true;
        end(fence, FENCE_LEASE, MIN_OF(after(now_us, fence->grace_us), MAX_OF(kill_at_us, now_us)));
    }
    return fence->fenced ? NEVER_US : end_at_us;
}

struct fence_verdict fence_look(struct fence *fence, struct lease_word lease, uint64_t now_us)
{
    struct fence_verdict verdict = { .look_at_us = NEVER_US };
    uint64_t next_us;

    if (fence->stance != FENCE_RUNS)
        next_us = look_frozen(fence, lease, now_us, &verdict);
    else if (fence->freezes && fence->cause == FENCE_NONE)
        next_us = look_running(fence, lease, now_us, &verdict);
    else
        next_us = look_ending(fence, lease.deadline_us, now_us);
    verdict.term = fence->term_due;
    fence->term_due = false;
    verdict.kill = now_us >= fence->kill_at_us;
    if (!verdict.kill)
        verdict.look_at_us = MIN_OF(fence->kill_at_us, next_us);
    return verdict;
}

const char *fence_say(enum fence_cause cause)
{
    static const char *const texts[] = { [FENCE_NONE] = "",
                                         [FENCE_STOPPED] = "stopped",
                                         [FENCE_LEASE] = "lease ended: the node was cut off",
                                         [FENCE_SILENT] = "it stood still: it had promised to say "
                                                          "that it is alive, and did not" };

    return texts[cause];
}

enum exit_cause fence_exit_cause(enum fence_cause cause, enum exit_cause otherwise)
{
    static const enum exit_cause causes[] = { [FENCE_STOPPED] = EXIT_CAUSE_STOPPED,
                                              [FENCE_LEASE] = EXIT_CAUSE_LEASE,
                                              [FENCE_SILENT] = EXIT_CAUSE_STOOD_STILL };

    return cause != FENCE_NONE ? causes[cause] : otherwise;
}
