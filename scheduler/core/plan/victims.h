/* SPDX-License-Identifier: Apache-2.0 */
/* victims.h - who gives way: the process with the least work lost */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct plan;
struct process;
struct resources;

/* of two processes of any jobs: a goes first */
bool gives_before(const struct plan *plan, const struct process *a, const struct process *b);

/* it may be shrunk away, and it holds something of the short resource */
bool is_victim(const struct process *process, const struct resources *have,
               const struct resources *need);

/* the first one of this role to go; NULL: nobody is left. counted: of those on nodes that take
 * processes, which alone are in the totals: to stop another would lower no load */
struct process *next_victim(const struct job *job, uint32_t role, bool counted);
