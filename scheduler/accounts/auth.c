/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c - who may call what */
#include "scheduler/accounts/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "scheduler/accounts/connection_owner.h"
#include "scheduler/accounts/join_tokens.h"
#include "scheduler/accounts/role_check.h"
#include "scheduler/calls/peer.h"
#include "scheduler/calls/peer_job.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/whole_file.h"

#define TOKEN_BYTES (TOKEN_HEX / 2)

int auth_make_token(char *ret, struct edl_error *error)
{
    unsigned char bytes[TOKEN_BYTES];
    int r = gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof bytes);

    if (r < 0)
        return edl_error_set(error, -EIO, "no random bytes: %s", gnutls_strerror(r));
    hex_encode(bytes, sizeof bytes, ret);
    return 0;
}

int auth_hash(const char *text, char *ret, struct edl_error *error)
{
    unsigned char digest[32];
    int r = gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), digest);

    if (r < 0)
        return edl_error_set(error, -EIO, "SHA-256: %s", gnutls_strerror(r));
    hex_encode(digest, sizeof digest, ret);
    return 0;
}

int auth_hash_request(const struct http_request *request, char *ret, struct edl_error *error)
{
    size_t size;
    const char *body = http_request_body(request, &size);
    const char *head[] = { http_request_method(request), http_request_target(request) };
    unsigned char digest[32];
    gnutls_hash_hd_t hash;
    int r = gnutls_hash_init(&hash, GNUTLS_DIG_SHA256);

    if (r < 0)
        return edl_error_set(error, -EIO, "SHA-256: %s", gnutls_strerror(r));
    for (size_t i = 0; i < ELEMENTS(head); i++) /* with the NUL: it ends the word */
        (void)gnutls_hash(hash, head[i], strlen(head[i]) + 1);
    (void)gnutls_hash(hash, body, size);
    gnutls_hash_deinit(hash, digest);
    hex_encode(digest, sizeof digest, ret);
    return 0;
}

int auth_random_u64(uint64_t *ret, struct edl_error *error)
{
    int r = gnutls_rnd(GNUTLS_RND_NONCE, ret, sizeof *ret);

    return r < 0 ? edl_error_set(error, -EIO, "no random bytes: %s", gnutls_strerror(r)) : 0;
}

/* Lengths are no secret: every token is as long as every other. */
static bool same_secret(const char *a, const char *b)
{
    size_t length = strlen(a);

    return length > 0 && length == strlen(b) && gnutls_memcmp(a, b, length) == 0;
}

/* --- token files --- */

static int read_token(int fd, const char *path, char *ret, struct edl_error *error)
{
    char text[TOKEN_HEX + 2] = "";
    struct stat st;
    ssize_t n = read(fd, text, sizeof text - 1);

    if (n == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "reading %s", path);
    if ((st.st_mode & 077) != 0) {
        (void)edl_error_set(error, -EPERM, "%s can be read by others", path);
        return edl_error_remedy(error, "chmod 600 %s, or remove it to have a new one made", path);
    }
    text[strcspn(text, "\n")] = '\0';
    if (strlen(text) != TOKEN_HEX || strspn(text, "0123456789abcdef") != TOKEN_HEX) {
        (void)edl_error_set(error, -EINVAL, "%s does not hold a token", path);
        return edl_error_remedy(error, "remove it to have a new one made");
    }
    memcpy(ret, text, TOKEN_HEX);
    ret[TOKEN_HEX] = '\0';
    return 0;
}

static int write_token(const char *path, char *ret, struct edl_error *error)
{
    char token[TOKEN_HEX + 1], line[TOKEN_HEX + 2];
    int r = auth_make_token(token, error);

    if (r < 0)
        return r;
    (void)snprintf(line, sizeof line, "%s\n", token);
    r = whole_file_write(path, line, 0600, error);
    if (r == 0)
        memcpy(ret, token, sizeof token);
    return r;
}

int auth_token_file(const char *path, char *ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd != -1)
        return read_token(fd, path, ret, error);
    if (errno != ENOENT)
        return edl_error_errno(error, -errno, "opening %s", path);
    return write_token(path, ret, error);
}

