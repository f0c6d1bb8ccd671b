/* SPDX-License-Identifier: Apache-2.0 */
/* test_teach.c - the parts of a teacher: credit, inputs, a saved model that answers */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/teach_fixture.h"
#include "tests/unit/test.h"
#include "trainer/network/network.h"
#include "trainer/teach/teach_grants.h"
#include "trainer/teach/teach_inputs.h"
#include "trainer/teach/teach_model.h"

/* ---- credit ---- */

TEST(test_places_go_to_who_has_fewest)
{
    static struct teach_grants grants;
    struct teach_grant a, b;
    struct edl_error error;

    teach_grants_init(&grants);
    assert_true(teach_grants_came(&grants, &a) && teach_grants_came(&grants, &b));
    assert_false(teach_grants_give(&grants));
    a.offered = 100;
    assert_true(teach_grants_give(&grants));
    assert_int_equal(a.credit, grants.places);
    assert_int_equal(teach_grants_free(&grants), 0);
    b.offered = 100;
    a.given = 0;
    assert_int_equal(teach_grants_may_take(&a, &error), 0);
    teach_grants_took(&grants, &a);
    teach_grants_answered(&grants, &a);
    assert_int_equal(teach_grants_returned(&grants, &a, 2, &error), 0);
    assert_true(teach_grants_give(&grants));
    assert_int_equal(b.credit, 3);
    b.given = 0;
    assert_int_equal(teach_grants_returned(&grants, &b, 4, &error), -EPROTO);
    teach_grants_went(&grants, &a);
    assert_true(teach_grants_give(&grants));
    assert_int_equal(b.credit, grants.places);
    grants.leaving = true;
    teach_grants_went(&grants, &b);
    assert_int_equal(grants.taken, 0);
}

TEST(test_no_student_is_left_out_of_few_places)
{
    static struct teach_grants grants;
    struct teach_grant students[3 * TEACH_PLACES_LEAST];
    unsigned answered[ELEMENTS(students)] = { 0 };

    teach_grants_init(&grants);
    grants.places = TEACH_PLACES_LEAST;
    for (size_t i = 0; i < ELEMENTS(students); i++) {
        assert_true(teach_grants_came(&grants, &students[i]));
        students[i].offered = 100;
    }
    for (int round = 0; round < 30; round++) {
        (void)teach_grants_give(&grants);
        for (size_t i = 0; i < ELEMENTS(students); i++) {
            while (students[i].credit > 0) {
                students[i].given = 0;
                teach_grants_took(&grants, &students[i]);
                teach_grants_answered(&grants, &students[i]);
                answered[i]++;
            }
        }
    }
    for (size_t i = 0; i < ELEMENTS(students); i++)
        assert_int_equal(answered[i], 10);
}

TEST(test_a_task_needs_credit_that_was_told)
{
    static struct teach_grants grants;
    struct teach_grant a;
    struct edl_error error;

    teach_grants_init(&grants);
    assert_true(teach_grants_came(&grants, &a));
    assert_int_equal(teach_grants_may_take(&a, &error), -EPROTO);
    a.offered = 1;
    assert_true(teach_grants_give(&grants));
    assert_int_equal(teach_grants_may_take(&a, &error), -EPROTO); /* it has not heard of it */
    a.given = 0;
    assert_int_equal(teach_grants_may_take(&a, &error), 0);
    a.blocked = true;
    a.offered = 1;
    assert_false(teach_grants_give(&grants));
}

TEST(test_places_are_two_batches)
{
    static struct teach_grants grants;

    teach_grants_init(&grants);
    for (int i = 0; i < 200; i++)
        teach_grants_size(&grants, 4, 64);
    assert_in_range(grants.places, 32, 33);
    for (int i = 0; i < 200; i++)
        teach_grants_size(&grants, 1000, 64);
    assert_int_equal(grants.places, TEACH_PLACES_LEAST);
    for (int i = 0; i < 200; i++)
        teach_grants_size(&grants, 1, 65536);
    assert_int_equal(grants.places, TEACH_PLACES_MOST);
}

