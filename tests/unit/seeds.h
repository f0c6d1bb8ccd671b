/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.h - which seeds a random test takes
 *
 * EDL_SEED chooses the run; ./check sets it to the date. A test that runs many seeds, one after the
 * other, begins far from where any other date begins. EDL_FIRST_SEED names that beginning itself,
 * so that one of them can be run again. Without both a test takes seeds of its own. All are
 * printed. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#define SEEDS_OF_A_DAY UINT64_C(100000) /* no test runs more of them */

static inline uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* the_seed - of a test that runs one; not 0, since some generators stay there */
static inline uint64_t the_seed(uint64_t otherwise)
{
    uint64_t seed = number_from_environment("EDL_SEED", otherwise);

    print_message("EDL_SEED=%" PRIu64 "\n", seed);
    return seed != 0 ? seed : 1;
}

/* first_seed - of a test that runs many */
static inline uint64_t first_seed(uint64_t otherwise)
{
    uint64_t day = number_from_environment("EDL_SEED", 0);
    uint64_t first =
        number_from_environment("EDL_FIRST_SEED", day != 0 ? day * SEEDS_OF_A_DAY + 1 : otherwise);

    print_message("EDL_FIRST_SEED=%" PRIu64 "\n", first);
    return first;
}

/* stride - each so-many-th of a row of points is tried: the variable of that name, or each */
static inline uint64_t stride(const char *name)
{
    uint64_t n = number_from_environment(name, 1);

    return n != 0 ? n : 1;
}

/* next_in_stride - the first, which the seed chooses, after 0 */
static inline uint64_t next_in_stride(const char *name, uint64_t last)
{
    return last == 0 ? 1 + the_seed(1) % stride(name) : last + stride(name);
}
