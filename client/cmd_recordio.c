/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_recordio.c - `edl recordio`: RecordIO files made, read, looked at and cut */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/recordio_verb.h"
#include "client/report.h"
#include "client/verb.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

#define AT(member) OPTION_FIELD(struct recordio_options, member)

static const struct option_row recordio_options[] = {
    { "lines", NULL, "convert: each line is a record", option_flag, AT(lines) },
    { "files", NULL, "convert: each file is a record", option_flag, AT(files) },
    { "out", "PREFIX", "convert, split: files PREFIX-00000, PREFIX-00001, ...", option_text,
      AT(out), .letter = 'o' },
    { "records", "N", "convert, split: records in a file", option_positive, AT(records) },
    { "parts", "N", "split: so many files instead, alike but for a record", option_positive,
      AT(parts) },
    { "compress", "HOW", "none, snappy or gzip (convert: snappy; split: as it was)", option_text,
      AT(compress) },
    { "chunk", "BYTES", "of records in a chunk; tasks are made of chunks (1Mi)", option_amount,
      AT(chunk_bytes) },
    { "null", NULL, "cat: a NUL byte ends a record, not a newline", option_flag, AT(null),
      .letter = '0' },
    { "raw", NULL, "cat: each record behind its length, 32 bits, little endian", option_flag,
      AT(raw) },
};

static const struct {
    const char *name;
    const char *options; /* that go with it, each between blanks */
    int (*run)(const struct recordio_call *call);
} actions[] = {
    { "cat", " null raw ", recordio_cat },
    { "index", " json ", recordio_list },
    { "check", " json ", recordio_check },
    { "convert", " out records compress chunk lines files json ", recordio_convert },
    { "split", " out records parts compress chunk json ", recordio_split },
};

static const char *const compressors[] = {
    [RECORDIO_NONE] = "none", [RECORDIO_SNAPPY] = "snappy", [RECORDIO_GZIP] = "gzip"
};

const char *recordio_compressor_name(enum recordio_compressor compressor)
{
    return compressors[compressor];
}

int recordio_compressor_find(const char *name, enum recordio_compressor *ret,
                             struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(compressors); i++)
        if (streq(compressors[i], name)) {
            *ret = (enum recordio_compressor)i;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "--compress is \"%s\"", name);
    return edl_error_remedy(error, "--compress none, --compress snappy or --compress gzip");
}

/* unfit_option - the name of one that is given and does not go with the action; NULL: there is none
 */
static const char *unfit_option(const struct verb_options *read, const char *fit)
{
    for (size_t i = 0; i < read->table.n_rows; i++) {
        char word[32];

        (void)snprintf(word, sizeof word, " %s ", read->rows[i].name);
        if (read->given.text[i] != NULL && strstr(fit, word) == NULL)
            return read->rows[i].name;
    }
    return NULL;
}

static int unknown_action(const char *name)
{
    const char *names[ELEMENTS(actions)], *nearest;
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(actions); i++)
        names[i] = actions[i].name;
    nearest = nearest_word(name, names, ELEMENTS(names));
    (void)edl_error_set(&error, -EINVAL, "recordio: there is no action \"%s\"", name);
    (void)edl_error_remedy(&error,
                           nearest != NULL ? "edl recordio %s FILE..." : "edl help recordio",
                           nearest);
    return report_error(&error);
}

static int run(const struct invocation *invocation)
{
    const struct option_words *arguments = &invocation->arguments;
    const struct recordio_call call = { invocation->options, arguments->args + 1,
                                        arguments->n_args - 1 };

    for (size_t i = 0; i < ELEMENTS(actions); i++) {
        struct edl_error error = { 0 };
        const char *unfit;

        if (!streq(actions[i].name, arguments->args[0]))
            continue;
        unfit = unfit_option(&invocation->read, actions[i].options);
        if (unfit == NULL)
            return actions[i].run(&call);
        (void)edl_error_set(&error, -EINVAL, "recordio %s: --%s does not go with it",
                            actions[i].name, unfit);
        (void)edl_error_remedy(&error, "edl help recordio");
        return report_error(&error);
    }
    return unknown_action(arguments->args[0]);
}

const struct verb verb_recordio = {
    .name = "recordio",
    .usage = "cat|index|check FILE... | convert FILE... --lines --out PREFIX --records N | "
             "split FILE... --out PREFIX --records N",
    .summary = "Make, read, check and cut RecordIO files",
    .details =
        "cat prints the records, a line each. index tells the chunks of each file, which tasks "
        "are\n"
        "made of. check reads everything and names each damaged chunk with the records that are\n"
        "lost; exit status 1: there is one. convert makes numbered files of lines, or of whole\n"
        "files; \"-\" is standard input. split puts the records of files, in their order, into\n"
        "others. Each file appears whole; a call that fails or is ended removes its files.\n"
        "A dataset of a job: edl submit --dataset 'PREFIX-*' -- COMMAND. See edl-recordio(1).",
    VERB_OPTIONS(recordio_options, struct recordio_options),
    .min_args = 2,
    .max_args = SIZE_MAX,
    .local = true,
    .run = run,
};