/* ---- inputs ---- */

static const char sequences[] =
    "{\"name\": \"sequences\", \"inputs\": ["
    "{\"name\": \"words\", \"type\": \"integer_sequence\", \"size\": 10},"
    "{\"name\": \"age\", \"type\": \"dense\", \"size\": 2},"
    "{\"name\": \"kind\", \"type\": \"integer\", \"size\": 3},"
    "{\"name\": \"label\", \"type\": \"dense\", \"size\": 4}],"
    "\"layers\": [{\"kind\": \"table\", \"name\": \"t\", \"input\": \"words\", \"size\": 3},"
    "{\"kind\": \"seqpool\", \"name\": \"p\", \"input\": \"t\"},"
    "{\"kind\": \"table\", \"name\": \"k\", \"input\": \"kind\", \"size\": 2},"
    "{\"kind\": \"concat\", \"name\": \"c\", \"inputs\": [\"p\", \"k\", \"age\"]},"
    "{\"kind\": \"fc\", \"name\": \"o\", \"input\": \"c\", \"size\": 4, \"activation\": "
    "\"linear\"}],"
    "\"cost\": {\"kind\": \"square_error\", \"label\": \"label\"}}";

static struct network *parse(const char *text)
{
    struct edl_error error = { 0 };
    struct network *network = NULL;

    if (network_parse(text, strlen(text), "test", NULL, &network, &error) < 0)
        fail_msg("%s", error.text);
    return network;
}

