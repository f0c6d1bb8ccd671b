/* SPDX-License-Identifier: Apache-2.0 */
/* test_ignore_rules.c - rules of .gitignore files, one after the other
 *
 * Git itself gave the expected results; test_workspace_walk.c goes on asking. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/glob_pattern.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define OUT IGNORE_OUT
#define IN IGNORE_IN
#define SILENT IGNORE_SILENT

struct sample {
    const char *file, *path; /* a path with "/" behind is a folder's */
    enum ignore_verdict verdict;
};

static const struct sample samples[] = {
    /* names, wherever they are */
    { "a.o", "a.o", OUT },
    { "a.o", "x/y/a.o", OUT },
    { "a.o", "a.obj", SILENT },
    { "a", "a/", OUT },
    { "*.o", "x/a.o", OUT },
    { "*.o", ".o", OUT },
    { "*", "a", OUT },
    { "a*", "x/ab", OUT },
    { "a*", "x/ba", SILENT },
    { "a?c", "abc", OUT },
    { "a?c", "ac", SILENT },
    { "a**c", "abbc", OUT },
    { "**", "x/y", OUT },
    { "**a", "x/ba", OUT },
    /* folders only */
    { "a/", "a/", OUT },
    { "a/", "a", SILENT },
    { "a/", "x/a/", OUT },
    { "a//", "a/", SILENT },
    { "/", "a/", SILENT },
    { "//", "a/", SILENT },
    /* tied to the folder of the file */
    { "/a", "a", OUT },
    { "/a", "x/a", SILENT },
    { "x/a", "x/a", OUT },
    { "x/a", "y/x/a", SILENT },
    { "/x/a/", "x/a/", OUT },
    { "x/*", "x/a", OUT },
    { "x/*", "x/y/a", SILENT },
    { "/*", "a", OUT },
    { "/*", "x/a", SILENT },
    { "x/a?b", "x/a/b", SILENT },
    { "x/a[/]b", "x/a/b", SILENT },
    { "x/a[!y]b", "x/a/b", SILENT },
    { "*/a", "x/a", OUT },
    { "*/a", "x/y/a", SILENT },
    { "*/a", "a", SILENT },
    /* any number of folders */
    { "**/a", "a", OUT },
    { "**/a", "x/y/a", OUT },
    { "**/a", "ba", SILENT },
    { "**/x/a", "y/x/a", OUT },
    { "x/**", "x/a", OUT },
    { "x/**", "x/y/a", OUT },
    { "x/**", "x/", SILENT },
    { "x/**/a", "x/a", OUT },
    { "x/**/a", "x/y/z/a", OUT },
    { "x/**/a", "xy/a", SILENT },
    { "x/**/**/a", "x/a", OUT },
    { "/**/a", "x/a", OUT },
    { "**/**", "a", OUT },
    { "x/y**", "x/yz", OUT },
    { "x/*y**z", "x/ay/z", SILENT },
    { "x/***/a", "x/y/z/a", OUT },
    { "x**/a", "xy/z/a", OUT }, /* of git, not of its manual page */
    { "?**/a", "xy/z/a", SILENT },
    /* brought back; the last one counts */
    { "*.o\n!a.o", "a.o", IN },
    { "!a.o\n*.o", "a.o", OUT },
    { "!a.o", "a.o", IN },
    { "!a/", "a", SILENT },
    { "!", "a", SILENT },
    { "!!a", "!a", IN },
    { "\\!a", "!a", OUT },
    /* comments, blanks, line ends */
    { "#a", "#a", SILENT },
    { "\\#a", "#a", OUT },
    { " #a", " #a", OUT },
    { "\n\na\n\n", "a", OUT },
    { "a  ", "a", OUT },
    { "a\\ ", "a ", OUT },
    { "a\\  ", "a ", OUT },
    { "a\\\\ ", "a\\", OUT },
    { "a ", "a ", SILENT },
    { "a\t", "a", SILENT },
    { "   ", " ", SILENT },
    { "a b", "a b", OUT },
    { "a\r\nb\r\n", "a", OUT },
    { "b\r", "b", OUT },
    { "a\r\r", "a\r", OUT },
    { "\xef\xbb\xbf"
      "a",
      "a", OUT },
    /* what is escaped */
    { "\\a", "a", OUT },
    { "\\*", "*", OUT },
    { "\\*", "a", SILENT },
    { "a\\", "a\\", SILENT },
    { "a\\", "a", SILENT },
    { "x\\/a", "x/a", OUT },
    { "a\\/", "a/", SILENT },
    { "**\\/a", "x/a", OUT },
    { "**\\/a", "a", SILENT },
    /* sets */
    { "[ab]", "b", OUT },
    { "[ab]", "c", SILENT },
    { "[!ab]", "c", OUT },
    { "[^ab]", "a", SILENT },
    { "[a-c]x", "bx", OUT },
    { "[c-a]x", "bx", SILENT },
    { "[a-]", "-", OUT },
    { "[-a]", "-", OUT },
    { "[]a]", "]", OUT },
    { "[!]a]", "]", SILENT },
    { "[!]a]", "b", OUT },
    { "[]-a]", "^", OUT },
    { "[a\\]b]", "]", OUT },
    { "[\\a-\\c]", "b", OUT },
    { "[a-c-e]", "d", SILENT },
    { "[a-c-e]", "-", OUT },
    { "[", "[", SILENT },
    { "[a", "[a", SILENT },
    { "[]", "[]", SILENT },
    { "[!]", "[!]", SILENT },
    { "[a\\", "a", SILENT },
    { "[a-", "a", SILENT },
    { "[[:digit:]]", "7", OUT },
    { "[[:digit:]]", "x", SILENT },
    { "[![:digit:]]", "x", OUT },
    { "[[:digit:]a-c]", "b", OUT },
    { "[[:upper:][:digit:]]", "Q", OUT },
    { "[[:no:]]", "n", SILENT },
    { "[[:digit]", "[", OUT },
    { "[[:digit]", ":", OUT },
    { "[[:digit:]", "7", SILENT },
    { "[[:]]", ":]", OUT },
    { "[[::]]", ":", SILENT },
    { "[a-[:digit:]]", "7", SILENT },
    { "\xc3[\xa0-\xbf]", "\xc3\xa9", OUT },
};

