/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_load.c - what other programs take of a node: a rise counts at once, a fall later */
#include "scheduler/core/model/foreign_load.h"

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/reports.h"
#include "shared/clock.h"

#define NOISE_HOLDS 6

void node_plan_with_foreign(struct cluster *cluster, struct node *node, uint64_t cpu_millicores,
                            uint64_t memory_bytes)
{
    deadline_set(&cluster->deadlines, &node->foreign_falls, DEADLINE_FOREIGN, NEVER_US);
    node->foreign_planned_cpu = cpu_millicores;
    node->foreign_planned_memory = memory_bytes;
    node_changed(cluster, node);
    cluster->plan_wanted = true;
}

/* Less than 2 % of the node is noise. */
static bool is_above(uint64_t a, uint64_t b, uint64_t offered)
{
    return a > b && a - b > offered / 50;
}

static bool fell_by_more_than_noise(const struct node *node)
{
    return is_above(node->foreign_planned_cpu, node->foreign_cpu_millicores,
                    node->offer.cpu_millicores) ||
           is_above(node->foreign_planned_memory, node->foreign_memory_bytes,
                    node->offer.memory_bytes);
}

/* Noise waits longer, but not for ever: an instance may need just that much. */
static void await_fall(struct cluster *cluster, struct node *node, struct instant now)
{
    uint64_t hold_us = cluster->config.foreign_hold_us;

    if (!fell_by_more_than_noise(node))
        hold_us *= NOISE_HOLDS;
    deadline_set(&cluster->deadlines, &node->foreign_falls, DEADLINE_FOREIGN, now.now_us + hold_us);
}

/* Foreign load that rises is reckoned with at once: the machine's own services come first. One that
 * falls is believed when it was lower for foreign_hold_us: then its peak of that time counts. So
 * nothing grows into a short lull only to be shrunk away again. */
void node_take_foreign(struct cluster *cluster, struct node *node, const struct node_report *report,
                       struct instant now)
{
    uint64_t cpu = MIN_OF(report->foreign_cpu_millicores, NODE_CPU_MILLICORES_MAX);
    uint64_t memory = MIN_OF(report->foreign_memory_bytes, NODE_MEMORY_BYTES_MAX);
    bool falls = deadline_at(&node->foreign_falls) != NEVER_US;

    node->foreign_cpu_millicores = cpu;
    node->foreign_memory_bytes = memory;
    /* taken for noise, which was the beginning of a fall: agents smooth what they report */
    if (falls && fell_by_more_than_noise(node) &&
        deadline_at(&node->foreign_falls) > now.now_us + cluster->config.foreign_hold_us)
        falls = false;
    if (is_above(cpu, node->foreign_planned_cpu, node->offer.cpu_millicores) ||
        is_above(memory, node->foreign_planned_memory, node->offer.memory_bytes)) {
        node_plan_with_foreign(cluster, node, MAX_OF(cpu, node->foreign_planned_cpu),
                               MAX_OF(memory, node->foreign_planned_memory));
        falls = false;
    }
    if (node->foreign_planned_cpu <= cpu && node->foreign_planned_memory <= memory) {
        deadline_set(&cluster->deadlines, &node->foreign_falls, DEADLINE_FOREIGN, NEVER_US);
        return;
    }
    node->foreign_peak_cpu = falls ? MAX_OF(node->foreign_peak_cpu, cpu) : cpu;
    node->foreign_peak_memory = falls ? MAX_OF(node->foreign_peak_memory, memory) : memory;
    if (cluster->config.foreign_hold_us == 0)
        node_plan_with_foreign(cluster, node, cpu, memory);
    else if (!falls)
        await_fall(cluster, node, now);
}

void node_foreign_fell(struct cluster *cluster, struct node *node, struct instant now)
{
    uint64_t cpu = node->foreign_cpu_millicores;
    uint64_t memory = node->foreign_memory_bytes;
    uint64_t cpu_peak = node->foreign_peak_cpu, memory_peak = node->foreign_peak_memory;

    /* as while it rises: else a load that was there once would cost a node one of its cores */
    node_plan_with_foreign(cluster, node,
                           is_above(cpu_peak, 0, node->offer.cpu_millicores) ? cpu_peak : 0,
                           is_above(memory_peak, 0, node->offer.memory_bytes) ? memory_peak : 0);
    if (node->foreign_planned_cpu <= cpu && node->foreign_planned_memory <= memory)
        return;
    node->foreign_peak_cpu = cpu; /* it fell further meanwhile: wait as long for the rest */
    node->foreign_peak_memory = memory;
    await_fall(cluster, node, now);
}
