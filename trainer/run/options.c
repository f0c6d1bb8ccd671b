/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h */
#include "trainer/run/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#define EXIT_BAD_USAGE 2

int options_parse(int argc, char **argv, const char *program, const char *usage,
                  const struct option_row *rows, size_t n_rows, struct option_words *ret_words,
                  struct edl_error *error)
{
    char page[32];
    const struct options_table table = {
        .program = program,
        .page = page,
        .usage = usage,
        .ending = "  --help                 this text\n"
                  "  --version              print the version\n",
        .column = 25,
        .rows = rows,
        .n_rows = n_rows,
    };
    struct options_given given = { .now = 0 };
    int r;

    (void)snprintf(page, sizeof page, "%s(1)", program);
    r = ret_words != NULL ? options_read_words(&table, argc, argv, NULL, &given, ret_words, error)
                          : options_read(&table, argc, argv, NULL, &given, error);
    options_given_done(&given);
    return r;
}

int options_bad_usage(void)
{
    return getenv("EDL_SOCKET") != NULL ? EX_CONFIG : EXIT_BAD_USAGE;
}
