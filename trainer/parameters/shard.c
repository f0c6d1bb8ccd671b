/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c - which values of which parameter belong to which server */
#include "trainer/parameters/shard.h"

#include "shared/macro.h"

void shard_dense_range(uint32_t rows, uint32_t shard, uint32_t n_shards, uint32_t *ret_first,
                       uint32_t *ret_count)
{
    uint32_t first = (uint32_t)((uint64_t)rows * shard / n_shards);
    uint32_t end = (uint32_t)((uint64_t)rows * (shard + 1) / n_shards);

    *ret_first = first;
    *ret_count = end - first;
}

/* What a rule needs of the whole. */
struct layout {
    bool has_ports;
    struct block_placement_role role;
    uint64_t block_values;
};

static struct layout layout_of(const struct declaration *declaration, uint32_t shard,
                               uint32_t n_shards)
{
    struct layout layout = { .has_ports = declaration->placement.dense_ports > 0 };
    uint64_t dense = 0;

    if (!layout.has_ports)
        return layout;
    for (uint32_t p = 0; p < declaration->n_params; p++)
        if (!declaration->params[p].sparse)
            dense += (uint64_t)declaration->params[p].rows * declaration->params[p].columns;
    layout.role = block_placement_role(&declaration->placement, shard, n_shards);
    layout.block_values = block_placement_values(dense, layout.role.n_dense);
    return layout;
}

/* One range of rows. */
static void place_range(const struct param_spec *spec, const struct shard_shape *shape,
                        struct shard_param *part)
{
    uint32_t first, rows;

    shard_dense_range(spec->rows, shape->shard, shape->n_shards, &first, &rows);
    part->from = (size_t)first * spec->columns;
    part->values = part->piece = (size_t)rows * spec->columns;
}

/* Each n_dense-th block. The last one of the parameter may be shorter than the others. */
static void place_blocks(const struct param_spec *spec, const struct layout *layout,
                         struct shard_param *part)
{
    const uint64_t values = (uint64_t)spec->rows * spec->columns, block = layout->block_values;
    const uint64_t blocks = (values + block - 1) / block, services = layout->role.n_dense;
    uint64_t first, count;

    if (layout->role.dense == BLOCK_PLACEMENT_NONE)
        return;
    first = block_placement_first(spec->name, layout->role.dense, layout->role.n_dense);
    if (first >= blocks)
        return;
    count = (blocks - 1 - first) / services + 1;
    part->from = first * block;
    part->piece = block;
    part->stride = services * block;
    part->values = count * block;
    if (first + (count - 1) * services == blocks - 1)
        part->values -= blocks * block - values;
}

static void place_rows(const struct param_spec *spec, const struct layout *layout,
                       const struct shard_shape *shape, struct shard_param *part)
{
    part->first_row = shape->shard;
    part->row_step = shape->n_shards;
    if (layout->has_ports) {
        if (layout->role.sparse == BLOCK_PLACEMENT_NONE)
            return;
        part->row_step = layout->role.n_sparse;
        part->first_row = block_placement_first(spec->name, layout->role.sparse, part->row_step);
    }
    if (part->first_row < spec->rows)
        part->rows = (spec->rows - 1 - part->first_row) / part->row_step + 1;
    part->values = (size_t)part->rows * spec->columns;
}

/* Lays out the dense parameters (sparse = 0) or the sparse ones behind what is placed already. */
static void place(const struct declaration *declaration, const struct layout *layout,
                  uint32_t sparse, struct shard_shape *shape)
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
            place_rows(spec, layout, shape, part);
        else if (layout->has_ports)
            place_blocks(spec, layout, part);
        else
            place_range(spec, shape, part);
        shape->total_values += part->values;
    }
}

void shard_shape_init(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
                      struct shard_shape *ret)
{
    const struct layout layout = layout_of(declaration, shard, n_shards);

    *ret = (struct shard_shape){ .shard = shard,
                                 .n_shards = n_shards,
                                 .n_params = declaration->n_params };
    place(declaration, &layout, 0, ret);
    ret->dense_values = ret->total_values;
    place(declaration, &layout, 1, ret);
}

bool shard_piece(const struct shard_param *part, size_t n, struct shard_piece *ret)
{
    const size_t before = n * part->piece;

    if (before >= part->values)
        return false;
    ret->at = part->from + n * part->stride;
    ret->values = MIN_OF(part->piece, part->values - before);
    return true;
}

int64_t shard_local_row(const struct shard_shape *shape, uint32_t param, uint32_t row)
{
    const struct shard_param *part = &shape->params[param];
    uint32_t local;

    if (part->rows == 0 || row % part->row_step != part->first_row)
        return -1;
    local = row / part->row_step;
    return local < part->rows ? (int64_t)local : -1;
}

uint32_t shard_global_row(const struct shard_shape *shape, uint32_t param, uint32_t local)
{
    const struct shard_param *part = &shape->params[param];

    return part->first_row + local * part->row_step;
}
