/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the places of sequences one after the other */
#include "trainer/layers/steps.h"

#include "trainer/layers/layer.h"

int steps_shape(struct network *network, struct network_layer *layer, uint32_t parts,
                uint32_t columns, uint32_t biases, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const uint32_t size = in->shape.size / parts;
    struct param_wish wish = { .suffix = "w0",
                               .rows = size,
                               .columns = (uint64_t)size * columns,
                               .options = &layer->options.weights[0] };
    int r = layer_want_values(network, layer, error);

    if (r >= 0)
        r = steps_check_units(network, layer, error);
    if (r < 0)
        return r;
    if (in->shape.sequence == 0)
        return network_error(network, layer, "input", error,
                             "%s has one row a sample, but this kind takes a sequence", in->name);
    if (size == 0 || in->shape.size % parts != 0)
        return network_error(network, layer, "input", error,
                             "%s has at each place values: %u, which must be a multiple of %u",
                             in->name, in->shape.size, parts);
    layer->shape = (struct layer_shape){ .size = size, .sequence = in->shape.sequence };
    wish.start_std = wish.bare_std = layer_smart_std(size);
    layer->n_weights = 1;
    r = network_add_param(network, layer, &wish, &layer->weights[0], error);
    return r < 0 ? r : network_add_bias(network, layer, size * biases, 1.0f, error);
}

static const struct {
    enum activation activation;
    enum unit unit;
} units[] = {
    { ACTIVATION_LINEAR, UNIT_LINEAR },
    { ACTIVATION_SIGMOID, UNIT_SIGMOID },
    { ACTIVATION_TANH, UNIT_TANH },
    { ACTIVATION_RELU, UNIT_RELU },
};

static bool is_unit(enum activation activation)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].activation == activation)
            return true;
    return false;
}

int steps_check_units(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error)
{
    const struct layer_options *o = &layer->options;

    if (is_unit(o->cell_activation) && is_unit(o->gate_activation) && is_unit(o->state_activation))
        return 0;
    return network_error(network, layer, "cell_activation", error,
                         "it, gate_activation and state_activation may be linear, sigmoid, tanh "
                         "or relu");
}

enum unit steps_unit(enum activation activation)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].activation == activation)
            return units[i].unit;
    return UNIT_LINEAR;
}

size_t steps_longest(const struct layer_run *run)
{
    const uint32_t *starts = run->in[0].starts;
    size_t longest = 0;

    for (size_t i = 0; i < run->samples; i++)
        if (starts[i + 1] - starts[i] > longest)
            longest = starts[i + 1] - starts[i];
    return longest;
}

void steps_rows(const struct layer_run *run, size_t t, struct step_rows *ret)
{
    const uint32_t *starts = run->in[0].starts;
    const bool reverse = run->layer->options.reverse;

    ret->n = 0;
    for (size_t i = 0; i < run->samples; i++) {
        const uint32_t row = (uint32_t)(reverse ? starts[i + 1] - 1 - t : starts[i] + t);

        if (t >= starts[i + 1] - starts[i])
            continue;
        ret->rows[ret->n] = row;
        ret->prev[ret->n++] = reverse ? row + 1 : row - 1;
    }
}

void *steps_at(const struct layer_run *run, const void *base, size_t i)
{
    return (char *)base + i * run->ops->element_bytes;
}

void steps_begin(const struct layer_run *run, size_t width, void *out)
{
    const uint32_t bias = run->layer->bias;

    run->ops->fill_rows(bias == PARAM_NONE ? NULL : run->params[bias], run->rows, width, out);
    run->ops->add(run->in[0].value, run->rows * width, out);
}

void steps_bias(const struct layer_run *run, const void *d, size_t width, void *scratch)
{
    const uint32_t bias = run->layer->bias;

    if (bias == PARAM_NONE)
        return;
    run->ops->column_sums(d, run->rows, width, scratch);
    run->ops->add(scratch, width, run->gradients[bias]);
}
