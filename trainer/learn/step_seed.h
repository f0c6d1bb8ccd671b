/* SPDX-License-Identifier: Apache-2.0 */
/* step_seed.h - from where the dropout of a micro-batch draws: pure
 *
 * A mask is a function of (seed, lesson, epoch, step, micro-batch, row): the first five make the
 * seed here, and the row is the place of the value in the micro-batch (kernels/dropout_hash.h).
 * Nothing of the process is in it, neither its index nor its incarnation nor the number of steps
 * that it has taken. So the trainers of a job, their number and their past change no mask.
 *
 * A lesson is the samples that one counts steps in: those of a task, or 0 for all of them. */
#pragma once

#include <stdint.h>

struct step_place {
    uint64_t lesson, epoch, step, micro_batch;
};

/* step_seed - every number changes every bit of it */
uint64_t step_seed(uint64_t seed, const struct step_place *place);

/* step_lesson - the number of a lesson by its first records: a file's name without its folders,
 * which differ from node to node, and the offset there */
uint64_t step_lesson(const char *path, uint64_t offset_bytes);
