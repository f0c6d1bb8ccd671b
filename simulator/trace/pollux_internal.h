/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_internal.h - how a job of Pollux' divides its batch */
#pragma once

#include "simulator/trace/learn.h"
#include "simulator/trace/profile.h"

struct pollux_app;

struct pollux_profile {
    struct profile profile;
    struct pollux_app *app;
};

/* pollux_fixed_split - of the batch that its owner chose, cut to what the runs cover */
struct work_split pollux_fixed_split(const struct pollux_app *app, uint32_t batch, uint32_t n);

/* of pollux_learn.c */
extern const struct profile_learning pollux_learning;
