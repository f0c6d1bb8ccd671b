/* SPDX-License-Identifier: Apache-2.0 */
/* teach_inputs.c - tasks of students as a batch that a network takes */
#include "trainer/teach/teach_inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "trainer/data/sample.h"
#include "trainer/layers/layer.h"
#include "trainer/network/network.h"

/* One input of the network. */
struct input {
    const struct input_spec *spec;
    bool needed;
    uint32_t partner; /* not needed, a sequence: a needed input whose lengths are its own */
    int32_t *ids;     /* of the samples that were added; of one that is not needed, zeros */
    float *values;
    uint32_t *starts; /* of sequences: [n + 1] */
    size_t n_places, places_room;
    uint32_t *piece_starts; /* of a batch: they begin at 0 */
};

struct teach_inputs {
    struct input inputs[INPUTS_MAX];
    uint32_t n;
    struct teacher_feed feeds[INPUTS_MAX];
    uint32_t feed_input[INPUTS_MAX], n_feeds;
    uint64_t n_samples, samples_room;
};

#define NO_PARTNER UINT32_MAX

/* ---- which are needed ---- */

static void find_needed(struct teach_inputs *t, const struct network *network)
{
    bool *used = xcalloc(network->n_layers, sizeof *used);

    for (uint32_t i = 0; i < network->n_outputs; i++)
        used[network->outputs[i]] = true;
    for (uint32_t i = network->n_layers; i > 0; i--) {
        const struct network_layer *layer = &network->layers[i - 1];

        for (uint32_t k = 0; used[i - 1] && k < layer->n_inputs; k++)
            used[layer->inputs[k]] = true;
        if (used[i - 1] && layer->kind == &layer_input)
            t->inputs[layer->slot].needed = true;
    }
    free(used);
}

/* The lengths of a sequence that is not needed are those of any needed one that it goes beside,
 * also by way of others. */
static void find_partners(struct teach_inputs *t, const struct network *network)
{
    for (uint32_t i = 0; i < t->n; i++)
        t->inputs[i].partner = t->inputs[i].needed ? i : NO_PARTNER;
    for (uint32_t round = 0; round < t->n; round++)
        for (uint32_t i = 0; i < network->n_aligned; i++) {
            uint32_t *a = &t->inputs[network->aligned[i].first].partner;
            uint32_t *b = &t->inputs[network->aligned[i].second].partner;

            if (*a == NO_PARTNER)
                *a = *b;
            if (*b == NO_PARTNER)
                *b = *a;
        }
}

/* is_single - one value a sample: with a dimension of 1 or without, both are told so */
static bool is_single(const struct input_spec *spec)
{
    return spec->kind == INPUT_INTEGER || (spec->kind == INPUT_DENSE && spec->size == 1);
}

static struct teacher_feed feed_of(const struct input_spec *spec)
{
    struct teacher_feed feed = { .type = TEACHER_TYPES };

    (void)snprintf(feed.name, sizeof feed.name, "%s", spec->name);
    if (is_single(spec)) {
        feed.n_dimensions = TEACHER_DIMENSIONS_ANY;
        return feed;
    }
    if (input_is_sequence(spec->kind))
        feed.dimensions[feed.n_dimensions++] = TEACHER_EXTENT_ANY;
    if (input_is_dense(spec->kind))
        feed.dimensions[feed.n_dimensions++] = spec->size;
    return feed;
}

struct teach_inputs *teach_inputs_new(const struct network *network)
{
    struct teach_inputs *t = xcalloc(1, sizeof *t);

    t->n = network->n_inputs;
    for (uint32_t i = 0; i < t->n; i++)
        t->inputs[i].spec = &network->inputs[i];
    find_needed(t, network);
    find_partners(t, network);
    for (uint32_t i = 0; i < t->n; i++) {
        if (!t->inputs[i].needed)
            continue;
        t->feeds[t->n_feeds] = feed_of(t->inputs[i].spec);
        t->feed_input[t->n_feeds++] = i;
    }
    return t;
}