/* --- requests --- */

static int unauthenticated(struct edl_error *error)
{
    (void)edl_error_set(error, EDL_EUNAUTHENTICATED, "the call needs a valid bearer token");
    return edl_error_remedy(error,
                            "give a token of yours (an admin makes one: edl token create), or"
                            " on the scheduler's machine that of admin-token in its state"
                            " directory: edl --token-file FILE");
}

static const char *bearer(const struct http_request *request)
{
    const char *header = http_request_header(request, "Authorization");

    return header != NULL && strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : NULL;
}

/* "7.trainer.3.12" */
struct process_key {
    uint64_t job_id, index, incarnation;
    char role[ROLE_NAME_MAX + 1];
};

static int parse_key(const char *text, struct process_key *ret)
{
    char copy[128];
    char *fields[4];
    size_t n = 0;
    char *at = copy;

    if (strlen(text) >= sizeof copy)
        return -EINVAL;
    (void)snprintf(copy, sizeof copy, "%s", text);
    while (at != NULL && n < ELEMENTS(fields))
        fields[n++] = strsep(&at, ".");
    if (at != NULL || n != ELEMENTS(fields) || strlen(fields[1]) > ROLE_NAME_MAX ||
        parse_u64(fields[0], &ret->job_id) < 0 || parse_u64(fields[2], &ret->index) < 0 ||
        ret->index > UINT32_MAX || parse_u64(fields[3], &ret->incarnation) < 0)
        return -EINVAL;
    (void)snprintf(ret->role, sizeof ret->role, "%s", fields[1]);
    return 0;
}

/* Of the jobs in the core: in one that is further back every process has ended, and nobody makes
 * the scheduler look for it on the disk. */
static struct process *look_up(const struct scheduler *scheduler, const struct process_key *key)
{
    const struct job *job = cluster_job(scheduler->cluster, key->job_id);
    int role = job != NULL ? job_spec_role(job->spec, key->role) : -ENOENT;

    return role >= 0 ? job_find_process(job, (uint32_t)role, (uint32_t)key->index, key->incarnation)
                     : NULL;
}

static bool is_called(const struct scheduler *scheduler, const struct job *job, const char *text)
{
    struct job_ref ref = job_ref_read(text);

    return cluster_job_of(scheduler->cluster, job->user, &ref) == job;
}

static int find_process(struct scheduler *scheduler, const struct http_request *request,
                        struct process **ret, struct edl_error *error)
{
    const char *header = http_request_header(request, "X-EDL-Process");
    const char *path_job = http_request_param(request, "job");
    struct process_key key;
    struct process *process;

    if (header == NULL || parse_key(header, &key) < 0) {
        (void)edl_error_set(error, -EINVAL,
                            "the call is made for a process: the header"
                            " X-EDL-Process is missing or not valid");
        return edl_error_remedy(error, "X-EDL-Process: <job id>.<role>.<index>.<incarnation>");
    }
    process = look_up(scheduler, &key);
    if (process == NULL)
        return edl_error_set(error, EDL_ESTALE, "process %s has ended, or never was", header);
    if (path_job != NULL && !is_called(scheduler, process->job, path_job))
        return edl_error_set(error, -EACCES, "process %s does not belong to job %s", header,
                             path_job);
    *ret = process;
    return 0;
}

int auth_process(struct scheduler *scheduler, const struct http_request *request,
                 struct process **ret, struct edl_error *error)
{
    struct process *process;
    int r = find_process(scheduler, request, &process, error);

    if (r < 0)
        return r;
    if (process_state_is_final(process->state))
        return edl_error_set(error, EDL_ESTALE, "process %s has ended (%s)",
                             http_request_header(request, "X-EDL-Process"),
                             process_state_to_string(process->state));
    *ret = process;
    return 0;
}

int auth_reader(struct scheduler *scheduler, const struct http_request *request,
                struct edl_error *error)
{
    struct process *process;
    struct caller caller;

