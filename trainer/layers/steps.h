/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - the places of sequences one after the other: which rows each step of a recurrent layer
 * has */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tensor_ops.h"
#include "trainer/network/network.h"

struct edl_error;
struct layer_run;

/* The rows of one step, and the row before each. */
struct step_rows {
    uint32_t *rows, *prev; /* in the layer's scratch */
    size_t n;
};

/* steps_shape - of an input with size * parts values at each place; asks for the weight
 * [size, size * columns] and, where one is wanted, a bias of size * biases. -EINVAL */
int steps_shape(struct network *network, struct network_layer *layer, uint32_t parts,
                uint32_t columns, uint32_t biases, struct edl_error *error);
/* steps_unit - of an activation; -EINVAL: a recurrent layer has no such */
int steps_check_units(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error);
enum unit steps_unit(enum activation activation);

/* steps_longest - steps of the longest sequence of the batch */
size_t steps_longest(const struct layer_run *run);
/* steps_rows - the rows that step t has, in ret, whose arrays have room for all samples */
void steps_rows(const struct layer_run *run, size_t t, struct step_rows *ret);
/* steps_at - element i of an array */
void *steps_at(const struct layer_run *run, const void *base, size_t i);
/* steps_begin - every row = bias, or zeros, plus that row of the input */
void steps_begin(const struct layer_run *run, size_t width, void *out);
/* steps_bias - the gradient of the first columns of the bias: column sums of d[rows, width];
 * scratch [width] */
void steps_bias(const struct layer_run *run, const void *d, size_t width, void *scratch);
