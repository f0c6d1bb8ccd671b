/* SPDX-License-Identifier: Apache-2.0 */
/* task_gaps.h - time in which nobody could say that a task is done is none of the time for it */
#pragma once

#include <stddef.h>

struct cluster;
struct instant;
struct job;
struct node;

/* tasks_heard_again - its node reports after a silence, and node->reported_us is still
 * that of the report before: no task of its processes is due sooner for that time. Linear in the
 * processes of the node
 * tasks_put_off - before tasks of the job expire: those that are due wait for the next report of
 * their node, which says whether they stood still. Linear in the slots of the job
 * tasks_take_from_cut - those that are due and held on a node that is lost are to do again: these
 * processes go on (on_disconnect: keep) and cannot tell. Returns how many; linear likewise */
void tasks_heard_again(struct cluster *cluster, struct node *node, struct instant now);
void tasks_put_off(const struct cluster *cluster, struct job *job, struct instant now);
size_t tasks_take_from_cut(struct job *job, struct instant now);
