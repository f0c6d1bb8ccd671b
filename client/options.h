/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of the verbs: rows of shared/options_table.h
 *
 * A verb has a table of rows and a struct that they fill. The first member of every such struct is
 * `struct common_options`, whose rows are read as well. The same rows make the help. */
#pragma once

#include "shared/macro.h"
#include "shared/option_kinds.h"

struct edl_error;

/* Every verb has these. */
struct common_options {
    const char *server;
    const char *token_file;
    const char *ca;
    bool json;
};

/* The kinds of values whose refusal says what would fit. 0 stands for "not given", so that most
 * refuse it. */
int option_number(const struct option_value *value, struct edl_error *error);   /* uint64_t */
int option_positive(const struct option_value *value, struct edl_error *error); /* from 1 */
int option_cores(const struct option_value *value, struct edl_error *error);    /* millicores */
int option_amount(const struct option_value *value, struct edl_error *error);   /* bytes */
int option_memory(const struct option_value *value, struct edl_error *error);   /* of a process */
int option_period(const struct option_value *value, struct edl_error *error);   /* microseconds */
int option_limit(const struct option_value *value, struct edl_error *error);    /* 0: no limit */
int option_share(const struct option_value *value, struct edl_error *error);    /* double, (0, 1] */
int option_list(const struct option_value *value, struct edl_error *error);

#define OPTION_LIST_MAX 64

/* What option_list fills: an option that may be given more than once. */
struct option_list {
    const char *values[OPTION_LIST_MAX]; /* borrowed from argv */
    size_t n;
};

/* The rows of a verb as a table. */
#define OPTION_ROWS(list)                                                                          \
    {                                                                                              \
        .page = "edl(1)", .rows = (list), .n_rows = ELEMENTS(list), .column = 31, .letters = true  \
    }

/* The same of a verb that knows options of other systems. */
#define OPTION_ROWS_BESIDE(list, others)                                                           \
    {                                                                                              \
        .page = "edl(1)", .rows = (list), .n_rows = ELEMENTS(list), .column = 31, .letters = true, \
        .ours = (others)                                                                           \
    }

extern const struct options_table server_options; /* of a verb that asks a server */
extern const struct options_table common_options; /* of every verb */

/* All options that a verb reads, and what was said of each. */
struct verb_options {
    struct option_row rows[OPTIONS_MAX];
    char program[32];
    struct options_table table;
    struct options_given given;
};

/* options_of - the rows of a verb of that name (own; NULL: it has none) and those of the two tables
 * above; ret must stay where it is */
void options_of(const struct options_table *own, const char *name, struct verb_options *ret);

/* options_parse - fills values (zeroed by the caller: 0/NULL/false = not given) from argv
 * own, ret: as options_of; argv[0] is the verb's name.
 * Options and arguments may be mixed; "--name=value", "--name value", "-f", "-i3" and "-i 3" are
 * understood. Returns OPTIONS_RUN, or OPTIONS_HELP, which the caller prints. Errors: -EINVAL with
 * the nearest known option as the remedy. */
int options_parse(const struct options_table *own, void *values, int argc, char **argv,
                  struct verb_options *ret, struct option_words *ret_words,
                  struct edl_error *error);
