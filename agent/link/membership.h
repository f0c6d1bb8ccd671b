/* SPDX-License-Identifier: Apache-2.0 */
/* membership.h - which cluster this node belongs to, and how it knows it
 *
 * A join line says it once: `--join URL[,URL...] --token T --ca-pin P`. The authority that the pin
 * names, or that of `--ca FILE`, goes to ca.pem of the state folder, servers and name to
 * member.json. From then on the state folder alone is enough. All schedulers of a cluster have one
 * authority. Tests: tests/integration/150-trust.sh, tests/unit/test_membership.c. */
#pragma once

#include <stdbool.h>

#include "shared/server_list.h"

struct agent_options;
struct edl_error;

struct membership {             /* owned */
    struct server_list servers; /* as given, now or when it joined; one of them leads */
    const char *server;         /* the first of them; NULL: none */
    char *node;
    char *address; /* where processes of this node are reached: as given, else the one from which it
                    * reached the scheduler last, else that of own_address.h for a scheduler on a
                    * Unix socket, else loopback */
    bool address_given; /* by an option, now or when it joined: it stays */
    char *ca_path;      /* NULL: no https, so none is needed */
};

/* membership_open - from the options, and from what an earlier join left in the state folder
 * At the first join over https it asks the servers, one after the other, for their certificates
 * until one answers. Of several it waits for each a second, and then for each again, for 10 s at
 * most. Nothing is sent to a server that is not the one that the pin names. Errors: -EINVAL,
 * -EEXIST (the folder belongs to another cluster or node), -EACCES (another server),
 * EDL_EUNREACHABLE. */
int membership_open(const struct agent_options *options, const char *state_dir,
                    struct membership *ret, struct edl_error *error);

/* membership_look - what is known without asking anybody, and without changing anything: servers
 * may be none, server and node be NULL, ca_path is the file that is believed, if one is there;
 * address stays NULL *ret_joined: there is a credential. Errors: as reading member.json gives them.
 */
int membership_look(const struct agent_options *options, const char *state_dir,
                    struct membership *ret, bool *ret_joined, struct edl_error *error);

/* membership_move - processes of this node are reached at another address from now on; kept beside
 * the rest where a join line was used. What cannot be written the next report finds again. */
void membership_move(struct membership *membership, const char *state_dir, const char *address);

void membership_done(struct membership *membership);