    return auth_caller(scheduler, request, &caller) == 1
               ? 0
               : auth_process(scheduler, request, &process, error);
}

void auth_whose(struct scheduler *scheduler, const struct http_request *request, char *ret)
{
    struct caller caller = { .user = "" };
    struct process *process;
    const char *user = caller.user;

    if (auth_caller(scheduler, request, &caller) != 1 &&
        http_request_header(request, "X-EDL-Process") != NULL &&
        find_process(scheduler, request, &process, NULL) == 0)
        user = process->job->user;
    (void)snprintf(ret, USER_NAME_MAX + 1, "%.*s", USER_NAME_MAX, user);
}

/* --- people --- */

static void set_caller(struct caller *ret, const char *user, enum user_role role)
{
    (void)snprintf(ret->user, sizeof ret->user, "%s", user);
    ret->role = role;
    ret->token_id = 0;
    ret->is_browser = false;
}

/* token_of - the row of a bearer, a code for `edl login` among them; NULL: none, or expired */
static const struct token *token_of(const struct scheduler *scheduler, const char *text)
{
    char hash[TOKEN_HASH_MAX + 1];

    return auth_hash(text, hash, NULL) == 0
               ? tokens_find(scheduler->users, hash, clock_instant().wall_us)
               : NULL;
}

static int caller_of_token(struct scheduler *scheduler, const char *text, struct caller *ret)
{
    const struct token *token;

    if (same_secret(text, scheduler->admin_token)) {
        set_caller(ret, AUTH_ADMIN_NAME, USER_ADMIN);
        (void)snprintf(ret->via, sizeof ret->via, "admin-token");
        return 1;
    }
    token = token_of(scheduler, text);
    if (token == NULL || token->is_login)
        return 0;
    set_caller(ret, token->user, users_find(scheduler->users, token->user)->role);
    (void)snprintf(ret->via, sizeof ret->via, "token %" PRIu64, token->id);
    ret->token_id = token->id;
    ret->is_browser = token->is_browser;
    if (token
            ->is_browser) /* what an admin alone may read is not for a browser to keep the key of */
        ret->role = MIN_OF(ret->role, USER_OPERATOR);
    return 1;
}

struct token *auth_login_code(struct scheduler *scheduler, const struct http_request *request,
                              struct caller *ret)
{
    const char *text = bearer(request);
    const struct token *token = text != NULL ? token_of(scheduler, text) : NULL;

    if (token == NULL || !token->is_login)
        return NULL;
    set_caller(ret, token->user, users_find(scheduler->users, token->user)->role);
    (void)snprintf(ret->via, sizeof ret->via, "login code %" PRIu64, token->id);
    return tokens_by_id(scheduler->users, token->id);
}

enum user_role auth_socket_role(const struct scheduler *scheduler, const char *name)
{
    const struct user *user = users_find(scheduler->users, name);

    if (streq(name,
              AUTH_ADMIN_NAME)) /* the property of root and the admin token is not that account's */
        return USER_NOBODY;
    return user != NULL ? user->role : scheduler->options.socket_role;
}

/* A person with an account on this machine comes in under its name. root, and whom the scheduler
 * runs as, could read the admin token anyway. */
static int caller_of_peer(struct scheduler *scheduler, const struct http_request *request,
                          struct caller *ret)
{
    char name[USER_NAME_MAX + 1];
    uid_t uid;

    if (peer_uid(http_request_peer_fd(request), &uid) < 0)
        return 0;
    (void)snprintf(ret->via, sizeof ret->via, "uid %u", (unsigned)uid);
    if (uid == 0 || uid == geteuid()) {
        set_caller(ret, AUTH_ADMIN_NAME, USER_ADMIN);
        return 1;
    }
    if (peer_name(scheduler->peers, uid, clock_read_us(CLOCK_BOOTTIME), name, sizeof name) < 0)
        return 0; /* none, or it is not known any more: auth_check waits for that */
    set_caller(ret, name, auth_socket_role(scheduler, name));
    return 1;
}

