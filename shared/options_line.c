/* SPDX-License-Identifier: Apache-2.0 */
/* options_line.c - the command line by the rows of a table: see options_table.h */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/option_kinds.h"
#include "shared/options_reading.h"

/* What getopt_long returns: a word that is no option, a letter, this number and that of the row, or
 * one of the others. */
enum { GOT_WORD = 1, GOT_ROW = 256, GOT_HELP = GOT_ROW + OPTIONS_MAX, GOT_VERSION, GOT_CONF };

enum { LETTERS_MAX = 4 + 2 * OPTIONS_MAX };

static bool takes_value(const struct option_row *row)
{
    option_kind kind = options_kind_of(row);

    return kind != NULL && kind != option_flag;
}

static void fill_longs(const struct options_table *table, struct option longs[OPTIONS_MAX + 4])
{
    size_t n = 0;

    for (size_t i = 0; i < table->n_rows; i++)
        if (options_kind_of(&table->rows[i]) != NULL)
            longs[n++] = (struct option){ table->rows[i].name, takes_value(&table->rows[i]), NULL,
                                          GOT_ROW + (int)i };
    longs[n++] = (struct option){ "help", no_argument, NULL, GOT_HELP };
    if (table->usage != NULL)
        longs[n++] = (struct option){ "version", no_argument, NULL, GOT_VERSION };
    if (table->read_files != NULL)
        longs[n++] = (struct option){ "conf", required_argument, NULL, GOT_CONF };
    longs[n] = (struct option){ 0 };
}

/* fill_letters - in order, and a value that lacks is told from an option that is unknown */
static void fill_letters(const struct options_table *table, char letters[LETTERS_MAX])
{
    char *end = stpcpy(letters, "-:h");

    for (size_t i = 0; i < table->n_rows; i++)
        if (table->rows[i].letter != 0 && options_kind_of(&table->rows[i]) != NULL) {
            *end++ = table->rows[i].letter;
            if (takes_value(&table->rows[i]))
                *end++ = ':';
        }
    *end = '\0';
}

/* row_of - of what getopt_long tells of an option; NULL: there is none */
static const struct option_row *row_of(const struct options_table *table, int c)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (c == GOT_ROW + (int)i || (c != 0 && c == table->rows[i].letter))
            return &table->rows[i];
    return NULL;
}

static int refuse_word(const struct options_table *table, const char *word, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "unexpected argument \"%.80s\"", word);
    return edl_error_remedy(error, "see %s --help", table->program);
}

/* refuse_ambiguous - 0: the name is short for none, or for one alone */
static int refuse_ambiguous(const char *name, const char *const *known, size_t n,
                            struct edl_error *error)
{
    const char *first = NULL;

    for (size_t i = 0; i < n; i++) {
        if (strncmp(known[i], name, strlen(name)) != 0)
            continue;
        if (first == NULL) {
            first = known[i];
            continue;
        }
        (void)edl_error_set(error, -EINVAL, "--%s is short for --%s and for --%s", name, first,
                            known[i]);
        return edl_error_remedy(error, "write the whole name: --%s", first);
    }
    return 0;
}

/* refuse_unknown - word: the one that getopt_long looked at, if it holds a long name. Within a word
 * of letters it stands before that word still */
static int refuse_unknown(const struct options_reading *reading, const char *word,
                          struct edl_error *error)
{
    bool is_long = optopt == 0;
    const char *known[OPTIONS_MAX + 3], *nearest, *ours;
    size_t n = 0;
    char name[80];
    int r;

    (void)snprintf(name, sizeof name, is_long ? "%.*s" : "-%c",
                   is_long ? (int)strcspn(word, "=") : optopt, word);
    for (; reading->longs[n].name != NULL; n++)
        known[n] = reading->longs[n].name;
    r = is_long ? refuse_ambiguous(name + 2, known, n, error) : 0;
    if (r < 0)
        return r;
    nearest = is_long ? nearest_word(name + 2, known, n) : NULL;
    (void)edl_error_set(error, -EINVAL, "there is no option %s", name);
    ours = reading->table->ours != NULL ? reading->table->ours(name) : NULL;
    if (ours != NULL)
        return edl_error_remedy(error, "%s", ours);
    return edl_error_remedy(error, nearest != NULL ? "--%s" : "see %s --help",
                            nearest != NULL ? nearest : reading->table->program);
}

/* refuse_option - c as getopt_long returned it, optopt as it left that */
static int refuse_option(const struct options_reading *reading, int c, const char *word,
                         struct edl_error *error)
{
    const struct option_row *row = row_of(reading->table, optopt);

    if (c == ':')
        (void)edl_error_set(error, -EINVAL, "--%s needs a value%s%s",
                            row != NULL ? row->name : "conf",
                            row != NULL && row->argument != NULL ? ": " : "",
                            row != NULL && row->argument != NULL ? row->argument : "");
    else if (optopt >= GOT_ROW)
        (void)edl_error_set(error, -EINVAL, "%.*s takes no value",
                            (int)MIN_OF(strcspn(word, "="), 80u), word);
    else
        return refuse_unknown(reading, word, error);
    return edl_error_remedy(error, "see %s --help", reading->table->program);
}

