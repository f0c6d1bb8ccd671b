/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.c - what a program wrote last before it failed
 *
 * An interpreter ends a traceback with the error itself, and other programs say why they give up.
 * That line is worth more than an exit code to a person who asks why a job has failed. Libraries
 * may say more behind it, so a line that tells an error goes before the last one. It is the
 * program's own: bounded, made UTF-8, and without characters that would steer a terminal. */
#include "agent/supervisor/last_words.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/logs/utf8.h"
#include "agent/processes/process_dir.h"
#include "agent/supervisor/log_pump.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define LOOK_BYTES 4096

/* What torch.distributed and Python say of a variable of the world that is missing. */
static const char *const no_world[] = {
    "environment variable RANK expected",
    "environment variable WORLD_SIZE expected",
    "KeyError: 'RANK'",
    "KeyError: 'WORLD_SIZE'",
    "KeyError: 'LOCAL_RANK'",
};

/* The log is open for writing alone, and may have been moved since. */
static size_t read_end(int log_fd, char *buffer, size_t size, uint64_t *ret_offset)
{
    char path[64];
    _cleanup_close_ int fd = -1;
    struct stat st;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", log_fd);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return 0;
    *ret_offset = (uint64_t)st.st_size - MIN_OF((uint64_t)st.st_size, (uint64_t)size);
    n = pread(fd, buffer, size, (off_t)*ret_offset);
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

/* What programs say in the line that tells an error. */
static const char *const errors[] = {
    "CUDA error:",   "CUDA out of memory",
    "NCCL error",    "Segmentation fault",
    "Bus error",     "core dumped",
    "fatal error:",  "terminate called after throwing",
    "panic:",        "Assertion `",
    "out of memory", "No space left on device",
    "FATAL:",        "fatal:",
    "Fatal error",   "error while loading shared libraries",
    "MemoryError",
};

/* names_error - "ValueError: ...", "torch.cuda.OutOfMemoryError: ...", "KeyboardInterrupt" is none;
 * behind "[rank0]: " as well */
static bool names_error(const char *line, size_t n)
{
    static const char *const ends[] = { "Error:", "Exception:" };
    const char *at = line, *end;

    if (n > 0 && *at == '[' && (end = memmem(line, n, "]: ", 3)) != NULL)
        at = end + 3;
    end = memchr(at, ':', n - (size_t)(at - line));
    if (end == NULL)
        return false;
    for (const char *c = at; c < end; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_')
            return false;
    for (size_t i = 0; i < ELEMENTS(ends); i++) {
        size_t length = strlen(ends[i]);

        if ((size_t)(end + 1 - at) >= length && memcmp(end + 1 - length, ends[i], length) == 0)
            return true;
    }
    return false;
}

static bool tells_error(const char *line, size_t n)
{
    for (size_t i = 0; i < ELEMENTS(errors); i++)
        if (memmem(line, n, errors[i], strlen(errors[i])) != NULL)
            return true;
    return names_error(line, n);
}

struct words {
    const char *text;
    size_t n;
};

/* line_before - the last line with words in text, without blanks around it; *n: what is before it;
 * n 0: there is none. The beginning of text may be the middle of a line. */
static struct words line_before(const char *text, size_t *n)
{
    struct words line = { text, 0 };

    while (*n > 0 && line.n == 0) {
        size_t end = *n, first;

        while (end > 0 && is_blank(text[end - 1]))
            end--;
        for (first = end; first > 0 && text[first - 1] != '\n'; first--)
            ;
        *n = first;
        while (first < end && is_blank(text[first]))
            first++;
        if (has_words(text + first, end - first))
            line = (struct words){ text + first, end - first };
    }
    return line;
}

/* find_error - the last of so many last lines that tells an error; n 0: none does */
static struct words find_error(const char *text, size_t n, int lines)
{
    for (int i = 0; i < lines; i++) {
        struct words line = line_before(text, &n);

        if (line.n == 0 || tells_error(line.text, line.n))
            return line;
    }
    return (struct words){ text, 0 };
}

static void put(char text[LAST_WORDS_SIZE], const char *label, const struct words *words)
{
    char clean[LOOK_BYTES * UTF8_GROWTH + 1];
    size_t length;

    (void)utf8_sanitise(words->text, words->n, true, clean, &length);
    clean[length] = '\0';
    printable_mask(clean, length, "");
    if (length > 0)
        (void)snprintf(text, LAST_WORDS_SIZE, "%s%.*s", label,
                       printable_prefix(clean, LAST_WORDS_SIZE - 1 - strlen(label)), clean);
}

void last_words(int log_fd, int lines, struct last_words *ret)
{
    char end[LOOK_BYTES];
    uint64_t offset = 0;
    size_t n = read_end(log_fd, end, sizeof end, &offset), before = n;
    struct words last = line_before(end, &before), error = find_error(end, n, lines);
    const struct words *words = error.n > 0 ? &error : &last;

    *ret = (struct last_words){ .offset = offset + (uint64_t)(words->text - end) };
    put(ret->error, "", &error);
    put(ret->text, words->text == last.text ? "its last words: " : "its error: ", words);
}

static const char *find_remedy(const char *words)
{
    for (size_t i = 0; i < ELEMENTS(no_world); i++)
        if (strstr(words, no_world[i]) != NULL)
            return "an elastic role is told no RANK: submit it with --min N --max N, or as python3 "
                   "-m"
                   " edl.torchrun, or use edl.torch.Elastic";
    return NULL;
}

const char *last_words_record(const struct log_pump *pump, bool has_world, struct exit_record *ret)
{
    bool failed = ret->exit_signal == 0;
    const char *remedy;
    struct last_words words;
    size_t used;

    last_words(log_pump_log(pump), failed ? LAST_WORDS_LINES : LAST_WORDS_STOPPED_LINES, &words);
    (void)snprintf(ret->error, sizeof ret->error, "%s", words.error);
    if (words.error[0] != '\0' || failed)
        ret->error_before_us = log_pump_age(pump, words.offset);
    if (!failed || words.text[0] == '\0')
        return NULL;
    remedy = has_world ? NULL : find_remedy(words.text);
    (void)snprintf(ret->reason, sizeof ret->reason, "%s%s", remedy != NULL ? remedy : "",
                   remedy != NULL ? "; " : "");
    used = strlen(ret->reason);
    (void)snprintf(ret->reason + used, sizeof ret->reason - used, "%.*s",
                   printable_prefix(words.text, sizeof ret->reason - 1 - used), words.text);
    return remedy;
}
