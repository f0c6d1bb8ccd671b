/* SPDX-License-Identifier: Apache-2.0 */
/* log_times.c - see log_times.h */
#include "agent/logs/log_times.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"
#include "shared/text_format.h"

#define SUFFIX ".log"
#define AGE_PART 200 /* of its age is how far a mark may be from the next */

char *log_times_name(const char *log_path)
{
    size_t n = strlen(log_path), suffix = strlen(SUFFIX);

    if (n > suffix && streq(log_path + n - suffix, SUFFIX))
        n -= suffix;
    return text_format("%.*s" LOG_TIMES_SUFFIX, (int)n, log_path);
}

/* thin - marks that are close to the one before for their age go; if that are too few, every other
 * one. The first stays. */
static void thin(struct log_times *times, uint64_t wall_us)
{
    struct log_time *marks = times->marks;
    size_t kept = 1;

    for (size_t i = 1; i < times->n; i++) {
        uint64_t age_us = wall_us - MIN_OF(wall_us, marks[i].wall_us);

        if (marks[i].wall_us - marks[kept - 1].wall_us >=
            MAX_OF(age_us / AGE_PART, LOG_TIMES_EVERY_US))
            marks[kept++] = marks[i];
        else
            marks[kept - 1].last_us = marks[i].last_us;
    }
    if (kept > LOG_TIMES_MAX / 4 * 3) {
        for (size_t i = 0; 2 * i < kept; i++) {
            marks[i] = marks[2 * i];
            marks[i].last_us = marks[MIN_OF(2 * i + 1, kept - 1)].last_us;
        }
        kept = (kept + 1) / 2;
    }
    times->n = kept;
}

size_t log_times_note(struct log_times *times, uint64_t offset, uint64_t now_us, uint64_t wall_us)
{
    const struct log_time *last = times->n > 0 ? &times->marks[times->n - 1] : NULL;
    bool is_full = times->n == LOG_TIMES_MAX;

    if (last != NULL && (offset <= last->offset || now_us < times->noted_us + LOG_TIMES_EVERY_US))
        return 0;
    wall_us = last != NULL ? MAX_OF(wall_us, last->wall_us) : wall_us;
    if (is_full)
        thin(times, wall_us);
    else if (times->n == 0 || (times->n >= 64 && (times->n & (times->n - 1)) == 0))
        times->marks = xreallocarray(times->marks, MAX_OF(64, 2 * times->n), sizeof *times->marks);
    times->marks[times->n++] = (struct log_time){ offset, wall_us, wall_us + LOG_TIMES_EVERY_US };
    times->noted_us = now_us;
    return is_full ? SIZE_MAX : 1;
}

void log_times_write(const struct log_times *times, size_t n, int fd)
{
    size_t first = n < times->n ? times->n - n : 0;
    size_t size = (times->n - first) * sizeof *times->marks;

    if (fd == -1 || n == 0)
        return;
    if (pwrite(fd, times->marks + first, size, (off_t)(first * sizeof *times->marks)) ==
            (ssize_t)size &&
        n == SIZE_MAX)
        (void)!ftruncate(fd, (off_t)size);
}

void log_times_read(int fd, struct log_times *ret)
{
    const struct log_time *marks;
    ssize_t n;

    *ret = (struct log_times){ .marks = xcalloc(LOG_TIMES_MAX, sizeof *ret->marks) };
    n = fd == -1 ? -1 : pread(fd, ret->marks, LOG_TIMES_MAX * sizeof *ret->marks, 0);
    marks = ret->marks;
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *marks; i++) {
        if (marks[i].offset > INT64_MAX || marks[i].wall_us == 0 || marks[i].wall_us > INT64_MAX ||
            marks[i].last_us < marks[i].wall_us ||
            (i > 0 &&
             (marks[i].offset <= marks[i - 1].offset || marks[i].wall_us < marks[i - 1].wall_us)))
            break;
        ret->n = i + 1;
    }
}

/* behind - how many marks are at offset or before it */
static size_t behind(const struct log_times *times, uint64_t offset)
{
    size_t low = 0, high = times->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (times->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t log_times_at(const struct log_times *times, uint64_t offset, uint64_t *ret_end)
{
    size_t n = behind(times, offset);

    *ret_end = n < times->n ? times->marks[n].offset : UINT64_MAX;
    return n > 0 ? times->marks[n - 1].wall_us : 0;
}

uint64_t log_times_since(const struct log_times *times, uint64_t wall_us)
{
    for (size_t i = 0; i < times->n; i++)
        if (times->marks[i].last_us >= wall_us)
            return i > 0 ? times->marks[i].offset : 0;
    return times->n > 0 ? UINT64_MAX : 0;
}

void log_times_clear(struct log_times *times)
{
    free(times->marks);
    *times = (struct log_times){ 0 };
}
