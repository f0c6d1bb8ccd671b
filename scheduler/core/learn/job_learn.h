/* SPDX-License-Identifier: Apache-2.0 */
/* job_learn.h - what the files of this room do with the facts of a job */
#pragma once

#include "scheduler/core/model/facts.h"

/* --- job_learn.c
 * ------------------------------------------------------------------------------------------ */
/* job_learn_begin - of a job that started, with what its family knows; of one that ran before
 * anybody learnt once a node has told of it. Idempotent. job_learn_start - it starts, the first
 * time or again
 */
void job_learn_begin(struct cluster *cluster, struct job *job, const struct fact *fact);
void job_learn_start(struct cluster *cluster, struct job *job, const struct fact *fact);
/* job_learn_end - it is over */
void job_learn_end(struct cluster *cluster, struct job *job, const struct fact *fact);
/* job_learn_seen - its agent tells that a process of it goes on: a policy is told now and then how
 * far a job is whose tasks do not tell */
void job_learn_seen(struct cluster *cluster, struct job *job, const struct fact *fact);
/* job_learn_tasks - the queue came, tasks were finished: a policy that learns is told when that
 * completed a measurement */
void job_learn_tasks(struct cluster *cluster, struct job *job, const struct fact *fact);
/* job_learn_steps - the same of a job without a queue, of which a note is what a task is of others
 */
void job_learn_steps(struct cluster *cluster, struct job *job, const struct fact *fact);
/* job_learn_size - its processes may be others, or do something else. O(1) */
void job_learn_size(struct job *job, const struct fact *fact);
/* job_learn_lost - tasks go back whose process was asked to stop */
void job_learn_lost(struct job *job, const struct fact *fact);
/* job_learn_still - one of its processes stood still */
void job_learn_still(struct job *job, const struct fact *fact);
/* job_learn_servers - with which number of servers it is measured from now on */
void job_learn_servers(struct cluster *cluster, struct job *job, const struct fact *fact);

/* --- slow_instances.c: the slow instances
 * ------------------------------------------------------------------------------------------ */
/* job_pace_finished - the process finished a task of so many units, which it took up so long ago.
 * O(log n) amortized, n: instances of the job */
void job_pace_finished(struct cluster *cluster, struct process *process, const struct fact *fact);
/* job_pace_stepped - of a job without a queue, the same by the time that its instance computed, for
 * they may wait for each other in every step */
void job_pace_stepped(struct cluster *cluster, struct process *process, const struct fact *fact);
