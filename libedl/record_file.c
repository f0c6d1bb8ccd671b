/* SPDX-License-Identifier: Apache-2.0 */
/* record_file.c - the marks by which a file of a data set is known: its size, and when it was
 * changed last */
#include "libedl/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "shared/macro.h"

#define TIME_TEXT_BYTES 40

uint64_t record_file_mtime_us(const struct stat *st)
{
    if (st->st_mtim.tv_sec < 0)
        return 1;
    return (uint64_t)st->st_mtim.tv_sec * USEC_PER_SEC + (uint64_t)st->st_mtim.tv_nsec / 1000 +
           (st->st_mtim.tv_sec == 0 && st->st_mtim.tv_nsec < 1000);
}

static bool is_same_time(uint64_t a_us, uint64_t b_us)
{
    if (a_us % USEC_PER_SEC == 0 || b_us % USEC_PER_SEC == 0)
        return a_us / USEC_PER_SEC == b_us / USEC_PER_SEC;
    return a_us == b_us;
}

/* time_text - in UTC; returns text */
static const char *time_text(uint64_t us, char text[TIME_TEXT_BYTES])
{
    const time_t seconds = (time_t)(us / USEC_PER_SEC);
    struct tm parts;
    size_t n = 0;

    if (gmtime_r(&seconds, &parts) != NULL)
        n = strftime(text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + n, TIME_TEXT_BYTES - n, ".%06" PRIu64 "Z", us % USEC_PER_SEC);
    return text;
}

int record_file_check(const struct edl_chunk *chunk, const struct stat *st, struct edl_error *error)
{
    const uint64_t now_us = record_file_mtime_us(st);
    char before[TIME_TEXT_BYTES], now[TIME_TEXT_BYTES];

    if (chunk->mtime_us == 0 ||
        ((uint64_t)st->st_size == chunk->file_bytes && is_same_time(now_us, chunk->mtime_us)))
        return 0;
    (void)edl_error_set(error, -EIO,
                        "%.200s has changed: it had %" PRIu64 " bytes, of %s, when the job cut it "
                        "into tasks, and has %" PRIu64 ", of %s",
                        chunk->path, chunk->file_bytes, time_text(chunk->mtime_us, before),
                        (uint64_t)st->st_size, time_text(now_us, now));
    return edl_error_remedy(error, "end the job and submit it again; a copy on another machine "
                                   "needs the time of the file: cp -p, rsync -t");
}
