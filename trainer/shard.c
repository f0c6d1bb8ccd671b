/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c - which rows of which parameter belong to which server */
#include "trainer/shard.h"

void shard_dense_range(uint32_t rows, uint32_t shard, uint32_t n_shards, uint32_t *ret_first,
                       uint32_t *ret_count)
{
    uint32_t first = (uint32_t)((uint64_t)rows * shard / n_shards);
    uint32_t end = (uint32_t)((uint64_t)rows * (shard + 1) / n_shards);

    *ret_first = first;
    *ret_count = end - first;
}

uint32_t shard_sparse_rows(uint32_t rows, uint32_t shard, uint32_t n_shards)
{
    return rows / n_shards + (shard < rows % n_shards ? 1 : 0);
}

/* Lays out the dense parameters (sparse = 0) or the sparse ones behind what is placed already. */
static void place(const struct declaration *declaration, uint32_t sparse, struct shard_shape *shape)
{
    for (uint32_t p = 0; p < declaration->n_params; p++) {
        const struct param_spec *spec = &declaration->params[p];
        struct shard_param *part = &shape->params[p];

        if (spec->sparse != sparse)
            continue;
        *part = (struct shard_param){ .sparse = sparse,
                                      .columns = spec->columns,
                                      .offset = shape->total_values };
        if (sparse)
            part->rows = shard_sparse_rows(spec->rows, shape->shard, shape->n_shards);
        else
            shard_dense_range(spec->rows, shape->shard, shape->n_shards, &part->first_row,
                              &part->rows);
        shape->total_values += (size_t)part->rows * part->columns;
    }
}

void shard_shape_init(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
                      struct shard_shape *ret)
{
    *ret = (struct shard_shape){ .shard = shard,
                                 .n_shards = n_shards,
                                 .n_params = declaration->n_params };
    place(declaration, 0, ret);
    ret->dense_values = ret->total_values;
    place(declaration, 1, ret);
}

int64_t shard_local_row(const struct shard_shape *shape, uint32_t param, uint32_t row)
{
    uint32_t local = row / shape->n_shards;

    if (row % shape->n_shards != shape->shard || local >= shape->params[param].rows)
        return -1;
    return local;
}

uint32_t shard_global_row(const struct shard_shape *shape, uint32_t param, uint32_t local)
{
    const struct shard_param *part = &shape->params[param];

    return part->sparse ? local * shape->n_shards + shape->shard : part->first_row + local;
}
