/* SPDX-License-Identifier: Apache-2.0 */
/* document_reader.c - JSON objects into C structures, driven by a table of keys
 *
 * One small function for each kind of value; the rest is the walk and the wording of errors. People
 * meet these errors first of everything, so each says where, what was found, what is expected, and
 * what to do. */
#include "shared/document_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"

#define TEXT_MAX_DEFAULT 4096
#define KNOWN_MAX 128

size_t document_enter(struct document_reader *reader, const char *key)
{
    size_t start = strlen(reader->pointer), at = start;

    /* RFC 6901: "~" and "/" inside a key are written "~0" and "~1" */
    if (at + 1 < sizeof reader->pointer)
        reader->pointer[at++] = '/';
    for (; *key != '\0' && at + 2 < sizeof reader->pointer; key++) {
        if (*key == '~' || *key == '/') {
            reader->pointer[at++] = '~';
            reader->pointer[at++] = *key == '~' ? '0' : '1';
        } else {
            reader->pointer[at++] = *key;
        }
    }
    reader->pointer[MIN_OF(at, sizeof reader->pointer - 1)] = '\0';
    return start;
}

size_t document_enter_index(struct document_reader *reader, size_t index)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%zu", index);
    return document_enter(reader, text);
}

void document_leave(struct document_reader *reader, size_t length)
{
    reader->pointer[length] = '\0';
}

void document_ignore(struct document_reader *reader, const char *key)
{
    size_t start = strlen(reader->pointer);

    if (reader->ignored == NULL)
        return;
    if (key != NULL)
        (void)document_enter(reader, key);
    /* a key cut inside a UTF-8 sequence is not valid text: jansson refuses it, and the entry is
     * left out */
    (void)json_array_append_new(reader->ignored, json_string(reader->pointer));
    document_leave(reader, start);
}

int document_refuse(struct document_reader *reader, const char *format, ...)
{
    char text[320];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return edl_error_at(reader->error, EDL_EBADSPEC, reader->pointer, "%s", text);
}

/* describe - what was found, in words a person can match with the document */
static void describe(const json_t *found, char *text, size_t size)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "text",
        [JSON_INTEGER] = "number",   [JSON_REAL] = "number",    [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    const char *name = names[json_typeof(found)];

    if (json_is_string(found))
        (void)snprintf(text, size, "%s \"%.60s\"", name, json_string_value(found));
    else if (json_is_integer(found))
        (void)snprintf(text, size, "%s %" JSON_INTEGER_FORMAT, name, json_integer_value(found));
    else if (json_is_real(found))
        (void)snprintf(text, size, "%s %g", name, json_real_value(found));
    else
        (void)snprintf(text, size, "%s", name);
}

int document_expected(struct document_reader *reader, const char *expected, const json_t *found)
{
    const char *key = strrchr(reader->pointer, '/');
    char text[96];

    describe(found, text, sizeof text);
    return document_refuse(reader, "%.60s: %s is expected, found %s",
                           key != NULL ? key + 1 : "document", expected, text);
}

int document_text(struct document_reader *reader, const json_t *value, size_t max, const char **ret)
{
    if (!json_is_string(value))
        return document_expected(reader, "text", value);
    if (strlen(json_string_value(value)) != json_string_length(value))
        return document_refuse(reader, "text must not contain NUL");
    if (json_string_length(value) > max)
        return document_refuse(reader, "text of %zu bytes is longer than the %zu that are allowed",
                               json_string_length(value), max);
    *ret = json_string_value(value);
    return 0;
}

static int read_text(struct document_reader *reader, const struct document_rule *rule,
                     const json_t *value, void *at)
{
    size_t max = rule->max > 0 ? (size_t)rule->max : TEXT_MAX_DEFAULT;
    int r = document_text(reader, value, max, at);

    if (r < 0 && (json_is_number(value) || json_is_boolean(value)))
        (void)edl_error_remedy(reader->error, "put the value in quotes");
    return r;
}

