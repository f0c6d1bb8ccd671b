/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - how processes come to life on this machine: start, stop, adopt, poll state
 *
 * A runtime keeps processes going without the agent. Whatever it needs to find them again lies in
 * the process folder. runtime_direct.c is the one for machines where the agent has no service
 * manager. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct edl_error;
struct runtime;
struct runtime_process;

#define RUNTIME_REASON_SIZE 256

enum runtime_phase { RUNTIME_STARTING, RUNTIME_RUNNING, RUNTIME_EXITED };

struct runtime_state {
    enum runtime_phase phase;
    pid_t pid;            /* of the program; 0 while unknown */
    pid_t supervisor_pid; /* root of its process tree; 0 while unknown or when gone */
    int exit_code;        /* the rest: when exited */
    int exit_signal;
    char reason[RUNTIME_REASON_SIZE];
    uint64_t cpu_used_us;
};

/* the state may have changed: poll */
typedef void (*runtime_changed_fn)(void *userdata);

struct runtime_ops {
    /* start - what order.json in the folder says; -errno with error when nothing was started */
    int (*start)(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                 void *userdata, struct runtime_process **ret, struct edl_error *error);
    /* adopt - what an earlier agent started in the folder, whatever became of it; starts nothing */
    int (*adopt)(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                 void *userdata, struct runtime_process **ret, struct edl_error *error);
    /* stop - asks for the end, with force after grace_us; idempotent, does not wait */
    int (*stop)(struct runtime_process *process, uint64_t grace_us, struct edl_error *error);
    /* poll - fresh from the folder; never fails: what cannot be known is exited with a reason */
    void (*poll)(struct runtime_process *process, struct runtime_state *ret);
    /* release - lets go of the handle, not of the process; accepts NULL, returns NULL */
    struct runtime_process *(*release)(struct runtime_process *process);
    struct runtime *(*free)(struct runtime *runtime);
};

struct runtime {
    const struct runtime_ops *ops;
};
