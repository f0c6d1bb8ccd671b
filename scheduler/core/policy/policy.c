/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the policies that there are */
#include "scheduler/core/policy/policy.h"

#include <stdio.h>

#include "shared/macro.h"

static const struct policy *const policies[] = { &policy_goodput, &policy_goodput_balanced,
                                                 &policy_fulfilment };

const struct policy *const policy_default = &policy_goodput;

const char *policy_resource_to_string(enum policy_resource resource)
{
    static const char *const texts[] = {
        [POLICY_CPU] = "cpu", [POLICY_MEMORY] = "memory", [POLICY_GPU] = "gpu"
    };

    return texts[resource];
}

const char *policy_resource_unit(enum policy_resource resource)
{
    static const char *const texts[] = {
        [POLICY_CPU] = "core", [POLICY_MEMORY] = "GiB", [POLICY_GPU] = "GPU"
    };

    return texts[resource];
}

void policy_names(char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < ELEMENTS(policies) && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 policies[i]->name);
}

const struct policy *policy_at(size_t at)
{
    return at < ELEMENTS(policies) ? policies[at] : NULL;
}

const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(policies); i++)
        if (streq(policies[i]->name, name))
            return policies[i];
    return NULL;
}
