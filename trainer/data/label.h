/* SPDX-License-Identifier: Apache-2.0 */
/* label.h - labels of which a known share is wrong, and the floor of a classifier
 *
 * The best classifier knows P(class | picture) exactly. Its error on a picture is 1 - the largest
 * of them; its cost is their entropy. Both are averaged over test pictures. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "trainer/data/source.h"

/* label_draw - the label of a class: another one, each as likely, with probability noise */
int32_t label_draw(uint32_t class, double noise, uint64_t *state);

/* label_posterior - logarithms of the likelihood of each class, known but for one constant, become
 * the probability of each label; all classes are equally frequent */
void label_posterior(double *io_values, double noise);

/* label_floor - over the first test samples of a source of pictures; new reference
 * {"error", "test_error", "cost", "test_cost", "samples"}
 * posterior: P(label) given test sample i; *ret_label: its own */
json_t *label_floor(uint64_t n_test, void *state,
                    void (*posterior)(void *state, uint64_t i, double *ret_posterior,
                                      int32_t *ret_label));
