/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_progress.c - what a process may tell of how far it is */
#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/process_progress.h"
#include "tests/unit/test.h"

static int check(const char *text, struct edl_error *error)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    int r;

    assert_non_null(value);
    r = progress_check(value, error);
    json_decref(value);
    return r;
}

TEST(test_numbers_texts_and_booleans_are_taken)
{
    static const char *const good[] = {
        "{}",
        "{\"step\":1200,\"loss\":0.31,\"phase\":\"warm-up\",\"saving\":false}",
        "{\"lr.group-0_a\":1e-9}",
        "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"
        "\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1}",
        "{\"phase\":\"\\u00e9tape\"}",
        "{\"pushes\":[]}",
        "{\"pushes\":[[0,3,120,2],[1,3,119,3]],\"step\":1}",
        "{\"pushes\":7}",
        "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"
        "\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"pushes\":[[0,3,120,2]]}",
    };
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(good); i++)
        if (check(good[i], &error) < 0)
            fail_msg("%s: %s", good[i], error.text);
}

TEST(test_everything_else_is_refused)
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
        { "{\"step\":[[0,0,0,0]]}", "neither a number", "/step" },
        { "{\"pushes\":[1]}", "rows of four numbers", "/pushes" },
        { "{\"pushes\":[[0,0,1]]}", "rows of four numbers", "/pushes" },
        { "{\"pushes\":[[0,0,1,1,1]]}", "rows of four numbers", "/pushes" },
        { "{\"pushes\":[[0,0,1,-1]]}", "rows of four numbers", "/pushes" },
        { "{\"pushes\":[[0,0,1,0.5]]}", "rows of four numbers", "/pushes" },
        { "{\"pushes\":[[0,0,1,\"\"]]}", "rows of four numbers", "/pushes" },
        { "{\"step\":null}", "neither a number", "/step" },
        { "{\"phase\":\"two\\nlines\"}", "neither a number", "/phase" },
        { "{\"phase\":\"\\u001b[2J\"}", "neither a number", "/phase" },
        { "{\"phase\":\"a\\u0000b\"}", "neither a number", "/phase" },
        { "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
          "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1}",
          "more than 16 members: 17", "" },
        { "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
          "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"pushes\":1}",
          "more than 16 members: 17", "" },
    };
    char text[200];

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

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

/* Servers of one process take turns, and none takes the others' rows away. */
TEST(test_rows_of_other_servers_stay)
{
    static const struct {
        const char *told, *before, *kept;
    } cases[] = {
        { "{\"pushes\":[[1,0,5,0]]}", "{\"pushes\":[[0,0,4,0],[1,0,4,0],[1,7,1,1]],\"step\":2}",
          "{\"pushes\":[[1,0,5,0],[0,0,4,0]]}" },
        { "{\"pushes\":[[1,0,5,0]]}", NULL, "{\"pushes\":[[1,0,5,0]]}" },
        { "{\"step\":3}", "{\"pushes\":[[0,0,4,0]]}", "{\"step\":3,\"pushes\":[[0,0,4,0]]}" },
        { "{\"step\":3}", "{\"pushes\":3}", "{\"step\":3}" },
        { "{\"step\":3}", NULL, "{\"step\":3}" },
        { "{\"pushes\":3}", "{\"pushes\":[[0,0,4,0]]}", "{\"pushes\":3}" },
        { "{\"pushes\":[[1,0,5,0]]}", "{\"pushes\":3}", "{\"pushes\":[[1,0,5,0]]}" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        json_t *told = parse(cases[i].told), *kept = parse(cases[i].kept);
        json_t *before = cases[i].before != NULL ? parse(cases[i].before) : NULL;

        progress_keep_pushes(told, before);
        assert_true(json_equal(told, kept));
        json_decref(told);
        json_decref(before);
        json_decref(kept);
    }
}

/* However many servers a process says it has. */
TEST(test_rows_are_bounded)
{
    json_t *before = NULL, *told = NULL;

    for (json_int_t shard = 0; shard < PROGRESS_PUSHES_MAX + 10; shard++) {
        told = json_pack("{s:[[I,i,i,i]]}", PROGRESS_PUSHES, shard, 0, 1, 0);
        progress_keep_pushes(told, before);
        json_decref(before);
        before = told;
    }
    assert_int_equal(json_array_size(json_object_get(told, PROGRESS_PUSHES)), PROGRESS_PUSHES_MAX);
    assert_int_equal(progress_check(told, NULL), 0);
    json_decref(told);
}
