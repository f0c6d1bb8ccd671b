/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h */
#include "shared/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/elapsed_clock.h"

/* Of this process, as the clocks of the kernel are. */
static const struct elapsed_clock *kept;

void clock_keep(const struct elapsed_clock *clock)
{
    kept = clock;
}

struct instant clock_instant(void)
{
    struct instant now = { .now_us = clock_read_us(CLOCK_BOOTTIME) };

    now.wall_us = kept != NULL ? elapsed_clock_at(kept, now.now_us) : clock_read_us(CLOCK_REALTIME);
    now.ahead_us = kept != NULL ? elapsed_clock_ahead_us(kept, now.wall_us) : 0;
    return now;
}

uint64_t clock_shown_us(uint64_t wall_us)
{
    if (kept == NULL || wall_us == 0)
        return wall_us;
    return wall_us + (uint64_t)elapsed_clock_ahead_us(kept, wall_us);
}

uint64_t clock_elapsed_us(uint64_t shown_us)
{
    int64_t elapsed_us = (int64_t)shown_us - clock_instant().ahead_us;

    if (shown_us == 0)
        return 0;
    return elapsed_us > 0 ? (uint64_t)elapsed_us : 1;
}

int clock_boot_id(char *ret, size_t size)
{
    _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? read(fd, ret, size - 1) : -1;
    const char *told = getenv(CLOCK_BOOT_ID_VARIABLE);

    if (n <= 0 && told != NULL && told[0] != '\0' && strlen(told) < size) {
        (void)snprintf(ret, size, "%s", told);
        return 0;
    }
    if (n <= 0)
        return n == -1 ? -errno : -EIO;
    ret[n] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}
