/* SPDX-License-Identifier: Apache-2.0 */
/* connection_owner.c - whose a connection is, once its peer has shown a credential */
#include "scheduler/accounts/connection_owner.h"

#include <stdint.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/http_client.h"

/* An agent asks for its orders and reports; after each time that the network failed it does so
 * anew, and its old connection is still open here. Its reports are some MiB. */
#define LIFELINE_CONNECTIONS 16
#define LIFELINE_BODY_BYTES ((uint64_t)16 << 20)
/* As many calls of processes an agent has under way (shared/http_client.h), and logs beside them.
 */
#define WORK_CONNECTIONS (HTTP_ASYNC_CONNECTIONS + 16)

void connection_owner_person(struct connection_owner *ret, const char *user, enum user_role role)
{
    (void)snprintf(ret->name, sizeof ret->name, "user %s", user);
    ret->is = (struct http_owner){ .name = role < USER_ADMIN ? ret->name : NULL };
}

void connection_owner_node(struct connection_owner *ret, const char *node, bool lifeline)
{
    (void)snprintf(ret->name, sizeof ret->name, lifeline ? "node %s" : "jobs of %s", node);
    ret->is = lifeline ? (struct http_owner){ .connections = LIFELINE_CONNECTIONS,
                                              .body_bytes = LIFELINE_BODY_BYTES,
                                              .apart = true }
                       : (struct http_owner){ .connections = WORK_CONNECTIONS };
    ret->is.name = ret->name;
}

void connection_owner_session(struct connection_owner *ret, const char *whose, const char *name,
                              unsigned connections)
{
    (void)snprintf(ret->name, sizeof ret->name, "sessions of %s %s", whose, name);
    ret->is = (struct http_owner){ .name = ret->name, .connections = connections };
}

void connection_owner_joins(struct connection_owner *ret)
{
    (void)snprintf(ret->name, sizeof ret->name, "who joins");
    ret->is = (struct http_owner){ .name = ret->name };
}

int connection_owner_take(struct http_request *request, const struct connection_owner *owner,
                          struct edl_error *error)
{
    if (http_request_proven(request, &owner->is))
        return 0;
    http_reply_header(request, "Connection", "close");
    (void)edl_error_set(error, EDL_ETOOMANY, "%s, or all together, have too many connections",
                        owner->name);
    return edl_error_remedy(error, "close some: use one for many calls, and one long poll or event "
                                   "stream for all jobs");
}

void connection_owner_joined(struct http_request *request, const char *node)
{
    struct connection_owner owner;

    connection_owner_node(&owner, node, true);
    (void)http_request_proven(request, &owner.is); /* it stands apart, so there is always room */
}
