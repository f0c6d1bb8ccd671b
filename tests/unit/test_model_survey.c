/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_survey.c - a saved model is told as it is, and each damage is named */
#include "tests/unit/test.h"
#include "trainer/model/model_survey.h"
#include "trainer/model/model_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/network_case.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/model/model_file.h"
#include "trainer/model/network_files.h"

static char folder[256], saved[300];

/* fit_a_line has 13 weights and a bias. */
static void save_line(const char *arguments, const float *weights, const float *bias)
{
    char path[512];
    struct network_file file = { 0 };
    struct network *network = NULL;
    float *values[2];

    (void)snprintf(path, sizeof path, "%s/conf/models/fit_a_line.json", getenv("EDL_SOURCE_DIR"));
    assert_int_equal(network_file_open(path, &file, NULL), 0);
    assert_int_equal(network_file_parse(&file, arguments, NULL, 0, &network, NULL), 0);
    assert_int_equal(network->n_params, 2);
    for (uint32_t p = 0; p < 2; p++)
        values[p] = (float *)(uintptr_t)(network->params[p].spec.rows > 1 ? weights : bias);
    assert_int_equal(network_save(network, &file, values, NULL, NULL, saved, NULL), 0);
    (void)network_free(network);
    network_file_close(&file);
}

static const float weights[20] = { 3, -4 }, bias[1] = { 2 };

