/* SPDX-License-Identifier: Apache-2.0 */
/* test_printable.c - which characters steer the reader, and how they are shown instead */
#include <stdint.h>

#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "tests/unit/test.h"

static const struct {
    const char *text, *masked, *escaped;
} bad[] = {
    { "a\nb", "a?b", "a\\nb" },
    { "\t", "?", "\\t" },
    { "\033[2J", "?[2J", "\\x1b[2J" },
    { "\x7f", "?", "\\x7f" },
    { "\xc2\x80\xc2\x9f", "????", "\\u0080\\u009f" },
    { "\xd8\x9c", "??", "\\u061c" },         /* Arabic letter mark */
    { "\xe2\x80\x8b", "\?\?\?", "\\u200b" }, /* zero width */
    { "\xe2\x80\x8f", "\?\?\?", "\\u200f" }, /* right-to-left mark */
    { "\xe2\x80\xa8", "\?\?\?", "\\u2028" }, /* ends a line */
    { "x\xe2\x80\xaey", "x\?\?\?y", "x\\u202ey" },
    { "\xe2\x81\xa6", "\?\?\?", "\\u2066" }, /* isolates */
    { "\xe2\x81\xa9", "\?\?\?", "\\u2069" },
    { "\xef\xbb\xbf", "\?\?\?", "\\ufeff" },
    { "\xf3\xa0\x81\x81", "\?\?\?\?", "\\U000e0041" }, /* a tag */
};

/* What is text, and what is no character at all but does nothing either. */
static const char *const good[] = {
    "",
    "plain ~",
    "\xc2\xa0\xc3\xbc",
    "\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x82\xac", /* beside those above */
    "\xf0\x9f\x98\x80",
    "\xc2",
    "\xe2\x80",
    "\xe2\x80z",
    "\x80\x9b\xff",
};

TEST(test_bad)
{
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        char masked[40], escaped[40];
        _cleanup_free_ char *written = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&written, &size);

        assert_false(printable_is(bad[i].text));
        (void)snprintf(masked, sizeof masked, "%s", bad[i].text);
        printable_mask(masked, strlen(masked), "");
        assert_string_equal(masked, bad[i].masked);
        assert_int_equal(printable_escape(bad[i].text, escaped, sizeof escaped),
                         strlen(bad[i].escaped));
        assert_string_equal(escaped, bad[i].escaped);
        printable_write(out, bad[i].text, strlen(bad[i].text), "");
        (void)fclose(out);
        assert_string_equal(written, bad[i].escaped);
    }
}

TEST(test_good)
{
    for (size_t i = 0; i < ELEMENTS(good); i++) {
        char copy[40];

        assert_true(printable_is(good[i]));
        (void)snprintf(copy, sizeof copy, "%s", good[i]);
        printable_mask(copy, strlen(copy), "");
        assert_string_equal(copy, good[i]);
        (void)printable_escape(good[i], copy, sizeof copy);
        assert_string_equal(copy, good[i]);
    }
}

TEST(test_room)
{
    char text[8] = "";

    assert_int_equal(printable_escape("a\xe2\x80\xaez", text, sizeof text), 7);
    assert_string_equal(text, "a\\u202e");
    assert_int_equal(printable_escape("ab\xe2\x80\xaez", text, sizeof text), 2);
    assert_string_equal(text, "ab");
    memcpy(text, "a\0\tb", 4);
    printable_mask(text, 4, "\t");
    assert_memory_equal(text, "a?\tb", 4);
}
