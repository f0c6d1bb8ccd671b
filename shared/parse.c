/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - text to numbers, with every way of being wrong refused
 *
 * A quantity is "digits[.digits][suffix]". It is read into a 128-bit fraction value = digits /
 * 10^places, so that "0.1" is exactly 100m and rounding up never suffers from binary floating
 * point. */
#include "shared/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "shared/macro.h"

#define DIGITS_MAX 20 /* significant digits: UINT64_MAX has 20 */
#define PLACES_MAX 18 /* digits after the point that can matter: 10^18 fits 64 bits */

struct suffix {
    const char *text;
    uint64_t numerator; /* the value in the unit asked for, times numerator / denominator */
    uint64_t denominator;
};

static const struct suffix cpu_suffixes[] = {
    { "", 1000, 1 },     { "m", 1, 1 },       { "u", 1, 1000 },
    { "n", 1, 1000000 }, { "k", 1000000, 1 }, { "M", 1000000000, 1 },
};

static const struct suffix byte_suffixes[] = {
    { "", 1, 1 },
    { "m", 1, 1000 },
    { "k", UINT64_C(1000), 1 },
    { "M", UINT64_C(1000000), 1 },
    { "G", UINT64_C(1000000000), 1 },
    { "T", UINT64_C(1000000000000), 1 },
    { "P", UINT64_C(1000000000000000), 1 },
    { "E", UINT64_C(1000000000000000000), 1 },
    { "Ki", UINT64_C(1) << 10, 1 },
    { "Mi", UINT64_C(1) << 20, 1 },
    { "Gi", UINT64_C(1) << 30, 1 },
    { "Ti", UINT64_C(1) << 40, 1 },
    { "Pi", UINT64_C(1) << 50, 1 },
    { "Ei", UINT64_C(1) << 60, 1 },
};

static const struct suffix time_suffixes[] = {
    { "", USEC_PER_SEC, 1 },
    { "s", USEC_PER_SEC, 1 },
    { "us", 1, 1 },
    { "ms", USEC_PER_MSEC, 1 },
    { "m", 60 * USEC_PER_SEC, 1 },
    { "h", 3600 * USEC_PER_SEC, 1 },
    { "d", 86400 * USEC_PER_SEC, 1 },
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int parse_u64(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (!is_digit(*text))
        return -EINVAL;
    for (const char *p = text; *p != '\0'; p++)
        if (!is_digit(*p))
            return -EINVAL;
    for (const char *p = text; *p != '\0'; p++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return -ERANGE;
    *ret = value;
    return 0;
}

int parse_i64(const char *text, int64_t *ret)
{
    bool negative = *text == '-';
    uint64_t value;
    int r = parse_u64(text + negative, &value);

    if (r < 0)
        return r;
    if (value > (uint64_t)INT64_MAX)
        return -ERANGE;
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

/* read_decimal - digits[.digits]; *ret_rest points at the suffix
 * Zeros at the end of the fraction are dropped by the caller's arithmetic; leading zeros cost
 * nothing. */
static int read_decimal(const char *text, unsigned __int128 *ret_value, unsigned int *ret_places,
                        const char **ret_rest)
{
    unsigned __int128 value = 0;
    unsigned int places = 0, significant = 0;
    int point = 0, any = 0;
    const char *p;

    for (p = text; is_digit(*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        any = 1;
        significant += significant > 0 || *p != '0';
        places += (unsigned int)point;
        if (significant > DIGITS_MAX || places > PLACES_MAX)
            return -ERANGE;
        value = value * 10 + (unsigned int)(*p - '0');
    }
    if (!any || (point && p[-1] == '.'))
        return -EINVAL;
    *ret_value = value;
    *ret_places = places;
    *ret_rest = p;
    return 0;
}

/* parse_quantity - rounds up, as Kubernetes does: a request is never made smaller than what was
 * asked */
static int parse_quantity(const char *text, const struct suffix *table, size_t n, uint64_t *ret)
{
    unsigned __int128 value, divisor = 1;
    unsigned int places;
    const char *rest;
    int r;

    r = read_decimal(text, &value, &places, &rest);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (!streq(rest, table[i].text))
            continue;
        for (unsigned int j = 0; j < places; j++)
            divisor *= 10;
        divisor *= table[i].denominator;
        if (__builtin_mul_overflow(value, (unsigned __int128)table[i].numerator, &value))
            return -ERANGE;
        value = value / divisor + (value % divisor != 0);
        if (value > UINT64_MAX)
            return -ERANGE;
        *ret = (uint64_t)value;
        return 0;
    }
    return -EINVAL;
}

int parse_cpu(const char *text, uint64_t *ret_millicores)
{
    return parse_quantity(text, cpu_suffixes, ELEMENTS(cpu_suffixes), ret_millicores);
}

int parse_bytes(const char *text, uint64_t *ret_bytes)
{
    return parse_quantity(text, byte_suffixes, ELEMENTS(byte_suffixes), ret_bytes);
}

int parse_seconds(const char *text, uint64_t *ret_us)
{
    return parse_quantity(text, time_suffixes, ELEMENTS(time_suffixes), ret_us);
}
