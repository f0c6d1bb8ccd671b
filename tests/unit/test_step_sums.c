/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_sums.c - what processes tell of their steps: numbers that cannot overflow */
#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/step_sums.h"
#include "shared/step_sums_json.h"
#include "tests/unit/test.h"

static int read_text(const char *text, struct step_sums *ret, struct edl_error *error)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    int r;

    assert_non_null(value);
    r = step_sums_from_json(value, ret, error);
    json_decref(value);
    return r;
}

TEST(test_what_is_told_is_read)
{
    struct step_sums sums = { 0 };
    json_t *json;

    assert_int_equal(read_text("{\"step\":7,\"steps\":2,\"samples\":64,\"compute_us\":5,"
                               "\"wait_us\":9007199254740991,\"of_later\":[1]}",
                               &sums, NULL),
                     0);
    json = step_sums_to_json(&sums);
    assert_int_equal(json_integer_value(json_object_get(json, "step")), 7);
    assert_int_equal(json_integer_value(json_object_get(json, "steps")), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "samples")), 64);
    assert_int_equal(json_integer_value(json_object_get(json, "compute_us")), 5);
    assert_int_equal(json_integer_value(json_object_get(json, "wait_us")), STEP_SUM_MAX);
    json_decref(json);
    assert_int_equal(read_text("{}", &sums, NULL), 0);
    assert_int_equal(sums.wait_us, 0);
}

TEST(test_nonsense_is_refused_by_its_name)
{
    static const struct {
        const char *text, *at;
    } bad[] = {
        { "[1]", "" },
        { "{\"samples\":-1}", "/samples" },
        { "{\"samples\":1.5}", "/samples" },
        { "{\"step\":\"7\"}", "/step" },
        { "{\"steps\":null}", "/steps" },
        { "{\"compute_us\":9007199254740992}", "/compute_us" },
        { "{\"wait_us\":1e300}", "/wait_us" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct step_sums sums = { .step = 3 };
        struct edl_error error = { 0 };

        assert_int_equal(read_text(bad[i].text, &sums, &error), -EINVAL);
        assert_string_equal(error.pointer, bad[i].at);
        assert_int_equal(sums.step, 3);
    }
}

TEST(test_sums_end_and_never_wrap)
{
    struct step_sums sums = { .step = 9, .samples = STEP_SUM_MAX - 1, .wait_us = UINT64_MAX };
    const struct step_sums more = {
        .step = 4, .steps = 1, .samples = 2, .compute_us = UINT64_MAX, .wait_us = UINT64_MAX
    };

    step_sums_add(&sums, &more);
    assert_int_equal(sums.step, 4); /* it was resumed from before */
    assert_int_equal(sums.steps, 1);
    assert_int_equal(sums.samples, STEP_SUM_MAX);
    assert_int_equal(sums.compute_us, STEP_SUM_MAX);
    assert_int_equal(sums.wait_us, STEP_SUM_MAX);
}
