/* SPDX-License-Identifier: Apache-2.0 */
/* pair_costs.c - costs of each value beside that of a label: of two classes each, of an order, and
 * one that is not squared far out; and the sum of an input itself */
#include "trainer/layers/cost_weight.h"
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    return cost_shape(network, layer, error);
}

static double cost_of(enum pair_cost pair, const struct layer_run *run, size_t row, size_t rows)
{
    return run->ops->pair_forward(pair, cost_row(run, 0, row), cost_row(run, 1, row),
                                  rows * run->in[0].size);
}

static void forward(enum pair_cost pair, const struct layer_run *run)
{
    if (!cost_is_weighted(run)) {
        cost_add(run, cost_of(pair, run, 0, run->rows), 1.0);
        return;
    }
    for (size_t row = 0; row < run->rows; row++)
        cost_add(run, cost_of(pair, run, row, 1), cost_weight(run, row));
}

static void backward(enum pair_cost pair, const struct layer_run *run)
{
    if (run->in[0].gradient == NULL)
        return;
    run->ops->pair_backward(pair, run->in[0].value, run->in[1].value, run->rows * run->in[0].size,
                            run->in[0].gradient);
    cost_scale(run, run->in[0].gradient);
}

#define PAIR_COST(id, pair, word, default_name)                                                    \
    static void id##_forward(const struct layer_run *run)                                          \
    {                                                                                              \
        forward(pair, run);                                                                        \
    }                                                                                              \
    static void id##_backward(const struct layer_run *run)                                         \
    {                                                                                              \
        backward(pair, run);                                                                       \
    }                                                                                              \
    const struct layer_kind layer_##id = { .name = (word),                                         \
                                           .unnamed = (default_name),                              \
                                           .inputs_min = 2,                                        \
                                           .inputs_max = 3,                                        \
                                           .is_cost = true,                                        \
                                           .reads_inputs = true,                                   \
                                           .shape = shape,                                         \
                                           .forward = id##_forward,                                \
                                           .backward = id##_backward }

PAIR_COST(binary_cross_entropy, PAIR_BINARY, "binary_cross_entropy",
          "__multi_binary_label_cross_entropy_%u__");
PAIR_COST(rank, PAIR_RANK, "rank", "__rank_cost_%u__");
PAIR_COST(smooth_l1, PAIR_SMOOTH_L1, "smooth_l1", "__smooth_l1_cost_%u__");

/* ---- sum ---- */

static int sum_shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_values(network, layer, error);

    layer->shape =
        (struct layer_shape){ .size = 1, .sequence = layer_in(network, layer, 0)->shape.sequence };
    return r;
}

/* The sum of all is the dot product with ones. */
static void sum_forward(const struct layer_run *run)
{
    const size_t n = run->rows * run->in[0].size;

    run->ops->affine(run->in[0].value, n, 0, 1, run->scratch);
    cost_add(run, run->ops->dot(run->in[0].value, run->scratch, n), 1.0);
}

static void sum_backward(const struct layer_run *run)
{
    const size_t n = run->rows * run->in[0].size;

    if (run->in[0].gradient != NULL)
        run->ops->affine(run->in[0].value, n, 0, (double)run->layer->options.coeff,
                         run->in[0].gradient);
}

static size_t one_of_a_value(const struct network *network, const struct network_layer *layer,
                             size_t rows)
{
    return rows * layer_in(network, layer, 0)->shape.size;
}

const struct layer_kind layer_sum = { .name = "sum",
                                      .unnamed = "__sum_cost_%u__",
                                      .inputs_min = 1,
                                      .inputs_max = 1,
                                      .is_cost = true,
                                      .reads_inputs = true,
                                      .shape = sum_shape,
                                      .scratch = one_of_a_value,
                                      .forward = sum_forward,
                                      .backward = sum_backward };
