/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - one sample as a record of a RecordIO file, by the inputs of its data set */
#include "trainer/data/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"

#define WORD_BYTES 4 /* every part of a record: an id, a count, a float */

/* A record that is being read. */
struct cursor {
    const uint8_t *record;
    size_t size, at;
    struct edl_error *error;
};

static const char *const kind_names[] = {
    [INPUT_INTEGER] = "integer",
    [INPUT_DENSE] = "dense",
    [INPUT_SEQUENCE] = "integer_sequence",
    [INPUT_DENSE_SEQUENCE] = "dense_sequence",
};

const char *input_kind_to_string(enum input_kind kind)
{
    return (size_t)kind < ELEMENTS(kind_names) ? kind_names[kind] : "?";
}

int input_kind_from_string(const char *text, enum input_kind *ret)
{
    for (size_t i = 0; i < ELEMENTS(kind_names); i++)
        if (streq(text, kind_names[i])) {
            *ret = (enum input_kind)i;
            return 0;
        }
    return -EINVAL;
}

static uint32_t load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store_le32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < WORD_BYTES; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static int check_input(const struct input_spec *input, struct edl_error *error)
{
    const uint32_t max =
        input_is_dense(input->kind) ? SAMPLE_INPUT_DENSE_MAX : SAMPLE_INPUT_SIZE_MAX;

    if ((size_t)input->kind >= ELEMENTS(kind_names))
        return edl_error_set(error, -EINVAL, "input \"%.63s\": kind %u is unknown", input->name,
                             (unsigned)input->kind);
    if (input->size < 1 || input->size > max)
        return edl_error_set(error, -EINVAL,
                             "input \"%.63s\": size %" PRIu32 " is outside 1 to %" PRIu32,
                             input->name, input->size, max);
    return 0;
}

int sample_inputs_check(const struct input_spec *inputs, uint32_t n_inputs, struct edl_error *error)
{
    if (n_inputs < 1 || n_inputs > INPUTS_MAX)
        return edl_error_set(error, -EINVAL, "%" PRIu32 " input%s; there may be 1 to %d", n_inputs,
                             PLURAL(n_inputs), INPUTS_MAX);
    for (uint32_t i = 0; i < n_inputs; i++) {
        int r;

        if (inputs[i].name[0] == '\0' ||
            memchr(inputs[i].name, '\0', sizeof inputs[i].name) == NULL)
            return edl_error_set(error, -EINVAL,
                                 "input %" PRIu32 ": a name has 1 to %zu characters", i,
                                 sizeof inputs[i].name - 1);
        for (uint32_t j = 0; j < i; j++)
            if (streq(inputs[i].name, inputs[j].name))
                return edl_error_set(error, -EINVAL, "two inputs have the name \"%s\"",
                                     inputs[i].name);
        r = check_input(&inputs[i], error);
        if (r < 0)
            return r;
    }
    return 0;
}

static uint8_t *append(struct sample_record *record, size_t words)
{
    size_t end = record->size + words * WORD_BYTES;
    uint8_t *place;

    if (end > record->room) {
        record->room = MAX_OF(end, record->room * 2);
        record->bytes = xreallocarray(record->bytes, record->room, 1);
    }
    place = record->bytes + record->size;
    record->size = end;
    return place;
}

static int encode_ids(const struct input_spec *input, const int32_t *ids, uint32_t n,
                      struct sample_record *record, struct edl_error *error)
{
    uint8_t *place = append(record, n);

    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= input->size)
            return edl_error_set(error, -EINVAL,
                                 "input \"%s\": id %" PRId32 " is outside 0 to %" PRIu32,
                                 input->name, ids[i], input->size - 1);
        store_le32(place + (size_t)i * WORD_BYTES, (uint32_t)ids[i]);
    }
    return 0;
}

static int encode_dense(const struct input_spec *input, const float *values,
                        struct sample_record *record, struct edl_error *error)
{
    uint8_t *place = append(record, input->size);

    for (uint32_t i = 0; i < input->size; i++) {
        uint32_t bits;

        if (!isfinite(values[i]))
            return edl_error_set(error, -EINVAL, "input \"%s\": value %" PRIu32 " is not finite",
                                 input->name, i);
        memcpy(&bits, &values[i], sizeof bits);
        store_le32(place + (size_t)i * WORD_BYTES, bits);
    }
    return 0;
}

static int encode_sequence(const struct input_spec *input, const struct sample_value *value,
                           struct sample_record *record, struct edl_error *error)
{
    int r = 0;

    if (value->n_ids < 1 || value->n_ids > SAMPLE_SEQUENCE_MAX)
        return edl_error_set(error, -EINVAL,
                             "input \"%s\": a sequence of %" PRIu32 "; it may have 1 to %d",
                             input->name, value->n_ids, SAMPLE_SEQUENCE_MAX);
    store_le32(append(record, 1), value->n_ids);
    if (input->kind == INPUT_SEQUENCE)
        return encode_ids(input, value->ids, value->n_ids, record, error);
    for (uint32_t i = 0; r == 0 && i < value->n_ids; i++)
        r = encode_dense(input, value->values + (size_t)i * input->size, record, error);
    return r;
}

