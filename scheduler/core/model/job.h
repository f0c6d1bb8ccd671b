/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a job, and the slots of its instances */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/states.h"
#include "shared/account_name.h"
#include "shared/job_secret.h"

/* So many superseded incarnations of each job are in memory: enough to know those of one broken
 * machine when it comes back with their logs. A turn forgets older ones, the next one their rows.
 * A constant: what is loaded again must be what was kept. */
#define JOB_HISTORY_MAX 256

/* One slot's history: how often its processes failed, and when it may start again. */
struct slot {
    uint32_t failures, failed_starts; /* failed_starts: in a row that spent none; volatile */
    uint64_t not_before_us;           /* back-off */
    bool finished;                    /* a process of it ended by itself with exit code 0 */
    bool due;               /* its process failed or was lost: a new incarnation is wanted */
    struct process *live;   /* borrowed; NULL when none */
    struct process *newest; /* borrowed; live or not; NULL when there never was one */
};

/* Sums over the slots of one role, kept up to date by slot_count and process_count and checked by
 * cluster_check. */
struct role_counts {
    uint32_t live; /* stopping ones included */
    uint32_t stopping;
    uint32_t running;
    uint32_t at_work; /* and not stopping */
    uint32_t leaving; /* live, not stopping, on a node that is being drained */
    uint32_t due;     /* without a live process */
    uint32_t finished;
    uint32_t given_up;    /* failed more often than the job bears, and others do its work */
    uint32_t lowest_free; /* a hint: no slot below it is free */
};

/* An order of a plan: its slot waits until the place of another job is free (plan/exchange.c). */
struct exchange {
    uint64_t with; /* the other job; 0: none */
    uint32_t role, index;
};

#define JOB_REASON_SIZE 400
#define DATASET_DIGEST_SIZE 65

