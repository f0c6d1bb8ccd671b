/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_list.c - several addresses in one text */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/server_list.h"
#include "tests/unit/test.h"

TEST(test_lists)
{
    static const struct {
        const char *text, *is;
    } cases[] = {
        { "https://a:7010", "https://a:7010" },
        { "https://a:7010/", "https://a:7010" },
        { "https://a:7010,https://b:7010", "https://a:7010,https://b:7010" },
        { "https://a:7010,https://b:7010,https://a:7010/", "https://a:7010,https://b:7010" },
        { "unix:/run/x,https://b:1", "unix:/run/x,https://b:1" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct server_list list;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(server_list_parse(cases[i].text, &list, NULL), 0);
        text = server_list_text(&list);
        assert_string_equal(text, cases[i].is);
        server_list_clear(&list);
    }
}

TEST(test_texts_that_are_no_list)
{
    static const char *const bad[] = {
        "",
        ",",
        "https://a,",
        "https://a,,https://b",
        "https://a, https://b",
        "a:7010",
        "https://1,https://2,https://3,https://4,https://5,https://6,"
        "https://7,https://8,https://9"
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct server_list list;

        assert_int_equal(server_list_parse(bad[i], &list, &error), -EINVAL);
        assert_int_equal(list.n, 0);
        assert_true(error.text[0] != '\0' && error.remedy[0] != '\0');
    }
}

/* An answer is not refused for an address of a kind that a later version has. */
TEST(test_arrays_of_answers)
{
    json_t *array = json_pack("[s,s,i,s,s]", "https://a:1", "gopher://b", 7, "https://a:1/",
                              "http://10.0.0.1:7010");
    struct server_list list, other;
    json_t *again;

    server_list_read(array, &list);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.urls[0], "https://a:1");
    for (int i = 0; i < 2 * SERVERS_MAX; i++) {
        char url[32];

        (void)snprintf(url, sizeof url, "https://h%d", i);
        (void)json_array_append_new(array, json_string(url));
    }
    server_list_read(array, &other);
    assert_int_equal(other.n, SERVERS_MAX);
    assert_true(server_list_meets(&list, &other));
    assert_false(server_list_equal(&list, &other));
    again = server_list_json(&other);
    server_list_clear(&list);
    server_list_read(again, &list);
    assert_true(server_list_equal(&list, &other));
    server_list_clear(&list);
    server_list_read(NULL, &list);
    assert_int_equal(list.n, 0);
    assert_false(server_list_meets(&list, &other));
    server_list_clear(&other);
    json_decref(again);
    json_decref(array);
}

TEST(test_how_a_cluster_is_reached)
{
    static const struct {
        const char *answer, *is;
    } cases[] = {
        { "{}", "" },
        { "{\"server\": \"\"}", "" },
        { "{\"server\": \"https://a:7010\"}", "https://a:7010" },
        { "{\"server\": \"https://a:7010\", \"servers\": []}", "https://a:7010" },
        { "{\"server\": \"https://a:7010\", \"servers\": [\"https://n1:7010\", "
          "\"https://n2:7010\"]}",
          "https://n1:7010,https://n2:7010" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        json_t *answer = json_loads(cases[i].answer, 0, NULL);
        _cleanup_free_ char *text = server_list_told(answer);

        assert_string_equal(text, cases[i].is);
        json_decref(answer);
    }
}