static int take_word(const struct options_reading *reading, char *word, struct edl_error *error)
{
    if (reading->arguments == NULL)
        return refuse_word(reading->table, word, error);
    reading->arguments->args[reading->arguments->n_args++] = word;
    return OPTIONS_RUN;
}

/* take_option - OPTIONS_RUN: the next one is to be read; word: the last one that was looked at */
static int take_option(const struct options_reading *reading, int c, const char *word,
                       struct edl_error *error)
{
    const struct options_table *table = reading->table;
    const struct option_row *row;

    if (c == GOT_WORD)
        return take_word(reading, optarg, error);
    if (c == GOT_HELP || c == 'h') {
        if (table->usage != NULL)
            options_help(table);
        return OPTIONS_HELP;
    }
    if (c == GOT_VERSION) {
        (void)printf("%s %s\n", table->program, EDL_VERSION);
        return OPTIONS_VERSION;
    }
    if (c == ':' || c == '?')
        return refuse_option(reading, c, word, error);
    if (c == GOT_CONF) /* read before all others */
        return OPTIONS_RUN;
    row = row_of(table, c);
    if (options_set(reading, (size_t)(row - table->rows), optarg, error) == 0)
        return OPTIONS_RUN;
    edl_error_prefix(error, "--%s: ", row->name);
    return -EINVAL;
}

/* take_rest - the words behind the options, and behind "--" where that was read */
static int take_rest(const struct options_reading *reading, bool has_rest, struct edl_error *error)
{
    if (reading->arguments == NULL)
        return optind < reading->argc ? refuse_word(reading->table, reading->argv[optind], error)
                                      : OPTIONS_RUN;
    reading->arguments->has_rest = has_rest;
    reading->arguments->rest = reading->argv + optind;
    reading->arguments->n_rest = (size_t)(reading->argc - optind);
    return OPTIONS_RUN;
}

static int read_command_line(struct options_reading *reading, struct edl_error *error)
{
    const int argc = reading->argc;
    char **argv = reading->argv, letters[LETTERS_MAX];
    int c, before = 1, r = OPTIONS_RUN;

    fill_letters(reading->table, letters);
    reading->given->now++;
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    while (r == OPTIONS_RUN && (c = getopt_long(argc, argv, letters, reading->longs, NULL)) != -1) {
        before = optind;
        r = take_option(reading, c, argv[optind - 1], error);
    }
    return r == OPTIONS_RUN ? take_rest(reading, optind > before, error) : r;
}

static int read_sources(struct options_reading *reading, struct edl_error *error)
{
    const struct options_table *table = reading->table;
    struct option longs[OPTIONS_MAX + 4];
    int r;

    fill_longs(table, longs);
    reading->longs = longs;
    r = options_set_defaults(reading, error);
    if (r == 0 && table->read_files != NULL)
        r = table->read_files(reading, GOT_CONF, error);
    return r < 0 ? r : read_command_line(reading, error);
}

int options_read(const struct options_table *table, int argc, char **argv, void *options,
                 struct options_given *given, struct edl_error *error)
{
    struct options_reading reading = {
        .table = table, .options = options, .given = given, .argc = argc, .argv = argv
    };

    return read_sources(&reading, error);
}

int options_read_words(const struct options_table *table, int argc, char **argv, void *options,
                       struct options_given *given, struct option_words *ret,
                       struct edl_error *error)
{
    struct option_words found = { .args = xcalloc((size_t)argc + 1, sizeof *found.args) };
    struct options_reading reading = { .table = table,
                                       .options = options,
                                       .given = given,
                                       .argc = argc,
                                       .argv = argv,
                                       .arguments = &found };
    int r = read_sources(&reading, error);

    if (r < 0)
        option_words_clear(&found);
    else
        *ret = found;
    return r;
}

void option_words_clear(struct option_words *words)
{
    free(words->args);
    *words = (struct option_words){ 0 };
}

void option_words_join(struct option_words *words)
{
    while (words->n_rest > 0) { /* args has room for all of argv */
        words->args[words->n_args++] = *words->rest++;
        words->n_rest--;
    }
}

const struct option_row *options_row_of(const struct options_table *table, const char *word,
                                        bool *ret_apart)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    size_t size = strcspn(word, "=");

    for (size_t i = 0; i < table->n_rows && word[0] == '-' && word[1] != '\0'; i++) {
        const struct option_row *row = &table->rows[i];

        if (is_long ? strlen(row->name) != size - 2 || strncmp(row->name, word + 2, size - 2) != 0
                    : row->letter != word[1])
            continue;
        *ret_apart = takes_value(row) && word[is_long ? size : 2] == '\0';
        return row;
    }
    return NULL;
}
