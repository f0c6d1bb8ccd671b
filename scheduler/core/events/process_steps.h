/* SPDX-License-Identifier: Apache-2.0 */
/* process_steps.h - what processes tell of their training steps: counted, and learnt from */
#pragma once

struct cluster;
struct instant;
struct process;
struct steps_told;

/* process_take_steps - what its node's report says of its steps; see steps.h */
void process_take_steps(struct cluster *cluster, struct process *process,
                        const struct steps_told *told, struct instant now);
