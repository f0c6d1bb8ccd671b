/* SPDX-License-Identifier: Apache-2.0 */
/* job_weights.h - what the processes of each job weigh together on this node */
#pragma once

#include <stdint.h>

struct job_weight;

/* job_weights_change - one of its processes weighed `from` and weighs `to` now, 0 for nothing;
 * returns what all of them weigh. weights: NULL at first; a job that weighs nothing is not kept */
uint64_t job_weights_change(struct job_weight **weights, uint64_t job_id, uint64_t from,
                            uint64_t to);

/* job_weights_free - NULL is left */
void job_weights_free(struct job_weight **weights);
