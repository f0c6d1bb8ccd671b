/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - a process: one incarnation of an instance of a job */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/node_name.h"

/* So much slower than its others (times) it is looked for a better place; see plan/straggler.c */
#define PROCESS_STRAGGLES 0.6

#define PROCESS_PORTS_MAX ROLE_PORTS_MAX
#define PROCESS_REASON_SIZE 240

struct process {
    uint64_t incarnation; /* rises within the job; unique per (job, role, index) */
    struct job *job;      /* borrowed */
    uint32_t role;        /* index in spec->roles */
    uint32_t index;       /* dense, unique among the live ones of the role */
    enum process_state state;
    struct node *node; /* borrowed; NULL once final (node_name stays) */
    char node_name[NODE_NAME_MAX + 1];
    uint16_t ports[PROCESS_PORTS_MAX];
    uint32_t n_ports;
    uint64_t gpu_mask; /* the devices it was granted, bit i = device i of its node */
    int64_t pid;       /* as reported, display only */
    int exit_code;     /* valid when EXITED and exit_signal == 0; -1 unknown */
    int exit_signal;
    bool stop_wanted; /* we asked it to stop: its end is neither success nor failure */
    enum cause cause; /* why it was stopped or ended: decides */
    char reason[PROCESS_REASON_SIZE]; /* the same as a sentence, for people */
    uint64_t assigned_wall_us, started_wall_us, ended_wall_us;
    char *error; /* the line of its output that tells its error; a restart forgets that, NULL: none;
                    owned */
    uint64_t error_before_us; /* its program wrote why so long before its end; a restart forgets
                                 that, 0: not known */
    uint64_t cpu_used_us, memory_used_bytes; /* last report */
    uint64_t memory_peak_bytes, tasks;       /* last report; a restart forgets them, 0: not known */
    uint64_t quiet_us;         /* since then, when it had used so much, it uses next to none: */
    uint64_t quiet_cpu_us;     /* likewise; quiet_us 0: it does not run, or nothing was heard yet */
    uint64_t ran_us;           /* likewise: for how long it has run, by a clock that nobody sets */
    uint64_t frozen_us;        /* of that it stood still, as its node was cut off */
    uint64_t frozen_before_us; /* of that, before the last time */
    uint64_t still_seen_us;    /* the last report that told of more came then; 0: none */
    bool stands_still;         /* the last report did */
    bool steps_stale;          /* the next step that it tells of lasted while it stood still */
    /* for its usage, forgotten by a restart: asked to stop then, its work is safe until then */
    uint64_t stopping_wall_us, credited_wall_us;
    uint64_t since_us;  /* when it was assigned, then asked to stop; 0: before a restart */
    bool reported;      /* the core's own: its agent has spoken of it */
    bool told;          /* its agent may know of it by its orders; a restart forgets that */
    bool told_progress; /* how far it is; a restart forgets that */
    uint64_t updates_lost, updates_lost_of; /* that its job has counted; a restart forgets them */
    bool start_failed;                      /* EXITED: its program never ran */
    bool at_work; /* it took a task, or is together with others; not while it waits for them */
    bool arrived; /* it waits for the next generation of its role */
    char *note;   /* that it brings there; NULL: none; owned */
    struct goodput_pace
        *pace; /* of its tasks or steps, when its job learns; NULL: none yet; owned */
    bool runs; /* as the facts say that are learnt from: pace counts */
    struct process_steps *steps; /* what it told of them; NULL: nothing, to this run; owned */
    bool idles; /* its agent says that none of its GPUs has done anything for long */
    struct backlog_told backlog; /* of its queue, if it serves */
    float speed;         /* beside its job's others, by the last comparison; 0: there was none */
    uint64_t generation; /* that it is a member of and has not left; 0: none */
    char *stuck; /* it was killed and is still there: why, as its node tells; NULL: no; owned */
    bool listed; /* in its node's last report, if that came since the start */
    bool marked; /* scratch of a search for victims */
    uint32_t effects_pending;
    struct process *job_next, *job_prev;   /* job->processes, all states, oldest first */
    struct process *node_next, *node_prev; /* node->processes, live ones */
    struct process *past_next, *past_prev; /* job->past */
};

/* its role names the node of each instance: it runs there and nowhere else */
static inline bool process_is_pinned(const struct process *process)
{
    return process->job->spec->roles[process->role].nodes != NULL;
}
