/* SPDX-License-Identifier: Apache-2.0 */
/* step_seed.c - from where the dropout of a micro-batch draws */
#include "trainer/learn/step_seed.h"

#include <string.h>

#include "shared/macro.h"
#include "shared/random.h"

/* One number more: splitmix64 of what is there and of it. */
static uint64_t mix(uint64_t state, uint64_t number)
{
    state ^= number * UINT64_C(0xd1342543de82ef95);
    return random_u64(&state);
}

uint64_t step_seed(uint64_t seed, const struct step_place *place)
{
    const uint64_t numbers[] = { place->lesson, place->epoch, place->step, place->micro_batch };

    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        seed = mix(seed, numbers[i] + i);
    return seed;
}

uint64_t step_lesson(const char *path, uint64_t offset_bytes)
{
    const char *slash = strrchr(path, '/');
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = slash != NULL ? slash + 1 : path; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    return mix(hash, offset_bytes);
}
