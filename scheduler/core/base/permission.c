/* SPDX-License-Identifier: Apache-2.0 */
/* permission.c - see permission.h */
#include "scheduler/core/base/permission.h"

#define DRIFT_ONE_IN 50 /* of one clock against another, at most */

void permission_stored(struct permission *permission, uint64_t sent_us)
{
    permission->until_us = MAX_OF(permission->until_us, sent_us + PERMISSION_US);
}

bool permission_holds(const struct permission *permission, uint64_t now_us)
{
    return now_us < permission->until_us;
}

uint64_t permission_wait_us(uint64_t permission_us, uint64_t told_us, uint64_t margin_us)
{
    uint64_t us = permission_us + told_us;

    return us + us / DRIFT_ONE_IN + margin_us;
}

uint64_t permission_first_lease_us(uint64_t lease_us, uint64_t margin_us)
{
    return MAX_OF(permission_wait_us(PERMISSION_US, lease_us, margin_us), FIRST_LEASE_LEAST_US);
}