struct teach_inputs *teach_inputs_free(struct teach_inputs *t)
{
    for (uint32_t i = 0; t != NULL && i < t->n; i++) {
        free(t->inputs[i].ids);
        free(t->inputs[i].values);
        free(t->inputs[i].starts);
        free(t->inputs[i].piece_starts);
    }
    free(t);
    return NULL;
}

const struct teacher_feed *teach_inputs_feeds(const struct teach_inputs *t, uint32_t *ret_n)
{
    *ret_n = t->n_feeds;
    return t->feeds;
}

uint64_t teach_inputs_n(const struct teach_inputs *t)
{
    return t->n_samples;
}

/* ---- what fits ---- */

static const struct teacher_tensor *find(const struct teacher_tensors *tensors, const char *name)
{
    for (uint32_t i = 0; i < tensors->n; i++)
        if (streq(tensors->tensors[i].name, name))
            return &tensors->tensors[i];
    return NULL;
}

static int is_missing(const char *wanted, const struct teacher_tensors *tensors,
                      struct edl_error *error)
{
    char names[200] = "nothing", escaped[64];
    size_t used = 0;

    for (uint32_t i = 0; i < tensors->n && used < sizeof names - 80; i++) {
        (void)printable_escape(tensors->tensors[i].name, escaped, sizeof escaped);
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", escaped);
    }
    return edl_error_set(error, -EINVAL, "this teacher wants %s, and was sent %s", wanted, names);
}

static int type_fits(const struct input_spec *spec, const struct teacher_tensor *tensor,
                     struct edl_error *error)
{
    const bool dense = input_is_dense(spec->kind);

    if (dense ? tensor->type == TEACHER_FLOAT32 || tensor->type == TEACHER_FLOAT64
              : tensor->type == TEACHER_INT32 || tensor->type == TEACHER_INT64)
        return 0;
    return edl_error_set(error, -EINVAL, "%s has the type %s, and this teacher wants %s",
                         spec->name, teacher_type_to_string(tensor->type),
                         dense ? "float32 or float64" : "int32 or int64");
}

static int single_fits(const struct input_spec *spec, const struct teacher_tensor *tensor,
                       struct edl_error *error)
{
    char given[128];

    if (!is_single(spec) || tensor->n_values == tensor->dimensions[0])
        return 0;
    teacher_shape_write(tensor->dimensions + 1, tensor->n_dimensions - 1, given, sizeof given);
    return edl_error_set(error, -EINVAL,
                         "%s has the shape %s for each sample, and this teacher wants () or (1)",
                         spec->name, given);
}

int teach_inputs_fit(const struct teach_inputs *t, const struct teacher_tensors *tensors,
                     uint64_t *ret_samples, struct edl_error *error)
{
    uint64_t samples = 0;

    for (uint32_t i = 0; i < t->n_feeds; i++) {
        const struct teacher_tensor *tensor = find(tensors, t->feeds[i].name);
        int r;

        if (tensor == NULL)
            return is_missing(t->feeds[i].name, tensors, error);
        r = teacher_feed_fits(&t->feeds[i], tensor, error);
        if (r >= 0)
            r = single_fits(t->inputs[t->feed_input[i]].spec, tensor, error);
        if (r >= 0)
            r = type_fits(t->inputs[t->feed_input[i]].spec, tensor, error);
        if (r < 0)
            return r;
        if (tensor->n_values == 0)
            return edl_error_set(error, -EINVAL, "%s has no values", t->feeds[i].name);
        if (samples != 0 && samples != tensor->dimensions[0])
            return edl_error_set(error, -EINVAL, "%s has samples: %llu, and %s has: %llu",
                                 t->feeds[0].name, (unsigned long long)samples, t->feeds[i].name,
                                 (unsigned long long)tensor->dimensions[0]);
        samples = tensor->dimensions[0];
    }
    *ret_samples = samples;
    return 0;
}

/* ---- adding ---- */

/* place_width - values of one place, or of a sample without places */
static size_t place_width(const struct input *input)
{
    return input_is_dense(input->spec->kind) ? input->spec->size : 1;
}

