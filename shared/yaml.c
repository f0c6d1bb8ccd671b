/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c - one YAML document to a JSON value
 *
 * Driven by libyaml's events with an explicit stack, so that depth costs no C stack and is bounded.
 * libyaml checks UTF-8 and the grammar; this file decides types and refuses what JSON cannot hold.
 */
#include "shared/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/macro.h"

struct level {
    json_t *container; /* borrowed: its parent, or reader.root, owns it */
    char *key;         /* of the value that comes next in a mapping; NULL: a key comes next */
};

struct reader {
    yaml_parser_t parser;
    struct level levels[YAML_DEPTH_MAX];
    size_t depth;
    json_t *root;
    unsigned int documents;
    const struct document_bounds *bounds; /* NULL: none */
    size_t n_values;
    struct edl_error *error;
};

static int refuse(struct reader *reader, yaml_mark_t mark, const char *what, const char *detail)
{
    return edl_error_set(reader->error, EDL_EBADSPEC, "line %zu, column %zu: %s%s%.100s",
                         mark.line + 1, mark.column + 1, what, detail[0] != '\0' ? ": " : "",
                         detail);
}

static size_t span(const char *text, const char *set)
{
    return strspn(text, set);
}

/* is_integer - core schema: [-+]?[0-9]+, 0o[0-7]+ or 0x[0-9a-fA-F]+ ; *ret_digits, *ret_base for
 * strtoll */
static bool is_integer(const char *text, const char **ret_digits, int *ret_base)
{
    static const struct {
        const char *prefix, *digits;
        int base;
    } forms[] = { { "0o", "01234567", 8 }, { "0x", "0123456789abcdefABCDEF", 16 } };
    const char *digits = text + (*text == '-' || *text == '+');

    for (size_t i = 0; i < ELEMENTS(forms); i++)
        if (strncmp(text, forms[i].prefix, 2) == 0 && text[2] != '\0' &&
            text[2 + span(text + 2, forms[i].digits)] == '\0') {
            *ret_digits = text + 2;
            *ret_base = forms[i].base;
            return true;
        }
    *ret_digits = text;
    *ret_base = 10;
    return *digits != '\0' && digits[span(digits, "0123456789")] == '\0';
}

/* is_float - core schema: [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *text)
{
    size_t before, after = 0;

    text += *text == '-' || *text == '+';
    before = span(text, "0123456789");
    text += before;
    if (*text == '.') {
        after = span(text + 1, "0123456789");
        text += 1 + after;
    }
    if (before + after == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '-' || text[1] == '+');
        if (span(text, "0123456789") == 0)
            return false;
        text += span(text, "0123456789");
    }
    return *text == '\0';
}

/* plain_constant - null and the booleans; NULL when text is none of them */
static json_t *plain_constant(const char *text)
{
    static const struct {
        const char *text;
        char type;
    } constants[] = {
        { "", 'n' },      { "~", 'n' },     { "null", 'n' },  { "Null", 'n' },
        { "NULL", 'n' },  { "true", 't' },  { "True", 't' },  { "TRUE", 't' },
        { "false", 'f' }, { "False", 'f' }, { "FALSE", 'f' },
    };

    for (size_t i = 0; i < ELEMENTS(constants); i++)
        if (streq(text, constants[i].text))
            return constants[i].type == 'n' ? json_null() : json_boolean(constants[i].type == 't');
    return NULL;
}

static bool is_not_finite(const char *text)
{
    static const char *const names[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN" };

    text += *text == '-' || *text == '+';
    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(text, names[i]))
            return true;
    return false;
}

