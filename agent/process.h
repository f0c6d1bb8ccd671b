/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - the processes of this node, from order to the moment the scheduler forgets them */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/process_id.h"
#include "agent/runtime.h"
#include "agent/core/unit_sm.h"

struct edl_error;
struct environment_facts;
struct layout;
struct process_table;

struct process {
    struct process_id id;
    enum unit_state state;
    pid_t pid;
    pid_t supervisor_pid;
    int exit_code;
    int exit_signal;
    char reason[RUNTIME_REASON_SIZE];
    uint64_t grace_us;
    uint64_t cpu_used_us;
    uint64_t memory_used_bytes;
    bool exit_public; /* its last log lines were offered: the end may be reported */
    bool tail_sent;
    char *dir;                      /* owned; NULL when nothing was ever made for it */
    struct runtime_process *handle; /* owned; NULL once exited */
    struct process_table *table;    /* borrowed */
    struct process *prev, *next;    /* utlist */
};

/* after every change of state; process is valid */
typedef void (*process_changed_fn)(struct process *process, void *userdata);

struct process_table {
    struct process *list; /* owned */
    size_t n;
    struct runtime *runtime;     /* borrowed */
    const struct layout *layout; /* borrowed */
    process_changed_fn changed;
    void *userdata;
    uint64_t ended_cpu_us; /* total of those that are gone */
};

/* process_table_adopt - everything that an earlier agent left in the process folders; no callbacks
 */
int process_table_adopt(struct process_table *table, struct edl_error *error);
void process_table_done(struct process_table *table); /* lets go, stops nothing */

struct process *process_find(const struct process_table *table, const struct process_id *id);

/* process_start - a failure becomes an exited process with the reason */
void process_start(struct process_table *table, const struct process_id *id, uint64_t grace_us,
                   const json_t *order, const struct environment_facts *facts);

/* process_add_ended - one that never ran here: exited, with the reason */
void process_add_ended(struct process_table *table, const struct process_id *id,
                       const char *reason);

void process_stop(struct process *process, uint64_t grace_us);

/* process_refresh - asks the runtime again (the callback comes when the state changed) */
void process_refresh(struct process *process);

/* process_forget - removes folder and entry; only when exited */
void process_forget(struct process *process);

/* process_json - its entry in a report */
json_t *process_json(const struct process *process);
