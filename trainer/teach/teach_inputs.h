/* SPDX-License-Identifier: Apache-2.0 */
/* teach_inputs.h - tasks of students as a batch that a network takes
 *
 * An input that an output depends on is a feed of the same name: ids are int32 or int64, dense
 * ones float32 or float64 [size]. A single value of a sample may have a dimension of 1, or none. A
 * sequence has one dimension more, its places: of ids a negative one stands behind the end, of
 * dense ones all count. Other inputs, the labels, get zeros: no output depends on them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/teacher_welcome.h"
#include "trainer/data/batch.h"

struct edl_error;
struct network;
struct teach_inputs;

/* teach_inputs_new - of the network's outputs; it outlives them */
struct teach_inputs *teach_inputs_new(const struct network *network);
struct teach_inputs *teach_inputs_free(struct teach_inputs *inputs);

/* teach_inputs_feeds - n of them, borrowed */
const struct teacher_feed *teach_inputs_feeds(const struct teach_inputs *inputs, uint32_t *ret_n);

/* teach_inputs_fit - names, shapes and types of a task; *ret_samples: that it has
 * -EINVAL: what it has, and what is wanted. Costs nothing that grows with the samples. */
int teach_inputs_fit(const struct teach_inputs *inputs, const struct teacher_tensors *tensors,
                     uint64_t *ret_samples, struct edl_error *error);

/* teach_inputs_clear, teach_inputs_add - no samples; those of a task that fits behind those that
 * are there. -EINVAL: an id outside its input, a value that is not finite; nothing is added then.
 */
void teach_inputs_clear(struct teach_inputs *inputs);
int teach_inputs_add(struct teach_inputs *inputs, const struct teacher_tensors *tensors,
                     struct edl_error *error);

/* teach_inputs_n - samples that were added
 * teach_inputs_batch - n of them from first on, valid until the next call of any */
uint64_t teach_inputs_n(const struct teach_inputs *inputs);
void teach_inputs_batch(struct teach_inputs *inputs, uint64_t first, uint32_t n, struct batch *ret);