static enum ignore_verdict judge(const char *file, const char *path)
{
    _cleanup_free_ char *plain = xstrdup(path);
    size_t n = strlen(plain);
    bool folder = n > 1 && plain[n - 1] == '/';
    struct ignore_rules *rules = NULL;
    enum ignore_verdict verdict;

    if (folder)
        plain[n - 1] = '\0';
    assert_int_equal(ignore_rules_parse(file, strlen(file), &rules, NULL), 0);
    verdict = ignore_rules_judge(rules, plain, folder, NULL);
    (void)ignore_rules_free(rules);
    return verdict;
}

TEST(each_rule_means_what_git_means)
{
    for (size_t i = 0; i < ELEMENTS(samples); i++) {
        enum ignore_verdict verdict = judge(samples[i].file, samples[i].path);

        if (verdict != samples[i].verdict)
            fail_msg("\"%s\" says %d of %s, not %d", samples[i].file, verdict, samples[i].path,
                     samples[i].verdict);
    }
}

TEST(the_line_that_counts_is_told)
{
    static const char file[] = "# what is built\n*.o\n\n!main.o\n";
    struct ignore_rules *rules = NULL;
    size_t line = 0;

    assert_int_equal(ignore_rules_parse(file, strlen(file), &rules, NULL), 0);
    assert_int_equal(ignore_rules_judge(rules, "x.o", false, &line), IGNORE_OUT);
    assert_int_equal(line, 2);
    assert_int_equal(ignore_rules_judge(rules, "main.o", false, &line), IGNORE_IN);
    assert_int_equal(line, 4);
    (void)ignore_rules_free(rules);
    assert_int_equal(ignore_rules_judge(NULL, "x", false, NULL), IGNORE_SILENT);
}

/* What ends a C string ends a line of git too. */
TEST(a_zero_byte_ends_a_line)
{
    static const char file[] = "a\0b\nc";
    struct ignore_rules *rules = NULL;

    assert_int_equal(ignore_rules_parse(file, sizeof file - 1, &rules, NULL), 0);
    assert_int_equal(ignore_rules_judge(rules, "a", false, NULL), IGNORE_OUT);
    assert_int_equal(ignore_rules_judge(rules, "c", false, NULL), IGNORE_OUT);
    (void)ignore_rules_free(rules);
}

TEST(a_line_that_is_too_long_is_named)
{
    _cleanup_free_ char *file = xcalloc(1, GLOB_BYTES_MAX + 8);
    struct ignore_rules *rules = NULL;
    struct edl_error error = { 0 };

    memset(file, 'x', GLOB_BYTES_MAX + 4);
    file[0] = 'a';
    file[1] = '\n';
    assert_int_equal(ignore_rules_parse(file, GLOB_BYTES_MAX + 2, &rules, &error), 0);
    rules = ignore_rules_free(rules);
    assert_int_equal(ignore_rules_parse(file, GLOB_BYTES_MAX + 4, &rules, &error), -EINVAL);
    assert_string_equal(error.text, "line 2 is longer than 4096 bytes");
}

TEST(a_line_for_one_path_leaves_out_that_path)
{
    static const char *const paths[] = { "a",    "data/x.bin", "!a",  "#a",    "a*b",    "[x]",
                                         "a?\\", "end ",       "a b", "  ",    "x/ /y ", "**/a",
                                         "a\nb", "a\r",        "é",   "a\tb\t" };
    char line[64], shorter[4];

    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        _cleanup_free_ char *deeper = text_format("x/%s", paths[i]);
        _cleanup_free_ char *folder = text_format("%s/", paths[i]);

        (void)ignore_rules_line(paths[i], false, line, sizeof line);
        if (judge(line, paths[i]) != IGNORE_OUT || judge(line, deeper) != IGNORE_SILENT)
            fail_msg("\"%s\" is not for %s alone", line, paths[i]);
        (void)ignore_rules_line(paths[i], true, line, sizeof line);
        assert_int_equal(judge(line, paths[i]), IGNORE_SILENT);
        assert_int_equal(judge(line, folder), IGNORE_OUT);
    }
    assert_true(strlen(ignore_rules_line("abcdef", true, shorter, sizeof shorter)) <
                sizeof shorter);
}

/* One step for each byte and token: 16 million. Trying each way would end with the universe. */
TEST(no_pattern_hangs)
{
    static const char *const pieces[] = { "*a", "**/", "?*", "[a-z]*" };
    _cleanup_free_ char *path = xcalloc(1, 4001);
    char pattern[GLOB_BYTES_MAX + 1];

    memset(path, 'a', 4000);
    for (size_t i = 0; i < ELEMENTS(pieces); i++) {
        struct glob_pattern *glob;
        size_t n = 0, length = strlen(pieces[i]);

        for (; n + length < sizeof pattern - 2; n += length)
            memcpy(pattern + n, pieces[i], length);
        pattern[n++] = 'b';
        glob = glob_pattern_new(pattern, n);
        assert_false(glob_pattern_matches(glob, path, 4000));
        (void)glob_pattern_free(glob);
    }
}
