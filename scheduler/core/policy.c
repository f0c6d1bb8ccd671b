/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the policies that there are */
#include "scheduler/core/policy.h"

#include "shared/macro.h"

static const struct policy *const policies[] = { &policy_fulfilment };

const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(policies); i++)
        if (streq(policies[i]->name, name))
            return policies[i];
    return NULL;
}
