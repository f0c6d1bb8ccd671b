/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.h - what processes of jobs do not see of their machine
 *
 * The folders in which daemons listen that would act outside of the job on its behalf
 * (systemd-run --user, a login that lingers, the scheduler, which takes an account's word on its
 * Unix socket), and processes of other accounts. A unit has it from systemd (unit_plan.c); without
 * one the child hides it from itself, in a mount namespace. */
#pragma once

#define HIDDEN_MAX 4

/* hidden_paths - folders and sockets in which none of the paths in use lies; both end with NULL.
 * Pure scheduler: the Unix socket by which this node's agent reaches it, "" for none */
void hidden_paths(const char *const *in_use, const char *scheduler,
                  const char *ret[HIDDEN_MAX + 1]);

/* hidden_begin - in the child, as root; 0 or -errno. Allocates nothing. What the kernel does not
 * let us hide (a container) stays as it is.
 * paths: NULL: all of it is hidden already. shm: the folder that is to be its /dev/shm (job_shm.h),
 * or NULL */
int hidden_begin(const char *const *paths, const char *shm);
