/* SPDX-License-Identifier: Apache-2.0 */
/* notice_send.h - one try to send one message, in a thread of worker.h: by sendmail or by curl
 *
 * The programs are children of their own, so no code of the scheduler reads an answer but for a
 * number. URLs and texts go there through files in memory, and stand on no command line. The host
 * of a webhook is looked up here, and its addresses are judged. curl is told to connect to one of
 * those, and follows no redirect.
 *
 * Used by: notices.c. Tests: tests/integration/373-notify.sh. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/notices/outbox.h"
#include "scheduler/notices/webhook_guard.h"
#include "scheduler/worker.h"
#include "shared/job_notify.h"

#define MAILER_MAX 256
#define MAIL_DOMAIN_MAX 253
#define NOTICE_ID_MAX 64
#define NOTICE_WHY_MAX 200
#define NOTICE_CURL "/usr/bin/curl"

/* How notices are sent: options of the scheduler. */
struct notice_ways {
    char mailer[MAILER_MAX]; /* path of a program like sendmail, "smtp://HOST[:PORT]"; "none" */
    char mail_from[MAIL_ADDRESS_MAX + 1]; /* "": edl@ this machine */
    char mail_domain[MAIL_DOMAIN_MAX + 1];
    struct webhook_rules webhooks;
    uint64_t timeout_us; /* of one try */
};

enum notice_result {
    NOTICE_SENT,
    NOTICE_AGAIN, /* another try may help */
    NOTICE_NEVER, /* none will */
};

/* A block of malloc's that holds nothing else (worker_abandon). */
struct notice_send {
    struct worker_job job; /* first */
    void *owner;           /* of notices.c */
    size_t slot;
    uint64_t message_id;
    enum notice_channel channel;
    struct notice_ways ways;
    char host[256]; /* of this machine */
    char id[NOTICE_ID_MAX];
    char target[NOTIFY_MAILS_MAX * (MAIL_ADDRESS_MAX + 2)]; /* or a URL; room for either */
    uint64_t wall_us;
    uint32_t n_more;
    int stop_fd;            /* borrowed: readable when no result is wanted any more */
    atomic_bool looking_up; /* of a host, which nothing cuts short */
    enum notice_result result;
    char why[NOTICE_WHY_MAX];
    char lines[]; /* of the notices */
};
_Static_assert(sizeof((struct notice_send *)0)->target > WEBHOOK_URL_MAX, "a URL has room");

/* notice_send_drop - in the place of done: nobody wants the result */
void notice_send_drop(struct worker_job *job);

/* notice_send_run - in the thread; sets result and why */
void notice_send_run(struct worker_job *job);
