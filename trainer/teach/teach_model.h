/* SPDX-License-Identifier: Apache-2.0 */
/* teach_model.h - a saved pass of a network that answers tasks: forward only, as edl-trainer infer
 *
 * One thread at a time. */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "shared/teacher_welcome.h"

struct edl_error;
struct teach_inputs;
struct teach_model;

struct teach_model_config {
    const char *config;     /* name or file of a network, or a trainer_config.py */
    const char *arguments;  /* "depth=20", NULL: the file's own */
    const char *init_model; /* a saved pass: its folder, or its tar */
    const char *outputs;    /* "[NAME=]LAYER,...", NULL: the network's own */
    const char *device;     /* cpu, cuda, auto */
    const char *name;       /* of the model, for students; NULL: config and init_model */
    uint32_t max_batch;
    const volatile sig_atomic_t *stop; /* ends the wait for Python */
};

/* teach_model_open - reads and checks all; *ret is the caller's
 * -EINVAL: what is asked for; and what files, the device and memory give. */
int teach_model_open(const struct teach_model_config *config, struct teach_model **ret,
                     struct edl_error *error);
struct teach_model *teach_model_close(struct teach_model *model);

/* teach_model_welcome - borrowed; feeds and fetches of the model */
const struct teacher_welcome *teach_model_welcome(const struct teach_model *model);

/* teach_model_inputs - what checks tasks; only teach_inputs_fit may be called by other threads */
struct teach_inputs *teach_model_inputs(struct teach_model *model);

/* teach_model_row_values - values of all outputs of a sample */
uint64_t teach_model_row_values(const struct teach_model *model);

/* teach_model_run - of the samples that are in the inputs: values[i], f32[samples, size] of output
 * i, valid until the next call. -EINVAL: as plan_batch; -EIO: the device has failed, for good. */
int teach_model_run(struct teach_model *model, const float *const **ret, struct edl_error *error);

/* teach_model_columns - of output i; teach_model_check - -EDOM: of samples first..first+n-1 a value
 * is NaN: output and sample are named */
uint32_t teach_model_columns(const struct teach_model *model, uint32_t i);
int teach_model_check(const struct teach_model *model, uint64_t first, uint64_t n,
                      struct edl_error *error);
