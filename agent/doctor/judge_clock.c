/* SPDX-License-Identifier: Apache-2.0 */
/* judge_clock.c - the wall clock
 *
 * Leases and deadlines do not need it (they count boot time); certificates and the order of log
 * lines of several nodes do. The scheduler's clock is known to a second only. */
#include "agent/doctor/facts.h"
#include "shared/macro.h"

#define OFFSET_FINE_US (2 * (int64_t)USEC_PER_SEC)
#define OFFSET_BAD_US (300 * (int64_t)USEC_PER_SEC)

static void judge_offset(int64_t offset_us, struct findings *ret)
{
    int64_t far_us = offset_us < 0 ? -offset_us : offset_us;
    const char *side = offset_us < 0 ? "behind" : "ahead of";
    long long far_s = (long long)(far_us / (int64_t)USEC_PER_SEC);

    if (far_us <= OFFSET_FINE_US) {
        found_ok(ret, "clock offset", "within 2 s of the scheduler's clock");
        return;
    }
    if (far_us > OFFSET_BAD_US)
        found_problem(ret, "clock offset",
                      "this clock is %lld s %s the scheduler's: certificates seem invalid", far_s,
                      side);
    else
        found_warning(ret, "clock offset",
                      "this clock is %lld s %s the scheduler's: log lines are put in a wrong order",
                      far_s, side);
    found_remedy(ret, "date, on both machines; on the wrong one: timedatectl set-ntp true");
}

void judge_clock(const struct doctor_facts *all, struct findings *ret)
{
    const struct clock_facts *facts = &all->clock;

    if (facts->is_known && facts->is_synchronised) {
        found_ok(ret, "clock", "is kept right by a time service");
    } else if (facts->is_known) {
        found_warning(ret, "clock", "no time service keeps it right");
        found_remedy(ret, "apt-get install systemd-timesyncd; timedatectl set-ntp true");
    }
    if (facts->has_offset)
        judge_offset(facts->offset_us, ret);
}
