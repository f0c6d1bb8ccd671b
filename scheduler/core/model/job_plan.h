/* SPDX-License-Identifier: Apache-2.0 */
/* job_plan.h - what planning keeps of a job: part of struct job (model/job.h) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/figures.h"

struct hasty;
struct job;
struct queue_class;

/* The last reason of a waiting job, so that it is told again only when that changes. */
enum queue_verdict {
    VERDICT_NONE,
    VERDICT_BEHIND,    /* others that ask for the same wait before it */
    VERDICT_DEEP,      /* too many others wait before it */
    VERDICT_WAITS,     /* it does not fit now */
    VERDICT_PROMISED,  /* room is being made for it */
    VERDICT_HELD,      /* nodes are kept for it until the processes there have ended */
    VERDICT_YIELDS,    /* it finds room only on nodes that are kept for one before it */
    VERDICT_OVER_LOAD, /* the room is there but for the load of stopping processes in it */
    VERDICT_UNPACKED,  /* no order was found in which it fits these nodes */
    VERDICT_NO_NODES,
    VERDICT_NEVER
};

/* Its slot waits until the place of another job is free (plan/exchange.c). */
struct exchange {
    uint64_t with; /* the other job; 0: none */
    uint32_t role, index;
};

/* A job's place in planning. Volatile: a restart derives it. */
struct job_plan { /* the small ones first: there are as many of these as jobs wait */
    bool touched; /* something of it changed since it was last looked at */
    bool lacking; /* it is started and has less than it must have */
    bool known_to_policy;
    bool promised;       /* room is being made for its gang */
    bool start_failed;   /* on a node, for the fault of that; none was seen to run since */
    bool start_doubted;  /* likewise, for a fault that may be its own; none was proved to run */
    bool settled;        /* it is over, and its user's bill has all of its cost (plan/shares.c) */
    uint32_t surplus;    /* how many of its instances could be shrunk away */
    uint32_t yield_role; /* 1 + the role of which instances could be shrunk away; 0: none */
    enum queue_verdict verdict;
    uint32_t marked; /* victims of a search */
    uint64_t
        noted_us;   /* of a job of fixed size: the time that it has run, as its family was told */
    uint32_t gives; /* instances that go when they are done with their tasks */
    uint32_t group; /* its user's, in the table of groups */
    struct resources used; /* its part of the group's sum; nothing when there are no groups */
    struct deadline backoff, tasks, due; /* due: when the job has to be over */
    struct deadline idle_forgotten, unfit_forgotten;
    struct deadline rest;  /* the policy moved it: until then it gives and takes nothing (grow.c) */
    struct deadline proof; /* when one of its processes will have run for long enough to tell
                            * something of the nodes */
    uint32_t busy_left; /* when one was taken that did not use its GPUs (gpu_idle.c); 0: none was */
    struct queue_class *queue_class; /* the waiting jobs that ask for the same; NULL: not queued */
    uint64_t servers_until_us; /* others were asked to give way for more parameter servers, once,
                                * and are waited for until then; 0: they were not */
    struct exchange exchange;
    struct hasty *hasty; /* where its processes end at once (job_hasty.c); owned */
    uint32_t n_hasty;
    enum resize_reason
        resize_reason; /* of the last decision about its size, when why tells of one */
    char *why; /* the last decision about its size: "code: sentence"; NULL: it was told; owned */
    struct job *touched_next, *touched_prev;
    struct job *lacking_next, *lacking_prev;
};
