/* SPDX-License-Identifier: Apache-2.0 */
/* data_main.c - `edl-trainer data NAME --out DIR`: writes a data set */
#include "trainer/run/data_main.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/data/source.h"
#include "trainer/data/write.h"
#include "trainer/run/options.h"

#define EXIT_BAD_USAGE 2

static const char usage[] =
    "Usage: edl-trainer data NAME --out DIR [OPTION VALUE]... [--rounded] [--json]\n\n"
    "Writes a data set: DIR/train-*.recordio, DIR/test-*.recordio and DIR/data.json.\n"
    "The floor of a generated one is the cost or error of a model that knows how it was made.\n"
    "NAME is one of:";

struct arguments {
    struct source_options source;
    struct write_options write;
    bool json;
};

/* usage_text - with the data sets that there are */
static void usage_text(char *ret, size_t size)
{
    const struct source_kind *kind;
    size_t n = (size_t)snprintf(ret, size, "%s\n", usage);

    for (size_t i = 0; (kind = source_kind_at(i)) != NULL && n < size; i++)
        n += (size_t)snprintf(ret + n, size - n, "  %-22s %s\n", kind->name, kind->summary);
    if (n < size)
        (void)snprintf(ret + n, size - n, "\n\nOptions:\n");
}

static void print_summary(const struct arguments *arguments, const json_t *told)
{
    const json_t *floor = json_object_get(told, "floor"), *value;
    const char *key;

    if (arguments->json) {
        (void)json_dumpf(told, stdout, JSON_INDENT(4));
        (void)printf("\n");
        return;
    }
    (void)printf("%s: %lld training and %lld test samples\n", arguments->write.out,
                 json_integer_value(json_object_get(told, "train_samples")),
                 json_integer_value(json_object_get(told, "test_samples")));
    if (floor != NULL)
        (void)printf("floor:");
    json_object_foreach((json_t *)(uintptr_t)floor, key, value) if (json_is_real(value))(void)
        printf(" %s %.6g", key, json_real_value(value));
    if (floor != NULL)
        (void)printf("\n");
    (void)printf("dataset: %s/train-*.recordio\n", arguments->write.out);
}

static int unknown(const char *name, struct edl_error *error)
{
    char names[160] = "";
    const struct source_kind *kind;

    for (size_t i = 0; (kind = source_kind_at(i)) != NULL; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", kind->name);
    }
    (void)edl_error_set(error, -EINVAL, "no data set is called \"%s\"", name);
    return edl_error_remedy(error, "edl-trainer data NAME --out DIR, where NAME is one of: %s",
                            names);
}

static int make(struct arguments *arguments, const char *name, struct edl_error *error)
{
    const struct source_kind *kind = source_find(name);
    struct source source = { 0 };
    json_t *told = NULL;
    int r;

    if (kind == NULL)
        return unknown(name, error);
    arguments->write.name = name;
    arguments->write.seed = arguments->source.seed;
    r = write_check(&arguments->write, error);
    if (r == 0)
        r = kind->open(&arguments->source, &source, error);
    if (r == 0)
        r = data_write(&arguments->write, &source, &told, error);
    source_close(&source);
    if (r < 0)
        return r;
    print_summary(arguments, told);
    json_decref(told);
    return 0;
}

/* The first word is the name, what follows goes to the table of options. */
static int start(int argc, char **argv, struct arguments *a, struct edl_error *error)
{
    const struct option_row rows[] = {
        { .name = "out", .text = &a->write.out, .help = "folder to make; absent or empty" },
        { .name = "samples",
          .fallback = "0",
          .u64 = &a->source.samples,
          .help = "train and test together; 0: a number that suits it" },
        { .name = "seed",
          .fallback = "1",
          .u64 = &a->source.seed,
          .help = "the same gives the same" },
        { .name = "data", .text = &a->source.data, .help = "ml-1m: folder of the files to read" },
        { .name = "users",
          .fallback = "0",
          .u64 = &a->source.users,
          .help = "recommendation: users; 0: 6040" },
        { .name = "movies",
          .fallback = "0",
          .u64 = &a->source.movies,
          .help = "recommendation: the largest id of a film; 0: 3952" },
        { .name = "noise",
          .real = &a->source.noise,
          .help = "standard deviation, of a generated set" },
        { .name = "label-noise",
          .real = &a->source.label_noise,
          .help = "digits, images: share of labels that are wrong" },
        { .name = "shards", .fallback = "4", .u64 = &a->write.shards, .help = "train files" },
        { .name = "chunk-records",
          .fallback = "1000",
          .u64 = &a->write.chunk_records,
          .help = "samples in a chunk; tasks are made of chunks" },
        { .name = "rounded", .flag = &a->source.rounded, .help = "stars are whole numbers 1 to 5" },
        { .name = "json", .flag = &a->json, .help = "one JSON object" },
    };
    char text[2048];
    bool named;
    int r;

    usage_text(text, sizeof text);
    named = argc > 1 && argv[1][0] != '-';
    r = options_parse(argc - named, argv + named, "edl-trainer", text, rows, ELEMENTS(rows), NULL,
                      error);
    if (r != OPTIONS_RUN)
        return MIN_OF(r, 0);
    if (!named) {
        (void)edl_error_set(error, -EINVAL, "the name of a data set is missing");
        return edl_error_remedy(error, "edl-trainer data --help lists them");
    }
    return make(a, argv[1], error);
}

int data_main(int argc, char **argv)
{
    struct arguments arguments = { .source = { .noise = -1, .label_noise = -1 } };
    struct edl_error error = { 0 };
    int r = start(argc, argv, &arguments, &error);

    if (r == 0)
        return EXIT_SUCCESS;
    (void)log_failure(&error, "cannot make the data set");
    return r == -EINVAL ? EXIT_BAD_USAGE : EXIT_FAILURE;
}
