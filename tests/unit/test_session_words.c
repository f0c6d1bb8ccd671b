/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_words.c - words and keys of a person who looks into a process: names, ports, ~.; and
 * its output at a terminal */
#include "client/escape_keys.h"
#include "client/forward.h"
#include "client/output_mask.h"
#include "client/session_name.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_a_process_is_named_as_it_is_printed)
{
    static const struct {
        const char *word, *job, *process, *meant; /* job NULL: refused, with a remedy of that */
    } cases[] = {
        { "train", "train", NULL, NULL },
        { "7", "7", NULL, NULL },
        { "train.trainer-1", "train", "trainer-1", NULL },
        { "ann/train.trainer-12", "ann/train", "trainer-12", NULL },
        { "ann.b/train", "ann.b/train", NULL, NULL },
        { "sweep-3.my-role-0", "sweep-3", "my-role-0", NULL },
        { "train:trainer-1", NULL, NULL, "train.trainer-1" },
        { "train/trainer-1", "train/trainer-1", NULL, NULL }, /* a user's job, for all we know */
        { "ann/train/trainer-1", NULL, NULL, "ann/train.trainer-1" },
        { "train.trainer", NULL, NULL, "train.trainer-0" },
        { "train.", NULL, NULL, "train.trainer-1" },
        { ".trainer-1", NULL, NULL, "train.trainer-1" },
        { "", NULL, NULL, "JOB.ROLE-N" },
        { "train.trainer-", NULL, NULL, "-0" },
        { "train.trainer-1x", NULL, NULL, "-0" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct session_name name = { 0 };
        struct edl_error error = { 0 };
        int r = session_name_read(cases[i].word, &name, &error);

        if (cases[i].job == NULL) {
            if (r != -EINVAL || strstr(error.remedy, cases[i].meant) == NULL)
                fail_msg("%s: %d, %s", cases[i].word, r, error.remedy);
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(name.job, cases[i].job);
        if (cases[i].process != NULL)
            assert_string_equal(name.process, cases[i].process);
        else
            assert_null(name.process);
        session_name_clear(&name);
    }
}

TEST(test_a_host_ends_in_edl)
{
    struct session_name name = { 0 };
    struct edl_error error = { 0 };

    assert_int_equal(session_name_read_host("train.trainer-1.edl", &name, &error), 0);
    assert_string_equal(name.job, "train");
    assert_string_equal(name.process, "trainer-1");
    session_name_clear(&name);
    assert_int_equal(session_name_read_host("train.edl", &name, &error), 0);
    assert_null(name.process);
    session_name_clear(&name);
    assert_int_equal(session_name_read_host("train", &name, &error), -EINVAL);
    assert_int_equal(session_name_read_host(".edl", &name, &error), -EINVAL);
}

TEST(test_a_place_is_told_from_a_file_here)
{
    struct session_place place = { 0 };
    struct edl_error error = { 0 };

    assert_true(session_place_is("train:out/log"));
    assert_true(session_place_is("ann/train.trainer-1:out"));
    assert_false(session_place_is("out"));
    assert_false(session_place_is("./a:b"));
    assert_false(session_place_is("/tmp/a:b"));
    assert_int_equal(session_place_read("train.trainer-1:a:b", &place, &error), 0);
    assert_string_equal(place.name.process, "trainer-1");
    assert_string_equal(place.path, "a:b");
    session_name_clear(&place.name);
    assert_int_equal(session_place_read("train:", &place, &error), -EINVAL);
}

TEST(test_ports)
{
    static const struct {
        const char *text;
        int local, remote; /* -1: refused */
    } cases[] = {
        { "8888", 8888, 8888 }, { "80:8888", 80, 8888 },   { ":80", 0, 80 },
        { "0:80", 0, 80 },      { "65535", 65535, 65535 }, { "65536", -1, 0 },
        { "0", -1, 0 },         { "80:", -1, 0 },          { "", -1, 0 },
        { "a", -1, 0 },         { "1:2:3", -1, 0 },        { "-1", -1, 0 },
        { "80:0", -1, 0 },      { "000080", 80, 80 },      { "99999:80", -1, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct forward_port port = { 0 };
        struct edl_error error = { 0 };
        int r = forward_port_read(cases[i].text, &port, &error);

        if ((r < 0) != (cases[i].local < 0) || (r < 0 && error.remedy[0] == '\0'))
            fail_msg("%s: %d", cases[i].text, r);
        if (r == 0) {
            assert_int_equal(port.local, cases[i].local);
            assert_int_equal(port.remote, cases[i].remote);
        }
    }
}

/* What goes on to the program of what is typed, however it is cut; "<end>" and "<help>" are wishes.
 */
static void type(const char *typed, size_t piece, char *ret)
{
    static const char *const wishes[] = {
        [ESCAPE_NONE] = "", [ESCAPE_END] = "<end>", [ESCAPE_HELP] = "<help>"
    };
    struct escape_keys keys;

    escape_keys_begin(&keys);
    ret[0] = '\0';
    for (size_t from = 0; from < strlen(typed); from += piece) {
        size_t size = MIN_OF(piece, strlen(typed) - from), at = 0;

        while (at < size) {
            char out[128];
            size_t n = 0;
            enum escape_wish wish = escape_keys_take(&keys, typed + from, size, &at, out, &n);

            assert_true(n <= size + 1);
            (void)strncat(ret, out, n);
            (void)strncat(ret, wishes[wish], 8);
        }
    }
}

TEST(test_a_tilde_counts_at_the_start_of_a_line)
{
    static const char *const cases[][2] = {
        { "ls\r", "ls\r" },       { "~.", "<end>" },         { "ls\r~.", "ls\r<end>" },
        { "ls ~.", "ls ~." },     { "~/x\r", "~/x\r" },      { "~~.\r", "~.\r" },
        { "\r~?x", "\r<help>x" }, { "~?~.", "<help><end>" }, /* nothing of the line went out */
        { "a\n~.", "a\n<end>" },  { "~\r~.", "~\r<end>" },   { "\x1b[A~.", "\x1b[A~." },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        for (size_t piece = 1; piece < 8; piece++) {
            char got[256];

            type(cases[i][0], piece, got);
            if (strcmp(got, cases[i][1]) != 0)
                fail_msg("case %zu in pieces of %zu: \"%s\"", i, piece, got);
        }
}

TEST(test_output_steers_no_terminal)
{
    static const char *const cases[][2] = {
        { "a\tb\r\n\xc3\xbc \xe2\x9c\x93", "a\tb\r\n\xc3\xbc \xe2\x9c\x93" },
        { "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m" },
        { "\x1b]2;title\x07 \x1b]52;c;eA==\x1b\\", "\\x1b]2;title\\x07 \\x1b]52;c;eA==\\x1b\\" },
        { "\x1b[6n\x1b[2J\x1b"
          "c\x1b[?25m",
          "\\x1b[6n\\x1b[2J\\x1b"
          "c\\x1b[?25m" },
        { "\xc2\x9b"
          "31m\xe2\x80\xae"
          "x\x08\x7f",
          "\\u009b31m\\u202ex\\x08\\x7f" },
        { "\xff\xc2"
          "A\xe2\x80",
          "\xff\xc2"
          "A\xe2\x80" }, /* bytes of no character */
        { "end\x1b", "end\\x1b" },
        { "end\x1b[31", "end\\x1b[31" },
        { "\x1b[1111111111111111111111111111111111m", "\\x1b[1111111111111111111111111111111111m" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        for (size_t piece = 1; piece < 64; piece++) {
            struct output_mask mask = { 0 };
            size_t size = strlen(cases[i][0]), n;
            char got[256] = "";

            for (size_t at = 0; at < size; at += piece) {
                bool at_end = at + piece >= size;
                char *shown =
                    output_mask_take(&mask, cases[i][0] + at, MIN_OF(piece, size - at), at_end, &n);

                (void)strncat(got, shown, n);
                free(shown);
            }
            if (strcmp(got, cases[i][1]) != 0)
                fail_msg("case %zu in pieces of %zu: \"%s\"", i, piece, got);
        }
}
