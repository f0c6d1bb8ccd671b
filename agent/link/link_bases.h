/* SPDX-License-Identifier: Apache-2.0 */
/* link_bases.h - the schedulers that a link may ask, and the HTTP clients of each
 *
 * Each has a number, which it keeps: core/server_round.h chooses by it. A client is made when it is
 * first used. Used by: link.c. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/http_client.h"
#include "shared/server_list.h"

struct link_bases;

/* link_bases_new - given: in this order, from 0 on; ca_path: NULL: the authorities of the system
 * EDL_ECONFIG or -EINVAL with error */
int link_bases_new(sd_event *event, const struct server_list *given, const char *ca_path,
                   struct link_bases **ret, struct edl_error *error);

/* link_bases_free - cancels all calls, no callbacks; accepts NULL, returns NULL */
struct link_bases *link_bases_free(struct link_bases *bases);

/* link_bases_learn - beside those given there are these from now on, and no others
 * No https address is taken where no authority of the cluster is known: the agent would believe no
 * server there. Returns a bit for each that may be asked (link_sm_servers). */
uint32_t link_bases_learn(struct link_bases *bases, const struct server_list *learnt);

/* link_bases_find - the number of the one at this address; -ENOENT */
int link_bases_find(const struct link_bases *bases, const char *url);

const char *link_bases_url(const struct link_bases *bases, unsigned base); /* borrowed */

/* link_bases_own - the client of joins, reports and orders, which goes before all else.
 * link_bases_others - of all else, among them workspaces of many GiB
 * NULL with error */
struct http_async *link_bases_own(struct link_bases *bases, unsigned base, struct edl_error *error);
struct http_async *link_bases_others(struct link_bases *bases, unsigned base,
                                     struct edl_error *error);

/* link_bases_renew - the machine moved: no call uses a connection that is there
 * link_bases_leave - this one leads: calls of others to the rest fail now, and may be made again */
void link_bases_renew(struct link_bases *bases);
void link_bases_leave(struct link_bases *bases, unsigned base);
