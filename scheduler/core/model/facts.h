/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what happened to jobs, processes and nodes, as data for learning
 *
 * The model appends a fact to cluster->facts where the thing happens. learn/take.c reads them in
 * that order, before the turn's plan. A fact says all that is true at its moment only: the event
 * goes on, and more events follow in the turn. It names a job, a process or a node and points to
 * none, so nothing dangles when one of them goes, and a copy of the cluster takes the facts as they
 * are.
 *
 * Under a policy that does not learn nothing is appended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/clock.h"

struct cluster;
struct job;
struct node;
struct process;

enum fact_kind {
    FACT_JOB_BEGUN,       /* it is starting */
    FACT_JOB_ENDED,       /* us: for how long its processes ran, of a fixed size and with success */
    FACT_SIZE,            /* its processes may be others, or do something else */
    FACT_DATA_CAME,       /* its queue: tasks, units, units_left */
    FACT_TASKS_DONE,      /* likewise, after one task or several */
    FACT_TASK_TIMED,      /* process, units; us: it took the task up so long ago */
    FACT_TASKS_LOST,      /* process; us: how long it held those that go back, in all */
    FACT_SEEN,            /* process; us: it has worked so long, by its agent */
    FACT_STEPS,           /* process, units; us: it computed so long; at_us: its last step */
    FACT_STOOD_STILL,     /* process; us: so long, of one at work; else 0 */
    FACT_PROCESS_MOVED,   /* process, runs */
    FACT_SERVERS_FIXED,   /* wanted: so many servers; 0: its owner says how many */
    FACT_MACHINE_CHANGED, /* node: it may be another machine */
    _FACT_KINDS
};

struct fact {
    enum fact_kind kind;
    struct instant now;
    uint64_t job;         /* its number; 0: of none */
    uint64_t incarnation; /* of a process; 0: of none */
    uint32_t role, index; /* of that process */
    int elastic;          /* the job's elastic role; -1: none, and of its size nothing is said */
    uint32_t wanted;      /* instances of that role */
    uint32_t running, at_work;
    uint32_t steady; /* all of them, when nobody comes or goes and its servers run; else 0 */
    uint32_t crowd;  /* jobs that share what there is */
    bool stopping;   /* some are asked to, or wait for the next generation */
    bool disturbed;  /* it lacks instances for another reason than a change of its size */
    bool servers_run;
    bool tells;       /* it has a queue, or tells of steps */
    bool has_data;    /* its queue is open, and units and units_left say how far it is */
    bool stood_still; /* TASK_TIMED: the process did, while it held the task */
    bool runs;
    /* of a job of which nothing is learnt yet */
    bool unheard;   /* it runs since before a restart, and no agent has spoken of it */
    double ran_s;   /* its instances that live have run, together */
    uint32_t n_ran; /* so many of them */
    uint64_t tasks, units, us, at_us;
    double units_left;
    char node[64];
};

/* fact_of_job - SIZE, JOB_BEGUN, JOB_ENDED. O(roles); O(its instances) while nothing
 * is learnt of it, and at its end */
void fact_of_job(struct cluster *cluster, enum fact_kind kind, const struct job *job,
                 struct instant now);
/* fact_of_queue - DATA_CAME, TASKS_DONE; nothing of a job without an open queue. O(roles) */
void fact_of_queue(struct cluster *cluster, enum fact_kind kind, const struct job *job,
                   struct instant now);
void fact_task_timed(struct cluster *cluster, const struct process *process, uint64_t held_us,
                     uint64_t units, struct instant now);
/* fact_tasks_lost - those that it holds are about to go back; nothing unless it was asked to stop
 */
void fact_tasks_lost(struct cluster *cluster, const struct process *process, struct instant now);
/* fact_seen - its agent tells that it goes on. fact_steps - process->steps has a new note */
void fact_seen(struct cluster *cluster, const struct process *process, struct instant now);
void fact_steps(struct cluster *cluster, const struct process *process, struct instant now);
/* fact_stood_still - for so long more than was known */
void fact_stood_still(struct cluster *cluster, const struct process *process, uint64_t us,
                      struct instant now);
/* fact_process_moved - its state is another one */
void fact_process_moved(struct cluster *cluster, const struct process *process, struct instant now);
void fact_servers_fixed(struct cluster *cluster, const struct job *job, uint32_t pservers);
void fact_machine_changed(struct cluster *cluster, const struct node *node);

/* facts_copy - for a copy of the cluster, in place of its own */
void facts_copy(struct cluster *copy, const struct cluster *cluster);
