/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_progress.c - what a process may tell of how far it is */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/process_progress.h"

static int check(const char *text, struct edl_error *error)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    int r;

    assert_non_null(value);
    r = progress_check(value, error);
    json_decref(value);
    return r;
}

static void test_numbers_texts_and_booleans_are_taken(void **state)
{
    static const char *const good[] = {
        "{}",
        "{\"step\":1200,\"loss\":0.31,\"phase\":\"warm-up\",\"saving\":false}",
        "{\"lr.group-0_a\":1e-9}",
        "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"
        "\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1}",
        "{\"phase\":\"\\u00e9tape\"}",
    };
    struct edl_error error = { 0 };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(good); i++)
        if (check(good[i], &error) < 0)
            fail_msg("%s: %s", good[i], error.text);
}

static void test_everything_else_is_refused(void **state)
{
    static const struct {
        const char *text, *says, *at;
    } bad[] = {
        { "[1]", "is an object", "" },
        { "3", "is an object", "" },
        { "{\"\":1}", "cannot be a name", "" },
        { "{\"a b\":1}", "cannot be a name", "" },
        { "{\"a/b\":1}", "cannot be a name", "" },
        { "{\"a123456789012345678901234567890123\":1}", "cannot be a name", "" },
        { "{\"step\":[1]}", "neither a number", "/step" },
        { "{\"step\":{}}", "neither a number", "/step" },
        { "{\"step\":null}", "neither a number", "/step" },
        { "{\"phase\":\"two\\nlines\"}", "neither a number", "/phase" },
        { "{\"phase\":\"\\u001b[2J\"}", "neither a number", "/phase" },
        { "{\"phase\":\"a\\u0000b\"}", "neither a number", "/phase" },
        { "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
          "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1}",
          "17 members", "" },
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };

        if (check(bad[i].text, &error) != -EINVAL || strstr(error.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].text, error.text);
        assert_string_equal(error.pointer, bad[i].at);
    }
    (void)snprintf(text, sizeof text, "{\"phase\":\"%0129d\"}", 0);
    assert_int_equal(check(text, NULL), -EINVAL);
    (void)snprintf(text, sizeof text, "{\"phase\":\"%0128d\"}", 0);
    assert_int_equal(check(text, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_texts_and_booleans_are_taken),
        cmocka_unit_test(test_everything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
