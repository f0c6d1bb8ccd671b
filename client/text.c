/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - small pure functions on text that several verbs need */
#include "client/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

char *text_url_segment(const char *text)
{
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
    static const char hex[] = "0123456789ABCDEF";
    char *encoded = xcalloc(strlen(text) * 3 + 1, 1);
    char *out = encoded;
    /* A dot is unreserved too, but "." and ".." as a whole segment would be folded away. */
    bool dots = streq(text, ".") || streq(text, "..");

    for (const char *in = text; *in != '\0'; in++) {
        if (strchr(unreserved, *in) != NULL || (*in == '.' && !dots)) {
            *out++ = *in;
            continue;
        }
        *out++ = '%';
        *out++ = hex[(unsigned char)*in >> 4];
        *out++ = hex[(unsigned char)*in & 15];
    }
    return encoded;
}

int text_range(const char *text, uint64_t *ret_min, uint64_t *ret_max)
{
    char first[24];
    size_t size = strcspn(text, ":-");
    uint64_t min;
    uint64_t max;

    if (size == 0 || size >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, size);
    first[size] = '\0';
    int r = parse_u64(first, &min);

    if (r < 0)
        return r;
    max = min;
    if (text[size] != '\0') {
        r = parse_u64(text + size + 1, &max);
        if (r < 0)
            return r;
    }
    if (min > max || max > UINT32_MAX)
        return -ERANGE;
    *ret_min = min;
    *ret_max = max;
    return 0;
}

const char *text_cpu(uint64_t millicores, char *buffer, size_t size)
{
    if (millicores % 1000 == 0)
        (void)snprintf(buffer, size, "%" PRIu64, millicores / 1000);
    else if (millicores % 100 == 0)
        (void)snprintf(buffer, size, "%" PRIu64 ".%" PRIu64, millicores / 1000,
                       millicores % 1000 / 100);
    else
        (void)snprintf(buffer, size, "%.2f", (double)millicores / 1000.0);
    return buffer;
}

const char *text_bytes(uint64_t bytes, char *buffer, size_t size)
{
    static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024.0 && unit + 1 < ELEMENTS(units)) {
        value /= 1024.0;
        unit++;
    }
    bool whole = value == (double)(uint64_t)value;

    (void)snprintf(buffer, size, whole || value >= 100.0 ? "%.0f%s" : "%.1f%s", value, units[unit]);
    return buffer;
}

const char *text_duration(uint64_t us, char *buffer, size_t size)
{
    uint64_t s = us / USEC_PER_SEC;

    if (s < 60)
        (void)snprintf(buffer, size, "%" PRIu64 "s", s);
    else if (s < 3600)
        (void)snprintf(buffer, size, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(buffer, size, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s % 3600 / 60);
    else
        (void)snprintf(buffer, size, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s % 86400 / 3600);
    return buffer;
}

const char *text_time(uint64_t wall_us, char *buffer, size_t size)
{
    time_t seconds = (time_t)(wall_us / USEC_PER_SEC);
    struct tm parts;

    (void)snprintf(buffer, size, "-");
    if (wall_us != 0 && localtime_r(&seconds, &parts) != NULL &&
        strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        (void)snprintf(buffer, size, "-");
    return buffer;
}
