/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h - asks the scheduler's keeper several times in a lease, which answers also while the
 * scheduler itself cannot (scheduler/lease_keeper.c)
 *
 * UDP, from a socket that hears its keeper only. Where nobody answers, a firewall between for one,
 * the lease is renewed by reports alone. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct http_answer;
struct keep;

/* The lease counts from sent_us, as if a report had been taken that was sent then. */
typedef void (*keep_fn)(uint64_t sent_us, uint64_t lease_us, uint64_t now_us, void *userdata);

int keep_new(sd_event *event, keep_fn on_kept, void *userdata, struct keep **ret,
             struct edl_error *error);
struct keep *keep_free(struct keep *keep);

/* keep_tell - the answer to a report that was taken: whom to ask from now on, or nobody. After a
 * lease without such an answer or the keeper's it asks no more, until it is told again. */
void keep_tell(struct keep *keep, const struct http_answer *answer);
/* keep_nobody - there is no scheduler any more that knows this node */
void keep_nobody(struct keep *keep);
