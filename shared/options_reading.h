/* SPDX-License-Identifier: Apache-2.0 */
/* options_reading.h - one reading of a table of options, between options_table.c, options_line.c
 * and options_files.c; programs without files do not link the parser of files */
#pragma once

#include "shared/options_table.h"

struct options_reading {
    const struct options_table *table;
    void *options;
    struct options_given *given;
    int argc;
    char **argv;
    const struct option *longs;     /* of getopt_long */
    struct option_words *arguments; /* NULL: words that are no options are refused */
};

/* options_kind_of - NULL: the row is there for --help alone */
option_kind options_kind_of(const struct option_row *row);

/* options_find - the row of that name which takes a value; n_rows: there is none */
size_t options_find(const struct options_table *table, const char *name);

/* options_set - a value into its field; -EINVAL with an error that does not name the option */
int options_set(const struct options_reading *reading, size_t i, const char *text,
                struct edl_error *error);

/* options_set_defaults - the fallbacks of the rows, and over them the environment; errors as
 * options_read */
int options_set_defaults(const struct options_reading *reading, struct edl_error *error);

/* options_read_files - the files of the table, or those that --conf names, which is conf_key in
 * reading->longs. Errors as conf_read_all. */
int options_read_files(struct options_reading *reading, int conf_key, struct edl_error *error);
