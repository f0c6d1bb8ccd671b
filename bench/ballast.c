/* SPDX-License-Identifier: Apache-2.0 */
/* ballast.c - preloaded into edl-agent: memory that it touches, as if it had grown so large
 *
 * EDL_BALLAST_MIB of it, in edl-agent alone: its children inherit the variable and not this. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *volatile bench_ballast; /* seen from outside, so that it is not optimised away */

__attribute__((constructor)) static void load(void)
{
    const char *mib = getenv("EDL_BALLAST_MIB");
    size_t size = mib != NULL ? strtoul(mib, NULL, 10) << 20 : 0;
    void *ballast;

    if (strcmp(program_invocation_short_name, "edl-agent") != 0 || size == 0)
        return;
    ballast = malloc(size);
    if (ballast != NULL)
        memset(ballast, 1, size); /* never freed: it is the point */
    bench_ballast = ballast;
}
