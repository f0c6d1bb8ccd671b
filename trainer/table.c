/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - one shard of the parameters with its AdaGrad state */
#include "trainer/table.h"

#include <errno.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct table {
    struct declaration declaration;
    struct shard_shape shape;
    const struct edl_backend *backend;
    uint64_t updates;
    float *values;
    float *accumulators;
};

static void initialise(struct table *table)
{
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct shard_param *part = &table->shape.params[p];
        float *out = table->values + part->offset;

        for (uint32_t i = 0; i < part->rows; i++) {
            uint32_t row = shard_global_row(&table->shape, p, i);

            for (uint32_t c = 0; c < part->columns; c++)
                *out++ = param_init_value(&table->declaration.params[p], table->declaration.seed,
                                          row, c);
        }
    }
}

int table_new(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
              const struct edl_backend *backend, struct table **ret, struct edl_error *error)
{
    struct table *table = xcalloc(1, sizeof *table);

    table->declaration = *declaration;
    table->backend = backend;
    shard_shape_init(declaration, shard, n_shards, &table->shape);
    table->values = calloc(table->shape.total_values + 1, sizeof *table->values);
    table->accumulators = calloc(table->shape.total_values + 1, sizeof *table->accumulators);
    if (table->values == NULL || table->accumulators == NULL) {
        size_t total = table->shape.total_values;

        (void)table_free(table);
        return edl_error_set(error, -ENOMEM, "no memory for %zu parameters", total);
    }
    initialise(table);
    *ret = table;
    return 0;
}

struct table *table_free(struct table *table)
{
    if (table == NULL)
        return NULL;
    free(table->values);
    free(table->accumulators);
    free(table);
    return NULL;
}

const struct shard_shape *table_shape(const struct table *table)
{
    return &table->shape;
}

const struct declaration *table_declaration(const struct table *table)
{
    return &table->declaration;
}

uint64_t table_updates(const struct table *table)
{
    return table->updates;
}

void table_set_updates(struct table *table, uint64_t updates)
{
    table->updates = updates;
}

float *table_values(struct table *table)
{
    return table->values;
}

float *table_accumulators(struct table *table)
{
    return table->accumulators;
}

/* On the bits, because a reduction over floats does not vectorise: exponent all ones = infinity or
 * NaN. */
static int all_finite(const float *values, size_t n)
{
    uint32_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        bad |= (bits & UINT32_C(0x7f800000)) + UINT32_C(0x00800000); /* carries into the sign bit */
    }
    return (bad & UINT32_C(0x80000000)) == 0;
}

static int check_ids(const struct table *table, uint32_t param, const uint32_t *ids, uint32_t n,
                     struct edl_error *error)
{
    for (uint32_t i = 0; i < n; i++)
        if (shard_local_row(&table->shape, param, ids[i]) < 0)
            return edl_error_set(error, -EINVAL, "row %u of %s is not on server %u of %u", ids[i],
                                 table->declaration.params[param].name, table->shape.shard,
                                 table->shape.n_shards);
    return 0;
}

int table_check(const struct table *table, const struct wire_push_pull *request,
                struct edl_error *error)
{
    if (request->dense != NULL && !all_finite(request->dense, table->shape.dense_values))
        return edl_error_set(error, -EINVAL, "a dense gradient is infinite or not a number");
    for (uint32_t s = 0; s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];
        size_t columns = table->shape.params[section->param].columns;
        int r = check_ids(table, section->param, section->push_ids, section->n_push, error);

        if (r >= 0)
            r = check_ids(table, section->param, section->pull_ids, section->n_pull, error);
        if (r < 0)
            return r;
        if (!all_finite(section->push_rows, section->n_push * columns))
            return edl_error_set(error, -EINVAL, "a gradient of %s is infinite or not a number",
                                 table->declaration.params[section->param].name);
    }
    return 0;
}

static void apply(struct table *table, uint32_t param, size_t offset, const float *gradient,
                  size_t n)
{
    const struct param_spec *spec = &table->declaration.params[param];

    table->backend->adagrad(table->values + offset, table->accumulators + offset, gradient, n,
                            table->declaration.learning_rate * spec->learning_rate, spec->l2_rate,
                            table->declaration.epsilon);
}

static size_t row_offset(const struct table *table, uint32_t param, uint32_t row)
{
    const struct shard_param *part = &table->shape.params[param];

    return part->offset + (size_t)shard_local_row(&table->shape, param, row) * part->columns;
}

void table_push(struct table *table, const struct wire_push_pull *request)
{
    if (request->dense != NULL)
        for (uint32_t p = 0; p < table->shape.n_params; p++) {
            const struct shard_param *part = &table->shape.params[p];

            if (!part->sparse && part->rows > 0)
                apply(table, p, part->offset, request->dense + part->offset,
                      (size_t)part->rows * part->columns);
        }
    for (uint32_t s = 0; s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];
        size_t columns = table->shape.params[section->param].columns;

        for (uint32_t i = 0; i < section->n_push; i++)
            apply(table, section->param, row_offset(table, section->param, section->push_ids[i]),
                  section->push_rows + i * columns, columns);
    }
    if (request->flags & WIRE_PUSH)
        table->updates++;
}

void table_pull_rows(const struct table *table, const struct wire_push_pull *request, float *out)
{
    for (uint32_t s = 0; s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];
        size_t columns = table->shape.params[section->param].columns;

        for (uint32_t i = 0; i < section->n_pull; i++) {
            memcpy(out, table->values + row_offset(table, section->param, section->pull_ids[i]),
                   columns * sizeof *out);
            out += columns;
        }
    }
}

/* The same path as over the network, with the shard being everything. Dense parameters are applied
 * from where they lie; rows are gathered through table_pull_rows section by section. */
int table_exchange(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct table *table = userdata;

    for (uint32_t s = 0; s < exchange->n_rows; s++) {
        const struct exchange_rows *rows = &exchange->rows[s];
        struct wire_push_pull request = { .n_sections = 1 };
        int r;

        request.sections[0] = (struct wire_section){ .param = rows->param,
                                                     .n_push = rows->n_push,
                                                     .n_pull = rows->n_pull,
                                                     .push_ids = rows->push_ids,
                                                     .push_rows = rows->push_rows,
                                                     .pull_ids = rows->pull_ids };
        r = table_check(table, &request, error);
        if (r < 0)
            return r;
        table_push(table, &request);
        table_pull_rows(table, &request, rows->ret_rows);
    }
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct shard_param *part = &table->shape.params[p];
        size_t n = (size_t)part->rows * part->columns;

        if (part->sparse)
            continue;
        if (exchange->dense_gradients != NULL)
            apply(table, p, part->offset, exchange->dense_gradients[p], n);
        if (exchange->ret_dense != NULL)
            memcpy(exchange->ret_dense[p], table->values + part->offset, n * sizeof(float));
    }
    if (exchange->push)
        table->updates++;
    return 0;
}
