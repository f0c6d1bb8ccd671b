/* SPDX-License-Identifier: Apache-2.0 */
/* distill_batch.c - batches of a student: cut into tasks, filled with answers */
#include "libedl/distill_batch.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/teacher_welcome.h"

#define PREDICTION_BYTES_MAX (UINT64_C(1) << 34) /* of a batch */

_Static_assert((int)EDL_BOOL == (int)TEACHER_BOOL && (int)EDL_FLOAT16 == (int)TEACHER_FLOAT16,
               "types are those of the wire");
_Static_assert(EDL_DIMENSIONS_MAX == TEACHER_DIMENSIONS_MAX, "as are dimensions");

int distill_row_bytes(const struct edl_tensor *tensor, uint64_t *ret)
{
    uint64_t bytes = teacher_type_bytes((enum teacher_type)tensor->type), whole = bytes;

    if (bytes == 0 || tensor->n_dimensions == 0 || tensor->n_dimensions > EDL_DIMENSIONS_MAX)
        return -EINVAL;
    for (uint32_t i = 1; i < tensor->n_dimensions; i++) {
        uint64_t extent = tensor->dimensions[i];

        if (extent > TEACHER_BULK_MAX || whole * MAX_OF(extent, UINT64_C(1)) > TEACHER_BULK_MAX)
            return -EINVAL; /* also beside one of 0: no teacher takes such a shape */
        whole *= MAX_OF(extent, UINT64_C(1));
        bytes *= extent;
    }
    *ret = bytes;
    return 0;
}

/* ---- the caller's fields ---- */

static int field_check(const struct edl_tensor *field, const char *name, uint64_t n_samples,
                       struct edl_error *error)
{
    uint64_t row, bytes;

    if (field->name != NULL && !streq(field->name, name))
        return edl_error_set(error, -EINVAL, "the field %s stands where ins have %s", field->name,
                             name);
    if (distill_row_bytes(field, &row) < 0)
        return edl_error_set(error, -EINVAL,
                             "%s has a type that is none, no dimension, more than %d or too many "
                             "values",
                             name, EDL_DIMENSIONS_MAX);
    if (field->dimensions[0] != n_samples)
        return edl_error_set(error, -EINVAL,
                             "%s has the samples of another batch: %llu, and the first field %llu",
                             name, (unsigned long long)field->dimensions[0],
                             (unsigned long long)n_samples);
    if (__builtin_mul_overflow(row, n_samples, &bytes) || (bytes > 0 && field->values == NULL))
        return edl_error_set(error, -EINVAL, "%s has no values, or too many", name);
    return 0;
}

int distill_fields_check(const struct edl_tensor *fields, const char *const *ins, size_t n_ins,
                         uint64_t task_samples, struct edl_error *error)
{
    uint64_t n_samples = fields[0].n_dimensions > 0 ? fields[0].dimensions[0] : 0, sample = 0;

    if (n_samples == 0)
        return edl_error_set(error, -EINVAL, "a batch without samples");
    for (size_t i = 0; i < n_ins; i++) {
        uint64_t row = 0;
        int r = field_check(&fields[i], ins[i], n_samples, error);

        if (r < 0)
            return r;
        (void)distill_row_bytes(&fields[i], &row);
        sample += row;
    }
    if (sample > TEACHER_BULK_MAX / 2 / MIN_OF(task_samples, n_samples))
        return edl_error_set(error, -EINVAL,
                             "a task is too large for one message (samples: %llu): take a smaller "
                             "batch for teachers",
                             (unsigned long long)MIN_OF(task_samples, n_samples));
    return 0;
}

static uint8_t *copy_of(const void *values, uint64_t bytes)
{
    uint8_t *copy = xcalloc(1, (size_t)bytes);

    if (bytes > 0)
        memcpy(copy, values, (size_t)bytes);
    return copy;
}

