/* SPDX-License-Identifier: Apache-2.0 */
/* cost_weight.h - what a cost is multiplied with: coeff, and a third input with a factor for each
 * row */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct layer_run;
struct network;
struct network_layer;

/* cost_shape - input and label have the same rows of the same size; -EINVAL */
int cost_shape(struct network *network, struct network_layer *layer, struct edl_error *error);
/* cost_weight_shape - the weight, where there is one, has one value; -EINVAL */
int cost_weight_shape(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error);

/* cost_is_weighted - costs are to be taken row by row */
bool cost_is_weighted(const struct layer_run *run);
/* cost_weight - of a row */
double cost_weight(const struct layer_run *run, size_t row);
/* cost_row - where a row of an input begins */
const void *cost_row(const struct layer_run *run, size_t input, size_t row);
/* cost_add - a cost, times its weight, times coeff */
void cost_add(const struct layer_run *run, double cost, double weight);
/* cost_scale - a gradient, by both */
void cost_scale(const struct layer_run *run, void *gradient);
