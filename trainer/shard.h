/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - which rows of which parameter belong to which server
 *
 * Dense parameters: contiguous ranges of rows, so that a range is one piece of memory on both
 * sides. Sparse parameters: row % n_shards, because the frequent words have neighbouring ids. Pure
 * arithmetic; trainer and server compute the same answer from the declaration. */
#pragma once

#include "trainer/declaration.h"

#include <stddef.h>
#include <stdint.h>

#define SHARDS_MAX 1024

/* One parameter's part on one server. */
struct shard_param {
    uint32_t sparse;
    uint32_t columns;
    uint32_t first_row; /* dense: of the range; sparse: unused (row = local * n_shards + shard) */
    uint32_t rows;      /* held here */
    size_t offset;      /* in floats, within the server's storage: dense parameters first */
};

struct shard_shape {
    uint32_t shard, n_shards;
    uint32_t n_params;
    struct shard_param params[DECLARATION_PARAMS_MAX];
    size_t dense_values; /* floats: storage[0 .. dense_values) is the dense block */
    size_t total_values;
};

/* shard_dense_range - rows [*ret_first, *ret_first + *ret_count) belong to shard; the ranges of all
 * shards cover the rows exactly once */
void shard_dense_range(uint32_t rows, uint32_t shard, uint32_t n_shards, uint32_t *ret_first,
                       uint32_t *ret_count);

/* shard_sparse_rows - how many of rows belong to shard by row % n_shards */
uint32_t shard_sparse_rows(uint32_t rows, uint32_t shard, uint32_t n_shards);

/* shard_shape_init - the layout of one server; declaration was checked, shard < n_shards <=
 * SHARDS_MAX */
void shard_shape_init(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
                      struct shard_shape *ret);

/* shard_local_row - place of a global row of a sparse parameter, or -1 when it is not this shard's
 */
int64_t shard_local_row(const struct shard_shape *shape, uint32_t param, uint32_t row);

/* shard_global_row - the inverse, for dense and sparse parameters */
uint32_t shard_global_row(const struct shard_shape *shape, uint32_t param, uint32_t local);
