/* SPDX-License-Identifier: Apache-2.0 */
/* model_main.c - `edl-trainer model show|nearest|csv DIR`: the contents of a saved model */
#include "trainer/run/model_main.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "trainer/model/model_survey.h"
#include "trainer/model/model_table.h"
#include "trainer/run/options.h"

#define EXIT_BAD_USAGE 2
#define NEAREST_MAX 1000

static const char usage[] =
    "Usage: edl-trainer model show DIR [--config_args NAME=NUMBER,...] [--json]\n"
    "       edl-trainer model nearest DIR WORD [--parameter NAME] [--count N] [--json]\n"
    "       edl-trainer model csv DIR PARAMETER\n\n"
    "Tells parameters, shapes and norms of a saved pass, and names its damaged files. Tells which\n"
    "rows of an embedding are most like that of a word. Prints a parameter as lines with "
    "commas.\n\n"
    "Options:\n";

struct request {
    struct option_words words; /* the command, the folder, a word or a parameter */
    const char *arguments, *parameter;
    uint64_t columns, count;
    bool json;
};

static double real_of(const json_t *param, const char *key)
{
    return json_real_value(json_object_get(param, key));
}

static void print_param(const json_t *param)
{
    const json_t *shape = json_object_get(param, "shape");
    char text[32] = "-";

    if (json_is_array(shape))
        (void)snprintf(text, sizeof text, "%lldx%lld", json_integer_value(json_array_get(shape, 0)),
                       json_integer_value(json_array_get(shape, 1)));
    (void)printf("%-32s %14s %11lld %12lld", json_string_value(json_object_get(param, "name")),
                 text, json_integer_value(json_object_get(param, "values")),
                 json_integer_value(json_object_get(param, "bytes")));
    if (json_is_null(json_object_get(param, "l2")))
        (void)printf("  not finite\n");
    else
        (void)printf(" %11.5g %11.5g %12.4g\n", real_of(param, "l2"), real_of(param, "largest"),
                     real_of(param, "mean"));
}

static void print_texts(const json_t *report, const char *key, const char *before)
{
    const json_t *list = json_object_get(report, key);

    for (size_t i = 0; i < json_array_size(list); i++)
        (void)fprintf(stderr, "%s: %s\n", before, json_string_value(json_array_get(list, i)));
}

static void print_report(const json_t *report)
{
    const json_t *params = json_object_get(report, "parameters");
    const char *network = json_string_value(json_object_get(report, "network"));

    (void)printf("%-32s %14s %11s %12s %11s %11s %12s\n", "PARAMETER", "SHAPE", "VALUES", "BYTES",
                 "L2", "LARGEST", "MEAN");
    for (size_t i = 0; i < json_array_size(params); i++)
        print_param(json_array_get(params, i));
    (void)printf("%zu parameter%s, %lld value%s, %lld bytes%s%s\n", json_array_size(params),
                 PLURAL(json_array_size(params)),
                 json_integer_value(json_object_get(report, "values")),
                 PLURAL(json_integer_value(json_object_get(report, "values"))),
                 json_integer_value(json_object_get(report, "bytes")),
                 network != NULL ? "; network: " : "", network != NULL ? network : "");
    (void)fflush(stdout);
    print_texts(report, "notes", "note");
    print_texts(report, "problems", "damaged");
}

static int show(const struct request *request, struct edl_error *error)
{
    json_t *report = NULL;
    int r;

    r = model_survey(request->words.args[1], request->arguments, &report, error);
    if (r < 0)
        return r;
    if (request->json) {
        (void)json_dumpf(report, stdout, JSON_INDENT(4));
        (void)printf("\n");
    } else {
        print_report(report);
    }
    r = json_array_size(json_object_get(report, "problems")) > 0;
    json_decref(report);
    return r;
}

static void print_neighbour(const struct model_table *table, const struct model_neighbour *one)
{
    const char *word = table->words != NULL ? table->words[one->row] : NULL;

    (void)printf("%-9.6f %8zu", one->cosine, one->row);
    if (word != NULL) {
        (void)fputs("  ", stdout);
        printable_write(stdout, word, strlen(word), "");
    }
    (void)printf("\n");
}

static json_t *neighbour_json(const struct model_table *table, const struct model_neighbour *one)
{
    const char *word = table->words != NULL ? table->words[one->row] : NULL;

    json_t *text = word != NULL ? json_string(word) : NULL; /* NULL as well: it is no UTF-8 */

    return json_pack("{s:f,s:I,s:o}", "cosine", one->cosine, "row", (json_int_t)one->row, "word",
                     text != NULL ? text : json_null());
}

