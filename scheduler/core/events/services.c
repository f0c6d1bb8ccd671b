/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - who serves: the processes of a job that others are to find */
#include "scheduler/core/events/services.h"

#include <stdio.h>
#include <utlist.h>
#include <errno.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* FNV-1a, 64 bits */
#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)
#define VERSION_BITS 53 /* every reader of JSON keeps that exactly */

static void take_role(struct service *service, uint32_t role)
{
    (void)snprintf(service->name, sizeof service->name, "%s.%s", service->job->spec->name,
                   service->job->spec->roles[role].name);
    service->roles = UINT32_C(1) << role;
}

int service_of(const struct job *job, const char *role, struct service *ret,
               struct edl_error *error)
{
    const struct job_spec *spec = job->spec;
    int found;

    *ret = (struct service){ .job = job };
    if (role == NULL && spec->mode == JOB_MODE_SERVICE) {
        (void)snprintf(ret->name, sizeof ret->name, "%s", spec->name);
        ret->roles = (UINT32_C(1) << spec->n_roles) - 1;
        return 0;
    }
    found = job_spec_role(spec, role != NULL ? role : SERVICE_TEACHER);
    if (found >= 0) {
        take_role(ret, (uint32_t)found);
        return 0;
    }
    if (role != NULL)
        (void)edl_error_set(error, -ENOENT, "job %s has no role \"%s\"", spec->name, role);
    else
        (void)edl_error_set(error, -ENOENT,
                            "job %s is in the mode %s and has no role \"" SERVICE_TEACHER
                            "\": it serves nobody by itself",
                            spec->name, job_mode_to_string(spec->mode));
    return edl_error_remedy(error, "name a role of it: %s.%s", spec->name, spec->roles[0].name);
}

static bool serves(const struct process *process)
{
    return process != NULL && process->state == PROCESS_RUNNING && process->node != NULL &&
           process->node->state != NODE_LOST;
}

size_t service_processes(const struct service *service, const struct process ***ret)
{
    const struct job *job = service->job;
    const struct process **processes;
    size_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        n += service->roles >> r & 1 ? job_count_running(job, r) : 0;
    *ret = processes = xcalloc(n, sizeof(*processes));
    n = 0;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; (service->roles >> r & 1) != 0 && i < job->n_slots[r]; i++)
            if (serves(job->slots[r][i].live))
                processes[n++] = job->slots[r][i].live;
    return n;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        hash = (hash ^ (number >> shift & 0xff)) * HASH_PRIME;
    return hash;
}

uint64_t service_version(const struct process *const *processes, size_t n)
{
    uint64_t hash = HASH_BASIS;

    for (size_t i = 0; i < n; i++) {
        const struct process *process = processes[i];

        hash = hash_number(hash, process->job->id);
        hash = hash_number(hash, process->role);
        hash = hash_number(hash, process->incarnation);
        for (const char *at = process->node->offer.address; *at != '\0'; at++)
            hash = (hash ^ (unsigned char)*at) * HASH_PRIME;
        for (uint32_t p = 0; p < process->n_ports; p++)
            hash = hash_number(hash, process->ports[p]);
    }
    return hash >> (64 - VERSION_BITS);
}

size_t services_list(const struct cluster *cluster, struct service **ret)
{
    const struct job *job;
    size_t n = 0;
    size_t cap = 0;

    *ret = NULL;
    DL_FOREACH2(cluster->active, job, active_next)
    {
        struct service service;

        if (service_of(job, NULL, &service, NULL) < 0)
            continue;
        if (n == cap) {
            cap = cap != 0 ? 2 * cap : 16;
            *ret = xreallocarray(*ret, cap, sizeof **ret);
        }
        (*ret)[n++] = service;
    }
    return n;
}
