/* SPDX-License-Identifier: Apache-2.0 */
/* reports.h - what an agent says of its node and of its processes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/steps.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "shared/start_fault.h"
#include "shared/unfit.h"

/* The words of an agent about one process. */
struct process_report {
    uint64_t job_id;
    const char *role;
    uint32_t index;
    uint64_t incarnation;
    enum process_state state; /* PREPARING, RUNNING, STOPPING, EXITED */
    int64_t pid;
    int exit_code, exit_signal;
    enum cause cause;   /* EXITED: why; CAUSE_NONE: start_fault or unfit tells it, or nobody */
    const char *reason; /* of its end; of one that is STOPPING: what keeps it; may be NULL */
    uint64_t cpu_used_us, memory_used_bytes, memory_peak_bytes, tasks;
    uint64_t ran_us;    /* since it was started, in boot time; 0: not told */
    uint64_t frozen_us; /* of that it stood still, in all and so far */
    struct steps_told steps;
    struct backlog_told backlog;  /* of one that serves */
    const char *error;            /* EXITED: the line that tells it; may be NULL */
    uint64_t error_before_us;     /* EXITED: so long before that it wrote why; 0: not known */
    uint64_t orphans_reaped;      /* EXITED: what it left behind and was killed */
    bool told_progress;           /* it has said how far it is */
    enum unfit unfit;             /* EXITED: the node cannot run it, so that it never ran */
    enum start_fault start_fault; /* EXITED: it could not be started, and whose fault that is */
};

struct node_report {
    const char *boot_id;
    const char *machine_id; /* NULL, "": not told */
    uint64_t sent_us;       /* boot time of the node; 0: not told */
    uint64_t session;       /* as the answer to the last report said; 0: none: node->session or
                               start_session */
    struct node_offer offer;
    uint64_t foreign_cpu_millicores, foreign_memory_bytes;
    uint64_t gpus_foreign; /* mask of the devices that are not free for a reason of the machine */
    uint64_t gpus_idle;    /* mask of those that were granted and have done nothing for long */
    const uint16_t *ports_foreign; /* rising; what others listen on; borrowed */
    size_t n_ports_foreign;
    const struct process_report *processes;
    size_t n_processes;
    bool disk_full;
    const char *set_aside;     /* why nothing is to start there, told once; NULL, "": it may */
    uint64_t set_aside_number; /* another one for each failure; 0: not told */
    bool complete; /* lists everything on the node: a RUNNING process that is missing is lost */
};
