/* SPDX-License-Identifier: Apache-2.0 */
/* fault_profiles.h - how often which fault comes (fault_profiles.c) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "simulator/script.h"

/* How often each fault comes, relative to the others. */
struct profile {
    const char *name;
    uint32_t per_minute; /* faults of the whole cluster */
    uint32_t loss_ppm, duplicate_ppm, tail_ppm;
    bool two_schedulers;
    bool groups, limits, speeds, types, pins, services;
    bool promises;            /* processes promise to be alive, and more of them hang */
    bool late_thaws;          /* supervisors that do not get to run for long */
    uint32_t least_s, most_s; /* how long each lasts; 0: as leases are */
    uint8_t weights[_SCRIPT_MAX];
};

/* fault_profile - of this name; NULL: there is none */
const struct profile *fault_profile(const char *name);
