/* SPDX-License-Identifier: Apache-2.0 */
/* fault_profiles.c - the profiles of faults that a seed can have */
#include "simulator/fault_profiles.h"

#include <string.h>

#include "shared/macro.h"
#include "simulator/sim.h"

#define NETWORK_WEIGHTS                                                                            \
    [SCRIPT_CUT] = 6, [SCRIPT_SLOW] = 2, [SCRIPT_LOSS] = 2, [SCRIPT_CUT_CLIENTS] = 2
#define CRASH_WEIGHTS                                                                              \
    [SCRIPT_AGENT_CRASH] = 4, [SCRIPT_REBOOT] = 3, [SCRIPT_KILL_UNIT] = 3,                         \
    [SCRIPT_STARTS_FAIL] = 4, [SCRIPT_AGENT_STOP] = 3, [SCRIPT_REBOOT_CHANGED] = 3,                \
    [SCRIPT_SERVER_CRASH] = 2, [SCRIPT_SERVER_CRASH_IN_COMMIT] = 2,                                \
    [SCRIPT_SERVER_CRASH_AFTER_COMMIT] = 2
#define CLOCK_WEIGHTS                                                                              \
    [SCRIPT_FREEZE] = 4, [SCRIPT_FREEZE_AGENT] = 4, [SCRIPT_SERVER_FREEZE] = 2,                    \
    [SCRIPT_WALL_JUMP] = 3, [SCRIPT_SERVER_REBOOT] = 2

#define MIXED_FAULTS                                                                               \
    .per_minute = 2, .loss_ppm = 5000, .duplicate_ppm = 10000, .tail_ppm = 10000,                  \
    .weights = { NETWORK_WEIGHTS, CRASH_WEIGHTS,                                                   \
                 CLOCK_WEIGHTS, [SCRIPT_DISK_SLOW] = 2, [SCRIPT_FOREIGN] = 3 }