static int read_integer(struct document_reader *reader, const struct document_rule *rule,
                        const json_t *value, void *at)
{
    json_int_t number = json_integer_value(value);
    uint64_t parsed = 0;
    char expected[80];

    if (rule->kind == DOCUMENT_COUNT && json_is_string(value) &&
        parse_u64(json_string_value(value), &parsed) == 0 && parsed <= INT32_MAX)
        number = (json_int_t)parsed;
    else if (!json_is_integer(value))
        number = INT64_MIN;
    if (number < rule->min || number > rule->max) {
        (void)snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64,
                       rule->min, rule->max);
        (void)document_expected(reader, expected, value);
        if (rule->remedy != NULL && number > rule->max)
            (void)edl_error_remedy(reader->error, "%s", rule->remedy);
        if (rule->min == 1 && number == 0)
            (void)edl_error_remedy(reader->error, "write 1 or more, or leave the key out");
        return EDL_EBADSPEC;
    }
    *(int64_t *)at = number;
    return 0;
}

static int read_boolean(struct document_reader *reader, const struct document_rule *rule,
                        const json_t *value, void *at)
{
    (void)rule;
    if (!json_is_boolean(value))
        return document_expected(reader, "true or false", value);
    *(int *)at = json_is_true(value);
    return 0;
}

/* too_few_bytes - mostly a unit that was left out */
static int too_few_bytes(struct document_reader *reader, const struct document_rule *rule,
                         const char *text, uint64_t amount)
{
    (void)document_refuse(reader,
                          "%.40s is less than %" PRId64 "Mi, the least that a process needs", text,
                          rule->least >> 20);
    if (text[strspn(text, "0123456789.")] == '\0' && amount <= (uint64_t)rule->max >> 30)
        (void)edl_error_remedy(reader->error,
                               "%.20s is %" PRIu64 " bytes: write %.20sMi or %.20sGi", text, amount,
                               text, text);
    else
        (void)edl_error_remedy(reader->error, "write %" PRId64 "Mi or more, or leave the key out",
                               rule->least >> 20);
    return EDL_EBADSPEC;
}

/* read_quantity - numbers go through the same parser as text, so that 0.1 means exactly 100m in
 * both */