static struct teacher_tensor tensor(const char *name, enum teacher_type type, const void *values,
                                    uint32_t n_dimensions, uint64_t a, uint64_t b)
{
    struct teacher_tensor t = { .type = type,
                                .n_dimensions = n_dimensions,
                                .dimensions = { a, b },
                                .values = values,
                                .n_values = n_dimensions > 1 ? a * b : a };

    (void)snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static const int64_t words[] = { 1, 2, 3, 9, -1, 7 };
static const double ages[] = { 0.5, 1, 1.5, 2 };
static const int32_t kinds[] = { 2, 0 };

static void good_task(struct teacher_tensors *ret)
{
    ret->n = 3;
    ret->tensors[0] = tensor("kind", TEACHER_INT32, kinds, 1, 2, 0);
    ret->tensors[1] = tensor("words", TEACHER_INT64, words, 2, 2, 3);
    ret->tensors[2] = tensor("age", TEACHER_FLOAT64, ages, 2, 2, 2);
}

TEST(test_tasks_become_a_batch)
{
    static struct teacher_tensors task;
    struct network *network = parse(sequences);
    struct teach_inputs *inputs = teach_inputs_new(network);
    struct edl_error error;
    const struct teacher_feed *feeds;
    struct batch batch;
    uint64_t samples;
    uint32_t n;

    feeds = teach_inputs_feeds(inputs, &n);
    assert_int_equal(n, 3); /* no label */
    assert_string_equal(feeds[0].name, "words");
    assert_true(feeds[0].n_dimensions == 1 && feeds[0].dimensions[0] == TEACHER_EXTENT_ANY);
    assert_true(feeds[1].n_dimensions == 1 && feeds[1].dimensions[0] == 2);
    assert_int_equal(feeds[2].n_dimensions, TEACHER_DIMENSIONS_ANY);
    good_task(&task);
    assert_int_equal(teach_inputs_fit(inputs, &task, &samples, &error), 0);
    assert_int_equal(samples, 2);
    task.tensors[0] =
        tensor("kind", TEACHER_INT32, kinds, 2, 2, 1); /* one value a sample as well */
    assert_int_equal(teach_inputs_fit(inputs, &task, &samples, &error), 0);
    task.tensors[0] = tensor("kind", TEACHER_INT32, words, 2, 2, 2);
    assert_int_equal(teach_inputs_fit(inputs, &task, &samples, &error), -EINVAL);
    assert_string_equal(error.text,
                        "kind has the shape (2) for each sample, and this teacher wants "
                        "() or (1)");
    good_task(&task);
    for (int i = 0; i < 100; i++)
        assert_int_equal(teach_inputs_add(inputs, &task, &error), 0);
    assert_int_equal(teach_inputs_n(inputs), 200);
    teach_inputs_batch(inputs, 3, 2, &batch); /* the second sample of a task, and the first */
    assert_int_equal(batch.n, 2);
    assert_int_equal(batch.slots[0].starts[0], 0);
    assert_int_equal(batch.slots[0].starts[1], 1); /* 9, and the end */
    assert_int_equal(batch.slots[0].starts[2], 4);
    assert_int_equal(batch.slots[0].ids[0], 9);
    assert_int_equal(batch.slots[0].ids[3], 3);
    assert_true(batch.slots[1].values[0] == 1.5f && batch.slots[1].values[2] == 0.5f);
    assert_int_equal(batch.slots[2].ids[0], 0);
    assert_int_equal(batch.slots[2].ids[1], 2);
    assert_true(batch.slots[3].values[7] == 0);
    teach_inputs_clear(inputs);
    assert_int_equal(teach_inputs_n(inputs), 0);
    (void)teach_inputs_free(inputs);
    (void)network_free(network);
}

/* What does not fit names both sides; what fits and has a wrong value adds nothing. */
TEST(test_tasks_that_do_not_fit)
{
    static const int64_t outside[] = { 1, 2, 3, 10, -1, 7 }, empty[] = { 1, 2, 3, -1, 5, 7 };
    static const double not_finite[] = { 0.5, 1, INFINITY, 2 };
    static const int32_t negative[] = { 2, -1 };
    static const uint8_t bytes[6] = { 0 };
    const struct {
        struct teacher_tensor with;
        const char *says;
    } cases[] = {
        { tensor("words", TEACHER_INT64, outside, 2, 2, 3), "words, sample 1: 10 is not in 0..9" },
        { tensor("words", TEACHER_INT64, empty, 2, 2, 3), "words, sample 1: an empty sequence" },
        { tensor("words", TEACHER_UINT8, bytes, 2, 2, 3),
          "words has the type uint8, and this teacher wants int32 or int64" },
        { tensor("words", TEACHER_INT64, words, 1, 2, 0),
          "words has the shape () for each sample, and this teacher wants (any)" },
        { tensor("words", TEACHER_INT64, words, 2, 3, 2), "age has: 2" },
        { tensor("words", TEACHER_INT64, words, 2, 2, 0), "words has no values" },
        { tensor("age", TEACHER_FLOAT64, not_finite, 2, 2, 2), "age, sample 1: a value is not" },
        { tensor("age", TEACHER_FLOAT64, ages, 2, 2, 1), "wants (2)" },
        { tensor("kind", TEACHER_INT32, negative, 1, 2, 0), "kind, sample 1: -1 is not in 0..2" },
    };
    static struct teacher_tensors task;
    struct network *network = parse(sequences);
    struct teach_inputs *inputs = teach_inputs_new(network);
    struct edl_error error;

    good_task(&task);
    assert_int_equal(teach_inputs_add(inputs, &task, &error), 0);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        good_task(&task);
        for (uint32_t k = 0; k < task.n; k++)
            if (streq(task.tensors[k].name, cases[i].with.name))
                task.tensors[k] = cases[i].with;
        assert_int_equal(teach_inputs_add(inputs, &task, &error), -EINVAL);
        if (strstr(error.text, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, error.text);
        assert_int_equal(teach_inputs_n(inputs), 2);
    }
    good_task(&task);
    (void)snprintf(task.tensors[0].name, sizeof task.tensors[0].name, "sort\n");
    assert_int_equal(teach_inputs_add(inputs, &task, &error), -EINVAL);
    assert_string_equal(error.text, "this teacher wants kind, and was sent sort\\n, words, age");
    (void)teach_inputs_free(inputs);
    (void)network_free(network);
}

/* ---- a saved model ---- */

static float answer_of(struct teach_model *model, float a, float b)
{
    const float x[2] = { a, b };
    static struct teacher_tensors task;
    struct edl_error error = { 0 };
    const float *const *values;

    task.n = 1;
    task.tensors[0] = tensor("x", TEACHER_FLOAT32, x, 2, 1, 2);
    teach_inputs_clear(teach_model_inputs(model));
    assert_int_equal(teach_inputs_add(teach_model_inputs(model), &task, &error), 0);
    if (teach_model_run(model, &values, &error) < 0)
        fail_msg("%s", error.text);
    return values[0][0];
}

TEST(test_a_folder_and_a_tar_answer_alike)
{
    struct teach_fixture f;
    struct teach_model_config config;
    struct teach_model *model = NULL;
    struct edl_error error = { 0 };

    teach_fixture_make(&f);
    config = teach_fixture_config(&f, f.model);
    assert_int_equal(teach_model_open(&config, &model, &error), 0);
    assert_true(answer_of(model, 1, 10) == 2 * 1 + 3 * 10 + 1);
    assert_string_equal(teach_model_welcome(model)->fetches[0].name, "sum");
    model = teach_model_close(model);
    config = teach_fixture_config(&f, f.tar);
    assert_int_equal(teach_model_open(&config, &model, &error), 0);
    assert_true(answer_of(model, -1, 2) == 2 * -1 + 3 * 2 + 1);
    (void)teach_model_close(model);
    teach_fixture_remove(&f);
}

TEST(test_outputs_have_names)
{
    static const struct {
        const char *outputs, *says;
    } bad[] = {
        { "nothing", "has no layer nothing" },
        { "x", "has no layer x" },
        { "a=sum,a=sum", "has a twice" },
        { "=sum", "not [NAME=]LAYER" },
        { "", "not [NAME=]LAYER" },
    };
    struct teach_fixture f;
    struct teach_model_config config;
    struct teach_model *model = NULL;
    struct edl_error error = { 0 };

    teach_fixture_make(&f);
    config = teach_fixture_config(&f, f.model);
    config.outputs = "prediction=sum,sum";
    assert_int_equal(teach_model_open(&config, &model, &error), 0);
    assert_int_equal(teach_model_welcome(model)->n_fetches, 2);
    assert_string_equal(teach_model_welcome(model)->fetches[0].name, "prediction");
    assert_int_equal(teach_model_row_values(model), 2);
    (void)teach_model_close(model);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        config.outputs = bad[i].outputs;
        assert_int_equal(teach_model_open(&config, &model, &error), -EINVAL);
        if (strstr(error.text, bad[i].says) == NULL)
            fail_msg("case %zu: %s", i, error.text);
    }
    teach_fixture_remove(&f);
}

TEST(test_saved_passes_that_are_none)
{
    struct teach_fixture f;
    struct teach_model_config config;
    struct teach_model *model = NULL;
    struct edl_error error = { 0 };
    char path[PATH_MAX];

    teach_fixture_make(&f);
    config = teach_fixture_config(&f, f.folder); /* no parameter is there */
    assert_int_equal(teach_model_open(&config, &model, &error), -ENOENT);
    config = teach_fixture_config(&f, f.network); /* a file, and no tar */
    assert_int_equal(teach_model_open(&config, &model, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "no tar"));
    (void)snprintf(path, sizeof path, "%s/none", f.folder);
    config = teach_fixture_config(&f, path);
    assert_int_equal(teach_model_open(&config, &model, &error), -EINVAL);
    teach_fixture_spoil_tar(&f);
    config = teach_fixture_config(&f, f.tar);
    assert_int_equal(teach_model_open(&config, &model, &error), EDL_ECORRUPT);
    teach_fixture_remove(&f);
}
