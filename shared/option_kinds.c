/* SPDX-License-Identifier: Apache-2.0 */
/* option_kinds.c - see option_kinds.h */
#include "shared/option_kinds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

typedef int (*parse_fn)(const char *text, uint64_t *ret);

int option_text(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    *(const char **)value->field = value->text;
    return 0;
}

int option_path(const struct option_value *value, struct edl_error *error)
{
    if (value->text[0] == '\0' || strlen(value->text) >= value->row->size)
        return edl_error_set(error, -EINVAL, "the path is empty or too long");
    (void)snprintf(value->field, value->row->size, "%s", value->text);
    return 0;
}

int option_flag(const struct option_value *value, struct edl_error *error)
{
    bool on = value->text == NULL || streq(value->text, "true");

    (void)error;
    if (!on && !streq(value->text, "false"))
        return -EINVAL;
    *(bool *)value->field = on;
    return 0;
}

int option_real(const struct option_value *value, struct edl_error *error)
{
    char *end;
    float real;

    (void)error;
    errno = 0;
    real = strtof(value->text, &end);
    if (end == value->text || *end != '\0' || errno != 0 || !isfinite(real) || real < 0)
        return -EINVAL;
    *(float *)value->field = real;
    return 0;
}

/* number - within the bounds of its row, which are read as it is */
static int number(const struct option_value *value, parse_fn parse, uint64_t unit)
{
    const struct option_row *row = value->row;
    uint64_t least = 0, most = UINT64_MAX / unit, found;

    if (parse(value->text, &found) < 0)
        return -EINVAL;
    if (row->least != NULL)
        (void)parse(row->least, &least);
    if (row->most != NULL)
        (void)parse(row->most, &most);
    if (found < least || found > most)
        return -ERANGE;
    *(uint64_t *)value->field = found * unit;
    return 0;
}

int option_u64(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    return number(value, parse_u64, 1);
}

int option_bytes(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    return number(value, parse_bytes, 1);
}

int option_cpu(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    return number(value, parse_cpu, 1);
}

int option_time(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    return number(value, parse_seconds, 1);
}

int option_days(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    return number(value, parse_u64, 24 * 3600 * USEC_PER_SEC);
}