static int nearest(const struct request *request, struct edl_error *error)
{
    struct model_neighbour list[NEAREST_MAX];
    struct model_table table;
    json_t *all = NULL;
    size_t row, n;
    int r = model_table_open(request->words.args[1], request->arguments, request->parameter,
                             request->columns, &table, error);

    if (r < 0)
        return r;
    r = model_table_row(&table, request->words.args[2], &row, error);
    n = r < 0 ? 0 : model_table_nearest(&table, row, (size_t)request->count, list);
    if (request->json && r >= 0) {
        all =
            json_pack("{s:s,s:I,s:[]}", "parameter", table.name, "row", (json_int_t)row, "nearest");
        for (size_t i = 0; i < n; i++)
            (void)json_array_append_new(json_object_get(all, "nearest"),
                                        neighbour_json(&table, &list[i]));
        (void)json_dumpf(all, stdout, JSON_INDENT(4));
        (void)printf("\n");
        json_decref(all);
    }
    for (size_t i = 0; !request->json && i < n; i++)
        print_neighbour(&table, &list[i]);
    model_table_done(&table);
    return r;
}

static int csv(const struct request *request, struct edl_error *error)
{
    struct model_table table;
    int r = model_table_open(request->words.args[1], request->arguments, request->words.args[2],
                             request->columns, &table, error);

    if (r < 0)
        return r;
    r = model_table_csv(&table, stdout);
    model_table_done(&table);
    return r < 0 ? edl_error_errno(error, r, "cannot write") : 0;
}

static const struct {
    const char *name, *example;
    size_t n_words;
    int (*run)(const struct request *request, struct edl_error *error);
} commands[] = {
    { "show", "show DIR/pass-00000", 2, show },
    { "nearest", "nearest DIR/pass-00000 WORD", 3, nearest },
    { "csv", "csv DIR/pass-00000 PARAMETER", 3, csv },
};

static int run_command(const struct request *request, struct edl_error *error)
{
    const char *name = request->words.n_args > 0 ? request->words.args[0] : "";

    if (request->count > NEAREST_MAX)
        return edl_error_set(error, -EINVAL, "--count is at most %d", NEAREST_MAX);
    for (size_t i = 0; i < ELEMENTS(commands); i++)
        if (streq(name, commands[i].name)) {
            if (request->words.n_args == commands[i].n_words)
                return commands[i].run(request, error);
            (void)edl_error_set(error, -EINVAL, "model %s takes %zu word%s, not %zu", name,
                                commands[i].n_words - 1, PLURAL(commands[i].n_words - 1),
                                request->words.n_args - 1);
            return edl_error_remedy(error, "edl-trainer model %s", commands[i].example);
        }
    (void)edl_error_set(error, -EINVAL, "model: \"%.40s\" is not known", name);
    return edl_error_remedy(error, "show, nearest and csv there are: edl-trainer model %s",
                            commands[0].example);
}

/* 1: shown, but damaged. */
static int start(int argc, char **argv, struct edl_error *error)
{
    struct request request = { 0 };
    const struct option_row rows[] = {
        { .name = "config_args",
          .text = &request.arguments,
          .help = "NAME=NUMBER,... as it was trained with, for the shapes" },
        { .name = "parameter",
          .text = &request.parameter,
          .help = "of nearest; without it the embedding with most rows" },
        { .name = "columns",
          .fallback = "0",
          .u64 = &request.columns,
          .help = "of a row, where no network tells; 0: as that says" },
        { .name = "json", .flag = &request.json, .help = "one JSON object" },
        { .name = "count", .fallback = "10", .u64 = &request.count, .help = "rows that are told" },
    };
    int r = options_parse(argc, argv, "edl-trainer", usage, rows, ELEMENTS(rows), &request.words,
                          error);

    option_words_join(&request.words);
    if (r == OPTIONS_RUN)
        r = run_command(&request, error);
    else
        r = MIN_OF(r, 0);
    option_words_clear(&request.words);
    return r;
}

int model_main(int argc, char **argv)
{
    struct edl_error error = { 0 };
    int r = start(argc, argv, &error);

    if (r < 0)
        (void)log_failure(&error, "cannot show the model");
    return r == -EINVAL ? EXIT_BAD_USAGE : r != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