static void make_places(struct input *input, size_t more)
{
    const size_t wanted = input->n_places + more;

    if (wanted <= input->places_room)
        return;
    input->places_room = wanted + wanted / 2;
    if (input_is_dense(input->spec->kind))
        input->values = xreallocarray(input->values, input->places_room * place_width(input),
                                      sizeof *input->values);
    else
        input->ids = xreallocarray(input->ids, input->places_room, sizeof *input->ids);
}

static void make_samples(struct teach_inputs *t, uint64_t more)
{
    if (t->n_samples + more <= t->samples_room && t->samples_room > 0)
        return;
    t->samples_room = t->n_samples + more + more / 2;
    for (uint32_t i = 0; i < t->n; i++) {
        struct input *input = &t->inputs[i];

        if (!input_is_sequence(input->spec->kind))
            continue;
        input->starts =
            xreallocarray(input->starts, (size_t)t->samples_room + 1, sizeof *input->starts);
        input->piece_starts =
            xreallocarray(input->piece_starts, (size_t)t->samples_room + 1, sizeof(uint32_t));
        if (t->n_samples == 0)
            input->starts[0] = 0;
    }
}

static int64_t id_at(const struct teacher_tensor *tensor, uint64_t i)
{
    return tensor->type == TEACHER_INT64 ? ((const int64_t *)tensor->values)[i]
                                         : ((const int32_t *)tensor->values)[i];
}

static int add_values(struct input *input, const struct teacher_tensor *tensor,
                      struct edl_error *error)
{
    float *out = input->values + input->n_places * place_width(input);

    if (tensor->type == TEACHER_FLOAT32)
        memcpy(out, tensor->values, tensor->n_values * sizeof *out);
    for (uint64_t i = 0; i < tensor->n_values; i++) {
        if (tensor->type == TEACHER_FLOAT64)
            out[i] = (float)((const double *)tensor->values)[i];
        if (!isfinite(out[i]))
            return edl_error_set(error, -EINVAL, "%s, sample %llu: a value is not finite",
                                 input->spec->name,
                                 (unsigned long long)(i /
                                                      (tensor->n_values / tensor->dimensions[0])));
    }
    return 0;
}

static int bad_id(const struct input *input, uint64_t sample, int64_t id, struct edl_error *error)
{
    return edl_error_set(error, -EINVAL, "%s, sample %llu: %lld is not in 0..%u", input->spec->name,
                         (unsigned long long)sample, (long long)id, input->spec->size - 1);
}

static int add_ids(struct input *input, const struct teacher_tensor *tensor,
                   struct edl_error *error)
{
    int32_t *out = input->ids + input->n_places;

    for (uint64_t i = 0; i < tensor->n_values; i++) {
        const int64_t id = id_at(tensor, i);

        if (id < 0 || id >= input->spec->size)
            return bad_id(input, i, id, error);
        out[i] = (int32_t)id;
    }
    return 0;
}

/* add_id_sequences - a negative id stands behind the end; returns the places, or -EINVAL */
static int64_t add_id_sequences(struct input *input, const struct teacher_tensor *tensor,
                                uint32_t *starts, struct edl_error *error)
{
    const uint64_t longest = tensor->dimensions[1];
    int32_t *out = input->ids + input->n_places;
    size_t n = 0;

    for (uint64_t s = 0; s < tensor->dimensions[0]; s++) {
        const size_t before = n;

        for (uint64_t i = 0; i < longest; i++) {
            const int64_t id = id_at(tensor, s * longest + i);

            if (id < 0)
                break;
            if (id >= input->spec->size)
                return bad_id(input, s, id, error);
            out[n++] = (int32_t)id;
        }
        if (n == before)
            return edl_error_set(error, -EINVAL, "%s, sample %llu: an empty sequence",
                                 input->spec->name, (unsigned long long)s);
        starts[s + 1] = (uint32_t)(input->n_places + n);
    }
    return (int64_t)n;
}

