/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_arrays.c - see postgresql_arrays.h */
#include "scheduler/store/postgresql/postgresql_arrays.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "shared/macro.h"

#define NAME_MAX_BYTES 63
#define PARAMETERS_MAX 100
#define LOOK_AT_MOST 512 /* rows, for one that is the same; beyond it may be */

/* --- the types of columns --- */

void column_types_add(struct column_types *types, const char *table, const char *column,
                      const char *type)
{
    types->types = xreallocarray(types->types, types->n + 1, sizeof *types->types);
    types->types[types->n++] =
        (struct column_type){ xstrdup(table), xstrdup(column), xstrdup(type) };
}

void column_types_done(struct column_types *types)
{
    for (size_t i = 0; i < types->n; i++) {
        free(types->types[i].table);
        free(types->types[i].column);
        free(types->types[i].type);
    }
    free(types->types);
    *types = (struct column_types){ 0 };
}

static const char *type_of(const struct column_types *types, const char *table, const char *column)
{
    for (size_t i = 0; i < types->n; i++)
        if (streq(types->types[i].table, table) && streq(types->types[i].column, column))
            return types->types[i].type;
    return NULL;
}

/* --- reading a statement --- */

/* A text that is read. A word that does not fit makes it bad, and no more is read. */
struct reading {
    const char *at;
    const unsigned *places;
    struct array_form *form;
    bool bad;
};

static void skip_blanks(struct reading *reading)
{
    while (*reading->at == ' ')
        reading->at++;
}

/* take - whether the text goes on with these words, or signs */
static bool take(struct reading *reading, const char *words)
{
    size_t n = strlen(words);

    skip_blanks(reading);
    if (reading->bad || strncmp(reading->at, words, n) != 0)
        return false;
    reading->at += n;
    return true;
}

static void want(struct reading *reading, const char *words)
{
    reading->bad |= !take(reading, words);
}

/* take_name - of a table or a column, without its quotes */
static void take_name(struct reading *reading, char name[NAME_MAX_BYTES + 1])
{
    bool quoted;
    size_t n = 0;

    skip_blanks(reading);
    quoted = *reading->at == '"';
    reading->at += quoted;
    while (islower((unsigned char)reading->at[n]) || isdigit((unsigned char)reading->at[n]) ||
           reading->at[n] == '_')
        n++;
    if (n == 0 || n > NAME_MAX_BYTES || (quoted && reading->at[n] != '"'))
        reading->bad = true;
    (void)snprintf(name, NAME_MAX_BYTES + 1, "%.*s", (int)MIN_OF(n, (size_t)NAME_MAX_BYTES),
                   reading->at);
    reading->at += n + quoted;
}

/* take_parameter - its place, from 0 on */
static size_t take_parameter(struct reading *reading)
{
    char *end = NULL;
    unsigned long number = 0;

    want(reading, "?");
    if (!reading->bad)
        number = strtoul(reading->at, &end, 10);
    if (number < 1 || number > PARAMETERS_MAX) {
        reading->bad = true;
        return 0;
    }
    reading->at = end;
    return reading->places[number - 1] - 1;
}

/* is_of - the parameter is of that column, and of no other */
static void is_of(struct reading *reading, size_t parameter, const char *column)
{
    char **named = &reading->form->columns[parameter];

    if (reading->bad)
        return;
    if (*named == NULL)
        *named = xstrdup(column);
    reading->bad = !streq(*named, column);
}

/* take_pair - NAME = ?N */
static size_t take_pair(struct reading *reading)
{
    char name[NAME_MAX_BYTES + 1];
    size_t parameter;

    take_name(reading, name);
    want(reading, "=");
    parameter = take_parameter(reading);
    is_of(reading, parameter, name);
    return parameter;
}

static void set_key(struct reading *reading, size_t parameter)
{
    if (reading->bad || reading->form->is_key[parameter])
        return;
    reading->form->is_key[parameter] = true;
    reading->form->n_keys++;
}

