/* SPDX-License-Identifier: Apache-2.0 */
/* distill_batch.h - batches of a student: cut into tasks, filled with answers, given in order; pure
 *
 * A batch keeps a copy of its fields, which tasks on their way to a teacher point into. So it is
 * counted who still needs it. Tasks have rising numbers over all batches. */
#pragma once

#include <stdbool.h>

#include "libedl/edl/edl.h"
#include "shared/teacher_wire.h"

struct edl_error;

struct distill_batch {
    struct edl_distill_batch told; /* the caller's view, and so the first member */
    unsigned n_users;
    struct edl_tensor *tensors; /* fields, then predictions; names and values are owned */
    uint64_t *row_bytes;        /* of each tensor */
    uint64_t field_bytes;
    uint64_t first_task, n_tasks, n_answered;
    uint64_t task_samples;      /* of each task but the last */
    char *answered_by;          /* who gave the first answer, and so the shapes; owned */
    struct distill_batch *next; /* in the order that they were fed */
};

/* distill_tensor_bytes - of a row, which is one sample; -EINVAL: a tensor that cannot be sent */
int distill_row_bytes(const struct edl_tensor *tensor, uint64_t *ret);

/* distill_batch_new - copies fields, that have been checked (distill_fields_check) */
struct distill_batch *distill_batch_new(const struct edl_tensor *fields, const char *const *ins,
                                        size_t n_ins, const char *const *predicts,
                                        size_t n_predicts, uint64_t task_samples);
int distill_fields_check(const struct edl_tensor *fields, const char *const *ins, size_t n_ins,
                         uint64_t task_samples, struct edl_error *error);

struct distill_batch *distill_batch_use(struct distill_batch *batch);
void distill_batch_release(struct distill_batch *batch);

/* distill_task_field - one field of a task as it is sent; its values lie in the batch */
void distill_task_field(const struct distill_batch *batch, uint64_t task, size_t field,
                        struct teacher_tensor *ret);
uint64_t distill_task_samples(const struct distill_batch *batch, uint64_t task);

/* distill_answer_check - -EINVAL, and what is wrong with an answer to a task: a prediction lacks,
 * its samples are fewer or more, a value is no number */
int distill_answer_check(const struct distill_batch *batch, uint64_t task,
                         const struct teacher_tensors *answer, struct edl_error *error);

/* distill_answer_put - an answer that was checked; it is copied. -EINVAL: other answers of the
 * batch have other shapes, so teachers have other models */
int distill_answer_put(struct distill_batch *batch, uint64_t task,
                       const struct teacher_tensors *answer, const char *by,
                       struct edl_error *error);

static inline bool distill_batch_is_whole(const struct distill_batch *batch)
{
    return batch->n_answered == batch->n_tasks;
}
