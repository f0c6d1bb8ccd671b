/* SPDX-License-Identifier: Apache-2.0 */
/* test_exposition.c - the grammar of the text that Prometheus reads: the writer, and the tests' own
 * reader */
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/json/exposition.h"
#include "shared/macro.h"
#include "tests/unit/exposition_parse.h"
#include "tests/unit/test.h"

/* --- the reader is strict --- */

#define GAUGE "# HELP a x\n# TYPE a gauge\n"
#define HISTOGRAM "# HELP h x\n# TYPE h histogram\n"

TEST(test_reader_takes_what_is_good)
{
    struct exposition *text = exposition_parse(
        GAUGE "a{l=\"v\\\\\\\"\\n\",m=\"\"} 1.5\na 2\n" HISTOGRAM "h_bucket{le=\"0.1\"} 1\n"
              "h_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n# HELP b_total x\\n\\\\\n"
              "# TYPE b_total counter\nb_total 0\n");

    assert_string_equal(text->error, "");
    assert_int_equal(text->n_families, 3);
    assert_float_equal(*exposition_value(text, "a{l=\"v\\\\\\\"\\n\",m=\"\"}"), 1.5, 0);
    free(text);
}

TEST(test_reader_refuses_what_is_not)
{
    static const char *const bad[] = {
        "",
        "a 1\n",
        "# HELP a x\na 1\n",
        "# TYPE a gauge\na 1\n",
        GAUGE,
        GAUGE "a 1",
        GAUGE "a 1\n\n",
        GAUGE "a 1\n# a remark\n",
        GAUGE "a 1\na 1\n",
        GAUGE "a{l=\"1\"} 1\na{l=\"1\"} 2\n",
        GAUGE "a 1\n" GAUGE "a 2\n",
        GAUGE "b 1\n",
        GAUGE "a_sum 1\n",
        GAUGE "a  1\n",
        GAUGE "a x\n",
        GAUGE "a NaN\n",
        GAUGE "a 1 2 3\n",
        GAUGE "a{} 1\n",
        GAUGE "a{l=1} 1\n",
        GAUGE "a{1l=\"\"} 1\n",
        GAUGE "a{l=\"\",} 1\n",
        GAUGE "a{l=\"\",l=\"\"} 1\n",
        GAUGE "a{l=\"\\t\"} 1\n",
        GAUGE "a{l=\"\"\"} 1\n",
        "# HELP a x\\t\n# TYPE a gauge\na 1\n",
        "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a thing\na 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\n",
        HISTOGRAM "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        HISTOGRAM "h_bucket 1\n",
        HISTOGRAM "h_sum 1\nh_count 1\n",
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct exposition *text = exposition_parse(bad[i]);

        if (text->error[0] == '\0')
            fail_msg("taken: %s", bad[i]);
        free(text);
    }
}

/* --- the writer --- */

static struct exposition *write_one(uint64_t value, unsigned digits, const char *label)
{
    const struct exposition_label labels[] = { { "l", label } };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct exposition *read;

    assert_non_null(out);
    exposition_family(out, "a", EXPOSE_GAUGE, "back\\slash, \"quotes\"\nand a line");
    exposition_sample(out, "a", labels, 1, value, digits);
    (void)fclose(out);
    read = exposition_parse(text);
    free(text);
    if (read->error[0] != '\0')
        fail_msg("%s", read->error);
    return read;
}

TEST(test_labels_are_escaped)
{
    struct exposition *read = write_one(1, SCALE_ONE, "\"} 7\nb 1\\");

    assert_int_equal(read->n_series, 1);
    assert_string_equal(read->series[0].key, "a{l=\"\\\"} 7\\nb 1\\\\\"}");
    free(read);
}

TEST(test_values_are_scaled_exactly)
{
    static const struct {
        uint64_t value;
        unsigned digits;
        double expected;
    } rows[] = {
        { 0, SCALE_MICRO, 0 },         { 1, SCALE_MICRO, 0.000001 },
        { 1500000, SCALE_MICRO, 1.5 }, { 1000100, SCALE_MICRO, 1.0001 },
        { 250, SCALE_MILLI, 0.25 },    { 1 << 20, SCALE_ONE, 1 << 20 },
        { 64000, SCALE_MILLI, 64 },    { 10, SCALE_MICRO, 0.00001 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct exposition *read = write_one(rows[i].value, rows[i].digits, "");

        assert_true(read->series[0].value == rows[i].expected);
        free(read);
    }
}