struct distill_batch *distill_batch_new(const struct edl_tensor *fields, const char *const *ins,
                                        size_t n_ins, const char *const *predicts,
                                        size_t n_predicts, uint64_t task_samples)
{
    struct distill_batch *batch = xcalloc(1, sizeof *batch);
    uint64_t n_samples = fields[0].dimensions[0];

    batch->n_users = 1;
    batch->tensors = xcalloc(n_ins + n_predicts, sizeof batch->tensors[0]);
    batch->row_bytes = xcalloc(n_ins + n_predicts, sizeof batch->row_bytes[0]);
    batch->task_samples = task_samples;
    batch->n_tasks = (n_samples - 1) / task_samples + 1;
    for (size_t i = 0; i < n_ins; i++) {
        (void)distill_row_bytes(&fields[i], &batch->row_bytes[i]);
        batch->tensors[i] = fields[i];
        batch->tensors[i].name = xstrdup(ins[i]);
        batch->field_bytes += batch->row_bytes[i] * n_samples;
        batch->tensors[i].values = copy_of(fields[i].values, batch->row_bytes[i] * n_samples);
    }
    for (size_t i = 0; i < n_predicts; i++)
        batch->tensors[n_ins + i].name = xstrdup(predicts[i]);
    batch->told = (struct edl_distill_batch){ .n_samples = n_samples,
                                              .fields = batch->tensors,
                                              .n_fields = n_ins,
                                              .predictions = batch->tensors + n_ins,
                                              .n_predictions = n_predicts };
    return batch;
}

struct distill_batch *distill_batch_use(struct distill_batch *batch)
{
    batch->n_users++;
    return batch;
}

void distill_batch_release(struct distill_batch *batch)
{
    if (batch == NULL || --batch->n_users > 0)
        return;
    for (size_t i = 0; i < batch->told.n_fields + batch->told.n_predictions; i++) {
        free((void *)(uintptr_t)batch->tensors[i].values); /* why: const for the caller only */
        free((char *)(uintptr_t)batch->tensors[i].name);
    }
    free(batch->tensors);
    free(batch->row_bytes);
    free(batch->answered_by);
    free(batch);
}

/* ---- tasks ---- */

uint64_t distill_task_samples(const struct distill_batch *batch, uint64_t task)
{
    uint64_t first = (task - batch->first_task) * batch->task_samples;

    return MIN_OF(batch->task_samples, batch->told.n_samples - first);
}

void distill_task_field(const struct distill_batch *batch, uint64_t task, size_t field,
                        struct teacher_tensor *ret)
{
    const struct edl_tensor *tensor = &batch->tensors[field];
    uint64_t row = batch->row_bytes[field];
    uint64_t first = (task - batch->first_task) * batch->task_samples;

    *ret = (struct teacher_tensor){ .type = (enum teacher_type)tensor->type,
                                    .n_dimensions = tensor->n_dimensions,
                                    .values = (const uint8_t *)tensor->values + first * row };
    (void)strncpy(ret->name, tensor->name, TEACHER_FIELD_MAX);
    memcpy(ret->dimensions, tensor->dimensions, sizeof ret->dimensions);
    ret->dimensions[0] = distill_task_samples(batch, task);
    ret->n_values = ret->dimensions[0] * (row / teacher_type_bytes(ret->type));
}

/* ---- answers ---- */

static const struct teacher_tensor *tensor_of(const struct teacher_tensors *tensors,
                                              const char *name)
{
    for (uint32_t i = 0; i < tensors->n; i++)
        if (streq(tensors->tensors[i].name, name))
            return &tensors->tensors[i];
    return NULL;
}

static bool has_nan(const struct teacher_tensor *tensor)
{
    uint64_t n = tensor->n_values;
    bool found = false;

    if (tensor->type == TEACHER_FLOAT32)
        for (uint64_t i = 0; i < n; i++)
            found |= isnan(((const float *)tensor->values)[i]) != 0;
    else if (tensor->type == TEACHER_FLOAT64)
        for (uint64_t i = 0; i < n; i++)
            found |= isnan(((const double *)tensor->values)[i]) != 0;
    else if (tensor->type == TEACHER_FLOAT16)
        for (uint64_t i = 0; i < n; i++)
            found |= (((const uint16_t *)tensor->values)[i] & 0x7fff) > 0x7c00;
    return found;
}

