/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - who brings the supervisor of a process into being
 *
 * The spawn server forks it (spawner.h), or the service manager starts it as a unit of its own
 * (unit_launcher.h). From then on both are the same to the agent: the supervisor keeps the folder's
 * lock, and its record stands in the folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct edl_error;
struct launch;
struct launcher;

/* called once for each launch, from the loop, never from within start
 * pid: of the supervisor; 0: there is none, and why is what stopped it, or it is to be found
 * through its record, and why is NULL. take_pidfd: of the same, now the callee's; -1: found
 * likewise */
typedef void (*launched_fn)(pid_t pid, int take_pidfd, const struct edl_error *why, void *userdata);

struct launcher_ops {
    /* start - orders a supervisor for the process folder at path (absolute, copied)
     * *ret is valid until launched was called or cancel. Negative: nothing was ordered. */
    int (*start)(struct launcher *launcher, const char *path, launched_fn launched, void *userdata,
                 struct launch **ret, struct edl_error *error);
    /* cancel - launched is not called any more; the supervisor may come all the same */
    void (*cancel)(struct launch *launch);
    /* weigh - the processes of a job that are here weigh so much together, see process_limits.h; 0:
     * there is none. NULL: it makes nothing that holds all of a job */
    void (*weigh)(struct launcher *launcher, uint64_t job_id, uint64_t cpu_weight);
    /* free - supervisors live on; every launch has to be cancelled or answered before */
    void (*free)(struct launcher *launcher);
};

struct launcher {
    const struct launcher_ops *ops;
};

static inline int launcher_start(struct launcher *launcher, const char *path, launched_fn launched,
                                 void *userdata, struct launch **ret, struct edl_error *error)
{
    return launcher->ops->start(launcher, path, launched, userdata, ret, error);
}

/* Accepts launch NULL, returns NULL. */
static inline struct launch *launcher_cancel(struct launcher *launcher, struct launch *launch)
{
    if (launch != NULL)
        launcher->ops->cancel(launch);
    return NULL;
}

static inline void launcher_weigh(struct launcher *launcher, uint64_t job_id, uint64_t cpu_weight)
{
    if (launcher->ops->weigh != NULL)
        launcher->ops->weigh(launcher, job_id, cpu_weight);
}

/* Accepts NULL, returns NULL. */
static inline struct launcher *launcher_free(struct launcher *launcher)
{
    if (launcher != NULL)
        launcher->ops->free(launcher);
    return NULL;
}
