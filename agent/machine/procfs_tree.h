/* SPDX-License-Identifier: Apache-2.0 */
/* procfs_tree.h - the processes below one, at a cost that grows with their number and that of their
 * threads, not with the machine's */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "agent/machine/procfs.h"

/* procfs_children - of the calling process, which has one thread; dead ones too. As only it reaps
 * them, each number is that child's until then. *ret is the caller's to free. 0, or -errno when
 * /proc cannot be read. */
int procfs_children(pid_t **ret, size_t *ret_n);

/* procfs_tree - all below root, each as it was when it was looked at, sorted by pid
 * root takes in those whose parent dies (PR_SET_CHILD_SUBREAPER). One whose sibling is reaped while
 * they are listed can be missed. A number that became another process's is none of them. *ret is
 * the caller's to free; root itself is not in it. 0, or -errno when /proc cannot be read */
int procfs_tree(pid_t root, struct procfs_stat **ret, size_t *ret_n);
