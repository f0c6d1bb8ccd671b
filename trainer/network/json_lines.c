/* SPDX-License-Identifier: Apache-2.0 */
/* json_lines.c - on which line a key of a JSON text stands */
#include "trainer/network/json_lines.h"

#include <string.h>

#include "shared/macro.h"

struct place {
    const json_t *object;
    const char *key; /* of jansson's object, NULL: its begin */
    unsigned line;
};

struct json_lines {
    struct place *places;
    size_t n, room;
    /* while it walks */
    const char *at, *end;
    unsigned line;
};

static void remember(struct json_lines *l, const json_t *object, const char *key)
{
    if (l->n == l->room) {
        l->room = l->room * 2 + 64;
        l->places = xreallocarray(l->places, l->room, sizeof *l->places);
    }
    l->places[l->n++] = (struct place){ object, key, l->line };
}

static void skip_space(struct json_lines *l)
{
    for (; l->at < l->end && strchr(" \t\r\n", *l->at) != NULL; l->at++)
        l->line += *l->at == '\n';
}

/* skip_string - from one quote behind the other; the text between, as it is written */
static void skip_string(struct json_lines *l)
{
    for (l->at++; l->at < l->end && *l->at != '"'; l->at++)
        if (*l->at == '\\')
            l->at++;
    l->at++;
}

static void walk(struct json_lines *l, const json_t *value);

/* Keys are compared as they are written: one with an escape is not found, and has no line. */
static void walk_object(struct json_lines *l, const json_t *object)
{
    remember(l, object, NULL);
    for (l->at++, skip_space(l); l->at < l->end && *l->at != '}'; skip_space(l)) {
        const char *begin = l->at + 1;
        char key[128];
        size_t size;
        void *iterator;

        if (*l->at == ',') {
            l->at++;
            continue;
        }
        skip_string(l);
        size = MIN_OF((size_t)(l->at - begin) - 1, sizeof key - 1);
        memcpy(key, begin, size);
        key[size] = '\0';
        iterator = json_object_iter_at((json_t *)object, key);
        if (iterator != NULL)
            remember(l, object, json_object_iter_key(iterator));
        skip_space(l);
        l->at++; /* the colon */
        skip_space(l);
        walk(l, iterator != NULL ? json_object_iter_value(iterator) : NULL);
    }
    l->at++;
}

static void walk_array(struct json_lines *l, const json_t *array)
{
    size_t i = 0;

    for (l->at++, skip_space(l); l->at < l->end && *l->at != ']'; skip_space(l)) {
        if (*l->at == ',')
            l->at++;
        else
            walk(l, json_array_get(array, i++));
    }
    l->at++;
}

/* The depth is bounded: json_loadb refuses a text that is nested too deep. */
static void walk(struct json_lines *l, const json_t *value)
{
    skip_space(l);
    if (l->at >= l->end)
        return;
    if (*l->at == '{')
        walk_object(l, value);
    else if (*l->at == '[')
        walk_array(l, value);
    else if (*l->at == '"')
        skip_string(l);
    else
        while (l->at < l->end && strchr(",]} \t\r\n", *l->at) == NULL)
            l->at++;
}

struct json_lines *json_lines_new(const char *text, size_t size, const json_t *root)
{
    struct json_lines *l = xcalloc(1, sizeof *l);

    l->at = text;
    l->end = text + size;
    l->line = 1;
    walk(l, root);
    return l;
}

struct json_lines *json_lines_free(struct json_lines *lines)
{
    if (lines != NULL)
        free(lines->places);
    free(lines);
    return NULL;
}

unsigned json_lines_of(const struct json_lines *lines, const json_t *object, const char *key)
{
    unsigned begin = 0;

    for (size_t i = 0; i < lines->n; i++) {
        const struct place *place = &lines->places[i];

        if (place->object != object)
            continue;
        if (place->key == NULL)
            begin = place->line;
        else if (key != NULL && streq(place->key, key))
            return place->line;
    }
    return begin;
}