static int add_one(const struct teach_inputs *t, struct input *input,
                   const struct teacher_tensor *tensor, size_t *ret_places, struct edl_error *error)
{
    const size_t places = (size_t)(tensor->n_values / place_width(input));
    uint32_t *starts = input->starts + t->n_samples;
    int64_t n;

    if (input->n_places + places > INT32_MAX)
        return edl_error_set(error, -EINVAL, "%s: too many places in one batch", input->spec->name);
    make_places(input, places);
    *ret_places = places;
    switch (input->spec->kind) {
    case INPUT_INTEGER:
        return add_ids(input, tensor, error);
    case INPUT_SEQUENCE:
        n = add_id_sequences(input, tensor, starts, error);
        *ret_places = n < 0 ? 0 : (size_t)n;
        return n < 0 ? (int)n : 0;
    case INPUT_DENSE_SEQUENCE:
        for (uint64_t s = 0; s < tensor->dimensions[0]; s++)
            starts[s + 1] = (uint32_t)(input->n_places + (s + 1) * tensor->dimensions[1]);
        return add_values(input, tensor, error);
    case INPUT_DENSE:
        return add_values(input, tensor, error);
    }
    return 0;
}

void teach_inputs_clear(struct teach_inputs *t)
{
    t->n_samples = 0;
    for (uint32_t i = 0; i < t->n; i++)
        t->inputs[i].n_places = 0;
}

int teach_inputs_add(struct teach_inputs *t, const struct teacher_tensors *tensors,
                     struct edl_error *error)
{
    size_t places[INPUTS_MAX] = { 0 };
    uint64_t samples;
    int r = teach_inputs_fit(t, tensors, &samples, error);

    if (r < 0)
        return r;
    make_samples(t, samples);
    for (uint32_t i = 0; i < t->n_feeds; i++) {
        struct input *input = &t->inputs[t->feed_input[i]];

        r = add_one(t, input, find(tensors, t->feeds[i].name), &places[t->feed_input[i]], error);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < t->n; i++)
        t->inputs[i].n_places += places[i];
    t->n_samples += samples;
    return 0;
}

/* ---- batches ---- */

/* zeros_of - of an input that is not needed: as many places as its partner has, or one a sample */
static void zeros_of(struct teach_inputs *t, struct input *input, uint64_t first, uint32_t n,
                     struct batch_slot *ret)
{
    const uint32_t *like = input->partner != NO_PARTNER ? t->inputs[input->partner].starts : NULL;
    size_t places = n;

    if (input_is_sequence(input->spec->kind)) {
        for (uint32_t i = 0; i <= n; i++)
            input->piece_starts[i] = like != NULL ? like[first + i] - like[first] : i;
        places = input->piece_starts[n];
        ret->starts = input->piece_starts;
    }
    input->n_places = 0;
    make_places(input, places);
    if (input_is_dense(input->spec->kind)) {
        memset(input->values, 0, places * place_width(input) * sizeof *input->values);
        ret->values = input->values;
    } else {
        memset(input->ids, 0, places * sizeof *input->ids);
        ret->ids = input->ids;
    }
}

static void slot_of(struct input *input, uint64_t first, uint32_t n, struct batch_slot *ret)
{
    size_t at = (size_t)first;

    if (input_is_sequence(input->spec->kind)) {
        at = input->starts[first];
        for (uint32_t i = 0; i <= n; i++)
            input->piece_starts[i] = input->starts[first + i] - input->starts[first];
        ret->starts = input->piece_starts;
    }
    if (input_is_dense(input->spec->kind))
        ret->values = input->values + at * place_width(input);
    else
        ret->ids = input->ids + at;
}

void teach_inputs_batch(struct teach_inputs *t, uint64_t first, uint32_t n, struct batch *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->n = n;
    ret->n_slots = t->n;
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->inputs[i].needed)
            slot_of(&t->inputs[i], first, n, &ret->slots[i]);
        else
            zeros_of(t, &t->inputs[i], first, n, &ret->slots[i]);
    }
}
