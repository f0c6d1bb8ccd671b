/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - the server's answers: read, freed and printed */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "shared/json_read.h"

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
