/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - which values of which parameter belong to which server
 *
 * Two rules. Without ports in the declaration's placement each server has of a dense parameter one
 * range of rows. So a range is one piece of memory on both sides. Of a sparse one it has the rows
 * whose number modulo the servers is its own, because the frequent words have neighbouring ids.
 * With ports, blocks and rows lie as in PaddlePaddle (block_placement.h). Pure arithmetic; trainer
 * and server compute the same answer from the declaration. */
#pragma once

#include "trainer/parameters/declaration.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARDS_MAX 1024

/* One parameter's part on one server. Of a dense one: pieces of `piece` floats (the last one may be
 * shorter), the first at float `from`, each `stride` floats further. Of a sparse one: rows
 * first_row, first_row + row_step and so on. */
struct shard_param {
    uint32_t sparse;
    uint32_t columns;
    uint32_t rows; /* sparse: held here */
    uint32_t first_row, row_step;
    size_t from, piece, stride;
    size_t values; /* floats held here */
    size_t offset; /* in floats, within the server's storage: dense parameters first */
};

struct shard_shape {
    uint32_t shard, n_shards;
    uint32_t n_params;
    struct shard_param params[DECLARATION_PARAMS_MAX];
    size_t dense_values; /* floats: storage[0 .. dense_values) is the dense block */
    size_t total_values;
};

struct shard_piece {
    size_t at; /* in floats, within the whole parameter */
    size_t values;
};

/* shard_dense_range - rows [*ret_first, *ret_first + *ret_count) belong to shard; the ranges of all
 * shards cover the rows exactly once */
void shard_dense_range(uint32_t rows, uint32_t shard, uint32_t n_shards, uint32_t *ret_first,
                       uint32_t *ret_count);

/* shard_shape_init - the layout of one server; declaration was checked, and its placement for
 * n_shards (block_placement_check); shard < n_shards <= SHARDS_MAX */
void shard_shape_init(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
                      struct shard_shape *ret);

/* shard_piece - the n-th piece of a dense parameter here, as they follow one another in storage;
 * false: there are no more. At most BLOCK_PLACEMENT_BLOCKS_MAX and one for each parameter in all */
bool shard_piece(const struct shard_param *part, size_t n, struct shard_piece *ret);

/* shard_local_row - place of a global row of a sparse parameter, or -1 when it is not this shard's
 */
int64_t shard_local_row(const struct shard_shape *shape, uint32_t param, uint32_t row);

/* shard_global_row - the inverse */
uint32_t shard_global_row(const struct shard_shape *shape, uint32_t param, uint32_t local);
