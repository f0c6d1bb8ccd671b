/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h - keeps nodes for the first gang that waits for jobs to end */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct demand;
struct job;
struct plan;
struct planner;
struct queue_class;

/* plan_hold - before a gang is tried that is behind the held one: keeps it off the nodes of that
 * one, which are chosen if there are none yet. class: of the gang, its next job */
void plan_hold(struct plan *plan, struct queue_class *class, const struct demand *demands,
               size_t n);

/* plan_hold_works - the places are on nodes that take processes and offer enough; anew: when
 * services there are counted again */
bool plan_hold_works(struct planner *planner, const struct job *job, bool anew);

/* the index holds nothing any more: a room may go */
void plan_hold_drop(struct planner *planner);

/* plan_hold_on - what is kept is open to nobody until plan_hold_off: for gangs behind the held one,
 * and for jobs that grow */
void plan_hold_on(struct plan *plan);
void plan_hold_off(struct plan *plan);

/* these find room only with the nodes that are kept for the held gang */
bool plan_hold_keeps_out(const struct plan *plan, const struct job *job,
                         const struct demand *demands, size_t n);
