/* SPDX-License-Identifier: Apache-2.0 */
/* process_progress.c - see process_progress.h */
#include "shared/process_progress.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"

static bool is_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > PROGRESS_NAME_BYTES)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("_-.", *name) == NULL)
            return false;
    return true;
}

static bool is_text(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t n = json_string_length(value);

    if (text == NULL || n > PROGRESS_TEXT_BYTES || strlen(text) != n)
        return false;
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char)*text))
            return false;
    return true;
}

static bool is_row(const json_t *row)
{
    size_t i;
    json_t *cell;

    if (!json_is_array(row) || json_array_size(row) != PROGRESS_PUSHES_COLUMNS)
        return false;
    json_array_foreach(row, i, cell)
    {
        if (!json_is_integer(cell) || json_integer_value(cell) < 0)
            return false;
    }
    return true;
}

static bool is_pushes(const json_t *value)
{
    size_t i;
    json_t *row;

    if (!json_is_array(value) || json_array_size(value) > PROGRESS_PUSHES_MAX)
        return false;
    json_array_foreach(value, i, row)
    {
        if (!is_row(row))
            return false;
    }
    return true;
}

static json_int_t shard_of(const json_t *row)
{
    return json_integer_value(json_array_get(row, PROGRESS_PUSHES_SHARD));
}

static bool names_shard(const json_t *rows, size_t n, json_int_t shard)
{
    for (size_t i = 0; i < n; i++)
        if (shard_of(json_array_get(rows, i)) == shard)
            return true;
    return false;
}

void progress_keep_pushes(json_t *told, const json_t *before)
{
    const json_t *old = json_object_get(before, PROGRESS_PUSHES);
    json_t *rows = json_object_get(told, PROGRESS_PUSHES), *row;
    const size_t n = json_array_size(rows);
    size_t i;

    if (rows == NULL && json_is_array(old))
        (void)json_object_set(told, PROGRESS_PUSHES, (json_t *)old);
    if (rows == NULL)
        return;
    json_array_foreach(old, i, row)
    {
        if (json_array_size(rows) < PROGRESS_PUSHES_MAX && !names_shard(rows, n, shard_of(row)))
            (void)json_array_append(rows, row);
    }
}

/* n_members - without rows of pushes, which have a bound of their own */
static size_t n_members(const json_t *value)
{
    return json_object_size(value) - json_is_array(json_object_get(value, PROGRESS_PUSHES));
}

int progress_check(const json_t *value, struct edl_error *error)
{
    const char *name;
    json_t *member;

    if (!json_is_object(value))
        return edl_error_set(error, -EINVAL, "progress is an object: {\"step\": 1200}");
    if (n_members(value) > PROGRESS_MEMBERS_MAX)
        return edl_error_set(error, -EINVAL, "progress has more than %d members: %zu",
                             PROGRESS_MEMBERS_MAX, n_members(value));
    json_object_foreach((json_t *)value, name, member)
    {
        char at[PROGRESS_NAME_BYTES + 2];

        if (!is_name(name))
            return edl_error_set(error, -EINVAL,
                                 "'%.40s' cannot be a name: letters, digits, _ - . and %d at most",
                                 name, PROGRESS_NAME_BYTES);
        (void)snprintf(at, sizeof at, "/%.*s", PROGRESS_NAME_BYTES, name);
        if (strcmp(name, PROGRESS_PUSHES) == 0 && json_is_array(member)) {
            if (!is_pushes(member))
                return edl_error_at(error, -EINVAL, at,
                                    "%s has at most %d rows of four numbers from 0 on: server, "
                                    "trainer, committed, discarded",
                                    at, PROGRESS_PUSHES_MAX);
            continue;
        }
        if (!json_is_number(member) && !json_is_boolean(member) && !is_text(member))
            return edl_error_at(error, -EINVAL, at,
                                "%s is neither a number nor true or false nor a text of at most %d "
                                "bytes in one line",
                                at, PROGRESS_TEXT_BYTES);
    }
    return 0;
}
