/* SPDX-License-Identifier: Apache-2.0 */
/* test_label.c - labels: their characters, their order, and which one covers which */
#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/label.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_sorted_and_replaced)
{
    struct labels labels = { 0 };
    char text[80];

    assert_int_equal(labels_parse(&labels, "zone=b", NULL), 0);
    assert_int_equal(labels_parse(&labels, "rack=r1", NULL), 0);
    assert_int_equal(labels_parse(&labels, "gpu=", NULL), 0);
    assert_int_equal(labels_parse(&labels, "rack=r2", NULL), 0);
    assert_string_equal(labels_describe(&labels, text, sizeof text), "gpu=,rack=r2,zone=b");
    assert_string_equal(labels_get(&labels, "rack"), "r2");
    assert_null(labels_get(&labels, "rac"));
}

TEST(test_refused)
{
    static const char *const bad[] = {
        "rack",
        "=x",
        "Rack=1",
        "-a=1",
        "a b=1",
        "a=b c",
        "a=\xc3\xa4",
        "a=\n",
        "abcdefghijklmnopqrstuvwxyzabcdef=32 are too many",
        "a=0123456789012345678901234567890123456789012345678901234567890123",
    };
    struct labels labels = { 0 };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };

        if (labels_parse(&labels, bad[i], &error) != -EINVAL || error.text[0] == '\0')
            fail_msg("accepted: %s", bad[i]);
    }
    assert_int_equal(labels.n, 0);
}

TEST(test_full)
{
    struct labels labels = { 0 };
    char text[16];

    for (int i = 0; i < LABELS_MAX; i++) {
        (void)snprintf(text, sizeof text, "l%d=x", i);
        assert_int_equal(labels_parse(&labels, text, NULL), 0);
    }
    assert_int_equal(labels_parse(&labels, "one-more=x", NULL), -E2BIG);
    assert_int_equal(labels_parse(&labels, "l3=y", NULL), 0); /* replacing needs no room */
}

TEST(test_fill)
{
    struct labels labels = { 0 }, more = { 0 };
    char text[120];

    (void)labels_parse(&more, "arch=x86_64", NULL);
    (void)labels_parse(&more, "os=debian-12", NULL);
    (void)labels_parse(&labels, "os=mine", NULL);
    labels_fill(&labels, &more);
    assert_string_equal(labels_describe(&labels, text, sizeof text), "arch=x86_64,os=mine");
    labels = (struct labels){ 0 };
    for (char c = 'a'; c < 'a' + LABELS_MAX - 1; c++)
        assert_int_equal(labels_set(&labels, (char[]){ c, '\0' }, "", NULL), 0);
    labels_fill(&labels, &more);
    assert_int_equal(labels.n, LABELS_MAX);
    assert_string_equal(labels_get(&labels, "arch"), "x86_64");
    assert_null(labels_get(&labels, "os"));
}

TEST(test_cover)
{
    struct labels node = { 0 }, wanted = { 0 };

    assert_true(labels_cover(&node, &wanted));
    (void)labels_parse(&node, "rack=r1", NULL);
    (void)labels_parse(&node, "gpu=a100", NULL);
    assert_true(labels_cover(&node, &wanted));
    (void)labels_parse(&wanted, "gpu=a100", NULL);
    assert_true(labels_cover(&node, &wanted));
    assert_false(labels_equal(&node, &wanted));
    (void)labels_parse(&wanted, "gpu=h100", NULL);
    assert_false(labels_cover(&node, &wanted));
    (void)labels_parse(&wanted, "gpu=a100", NULL);
    (void)labels_parse(&wanted, "rack=r1", NULL);
    assert_true(labels_equal(&node, &wanted));
}
