/* SPDX-License-Identifier: Apache-2.0 */
/* standstill.c - see standstill.h */
#include "agent/supervisor/standstill.h"

#include <string.h>
#include <unistd.h>

#include "agent/supervisor/killtree.h"
#include "agent/link/lease.h"
#include "agent/processes/process_dir.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define TELL_AGAIN_US USEC_PER_SEC

void standstill_begin(struct standstill *ret, struct fence *fence, int dir_fd,
                      struct supervisor_record *record, const char *group, uint64_t cut_off_kill_us)
{
    if (fence->lease_us == 0 || cut_off_kill_us == 0 || !freezer_open(&ret->freezer, group))
        return;
    ret->fence = fence;
    ret->record = record;
    ret->dir_fd = dir_fd;
    fence_may_freeze(fence, cut_off_kill_us);
}

void standstill_end(struct standstill *standstill)
{
    freezer_close(&standstill->freezer);
}

static bool is_standing(const struct standstill *standstill)
{
    return standstill->fence != NULL && standstill->fence->stance != FENCE_RUNS;
}

int standstill_fd(const struct standstill *standstill)
{
    return is_standing(standstill) ? standstill->freezer.events_fd : -1;
}

/* tell - what the fence says now. A disk that hangs holds the caller, and with it the next look of
 * the fence. So it is called only while the program stands still, but for a record that a disk
 * has refused. */
static void tell(struct standstill *standstill)
{
    struct supervisor_record *record = standstill->record;
    struct edl_error error = { 0 };

    record->frozen_since_us =
        standstill->fence->stance == FENCE_FROZEN ? standstill->fence->since_us : 0;
    record->frozen_us = standstill->stood_us;
    if (process_dir_write_supervisor(standstill->dir_fd, record, &error) == 0) {
        standstill->untold = false;
        return;
    }
    if (!standstill->untold)
        (void)log_failure(&error, "its agent does not hear yet that it %s",
                          record->frozen_since_us > 0 ? "stands still" : "goes on");
    standstill->untold = true;
}

uint64_t standstill_look_at(const struct standstill *standstill, uint64_t now_us)
{
    return standstill->untold ? now_us + TELL_AGAIN_US : NEVER_US;
}

static void verify_frozen(struct standstill *standstill, uint64_t now_us)
{
    if (!freezer_stands(&standstill->freezer) && freezer_is_undone(&standstill->freezer))
        fence_unfrozen(standstill->fence, now_us);
}

static bool is_outside(pid_t pid, const void *freezer)
{
    return !freezer_holds(freezer, pid);
}

/* has_escaped - a process of the program went to another group, where it is not frozen */
static bool has_escaped(const struct freezer *freezer)
{
    int r = killtree_find(is_outside, freezer);

    if (r < 0)
        log_error("cannot see whether all of it is in %s: %s", freezer->group, strerror(-r));
    else if (r > 0)
        log_warning("its process %d has left %s: it cannot be frozen", r, freezer->group);
    return r != 0;
}

/* verify_freezing - one that has not told yet that it runs could not be thawed: it ends */
static void verify_freezing(struct standstill *standstill, uint64_t now_us)
{
    const struct freezer *freezer = &standstill->freezer;
    bool told = faccessat(standstill->dir_fd, "supervisor.json", F_OK, 0) == 0;

    if (told && !freezer_stands(freezer))
        return;
    if (!told || has_escaped(freezer)) {
        fence_unfrozen(standstill->fence, now_us);
    } else {
        fence_verified(standstill->fence);
        tell(standstill);
    }
}

void standstill_verify(struct standstill *standstill, const struct lease_map *lease,
                       uint64_t now_us)
{
    if (standstill->fence != NULL && !lease_map_has_epoch(lease))
        fence_may_not_freeze(standstill->fence);
    if (standstill->untold)
        tell(standstill);
    if (!is_standing(standstill))
        return;
    if (standstill->fence->stance == FENCE_FROZEN)
        verify_frozen(standstill, now_us);
    else
        verify_freezing(standstill, now_us);
}

int standstill_freeze(struct standstill *standstill, uint64_t now_us)
{
    int r = freezer_freeze(&standstill->freezer);

    standstill->thaw_due = false;
    if (r < 0) {
        log_error("cannot freeze %s: %s", standstill->freezer.group, strerror(-r));
        fence_unfrozen(standstill->fence, now_us);
    }
    return r;
}

void standstill_goes_on(struct standstill *standstill, uint64_t now_us)
{
    standstill->stood_us += now_us - standstill->fence->since_us;
    standstill->thaw_due = true;
    tell(standstill);
}

struct fence_verdict standstill_judge(struct standstill *standstill, struct fence *fence,
                                      const struct lease_map *lease)
{
    struct fence_verdict verdict;
    bool term = false;

    do {
        const struct lease_word word = lease_map_read(lease);
        const uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (standstill->thaw_due && fence_outlived(fence, word, now_us)) {
            standstill->thaw_due = false;
            tell(standstill);
        }
        verdict = fence_look(fence, word, now_us);
        term = term || verdict.term;
        if (verdict.thaw)
            standstill_goes_on(standstill, now_us);
    } while (verdict.thaw);
    verdict.term = term;
    return verdict;
}

void standstill_thaw(struct standstill *standstill)
{
    int r;

    if (!standstill->thaw_due || is_standing(standstill))
        return;
    standstill->thaw_due = false;
    r = freezer_thaw(&standstill->freezer);
    if (r < 0)
        log_error("cannot thaw %s: %s", standstill->freezer.group, strerror(-r));
}

uint64_t standstill_us(const struct standstill *standstill)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    return standstill->stood_us +
           (is_standing(standstill) ? now_us - standstill->fence->since_us : 0);
}
