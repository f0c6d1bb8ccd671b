/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - the order of groups: the next one to have more, the first one to have less
 *
 * A group's part of the cluster is that of its cores or that of its GPUs, whichever is larger: a
 * group that holds all GPUs and few cores holds much. One number orders all groups: below 0 the
 * lack of a group with less than its guarantee; else its surplus, divided by its weight. */
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"

#define PARTS INT64_C(1000000000)

static int64_t part_of(int64_t held, int64_t total)
{
    return total > 0 ? held * PARTS / total : 0;
}

int64_t policy_group_part(const struct policy_group *group, int64_t cpu_total_millicores,
                          int64_t gpu_total)
{
    int64_t cpu = part_of(group->cpu_millicores, cpu_total_millicores);
    int64_t gpu = part_of(group->gpus, gpu_total);

    return MAX_OF(cpu, gpu);
}

int64_t policy_group_level(const struct policy_group *group, int64_t cpu_total_millicores,
                           int64_t gpu_total)
{
    int64_t beyond = policy_group_part(group, cpu_total_millicores, gpu_total) -
                     (int64_t)group->guaranteed_permille * (PARTS / 1000);

    return beyond <= 0 || group->weight == 0 ? beyond : beyond / (int64_t)group->weight;
}
