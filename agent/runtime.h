/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - processes on this machine: start, stop, adopt, poll state
 *
 * A process runs under a supervisor, which keeps it going without the agent; a launcher brings that
 * into being. All that is needed to find it again lies in the process folder, so that a process of
 * any launcher is adopted. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "agent/groups/cgroup.h"
#include "shared/exit_cause.h"
#include "shared/start_fault.h"
#include "shared/unfit.h"

struct edl_error;
struct launcher;
struct runtime;
struct runtime_process;

#define RUNTIME_REASON_SIZE 256

enum runtime_phase { RUNTIME_STARTING, RUNTIME_RUNNING, RUNTIME_EXITED };

struct runtime_state {
    enum runtime_phase phase;
    pid_t pid;                  /* of the program; 0 while unknown */
    uid_t uid;                  /* of its processes; valid while pid is known and it runs */
    uint64_t started_us;        /* boot time; 0: its record does not say */
    pid_t supervisor_pid;       /* root of its process tree; 0 while unknown or when gone */
    uint64_t frozen_since_us;   /* boot time: it stands still since then; 0: it runs, or is gone */
    uint64_t frozen_us;         /* for so long it stood still besides, in all */
    struct cgroup_paths cgroup; /* its own; unified is "": it has none, or is not known yet */
    int exit_code;              /* the rest: when exited */
    int exit_signal;
    enum exit_cause cause;
    char reason[RUNTIME_REASON_SIZE], error[RUNTIME_REASON_SIZE];
    enum unfit unfit;
    enum start_fault fault;
    uint64_t cpu_used_us, orphans_reaped, error_before_us;
};

/* the state may have changed: poll */
typedef void (*runtime_changed_fn)(void *userdata);

/* runtime_new - take_launcher is owned from now on, also when this fails */
int runtime_new(sd_event *event, struct launcher *take_launcher, struct runtime **ret,
                struct edl_error *error);

/* runtime_free - processes live on; their handles have to be released before. Accepts NULL, returns
 * NULL */
struct runtime *runtime_free(struct runtime *runtime);

/* runtime_weigh - the processes of a job that are here weigh so much together (cpu.weight); 0:
 * there is none. To be said before the first one is started. */
void runtime_weigh(struct runtime *runtime, uint64_t job_id, uint64_t cpu_weight);

/* runtime_start - what order.json in the folder says; negative: nothing was started */
int runtime_start(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                  void *userdata, struct runtime_process **ret, struct edl_error *error);

/* runtime_adopt - what an earlier agent started in the folder, whatever became of it; starts
 * nothing */
int runtime_adopt(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                  void *userdata, struct runtime_process **ret, struct edl_error *error);

/* runtime_stop - asks for the end, with force after grace_us; idempotent, does not wait */
int runtime_stop(struct runtime_process *process, uint64_t grace_us, struct edl_error *error);

/* runtime_end_silent - it broke its promise to say something within that time: it is killed, unless
 * it is frozen, which its supervisor knows; idempotent, does not wait */
int runtime_end_silent(struct runtime_process *process, uint64_t within_us,
                       struct edl_error *error);

/* runtime_thaw - one that stands still may go on, by orders of this epoch of the lease; idempotent.
 * One that runs must not be told: an earlier version's supervisor would end by it. */
int runtime_thaw(struct runtime_process *process, uint16_t epoch, struct edl_error *error);

/* runtime_poll - fresh from the folder; never fails: what cannot be known is exited with a reason
 */
void runtime_poll(struct runtime_process *process, struct runtime_state *ret);

/* runtime_release - lets go of the handle, not of the process; accepts NULL, returns NULL */
struct runtime_process *runtime_release(struct runtime_process *process);
