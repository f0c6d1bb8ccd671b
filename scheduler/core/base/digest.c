/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - a number that stands for texts and numbers (see digest.h) */
#include "scheduler/core/base/digest.h"

uint64_t digest_number(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ (digest >> 29);
}

uint64_t digest_text(uint64_t digest, const char *text)
{
    for (; *text != '\0'; text++)
        digest = digest_number(digest, (unsigned char)*text);
    return digest_number(digest, 0);
}