int auth_caller(struct scheduler *scheduler, const struct http_request *request, struct caller *ret)
{
    const char *token = bearer(request);

    return token != NULL ? caller_of_token(scheduler, token, ret)
                         : caller_of_peer(scheduler, request, ret);
}

int auth_owner(struct scheduler *scheduler, const struct http_request *request, const char *user,
               struct edl_error *error)
{
    struct caller caller = { .role = USER_NOBODY };

    if (auth_caller(scheduler, request, &caller) == 1 && caller.role != USER_NOBODY &&
        (caller.role >= USER_OPERATOR || streq(caller.user, user)))
        return 0;
    (void)edl_error_set(error, -EACCES, "it belongs to %s, and you are %s", user, caller.user);
    return edl_error_remedy(error, "ask %s, or an operator", user);
}

/* --- machines --- */

static int check_node(struct scheduler *scheduler, const char *token, const char *node_name,
                      struct edl_error *error)
{
    const struct node *node = cluster_node(scheduler->cluster, node_name);
    char hash[65];
    int r = auth_hash(token, hash, error);

    if (r < 0)
        return r;
    /* An unknown node and a wrong credential look the same: names are not to be probed. */
    if (node == NULL || !same_secret(hash, node->credential_hash)) {
        (void)edl_error_set(error, EDL_EUNAUTHENTICATED, "not the credential of node %s",
                            node_name);
        return edl_error_remedy(
            error,
            "when it was removed, or its folder lost, it joins again: run there what"
            " `edl node add %.*s` prints",
            NODE_NAME_MAX, node_name);
    }
    return 0;
}

static bool is_of_a_node(const struct scheduler *scheduler, const char *token)
{
    char hash[TOKEN_HASH_MAX + 1];

    if (auth_hash(token, hash, NULL) < 0)
        return false;
    for (const struct node *node = cluster_nodes(scheduler->cluster); node != NULL;
         node = node->hh.next)
        if (same_secret(hash, node->credential_hash))
            return true;
    return false;
}

/* Which processes there are is told to nobody who has not shown a credential, and a node has to do
 * with its own. */
static int check_process(struct scheduler *scheduler, struct http_request *request,
                         const char *token, struct process **ret, struct edl_error *error)
{
    int r = find_process(scheduler, request, ret, error);

    if (r == 0 && check_node(scheduler, token, (*ret)->node_name, error) == 0)
        return 0;
    if (!is_of_a_node(scheduler, token))
        return unauthenticated(error);
    return r < 0 ? r
                 : edl_error_set(error, -EACCES, "process %s does not live on the caller's node",
                                 http_request_header(request, "X-EDL-Process"));
}

/* Not 401: an agent would take that for the end of its credential, and try again. */
static int refuse_node(const struct http_route *route, struct edl_error *error)
{
    (void)edl_error_set(error, -EACCES, "%s %s is a person's call, not a node's or a process's",
                        route->method, route->path);
    return edl_error_remedy(error, "edl-socket(7) has those that a process may make");
}

const struct stored_token *auth_join_token(const struct scheduler *scheduler,
                                           const struct http_request *request)
{
    const char *token = bearer(request);

    return token != NULL ? join_tokens_find(scheduler, token) : NULL;
}

/* Whether a one-time token is good for this very node shows when the body is there. */
static int check_join(struct scheduler *scheduler, const struct http_request *request,
                      const char *token, struct edl_error *error)
{
    const struct stored_token *stored = join_tokens_find(scheduler, token);

    if (stored != NULL)
        return join_tokens_alive(stored, clock_instant().wall_us, error);
    if (!same_secret(token, scheduler->join_token)) {
        (void)edl_error_set(error, EDL_EUNAUTHENTICATED, "there is no such join token");
        return edl_error_remedy(error, "make one on the scheduler's host: edl node add");
    }
    if (http_request_is_local(request))
        return 0;
    (void)edl_error_set(error, -EACCES,
                        "the join token of the state directory is good on the scheduler's own host "
                        "only");
    return edl_error_remedy(error, "make one for this node there: edl node add");
}

