/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c - YAML to JSON: types, and the refusals with their places */
#include "shared/yaml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_values)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        { "", "null" },
        { "~", "null" },
        { "a: Null\nb: TRUE\nc: yes\nd: 'true'",
          "{\"a\":null,\"b\":true,\"c\":\"yes\",\"d\":\"true\"}" },
        { "[0, -17, +5, 0x1F, 0o17, 010]", "[0,-17,5,31,15,10]" },
        { "[1.5, -.5, 1e3, 1., 1.2.3, 1e, ., +, 0x, 0o8]",
          "[1.5,-0.5,1000.0,1.0,\"1.2.3\",\"1e\",\".\",\"+\",\"0x\",\"0o8\"]" },
        { "a:\n- 1\n- {b: c}\n-\n", "{\"a\":[1,{\"b\":\"c\"},null]}" },
        { "a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}" },
        { "a: !!str 12\n", "{\"a\":\"12\"}" },
        { "1: x\n", "{\"1\":\"x\"}" },
        { "a: &x 1\n", "{\"a\":1}" },
        { "{}", "{}" },
        { "9223372036854775807", "9223372036854775807" },
        { "# c\n---\na: 1\n...\n", "{\"a\":1}" },
        { "a: 50%\nb: |\n  %x\n", "{\"a\":\"50%\",\"b\":\"%x\\n\"}" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        json_t *value = NULL;
        char *text;

        if (yaml_to_json(rows[i].yaml, strlen(rows[i].yaml), NULL, &value, &error) < 0)
            fail_msg("%s: %s", rows[i].yaml, error.text);
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, rows[i].json);
        free(text);
        json_decref(value);
    }
}

TEST(test_refused)
{
    static const struct {
        const char *yaml, *text;
    } rows[] = {
        { "a: 1\na: 2", "line 2, column 1: this key is given twice: a" },
        { "a: &x 1\nb: *x", "line 2, column 4: aliases are not supported" },
        { "<<: {a: 1}", "line 1, column 1: merge keys are not supported" },
        { "? [a]\n: 1", "line 1, column 3: a key must be a plain word" },
        { "a: !!int 1", "line 1, column 4: tags are not supported: tag:yaml.org,2002:int" },
        { "a: !x {}", "line 1, column 4: tags are not supported: !x" },
        { "a: .inf", "line 1, column 4: a finite number is needed: .inf" },
        { "a: 1e999", "line 1, column 4: this number is too large: 1e999" },
        { "a: 9223372036854775808",
          "line 1, column 4: this number is too large: 9223372036854775808" },
        { "a: \"x\\0y\"", "line 1, column 4: text must not contain NUL" },
        { "\"x\\0y\": 1", "line 1, column 1: text must not contain NUL" },
        { "a\n---\nb", "line 2, column 1: only one document is expected" },
        { "%YAML 1.1\n--- a", "line 1, column 1: directives are not supported" },
        { "# c\r\n\r%TAG ! a\n--- a", "line 3, column 1: directives are not supported" },
        { "a: 1\xc2\x85%X", "line 2, column 1: directives are not supported" },
        { "a: 1\xe2\x80\xa9\xe2\x80\xa8%X", "line 3, column 1: directives are not supported" },
        { "a: \"x\n%y\"", "line 2, column 1: directives are not supported" },
        { "a: [1\n",
          "line 2, column 1: did not find expected ',' or ']': while parsing a flow sequence" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        json_t *value = NULL;

        assert_int_equal(yaml_to_json(rows[i].yaml, strlen(rows[i].yaml), NULL, &value, &error),
                         EDL_EBADSPEC);
        assert_null(value);
        assert_string_equal(error.text, rows[i].text);
    }
}

TEST(test_depth)
{
    char text[2 * YAML_DEPTH_MAX + 3] = "";
    struct edl_error error = { 0 };
    json_t *value = NULL;

    memset(text, '[', YAML_DEPTH_MAX);
    memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    assert_int_equal(yaml_to_json(text, strlen(text), NULL, &value, &error), 0);
    json_decref(value);
    memset(text, '[', YAML_DEPTH_MAX + 1);
    memset(text + YAML_DEPTH_MAX + 1, ']', YAML_DEPTH_MAX + 1);
    assert_int_equal(yaml_to_json(text, strlen(text), NULL, &value, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "line 1, column 33: more than 32 levels");
}

/* At a bound it is taken, beyond it is not; keys count as texts and not as values. */
TEST(test_bounds)
{
    static const struct document_bounds bounds = { .values = 5, .text_bytes = 4 };
    static const struct {
        const char *yaml, *text;
    } rows[] = {
        { "{a: 1, b: [2, 3]}", NULL },
        { "{a: 1, b: [2, 3, 4]}",
          "line 1, column 18: there are more values than a document may have: 5" },
        { "[{}, {}, [], {}, {}]",
          "line 1, column 18: there are more values than a document may have: 5" },
        { "{abcd: abcd}", NULL },
        { "{abcde: 1}", "line 1, column 2: this text has more bytes than one may have: 4" },
        { "a:\n  - abcde", "line 2, column 5: this text has more bytes than one may have: 4" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        json_t *value = NULL;
        int r = yaml_to_json(rows[i].yaml, strlen(rows[i].yaml), &bounds, &value, &error);

        assert_int_equal(r, rows[i].text == NULL ? 0 : EDL_EBADSPEC);
        assert_string_equal(error.text, rows[i].text == NULL ? "" : rows[i].text);
        assert_int_equal(error.remedy[0] != '\0', rows[i].text != NULL);
        json_decref(value);
    }
}

/* Forty thousand take libyaml seconds; here they take no time, and neither do percent signs that
 * begin no line. */
TEST(test_directives_cost_nothing)
{
    enum { LINES = 66000, LINE_BYTES = 16 };
    char *text = xcalloc(LINES + 1, LINE_BYTES);
    struct edl_error error = { 0 };
    json_t *value = NULL;
    uint64_t begun_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    size_t size = 0;

    for (unsigned i = 0; i < LINES; i++)
        size += (size_t)snprintf(text + size, LINE_BYTES, "%%TAG !%x! a\n", i);
    (void)stpcpy(text + size, "--- a");
    assert_int_equal(yaml_to_json(text, strlen(text), NULL, &value, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "line 1, column 1: directives are not supported");
    assert_non_null(strstr(error.remedy, "begins with %"));
    memset(text, '%', LINES);
    text[0] = 'a';
    text[LINES] = '\0';
    assert_int_equal(yaml_to_json(text, strlen(text), NULL, &value, &error), 0);
    json_decref(value);
    assert_true(clock_read_us(CLOCK_THREAD_CPUTIME_ID) - begun_us < USEC_PER_SEC);
    free(text);
}
