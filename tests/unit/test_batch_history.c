/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch_history.c - from which step on a training had how many micro-batches */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/batch_history.h"
#include "shared/error.h"
#include "shared/macro.h"

TEST(test_a_history_is_a_text)
{
    static struct batch_history history, back;
    char *text;

    assert_int_equal(batch_history_at(&history, 1), 0);
    for (uint64_t step = 1; step <= 300; step++)
        batch_history_note(&history, step, step < 40 ? 4 : step < 241 ? 8 : 6);
    assert_int_equal(history.n, 3);
    text = batch_history_to_text(&history);
    assert_string_equal(text, "1 4\n40 8\n241 6\n");
    assert_int_equal(batch_history_of_text(text, 8, &back, NULL), 0);
    assert_memory_equal(&back, &history, sizeof back);
    free(text);
    assert_int_equal(batch_history_at(&back, 1), 4);
    assert_int_equal(batch_history_at(&back, 39), 4);
    assert_int_equal(batch_history_at(&back, 40), 8);
    assert_int_equal(batch_history_at(&back, UINT64_MAX), 6);
}

/* One with more changes than are kept is told as none, and never as another one. */
TEST(test_a_history_that_is_too_long)
{
    static struct batch_history history;
    char *text;

    for (uint64_t step = 1; step <= BATCH_CHANGES_MAX; step++)
        batch_history_note(&history, step, 1 + step % 2);
    text = batch_history_to_text(&history);
    assert_non_null(text);
    free(text);
    for (uint64_t step = 1; step < 5; step++)
        batch_history_note(&history, BATCH_CHANGES_MAX + step, 3 + step % 2);
    assert_int_equal(history.n, BATCH_CHANGES_MAX + 4);
    assert_null(batch_history_to_text(&history));
}

TEST(test_texts_that_are_no_history)
{
    static const struct {
        const char *text, *error;
    } bad[] = { { "", "no line" },
                { "2 4\n", "line 1" },
                { "1 0\n", "line 1" },
                { "1 9\n", "line 1" },
                { "1 4", "line 1" },
                { "1 4\n1 5\n", "line 2" },
                { "1 4\n9 5 6\n", "line 2" },
                { "1 4\n-3 5\n", "line 2" },
                { "1  4\n", "line 1" },
                { "1 99999999999999999999\n", "line 1" } };
    static struct batch_history history;
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        error = (struct edl_error){ 0 };
        assert_int_equal(batch_history_of_text(bad[i].text, 8, &history, &error), -EINVAL);
        if (strstr(error.text, bad[i].error) == NULL)
            fail_msg("\"%s\" is not in: %s", bad[i].error, error.text);
    }
}
