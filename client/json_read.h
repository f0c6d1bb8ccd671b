/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - members of the server's answers, with a harmless value for what is missing */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

static inline const char *json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static inline uint64_t json_u64(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value > 0 ? (uint64_t)value : 0;
}

static inline void cleanup_jsonp(json_t **json)
{
    json_decref(*json);
}

#define _cleanup_json_ __attribute__((cleanup(cleanup_jsonp)))

/* json_print - indented, for --json */
static inline void json_print(const json_t *json)
{
    (void)json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
    (void)fputc('\n', stdout);
}

/* json_print_line - one object per line, for streams */
static inline void json_print_line(const json_t *json)
{
    (void)json_dumpf(json, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)fputc('\n', stdout);
}
