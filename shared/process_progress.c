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

int progress_check(const json_t *value, struct edl_error *error)
{
    const char *name;
    json_t *member;

    if (!json_is_object(value))
        return edl_error_set(error, -EINVAL, "progress is an object: {\"step\": 1200}");
    if (json_object_size(value) > PROGRESS_MEMBERS_MAX)
        return edl_error_set(error, -EINVAL, "progress has %zu members, %d at most",
                             json_object_size(value), PROGRESS_MEMBERS_MAX);
    json_object_foreach((json_t *)value, name, member)
    {
        char at[PROGRESS_NAME_BYTES + 2];

        if (!is_name(name))
            return edl_error_set(error, -EINVAL,
                                 "'%.40s' cannot be a name: letters, digits, _ - . and %d at most",
                                 name, PROGRESS_NAME_BYTES);
        (void)snprintf(at, sizeof at, "/%.*s", PROGRESS_NAME_BYTES, name);
        if (!json_is_number(member) && !json_is_boolean(member) && !is_text(member))
            return edl_error_at(error, -EINVAL, at,
                                "%s is neither a number nor true or false nor a text of at most %d "
                                "bytes in one line",
                                at, PROGRESS_TEXT_BYTES);
    }
    return 0;
}