/* take_where - WHERE NAME = ?N AND ...: the key */
static void take_where(struct reading *reading)
{
    want(reading, "WHERE ");
    do
        set_key(reading, take_pair(reading));
    while (take(reading, "AND "));
}

static size_t parameter_of(const struct array_form *form, const char *column)
{
    size_t i = 0;

    while (i < form->n && (form->columns[i] == NULL || !streq(form->columns[i], column)))
        i++;
    return i;
}

/* take_conflict - (NAME, ...) DO ...: the key */
static void take_conflict(struct reading *reading)
{
    char name[NAME_MAX_BYTES + 1];

    want(reading, "(");
    do {
        size_t parameter;

        take_name(reading, name);
        parameter = parameter_of(reading->form, name);
        if (parameter == reading->form->n)
            reading->bad = true;
        else
            set_key(reading, parameter);
    } while (take(reading, ","));
    want(reading, ") DO ");
    if (take(reading, "NOTHING")) {
        reading->form->first_wins = true;
        return;
    }
    want(reading, "UPDATE SET ");
    do
        (void)take_pair(reading);
    while (take(reading, ","));
}

static void take_insert(struct reading *reading)
{
    char names[PARAMETERS_MAX][NAME_MAX_BYTES + 1];
    size_t n = 0;

    want(reading, "(");
    do
        take_name(reading, names[n++]);
    while (n < PARAMETERS_MAX && take(reading, ","));
    want(reading, ") VALUES (");
    for (size_t i = 0; i < n && !reading->bad; i++) {
        if (i > 0)
            want(reading, ",");
        is_of(reading, take_parameter(reading), names[i]);
    }
    want(reading, ")");
    reading->bad |= n != reading->form->n;
    if (take(reading, "ON CONFLICT "))
        take_conflict(reading);
}

/* --- writing it with arrays --- */

/* unnest - the arrays of all parameters as rows */
static bool write_unnest(FILE *out, const struct array_form *form, const struct column_types *types)
{
    (void)fprintf(out, "unnest(");
    for (size_t i = 0; i < form->n; i++) {
        const char *type =
            form->columns[i] != NULL ? type_of(types, form->table, form->columns[i]) : NULL;

        if (type == NULL)
            return false;
        (void)fprintf(out, "%s$%zu::%s[]", i > 0 ? ", " : "", i + 1, type);
    }
    (void)fprintf(out, ")");
    return true;
}

static void write_names(FILE *out, const struct array_form *form, bool keys_only)
{
    const char *before = "";

    for (size_t i = 0; i < form->n; i++) {
        if (keys_only && !form->is_key[i])
            continue;
        (void)fprintf(out, "%s\"%s\"", before, form->columns[i]);
        before = ", ";
    }
}

/* write_pairs - "a" = v.p1 of keys, or of all others; prefix: of the column */
static void write_pairs(FILE *out, const struct array_form *form, bool keys, const char *prefix,
                        const char *separator)
{
    const char *before = "";

    for (size_t i = 0; i < form->n; i++) {
        if (form->is_key[i] != keys)
            continue;
        (void)fprintf(out, "%s%s\"%s\" = v.p%zu", before, prefix, form->columns[i], i + 1);
        before = separator;
    }
}

static void write_value_names(FILE *out, size_t n)
{
    (void)fprintf(out, " AS v (");
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%sp%zu", i > 0 ? ", " : "", i + 1);
    (void)fprintf(out, ") WHERE ");
}

