/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_lines.h - a script's output, from its own first line to its own last one
 *
 * A login shell may print before a script begins, a daemon may print after it has ended, and a lost
 * connection looks like success. So a wrapper tells beginning and end on both streams, with a mark
 * that the script's output cannot know. Only the lines between are the script's. Used by: both
 * transports. Tests: tests/unit/test_ssh_lines.c, tests/fuzz/fuzz_ssh_lines.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SSH_MARK_MAX 33       /* 16 random bytes as digits, with the end of the text */
#define SSH_LINE_MAX 4096     /* a longer line is told in pieces */
#define SSH_SCRIPT_MAX 100000 /* an argument of a program has at most 128 KiB */

/* One stream of a script that runs. */
struct ssh_lines {
    char mark[SSH_MARK_MAX];
    char line[SSH_LINE_MAX + 1];
    size_t used;
    bool piece; /* what is in line goes on a line that was told in part */
    bool blank; /* an empty line that may be the end line's own */
    bool begun, ended;
    int status; /* once ended */
};

/* ssh_lines_told - one line, terminated, without control characters. before: it came before the
 * script began. false: no more is to be told */
typedef bool ssh_lines_told(void *userdata, const char *line, bool before);

void ssh_lines_begin(struct ssh_lines *lines, const char *mark);

/* ssh_lines_feed - bytes as they come; what follows the end line is dropped. false: told said so */
bool ssh_lines_feed(struct ssh_lines *lines, const char *bytes, size_t size, ssh_lines_told *told,
                    void *userdata);

/* ssh_lines_flush - no more bytes will come: tells what has no newline. false: told said so */
bool ssh_lines_flush(struct ssh_lines *lines, ssh_lines_told *told, void *userdata);

/* ssh_lines_mark - a new one; all else here is pure */
void ssh_lines_mark(char ret[SSH_MARK_MAX]);

/* ssh_lines_wrap - the remote command line that runs a script of sh between two lines of ours; the
 * caller's. NULL: it is longer than SSH_SCRIPT_MAX with its quotes */
char *ssh_lines_wrap(const char *script, const char *mark);
