/* SPDX-License-Identifier: Apache-2.0 */
/* options_table.c - see options_table.h */
#include "shared/options_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/option_kinds.h"
#include "shared/options_reading.h"

struct option_text {
    struct option_text *next;
    char text[];
};

option_kind options_kind_of(const struct option_row *row)
{
    if (row->kind != NULL)
        return row->kind;
    if (row->u64 != NULL)
        return option_u64;
    if (row->flag != NULL)
        return option_flag;
    if (row->real != NULL)
        return option_real;
    return row->text != NULL ? option_text : NULL;
}

static void *field_of(const struct option_row *row, void *options)
{
    if (row->u64 != NULL)
        return row->u64;
    if (row->flag != NULL)
        return row->flag;
    if (row->real != NULL)
        return row->real;
    return row->text != NULL ? (void *)row->text : (char *)options + row->offset;
}

size_t options_find(const struct options_table *table, const char *name)
{
    size_t i = 0;

    while (i < table->n_rows &&
           (!streq(table->rows[i].name, name) || !options_kind_of(&table->rows[i])))
        i++;
    return i;
}

const char *options_keep(struct options_given *given, const char *text)
{
    size_t size = strlen(text) + 1;
    struct option_text *kept = xcalloc(1, sizeof *kept + size);

    memcpy(kept->text, text, size);
    kept->next = given->texts;
    given->texts = kept;
    return kept->text;
}

void options_given_done(struct options_given *given)
{
    while (given->texts != NULL) {
        struct option_text *next = given->texts->next;

        free(given->texts);
        given->texts = next;
    }
}

bool options_on_command_line(const struct options_table *table, const struct options_given *given,
                             const char *name)
{
    size_t i = options_find(table, name);

    return i < table->n_rows && given->text[i] != NULL && given->source[i] == given->now;
}

/* ---- one value ---- */

static const char *default_wrong(const struct option_row *row)
{
    option_kind kind = options_kind_of(row);

    return kind == option_u64    ? "is not a number"
           : kind == option_real ? "is not a number >= 0"
                                 : "is not a valid value";
}

static int refuse_value(const struct option_row *row, const char *text, int code,
                        struct edl_error *error)
{
    if (row->wrong != NULL)
        return edl_error_set(error, -EINVAL, "%.80s %s", text, row->wrong);
    if (code != -ERANGE || (row->least == NULL && row->most == NULL))
        return edl_error_set(error, -EINVAL, "'%.80s' %s", text, default_wrong(row));
    if (row->most == NULL)
        return edl_error_set(error, -EINVAL, "'%.80s' is too %s: %s at least", text,
                             row->kind == option_time ? "short" : "little", row->least);
    if (row->least == NULL)
        return edl_error_set(error, -EINVAL, "'%.80s' is more than %s", text, row->most);
    return edl_error_set(error, -EINVAL, "'%.80s' does not lie between %s and %s", text, row->least,
                         row->most);
}

/* note - for options_differ; of a list all that counts */
static void note(struct options_given *given, size_t i, const struct option_value *value)
{
    const char *text = value->text != NULL ? value->text : "true";
    enum option_count count = value->row->count;

    if (given->text[i] != NULL &&
        (count == OPTION_GATHERED || (count == OPTION_LIST && !value->first))) {
        _cleanup_free_ char *list = NULL;

        if (asprintf(&list, "%s, %s", given->text[i], text) == -1)
            abort();
        text = options_keep(given, list);
    }
    given->text[i] = text;
    given->source[i] = given->now;
}

int options_set(const struct options_reading *reading, size_t i, const char *text,
                struct edl_error *error)
{
    const struct option_row *row = &reading->table->rows[i];
    struct options_given *given = reading->given;
    const struct option_value value = {
        .row = row,
        .text = text,
        .options = reading->options,
        .field = field_of(row, reading->options),
        .first = given->text[i] == NULL || given->source[i] != given->now,
    };
    struct edl_error why = { 0 };
    int r = options_kind_of(row)(&value, &why);

    if (r >= 0) {
        if (given->now > 0 && row->use != OPTION_ONCE)
            note(given, i, &value);
        return 0;
    }
    if (why.text[0] == '\0')
        (void)refuse_value(row, text != NULL ? text : "", r, &why);
    if (row->remedy != NULL && why.remedy[0] == '\0')
        (void)edl_error_remedy(&why, "%s", row->remedy);
    if (why.remedy[0] == '\0')
        (void)edl_error_remedy(&why, "%s says what --%s takes", reading->table->page, row->name);
    if (error != NULL)
        *error = why;
    return -EINVAL;
}

int options_set_defaults(const struct options_reading *reading, struct edl_error *error)
{
    for (size_t i = 0; i < reading->table->n_rows; i++) {
        const struct option_row *row = &reading->table->rows[i];
        const char *told = row->environment != NULL ? getenv(row->environment) : NULL;

        if (told != NULL && *told != '\0') {
            if (options_set(reading, i, told, error) < 0) {
                edl_error_prefix(error, "%s: ", row->environment);
                return -EINVAL;
            }
        } else if (row->fallback != NULL && options_set(reading, i, row->fallback, error) < 0) {
            edl_error_prefix(error, "--%s: ", row->name);
            return -EINVAL;
        }
    }
    return 0;
}

/* ---- --help, and what differs ---- */

/* print_text - its further lines below the first */
static void print_text(FILE *out, const struct option_row *row, int column)
{
    for (const char *at = row->help; *at != '\0';) {
        if (strncmp(at, "{}", 2) == 0) {
            (void)fputs(row->fallback != NULL ? row->fallback : "", out);
            at += 2;
        } else {
            (void)fputc(*at, out);
            if (*at++ == '\n')
                (void)fprintf(out, "%*s", column, "");
        }
    }
}

static void print_row(FILE *out, const struct option_row *row, const struct options_table *table)
{
    const char letter[] = { '-', row->letter, ',', ' ', '\0' };
    int n = fprintf(out, "  %s--%s%s%s",
                    !table->letters    ? ""
                    : row->letter != 0 ? letter
                                       : "    ",
                    row->name, row->argument != NULL ? " " : "",
                    row->argument != NULL ? row->argument : "");

    if (n >= table->column)
        n = fprintf(out, "\n") - 1;
    (void)fprintf(out, "%*s", table->column - n, "");
    print_text(out, row, table->column);
    if (row->environment != NULL)
        (void)fprintf(out, " [%s]", row->environment);
    if (row->fallback != NULL && *row->fallback != '\0' && strstr(row->help, "{}") == NULL)
        (void)fprintf(out, " (%s)", row->fallback);
    (void)fputc('\n', out);
}

void options_print(FILE *out, const struct options_table *table)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (table->rows[i].help != NULL)
            print_row(out, &table->rows[i], table);
}

void options_help(const struct options_table *table)
{
    (void)fputs(table->usage, stdout);
    options_print(stdout, table);
    (void)fputs(table->ending, stdout);
}

size_t options_differ(const struct options_table *table, const struct options_given *started,
                      const struct options_given *now, const struct options_given *newer,
                      struct option_change ret[OPTIONS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < table->n_rows; i++) {
        bool live = table->rows[i].use == OPTION_LIVE;
        const char *before = (live ? now : started)->text[i], *after = newer->text[i];

        if (before == after || (before != NULL && after != NULL && streq(before, after)))
            continue;
        ret[n++] = (struct option_change){ table->rows[i].name, after, live };
    }
    return n;
}