static bool write_insert(FILE *out, const struct array_form *form, const char *conflict,
                         const struct column_types *types)
{
    const char *set = conflict != NULL ? strstr(conflict, "SET ") : NULL;
    const char *before = " DO UPDATE SET ";
    bool is_typed;

    (void)fprintf(out, "INSERT INTO \"%s\" (", form->table);
    write_names(out, form, false);
    (void)fprintf(out, ") SELECT * FROM ");
    is_typed = write_unnest(out, form, types);
    if (conflict != NULL) {
        (void)fprintf(out, " ON CONFLICT (");
        write_names(out, form, true);
        (void)fprintf(out, ")%s", set == NULL ? " DO NOTHING" : "");
    }
    while (set != NULL) { /* it was read before: NAME=?N, ... */
        struct reading reading = { .at = set + (*set == ',' ? 1 : strlen("SET ")) };
        char name[NAME_MAX_BYTES + 1];

        take_name(&reading, name);
        (void)fprintf(out, "%s\"%s\" = excluded.\"%s\"", before, name, name);
        before = ", ";
        set = strchr(reading.at, ',');
    }
    return is_typed;
}

static bool write_change(FILE *out, const struct array_form *form, bool deletes,
                         const struct column_types *types)
{
    char prefix[NAME_MAX_BYTES + 4];
    bool is_typed;

    (void)snprintf(prefix, sizeof prefix, "\"%s\".", form->table);
    (void)fprintf(out, deletes ? "DELETE FROM \"%s\"" : "UPDATE \"%s\" SET ", form->table);
    if (!deletes)
        write_pairs(out, form, false, "", ", ");
    (void)fprintf(out, deletes ? " USING " : " FROM ");
    is_typed = write_unnest(out, form, types);
    write_value_names(out, form->n);
    write_pairs(out, form, true, prefix, " AND ");
    return is_typed;
}

struct array_form *array_form_free(struct array_form *form)
{
    if (form == NULL)
        return NULL;
    for (size_t i = 0; i < form->n; i++)
        free(form->columns[i]);
    free(form->columns);
    free(form->is_key);
    free(form->table);
    free(form->sql);
    free(form);
    return NULL;
}

struct array_form *array_form_of(const char *text, const unsigned *places, unsigned n,
                                 const struct column_types *types)
{
    struct array_form *form = xcalloc(1, sizeof *form);
    struct reading reading = { .at = text, .places = places, .form = form, .bad = n == 0 };
    char table[NAME_MAX_BYTES + 1];
    bool updates = take(&reading, "UPDATE "), deletes = take(&reading, "DELETE FROM ");
    bool is_typed = false;
    size_t size;
    FILE *out = open_memstream(&form->sql, &size);

    if (out == NULL)
        abort();
    form->n = n;
    form->columns = xcalloc(n, sizeof *form->columns);
    form->is_key = xcalloc(n, sizeof *form->is_key);
    form->inserts = !updates && !deletes;
    if (form->inserts)
        want(&reading, "INSERT INTO ");
    take_name(&reading, table);
    form->table = xstrdup(table);
    if (updates) {
        want(&reading, "SET ");
        do
            (void)take_pair(&reading);
        while (take(&reading, ","));
    }
    if (form->inserts)
        take_insert(&reading);
    else
        take_where(&reading);
    skip_blanks(&reading);
    if (!reading.bad && *reading.at == '\0')
        is_typed = form->inserts ? write_insert(out, form, strstr(text, " ON CONFLICT "), types)
                                 : write_change(out, form, deletes, types);
    (void)fclose(out);
    return is_typed ? form : array_form_free(form);
}

/* --- rows --- */

struct array_row {
    char **values; /* owned, each */
    char *key;     /* owned: the values of the key; NULL: it has none */
    struct array_row *prev, *next;
    UT_hash_handle hh;
};