static int prediction_check(const struct distill_batch *batch, uint64_t task, const char *name,
                            const struct teacher_tensors *answer, struct edl_error *error)
{
    const struct teacher_tensor *found = tensor_of(answer, name);
    uint64_t n = distill_task_samples(batch, task), row;
    char shape[128];

    if (found == NULL)
        return edl_error_set(error, -EINVAL, "the answer has no %s; it has %s%s", name,
                             answer->n > 0 ? answer->tensors[0].name : "nothing",
                             answer->n > 1 ? " and others" : "");
    if (found->n_dimensions == 0 || found->dimensions[0] != n) {
        teacher_shape_write(found->dimensions, found->n_dimensions, shape, sizeof shape);
        return edl_error_set(error, -EINVAL,
                             "%s has the shape %s, and its task has other samples: %llu", name,
                             shape, (unsigned long long)n);
    }
    row = found->n_values / n * teacher_type_bytes(found->type);
    if (row > PREDICTION_BYTES_MAX / batch->told.n_samples)
        return edl_error_set(error, -EINVAL, "%s has too many values for each sample", name);
    if (has_nan(found))
        return edl_error_set(error, -EINVAL, "%s has a value that is no number", name);
    return 0;
}

int distill_answer_check(const struct distill_batch *batch, uint64_t task,
                         const struct teacher_tensors *answer, struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < batch->told.n_predictions; i++)
        r = prediction_check(batch, task, batch->told.predictions[i].name, answer, error);
    return r;
}

/* shape_take - the first answer says what the batch will have */
static void shape_take(struct distill_batch *batch, const struct teacher_tensors *answer,
                       const char *by)
{
    for (size_t i = 0; i < batch->told.n_predictions; i++) {
        size_t k = batch->told.n_fields + i;
        struct edl_tensor *tensor = &batch->tensors[k];
        const struct teacher_tensor *found = tensor_of(answer, tensor->name);

        tensor->type = (enum edl_type)found->type;
        tensor->n_dimensions = found->n_dimensions;
        memcpy(tensor->dimensions, found->dimensions, sizeof tensor->dimensions);
        batch->row_bytes[k] =
            found->n_values / found->dimensions[0] * teacher_type_bytes(found->type);
        tensor->dimensions[0] = batch->told.n_samples;
        tensor->values = xcalloc((size_t)batch->told.n_samples, (size_t)batch->row_bytes[k]);
    }
    batch->answered_by = xstrdup(by);
}

static bool is_alike(const struct edl_tensor *tensor, const struct teacher_tensor *found)
{
    if ((int)tensor->type != (int)found->type || tensor->n_dimensions != found->n_dimensions)
        return false;
    for (uint32_t i = 1; i < found->n_dimensions; i++)
        if (tensor->dimensions[i] != found->dimensions[i])
            return false;
    return true;
}

static int answers_differ(const struct distill_batch *batch, const struct edl_tensor *tensor,
                          const struct teacher_tensor *found, const char *by,
                          struct edl_error *error)
{
    char first[128], second[128];

    teacher_shape_write(tensor->dimensions + 1, tensor->n_dimensions - 1, first, sizeof first);
    teacher_shape_write(found->dimensions + 1, found->n_dimensions - 1, second, sizeof second);
    (void)edl_error_set(error, -EINVAL,
                        "teacher %s gives %s of the shape %s and type %s for each sample, and "
                        "teacher %s of the shape %s and type %s",
                        batch->answered_by, tensor->name, first,
                        teacher_type_to_string((enum teacher_type)tensor->type), by, second,
                        teacher_type_to_string(found->type));
    return edl_error_remedy(error, "let all teachers of a student have one model");
}

int distill_answer_put(struct distill_batch *batch, uint64_t task,
                       const struct teacher_tensors *answer, const char *by,
                       struct edl_error *error)
{
    uint64_t first = (task - batch->first_task) * batch->task_samples;

    if (batch->answered_by == NULL)
        shape_take(batch, answer, by);
    for (size_t i = 0; i < batch->told.n_predictions; i++) {
        const struct edl_tensor *tensor = &batch->told.predictions[i];
        const struct teacher_tensor *found = tensor_of(answer, tensor->name);
        uint64_t row = batch->row_bytes[batch->told.n_fields + i];

        if (!is_alike(tensor, found))
            return answers_differ(batch, tensor, found, by, error);
        if (row > 0)
            memcpy((uint8_t *)(uintptr_t)tensor->values + first * row, found->values,
                   (size_t)(row * found->dimensions[0]));
    }
    batch->n_answered++;
    return 0;
}
