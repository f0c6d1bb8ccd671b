/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - see json_text.h
 *
 * Walks jansson's values. Rare values are jansson's to write as well: numbers with a point, and
 * strings that are more than ASCII, which it checks. */
#include "shared/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

#define FIRST_BYTES 512
#define DEPTH_MAX 4096 /* twice that of jansson's parser; deeper is what holds itself */
#define DIGITS_MAX 20  /* of an integer, with its sign */
#define FLAGS (JSON_COMPACT | JSON_ENCODE_ANY)

struct text {
    char *bytes; /* owned */
    size_t n, size;
    bool failed;
};

/* room - for n bytes behind those that are there; the caller counts what it uses */
static char *room(struct text *text, size_t n)
{
    if (text->n + n > text->size) {
        text->size = MAX_OF(text->size * 2, text->n + n);
        text->bytes = realloc(text->bytes, text->size);
        if (text->bytes == NULL)
            abort(); /* why: see macro.h */
    }
    return text->bytes + text->n;
}

static void put(struct text *text, const char *bytes, size_t n)
{
    memcpy(room(text, n), bytes, n);
    text->n += n;
}

/* put_by_jansson - any value, at its price */
static void put_by_jansson(struct text *text, const json_t *value)
{
    size_t n = json_dumpb(value, NULL, 0, FLAGS);

    text->failed = text->failed || n == 0;
    text->n += json_dumpb(value, room(text, n), n, FLAGS);
}

static bool is_plain(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c < ' ' || c >= 0x80 || c == '"' || c == '\\')
            return false;
    }
    return true;
}

/* put_plain - false: it has to be escaped, or checked, and nothing was written */
static bool put_plain(struct text *text, const char *bytes, size_t n)
{
    char *to;

    if (!is_plain(bytes, n))
        return false;
    to = room(text, n + 2);
    to[0] = '"';
    memcpy(to + 1, bytes, n);
    to[n + 1] = '"';
    text->n += n + 2;
    return true;
}

static void put_string(struct text *text, const json_t *value)
{
    if (!put_plain(text, json_string_value(value), json_string_length(value)))
        put_by_jansson(text, value);
}

static void put_key(struct text *text, const char *key, size_t n)
{
    json_t *value;

    if (put_plain(text, key, n))
        return;
    value = json_stringn(key, n);
    text->failed = text->failed || value == NULL;
    if (value != NULL)
        put_by_jansson(text, value);
    json_decref(value);
}

static void put_integer(struct text *text, json_int_t value)
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[DIGITS_MAX];
    size_t first = sizeof digits;

    do {
        digits[--first] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        digits[--first] = '-';
    put(text, digits + first, sizeof digits - first);
}

static void put_value(struct text *text, const json_t *value, unsigned depth);

static void put_object(struct text *text, const json_t *object, unsigned depth)
{
    json_t *all = (json_t *)(uintptr_t)object; /* why: jansson's type; nothing is changed */
    char before = '{';

    if (json_object_size(object) == 0)
        put(text, "{", 1);
    for (void *at = json_object_iter(all); at != NULL; at = json_object_iter_next(all, at)) {
        put(text, &before, 1);
        before = ',';
        put_key(text, json_object_iter_key(at), json_object_iter_key_len(at));
        put(text, ":", 1);
        put_value(text, json_object_iter_value(at), depth);
    }
    put(text, "}", 1);
}

static void put_array(struct text *text, const json_t *array, unsigned depth)
{
    size_t n = json_array_size(array);

    put(text, "[", 1);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            put(text, ",", 1);
        put_value(text, json_array_get(array, i), depth);
    }
    put(text, "]", 1);
}

static void put_value(struct text *text, const json_t *value, unsigned depth)
{
    if (value == NULL || depth > DEPTH_MAX) {
        text->failed = true;
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_object(text, value, depth + 1);
        break;
    case JSON_ARRAY:
        put_array(text, value, depth + 1);
        break;
    case JSON_STRING:
        put_string(text, value);
        break;
    case JSON_INTEGER:
        put_integer(text, json_integer_value(value));
        break;
    case JSON_REAL:
        put_by_jansson(text, value);
        break;
    case JSON_TRUE:
        put(text, "true", 4);
        break;
    case JSON_FALSE:
        put(text, "false", 5);
        break;
    case JSON_NULL:
        put(text, "null", 4);
        break;
    }
}

char *json_to_text(const json_t *value, size_t *ret_length)
{
    struct text text = { .bytes = xcalloc(1, FIRST_BYTES), .size = FIRST_BYTES };

    put_value(&text, value, 0);
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    if (ret_length != NULL)
        *ret_length = text.n;
    put(&text, "", 1);
    return text.bytes;
}
