/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_gap.c - what is told of lines that a disk had no room for */
#include <errno.h>
#include <string.h>

#include "agent/logs/log_gap.h"
#include "tests/unit/test.h"

static void lose(struct log_gap *gap, const char *text)
{
    log_gap_lose(gap, text, strlen(text));
}

static size_t skip_of(const struct log_gap *gap, const char *text)
{
    return log_gap_skip(gap, text, strlen(text));
}

TEST_PLAIN(it_counts_the_lines_that_are_missing)
{
    struct log_gap gap;
    char text[LOG_GAP_BYTES];
    size_t n;

    log_gap_begin(&gap, ENOSPC, true);
    lose(&gap, "end of a line\nsecond\nthi");
    lose(&gap, "");
    lose(&gap, "rd\n");
    assert_int_equal(gap.lines, 3);
    n = log_gap_say(&gap, true, text);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text,
                        "\n[edl: output is missing here, 3 lines of 27 bytes: No space left on "
                        "device]\n");
}

TEST_PLAIN(a_line_without_an_end_counts_as_well)
{
    struct log_gap gap;
    char text[LOG_GAP_BYTES];

    log_gap_begin(&gap, EDQUOT, false);
    lose(&gap, "x");
    log_gap_end(&gap);
    log_gap_describe(&gap, text);
    assert_string_equal(text, "1 line of 1 byte: Disk quota exceeded");
    log_gap_begin(&gap, EDQUOT, true); /* its end is not missing: it never had one */
    log_gap_end(&gap);
    assert_int_equal(gap.lines, 0);
}

TEST_PLAIN(a_log_goes_on_with_a_whole_line)
{
    struct log_gap gap;

    log_gap_begin(&gap, ENOSPC, true);
    assert_int_equal(skip_of(&gap, "rest\nnext\n"), 5);
    assert_int_equal(skip_of(&gap, "no end"), 6);
    lose(&gap, "rest\n");
    assert_int_equal(skip_of(&gap, "next\n"), 0);
    log_gap_begin(&gap, ENOSPC, false);
    assert_int_equal(skip_of(&gap, "next\n"), 0);
}
