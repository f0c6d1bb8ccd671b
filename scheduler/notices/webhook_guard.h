/* SPDX-License-Identifier: Apache-2.0 */
/* webhook_guard.h - to which addresses the scheduler calls for its users; pure
 *
 * Every submitter names a URL, and the scheduler may reach places that the submitter cannot. So by
 * default it calls no address of its own machine, of its network, or of a cloud's metadata. A name
 * is judged by the addresses that it has when it is called, and no other is called then.
 *
 * Used by: options.c, notice_send.c, api/jobs.c. Tests: tests/unit/test_webhook_guard.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct sockaddr;

#define WEBHOOK_NETS_MAX 16
#define WEBHOOK_HOSTS_MAX 16
#define WEBHOOK_ALLOWED_HOST_MAX 127

/* What `webhook-allow` says. */
struct webhook_rules {
    bool open; /* all addresses of the public Internet */
    struct webhook_net {
        uint8_t address[16]; /* of IPv4 as ::ffff:a.b.c.d */
        uint8_t bits;        /* of 128 */
    } nets[WEBHOOK_NETS_MAX];
    size_t n_nets;
    char hosts[WEBHOOK_HOSTS_MAX][WEBHOOK_ALLOWED_HOST_MAX + 1]; /* at whatever address */
    size_t n_hosts;
};

/* webhook_rules_parse - "public", "none", or what else is allowed, with commas between: an address,
 * ADDRESS/BITS, a host. -EINVAL with remedy */
int webhook_rules_parse(const char *text, struct webhook_rules *ret, struct edl_error *error);

/* webhook_rules_none - nothing is */
bool webhook_rules_none(const struct webhook_rules *rules);

/* webhook_address_allowed - of the host of a URL, and one of its addresses (IPv4 or IPv6). own: it
 * is one of this machine, which "public" does not mean, even where the Internet knows it */
bool webhook_address_allowed(const struct webhook_rules *rules, const char *host,
                             const struct sockaddr *address, bool own);

/* webhook_host_refused - the host of a URL is an address, and not allowed: seen without asking
 * anybody */
bool webhook_host_refused(const struct webhook_rules *rules, const char *host);
