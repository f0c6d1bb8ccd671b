/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.h - what processes of jobs do not see of their machine
 *
 * The folders in which managers listen that would start something outside of the job on its
 * behalf (systemd-run --user, a login that lingers), and processes of other accounts. A unit has it
 * from systemd (unit_plan.c); without one the child hides it from itself, in a mount namespace. */
#pragma once

#define HIDDEN_MAX 2

/* hidden_paths - those in which none of the paths in use lies; both end with NULL. Pure */
void hidden_paths(const char *const *in_use, const char *ret[HIDDEN_MAX + 1]);

/* hidden_begin - in the child, as root; 0 or -errno. Allocates nothing. What the kernel does not
 * let us hide (a container) stays as it is. */
int hidden_begin(const char *const *paths);
