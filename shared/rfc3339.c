/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339.c - instants as people write them */
#include "shared/rfc3339.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/macro.h"

/* Exactly n digits; *at moves behind them. */
static bool read_digits(const char **at, int n, int *ret)
{
    *ret = 0;
    for (; n > 0; n--, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *ret = *ret * 10 + (**at - '0');
    }
    return true;
}

static bool read_char(const char **at, const char *any_of)
{
    return **at != '\0' && strchr(any_of, *(*at)++) != NULL;
}

static bool read_date_and_time(const char **at, struct tm *ret)
{
    *ret = (struct tm){ .tm_isdst = 0 };
    if (!read_digits(at, 4, &ret->tm_year) || !read_char(at, "-") ||
        !read_digits(at, 2, &ret->tm_mon) || !read_char(at, "-") ||
        !read_digits(at, 2, &ret->tm_mday) || !read_char(at, "Tt ") ||
        !read_digits(at, 2, &ret->tm_hour) || !read_char(at, ":") ||
        !read_digits(at, 2, &ret->tm_min) || !read_char(at, ":") ||
        !read_digits(at, 2, &ret->tm_sec))
        return false;
    ret->tm_year -= 1900;
    ret->tm_mon--;
    return true;
}

static bool read_fraction(const char **at, uint64_t *ret_us)
{
    uint64_t unit = USEC_PER_SEC / 10;

    *ret_us = 0;
    if (**at != '.')
        return true;
    (*at)++;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
        *ret_us += (uint64_t)(**at - '0') * unit;
    return true;
}

static bool read_offset(const char **at, int64_t *ret_s)
{
    bool west = **at == '-';
    int hours;
    int minutes;

    *ret_s = 0;
    if (**at == 'Z' || **at == 'z') {
        (*at)++;
        return true;
    }
    if (!read_char(at, "+-") || !read_digits(at, 2, &hours) || !read_char(at, ":") ||
        !read_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_s = (west ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
    return true;
}

int rfc3339_parse(const char *text, uint64_t *ret_wall_us)
{
    struct tm given;
    struct tm back;
    uint64_t fraction_us;
    int64_t offset_s;
    time_t seconds;

    if (!read_date_and_time(&text, &given) || !read_fraction(&text, &fraction_us) ||
        !read_offset(&text, &offset_s) || *text != '\0')
        return -EINVAL;
    back = given; /* timegm takes February 30th for March 2nd: such a day is none */
    seconds = timegm(&back);
    if (back.tm_mday != given.tm_mday || back.tm_mon != given.tm_mon ||
        back.tm_hour != given.tm_hour || back.tm_min != given.tm_min || given.tm_sec > 59 ||
        seconds - offset_s < 0)
        return -EINVAL;
    *ret_wall_us = (uint64_t)(seconds - offset_s) * USEC_PER_SEC + fraction_us;
    return 0;
}

char *rfc3339_format(uint64_t wall_us, char buffer[RFC3339_MAX])
{
    time_t seconds = (time_t)(wall_us / USEC_PER_SEC);
    size_t used;
    struct tm parts;

    (void)gmtime_r(&seconds, &parts);
    used = strftime(buffer, RFC3339_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
    if (wall_us % USEC_PER_SEC != 0)
        used += (size_t)snprintf(buffer + used, RFC3339_MAX - used, ".%06" PRIu64,
                                 (uint64_t)(wall_us % USEC_PER_SEC));
    (void)snprintf(buffer + used, RFC3339_MAX - used, "Z");
    return buffer;
}
