/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.h - what a trainer declares to the parameter servers: parameters, seed and optimiser
 *
 * Start values are a function of (declaration, row, column), so the servers need no election: the
 * first declaration creates the table, all later ones must say the same. A training that goes on
 * from a saved model has values instead, which trainer 0 sets. */
#pragma once

#include "trainer/parameters/optimizer.h"
#include "trainer/parameters/param_spec.h"
#include "trainer/parameters/block_placement.h"

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

#define DECLARATION_PARAMS_MAX 512                 /* resnet_cifar of depth 110 has 335 */
#define DECLARATION_VALUES_MAX (UINT64_C(1) << 28) /* floats of one parameter: 1 GiB */

struct declaration {
    uint64_t seed;
    uint32_t awaits_values; /* 1: trainer 0 sets the values before anything is trained */
    struct optimizer_spec optimizer;
    struct block_placement
        placement; /* of the servers; checked with their number (block_placement_check) */
    uint32_t n_params;
    struct param_spec params[DECLARATION_PARAMS_MAX];
};

/* declaration_check - sizes within bounds, names [A-Za-z0-9_.-]+ and not "." or "..", an optimizer
 * that can update these parameters, numbers finite; -EINVAL */
int declaration_check(const struct declaration *declaration, struct edl_error *error);

/* declaration_equal - field by field (bytes after a name's end do not count) */
bool declaration_equal(const struct declaration *a, const struct declaration *b);

/* declaration_plain - the same with zeros behind the ends of all texts: as it travels */
void declaration_plain(const struct declaration *declaration, struct declaration *ret);