static const struct profile profiles[] = {
    { .name = "none", .weights = { [SCRIPT_FOREIGN] = 1 } },
    { .name = "network",
      .per_minute = 2,
      .loss_ppm = 10000,
      .duplicate_ppm = 20000,
      .tail_ppm = 20000,
      .weights = { NETWORK_WEIGHTS } },
    { .name = "crash", .per_minute = 2, .weights = { CRASH_WEIGHTS } },
    { .name = "clock", .per_minute = 2, .weights = { CLOCK_WEIGHTS } },
    { .name = "storage",
      .per_minute = 3,
      .weights = { [SCRIPT_SERVER_CRASH_IN_COMMIT] = 6,
                   [SCRIPT_SERVER_CRASH_AFTER_COMMIT] = 4,
                   [SCRIPT_DISK_SLOW] = 3 } },
    { .name = "stall",
      .per_minute = 4,
      .weights = { [SCRIPT_SERVER_FREEZE] = 6, [SCRIPT_DISK_SLOW] = 3, [SCRIPT_CUT] = 3 } },
    { .name = "gone", /* the scheduler's machine is started again, or its program */
      .per_minute = 2,
      .least_s = 10,
      .most_s = 60,
      .weights = { [SCRIPT_SERVER_REBOOT] = 3, [SCRIPT_SERVER_CRASH] = 1 } },
    { .name = "cut", .per_minute = 4, .least_s = 1, .most_s = 60, .weights = { [SCRIPT_CUT] = 1 } },
    { .name = "gaps", /* one after the other, with all that befalls what is frozen */
      .per_minute = 12,
      .late_thaws = true,
      .least_s = 1,
      .most_s = 40,
      .weights = { [SCRIPT_SERVER_REBOOT] = 2,
                   [SCRIPT_SERVER_FREEZE] = 2,
                   [SCRIPT_CUT] = 6,
                   [SCRIPT_AGENT_CRASH] = 2,
                   [SCRIPT_KILL_SUPERVISOR] = 4,
                   [SCRIPT_FREEZE] = 2 } },
    { .name = "alive", /* some hang, and the others are frozen or not heard now and then */
      .per_minute = 6,
      .promises = true,
      .least_s = 1,
      .most_s = 40,
      .weights = { [SCRIPT_SERVER_REBOOT] = 1,
                   [SCRIPT_CUT] = 4,
                   [SCRIPT_AGENT_CRASH] = 4,
                   [SCRIPT_FREEZE] = 2,
                   [SCRIPT_FREEZE_AGENT] = 3 } },
    { .name = "away", /* the scheduler is stopped in order */
      .per_minute = 1,
      .weights = { [SCRIPT_SERVER_STOP] = 4,
                   [SCRIPT_SERVER_CRASH] = 1,
                   [SCRIPT_SERVER_REBOOT] = 1,
                   [SCRIPT_WALL_JUMP] = 1,
                   [SCRIPT_AGENT_CRASH] = 1,
                   [SCRIPT_CUT] = 1 } },
    { .name = "mixed", MIXED_FAULTS },
    { .name = "groups",
      .per_minute = 2,
      .groups = true,
      .weights = { [SCRIPT_GROUPS] = 4,
                   [SCRIPT_SERVER_CRASH] = 2,
                   [SCRIPT_SERVER_CRASH_IN_COMMIT] = 1,
                   [SCRIPT_AGENT_CRASH] = 1,
                   [SCRIPT_REBOOT] = 1,
                   [SCRIPT_FOREIGN] = 1 } },
    { .name = "limits", /* of users and groups; they change, as those do */
      .per_minute = 3,
      .groups = true,
      .limits = true,
      .weights = { [SCRIPT_GROUPS] = 6,
                   [SCRIPT_SERVER_CRASH] = 2,
                   [SCRIPT_SERVER_CRASH_IN_COMMIT] = 1,
                   [SCRIPT_AGENT_CRASH] = 1,
                   [SCRIPT_CUT] = 1,
                   [SCRIPT_REBOOT] = 1,
                   [SCRIPT_FOREIGN] = 1 } },
    { .name = "two-schedulers", /* over one store; each of them may fail, and the store may */
      .per_minute = 8,
      .two_schedulers = true,
      .weights = { [SCRIPT_SERVER_CRASH] = 3,
                   [SCRIPT_SERVER_FREEZE] = 4,
                   [SCRIPT_SERVER_REBOOT] = 1,
                   [SCRIPT_SERVER_STOP] = 1,
                   [SCRIPT_WALL_JUMP] = 1,
                   [SCRIPT_STORE_CUT] = 4,
                   [SCRIPT_STORE_STILL] = 2,
                   [SCRIPT_STORE_CRASH] = 4,
                   [SCRIPT_STORE_SPLIT] = 3,
                   [SCRIPT_NODE_APART] = 4,
                   [SCRIPT_LEADER_DEPOSED] = 6,
                   [SCRIPT_CUT] = 2,
                   [SCRIPT_AGENT_CRASH] = 2,
                   [SCRIPT_FREEZE] = 1,
                   [SCRIPT_KILL_UNIT] = 1 } },
    { .name = "slow", .speeds = true, MIXED_FAULTS },
    { .name = "types", .types = true, MIXED_FAULTS },
    { .name = "pins", .pins = true, MIXED_FAULTS },
    { .name = "services", .services = true, MIXED_FAULTS },
    { .name = "storm",
      .per_minute = 10,
      .loss_ppm = 30000,
      .duplicate_ppm = 30000,
      .tail_ppm = 30000,
      .weights = { NETWORK_WEIGHTS, CRASH_WEIGHTS,
                   CLOCK_WEIGHTS, [SCRIPT_DISK_SLOW] = 2, [SCRIPT_FOREIGN] = 3 } },
};

const struct profile *fault_profile(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(profiles); i++)
        if (streq(profiles[i].name, name))
            return &profiles[i];
    return NULL;
}

const char *sim_profile_name(size_t i)
{
    return i < ELEMENTS(profiles) ? profiles[i].name : NULL;
}