/* check_login - a code and nothing else: a token needs no other one */
static int check_login(struct scheduler *scheduler, const struct http_request *request,
                       struct connection_owner *ret, struct edl_error *error)
{
    struct caller caller;

    if (auth_login_code(scheduler, request, &caller) != NULL) {
        connection_owner_person(ret, caller.user, caller.role);
        return 0;
    }
    if (auth_caller(scheduler, request, &caller) == 1) {
        (void)edl_error_set(error, -EACCES,
                            "this call takes a code for `edl login`, and you come as %s (%s)",
                            caller.user, caller.via);
        return edl_error_remedy(error, "leave that out, or make a code: edl token create --login");
    }
    (void)edl_error_set(error, EDL_EUNAUTHENTICATED,
                        "there is no such login code: it was used, or has expired");
    return edl_error_remedy(error, "an admin makes another one: edl token create --login --user "
                                   "NAME");
}

/* refuse_token - what the caller has is nobody's; a code is told what it is for */
static int refuse_token(struct scheduler *scheduler, const struct http_request *request,
                        const struct http_route *route, struct edl_error *error)
{
    struct caller caller;

    if (is_of_a_node(scheduler, bearer(request)))
        return refuse_node(route, error);
    if (auth_login_code(scheduler, request, &caller) == NULL)
        return unauthenticated(error);
    (void)edl_error_set(error, EDL_EUNAUTHENTICATED,
                        "this is a code for `edl login`, and no token for other calls");
    return edl_error_remedy(error, "edl login URL --code CODE, once; it gets you a token");
}

/* Two of a header that names the caller: a proxy in between may have looked at the other. */
static int check_once(const struct http_request *request, struct edl_error *error)
{
    static const char *const headers[] = { "Authorization", "X-EDL-Process" };

    for (size_t i = 0; i < ELEMENTS(headers); i++)
        if (http_request_repeats(request, headers[i]))
            return edl_error_set(error, EDL_EUNAUTHENTICATED,
                                 "the header %s is there more than once", headers[i]);
    return 0;
}

static int check(struct scheduler *scheduler, struct http_request *request,
                 const struct http_route *route, struct connection_owner *ret,
                 struct edl_error *error)
{
    const char *token = bearer(request);
    const char *node = http_request_param(request, "node");
    struct caller caller;
    int r;

    if (check_once(request, error) < 0)
        return error->code;
    if ((route->flags & ROUTE_LOGIN) != 0)
        return check_login(scheduler, request, ret, error);
    if (auth_caller(scheduler, request, &caller) == 1) {
        connection_owner_person(ret, caller.user, caller.role);
        if ((route->flags & ROUTE_SESSION) != 0 && caller.role < USER_ADMIN)
            connection_owner_session(ret, "user", caller.user,
                                     sessions_connections(scheduler, caller.user, NULL));
        return role_check(&caller, route, error);
    }
    if (token == NULL)
        return unauthenticated(error);
    if ((route->flags & ROUTE_JOIN) != 0) {
        connection_owner_joins(ret);
        return check_join(scheduler, request, token, error);
    }
    if ((route->flags & ROUTE_NODE) != 0 && node != NULL) {
        connection_owner_node(ret, node, (route->flags & ROUTE_FIRST) != 0);
        if ((route->flags & ROUTE_SESSION) != 0)
            connection_owner_session(ret, "node", node,
                                     sessions_connections(scheduler, NULL, node));
        return check_node(scheduler, token, node, error);
    }
    if ((route->flags & ROUTE_PROCESS) != 0) {
        struct process *process;

        r = check_process(scheduler, request, token, &process, error);
        if (r == 0)
            connection_owner_node(ret, process->node_name, (route->flags & ROUTE_FIRST) != 0);
        return r;
    }
    return refuse_token(scheduler, request, route, error);
}

/* --- whose name is not known yet --- */

struct parked {
    struct peer_waiter waiter; /* first */
    struct scheduler *scheduler;
    struct http_request *request; /* borrowed */
};

