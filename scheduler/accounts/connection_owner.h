/* SPDX-License-Identifier: Apache-2.0 */
/* connection_owner.h - whose a connection is, once its peer has shown a credential
 *
 * Nobody may have all connections of a scheduler: each owner has a bounded number of them
 * (http_server.h). Those of a node's reports and orders stand apart from all others.
 *
 * Used by: auth.c, api/nodes.c. Tests: 162-joins.sh, 162-fair.sh. */
#pragma once

#include <stdbool.h>

#include "scheduler/accounts/users.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/node_name.h"

struct edl_error;
struct http_request;

struct connection_owner {
    char name[MAX_OF(USER_NAME_MAX, NODE_NAME_MAX) +
              18]; /* for people; `is` refers to it, so this is not copied */
    struct http_owner is;
};

/* connection_owner_person - an admin may take the scheduler away anyway, and has no bound */
void connection_owner_person(struct connection_owner *ret, const char *user, enum user_role role);

/* connection_owner_node - lifeline: its reports and orders get through against all others, itself
 * included; else the calls of its jobs, which have a share among all */
void connection_owner_node(struct connection_owner *ret, const char *node, bool lifeline);

/* connection_owner_session - of the sessions of a user or a node ("user", "node"): as many as they
 * have now, and apart from their calls */
void connection_owner_session(struct connection_owner *ret, const char *whose, const char *name,
                              unsigned connections);

/* connection_owner_joins - all machines that join, together */
void connection_owner_joins(struct connection_owner *ret);

/* connection_owner_take - the request's connection is the owner's from now on; EDL_ETOOMANY with
 * error: the owner, or all together, have too many */
int connection_owner_take(struct http_request *request, const struct connection_owner *owner,
                          struct edl_error *error);

/* connection_owner_joined - the request's connection is the node's from now on. It no longer counts
 * among those that join, whose number is bounded, while it waits for the node's first report. */
void connection_owner_joined(struct http_request *request, const char *node);
