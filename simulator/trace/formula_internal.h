/* SPDX-License-Identifier: Apache-2.0 */
/* formula_internal.h - a formula's profile, for those who make it and those who write it down */
#pragma once

#include "simulator/trace/formula.h"
#include "simulator/trace/profile.h"

struct formula {
    struct profile profile;
    double parameter; /* exponent, or serial part */
    uint32_t *counts; /* of a table; owned */
    double *rates;    /* steps per second at them; owned */
    const struct pserver_model *model;
};

extern const struct profile_ops formula_power_ops, formula_amdahl_ops, formula_table_ops,
    formula_pserver_ops;
