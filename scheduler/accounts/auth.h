/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - who may call what
 *
 * People come with the admin token of the state directory or with a token of their own (users.h).
 * Or they come over the Unix socket, whose other end the kernel names. Each has a role, and a route
 * says the least one. Machines come with a join token (joining only): one-time ones, and the state
 * directory's own for agents of the scheduler's host; or with a node's credential (its own node's
 * calls, and calls that its agent forwards for a process that lives on it). Compared in constant
 * time or by hash; kept as SHA-256 only. Every refusal is logged (denials.h). */
#pragma once

#include <stddef.h>

#include "scheduler/accounts/users.h"
#include <stdint.h>

struct edl_error;
struct http_request;
struct http_route;
struct process;
struct scheduler;
struct stored_token;

enum route_flags {
    ROUTE_PUBLIC = 1 << 0, /* nobody is asked */
    ROUTE_JOIN = 1 << 1,   /* the join token, too */
    ROUTE_NODE = 1 << 2,   /* the credential of {node}, too */
    ROUTE_FIRST = 1 << 14, /* keeps a node in the cluster: waits for nobody else (dispatch.h) */
    ROUTE_PROCESS =
        1 << 3, /* X-EDL-Process names a process of {job} that lives on the caller's node */
    ROUTE_DOCUMENT = 1 << 15, /* its body is a job document, JSON or YAML (job_document.h) */
    ROUTE_KEYED = 1 << 4,     /* takes an Idempotency-Key (idempotency.h) */
    ROUTE_MATCHED = 1 << 9,   /* takes If-Match (precondition.h) */
    ROUTE_TAGGED = 1 << 11,   /* the good answer has the ETag of its subject */
    ROUTE_CACHED = 1 << 13,   /* takes If-None-Match: 304 when it is still so */
    ROUTE_UNSTORED = 1 << 10, /* no GET, but works while nothing can be stored (degraded.h) */
    ROUTE_STREAMED = 1 << 12, /* as server-sent events, too; takes Last-Event-ID (api/events.c) */
    /* People: the least role that may call, at most one of these. None: no person's call. */
    ROUTE_VIEWER = 1 << 5,
    ROUTE_USER = 1 << 6,
    ROUTE_OPERATOR = 1 << 7,
    ROUTE_ADMIN = 1 << 8,
    ROUTE_SESSION = 1 << 17, /* its connections are those of a session (connection_owner.h) */
    ROUTE_LOGIN = 1 << 16,   /* nobody but the bearer of a code for `edl login` */
    ROUTE_BROWSER =
        1 << 18, /* changes something, and the token of a browser may call all the same */
};

/* route_is_public_read - nobody is asked, and nothing is told of what is stored */
bool route_is_public_read(const struct http_route *route);

#define ROUTE_PEOPLE (ROUTE_VIEWER | ROUTE_USER | ROUTE_OPERATOR | ROUTE_ADMIN)

/* The user of the admin token, and of root on the Unix socket; nobody else has the name: no row
 * does, and an account that is called so does not come in. */
#define AUTH_ADMIN_NAME "admin"

/* The person who calls. */
struct caller {
    char user[USER_NAME_MAX + 1];
    char via[40];      /* how that is known: "admin-token", "token 3", "uid 1000" */
    uint64_t token_id; /* 0: none of users.h */
    bool is_browser;   /* of that token: it may read, and take itself away */
    enum user_role role;
};

/* auth_caller - 1 with *ret, 0 when it is no person known here; cheap (one SHA-256), so nobody has
 * to keep it */
int auth_caller(struct scheduler *scheduler, const struct http_request *request,
                struct caller *ret);

/* auth_socket_role - the role of an account of this machine that comes over the Unix socket: that
 * of its row, without one --socket-role; nothing when it is called AUTH_ADMIN_NAME */
enum user_role auth_socket_role(const struct scheduler *scheduler, const char *name);

/* auth_owner - 0 when the caller owns what belongs to user or is at least an operator; -EACCES with
 * error */
int auth_owner(struct scheduler *scheduler, const struct http_request *request, const char *user,
               struct edl_error *error);

/* auth_check - http_server_config.authorise; userdata is the scheduler. EDL_EUNAUTHENTICATED,
 * -EACCES, -ENOENT; 1: the caller is being looked up (peer.h), -EAGAIN: that takes too long */
int auth_check(struct http_request *request, const struct http_route *route, void *userdata,
               struct edl_error *error);

/* auth_note_refusal - http_server_config.refused: every answer of 401 or 403 is in the log, from
 * every place that refuses (denials.h) */
void auth_note_refusal(const struct http_request *request, const struct edl_error *error,
                       void *userdata);

/* auth_recheck - whether a request that was let in may go on: the answer of auth_check now, of
 * calls that people make. A caller that waits, reads on, or sent a body for long may have been
 * removed since.
 */
int auth_recheck(struct scheduler *scheduler, struct http_request *request,
                 struct edl_error *error);

/* auth_login_code - the code with which the request came, and ret: whose it is; NULL: another
 * credential, or one that has expired */
struct token *auth_login_code(struct scheduler *scheduler, const struct http_request *request,
                              struct caller *ret);

/* auth_join_token - the one-time token with which the request came; NULL: another credential */
const struct stored_token *auth_join_token(const struct scheduler *scheduler,
                                           const struct http_request *request);

/* auth_process - the live process that X-EDL-Process names; EDL_ESTALE when it is not live any more
 */
int auth_process(struct scheduler *scheduler, const struct http_request *request,
                 struct process **ret, struct edl_error *error);

/* auth_whose - who means his own job by its name: the person who calls, or whose job the calling
 * process is of; "": nobody who is known. ret holds USER_NAME_MAX + 1 bytes */
void auth_whose(struct scheduler *scheduler, const struct http_request *request, char *ret);

/* auth_reader - 0 for a person who was let in, and for a live process; EDL_ESTALE otherwise */
int auth_reader(struct scheduler *scheduler, const struct http_request *request,
                struct edl_error *error);

/* auth_make_token - 32 random bytes in hex (ret holds 65 bytes) */
int auth_make_token(char *ret, struct edl_error *error);

/* auth_hash - SHA-256 of a text in hex (ret holds 65 bytes) */
int auth_hash(const char *text, char *ret, struct edl_error *error);

/* auth_hash_request - SHA-256 of method, target and body in hex (ret holds 65 bytes) */
int auth_hash_request(const struct http_request *request, char *ret, struct edl_error *error);

/* auth_random_u64 - for orders_base */
int auth_random_u64(uint64_t *ret, struct edl_error *error);

/* auth_token_file - reads the token in path, or makes one there (0600, on disk before it is used)
 */
int auth_token_file(const char *path, char *ret, struct edl_error *error);
