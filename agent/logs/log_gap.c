/* SPDX-License-Identifier: Apache-2.0 */
/* log_gap.c - see log_gap.h */
#include "agent/logs/log_gap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void log_gap_begin(struct log_gap *gap, int error, bool in_line)
{
    *gap = (struct log_gap){ .error = error, .in_line = in_line };
}

void log_gap_lose(struct log_gap *gap, const char *data, size_t n)
{
    const char *end = data + n;

    if (n == 0)
        return;
    gap->bytes += n;
    gap->in_line = end[-1] != '\n';
    while ((data = memchr(data, '\n', (size_t)(end - data))) != NULL) {
        gap->lines++;
        data++;
    }
}

size_t log_gap_skip(const struct log_gap *gap, const char *data, size_t n)
{
    const char *end = gap->in_line ? memchr(data, '\n', n) : data - 1;

    return end != NULL ? (size_t)(end + 1 - data) : n;
}

void log_gap_end(struct log_gap *gap)
{
    gap->lines += gap->in_line && gap->bytes > 0;
    gap->in_line = false;
}

void log_gap_describe(const struct log_gap *gap, char ret[LOG_GAP_BYTES])
{
    (void)snprintf(ret, LOG_GAP_BYTES, "%" PRIu64 " line%s of %" PRIu64 " byte%s: %.60s",
                   gap->lines, gap->lines == 1 ? "" : "s", gap->bytes, gap->bytes == 1 ? "" : "s",
                   strerror(gap->error));
}

size_t log_gap_say(const struct log_gap *gap, bool in_line, char ret[LOG_GAP_BYTES])
{
    char what[LOG_GAP_BYTES];
    int n;

    log_gap_describe(gap, what);
    n = snprintf(ret, LOG_GAP_BYTES, "%s[edl: output is missing here, %.140s]\n",
                 in_line ? "\n" : "", what);
    return n > 0 ? (size_t)n : 0;
}