static char *copy_of(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

/* key_of - the values of the key, each with its length */
static char *key_of(const struct array_form *form, const char *const *values)
{
    char *key = NULL;
    size_t size;
    FILE *out;

    if (form->n_keys == 0)
        return NULL;
    out = open_memstream(&key, &size);
    if (out == NULL)
        abort();
    for (size_t i = 0; i < form->n; i++)
        if (form->is_key[i])
            (void)fprintf(out, "%zu:%s,", values[i] != NULL ? strlen(values[i]) : 0,
                          values[i] != NULL ? values[i] : "");
    (void)fclose(out);
    return key;
}

static void set_values(const struct array_rows *rows, struct array_row *row,
                       const char *const *values)
{
    for (size_t i = 0; i < rows->form->n; i++) {
        free(row->values[i]);
        row->values[i] = copy_of(values[i]);
    }
}

void array_rows_add(struct array_rows *rows, const char *const *values)
{
    char *key = key_of(rows->form, values);
    struct array_row *row = NULL;

    if (key != NULL)
        HASH_FIND_STR(rows->by_key, key, row);
    if (row != NULL) {
        if (!rows->form->first_wins)
            set_values(rows, row, values);
        free(key);
        return;
    }
    row = xcalloc(1, sizeof *row);
    row->values = xcalloc(rows->form->n, sizeof *row->values);
    row->key = key;
    set_values(rows, row, values);
    DL_APPEND(rows->first, row);
    rows->n++;
    if (key != NULL)
        HASH_ADD_KEYPTR(hh, rows->by_key, row->key, strlen(row->key), row);
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && streq(a, b);
}

/* differs_by - whether each row has another value in some column of the key of `keys`, which both
 * forms name; false: they may be the same */
static bool differs_by(const struct array_form *keys, const struct array_rows *rows,
                       const struct array_form *form, const char *const *values)
{
    const struct array_row *row;
    size_t mine[PARAMETERS_MAX], theirs[PARAMETERS_MAX], n = 0;

    for (size_t i = 0; i < keys->n; i++) {
        if (!keys->is_key[i])
            continue;
        theirs[n] = parameter_of(rows->form, keys->columns[i]);
        mine[n] = parameter_of(form, keys->columns[i]);
        if (theirs[n] == rows->form->n || mine[n] == form->n)
            return false;
        n++;
    }
    if (n == 0)
        return false;
    DL_FOREACH(rows->first, row)
    {
        size_t i = 0;

        while (i < n && same(row->values[theirs[i]], values[mine[i]]))
            i++;
        if (i == n)
            return false;
    }
    return true;
}

bool array_rows_clash(const struct array_rows *rows, const struct array_form *form,
                      const char *const *values)
{
    if (rows->n == 0 || !streq(rows->form->table, form->table))
        return false;
    if (rows->n > LOOK_AT_MOST)
        return true;
    return !differs_by(form, rows, form, values) && !differs_by(rows->form, rows, form, values);
}

const char *const *array_rows_values(const struct array_rows *rows)
{
    return (const char *const *)rows->first->values;
}

static void write_element(FILE *out, const char *text)
{
    (void)fputc('"', out);
    while (*text != '\0') {
        size_t n = strcspn(text, "\"\\");

        (void)fwrite(text, 1, n, out);
        text += n;
        if (*text != '\0')
            (void)fprintf(out, "\\%c", *text++);
    }
    (void)fputc('"', out);
}

char *array_rows_literal(const struct array_rows *rows, size_t parameter)
{
    const struct array_row *row;
    char *literal = NULL;
    size_t size;
    FILE *out = open_memstream(&literal, &size);

    if (out == NULL)
        abort();
    (void)fputc('{', out);
    DL_FOREACH(rows->first, row)
    {
        if (row != rows->first)
            (void)fputc(',', out);
        if (row->values[parameter] == NULL)
            (void)fputs("NULL", out);
        else
            write_element(out, row->values[parameter]);
    }
    (void)fputc('}', out);
    (void)fclose(out);
    return literal;
}

void array_rows_clear(struct array_rows *rows)
{
    struct array_row *row, *next;

    HASH_CLEAR(hh, rows->by_key);
    DL_FOREACH_SAFE(rows->first, row, next)
    {
        for (size_t i = 0; i < rows->form->n; i++)
            free(row->values[i]);
        free(row->values);
        free(row->key);
        free(row);
    }
    rows->first = NULL;
    rows->n = 0;
}
