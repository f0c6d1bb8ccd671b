/* SPDX-License-Identifier: Apache-2.0 */
/* servers_wait.c - see servers_wait.h */
#include "trainer/exchange/servers_wait.h"

#include <errno.h>
#include <time.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/patience.h"
#include "trainer/exchange/job_api.h"

#define REPORT_US (10 * USEC_PER_SEC)
#define PAUSE_FIRST_MS 20u
#define PAUSE_MAX_MS 500u
#define TRY_US (30 * USEC_PER_SEC) /* one that gets no answer ends by itself */

/* try - what it takes is spent */
static int try(const struct servers_wait *wait, struct patience *patience, struct edl_error *error)
{
    int r;

    (void)patience_plan(patience, TRY_US, clock_read_us(CLOCK_BOOTTIME));
    r = wait->attempt(wait->userdata, error);
    patience_spend(patience, clock_read_us(CLOCK_BOOTTIME));
    return r;
}

int servers_wait(const struct servers_wait *wait, bool *ret_late, struct edl_error *error)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t report_us = now_us + USEC_PER_SEC;
    struct patience patience = patience_of(wait->wait_us);
    unsigned pause_ms = PAUSE_FIRST_MS;
    int r;

    *ret_late = false;
    while (wait->may_come(r = try(wait, &patience, error))) {
        now_us = clock_read_us(CLOCK_BOOTTIME);
        if (patience_is_over(&patience)) {
            *ret_late = true;
            return r;
        }
        if (now_us >= report_us) {
            log_info("waiting for %s: %s", wait->what, error->text);
            report_us = now_us + REPORT_US;
        }
        (void)patience_plan(&patience, pause_ms * USEC_PER_MSEC, now_us);
        if (wait_ms(pause_ms, wait->stop) < 0)
            return edl_error_set(error, -EINTR, "told to stop while waiting for the servers");
        patience_spend(&patience, clock_read_us(CLOCK_BOOTTIME));
        pause_ms = MIN_OF(pause_ms * 2, PAUSE_MAX_MS);
    }
    return r;
}
