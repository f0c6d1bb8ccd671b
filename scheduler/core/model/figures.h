/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - what operators watch of the cluster, counted where it happens
 *
 * The first part is of this moment and found again by cluster_check; the second counts since this
 * run of the scheduler began (a restart starts it at 0). Nothing is decided by them, nothing of
 * them is remembered. Reading costs nothing that grows with history: sums over nodes go through the
 * nodes, the rest is kept. */
#pragma once

#include <stdint.h>

#include "scheduler/core/base/histogram.h"

struct cluster;
struct instant;
struct job;
struct process;

enum { FIGURE_JOB_STATES = 8, FIGURE_PROCESS_STATES = 6, FIGURE_NODE_STATES = 5 };

/* Why a process was assigned. */
enum process_start { START_NEW, START_AGAIN, START_CAUSES };
/* How a process ended. */
enum process_end { END_FINISHED, END_FAILED, END_STOPPED, END_LOST, END_CAUSES };
enum resize_direction { RESIZE_GROW, RESIZE_SHRINK, RESIZE_DIRECTIONS };
/* How the lease of a task ended. */
enum task_end {
    TASK_END_FINISHED,
    TASK_END_FAILED,   /* its holder said so */
    TASK_END_RETURNED, /* its holder gave it back */
    TASK_END_RELEASED, /* its holder ended */
    TASK_END_EXPIRED,  /* not finished in time */
    TASK_ENDS
};

/* The uses of the time of a step. */
enum step_part { STEP_COMPUTE, STEP_WAIT, STEP_PARTS };

/* Why a job's size changed. */
enum resize_reason {
    RESIZE_GROWN,
    RESIZE_SHRUNK,
    RESIZE_MAKE_ROOM,
    RESIZE_FOREIGN_LOAD,
    RESIZE_DRAIN,
    RESIZE_BOUNDS,
    RESIZE_GIVEN_UP,
    RESIZE_MOVED,
    RESIZE_OTHER, /* nobody said why */
    RESIZE_REASONS
};

struct cluster_figures {
    /* now */
    uint64_t jobs[FIGURE_JOB_STATES];
    uint64_t processes[FIGURE_PROCESS_STATES]; /* live ones; the final states are not kept */
    uint64_t tasks_todo, tasks_leased;         /* of jobs that have not ended */
    /* since the start */
    uint64_t jobs_submitted;
    uint64_t jobs_ended[FIGURE_JOB_STATES]; /* by final state */
    uint64_t process_starts[START_CAUSES];
    uint64_t process_ends[END_CAUSES];
    uint64_t orphans_reaped; /* processes that they left behind and that their supervisors killed */
    uint64_t resizes[RESIZE_DIRECTIONS][RESIZE_REASONS];
    uint64_t task_leases, task_records, task_records_lost, task_ends[TASK_ENDS];
    uint64_t updates_lost; /* as parameter servers came back without them */
    uint64_t steps, step_samples, step_us[STEP_PARTS]; /* as processes tell */
    uint64_t nodes_lost;
    uint64_t stalls, stalled_us;   /* times the scheduler stood still, and how long in sum */
    uint64_t stragglers_moved;     /* instances that were slow where they were */
    uint64_t jobs_parked;          /* they went back to the queue for others (plan/park.c) */
    uint64_t instances_exchanged;  /* with those of another job (plan/exchange.c) */
    struct histogram queue_wait;   /* from submit to the start of the gang */
    struct histogram resize_start; /* a process of a job that runs: assigned -> running */
    struct histogram resize_stop;  /* the same: asked to stop -> seen gone */
};

/* The sums over the nodes. */
struct node_sums {
    uint64_t nodes[FIGURE_NODE_STATES];
    /* of those that are not lost: the offer of a lost one is not there */
    uint64_t cpu_millicores, cpu_granted_millicores, cpu_foreign_millicores;
    uint64_t memory_bytes, memory_granted_bytes, memory_foreign_bytes;
    uint64_t gpus_granted;
    uint64_t gpus_free;     /* not granted, on nodes that take processes */
    uint64_t gpus_withheld; /* not granted, on nodes that take none */
    uint64_t gpus_foreign;  /* not granted, used by others */
    uint64_t gpus_idle;     /* granted, and have done nothing for long */
    uint64_t stale;         /* processes that agents still report and nobody granted */
};

const char *process_start_to_string(enum process_start start);
const char *process_end_to_string(enum process_end end);
const char *resize_direction_to_string(enum resize_direction direction);
/* the code of a decision (job_decided) */
const char *resize_reason_to_string(enum resize_reason reason);
const char *task_end_to_string(enum task_end end);
const char *step_part_to_string(enum step_part part);

void figures_init(struct cluster_figures *figures);

/* figures_resized - counts a change of a job's size */
void figures_resized(struct cluster_figures *figures, enum resize_direction direction,
                     enum resize_reason reason);

/* figures_sum_nodes - linear in the nodes */
struct node_sums figures_sum_nodes(const struct cluster *cluster);

/* cluster_crowd - jobs that are to share the cluster, without those that wait for another job.
 * O(1) */
uint32_t cluster_crowd(const struct cluster *cluster);

/* figures_oldest_wait_us - of the waiting job that was submitted first; 0: none waits. O(1) */
uint64_t figures_oldest_wait_us(const struct cluster *cluster, struct instant now);

/* figures_oldest_report_us - since the last report of the node that has been silent longest, lost
 * ones left out; 0: no node. O(1) */
uint64_t figures_oldest_report_us(const struct cluster *cluster, struct instant now);
