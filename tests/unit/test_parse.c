/* SPDX-License-Identifier: Apache-2.0 */
/* test_parse.c - text to numbers, and the nearest known word */
#include "shared/parse.h"
#include "shared/rfc3339.h"

#include <errno.h>

#include "shared/macro.h"
#include "shared/nearest.h"
#include "tests/unit/test.h"

struct row {
    const char *text;
    int result;
    uint64_t value;
};

static void check_rows(int (*parse)(const char *text, uint64_t *ret), const struct row *rows,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 4711;
        int r = parse(rows[i].text, &value);

        if (r != rows[i].result || value != (r < 0 ? 4711 : rows[i].value))
            fail_msg("\"%s\": %d, %llu", rows[i].text, r, (unsigned long long)value);
    }
}

TEST(test_u64)
{
    static const struct row rows[] = {
        { "0", 0, 0 },
        { "007", 0, 7 },
        { "18446744073709551615", 0, UINT64_MAX },
        { "18446744073709551616", -ERANGE, 0 },
        { "99999999999999999999999", -ERANGE, 0 },
        { "", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "+1", -EINVAL, 0 },
        { " 1", -EINVAL, 0 },
        { "1 ", -EINVAL, 0 },
        { "0x10", -EINVAL, 0 },
        { "99999999999999999999999x", -EINVAL, 0 },
    };

    check_rows(parse_u64, rows, ELEMENTS(rows));
}

TEST(test_i64)
{
    static const struct {
        const char *text;
        int code;
        int64_t value;
    } rows[] = {
        { "0", 0, 0 },
        { "-0", 0, 0 },
        { "42", 0, 42 },
        { "-1000000", 0, -1000000 },
        { "9223372036854775807", 0, INT64_MAX },
        { "9223372036854775808", -ERANGE, 0 },
        { "-9223372036854775808", -ERANGE, 0 },
        { "-", -EINVAL, 0 },
        { "--1", -EINVAL, 0 },
        { "", -EINVAL, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        int64_t value = 0;

        assert_int_equal(parse_i64(rows[i].text, &value), rows[i].code);
        assert_int_equal(value, rows[i].value);
    }
}

TEST(test_cpu)
{
    static const struct row rows[] = {
        { "2", 0, 2000 },
        { "0.5", 0, 500 },
        { "200m", 0, 200 },
        { "1k", 0, 1000000 },
        { "0.1", 0, 100 },
        { "0.0001", 0, 1 }, /* rounded up */
        { "1.5m", 0, 2 },
        { "100u", 0, 1 },
        { ".5", 0, 500 },
        { "0", 0, 0 },
        { "1.", -EINVAL, 0 },
        { ".", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "m", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "1Mi", -EINVAL, 0 },
        { "1.2.3", -EINVAL, 0 },
        { "18446744073709551615", -ERANGE, 0 },
        { "99999999999999999999999999", -ERANGE, 0 },
    };

    check_rows(parse_cpu, rows, ELEMENTS(rows));
}

TEST(test_bytes)
{
    static const struct row rows[] = {
        { "100", 0, 100 },
        { "200Mi", 0, UINT64_C(200) << 20 },
        { "1Gi", 0, UINT64_C(1) << 30 },
        { "500M", 0, 500000000 },
        { "2k", 0, 2000 },
        { "1.5Ki", 0, 1536 },
        { "0.1Ki", 0, 103 },
        { "15Ei", 0, UINT64_C(15) << 60 },
        { "16Ei", -ERANGE, 0 },
        { "100m", 0, 1 },
        { "1KB", -EINVAL, 0 },
        { "1 Gi", -EINVAL, 0 },
        { "1e3", -EINVAL, 0 },
    };

    check_rows(parse_bytes, rows, ELEMENTS(rows));
}

TEST(test_seconds)
{
    static const struct row rows[] = {
        { "30", 0, 30000000 },
        { "30s", 0, 30000000 },
        { "500ms", 0, 500000 },
        { "2m", 0, 120000000 },
        { "1h", 0, 3600000000 },
        { "1d", 0, 86400000000 },
        { "7us", 0, 7 },
        { "0.25", 0, 250000 },
        { "1w", -EINVAL, 0 },
        { "s", -EINVAL, 0 },
        { "99999999999999d", -ERANGE, 0 },
    };

    check_rows(parse_seconds, rows, ELEMENTS(rows));
}

TEST(test_rfc3339)
{
    static const struct {
        const char *text;
        uint64_t wall_us; /* 0: refused */
        const char *back; /* NULL: the same */
    } rows[] = {
        { "2000-02-29T23:59:59Z", UINT64_C(951868799000000), NULL },
        { "2000-02-29T23:59:59.5Z", UINT64_C(951868799500000), "2000-02-29T23:59:59.500000Z" },
        { "2000-02-29t23:59:59.1234569z", UINT64_C(951868799123456),
          "2000-02-29T23:59:59.123456Z" },
        { "2000-03-01T01:29:59+01:30", UINT64_C(951868799000000), "2000-02-29T23:59:59Z" },
        { "2000-02-29T22:59:59-01:00", UINT64_C(951868799000000), "2000-02-29T23:59:59Z" },
        { "9999-12-31T23:59:59Z", UINT64_C(253402300799000000), NULL },
        { "2001-02-29T00:00:00Z", 0, NULL },
        { "2000-13-01T00:00:00Z", 0, NULL },
        { "2000-01-01T24:00:00Z", 0, NULL },
        { "2000-01-01T00:60:00Z", 0, NULL },
        { "2000-01-01T00:00:60Z", 0, NULL },
        { "2000-01-01T00:00:00", 0, NULL },
        { "2000-01-01T00:00:00.Z", 0, NULL },
        { "2000-01-01T00:00:00Zx", 0, NULL },
        { "2000-01-01T00:00:00+24:00", 0, NULL },
        { "1969-12-31T23:59:59Z", 0, NULL },
        { "1970-01-01T00:30:00+01:00", 0, NULL },
        { "2000-1-01T00:00:00Z", 0, NULL },
        { "", 0, NULL },
        { "2000", 0, NULL },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *back = rows[i].back != NULL ? rows[i].back : rows[i].text;
        char text[RFC3339_MAX];
        uint64_t wall_us = 0;
        int r = rfc3339_parse(rows[i].text, &wall_us);

        if (r != (rows[i].wall_us == 0 ? -EINVAL : 0) || wall_us != rows[i].wall_us)
            fail_msg("%s: %d, %llu", rows[i].text, r, (unsigned long long)wall_us);
        if (r == 0)
            assert_string_equal(rfc3339_format(wall_us, text), back);
    }
}

TEST(test_nearest)
{
    static const char *const known[] = { "trainer", "pserver",      "min-instance",
                                         NULL,      "max-instance", "env" };
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        { "trainers", "trainer" },
        { "trianer", "trainer" },
        { "pservre", "pserver" },
        { "min_instance", "min-instance" },
        { "maxInstance", "max-instance" },
        { "evn", "env" },
        { "zebra", NULL },
        { "", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *nearest = nearest_word(rows[i].word, known, ELEMENTS(known));

        if (rows[i].nearest == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, rows[i].nearest);
    }
    assert_int_equal(nearest_distance("abc", "acb"), 1); /* neighbours swapped */
    assert_int_equal(nearest_distance("", "abc"), 3);
    assert_int_equal(nearest_distance("A_b", "a-B"), 0);
}
