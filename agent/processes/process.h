/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what lies behind the units of this node: folders, numbers, usage
 *
 * core/agent_core.h decides about them. A unit that never got as far as a folder has no process. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "agent/core/agent_core.h"
#include "agent/core/cpu_mask.h"
#include "shared/step_sums.h"

struct edl_error;
struct environment_facts;
struct job_weight;
struct layout;
struct process_table;
struct runtime;
struct runtime_process;

#define PROCESS_PORTS_MAX 64

struct process {
    struct process_id id;
    struct process_bytes key; /* the same, for the table */
    pid_t pid;
    pid_t supervisor_pid;
    uid_t uid; /* of its processes, see process_uid */
    bool has_uid;
    uint64_t cpu_used_us;
    uint64_t memory_used_bytes;
    uint64_t memory_peak_bytes; /* the kernel's, or of what was seen */
    uint64_t tasks;
    uint64_t started_us;      /* boot time; 0: not known (yet) */
    uint64_t frozen_since_us; /* boot time: it stands still since then; 0: it does not */
    uint64_t frozen_us;       /* for so long it stood still besides, in all */
    uint64_t orphans_reaped;  /* once it ended */
    uint64_t error_before_us; /* likewise: so long before that its program wrote why; 0: unknown */
    char *error;              /* likewise: the line with that; NULL: there is none; owned */
    uint64_t log_size,
        log_from;         /* bytes, and the first one that is kept; last look (log_bound.c) */
    struct cpu_mask cpus; /* of its own */
    uint64_t cpu_weight;  /* of process_limits.h; 0 once it is gone */
    uint64_t gpus;        /* mask of the devices that it was granted */
    uint16_t ports[PROCESS_PORTS_MAX]; /* that it was granted */
    size_t n_ports;
    struct cgroup_paths *cgroup;    /* owned; NULL: it has none of its own, or is not known yet */
    json_t *progress;               /* owned; what it told of how far it is; NULL: nothing */
    uint64_t progress_us;           /* boot time, when it told that */
    struct step_sums steps;         /* that it told of */
    uint64_t steps_told_us;         /* boot time, of the last ones; 0: it told of none */
    uint64_t promised_us;           /* as its folder has it; 0: nothing */
    bool silence_told;              /* that it broke its promise, in the log */
    bool silent;                    /* it ended and wrote nothing */
    uint64_t gone_by_us;            /* boot time: it was to have ended; 0: nobody stopped it */
    char *stuck;                    /* owned; what keeps it, as it was seen last; NULL: nothing */
    bool has_copy;                  /* of a workspace, which goes with it */
    char *dir;                      /* owned; NULL when nothing was ever made for it */
    struct runtime_process *handle; /* owned; NULL once it is gone */
    struct process_table *table;    /* borrowed */
    uint32_t cgroup_absent;         /* files that its control group does not have (cgroup_stat.h) */
    struct process *prev, *next;    /* utlist */
    UT_hash_handle hh;
};

/* what the runtime says of it, after each look; process is valid */
typedef void (*process_observed_fn)(const struct process *process, const struct agent_facts *facts,
                                    void *userdata);

/* found in its folder, at the start of an agent */
typedef void (*process_adopted_fn)(const struct process *process, uint64_t grace_us,
                                   const struct agent_facts *facts, void *userdata);

struct process_table {
    struct process *list; /* owned */
    size_t n;
    struct process *by_key;         /* the same; uthash */
    struct job_weight *weights;     /* owned */
    struct runtime *runtime;        /* borrowed */
    const struct layout *layout;    /* borrowed */
    struct folder_remover *remover; /* borrowed */
    process_observed_fn observed;
    process_adopted_fn adopted;
    void *userdata;
    uint64_t ended_cpu_us; /* total of those that are gone */
};

/* process_table_adopt - everything that an earlier agent left in the process folders */
int process_table_adopt(struct process_table *table, struct edl_error *error);
void process_table_done(struct process_table *table); /* lets go, stops nothing */

struct process *process_find(const struct process_table *table, const struct process_id *id);

/* process_start - negative when nothing was started: reason says why, and is kept in its folder, so
 * that an agent that adopts the folder tells the same story */
int process_start(struct process_table *table, const struct process_id *id, const json_t *order,
                  const struct environment_facts *facts, char reason[AGENT_REASON_SIZE]);

/* process_uid - whose its processes are; -1 while its supervisor has not said */
uid_t process_uid(struct process *process);

void process_stop(struct process *process, uint64_t grace_us);

/* process_end_silent - it broke its promise to say something within that time */
void process_end_silent(struct process *process, uint64_t within_us);

/* process_promise - its program promised to say something within that time; kept in its folder, for
 * an agent that adopts it */
void process_promise(struct process *process, uint64_t within_us);

/* process_thaw - one that stands still may go on, by orders of this epoch of the lease */
void process_thaw(struct process *process, uint16_t epoch);

/* process_refresh - asks the runtime again; table.observed follows */
void process_refresh(struct process *process);

/* process_forget - the entry goes, and the folder soon (folder_remover.h) */
void process_forget(struct process *process);
