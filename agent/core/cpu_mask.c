/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_mask.c - see cpu_mask.h */
#include "agent/core/cpu_mask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/macro.h"

bool cpu_mask_has(const struct cpu_mask *mask, unsigned cpu)
{
    return cpu < CPU_MASK_MAX && (mask->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

void cpu_mask_set(struct cpu_mask *mask, unsigned cpu)
{
    if (cpu < CPU_MASK_MAX)
        mask->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

void cpu_mask_add(struct cpu_mask *mask, const struct cpu_mask *other)
{
    for (size_t i = 0; i < ELEMENTS(mask->words); i++)
        mask->words[i] |= other->words[i];
}

unsigned cpu_mask_count(const struct cpu_mask *mask)
{
    unsigned n = 0;

    for (size_t i = 0; i < ELEMENTS(mask->words); i++)
        n += (unsigned)__builtin_popcountll(mask->words[i]);
    return n;
}

char *cpu_mask_format(const struct cpu_mask *mask, char text[CPU_LIST_SIZE])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned first = 0; first < CPU_MASK_MAX; first++) {
        unsigned last = first;

        if (!cpu_mask_has(mask, first))
            continue;
        while (cpu_mask_has(mask, last + 1))
            last++;
        used +=
            (size_t)snprintf(text + used, CPU_LIST_SIZE - used, "%s%u", used > 0 ? "," : "", first);
        if (last > first)
            used += (size_t)snprintf(text + used, CPU_LIST_SIZE - used, "-%u", last);
        first = last;
    }
    return text;
}

/* read_number - false when there is none, or it is too high */
static bool read_number(const char **at, unsigned *ret)
{
    char *end;
    unsigned long number;

    if (!isdigit((unsigned char)**at))
        return false;
    number = strtoul(*at, &end, 10);
    *at = end;
    *ret = (unsigned)number;
    return number < CPU_MASK_MAX;
}

int cpu_mask_parse(const char *text, struct cpu_mask *ret)
{
    struct cpu_mask mask = { 0 };
    const char *at = text;

    while (*at != '\0' && *at != '\n') {
        unsigned first, last;

        if (!read_number(&at, &first))
            return -EINVAL;
        last = first;
        if (*at == '-') {
            at++;
            if (!read_number(&at, &last) || last < first)
                return -EINVAL;
        }
        for (; first <= last; first++)
            cpu_mask_set(&mask, first);
        if (*at == ',' && isdigit((unsigned char)at[1]))
            at++;
        else if (*at != '\0' && *at != '\n')
            return -EINVAL;
    }
    if (*at == '\n' && at[1] != '\0')
        return -EINVAL;
    *ret = mask;
    return 0;
}