int sample_encode(const struct input_spec *inputs, uint32_t n_inputs,
                  const struct sample_value *values, struct sample_record *io_record,
                  struct edl_error *error)
{
    int r = 0;

    io_record->size = 0;
    for (uint32_t i = 0; r == 0 && i < n_inputs; i++)
        if (inputs[i].kind == INPUT_INTEGER)
            r = encode_ids(&inputs[i], values[i].ids, 1, io_record, error);
        else if (inputs[i].kind == INPUT_DENSE)
            r = encode_dense(&inputs[i], values[i].values, io_record, error);
        else
            r = encode_sequence(&inputs[i], &values[i], io_record, error);
    if (r == 0 && io_record->size > SAMPLE_SIZE_MAX)
        r = edl_error_set(error, -EINVAL, "a sample of %zu bytes; it may have %u", io_record->size,
                          SAMPLE_SIZE_MAX);
    return r;
}

/* Whether so many words are left; the multiplication cannot overflow, as words is 32 bits wide. */
static int need(const struct cursor *c, const struct input_spec *input, uint32_t words)
{
    if ((uint64_t)words * WORD_BYTES <= c->size - c->at)
        return 0;
    return edl_error_set(c->error, EDL_ECORRUPT,
                         "input \"%s\" at byte %zu needs %" PRIu64 " bytes, but %zu are left",
                         input->name, c->at, (uint64_t)words * WORD_BYTES, c->size - c->at);
}

static int check_ids(struct cursor *c, const struct input_spec *input, uint32_t n)
{
    int r = need(c, input, n);

    for (uint32_t i = 0; r == 0 && i < n; i++, c->at += WORD_BYTES) {
        uint32_t id = load_le32(c->record + c->at);

        if (id >= input->size)
            return edl_error_set(c->error, EDL_ECORRUPT,
                                 "input \"%s\" at byte %zu: id %" PRId32
                                 " is outside 0 to %" PRIu32,
                                 input->name, c->at, (int32_t)id, input->size - 1);
    }
    return r;
}

static int check_dense(struct cursor *c, const struct input_spec *input)
{
    int r = need(c, input, input->size);

    for (uint32_t i = 0; r == 0 && i < input->size; i++, c->at += WORD_BYTES) {
        uint32_t bits = load_le32(c->record + c->at);
        float value;

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            return edl_error_set(c->error, EDL_ECORRUPT,
                                 "input \"%s\" at byte %zu: value %" PRIu32 " is not finite",
                                 input->name, c->at, i);
    }
    return r;
}

static int check_places(struct cursor *c, const struct input_spec *input, uint32_t n)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = check_dense(c, input);
    return r;
}

static int check_sequence(struct cursor *c, const struct input_spec *input, uint32_t *ret_n)
{
    int r = need(c, input, 1);
    uint32_t n;

    if (r < 0)
        return r;
    n = load_le32(c->record + c->at);
    if (n < 1 || n > SAMPLE_SEQUENCE_MAX)
        return edl_error_set(c->error, EDL_ECORRUPT,
                             "input \"%s\" at byte %zu: a sequence of %" PRIu32
                             "; it may have 1 to %d",
                             input->name, c->at, n, SAMPLE_SEQUENCE_MAX);
    c->at += WORD_BYTES;
    *ret_n = n;
    return input->kind == INPUT_SEQUENCE ? check_ids(c, input, n) : check_places(c, input, n);
}

int sample_check(const struct input_spec *inputs, uint32_t n_inputs, const uint8_t *record,
                 size_t size, uint32_t *ret_counts, struct edl_error *error)
{
    struct cursor c = { record, size, 0, error };
    uint32_t counts[INPUTS_MAX] = { 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n_inputs; i++)
        if (inputs[i].kind == INPUT_INTEGER)
            r = check_ids(&c, &inputs[i], 1);
        else if (inputs[i].kind == INPUT_DENSE)
            r = check_dense(&c, &inputs[i]);
        else
            r = check_sequence(&c, &inputs[i], &counts[i]);
    if (r < 0)
        return r;
    if (c.at != size)
        return edl_error_set(error, EDL_ECORRUPT,
                             "a record of %zu bytes, but its sample ends at %zu", size, c.at);
    if (ret_counts != NULL)
        memcpy(ret_counts, counts, n_inputs * sizeof counts[0]);
    return 0;
}

void sample_integers(const uint8_t *record, uint32_t n_inputs, int32_t *ret_ids)
{
    for (uint32_t i = 0; i < n_inputs; i++)
        ret_ids[i] = (int32_t)load_le32(record + (size_t)i * WORD_BYTES);
}
