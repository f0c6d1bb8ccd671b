/* SPDX-License-Identifier: Apache-2.0 */
/* json_lines.h - on which line a key of a JSON text stands
 *
 * The JSON library keeps no places. A second walk over a text that it has accepted finds them. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct json_lines;

/* json_lines_new - of a text that json_loadb accepted as root; the lines live no longer than root
 */
struct json_lines *json_lines_new(const char *text, size_t size, const json_t *root);
/* json_lines_free - NULL is fine; returns NULL */
struct json_lines *json_lines_free(struct json_lines *lines);

/* json_lines_of - the line of a key of this object, or (key NULL) of the object's own begin; 0: not
 * in the text */
unsigned json_lines_of(const struct json_lines *lines, const json_t *object, const char *key);
