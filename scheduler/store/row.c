/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - one row of the database, read with checks */
#include "scheduler/store/row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"

void row_begin(struct row *row, struct prepared *statement, struct edl_error *error,
               const char *format, ...)
{
    va_list ap;

    *row = (struct row){ .statement = statement, .error = error };
    va_start(ap, format);
    (void)vsnprintf(row->name, sizeof row->name, format, ap);
    va_end(ap);
}

int row_damaged(struct row *row, int column, const char *what)
{
    if (row->r == 0)
        row->r = edl_error_set(row->error, EDL_ECORRUPT, "the database: %s: %s %s", row->name,
                               row->statement->engine->calls->name(row->statement, column), what);
    return row->r;
}

int64_t row_i64(struct row *row, int column, int64_t min, int64_t max)
{
    int64_t value = store_column_i64(row->statement, column);
    char text[48];

    if (row->r == 0 && value >= min && value <= max)
        return value;
    (void)snprintf(text, sizeof text, "cannot be %" PRId64, value);
    (void)row_damaged(row, column, text);
    return 0;
}

uint64_t row_u64(struct row *row, int column, uint64_t max)
{
    return (uint64_t)row_i64(row, column, 0, max < INT64_MAX ? (int64_t)max : INT64_MAX);
}

bool row_bool(struct row *row, int column)
{
    return row_u64(row, column, 1) != 0;
}

void row_text(struct row *row, int column, char *to, size_t size)
{
    const char *text = store_column_text(row->statement, column);

    if (strlen(text) >= size)
        (void)row_damaged(row, column, "is too long");
    (void)snprintf(to, size, "%s", row->r == 0 ? text : "");
}

int row_state(struct row *row, int column, int (*from_string)(const char *text))
{
    int state = from_string(store_column_text(row->statement, column));

    if (state < 0)
        (void)row_damaged(row, column, "is no state that there is");
    return row->r == 0 ? state : 0;
}

static json_t *json_column(struct row *row, int column, bool right_kind(const json_t *value),
                           const char *what)
{
    json_t *value;

    if (row->r < 0)
        return NULL;
    value = json_loads(store_column_text(row->statement, column), 0, NULL);
    if (right_kind(value))
        return value;
    json_decref(value);
    (void)row_damaged(row, column, what);
    return NULL;
}

static bool is_array(const json_t *value)
{
    return json_is_array(value);
}

static bool is_object(const json_t *value)
{
    return json_is_object(value);
}

json_t *row_array(struct row *row, int column, size_t max)
{
    json_t *array = json_column(row, column, is_array, "is not a JSON array");

    if (json_array_size(array) <= max)
        return array;
    json_decref(array);
    (void)row_damaged(row, column, "has too many elements");
    return NULL;
}

json_t *row_object(struct row *row, int column)
{
    return json_column(row, column, is_object, "is not a JSON object");
}

uint64_t row_element(struct row *row, int column, const json_t *value, uint64_t max)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
        (void)row_damaged(row, column, "has an element that cannot be");
    return row->r == 0 ? (uint64_t)number : 0;
}
