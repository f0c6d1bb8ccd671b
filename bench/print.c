/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - a program that prints: `print RATE BYTES WRITE FILE`
 *
 * It prints BYTES in lines of 64, WRITE bytes a write(2), and works as much between them as makes
 * RATE bytes a second where printing costs nothing; RATE 0: it does not work. FILE gets the bytes a
 * second that it came to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define LINE_BYTES 64

/* work - turns of a loop that the compiler keeps */
static void work(uint64_t turns)
{
    for (volatile uint64_t i = 0; i < turns; i++)
        ;
}

/* turns_a_second - of a processor that does nothing else */
static double turns_a_second(void)
{
    const uint64_t turns = 50000000;
    uint64_t least_us = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before_us = clock_read_us(CLOCK_MONOTONIC);

        work(turns);
        least_us = MIN_OF(least_us, clock_read_us(CLOCK_MONOTONIC) - before_us);
    }
    return (double)turns * USEC_PER_SEC / (double)MAX_OF(least_us, UINT64_C(1));
}

int main(int argc, char **argv)
{
    uint64_t rate, bytes, size, turns = 0, began_us, took_us;
    char *text;
    FILE *file;

    if (argc != 5 || parse_u64(argv[1], &rate) < 0 || parse_u64(argv[2], &bytes) < 0 ||
        parse_u64(argv[3], &size) < 0 || size == 0) {
        (void)fprintf(stderr, "Usage: print RATE BYTES WRITE FILE\n");
        return 2;
    }
    text = xcalloc(1, size);
    for (uint64_t i = 0; i < size; i++)
        text[i] = i % LINE_BYTES == LINE_BYTES - 1 ? '\n' : 'x';
    if (rate > 0)
        turns = (uint64_t)(turns_a_second() * (double)size / (double)rate);
    began_us = clock_read_us(CLOCK_MONOTONIC);
    for (uint64_t done = 0; done < bytes; done += size) {
        work(turns);
        for (uint64_t at = 0; at < size;) {
            ssize_t n = write(STDOUT_FILENO, text + at, size - at);

            if (n <= 0)
                return 1;
            at += (uint64_t)n;
        }
    }
    took_us = MAX_OF(clock_read_us(CLOCK_MONOTONIC) - began_us, UINT64_C(1));
    free(text);
    file = fopen(argv[4], "w");
    if (file == NULL)
        return 1;
    (void)fprintf(file, "%.0f\n", (double)bytes * USEC_PER_SEC / (double)took_us);
    return fclose(file) == 0 ? 0 : 1;
}
