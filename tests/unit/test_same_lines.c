/* SPDX-License-Identifier: Apache-2.0 */
/* test_same_lines.c - what many processes print alike is shown once, with their names */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/log_lines.h"
#include "client/same_lines.h"
#include "tests/unit/test.h"

#define RANKS 5
#define TRACE "Traceback\n  File x\nError: no\n"

struct reader {
    char *text; /* owned */
    size_t size;
    FILE *out;
    struct log_lines *lines;
};

static struct reader *reader_new(void)
{
    struct reader *reader = calloc(1, sizeof *reader);

    assert_non_null(reader);
    reader->out = open_memstream(&reader->text, &reader->size);
    reader->lines = log_lines_new(reader->out, &(struct log_look){ 0 });
    log_lines_fold(reader->lines);
    return reader;
}

static void says(struct reader *reader, uint64_t rank, uint64_t incarnation, const char *text)
{
    const struct log_who who = { .role = "trainer", .index = rank, .incarnation = incarnation };

    log_lines_add(reader->lines, &who, &(struct log_piece){ .data = text, .size = strlen(text) });
}

static void ends_with(struct reader *reader, const char *expected)
{
    assert_null(log_lines_free(reader->lines));
    (void)fclose(reader->out);
    assert_string_equal(reader->text, expected);
    free(reader->text);
    free(reader);
}

TEST(test_ranks_that_fail_alike)
{
    struct reader *reader = reader_new();

    for (uint64_t rank = 0; rank < RANKS; rank++)
        says(reader, rank, 1, TRACE);
    assert_true(log_lines_untold(reader->lines));
    ends_with(reader, "[trainer-0] Traceback\n[trainer-0]   File x\n[trainer-0] Error: no\n"
                      "[trainer-1, trainer-2, trainer-3 and 1 more] the same, up to: Error: no\n");
}

TEST(test_a_program_that_fails_again)
{
    struct reader *reader = reader_new();

    says(reader, 0, 1, TRACE);
    says(reader, 0, 2, TRACE);
    says(reader, 0, 3, TRACE);
    ends_with(reader, "[trainer-0] Traceback\n[trainer-0]   File x\n[trainer-0] Error: no\n"
                      "[trainer-0] the same, up to: Error: no\n"
                      "[trainer-0] the same, up to: Error: no\n");
}

/* Repeated lines are told of before a new one, and the lines of a process keep their order. */
TEST(test_order_is_kept)
{
    struct reader *reader = reader_new();

    says(reader, 0, 1, "begin\nloss 3\n");
    says(reader, 1, 1, "begin\nloss 4\n");
    says(reader, 2, 1, "begin\n");
    says(reader, 0, 1, "end\n");
    says(reader, 2, 1, "end\n");
    says(reader, 1, 1, "end\n");
    ends_with(reader, "[trainer-0] begin\n[trainer-0] loss 3\n[trainer-1] begin\n"
                      "[trainer-1] loss 4\n[trainer-2] begin\n[trainer-0] end\n"
                      "[trainer-1, trainer-2] end\n");
}

/* Dots, empty lines and counters of one process are its own. */
TEST(test_what_one_process_repeats_is_shown)
{
    struct reader *reader = reader_new();

    says(reader, 0, 1, ".\n\n.\n");
    says(reader, 0, 1, ".\n");
    says(reader, 1, 1, "\n");
    ends_with(reader, "[trainer-0] .\n[trainer-0] \n[trainer-0] .\n[trainer-0] .\n[trainer-1] \n");
}

TEST(test_told_when_nothing_more_comes)
{
    struct reader *reader = reader_new();

    says(reader, 0, 1, "ready\n");
    says(reader, 1, 1, "ready\n");
    log_lines_tell(reader->lines);
    assert_false(log_lines_untold(reader->lines));
    says(reader, 0, 1, "go\n");
    says(reader, 1, 1, "go\n");
    log_lines_tell(reader->lines);
    ends_with(reader, "[trainer-0] ready\n[trainer-1] ready\n[trainer-0] go\n[trainer-1] go\n");
}

/* Of lines that are kept no more, and of those that are too long, nothing is known. */
TEST(test_nothing_is_kept_beyond_its_number)
{
    static char text[SAME_LINE_MAX_BYTES + 2];
    struct same_lines lines = { 0 };
    struct same_block block = { 0 };
    char number[16];

    for (int i = 0; i < 3 * SAME_LINES_KEPT; i++) {
        (void)snprintf(number, sizeof number, "%d", i);
        same_lines_add(&lines, 1, 1, number, strlen(number));
    }
    assert_null(same_lines_of(&lines, 2 * SAME_LINES_KEPT));
    assert_non_null(same_lines_of(&lines, 2 * SAME_LINES_KEPT + 1));
    assert_false(same_lines_take(&lines, &block, 2, 1, "1", 1));
    assert_true(same_lines_take(&lines, &block, 2, 1, "150", 3));
    assert_true(same_lines_take(&lines, &block, 2, 1, "151", 3));
    assert_false(same_lines_take(&lines, &block, 2, 1, "153", 3));
    memset(text, 'x', sizeof text);
    same_lines_add(&lines, 1, 1, text, sizeof text);
    block = (struct same_block){ 0 };
    assert_false(same_lines_take(&lines, &block, 2, 1, text, sizeof text));
    assert_false(same_lines_take(&lines, &block, 2, 1, "", 0));
    same_lines_clear(&lines);
}