static int refuse_unknown(uid_t uid, struct edl_error *error)
{
    (void)edl_error_set(error, -EAGAIN, "the account database does not say who uid %u is",
                        (unsigned)uid);
    return edl_error_remedy(error, "ask again, or come with a token; `getent passwd` on the "
                                   "scheduler's machine shows how long it takes");
}

static void on_known(struct peer_waiter *waiter, bool known)
{
    struct parked *parked = (struct parked *)waiter;
    struct http_request *request = parked->request;
    struct edl_error error = { 0 };

    (void)refuse_unknown(waiter->uid, &error);
    free(parked);
    if (known) {
        http_request_go_on(request);
        return;
    }
    http_reply_error(request, &error);
}

static void on_left(struct http_request *request, void *userdata)
{
    struct parked *parked = userdata;

    (void)request;
    peer_leave(parked->scheduler->peers, &parked->waiter);
    free(parked);
}

/* 1: the account database is being asked for the caller's name, and the request waits for it. */
static int await_name(struct scheduler *scheduler, struct http_request *request,
                      struct edl_error *error)
{
    char name[USER_NAME_MAX + 1];
    struct parked *parked;
    uid_t uid;
    int r;

    if (bearer(request) != NULL || peer_uid(http_request_peer_fd(request), &uid) < 0 || uid == 0 ||
        uid == geteuid())
        return 0;
    r = peer_name(scheduler->peers, uid, clock_read_us(CLOCK_BOOTTIME), name, sizeof name);
    if (r == -EBUSY)
        return edl_error_set(error, -EAGAIN, "the account database is asked for too many names");
    if (r == -EIO)
        return refuse_unknown(uid, error);
    if (r != -EAGAIN)
        return 0;
    parked = xcalloc(1, sizeof *parked);
    *parked = (struct parked){ { .told = on_known }, scheduler, request };
    peer_await(scheduler->peers, uid, &parked->waiter);
    http_request_defer(request, on_left, parked);
    http_request_watch(request);
    return 1;
}

/* A process of a job has its owner's account, and is not its owner. */
static int refuse_job(const struct http_request *request, struct edl_error *error)
{
    if (bearer(request) != NULL || !peer_is_of_job(http_request_peer_fd(request)))
        return 0;
    (void)edl_error_set(error, -EACCES,
                        "this socket serves people, and a process of a job has connected to it");
    return edl_error_remedy(
        error, "a job asks over EDL_SOCKET; any other call needs a token of its owner");
}

bool route_is_public_read(const struct http_route *route)
{
    return (route->flags & ROUTE_PUBLIC) != 0 && streq(route->method, "GET");
}

int auth_check(struct http_request *request, const struct http_route *route, void *userdata,
               struct edl_error *error)
{
    struct scheduler *scheduler = userdata;
    struct connection_owner owner = { .name = "" };
    int r;

    if (scheduler->failed)
        return edl_error_set(error, -EAGAIN, "the scheduler is restarting");
    r = leadership_check(scheduler, request, route, error);
    if (r < 0)
        return r;
    if ((route->flags & ROUTE_PUBLIC) != 0 || leadership_opens(scheduler, route))
        return 0;
    r = refuse_job(request, error);
    if (r == 0)
        r = await_name(scheduler, request, error);
    if (r != 0)
        return r;
    r = check(scheduler, request, route, &owner, error);
    if (r < 0)
        return leadership_doubt(scheduler, route, error);
    return r == 0 ? connection_owner_take(request, &owner, error) : r;
}

void auth_note_refusal(const struct http_request *request, const struct edl_error *error,
                       void *userdata)
{
    struct scheduler *scheduler = userdata;

    denials_note(&scheduler->denials, request, error);
}

int auth_recheck(struct scheduler *scheduler, struct http_request *request, struct edl_error *error)
{
    const struct http_route *route = http_request_route(request);
    struct connection_owner owner = { .name = "" };

    if ((route->flags & ROUTE_PEOPLE) == 0 || leadership_opens(scheduler, route))
        return 0;
    if (leadership_may_open(route) && refuse_job(request, error) < 0) /* it may have been open */
        return error->code;
    return check(scheduler, request, route, &owner, error);
}
