/* SPDX-License-Identifier: Apache-2.0 */
/* process_ref.h - a process by name, which stays good over a turn: when a commit fails everything
 * is loaded anew, and pointers into the cluster of before are good for nothing */
#pragma once

#include <stdint.h>

struct edl_error;
struct process;
struct scheduler;

struct process_ref {
    uint64_t job_id, incarnation;
    uint32_t role, index;
};

struct process_ref process_ref_of(const struct process *process);

/* process_ref_find - it again; NULL with error when it is not known any more (EDL_ESTALE), or
 * nothing can be stored now (-ENOSPC) */
struct process *process_ref_find(const struct scheduler *scheduler, const struct process_ref *ref,
                                 struct edl_error *error);