static int plain_to_json(struct reader *reader, const yaml_event_t *event, json_t **ret)
{
    const char *text = (const char *)event->data.scalar.value, *digits = text;
    json_t *value = plain_constant(text);
    int base = 10;

    if (value == NULL && is_integer(text, &digits, &base)) {
        long long number;

        errno = 0;
        number = strtoll(digits, NULL, base);
        if (errno == ERANGE)
            return refuse(reader, event->start_mark, "this number is too large", text);
        value = json_integer(number);
    } else if (value == NULL && is_not_finite(text)) {
        return refuse(reader, event->start_mark, "a finite number is needed", text);
    } else if (value == NULL && is_float(text)) {
        value = json_real(strtod(text, NULL)); /* NULL when it overflowed to infinity */
        if (value == NULL)
            return refuse(reader, event->start_mark, "this number is too large", text);
    } else if (value == NULL) {
        value = json_string(text);
    }
    if (value == NULL)
        return refuse(reader, event->start_mark, "this is not valid text", "");
    *ret = value;
    return 0;
}

static int scalar_to_json(struct reader *reader, const yaml_event_t *event, json_t **ret)
{
    const char *tag = (const char *)event->data.scalar.tag;
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) != event->data.scalar.length)
        return refuse(reader, event->start_mark, "text must not contain NUL", "");
    if (tag != NULL && !streq(tag, YAML_STR_TAG) && !streq(tag, "!"))
        return refuse(reader, event->start_mark, "tags are not supported", tag);
    if (tag == NULL && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return plain_to_json(reader, event, ret);
    *ret = json_string(text);
    if (*ret == NULL)
        return refuse(reader, event->start_mark, "this is not valid text", "");
    return 0;
}

/* add_value - puts value where the stack says; takes it over, also on failure */
static int add_value(struct reader *reader, json_t *take_value)
{
    struct level *level;

    if (reader->depth == 0) {
        reader->root = take_value;
        return 0;
    }
    level = &reader->levels[reader->depth - 1];
    if (json_is_array(level->container))
        return json_array_append_new(level->container, take_value) < 0 ? -ENOMEM : 0;
    if (json_object_set_new(level->container, level->key, take_value) < 0)
        return -ENOMEM;
    free(TAKE_PTR(level->key));
    return 0;
}

/* count_value - one more, within the bounds */
static int count_value(struct reader *reader, const yaml_event_t *event)
{
    const struct document_bounds *bounds = reader->bounds;
    char most[24];

    if (bounds == NULL || ++reader->n_values <= bounds->values)
        return 0;
    (void)snprintf(most, sizeof most, "%zu", bounds->values);
    (void)refuse(reader, event->start_mark, "there are more values than a document may have", most);
    return edl_error_remedy(reader->error, "split the document, or keep lists in a file");
}

/* check_text - a key or a value is no longer than bounds allow */
static int check_text(struct reader *reader, const yaml_event_t *event)
{
    const struct document_bounds *bounds = reader->bounds;
    char most[24];

    if (bounds == NULL || event->data.scalar.length <= bounds->text_bytes)
        return 0;
    (void)snprintf(most, sizeof most, "%zu", bounds->text_bytes);
    (void)refuse(reader, event->start_mark, "this text has more bytes than one may have", most);
    return edl_error_remedy(reader->error, "keep long texts in a file of the workspace");
}

/* take_key - the scalar is the key of the innermost mapping */
static int take_key(struct reader *reader, struct level *level, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) != event->data.scalar.length)
        return refuse(reader, event->start_mark, "text must not contain NUL", "");
    if (streq(text, "<<") && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return refuse(reader, event->start_mark, "merge keys are not supported", "");
    if (json_object_get(level->container, text) != NULL)
        return refuse(reader, event->start_mark, "this key is given twice", text);
    level->key = xstrdup(text);
    return 0;
}

/* expects_key - the innermost container is a mapping whose next node is a key; NULL otherwise */
static struct level *expects_key(struct reader *reader)
{
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;

    return level != NULL && level->key == NULL && json_is_object(level->container) ? level : NULL;
}

static int on_scalar(struct reader *reader, const yaml_event_t *event)
{
    struct level *level = expects_key(reader);
    json_t *value = NULL;
    int r = check_text(reader, event);

    if (r < 0 || level != NULL)
        return r < 0 ? r : take_key(reader, level, event);
    r = count_value(reader, event);
    if (r == 0)
        r = scalar_to_json(reader, event, &value);
    return r < 0 ? r : add_value(reader, value);
}

