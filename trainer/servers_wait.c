/* SPDX-License-Identifier: Apache-2.0 */
/* servers_wait.c - see servers_wait.h */
#include "trainer/servers_wait.h"

#include <errno.h>
#include <time.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/job_api.h"

#define REPORT_US (10 * USEC_PER_SEC)
#define PAUSE_FIRST_MS 20u
#define PAUSE_MAX_MS 500u

int servers_wait(const struct servers_wait *wait, bool *ret_late, struct edl_error *error)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME), deadline_us = now_us + wait->wait_us;
    uint64_t report_us = now_us + USEC_PER_SEC;
    unsigned pause_ms = PAUSE_FIRST_MS;
    int r;

    *ret_late = false;
    while (wait->may_come(r = wait->attempt(wait->userdata, error))) {
        now_us = clock_read_us(CLOCK_BOOTTIME);
        if (now_us >= deadline_us) {
            *ret_late = true;
            return r;
        }
        if (now_us >= report_us) {
            log_info("waiting for %s: %s", wait->what, error->text);
            report_us = now_us + REPORT_US;
        }
        if (wait_ms(pause_ms, wait->stop) < 0)
            return edl_error_set(error, -EINTR, "told to stop while waiting for the servers");
        pause_ms = MIN_OF(pause_ms * 2, PAUSE_MAX_MS);
    }
    return r;
}