/* Many wait in memory: what few jobs have, or is short in most, is not in the struct itself. */
struct job {
    uint64_t id;
    struct job_spec *spec; /* owned */
    enum job_state state;
    enum intent intent;   /* STOPPING: how it is to end; over: how it ended; else INTENT_NONE */
    enum cause cause;     /* why it is in this state: decides */
    char reason_code[32]; /* its word: "gang-does-not-fit" (cause_code) */
    uint32_t resizes;     /* grown or shrunk after the start */
    char *reason;         /* the same as a sentence; owned, never NULL */
    char user[ACCOUNT_NAME_MAX + 1];
    uint64_t next_incarnation;
    uint8_t secret[JOB_SECRET_BYTES]; /* told to its processes only; all 0: none, or it is over */
    /* one for each role, all in one piece that slots owns */
    struct slot **slots; /* n_slots[r] of each, at least spec->roles[r].max; owned */
    uint32_t *n_slots;
    uint32_t *target; /* instances wanted now */
    struct role_counts *counts;
    struct usage *usage; /* of processes that ended; usage_of_job has the rest; NULL: none; owned */
    uint64_t submitted_wall_us, started_wall_us, ended_wall_us;
    /* since when it runs, now that it does, else 0; and how long it ran before that */
    uint64_t runs_from_wall_us, ran_us;
    /* it went back to the queue for another one: how often, the last time, and for which job; 0: it
     * never did. parked_for: 0 as well once it has started again */
    uint32_t n_parked;
    uint64_t parked_wall_us, parked_for;
    bool goes_first;       /* others gave way for it, and it has not started: plan/park.c */
    uint64_t turn_wall_us; /* its place among those that wait: job_turn.c */
    /* shares.c: the clock of its users when it came, then the bill of its own user before its
     * start; 0: it did not wait at its priority. And its own cost, from its start on, more at its
     * end */
    uint64_t served, charged;
    bool settled; /* it is over, and its user's bill has all of its cost */
    /* its owner's bounds of parameter servers, once a number within them was chosen, which is its
     * minimum and maximum from then on (job_servers.c); 0: none was */
    uint32_t servers_min, servers_max;
    /* updates that parameter servers lacked when they came back, of so many there had been; of each
     * server and each time */
    uint64_t updates_lost, updates_lost_of;
    uint64_t submitted_us;
    struct task_queue *queue;      /* NULL without a dataset; owned */
    char *dataset_digest;          /* owned; NULL without one */
    char *metrics;                 /* JSON text last reported by the trainers, NULL; owned */
    struct rendezvous *rendezvous; /* one for each role, NULL: nobody called; owned */
    struct process *processes;     /* owned list */
    /* the core's own */
    struct dependency *after;      /* n_after; owned */
    uint32_t n_after, n_waits;     /* n_waits: of them, that have not succeeded yet */
    struct dependency *dependents; /* list: who waits for this one */
    uint32_t n_named;              /* queued jobs that were to run after it, over or not */
    uint32_t held_instances;       /* counted in the holdings while it is not over, and: */
    uint64_t held_bytes, held_tasks, held_task_bytes;
    struct awaited_array *awaited; /* borrowed; the array that it is of, when one waits for that */
    struct job *ends_next;         /* cluster->ends */
    struct process *past; /* list of those whose slot has a newer one, first superseded first */
    uint32_t n_past;      /* at most JOB_HISTORY_MAX between turns */
    bool filed;           /* it waits to be started: waiting.h */
    bool was_told;        /* a run or a table of groups before this one told it where it stands */
    uint32_t filing;      /* rises when it comes to wait, and when that is over */
    uint32_t group;       /* its user's, in the table of groups */
    uint32_t gives;       /* instances that are to go when they are done with their tasks */
    struct exchange exchange;
    enum resize_reason resize_reason; /* of the last decision about its size, when that is told */
    char *resize_why;    /* that decision: "code: sentence"; NULL: it was told; owned */
    bool finishing;      /* some process finished: no more growth */
    bool waits_for_room; /* a replacement of its minimum does not fit now */
    bool tells_steps;    /* one of its processes told of steps, to this run */
    uint32_t counted_todo, counted_leased; /* its part of the figures of tasks */
    struct job_learned *learned; /* owned; NULL: nothing yet, or the policy does not learn */
    struct unfit_nodes *unfit;   /* owned; NULL: no node has refused it (this run) */
    struct hasty *hasty;         /* where its processes end at once (job_hasty.c); owned */
    uint32_t n_hasty;
    bool start_failed;  /* on a node, for the fault of that; none was seen to run since */
    bool start_doubted; /* likewise, for a fault that may be its own; none was proved to run */
    uint32_t busy_left; /* when one was taken that did not use its GPUs (gpu_idle.c); 0: none was */
    struct backlog *backlog; /* a service that is heard (backlog.c); NULL: none; owned */
    uint64_t noted_us; /* of a job of fixed size: the time that it has run, as learning told its
                        * family */
    struct deadline backoff, tasks_due, due; /* due: when the job has to be over */
    struct deadline limit;                   /* when it will have run for its time limit */
    struct deadline idle_forgotten, unfit_forgotten;
    struct deadline proof; /* when one of its processes will have run for long enough to tell
                            * something of the nodes */
    bool touched, changed; /* since a plan looked at it; since planning looked for room */
    struct job *touched_next, *touched_prev, *changed_next;
    struct planned *planned; /* of plans alone (plan/planned.h); NULL: nothing yet; owned */
    uint32_t n_planner_refs; /* so many lists of theirs it is in: it is not archived yet */
    uint32_t effects_pending;
    struct job *active_next, *active_prev;         /* cluster->active */
    struct job *ended_next, *ended_prev;           /* cluster->ended */
    struct job *name_older, *name_newer;           /* its user's jobs of the same name, by number */
    struct job *name_users_next, *name_users_prev; /* the newest only: other users' newest */
    UT_hash_handle hh;                             /* k: id */
};
