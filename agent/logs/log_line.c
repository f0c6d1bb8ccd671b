/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.c - see log_line.h */
#include "agent/logs/log_line.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"

#define STEP_BYTES UINT64_C(16384)

static ssize_t read_step(int fd, char *data, uint64_t from, uint64_t size)
{
    ssize_t n;

    do
        n = pread(fd, data, (size_t)size, (off_t)from);
    while (n == -1 && errno == EINTR);
    return n;
}

/* look_back - *ret: behind the line end that is nearest before offset, or the log's first byte */
static bool look_back(int fd, uint64_t offset, uint64_t *ret)
{
    char data[STEP_BYTES];
    uint64_t least = offset - MIN_OF(offset, LOG_LINE_BYTES);

    for (uint64_t to = offset; to > least;) {
        uint64_t from = to - MIN_OF(to - least, STEP_BYTES);
        ssize_t n = read_step(fd, data, from, to - from);
        const char *end = n > 0 ? memrchr(data, '\n', (size_t)n) : NULL;

        if (end != NULL) {
            *ret = from + (uint64_t)(end + 1 - data);
            return true;
        }
        to = from;
    }
    *ret = 0;
    return least == 0;
}

static uint64_t look_on(int fd, uint64_t offset)
{
    char data[STEP_BYTES];

    for (uint64_t at = offset; at < offset + LOG_LINE_BYTES;) {
        ssize_t n = read_step(fd, data, at, sizeof data);
        const char *end = n > 0 ? memchr(data, '\n', (size_t)n) : NULL;

        if (end != NULL)
            return at + (uint64_t)(end + 1 - data);
        if (n <= 0)
            break;
        at += (uint64_t)n;
    }
    return offset;
}

uint64_t log_line_begin(int fd, uint64_t offset)
{
    uint64_t begin;

    return look_back(fd, offset, &begin) ? begin : look_on(fd, offset);
}
