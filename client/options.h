/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - one table-driven option parser for every verb
 *
 * A verb describes its options in a table and gets a struct filled in. The first member of every
 * such struct is `struct common_options`, whose tables are searched as well. The same tables make
 * the help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct edl_error;

/* What each kind stores at the option's offset. */
enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char *, borrowed from argv */
    OPTION_LIST,    /* struct option_list, may be given more than once */
    OPTION_U64,     /* uint64_t */
    OPTION_COUNT,   /* uint64_t, at least 1: 0 stands for "not given", here and below */
    OPTION_CPU,     /* uint64_t millicores */
    OPTION_BYTES,   /* uint64_t bytes */
    OPTION_MEMORY,  /* uint64_t bytes that one process asks for */
    OPTION_SECONDS, /* uint64_t microseconds */
    OPTION_LIMIT,   /* the same, and 0 is no limit, as without the option */
    OPTION_LOAD,    /* double in (0, 1] */
};

#define OPTION_LIST_MAX 64

struct option_list {
    const char *values[OPTION_LIST_MAX]; /* borrowed from argv */
    size_t n;
};

struct option_spec {
    const char *name; /* "min"; NULL ends the table */
    char letter;      /* 'f', or 0 */
    enum option_kind kind;
    const char *argument; /* "N" in the help; NULL for a flag */
    const char *help;
    size_t offset; /* of the value in the verb's struct */
};

/* Every verb has these. */
struct common_options {
    const char *server;
    const char *token_file;
    const char *ca;
    bool json;
    bool help;
};

/* What is left after the options: args before "--", rest after it. Owned: args; the strings are
 * argv's. */
struct arguments {
    char **args;
    size_t n_args;
    char **rest;
    size_t n_rest;
    bool has_rest; /* "--" was given */
};

extern const struct option_spec server_option_specs[]; /* for what asks a server */
extern const struct option_spec common_option_specs[];

/* options_parse - fills values (zeroed by the caller: 0/NULL/false = not given) from argv[0..argc)
 * Options and arguments may be mixed; "--name=value", "--name value", "-f", "-i3" and "-i 3" are
 * understood. Errors: -EINVAL with the nearest known option as the remedy. */
int options_parse(const struct option_spec *specs, void *values, int argc, char **argv,
                  struct arguments *ret, struct edl_error *error);

void arguments_clear(struct arguments *arguments);

/* options_print - one line of help per option of one table */
void options_print(FILE *out, const struct option_spec *specs);
