/* SPDX-License-Identifier: Apache-2.0 */
/* options_table.h - the options of a program as a table: one row has all that is said of one option
 *
 * The command line, the files of the configuration, the environment, --help and the texts of errors
 * come from the rows. The later one wins: a row's fallback, its variable of the environment, the
 * files, the command line. A key of a file is the name of the option, and its value is the text
 * that could stand on the command line. A flag says true or false there.
 *
 * Used by: edl, edl-agent, edl-scheduler, edl-trainer, edl-pserver. Tests:
 * tests/unit/test_options_table.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTIONS_MAX 64 /* rows of a table */

struct edl_error;
struct option_row;
struct option_text; /* of a file */
struct options_reading;

/* One value of an option, on its way to where it belongs. */
struct option_value {
    const struct option_row *row;
    const char *text; /* NULL: a flag of the command line */
    void *options;    /* of the program; field is part of it */
    void *field;
    bool first; /* of this file, or of the command line: a list begins anew */
};

/* option_kind - stores a value. Returns a negative errno, with error only where the value alone
 * does not show what is wrong with it. */
typedef int (*option_kind)(const struct option_value *value, struct edl_error *error);

enum option_use {
    OPTION_AT_START, /* a change needs a restart */
    OPTION_LIVE,     /* a program that runs takes a change over */
    OPTION_ONCE,     /* of the command line only: no setting */
    OPTION_GONE      /* of an earlier version: accepted, also in files, and nothing comes of it */
};

enum option_count {
    OPTION_SINGLE,  /* the last one counts */
    OPTION_LIST,    /* each file, and the command line, has the whole of the list */
    OPTION_GATHERED /* each adds to those before it */
};

struct option_row {
    const char *name;     /* "keep-days" */
    const char *argument; /* of --help: "TIME"; NULL: not shown there */
    const char *help;     /* its lines, with '\n' between them; "{}" is the fallback */
    option_kind kind;     /* NULL: of text, u64 or real, else only --help tells of it */
    enum option_use use;
    size_t offset, size; /* of the field in the program's options, see OPTION_FIELD */
    enum option_count count;
    const char *fallback;     /* as text; NULL: the field stays as it is */
    const char *environment;  /* "EDL_INDEX"; NULL: none */
    const char *least, *most; /* as text, both included; NULL: no bound */
    const char *wrong;        /* behind a value that is refused: "is not a whole number" */
    const char *remedy;       /* of such a value */
    const char **text;        /* in place of kind and offset: the field itself */
    uint64_t *u64;
    bool *flag;
    float *real; /* finite, >= 0 */
    char letter; /* 'f', for -f; 0: none */
};

#define OPTION_FIELD(type, member)                                                                 \
    .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

struct options_table {
    const char *program; /* "edl-agent" */
    const char *page;    /* "edl-agent(8)" */
    const char *usage;   /* of --help, above the rows; NULL: the caller prints that, and has no
                            --version */
    const char *ending;  /* and below them */
    int column;          /* in which the rows' texts begin */
    bool letters;        /* --help has room for them */
    const char *(*ours)(const char *word); /* what to type for an option of another system: of
                                              "--partition=x" or "-p"; NULL: nobody knows */
    const char *files;                     /* "/etc/edl/agent.conf", read as root without --conf */
    int (*read_files)(struct options_reading *reading, int conf_key,
                      struct edl_error *error); /* options_read_files; NULL: there are none */
    const struct option_row *rows;
    size_t n_rows;
};

/* What was said of each row; text is borrowed from argv and from texts. */
struct options_given {
    const char *text[OPTIONS_MAX]; /* of a list all that counts; NULL: nothing was said */
    unsigned source[OPTIONS_MAX];
    unsigned now;              /* being read: files from 1 on, then the command line */
    struct option_text *texts; /* owned */
};

enum { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };

/* options_read - all sources of a table, into the program's options and into given, which
 * options_given_done frees, also after an error. Returns OPTIONS_RUN, or _HELP or _VERSION when
 * that was asked for and printed. -EINVAL with an error that names option or key, value and
 * remedy; for files also what conf_read gives. */
int options_read(const struct options_table *table, int argc, char **argv, void *options,
                 struct options_given *given, struct edl_error *error);

void options_given_done(struct options_given *given);

/* Words that are no options: args stand before "--", rest behind it. Owned: args; the strings are
 * argv's. */
struct option_words {
    char **args;
    size_t n_args;
    char **rest;
    size_t n_rest;
    bool has_rest; /* "--" was given */
};

/* options_read_words - as options_read, of a command line whose options may stand between words
 * ret is the caller's to clear when the result is >= 0. */
int options_read_words(const struct options_table *table, int argc, char **argv, void *options,
                       struct options_given *given, struct option_words *ret,
                       struct edl_error *error);

void option_words_clear(struct option_words *words);

/* option_words_join - what stands behind "--" are args, too */
void option_words_join(struct option_words *words);

/* options_row_of - the row that a word of the command line begins: "--name", "--name=value", "-n"
 * or "-nvalue". NULL: there is none; else *ret_apart: its value is the next word */
const struct option_row *options_row_of(const struct options_table *table, const char *word,
                                        bool *ret_apart);

/* options_print - the rows of a table, as --help prints them */
void options_print(FILE *out, const struct options_table *table);

/* options_help - the table on standard output, as --help prints it */
void options_help(const struct options_table *table);

/* options_keep - a copy of text that lives as long as given */
const char *options_keep(struct options_given *given, const char *text);

/* options_on_command_line - whether the command line has this option */
bool options_on_command_line(const struct options_table *table, const struct options_given *given,
                             const char *name);

/* A setting that differs between two readings. */
struct option_change {
    const char *name; /* static */
    const char *text; /* of the newer; borrowed from it; NULL: it has its default again */
    bool taken;       /* a program that runs takes it over, else it needs a restart */
};

/* options_differ - the texts that differ in newer: from now where a running program takes them
 * over, else from started. Returns how many are in ret. */
size_t options_differ(const struct options_table *table, const struct options_given *started,
                      const struct options_given *now, const struct options_given *newer,
                      struct option_change ret[OPTIONS_MAX]);
