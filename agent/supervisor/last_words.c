/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.c - what a program wrote last before it failed
 *
 * An interpreter ends a traceback with the error itself, and other programs say why they give up.
 * That line is worth more than an exit code to a person who asks why a job has failed. It is the
 * program's own: bounded, made UTF-8, and without characters that would steer a terminal. */
#include "agent/supervisor/last_words.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/logs/utf8.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define LOOK_BYTES 2048

/* What torch.distributed and Python say of a variable of the world that is missing. */
static const char *const no_world[] = {
    "environment variable RANK expected",
    "environment variable WORLD_SIZE expected",
    "KeyError: 'RANK'",
    "KeyError: 'WORLD_SIZE'",
    "KeyError: 'LOCAL_RANK'",
};

/* The log is open for writing alone, and may have been moved since. */
static size_t read_end(int log_fd, char *buffer, size_t size)
{
    char path[64];
    _cleanup_close_ int fd = -1;
    struct stat st;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", log_fd);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return 0;
    n = pread(fd, buffer, size, st.st_size > (off_t)size ? st.st_size - (off_t)size : 0);
    return n > 0 ? (size_t)n : 0;
}

static bool is_blank(char byte)
{
    return byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t' || byte == '\0';
}

/* Some programs draw a line below what they say. */
static bool has_words(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)line[i]) || (line[i] & 0x80) != 0)
            return true;
    return false;
}

bool last_words(int log_fd, char *buffer, size_t size)
{
    char end[LOOK_BYTES], line[LOOK_BYTES * UTF8_GROWTH + 1];
    size_t n = read_end(log_fd, end, sizeof end);
    size_t first, length;

    for (;;) {
        while (n > 0 && is_blank(end[n - 1]))
            n--;
        for (first = n; first > 0 && end[first - 1] != '\n'; first--)
            ;
        if (first == 0 || has_words(end + first, n - first))
            break;
        n = first;
    }
    while (first < n && is_blank(end[first]))
        first++;
    (void)utf8_sanitise(end + first, n - first, true, line, &length);
    line[length] = '\0';
    printable_mask(line, length, "");
    (void)snprintf(buffer, size, "%.*s", printable_prefix(line, size - 1), line);
    return *buffer != '\0';
}

const char *last_words_remedy(const char *words, bool has_world)
{
    for (size_t i = 0; !has_world && i < ELEMENTS(no_world); i++)
        if (strstr(words, no_world[i]) != NULL)
            return "an elastic role is told no RANK: submit it with --min N --max N, or as python3 "
                   "-m"
                   " edl.torchrun, or use edl.torch.Elastic";
    return NULL;
}
