/* SPDX-License-Identifier: Apache-2.0 */
/* effects.h - a turn's effects: rows to save, events, orders that changed
 *
 * Used by: every room that changes the cluster. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/job_notify.h"
#include "shared/node_name.h"

struct array_notice;
struct cluster;
struct instant;
struct job;
struct node;
struct process;

void process_free(struct process *process);
void effect_save_job(struct cluster *cluster, struct job *job);
void effect_save_spec(struct cluster *cluster, struct job *job);
void effect_save_process(struct cluster *cluster, struct process *process);
void effect_save_away(struct cluster *cluster);
void effect_save_node(struct cluster *cluster, struct node *node);
void effect_save_tasks(struct cluster *cluster, struct job *job);
void effect_save_dataset(struct cluster *cluster, struct job *job);
void effect_save_rendezvous(struct cluster *cluster, struct job *job);
void effect_save_family(struct cluster *cluster, struct job *job);
/* its row, or none once all of its jobs are over */
void effect_save_array_notice(struct cluster *cluster, struct array_notice *array);
/* array: the notice is of all of it; NULL: of the job */
void effect_notice(struct cluster *cluster, struct job *job, enum notify_event event,
                   struct array_notice *array);
/* who of its processes is there, or together, may have changed */
void effect_membership(struct cluster *cluster, struct job *job);
/* drops every effect that borrows the node, then says that it is forgotten */
void effect_forget_node(struct cluster *cluster, struct node *node);
/* every effect that borrows the job is carried out */
void effect_archive_job(struct cluster *cluster, uint64_t id);
void effect_forget_process(struct cluster *cluster, const struct process *process);
/* a new version of the node's orders */
void effect_orders(struct cluster *cluster, struct node *node);
/* job may be NULL, node "" */
void effect_event(struct cluster *cluster, struct instant now, struct job *job, const char *node,
                  const char *event, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* of a process, on its node */
void effect_process_event(struct cluster *cluster, struct instant now,
                          const struct process *process, const char *event, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum effect_kind {
    EFFECT_SAVE_JOB,          /* job's row but for its document */
    EFFECT_SAVE_SPEC,         /* job's whole row: it is new, or asks for something else */
    EFFECT_SAVE_PROCESS,      /* process' row */
    EFFECT_SAVE_NODE,         /* node's row */
    EFFECT_SAVE_TASKS,        /* job's task queue: task_queue_take_changed */
    EFFECT_SAVE_DATASET,      /* job's task queue is new: all its tasks */
    EFFECT_SAVE_RENDEZVOUS,   /* job's generations, one for each role */
    EFFECT_SAVE_FAMILY,       /* what is learnt of job's family: now and then, not at each change */
    EFFECT_SAVE_AWAY,         /* for how long nodes may go on without a scheduler: id, us */
    EFFECT_SAVE_ARRAY_NOTICE, /* array's row; it goes once all of its jobs are over */
    EFFECT_FORGET_NODE,       /* node was removed: name */
    EFFECT_ARCHIVE_JOB, /* it is over and leaves the core; all of it stays where it is kept: id */
    EFFECT_FORGET_PROCESS, /* superseded incarnation of job: role, index, id; name is the role's */
    EFFECT_NOTICE,         /* somebody is to be told of job, or of array: id is the event */
    EFFECT_EVENT,          /* append to the event log */
    EFFECT_ORDERS,         /* node's orders changed: wake its long poll */
    EFFECT_MEMBERSHIP, /* who of job's processes is there, or together, changed: wake who waits */
};

struct effect {
    enum effect_kind kind;
    struct job *job;              /* borrowed; SAVE_JOB, SAVE_SPEC, SAVE_TASKS, SAVE_DATASET,
                                     SAVE_RENDEZVOUS, SAVE_FAMILY, MEMBERSHIP, FORGET_PROCESS,
                                     NOTICE, EVENT (may be NULL) */
    struct process *process;      /* borrowed; SAVE_PROCESS */
    struct node *node;            /* borrowed; SAVE_NODE, ORDERS */
    struct array_notice *array;   /* borrowed; SAVE_ARRAY_NOTICE; NOTICE, NULL: of job alone */
    uint64_t id;                  /* ARCHIVE_JOB: its number; FORGET_PROCESS: incarnation; EVENT:
                                     the same, 0 when it is of no process; SAVE_AWAY: us; NOTICE:
                                     enum notify_event */
    uint32_t role, index;         /* FORGET_PROCESS; EVENT of a process */
    char name[NODE_NAME_MAX + 1]; /* FORGET_NODE; EVENT: node or ""; FORGET_PROCESS: its role */
    char event[32]; /* EVENT: "job-queued", "job-resized", "process-exited", "node-lost", ... */
    char text[240]; /* EVENT: a sentence */
    uint64_t wall_us;
};

/* effect_saves_job - something of its job is new */
static inline bool effect_saves_job(const struct effect *effect)
{
    return effect->kind == EFFECT_SAVE_JOB || effect->kind == EFFECT_SAVE_SPEC;
}

void cluster_effects_clear(struct cluster *cluster);
