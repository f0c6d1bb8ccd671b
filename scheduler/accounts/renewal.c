/* SPDX-License-Identifier: Apache-2.0 */
/* renewal.c - the certificate is made anew while the scheduler runs
 *
 * By the wall clock, which the certificate ends by: the timer follows when that is set. */
#include <errno.h>
#include <time.h>

#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

#define AGAIN_US (3600 * USEC_PER_SEC) /* after a failure: a disk that is full, mostly */
#define ACCURACY_US USEC_PER_SEC

/* The first second in which certificate_check_server calls it due. */
static uint64_t due_us(const struct listeners *listeners)
{
    uint64_t end_s = listeners->tls.server_end_s;

    return end_s > CERTIFICATE_RENEW_S ? (end_s - CERTIFICATE_RENEW_S + 1) * USEC_PER_SEC : 0;
}

static int on_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct listeners *listeners = &scheduler->listeners;
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    uint64_t before_s = listeners->tls.server_end_s;
    struct edl_error error = { 0 };
    char end[RFC3339_MAX];

    (void)time_us;
    if (listeners_renew(scheduler, &error) < 0)
        log_entry(LOG_LEVEL_WARNING,
                  &(struct log_subject){ .message = MESSAGE_CERTIFICATE_NOT_RENEWED },
                  "the certificate, which ends at %s, could not be made anew: %s%s%s",
                  rfc3339_format(before_s * USEC_PER_SEC, end), error.text,
                  error.remedy[0] != '\0' ? "; " : "", error.remedy);
    else if (listeners->tls.server_end_s != before_s)
        log_info("the certificate was made anew, it ends at %s",
                 rfc3339_format(listeners->tls.server_end_s * USEC_PER_SEC, end));
    (void)sd_event_source_set_time(source, error.code != 0 || due_us(listeners) <= now_us
                                               ? now_us + AGAIN_US
                                               : due_us(listeners));
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

int renewal_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct listeners *listeners = &scheduler->listeners;
    int r;

    if (listeners->tls.server.certificate == NULL)
        return 0;
    r = sd_event_add_time(scheduler->event, &listeners->renewal, CLOCK_REALTIME, due_us(listeners),
                          ACCURACY_US, on_due, scheduler);
    if (r < 0)
        return edl_error_errno(error, r, "the timer of the certificate");
    (void)sd_event_source_set_description(listeners->renewal, "certificate-renewal");
    return 0;
}
