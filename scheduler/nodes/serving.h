/* SPDX-License-Identifier: Apache-2.0 */
/* serving.h - what those that serve tell of their queues: one for the plan, all together for people
 *
 * Their words come with their progress: queue_tasks, busy_share, students, tasks_per_s,
 * samples_per_s. Each is the program's, so a figure that is none is left out, as are those of one
 * that has said nothing new for long. */
#pragma once

#include <jansson.h>

struct backlog_told;
struct process;
struct progresses;
struct service;

/* serving_read - of the progress of one process; NULL: it told nothing. any: queue_tasks and
 * busy_share are numbers */
void serving_read(const json_t *progress, struct backlog_told *ret);

/* serving_figures - of those processes of a service together; null: none of them has told. Tasks
 * that wait and time that they compute: of each, as a mean, since a student offers a task to each
 * of its teachers. Students: the most that one of them has. wanted: by their queues; null: they do
 * not say. Linear in them */
json_t *serving_figures(const struct progresses *progresses, const struct service *service,
                        const struct process *const *processes, size_t n);

/* serving_of_process - the same five of one; null: it has told none */
json_t *serving_of_process(const struct progresses *progresses, const struct process *process);