static int read_quantity(struct document_reader *reader, const struct document_rule *rule,
                         const json_t *value, void *at)
{
    static const struct {
        int (*parse)(const char *text, uint64_t *ret);
        const char *expected, *unit;
    } kinds[] = {
        [DOCUMENT_CPU] = { parse_cpu, "an amount of CPU like 2, 0.5 or 200m", "millicores" },
        [DOCUMENT_BYTES] = { parse_bytes, "an amount of memory like 200Mi or 1Gi", "bytes" },
        [DOCUMENT_TIME] = { parse_seconds, "a time like 30s, 500ms or 2m", "microseconds" },
    };
    const char *text = json_string_value(value);
    uint64_t amount = 0;
    char number[40];

    if (json_is_integer(value))
        (void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(number, sizeof number, "%.12g", json_real_value(value));
    if (json_is_number(value))
        text = number;
    else if (text == NULL || strlen(text) != json_string_length(value))
        return document_expected(reader, kinds[rule->kind].expected, value);
    if (kinds[rule->kind].parse(text, &amount) < 0)
        return document_expected(reader, kinds[rule->kind].expected, value);
    if (amount == 0 && rule->remedy_of_none != NULL && !reader->stored) {
        (void)document_expected(reader, kinds[rule->kind].expected, value);
        (void)edl_error_remedy(reader->error, "%s", rule->remedy_of_none);
        return EDL_EBADSPEC;
    }
    if (amount > 0 && amount < (uint64_t)rule->least && !reader->stored)
        return too_few_bytes(reader, rule, text, amount);
    if (amount < (uint64_t)rule->min || amount > (uint64_t)rule->max)
        return document_refuse(reader, "%.40s is outside %" PRId64 " to %" PRId64 " %s", text,
                               rule->min, rule->max, kinds[rule->kind].unit);
    *(uint64_t *)at = amount;
    return 0;
}

static int read_container(struct document_reader *reader, const struct document_rule *rule,
                          const json_t *value, void *at)
{
    if (rule->kind == DOCUMENT_ARRAY ? !json_is_array(value) : !json_is_object(value))
        return document_expected(reader, rule->kind == DOCUMENT_ARRAY ? "an array" : "an object",
                                 value);
    *(const json_t **)at = value;
    return 0;
}

static int read_nested(struct document_reader *reader, const struct document_rule *rule,
                       const json_t *value, void *target)
{
    return document_read(reader, value, rule->nested, rule->n_nested, target);
}

static int read_call(struct document_reader *reader, const struct document_rule *rule,
                     const json_t *value, void *target)
{
    return rule->call(reader, rule->key, value, target);
}

static int read_ignored(struct document_reader *reader, const struct document_rule *rule,
                        const json_t *value, void *target)
{
    (void)rule, (void)value, (void)target;
    document_ignore(reader, NULL);
    return 0;
}

static int (*const readers[])(struct document_reader *reader, const struct document_rule *rule,
                              const json_t *value, void *target) = {
    [DOCUMENT_TEXT] = read_text,        [DOCUMENT_INTEGER] = read_integer,
    [DOCUMENT_COUNT] = read_integer,    [DOCUMENT_BOOLEAN] = read_boolean,
    [DOCUMENT_CPU] = read_quantity,     [DOCUMENT_BYTES] = read_quantity,
    [DOCUMENT_TIME] = read_quantity,    [DOCUMENT_ARRAY] = read_container,
    [DOCUMENT_OBJECT] = read_container, [DOCUMENT_NESTED] = read_nested,
    [DOCUMENT_CALL] = read_call,        [DOCUMENT_IGNORED] = read_ignored,
};

int document_value(struct document_reader *reader, const struct document_rule *rule,
                   const json_t *value, void *target)
{
    return readers[rule->kind](reader, rule, value, (char *)target + rule->offset);
}

/* What the remedy of an unknown key can name. */
struct known_keys {
    const char *keys[KNOWN_MAX];
    size_t n;
    char list[200]; /* of those that have an effect */
};

static void add_known(struct known_keys *known, const struct document_rule *rules, size_t n_rules)
{
    for (size_t i = 0; i < n_rules && known->n < KNOWN_MAX; i++) {
        size_t used = strlen(known->list);

        if (rules[i].kind == DOCUMENT_MORE) {
            add_known(known, rules[i].more->rules, rules[i].more->n);
            continue;
        }
        known->keys[known->n++] = rules[i].key;
        if (rules[i].kind != DOCUMENT_IGNORED)
            (void)snprintf(known->list + used, sizeof known->list - used, "%s%s",
                           used > 0 ? ", " : "", rules[i].key);
    }
}

static int unknown_key(struct document_reader *reader, const char *key,
                       const struct document_rule *rules, size_t n_rules)
{
    struct known_keys known = { .n = 0 };
    const char *nearest;

    add_known(&known, rules, n_rules);
    nearest = nearest_word(key, known.keys, known.n);
    (void)document_refuse(reader, "unknown key \"%.60s\"", key);
    if (nearest != NULL)
        (void)edl_error_remedy(reader->error, "did you mean \"%s\"?", nearest);
    else
        (void)edl_error_remedy(reader->error, "known here: %s", known.list);
    return EDL_EBADSPEC;
}

/* The rule of that key, or NULL. */
static const struct document_rule *find_rule(const char *key, const struct document_rule *rules,
                                             size_t n_rules)
{
    for (size_t i = 0; i < n_rules; i++) {
        const struct document_rule *rule = &rules[i];

        if (rule->kind == DOCUMENT_MORE)
            rule = find_rule(key, rule->more->rules, rule->more->n);
        else if (!streq(rule->key, key))
            rule = NULL;
        if (rule != NULL)
            return rule;
    }
    return NULL;
}

static int read_key(struct document_reader *reader, const char *key, const json_t *value,
                    const struct document_rule *rules, size_t n_rules, void *target)
{
    const struct document_rule *rule = find_rule(key, rules, n_rules);

    if (rule == NULL)
        return unknown_key(reader, key, rules, n_rules);
    if (json_is_null(value) && rule->kind != DOCUMENT_IGNORED)
        return 0;
    return document_value(reader, rule, value, target);
}

int document_read(struct document_reader *reader, const json_t *object,
                  const struct document_rule *rules, size_t n_rules, void *target)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return document_expected(reader, "an object", object);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t length = document_enter(reader, key);
        int r = read_key(reader, key, value, rules, n_rules, target);

        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    return 0;
}
