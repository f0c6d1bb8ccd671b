/* SPDX-License-Identifier: Apache-2.0 */
/* log_watch.c - see log_watch.h */
#include "agent/logs/log_watch.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "agent/logs/log_trim.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define PERIOD_LEAST_US (1 * USEC_PER_SEC)
#define PERIOD_MOST_US (64 * USEC_PER_SEC)
#define FAST_PART 8  /* of the bound, within one period */
#define EXTRA_PART 4 /* of the bound, beyond it: an agent would have shortened it before */

void log_watch_begin(struct log_watch *watch, uint64_t bound_bytes, uint64_t now_us)
{
    *watch = (struct log_watch){ .most_bytes = bound_bytes + bound_bytes / EXTRA_PART,
                                 .period_us = PERIOD_LEAST_US,
                                 .look_at_us = now_us + PERIOD_LEAST_US };
    if (bound_bytes == 0)
        watch->look_at_us = NEVER_US;
}

void log_watch_note(struct log_watch *watch, uint64_t size, uint64_t now_us)
{
    bool is_fast = size > watch->size && size - watch->size > watch->most_bytes / FAST_PART;

    watch->period_us = is_fast ? PERIOD_LEAST_US : MIN_OF(watch->period_us * 2, PERIOD_MOST_US);
    watch->size = size;
    watch->look_at_us = now_us + watch->period_us;
}

void log_watch_look(struct log_watch *watch, int log_fd, uint64_t now_us)
{
    struct stat st;

    if (now_us < watch->look_at_us)
        return;
    if (fstat(log_fd, &st) == -1 || !S_ISREG(st.st_mode)) {
        watch->look_at_us = NEVER_US;
        return;
    }
    (void)log_shorten(log_fd, watch->most_bytes, (uint64_t)st.st_size);
    log_watch_note(watch, (uint64_t)st.st_size, now_us);
}