static int set_up(void **state)
{
    (void)state;
    folder_make(folder, sizeof folder);
    (void)snprintf(saved, sizeof saved, "%s/pass-00000", folder);
    save_line(NULL, weights, bias);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

TEST_EACH(set_up, tear_down);

static json_t *survey(const char *arguments)
{
    struct edl_error error = { 0 };
    json_t *report = NULL;

    if (model_survey(saved, arguments, &report, &error) < 0)
        fail_msg("%s", error.text);
    return report;
}

static const json_t *of(const json_t *report, const char *list, size_t i)
{
    return json_array_get(json_object_get(report, list), i);
}

/* The only problem has these words in it. */
static void check_problem(const char *name, const char *words)
{
    json_t *report = survey(NULL);
    const char *text = json_string_value(of(report, "problems", 0));

    assert_int_equal(json_array_size(json_object_get(report, "problems")), 1);
    assert_non_null(strstr(text, name));
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    json_decref(report);
}

static void write_at(const char *name, long offset, const void *bytes, size_t size)
{
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", saved, name);
    file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void cut(const char *name, long size)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", saved, name);
    assert_int_equal(truncate(path, size), 0);
}

static void drop(const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", saved, name);
    assert_int_equal(unlink(path), 0);
}

/* The parameter of 13 values. */
static const json_t *weights_of(const json_t *report)
{
    for (size_t i = 0; i < 2; i++)
        if (json_integer_value(json_object_get(of(report, "parameters", i), "values")) > 1)
            return of(report, "parameters", i);
    fail_msg("no parameter has more than one value");
    return NULL;
}

static const char *weights_name(void)
{
    static char name[64];
    json_t *report = survey(NULL);

    (void)snprintf(name, sizeof name, "%s",
                   json_string_value(json_object_get(weights_of(report), "name")));
    json_decref(report);
    return name;
}

TEST(test_whole)
{
    json_t *report = survey(NULL);
    const json_t *param = weights_of(report);
    const json_t *shape = json_object_get(param, "shape");

    assert_int_equal(json_array_size(json_object_get(report, "problems")), 0);
    assert_int_equal(json_array_size(json_object_get(report, "notes")), 0);
    assert_int_equal(json_array_size(json_object_get(report, "parameters")), 2);
    assert_int_equal(json_integer_value(json_object_get(report, "values")), 14);
    assert_int_equal(json_integer_value(json_object_get(report, "bytes")), 14 * 4 + 2 * 16);
    assert_string_equal(json_string_value(json_object_get(report, "network")), "fit_a_line.json");
    assert_int_equal(json_integer_value(json_array_get(shape, 0)), 13);
    assert_int_equal(json_integer_value(json_array_get(shape, 1)), 1);
    assert_true(json_real_value(json_object_get(param, "l2")) == 5);
    assert_true(json_real_value(json_object_get(param, "largest")) == 4);
    assert_true(fabs(json_real_value(json_object_get(param, "mean")) + 1.0 / 13) < 1e-12);
    json_decref(report);
}

/* Sizes of other arguments: a note and no shape; with the arguments, shapes. */
TEST(test_arguments)
{
    struct edl_error error = { 0 };
    json_t *report;

    save_line("features=20", weights, bias);
    report = survey(NULL);
    assert_int_equal(json_array_size(json_object_get(report, "problems")), 0);
    assert_non_null(strstr(json_string_value(of(report, "notes", 0)), "--config_args"));
    assert_true(json_is_null(json_object_get(weights_of(report), "shape")));
    json_decref(report);
    report = survey("features=20");
    assert_int_equal(json_integer_value(
                         json_array_get(json_object_get(weights_of(report), "shape"), 0)),
                     20);
    json_decref(report);
    report = survey("features=19");
    assert_int_equal(json_array_size(json_object_get(report, "problems")), 1);
    assert_non_null(
        strstr(json_string_value(of(report, "problems", 0)), "sizes that followed the data"));
    json_decref(report);
    assert_int_equal(model_survey(saved, "features=x", &report, &error), -EINVAL);
    assert_non_null(strstr(error.text, "features"));
}

TEST(test_damage)
{
    const char *name = weights_name();
    const float nan_value = NAN;
    const uint32_t eight = 8;
    const uint64_t huge = UINT64_C(1) << 62;

    write_at(name, 16 + 3 * 4, &nan_value, sizeof nan_value);
    check_problem(name, "value 3 is nan");
    save_line(NULL, weights, bias);
    write_at(name, 4, &eight, sizeof eight);
    check_problem(name, "8 bytes a value");
    save_line(NULL, weights, bias);
    write_at(name, 8, &huge, sizeof huge); /* times 4 is 0 in 64 bits */
    check_problem(name, "52 bytes follow");
    save_line(NULL, weights, bias);
    cut(name, 40);
    check_problem(name, "24 bytes follow");
    cut(name, 7);
    check_problem(name, "has 7 bytes");
    drop(name);
    check_problem(name, "is missing");
}

TEST(test_folder)
{
    struct edl_error error = { 0 };
    json_t *report = NULL;

    drop("done");
    check_problem("done", "not written to its end");
    save_line(NULL, weights, bias);
    write_at("path.txt", 0, "../", 3);
    check_problem("path.txt", "not a network");
    drop("path.txt");
    drop("fit_a_line.json");
    report = survey(NULL);
    assert_true(json_is_null(json_object_get(report, "network")));
    assert_true(json_is_null(json_object_get(weights_of(report), "shape")));
    json_decref(report);
    assert_int_equal(model_survey("/proc/no such folder", NULL, &report, &error), -ENOENT);
    assert_non_null(strstr(error.remedy, "pass-00000"));
}

static void add_file(const char *name, const void *bytes, size_t size)
{
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", saved, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Five words of three numbers. The second points where the first does, the third the other way. */
static void add_embedding(void)
{
    static const struct {
        struct param_header header;
        float values[5][3];
    } file = { { 0, 4, 15 },
               { { 1, 2, 0 }, { 2, 4, 0.5f }, { -1, -2, 0 }, { 0, 0, 0 }, { 2, -1, 0.1f } } };
    static const char words[] = "the 0\na, \"b\" 1\nnot a line\nfar 99\nthe 2\nnone 3\n";

    drop("path.txt"); /* a folder without a network may hold any parameters */
    drop("fit_a_line.json");
    add_file("my_embedding", &file, sizeof file.header + sizeof file.values);
    add_file("word_dict", words, sizeof words - 1);
}

TEST(test_nearest)
{
    struct model_table table;
    struct model_neighbour list[10];
    struct edl_error error = { 0 };
    size_t row;

    add_embedding();
    if (model_table_open(saved, NULL, NULL, 3, &table, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(table.name, "my_embedding");
    assert_int_equal(table.rows, 5);
    assert_int_equal(model_table_row(&table, "the", &row, &error), 0);
    assert_int_equal(row, 0);
    assert_int_equal(model_table_nearest(&table, row, 10, list), 4);
    assert_int_equal(list[0].row, 1);
    assert_true(fabs(list[0].cosine - 10 / sqrt(5 * 20.25)) < 1e-6);
    assert_int_equal(list[1].row, 3); /* zeros, before one at a right angle: in their order */
    assert_int_equal(list[2].row, 4);
    assert_true(list[2].cosine == 0);
    assert_int_equal(list[3].row, 2);
    assert_true(fabs(list[3].cosine + 1) < 1e-6);
    assert_int_equal(model_table_nearest(&table, row, 2, list), 2);
    assert_int_equal(list[1].row, 3);
    assert_int_equal(model_table_nearest(&table, row, 0, list), 0);
    assert_int_equal(model_table_row(&table, "4", &row, &error), 0);
    assert_int_equal(row, 4);
    assert_int_equal(model_table_row(&table, "5", &row, &error), -EINVAL);
    assert_int_equal(model_table_row(&table, "thee", &row, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "\"the\""));
    model_table_done(&table);
}

TEST(test_csv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct model_table table;

    add_embedding();
    assert_int_equal(model_table_open(saved, NULL, "my_embedding", 3, &table, NULL), 0);
    assert_int_equal(model_table_csv(&table, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "the,1,2,0\n\"a, \"\"b\"\"\",2,4,0.5\nthe,-1,-2,0\nnone,0,0,0\n,2,-1,"
                              "0.100000001\n");
    free(text);
    model_table_done(&table);
}

/* The list of words is not trusted either: nothing waits for it, and no line takes all memory. */
TEST(test_words_that_are_none)
{
    struct model_table table;
    struct edl_error error = { 0 };
    char path[512], words[6000];
    size_t row;

    add_embedding();
    memset(words, 'x', sizeof words);
    memcpy(words + sizeof words - 16, " 1\nthe 0\nlast 2\n", 16);
    add_file("word_dict", words, sizeof words);
    assert_int_equal(model_table_open(saved, NULL, NULL, 3, &table, &error), 0);
    assert_null(table.words[1]);
    assert_int_equal(model_table_row(&table, "last", &row, &error), 0);
    assert_int_equal(row, 2);
    model_table_done(&table);
    (void)snprintf(path, sizeof path, "%s/word_dict", saved);
    cut("word_dict", INT64_C(1) << 40);
    assert_int_equal(model_table_open(saved, NULL, NULL, 3, &table, &error), EDL_ECORRUPT);
    drop("word_dict");
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(model_table_open(saved, NULL, NULL, 3, &table, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "word_dict is not a file"));
    drop("word_dict");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(model_table_open(saved, NULL, NULL, 3, &table, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "word_dict is not a file"));
}

TEST(test_what_is_no_table)
{
    struct model_table table;
    struct edl_error error = { 0 };

    assert_int_equal(model_table_open(saved, NULL, weights_name(), 0, &table, &error), 0);
    assert_int_equal(table.rows * table.columns, 13); /* the network tells */
    model_table_done(&table);
    assert_int_equal(model_table_open(saved, NULL, NULL, 0, &table, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "--parameter"));
    add_embedding();
    assert_int_equal(model_table_open(saved, NULL, "my_embeding", 0, &table, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "my_embedding"));
    assert_int_equal(model_table_open(saved, NULL, "my_embedding", 0, &table, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "--columns"));
    assert_int_equal(model_table_open(saved, NULL, "my_embedding", 4, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "15 values"));
    assert_int_equal(model_table_open(saved, NULL, "my_embedding", UINT64_MAX, &table, &error),
                     -EINVAL);
    drop("done"); /* its damage is not that of a parameter whose name is in it */
    assert_int_equal(model_table_open(saved, NULL, "one", 3, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "there is no parameter one"));
    cut("my_embedding", 40);
    assert_int_equal(model_table_open(saved, NULL, "my_embedding", 3, &table, &error),
                     EDL_ECORRUPT);
}