static int on_open(struct reader *reader, const yaml_event_t *event, const char *tag, bool mapping)
{
    json_t *container;
    int r;

    if (expects_key(reader) != NULL)
        return refuse(reader, event->start_mark, "a key must be a plain word", "");
    if (tag != NULL)
        return refuse(reader, event->start_mark, "tags are not supported", tag);
    if (reader->depth == YAML_DEPTH_MAX)
        return refuse(reader, event->start_mark, "more than 32 levels", "");
    r = count_value(reader, event);
    if (r < 0)
        return r;
    container = mapping ? json_object() : json_array();
    r = add_value(reader, container);
    if (r < 0)
        return r;
    reader->levels[reader->depth++] = (struct level){ .container = container };
    return 0;
}

static int on_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (reader->documents++ > 0)
            return refuse(reader, event->start_mark, "only one document is expected", "");
        return 0;
    case YAML_ALIAS_EVENT:
        (void)refuse(reader, event->start_mark, "aliases are not supported", "");
        return edl_error_remedy(reader->error, "write the value out");
    case YAML_SCALAR_EVENT:
        return on_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(reader, event, (const char *)event->data.sequence_start.tag, false);
    case YAML_MAPPING_START_EVENT:
        return on_open(reader, event, (const char *)event->data.mapping_start.tag, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return 0;
    default:
        return 0;
    }
}

static int read_events(struct reader *reader)
{
    yaml_event_type_t type = YAML_NO_EVENT;

    while (type != YAML_STREAM_END_EVENT) {
        yaml_event_t event;
        int r;

        if (!yaml_parser_parse(&reader->parser, &event)) {
            const yaml_parser_t *p = &reader->parser;

            return refuse(reader, p->problem_mark, p->problem != NULL ? p->problem : "not YAML",
                          p->context != NULL ? p->context : "");
        }
        type = event.type;
        r = on_event(reader, &event);
        yaml_event_delete(&event);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ends_line - text[0..at) ends with a line end, as YAML 1.1 knows them, or is empty */
static bool ends_line(const char *text, size_t at)
{
    static const char *const breaks[] = { "\n", "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };

    for (size_t i = 0; i < ELEMENTS(breaks); i++) {
        size_t length = strlen(breaks[i]);

        if (length <= at && memcmp(text + at - length, breaks[i], length) == 0)
            return true;
    }
    return at == 0;
}

/* refuse_directives - libyaml takes time quadratic in their number, and none of them means anything
 * here. It begins one at each % in the first column, whatever the lines before say; so a text that
 * has such a line is refused, although it may be a part of a quoted text. */
static int refuse_directives(struct reader *reader, const char *text, size_t size)
{
    const char *found = size > 0 ? memchr(text, '%', size) : NULL;
    yaml_mark_t mark = { 0 };

    while (found != NULL && !ends_line(text, (size_t)(found - text)))
        found = memchr(found + 1, '%', size - (size_t)(found + 1 - text));
    if (found == NULL)
        return 0;
    for (const char *p = text; p < found; p++) /* CR LF is one */
        mark.line += ends_line(text, (size_t)(p + 1 - text)) && !(p[0] == '\r' && p[1] == '\n');
    (void)refuse(reader, mark, "directives are not supported", "");
    return edl_error_remedy(reader->error, "leave out the line that begins with %%; inside a text,"
                                           " put a blank in front of it");
}

int yaml_to_json(const char *text, size_t size, const struct document_bounds *bounds, json_t **ret,
                 struct edl_error *error)
{
    struct reader reader = { .bounds = bounds, .error = error };
    int r = refuse_directives(&reader, text, size);

    if (r < 0)
        return r;
    if (!yaml_parser_initialize(&reader.parser))
        return edl_error_errno(error, -ENOMEM, "cannot read YAML");
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
    r = read_events(&reader);
    yaml_parser_delete(&reader.parser);
    for (size_t i = 0; i < ELEMENTS(reader.levels); i++)
        free(reader.levels[i].key);
    if (r < 0) {
        json_decref(reader.root);
        return r;
    }
    *ret = reader.root != NULL ? reader.root : json_null();
    return 0;
}
