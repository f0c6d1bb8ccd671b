/* SPDX-License-Identifier: Apache-2.0 */
/* test_sgd_mode.c - whether trainers wait for each other */
#include <errno.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/run/sgd_mode.h"

TEST(test_mode)
{
    static const struct {
        struct sgd_asked asked;
        int mode; /* or an error */
    } cases[] = {
        /* sync, async, of the network, trainers, batches between meetings */
        { { false, false, -1, 0, 1 }, SGD_ASYNCHRONOUS },
        { { false, false, -1, 1, 1 }, SGD_ASYNCHRONOUS },
        { { false, false, -1, 2, 1 }, SGD_SYNCHRONOUS },
        { { false, false, -1, 2, 4 }, SGD_ASYNCHRONOUS },
        { { false, false, 1, 2, 1 }, SGD_ASYNCHRONOUS },
        { { false, false, 0, 0, 0 }, SGD_SYNCHRONOUS },
        { { false, true, 0, 4, 1 }, SGD_ASYNCHRONOUS },
        { { false, true, -1, 4, 1 }, SGD_ASYNCHRONOUS },
        { { true, false, 1, 0, 0 }, SGD_SYNCHRONOUS },
        { { true, true, -1, 0, 0 }, -EINVAL },
        { { true, false, -1, 0, 2 }, -EINVAL },
        { { false, false, 0, 2, 2 }, -EINVAL },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        enum sgd_mode mode = SGD_ASYNCHRONOUS;
        struct edl_error error = { 0 };
        int r = sgd_mode_of(&cases[i].asked, &mode, &error);

        if ((r < 0 ? r : (int)mode) != cases[i].mode)
            fail_msg("case %zu: %d, %d: %s", i, r, (int)mode, error.text);
        assert_int_equal(r < 0, error.remedy[0] != '\0');
    }
}
