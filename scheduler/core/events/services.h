/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - who serves: the processes of a job that others are to find
 *
 * A service is called JOB, or JOB.ROLE (neither name has a dot). JOB alone is all of a job in mode
 * "service", and the role "teacher" of any other; JOB.ROLE is that role of any job. It is known as
 * long as its job is, and empty when nobody serves.
 *
 * A process that serves runs, is not being stopped, and its node is not cut off. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/job_spec.h"

struct cluster;
struct edl_error;
struct job;
struct process;

#define SERVICE_TEACHER "teacher"
#define SERVICE_NAME_MAX (JOB_NAME_MAX + 1 + ROLE_NAME_MAX)

struct service {
    const struct job *job; /* borrowed */
    uint32_t roles;        /* mask of those that serve */
    char name[SERVICE_NAME_MAX + 1];
};

/* service_of - of the job, of one role of it or (NULL) of the roles that it serves with by itself.
 * -ENOENT */
int service_of(const struct job *job, const char *role, struct service *ret,
               struct edl_error *error);

/* service_processes - who serves now, by role and index. The caller frees *ret; how many. Linear in
 * the job's instances */
size_t service_processes(const struct service *service, const struct process ***ret);

/* service_version - a number that is another one when others serve, or elsewhere; the same in every
 * run of the scheduler, and at most 2^53 - 1 */
uint64_t service_version(const struct process *const *processes, size_t n);

/* services_list - what the jobs that are not over serve with by themselves. The caller frees *ret;
 * how many. Linear in them */
size_t services_list(const struct cluster *cluster, struct service **ret);
