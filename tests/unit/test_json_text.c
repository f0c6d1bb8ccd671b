/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_text.c - the text is jansson's, for each value; EDL_SEED is printed */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/json_text.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define VALUES 3000

static uint64_t dice;

static int below(int n)
{
    return (int)random_below(&dice, (uint64_t)n);
}

static void expect_as_jansson(const json_t *value)
{
    char *expected = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t length = 0;
    char *text = json_to_text(value, &length);

    assert_non_null(expected);
    assert_non_null(text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    free(text);
    free(expected);
}

TEST(each_kind_is_written_as_by_jansson)
{
    static const char *const documents[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "1.5",
        "-2e300",
        "\"\"",
        "\"text\"",
        "\"quote \\\" and \\\\ and / and \\u007f\"",
        "\"\\u0000\\u0001\\b\\f\\n\\r\\t\\u001f\"",
        "\"\\u00e4\\u20ac\\ud83d\\ude00\"",
        "[]",
        "{}",
        "\"\\\\\"",
        "[[],{},[{}]]",
        "{\"\":1,\"a\\nb\":2,\"\\u00e4\":3,\"\\\"\":4}",
        "{\"b\":1,\"a\":[1,2.25,null,\"x\"],\"c\":{\"d\":true}}"
    };

    for (size_t i = 0; i < ELEMENTS(documents); i++) {
        json_t *value = json_loads(documents[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        assert_non_null(value);
        expect_as_jansson(value);
        json_decref(value);
    }
}

TEST(a_long_text_is_whole)
{
    json_t *array = json_array();

    for (int i = 0; i < 20000; i++)
        (void)json_array_append_new(array, json_sprintf("number %d", i));
    expect_as_jansson(array);
    json_decref(array);
}

/* What jansson reads can be a part of an answer, and is deeper there. */
TEST(what_is_as_deep_as_can_be_read_is_written)
{
    enum { DEPTH = 2047 };
    char text[2 * DEPTH + 1];
    json_t *value;

    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[2 * DEPTH] = '\0';
    value = json_loads(text, 0, NULL);
    assert_non_null(value);
    value = json_pack("{s:[{s:o}]}", "jobs", "metrics", value);
    expect_as_jansson(value);
    json_decref(value);
}

static json_t *random_string(void)
{
    static const char *const pieces[] = {
        "a", "Z",    " ",   "\"", "\\", "\n", "\x01", "\xc3\xa4", "\xf0\x9f\x98\x80",
        "/", "\x7f", "key", "0"
    };
    char text[100] = "";
    size_t used = 0;

    for (int n = below(12); n > 0; n--)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                 pieces[random_below(&dice, ELEMENTS(pieces))]);
    return json_string(text);
}

static json_t *random_value(int depth)
{
    int kind = below(depth > 0 ? 8 : 6);
    json_t *value;

    switch (kind) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(below(2));
    case 2:
        return json_integer((json_int_t)random_u64(&dice));
    case 3:
        return json_integer(below(300) - 150);
    case 4:
        return json_real((random_unit(&dice) - 0.5) * 1e6);
    case 5:
        return random_string();
    case 6:
        value = json_array();
        for (int n = below(6); n > 0; n--)
            (void)json_array_append_new(value, random_value(depth - 1));
        return value;
    default:
        value = json_object();
        for (int n = below(6); n > 0; n--) {
            json_t *key = random_string();

            (void)json_object_set_new(value, json_string_value(key), random_value(depth - 1));
            json_decref(key);
        }
        return value;
    }
}

TEST(any_value_is_written_as_by_jansson)
{
    dice = the_seed((uint64_t)time(NULL));
    for (int i = 0; i < VALUES; i++) {
        json_t *value = random_value(4);

        expect_as_jansson(value);
        json_decref(value);
    }
}

TEST(what_is_no_valid_json_is_refused)
{
    json_t *bad = json_array(), *key = json_object(), *loop = json_array();

    assert_null(json_to_text(NULL, NULL));
    (void)json_array_append_new(bad, json_string_nocheck("\xff"));
    assert_null(json_to_text(bad, NULL));
    (void)json_object_set_new_nocheck(key, "\xff", json_true());
    assert_null(json_to_text(key, NULL));
    (void)json_array_append_new(loop, json_array());
    (void)json_array_append(json_array_get(loop, 0), loop);
    assert_null(json_to_text(loop, NULL));
    (void)json_array_clear(json_array_get(loop, 0));
    json_decref(loop);
    json_decref(key);
    json_decref(bad);
}
