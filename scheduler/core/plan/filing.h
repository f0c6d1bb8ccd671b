/* SPDX-License-Identifier: Apache-2.0 */
/* filing.h - each plan makes the order of the jobs that wait */
#pragma once

struct cluster;
struct instant;
struct job;
struct queue;

/* queue_file - all that wait, in classes and in order. O(n log n) in them */
void queue_file(struct cluster *cluster, struct instant now);

/* queue_class_like - the class, as the last plan made it, of jobs that ask for the same and are of
 * the same user; NULL: there was none */
const struct queue_class *queue_class_like(const struct queue *queue, const struct job *job);
