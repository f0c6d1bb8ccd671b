/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the incarnations of before: kept for people to look at, and bounded */
#pragma once

struct cluster;
struct job;
struct process;

/* history_add - the process is its slot's newest; the one before it is history */
void history_add(struct process *process);

/* history_trim - forgets the oldest beyond JOB_HISTORY_MAX; nothing may borrow them any more */
void history_trim(struct cluster *cluster, struct job *job);
