/* SPDX-License-Identifier: Apache-2.0 */
/* node_speed.c - how fast a node is: a mean, levels of it, and when it is forgotten
 *
 * It is learnt again within minutes wherever something runs, so nothing of it is stored. A speed
 * that is not measured any more is forgotten after a while, or a node that was slow once would be
 * avoided for ever: nobody would run there who could see that it is not. That jobs without GPUs are
 * measured there says nothing of those with, and the other way round. Each time that an instance
 * had to be moved away from it, it is remembered for twice as long, until it is another machine. */
#include "scheduler/core/learn/node_speed.h"

#include <math.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_gpu_type.h"
#include "scheduler/core/speed/pace.h"
#include "shared/clock.h"
#include "shared/job_spec.h"

#define LATEST_WEIGHT 0.25 /* of the last round, once there are more */
#define FORGOTTEN_US (30 * 60 * USEC_PER_SEC)
#define DOUBLINGS_MAX 5

/* Where levels begin: 0.4, 0.7, 1.4 and 2.5 times as fast. To leave one it takes a tenth more. */
static const double begins[] = { -0.916, -0.357, 0.336, 0.916 };
#define STICKS 0.1

int8_t node_speed_level(double log)
{
    int8_t level = -SPEED_LEVEL_MOST;

    for (size_t i = 0; i < ELEMENTS(begins) && log >= begins[i]; i++)
        level++;
    return level;
}

bool node_speed_add(struct node_speed *speed, double log)
{
    const double most = 0.6931471806 * 3; /* GOODPUT_PACE_MOST, as a logarithm */
    double weight = fmax(LATEST_WEIGHT, 1.0 / (speed->rounds + 2.0));
    int8_t before = speed->level;

    _Static_assert(GOODPUT_PACE_MOST == 8, "2^3");
    speed->log += weight * (fmin(fmax(log, -most), most) - speed->log);
    speed->rounds++;
    speed->level = MAX_OF(MIN_OF(speed->level, node_speed_level(speed->log + STICKS)),
                          node_speed_level(speed->log - STICKS));
    return speed->level != before;
}

/* Jobs that use no GPU keep off those that are there for others, fast or not. */
static void set_level(struct node *node, enum speed_kind kind)
{
    int8_t level = node->speeds[kind].level;

    if (kind == SPEED_CPU && node->offer.gpus > 0 && level > 0)
        level = 0;
    node->levels[kind] = level;
}

static void watch(struct cluster *cluster, struct node *node)
{
    uint64_t first_us = NEVER_US;

    for (int kind = 0; kind < _SPEED_KINDS; kind++)
        if (node->speeds[kind].rounds > 0)
            first_us = MIN_OF(first_us, node->speeds[kind].until_us);
    deadline_set(&cluster->deadlines, &node->speed_forgotten, DEADLINE_SPEED, first_us);
}

void node_expect_speed(struct node *node, enum speed_kind kind, double log)
{
    if (node->speeds[kind].rounds == 0)
        node->speeds[kind].log = log;
}

void node_note_speed(struct cluster *cluster, struct node *node, enum speed_kind kind, double log,
                     struct instant now)
{
    uint64_t kept_us = FORGOTTEN_US << MIN_OF(node->moved_away, (uint32_t)DOUBLINGS_MAX);
    bool changed;

    node_count_type_speed(cluster, node, -1);
    changed = node_speed_add(&node->speeds[kind], log);
    node_count_type_speed(cluster, node, 1);
    node->speeds[kind].until_us = now.now_us + kept_us;
    watch(cluster, node);
    if (!changed)
        return;
    set_level(node, kind);
    node_changed(cluster, node);
    effect_event(cluster, now, NULL, node->name, "node-speed",
                 "jobs %s GPUs run %.2g times as fast there as on other nodes",
                 kind == SPEED_GPU ? "with" : "without", exp(node->speeds[kind].log));
}

static void forget_until(struct cluster *cluster, struct node *node, uint64_t until_us)
{
    node_count_type_speed(cluster, node, -1);
    for (int kind = 0; kind < _SPEED_KINDS; kind++)
        if (node->speeds[kind].until_us <= until_us) {
            node->speeds[kind] = (struct node_speed){ 0 };
            node->levels[kind] = 0;
        }
    node_count_type_speed(cluster, node, 1);
    watch(cluster, node);
    node_changed(cluster, node);
}

void node_speed_fell_due(struct cluster *cluster, struct node *node, struct instant now)
{
    forget_until(cluster, node, now.now_us);
}

void node_forget_speed(struct cluster *cluster, struct node *node)
{
    node->moved_away = 0;
    forget_until(cluster, node, NEVER_US);
}

void node_copy_speed(struct cluster *copy, struct node *to, const struct node *from)
{
    node_count_type_speed(copy, to, -1);
    for (int kind = 0; kind < _SPEED_KINDS; kind++) {
        to->speeds[kind] = from->speeds[kind];
        set_level(to, (enum speed_kind)kind);
    }
    node_count_type_speed(copy, to, 1);
    to->moved_away = from->moved_away;
    deadline_set(&copy->deadlines, &to->speed_forgotten, DEADLINE_SPEED,
                 deadline_at(&from->speed_forgotten));
}

enum speed_kind speed_kind_of(const struct role_spec *role)
{
    return role->gpus > 0 ? SPEED_GPU : SPEED_CPU;
}
