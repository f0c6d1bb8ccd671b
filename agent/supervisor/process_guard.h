/* SPDX-License-Identifier: Apache-2.0 */
/* process_guard.h - what protects a machine from a process that no control group holds
 *
 * Not the limits that it was granted: there is none for a tree of processes among those of
 * setrlimit(2). RLIMIT_AS counts addresses, of which CUDA takes hundreds of GiB. RLIMIT_DATA counts
 * each process alone, and stacks of threads that are never touched. RLIMIT_NPROC counts all
 * processes of an account on the machine, also those of its other jobs. So the guards are for the
 * machine: when memory runs out, the kernel takes a job's process first. No account but root can
 * take more than half of the numbers of processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* oom_score_adj of a process that the kernel is to take first; -1000 to 1000, as if it used half of
 * the memory more than it does */
#define OOM_SCORE_ADJ_FIRST "500"

/* process_guard_tasks - how many tasks an account may have, of what the kernel can have; pure */
uint64_t process_guard_tasks(uint64_t pid_max, uint64_t threads_max);

/* process_guard_self - the calling process, before it changes its account, and what it starts
 * memory_held, tasks_held: by a control group */
void process_guard_self(bool memory_held, bool tasks_held);
