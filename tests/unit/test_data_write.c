/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_write.c - a source becomes a folder, and a trainer finds all of it there */
#include "tests/unit/test.h"
#include "trainer/data/write.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "source_fixture.h"
#include "trainer/run/data_main.h"
#include "trainer/data/sample_set.h"
#include "trainer/data/dataset.h"

/* The samples of a set in memory are those of the folder's files. */
static void check_in_memory(struct source *source, bool test, const struct sample_set *files)
{
    struct sample_set *set = NULL;

    assert_int_equal(source_samples(source, test, &set, NULL), 0);
    assert_int_equal(sample_set_n(set), sample_set_n(files));
    for (size_t i = 0; i < sample_set_n(set); i++) {
        size_t size = 0, size_in_file = 0;
        const uint8_t *record = sample_set_record(set, i, &size);

        assert_memory_equal(record, sample_set_record(files, i, &size_in_file), size);
        assert_int_equal(size, size_in_file);
    }
    (void)sample_set_free(set);
}

/* What a folder says, and what its train files hold. */
static void check_folder(const char *folder, struct source *source)
{
    struct dataset *dataset = NULL;
    struct dataset_chunk *chunks = NULL;
    struct sample_set *set = NULL;
    struct sample_record record = { 0 };
    struct sample_value values[INPUTS_MAX];
    char pattern[256];
    size_t n = 0, size = 0;
    uint32_t n_inputs = 0;

    (void)snprintf(pattern, sizeof pattern, "%s/train-*.recordio", folder);
    assert_int_equal(dataset_open(pattern, &dataset, NULL), 0);
    assert_memory_equal(dataset_inputs(dataset, &n_inputs), source->inputs,
                        source->n_inputs * sizeof source->inputs[0]);
    assert_int_equal(n_inputs, source->n_inputs);
    assert_int_equal(dataset_train_chunks(dataset, &chunks, &n, NULL), 0);
    assert_true(n >= 3);
    assert_int_equal(dataset_samples(dataset, chunks, n, &set, NULL), 0);
    assert_int_equal(sample_set_n(set), source->n_train);
    for (size_t i = 0; i < sample_set_n(set); i++) {
        source->sample(source->state, false, i, values);
        assert_int_equal(sample_encode(source->inputs, source->n_inputs, values, &record, NULL), 0);
        assert_memory_equal(sample_set_record(set, i, &size), record.bytes, record.size);
        assert_int_equal(size, record.size);
    }
    check_in_memory(source, false, set);
    (void)sample_set_free(set);
    assert_int_equal(dataset_held_out_samples(dataset, 0, &set, NULL), 0);
    assert_int_equal(sample_set_n(set), source->n_test);
    check_in_memory(source, true, set);
    (void)sample_set_free(set);
    free(record.bytes);
    dataset_chunks_free(chunks, n);
    (void)dataset_free(dataset);
}

TEST(test_folder_has_all_samples)
{
    char folder[64], out[128];
    struct source_options options = defaults;
    struct write_options write = {
        .out = out, .name = "recommendation", .shards = 3, .chunk_records = 50
    };
    struct source source = { 0 };
    struct edl_error error = { 0 };
    json_t *description = NULL;

    folder_make(folder, sizeof folder);
    (void)snprintf(out, sizeof out, "%s/made/", folder);
    options.samples = 700;
    options.users = 20;
    options.movies = 30;
    assert_int_equal(source_open_recommendation(&options, &source, NULL), 0);
    assert_int_equal(data_write(&write, &source, &description, NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(description, "train_samples")),
                     source.n_train);
    json_decref(description);
    (void)snprintf(out, sizeof out, "%s/made", folder);
    check_folder(out, &source);
    assert_int_equal(data_write(&write, &source, &description, &error), -ENOTEMPTY);
    assert_non_null(strstr(error.remedy, "--out DIR"));
    source_close(&source);
    folder_remove(out);
    folder_remove(folder);
}

static int run_command(const char *const *words)
{
    char *argv[16] = { NULL };
    int argc = 0, r;

    for (; words[argc] != NULL; argc++)
        argv[argc] = xstrdup(words[argc]);
    {
        char *given[16];

        memcpy(given, argv, sizeof given);
        r = data_main(argc, given);
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return r;
}

TEST(test_command)
{
    char folder[64], out[128], file[160];
    const char *const good[] = { "data", "housing", "--samples",         "20", "--out",
                                 out,    "--json",  "--chunk-records=5", NULL };
    const char *const wrong[][8] = {
        { "data", NULL },
        { "data", "--out", out, NULL },
        { "data", "houses", "--out", out, NULL },
        { "data", "housing", NULL },
        { "data", "housing", "--out", out, "--samples", "x", NULL },
        { "data", "housing", "--out", out, "--colour", "x", NULL },
        { "data", "housing", "--out", out, "--shards", "0", NULL },
    };

    folder_make(folder, sizeof folder);
    (void)snprintf(out, sizeof out, "%s/made", folder);
    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        assert_int_equal(run_command(wrong[i]), 2);
        assert_int_not_equal(access(out, F_OK), 0);
    }
    assert_int_equal(run_command(good), 0);
    (void)snprintf(file, sizeof file, "%s/data.json", out);
    assert_int_equal(access(file, F_OK), 0);
    (void)snprintf(file, sizeof file, "%s/train-00003-of-00004.recordio", out);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(run_command(good), 1); /* it is there already */
    folder_remove(out);
    folder_remove(folder);
}
