/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_match.c - which jobs a list shows */
#include <errno.h>
#include <string.h>

#include "scheduler/core/model/job_match.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_words_of_states)
{
    static const struct {
        const char *text;
        unsigned wanted; /* 0: refused */
    } cases[] = {
        { NULL, 0x1f },
        { "active", 0x1f },
        { "over", 0xe0 },
        { "all", 0xff },
        { "failed", 1U << JOB_FAILED },
        { "queued,killed", 1U << JOB_QUEUED | 1U << JOB_KILLED },
        { "over,running", 0xe0 | 1U << JOB_RUNNING },
        { "", 0 },
        { ",", 0 },
        { "failed,", 0 },
        { "FAILED", 0 },
        { "succeeded-or-something-longer", 0 },
        { "running failed", 0 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error = { 0 };
        unsigned states = 0;
        int r = job_match_states(cases[i].text, &states, &error);

        assert_int_equal(r, cases[i].wanted != 0 ? 0 : -EINVAL);
        assert_int_equal(states, cases[i].wanted);
        assert_true(r == 0 || strstr(error.remedy, "active, all, over") != NULL);
    }
}

TEST(test_what_fits)
{
    const struct job_facts of_array = { JOB_FAILED, "ann", "sweep-7", "sweep" };
    const struct job_facts alone = { JOB_RUNNING, "bob", "train", "" };
    const struct {
        struct job_match match;
        bool array, alone;
    } cases[] = {
        { { .states = ~0U }, true, true },
        { { .states = 0 }, false, false },
        { { .states = 1U << JOB_RUNNING }, false, true },
        { { .states = ~0U, .user = "ann" }, true, false },
        { { .states = ~0U, .user = "an" }, false, false },
        { { .states = ~0U, .name = "EEP-" }, true, false },
        { { .states = ~0U, .name = "" }, true, true },
        { { .states = ~0U, .name = "r" }, false, true },
        { { .states = ~0U, .array = "sweep" }, true, false },
        { { .states = ~0U, .array = "swee" }, false, false },
        { { .states = ~0U, .array = "sweep", .array_user = "bob" }, false, false },
        { { .states = ~0U, .array = "sweep", .array_user = "ann", .user = "ann" }, true, false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        assert_int_equal(job_match_fits(&cases[i].match, &of_array), cases[i].array);
        assert_int_equal(job_match_fits(&cases[i].match, &alone), cases[i].alone);
    }
    assert_false(job_match_wants_over(&(struct job_match){ .states = 0x1f }));
    assert_true(job_match_wants_over(&(struct job_match){ .states = 1U << JOB_KILLED }));
}
