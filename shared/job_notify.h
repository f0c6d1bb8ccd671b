/* SPDX-License-Identifier: Apache-2.0 */
/* job_notify.h - the receivers of notices about a job: addresses and a webhook, checked; pure
 *
 * Addresses and URLs go to other programs (sendmail, curl), which have rules of their own for odd
 * ones. So only plain forms are taken, of which all programs think the same.
 *
 * Used by: job_spec, job documents, the scheduler's notices. Tests: tests/unit/test_job_notify.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

/* What is told; members of a set. */
enum notify_event {
    NOTIFY_BEGIN = 1,   /* it runs for the first time */
    NOTIFY_END = 2,     /* it is over, however it ended */
    NOTIFY_FAIL = 4,    /* it has failed, or ran out of its time */
    NOTIFY_REQUEUE = 8, /* it went back to the queue */
};
#define NOTIFY_EVENTS 4

#define NOTIFY_MAILS_MAX 8
#define MAIL_ADDRESS_MAX 254
#define WEBHOOK_URL_MAX 2000
#define WEBHOOK_HOST_MAX 253

struct job_notify {
    uint32_t on;   /* a set of enum notify_event, not empty */
    bool each;     /* of an array each job is told of, and not the array as a whole */
    char **mails;  /* addresses, or names of accounts; NULL-terminated; NULL: none; owned */
    char *webhook; /* NULL: none; owned */
};

/* job_notify_copy - deep; NULL of NULL. job_notify_free - accepts NULL; returns NULL.
 * job_notify_equal - accepts NULL */
struct job_notify *job_notify_copy(const struct job_notify *notify);
struct job_notify *job_notify_free(struct job_notify *notify);
bool job_notify_equal(const struct job_notify *a, const struct job_notify *b);

/* notify_event_to_string - "begin", "end", "fail", "requeue"; notify_event_from_string - -EINVAL
 * for another word */
const char *notify_event_to_string(enum notify_event event);
int notify_event_from_string(const char *word);

/* mail_address_valid - NAME@DOMAIN of letters, digits and "._+-=~'", or the name of an account
 * without spaces and marks that a header of a mail gives a meaning */
bool mail_address_valid(const char *text);

/* A URL in its parts. */
struct webhook_url {
    bool tls;
    char host[WEBHOOK_HOST_MAX + 1]; /* a name or an address; of IPv6 without brackets */
    bool is_v6;                      /* it stands in brackets */
    uint16_t port;
};

/* webhook_url_read - http://HOST[:PORT][/PATH] or https://...; -EINVAL with remedy: another form,
 * or with a user and a password */
int webhook_url_read(const char *text, struct webhook_url *ret, struct edl_error *error);

/* webhook_url_shown - "https://host:port/...": what stands behind the host is often a secret */
#define WEBHOOK_SHOWN_MAX (WEBHOOK_HOST_MAX + 32)
const char *webhook_url_shown(const char *text, char ret[WEBHOOK_SHOWN_MAX]);
