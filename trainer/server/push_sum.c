/* SPDX-License-Identifier: Apache-2.0 */
/* push_sum.c - see push_sum.h */
#include "trainer/server/push_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

#define NOWHERE UINT32_MAX

/* Of one sparse parameter. */
struct row_sum {
    uint32_t *place; /* of each row of the shard, in ids; NOWHERE: it did not come; owned */
    uint32_t *ids;   /* owned */
    float *rows;     /* owned */
    uint32_t n, room;
};

struct push_sum {
    const struct shard_shape *shape;
    float *dense; /* owned; NULL until it is needed */
    struct row_sum params[DECLARATION_PARAMS_MAX];
};

struct push_sum *push_sum_new(const struct shard_shape *shape)
{
    struct push_sum *sum = xcalloc(1, sizeof *sum);

    sum->shape = shape;
    return sum;
}

struct push_sum *push_sum_free(struct push_sum *sum)
{
    if (sum == NULL)
        return NULL;
    for (size_t p = 0; p < ELEMENTS(sum->params); p++) {
        free(sum->params[p].place);
        free(sum->params[p].ids);
        free(sum->params[p].rows);
    }
    free(sum->dense);
    free(sum);
    return NULL;
}

static void add_values(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static int add_dense(struct push_sum *sum, const float *from, bool is_first,
                     struct edl_error *error)
{
    size_t n = sum->shape->dense_values;

    if (sum->dense == NULL)
        sum->dense = malloc(MAX_OF(n, (size_t)1) * sizeof *sum->dense);
    if (sum->dense == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for a sum of gradients");
    if (is_first)
        memcpy(sum->dense, from, n * sizeof *from);
    else
        add_values(sum->dense, from, n);
    return 0;
}

/* reserve - for so many more rows */
static int reserve(struct row_sum *rows, const struct shard_param *part, uint32_t more,
                   struct edl_error *error)
{
    uint64_t wanted = MIN_OF((uint64_t)rows->n + more, (uint64_t)part->rows);
    uint32_t *ids;
    float *values;

    if (rows->place == NULL) {
        rows->place = malloc(MAX_OF(part->rows, UINT32_C(1)) * sizeof *rows->place);
        if (rows->place == NULL)
            return edl_error_set(error, -ENOMEM, "no memory for a sum of rows");
        memset(rows->place, 0xff, part->rows * sizeof *rows->place);
    }
    if (wanted <= rows->room)
        return 0;
    ids = reallocarray(rows->ids, (size_t)wanted, sizeof *ids);
    rows->ids = ids != NULL ? ids : rows->ids;
    values = reallocarray(rows->rows, (size_t)wanted * part->columns, sizeof *values);
    rows->rows = values != NULL ? values : rows->rows;
    if (ids == NULL || values == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for a sum of rows");
    rows->room = (uint32_t)wanted;
    return 0;
}

static int add_section(struct push_sum *sum, const struct wire_section *section,
                       struct edl_error *error)
{
    const struct shard_param *part = &sum->shape->params[section->param];
    struct row_sum *rows = &sum->params[section->param];
    size_t columns = part->columns;
    int r = reserve(rows, part, section->n_push, error);

    for (uint32_t i = 0; r == 0 && i < section->n_push; i++) {
        const float *from = section->push_rows + i * columns;
        int64_t local = shard_local_row(sum->shape, section->param, section->push_ids[i]);
        uint32_t *place = &rows->place[local];

        if (*place != NOWHERE) {
            add_values(rows->rows + *place * columns, from, columns);
            continue;
        }
        *place = rows->n;
        rows->ids[rows->n] = section->push_ids[i];
        memcpy(rows->rows + rows->n++ * columns, from, columns * sizeof *from);
    }
    return r;
}

/* forget - the places of what came before */
static void forget(struct push_sum *sum)
{
    for (uint32_t p = 0; p < sum->shape->n_params; p++) {
        struct row_sum *rows = &sum->params[p];

        for (uint32_t i = 0; i < rows->n; i++)
            rows->place[shard_local_row(sum->shape, p, rows->ids[i])] = NOWHERE;
        rows->n = 0;
    }
}

static void view(const struct push_sum *sum, struct wire_push_pull *ret)
{
    for (uint32_t p = 0; p < sum->shape->n_params; p++)
        if (sum->params[p].n > 0)
            ret->sections[ret->n_sections++] =
                (struct wire_section){ .param = p,
                                       .n_push = sum->params[p].n,
                                       .push_ids = sum->params[p].ids,
                                       .push_rows = sum->params[p].rows };
}

int push_sum_make(struct push_sum *sum, const struct wire_push_pull *const *pushes, size_t n,
                  struct wire_push_pull *ret, struct edl_error *error)
{
    struct wire_push_pull all = { .flags = WIRE_PUSH };
    int r = 0;

    if (n == 1) {
        *ret = *pushes[0];
        return 0;
    }
    forget(sum);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct wire_push_pull *push = pushes[i];

        all.samples =
            push->samples <= UINT32_MAX - all.samples ? all.samples + push->samples : UINT32_MAX;
        all.pass = MAX_OF(all.pass, push->pass);
        if (push->dense != NULL) {
            r = add_dense(sum, push->dense, all.dense == NULL, error);
            all.dense = sum->dense;
            all.flags |= WIRE_PUSH_DENSE;
        }
        for (uint32_t s = 0; r == 0 && s < push->n_sections; s++)
            r = add_section(sum, &push->sections[s], error);
    }
    if (r < 0)
        return r;
    view(sum, &all);
    *ret = all;
    return 0;
}
