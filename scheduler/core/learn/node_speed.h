/* SPDX-License-Identifier: Apache-2.0 */
/* node_speed.h - how fast a node is, by the speed of jobs there and elsewhere
 *
 * One figure for jobs that use GPUs and one for those that do not: 1 is a node like most. It is the
 * mean of the last rounds (slow_instances.c), kept as a logarithm. For placement only a few levels
 * count, so that nodes that differ by a few percent are alike, and the first choice does not change
 * with every task. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/model/node.h"

struct cluster;
struct instant;
struct node;
struct role_spec;

/* As a logarithm, 1.4 times: by so much a node has to be faster for somebody to move there. */
#define SPEED_FASTER 0.336

#define SPEED_LEVEL_MOST 2 /* levels are -2 .. 2; 0: like most, or nobody knows */

/* node_speed_level - the level of something that is so many times as fast (as a logarithm) */
int8_t node_speed_level(double log);
/* node_speed_add - a round said that it is so many times as fast (as a logarithm); true when its
 * level is another one now. O(1) */
bool node_speed_add(struct node_speed *speed, double log);

enum speed_kind speed_kind_of(const struct role_spec *role);

/* node_expect_speed - of a node that nobody has seen yet: its expected speed (as a logarithm)
 * before its first note. node_note_speed - a job was seen to run so many times as fast there as on
 * others (as a logarithm). O(log nodes) */
void node_expect_speed(struct node *node, enum speed_kind kind, double log);
void node_note_speed(struct cluster *cluster, struct node *node, enum speed_kind kind, double log,
                     struct instant now);

/* node_speed_fell_due - what nobody has measured for long is forgotten. O(log nodes) */
void node_speed_fell_due(struct cluster *cluster, struct node *node, struct instant now);

/* node_forget_speed - all of it: it may be another machine */
void node_forget_speed(struct cluster *cluster, struct node *node);
void node_copy_speed(struct cluster *copy, struct node *to, const struct node *from);
