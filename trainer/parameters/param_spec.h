/* SPDX-License-Identifier: Apache-2.0 */
/* param_spec.h - one parameter as the servers keep it: its shape, its start values, and its own
 * settings beside the optimizer's
 *
 * It has no padding and travels as it lies in memory. */
#pragma once

#include <stdint.h>

#define PARAM_NAME_SIZE 64 /* with the NUL at its end */

enum param_initial {
    PARAM_NORMAL,   /* mean and standard deviation; a deviation of 0: the mean everywhere */
    PARAM_UNIFORM,  /* initial_mean +- initial_std */
    PARAM_CONSTANT, /* initial_mean */
    PARAM_INITIALS
};

/* learning_rate is a factor: 1 as the optimizer's rate is, 0 never moves. Of the four behind it 0
 * means the optimizer's own, and a negative value none (optimizer_param_step). */
struct param_spec {
    char name[PARAM_NAME_SIZE];
    uint32_t rows, columns;
    uint32_t sparse;  /* 1: only rows touched travel */
    uint32_t initial; /* enum param_initial */
    float initial_mean, initial_std;
    float learning_rate;
    float momentum, l1_rate, l2_rate, clipping;
};
_Static_assert(sizeof(struct param_spec) == PARAM_NAME_SIZE + 11 * 4, "no padding");

/* param_init_value - element [row, column] of a parameter's start value: a function of the name,
 * the place and the seed only, so that every shard of every server agrees, on every machine. */
float param_init_value(const struct param_spec *spec, uint64_t seed, uint32_t row, uint32_t column);
