/* SPDX-License-Identifier: Apache-2.0 */
/* notice_means.h - whether this machine can send mails, and call webhooks
 *
 * Used by: notices.c. Tests: tests/unit/test_notice_means.c. */
#pragma once

#include "scheduler/notices/outbox.h"

struct edl_error;
struct notice_ways;

/* notice_means - 0, or -ENOENT with error and remedy: the program lacks, or cannot do its work
 * here. A few looks at files */
int notice_means(const struct notice_ways *ways, enum notice_channel channel,
                 struct edl_error *error);
