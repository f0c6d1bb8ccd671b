/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - keys of a JSON object by a table: types, bounds, and errors with their place */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "trainer/network/json_lines.h"
#include "trainer/network/parser.h"

static const char *const activations[ACTIVATIONS] = {
    [ACTIVATION_LINEAR] = "linear",     [ACTIVATION_SIGMOID] = "sigmoid",
    [ACTIVATION_TANH] = "tanh",         [ACTIVATION_RELU] = "relu",
    [ACTIVATION_SOFTMAX] = "softmax",   [ACTIVATION_EXPONENTIAL] = "exponential",
    [ACTIVATION_LOG] = "log",           [ACTIVATION_ABS] = "abs",
    [ACTIVATION_SQUARE] = "square",     [ACTIVATION_BRELU] = "brelu",
    [ACTIVATION_SOFTRELU] = "softrelu", [ACTIVATION_STANH] = "stanh",
};
static const char *const poolings[] = {
    [POOL_SUM] = "sum",     [POOL_AVERAGE] = "average", [POOL_MAX] = "max",
    [POOL_FIRST] = "first", [POOL_LAST] = "last",       [POOL_SQUARE_ROOT] = "square_root",
};

int parser_fail(const struct parser *parser, const json_t *object, const char *where,
                const char *key, const char *format, ...)
{
    char text[240];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return edl_error_set(parser->error, -EINVAL, "%s:%u: %s%s%s%s%s", parser->network->file,
                         json_lines_of(parser->lines, object, key), where != NULL ? where : "",
                         where != NULL && key != NULL ? ", " : "", key != NULL ? key : "",
                         where != NULL || key != NULL ? ": " : "", text);
}

/* fail_in - what another part has found wrong, at its place */
static int fail_in(const struct parser *parser, const json_t *object, const char *where,
                   const char *key, const struct edl_error *found)
{
    return parser_fail(parser, object, where, key, "%s", found->text);
}

int parser_text(struct parser *parser, const json_t *object, const char *where, const char *key,
                const json_t *value, char *ret, size_t size)
{
    struct edl_error found;

    if (!json_is_string(value))
        return parser_fail(parser, object, where, key, "must be a text");
    if (arguments_fill(&parser->network->arguments, json_string_value(value), ret, size, &found) <
        0)
        return fail_in(parser, object, where, key, &found);
    return 0;
}

int parser_number(struct parser *parser, const json_t *object, const char *where, const char *key,
                  const json_t *value, double *ret)
{
    const char *text = json_string_value(value);
    struct edl_error found;

    if (json_is_number(value)) {
        *ret = json_number_value(value);
        return 0;
    }
    if (text == NULL || text[0] != '=')
        return parser_fail(parser, object, where, key,
                           "must be a number, or a text \"=EXPRESSION\" with one");
    if (arguments_evaluate(&parser->network->arguments, text + 1, ret, &found) < 0)
        return fail_in(parser, object, where, key, &found);
    return 0;
}

static int read_number(struct parser *parser, const json_t *object, const char *where,
                       const struct key *key, const json_t *value, void *ret)
{
    const bool whole = key->kind == VALUE_COUNT || key->kind == VALUE_PLACE;
    double number = 0;
    int r = parser_number(parser, object, where, key->name, value, &number);

    if (r < 0)
        return r;
    if (whole && number != floor(number))
        return parser_fail(parser, object, where, key->name, "%g is no whole number", number);
    if (!(number >= key->min && number <= key->max))
        return parser_fail(parser, object, where, key->name,
                           "%.10g is out of bounds: %.10g to %.10g are possible", number, key->min,
                           key->max);
    if (key->kind == VALUE_COUNT)
        *(uint32_t *)ret = (uint32_t)number;
    else if (key->kind == VALUE_PLACE)
        *(int32_t *)ret = (int32_t)number;
    else if (key->kind == VALUE_DOUBLE)
        *(double *)ret = number;
    else
        *(float *)ret = (float)number;
    return 0;
}

static int read_word(struct parser *parser, const json_t *object, const char *where,
                     const char *key, const json_t *value, const char *const *words, size_t n,
                     size_t *ret)
{
    const char *word = json_string_value(value), *near;
    char list[120] = "";

    for (size_t i = 0; i < n; i++) {
        const size_t used = strlen(list);

        if (word != NULL && streq(word, words[i])) {
            *ret = i;
            return 0;
        }
        (void)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    near = word != NULL ? nearest_word(word, words, n) : NULL;
    (void)parser_fail(parser, object, where, key, "\"%.40s\" is none of: %s",
                      word != NULL ? word : "", list);
    if (near != NULL)
        return edl_error_remedy(parser->error, "did you mean \"%s\"?", near);
    return -EINVAL;
}

static int read_value(struct parser *parser, const json_t *object, const char *where,
                      const struct key *key, const json_t *value, void *base)
{
    void *ret = (char *)base + key->offset;
    size_t word = 0;
    int r = 0;

    switch (key->kind) {
    case VALUE_OTHER:
        return 0;
    case VALUE_TEXT:
        return parser_text(parser, object, where, key->name, value, ret, (size_t)key->max);
    case VALUE_FLAG:
        if (!json_is_boolean(value))
            return parser_fail(parser, object, where, key->name, "must be true or false");
        *(bool *)ret = json_is_true(value);
        return 0;
    case VALUE_ACTIVATION:
        r = read_word(parser, object, where, key->name, value, activations, ACTIVATIONS, &word);
        if (r >= 0)
            *(enum activation *)ret = (enum activation)word;
        return r;
    case VALUE_POOLING:
        r = read_word(parser, object, where, key->name, value, poolings, ELEMENTS(poolings), &word);
        if (r >= 0)
            *(enum pooling *)ret = (enum pooling)word;
        return r;
    case VALUE_RATE:
        if (json_is_false(value)) {
            *(float *)ret = -1.0f;
            return 0;
        }
        break;
    default:
        break;
    }
    return read_number(parser, object, where, key, value, ret);
}

static bool is_of(const struct key *key, const char *kind)
{
    char wanted[64];

    if (key->kinds == NULL || kind == NULL)
        return true;
    (void)snprintf(wanted, sizeof wanted, " %s ", kind);
    return strstr(key->kinds, wanted) != NULL;
}

static int unknown_key(struct parser *parser, const json_t *object, const char *where,
                       const struct key *keys, size_t n_keys, const char *kind, const char *name)
{
    const char *known[64];
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < n_keys && n < ELEMENTS(known); i++)
        if (is_of(&keys[i], kind))
            known[n++] = keys[i].name;
    near = nearest_word(name, known, n);
    (void)parser_fail(parser, object, where, name, "there is no such key%s%s",
                      kind != NULL ? " in the kind " : "", kind != NULL ? kind : "");
    if (near != NULL)
        return edl_error_remedy(parser->error, "did you mean \"%s\"?", near);
    return -EINVAL;
}

int parser_object(struct parser *parser, const json_t *object, const char *where,
                  const struct key *keys, size_t n_keys, const char *kind, void *ret)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return parser_fail(parser, object, where, NULL, "must be an object: {...}");
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        int r;

        while (i < n_keys && !(streq(keys[i].name, name) && is_of(&keys[i], kind)))
            i++;
        r = i == n_keys ? unknown_key(parser, object, where, keys, n_keys, kind, name)
                        : read_value(parser, object, where, &keys[i], value, ret);
        if (r < 0)
            return r;
    }
    return 0;
}
