/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_lines.c - which bytes of a stream are a script's lines, and when it has ended */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/ssh/ssh_lines.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define MARK "00112233445566778899aabbccddeeff"
#define BEGIN "edl-begin " MARK "\n"
#define END "\nedl-end " MARK " 3\n"

/* What was told, "|" behind each line, "<" before those that came too early. */
struct told {
    char text[20000];
    unsigned int most; /* lines that are wanted */
};

static bool on_line(void *userdata, const char *line, bool before)
{
    struct told *told = userdata;
    size_t used = strlen(told->text);

    (void)snprintf(told->text + used, sizeof told->text - used, "%s%s|", before ? "<" : "", line);
    return told->most == 0 || --told->most > 0;
}

static const struct {
    const char *stream, *told;
    bool ended;
} rows[] = {
    { BEGIN "a\nb\n" END, "a|b|", true },
    { BEGIN "a" END, "a|", true },
    { BEGIN "\n\na\n\n\n" END, "||a|||", true },
    { BEGIN END, "", true },
    { "motd\n\n" BEGIN "a\n" END, "<motd|a|", true },
    { "motd\r\n" BEGIN "a\r\n" END "daemon\n", "<motd|a|", true },
    /* without our lines there is no end */
    { "a\n" END, "<a|<|<edl-end " MARK " 3|", false },
    { BEGIN "a\n", "a|", false },
    { BEGIN "a", "a|", false },
    /* forged and broken end lines are lines */
    { BEGIN "edl-end 00 0\n" END, "edl-end 00 0|", true },
    { BEGIN "x edl-end " MARK " 0\n" END, "x edl-end " MARK " 0|", true },
    { BEGIN "edl-end " MARK " 256\nedl-end " MARK " \nedl-end " MARK "\n",
      "edl-end " MARK " 256|edl-end " MARK " |edl-end " MARK "|", false },
    { "edl-begin 00\n" BEGIN END, "<edl-begin 00|", true },
    { BEGIN "\033[2Ja\tb\xc2\x9b\n" END, "?[2Ja\tb??|", true },
};

static void run(const char *stream, size_t step, struct told *told, struct ssh_lines *lines)
{
    size_t size = strlen(stream);

    ssh_lines_begin(lines, MARK);
    for (size_t i = 0; i < size; i += step)
        assert_true(ssh_lines_feed(lines, stream + i, MIN_OF(step, size - i), on_line, told));
    assert_true(ssh_lines_flush(lines, on_line, told));
}

/* the same whole and byte by byte */
TEST(test_rows)
{
    for (size_t i = 0; i < 2 * ELEMENTS(rows); i++) {
        struct told told = { 0 };
        struct ssh_lines lines;

        run(rows[i / 2].stream, i % 2 == 0 ? 1 : SIZE_MAX / 2, &told, &lines);
        assert_string_equal(told.text, rows[i / 2].told);
        assert_int_equal(lines.ended, rows[i / 2].ended);
        assert_int_equal(lines.status, rows[i / 2].ended ? 3 : 0);
    }
}

/* the middle of a long line that looks like the end is no end */
TEST(test_long_line)
{
    char stream[3 * SSH_LINE_MAX] = BEGIN;
    struct told told = { 0 };
    struct ssh_lines lines;

    memset(stream + strlen(BEGIN), 'x', SSH_LINE_MAX);
    (void)strncat(stream, "edl-end " MARK " 0\nafter\n" END, sizeof stream - strlen(stream) - 1);
    run(stream, 7, &told, &lines);
    assert_int_equal(strcspn(told.text, "|"), SSH_LINE_MAX);
    assert_string_equal(told.text + SSH_LINE_MAX, "|edl-end " MARK " 0|after|");
    assert_true(lines.ended);
    assert_int_equal(lines.status, 3);
}

TEST(test_nul)
{
    static const char stream[] = BEGIN "a\0b\n" END;
    struct told told = { 0 };
    struct ssh_lines lines;

    ssh_lines_begin(&lines, MARK);
    assert_true(ssh_lines_feed(&lines, stream, sizeof stream - 1, on_line, &told));
    assert_string_equal(told.text, "a?b|");
    assert_true(lines.ended);
}

TEST(test_stop)
{
    struct told told = { .most = 2 };
    struct ssh_lines lines;

    ssh_lines_begin(&lines, MARK);
    assert_false(
        ssh_lines_feed(&lines, BEGIN "a\nb\nc\n", strlen(BEGIN "a\nb\nc\n"), on_line, &told));
    assert_string_equal(told.text, "a|b|");
}

TEST(test_wrap)
{
    _cleanup_free_ char *command = ssh_lines_wrap("echo 'a b'", MARK);
    _cleanup_free_ char *long_script = xcalloc(SSH_SCRIPT_MAX + 1, 1);
    char one[SSH_MARK_MAX], other[SSH_MARK_MAX];

    assert_non_null(strstr(command, " edl 'echo \\0047a b\\0047' " MARK));
    memset(long_script, 'x', SSH_SCRIPT_MAX);
    assert_null(ssh_lines_wrap(long_script, MARK));
    ssh_lines_mark(one);
    ssh_lines_mark(other);
    assert_int_equal(strlen(one), SSH_MARK_MAX - 1);
    assert_string_not_equal(one, other);
}

/* What a shell prints on its standard output for that command line; -1: it is not here. */
static int run_in(const char *shell, const char *command, char *ret, size_t size)
{
    posix_spawn_file_actions_t actions;
    char *argv[] = { (char *)(uintptr_t)shell, (char *)"-c", (char *)(uintptr_t)command, NULL };
    char *env[] = { (char *)"PATH=/usr/bin:/bin", (char *)"HOME=/proc", NULL };
    size_t used = 0;
    int ends[2], r;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0), 0);
    r = posix_spawnp(&pid, shell, &actions, NULL, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(ends[1]);
    while (r == 0 && (n = read(ends[0], ret + used, size - 1 - used)) > 0)
        used += (size_t)n;
    ret[used] = '\0';
    (void)safe_close(ends[0]);
    if (r != 0)
        return -1;
    assert_int_equal(waitpid(pid, &r, 0), pid);
    return WEXITSTATUS(r);
}

/* The account may have any shell as its login shell: newlines, "!" and backslashes come through. */
TEST(test_a_script_through_any_shell)
{
    static const char *const shells[] = { "sh", "dash", "bash", "tcsh", "fish", "zsh", "ksh" };
    static const char script[] = "a='it is'\n"
                                 "# not! so\n"
                                 "if [ ! -e /proc/none ]; then\n"
                                 "  printf '%s\\n' \"$a \\\\ \\\"here\\\" 100%\" '$HOME' `echo x`\n"
                                 "fi\n"
                                 "exit 3\n";
    _cleanup_free_ char *command = ssh_lines_wrap(script, MARK);

    for (size_t i = 0; i < ELEMENTS(shells); i++) {
        char said[1000];

        if (run_in(shells[i], command, said, sizeof said) < 0)
            continue; /* it is not here */
        if (!streq(said, BEGIN "it is \\ \"here\" 100%\n$HOME\nx\n" END))
            fail_msg("%s says: %s", shells[i], said);
    }
}
