/* SPDX-License-Identifier: Apache-2.0 */
/* options_files.c - files of the configuration, of the rows of a table: see options_reading.h */
#include <errno.h>
#include <unistd.h>

#include "shared/conf.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/options_reading.h"

static bool is_setting(const struct option_row *row)
{
    return row->use != OPTION_ONCE && options_kind_of(row) != NULL;
}

static int refuse_key(const struct options_table *table, const char *key, struct edl_error *error)
{
    const char *known[OPTIONS_MAX] = { NULL };

    for (size_t i = 0; i < table->n_rows; i++)
        if (is_setting(&table->rows[i]) && table->rows[i].use != OPTION_GONE)
            known[i] = table->rows[i].name;
    return conf_refuse_key(key, known, table->n_rows, table->page, error);
}

static int take_setting(const char *key, const char *value, void *userdata, struct edl_error *error)
{
    const struct options_reading *reading = userdata;
    size_t i = options_find(reading->table, key);

    if (i == reading->table->n_rows || !is_setting(&reading->table->rows[i]))
        return refuse_key(reading->table, key, error);
    return options_set(reading, i, options_keep(reading->given, value), error);
}

static void next_source(void *userdata)
{
    const struct options_reading *reading = userdata;

    reading->given->now++;
}

int options_read_files(struct options_reading *reading, int conf_key, struct edl_error *error)
{
    const struct conf_reader reader = { .setting = take_setting,
                                        .begin_file = next_source,
                                        .userdata = reading };

    return conf_read_all(conf_argument(reading->argc, reading->argv, reading->longs, conf_key),
                         geteuid() == 0 ? reading->table->files : NULL, &reader, error);
}
