/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sample.c - any bytes as a sample, as a description of a data set, as files of MovieLens
 *
 * First byte: which of them. A sample that is accepted goes into a batch, and is written again from
 * there with the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "trainer/data/description.h"
#include "trainer/data/movielens.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct input_spec inputs[] = {
    { "id", INPUT_INTEGER, 1000 }, { "title", INPUT_SEQUENCE, 98 },
    { "genres", INPUT_DENSE, 3 },  { "words", INPUT_SEQUENCE, 1 << 24 },
    { "rating", INPUT_DENSE, 1 },  { "frames", INPUT_DENSE_SEQUENCE, 2 },
};

enum { N_INPUTS = sizeof inputs / sizeof inputs[0] };

static void write_again(const struct batch *batch, const uint8_t *data, size_t size)
{
    struct sample_value values[N_INPUTS];
    struct sample_record record = { 0 };

    for (int i = 0; i < N_INPUTS; i++)
        values[i] = (struct sample_value){ .ids = batch->slots[i].ids,
                                           .n_ids = batch->slots[i].starts != NULL
                                                        ? batch->slots[i].starts[1]
                                                        : 0,
                                           .values = batch->slots[i].values };
    if (sample_encode(inputs, N_INPUTS, values, &record, NULL) < 0 || record.size != size ||
        memcmp(record.bytes, data, size) != 0)
        abort();
    free(record.bytes);
}

static void sample(const uint8_t *data, size_t size)
{
    struct sample_set *set = sample_set_new(inputs, N_INPUTS);
    struct batch_room *room = batch_room_new(inputs, N_INPUTS);
    struct batch batch;

    if (sample_set_add(set, data, size, NULL) == 0) {
        sample_set_batch(set, 0, 1, room, &batch);
        write_again(&batch, data, size);
    }
    (void)batch_room_free(room);
    (void)sample_set_free(set);
}

static void describe(const uint8_t *data, size_t size)
{
    struct description description;

    if (description_parse((const char *)data, size, "fuzz", &description, NULL) == 0 &&
        sample_inputs_check(description.inputs, description.n_inputs, NULL) < 0)
        abort();
    (void)description_parse_corpus((const char *)data, size, "fuzz", &description, NULL);
}

/* What lies before the n-th "\n\n", and what lies behind it. */
static struct movielens_text cut(const char **io_at, const char *end)
{
    const char *found = *io_at < end ? memmem(*io_at, (size_t)(end - *io_at), "\n\n", 2) : NULL;
    struct movielens_text text = { "fuzz", *io_at,
                                   (size_t)((found != NULL ? found + 1 : end) - *io_at) };

    *io_at = found != NULL ? found + 2 : end;
    return text;
}

static void movielens(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    struct movielens_text users = cut(&at, end), movies = cut(&at, end), ratings = cut(&at, end);
    struct input_spec specs[MOVIELENS_INPUTS];
    struct sample_value values[MOVIELENS_INPUTS];
    struct sample_record record = { 0 };
    struct movielens_split split = { 0 };
    struct movielens_sample room;
    struct movielens m = { 0 };

    if (movielens_parse(&users, &movies, &ratings, &m, NULL) < 0)
        return;
    movielens_inputs(&m, specs);
    movielens_split(&m, 1, &split);
    for (size_t i = 0; i < split.n_train; i++) { /* each of them can be written */
        movielens_values(&m, &m.ratings[split.train[i]], &room, values);
        if (sample_encode(specs, MOVIELENS_INPUTS, values, &record, NULL) < 0)
            abort();
    }
    free(record.bytes);
    movielens_split_clear(&split);
    movielens_clear(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const uint8_t *data, size_t size) = { sample, describe,
                                                                         movielens };
    uint8_t *body;

    if (size < 1)
        return 0;
    body = malloc(size > 1 ? size - 1 : 1); /* of its exact size: reading on is noticed */
    if (body == NULL)
        abort();
    memcpy(body, data + 1, size - 1);
    targets[data[0] % 3](body, size - 1);
    free(body);
    return 0;
}
