/* SPDX-License-Identifier: Apache-2.0 */
/* source_fixture.h - for the tests of data sources: defaults, and figures that are nearly right */
#pragma once

#include <math.h>

#include "trainer/data/source.h"
#include "trainer_fixture.h"

static const struct source_options defaults = { .seed = 1, .noise = -1, .label_noise = -1 };

/* A figure of a floor. */
static inline double told(json_t *floor, const char *key)
{
    const json_t *value = json_object_get(floor, key);

    if (!json_is_real(value))
        fail_msg("the floor does not tell %s", key);
    return json_real_value(value);
}

static inline void assert_near(const char *what, double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%s is %.9g, not %.9g within %.3g", what, value, expected, within);
}
