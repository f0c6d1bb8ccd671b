/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - lines and times in Slurm's forms; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client/slurm/slurm.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define WIDTH_MAX 4096

static void print_cell(char *text, bool right, unsigned width)
{
    printable_mask(text, strlen(text), "");
    if (width == 0)
        (void)fputs(text, stdout);
    else if (right)
        (void)printf("%*.*s", (int)width, (int)width, text);
    else
        (void)printf("%-*.*s", (int)width, (int)width, text);
}

int slurm_format_print(const char *format, slurm_letter text_of, void *of, struct edl_error *error)
{
    for (const char *at = format; *at != '\0'; at++) {
        unsigned long width = 0;
        char *text, *end;
        bool right;

        if (*at != '%') {
            (void)putchar(*at);
            continue;
        }
        at++;
        right = *at == '.';
        at += right;
        if (*at >= '0' && *at <= '9') {
            width = MIN_OF(strtoul(at, &end, 10), (unsigned long)WIDTH_MAX);
            at = end;
        }
        text = *at != '\0' ? text_of(*at, of) : NULL;
        if (text == NULL) {
            (void)edl_error_set(error, -EINVAL, "the format has no %%%.1s", at);
            return edl_error_remedy(error,
                                    "docs/from-slurm.md lists the letters, and edl ps --json "
                                    "has all that is known");
        }
        print_cell(text, right, (unsigned)width);
        free(text);
    }
    (void)putchar('\n');
    return 0;
}

char *slurm_clock(uint64_t us, bool whole)
{
    uint64_t s = us / USEC_PER_SEC, days = s / 86400, hours = s / 3600 % 24;
    unsigned minutes = (unsigned)(s / 60 % 60), seconds = (unsigned)(s % 60);

    if (days > 0)
        return text_format("%" PRIu64 "-%02u:%02u:%02u", days, (unsigned)hours, minutes, seconds);
    if (whole)
        return text_format("%02u:%02u:%02u", (unsigned)hours, minutes, seconds);
    if (hours > 0)
        return text_format("%u:%02u:%02u", (unsigned)hours, minutes, seconds);
    return text_format("%u:%02u", minutes, seconds);
}

char *slurm_instant(uint64_t wall_us, const char *none)
{
    time_t seconds = (time_t)(wall_us / USEC_PER_SEC);
    struct tm tm;
    char text[32];

    if (wall_us == 0 || localtime_r(&seconds, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return xstrdup(none);
    return xstrdup(text);
}
