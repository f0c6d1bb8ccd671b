/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - what processes say about their job's data: tasks, the model, metrics */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/task_queue.h"

struct cluster;
struct edl_error;
struct instant;
struct job;
struct process;
struct task_finish;
struct task_queue;
struct task_wish;

/* The part of a task queue that is compared before and after a change. */
struct tasks_mark {
    uint32_t pass;
    uint64_t tasks_discarded, tasks_deadly, records_discarded, chunks_lost, records_lost;
};
struct tasks_mark tasks_mark(const struct job *job);

/* The answer to a wish. */
struct tasks_given {
    enum task_lease_result result;
    struct task **tasks; /* the caller's array, with room for wish->n */
    size_t n;
    bool save_model; /* FINISHED: this one saves */
};

/* tasks_changed - its queue changed since the mark: it is saved. Events tell of a pass that ended
 * and of tasks that are skipped, however that came */
void tasks_changed(struct cluster *cluster, struct job *job, const struct tasks_mark *before,
                   struct instant now);

/* tasks_of_dead - those of a process that died by itself are to do again, and remember it; returns
 * how many */
size_t tasks_of_dead(const struct process *dead);

/* process_is_saver - it is elected to save its job's model, and did not yet
 * process_holds_task - it runs and is in the middle of one; only of a job with a dataset */
bool process_is_saver(const struct process *process);

/* tasks_note_end - it has ended, and its tasks are not released yet: see task_queue_holder_ends */
void tasks_note_end(const struct process *process, bool success);
bool process_holds_task(const struct process *process);

/* tasks_settle - behind tasks_changed: the job moves on when its data is worked off or failed */
void tasks_settle(struct cluster *cluster, struct job *job, struct instant now);

/* tasks_describe_skipped - how much of its data was skipped, as a clause; "" nothing was. Returns
 * buffer */
char *tasks_describe_skipped(const struct job *job, char *buffer, size_t size);

/* Task queue events; they keep the effects. holder is the process that calls: EDL_ESTALE when it is
 * not the live incarnation. */
int cluster_set_dataset(struct cluster *cluster, struct job *job, struct task_queue *take_queue,
                        const char *digest, struct instant now,
                        struct edl_error *error); /* -EEXIST other digest; 0 and frees when same */
int cluster_lease_task(struct cluster *cluster, struct process *holder, const uint32_t *known,
                       size_t n_known, struct instant now, enum task_lease_result *ret,
                       struct task **ret_task, bool *ret_save_model,
                       struct edl_error *error); /* FINISHED: ret_save_model: this one saves */

/* also EDL_EPASSBEFORE and EDL_EALLTASKSFAILED: nothing of the pass that is asked for will come */
int cluster_lease_tasks(struct cluster *cluster, struct process *holder,
                        const struct task_wish *wish, struct instant now, struct tasks_given *ret,
                        struct edl_error *error);

/* each has a result of its own; negative: none was looked at. -EINVAL of task_queue_check_lost,
 * which points into /tasks */
int cluster_finish_tasks(struct cluster *cluster, struct process *holder, struct task_finish *ends,
                         size_t n, struct instant now, struct edl_error *error);
int cluster_end_task(struct cluster *cluster, struct process *holder, const struct task_finish *end,
                     struct instant now, struct edl_error *error);

/* cluster_finish_task - of one that lost nothing */
int cluster_finish_task(struct cluster *cluster, struct process *holder, uint32_t task,
                        uint32_t pass, uint32_t lease, struct instant now, struct edl_error *error);

/* reason: in its own words, for people; NULL: none */
int cluster_fail_task(struct cluster *cluster, struct process *holder, uint32_t task, uint32_t pass,
                      uint32_t lease, bool returned, const char *reason, struct instant now,
                      struct edl_error *error);

/* path: where, for people; NULL: not told */
/* cluster_ask_to_save - a program asks whether its process is the one that saves the model, which
 * its job owes from then on; false before the end of the last pass. EDL_ESTALE for a dead
 * incarnation. */
int cluster_ask_to_save(struct cluster *cluster, struct process *holder, struct instant now,
                        bool *ret_save_model, struct edl_error *error);
int cluster_model_saved(struct cluster *cluster, struct process *holder, const char *path,
                        struct instant now, struct edl_error *error);
int cluster_set_metrics(struct cluster *cluster, struct process *holder, const char *json,
                        struct instant now, struct edl_error *error);
