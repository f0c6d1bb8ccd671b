/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - people: their names and roles; tokens; their changes
 *
 * A token is told once, to whom it is made for, and never stored: so POST /tokens takes no
 * Idempotency-Key. */
#include "scheduler/api/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/calls/audit.h"
#include "scheduler/core/core.h"
#include "scheduler/accounts/auth.h"
#include "scheduler/calls/body.h"
#include "scheduler/accounts/join_tokens.h"
#include "scheduler/api/owner_limits.h"
#include "scheduler/api/page.h"
#include "scheduler/api/precondition.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/accounts/users.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/shell_word.h"

void api_whoami(struct http_request *request, void *userdata)
{
    struct caller caller = { .user = "" };

    (void)auth_caller(userdata, request, &caller);
    http_reply_json(request, 200,
                    leadership_add(userdata,
                                   json_pack("{s:s,s:s,s:s}", "user", caller.user, "role",
                                             user_role_to_string(caller.role), "via", caller.via)));
}

/* --- users --- */

static json_t *user_to_json(const struct scheduler *scheduler, const struct user *user)
{
    json_t *json = json_pack("{s:s,s:s,s:s,s:I,s:I}", "name", user->name, "role",
                             user_role_to_string(user->role), "group",
                             user->group != NULL ? user->group->spec.name : "", "created_us",
                             (json_int_t)clock_shown_us(user->created_wall_us), "tokens",
                             (json_int_t)user->n_tokens);

    owner_limits_show(json, scheduler->cluster, user->name, false, &user->limits);
    return json;
}

static json_t *build_user(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct user *user = users_find(scheduler->users, key);

    (void)id;
    return user != NULL ? user_to_json(scheduler, user) : NULL;
}

static bool tag_user(struct scheduler *scheduler, const char *key, uint64_t id, char ret[ETAG_MAX])
{
    const struct user *user = users_find(scheduler->users, key);

    (void)id;
    if (user != NULL)
        etag_of_user(user, ret, ETAG_MAX);
    return user != NULL;
}

static void reply_changed(struct scheduler *scheduler, struct http_request *request,
                          unsigned status, const struct user *user)
{
    struct held *held = held_new(request);

    held->tag = tag_user;
    held_build_after_commit(scheduler, held, status, build_user, user->name, 0);
}

void api_users_list(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct page page;
    json_t *users, *next;

    if (page_open(request, &page, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    for (const struct user *user = users_first(scheduler->users); user != NULL;
         user = user->hh.next)
        page_offer(&page, user->name, user);
    next = page_fill(&page);
    users = json_array();
    for (size_t i = 0; i < page.n; i++)
        (void)json_array_append_new(users, user_to_json(scheduler, page.items[i].item));
    page_close(&page);
    http_reply_json(request, 200, json_pack("{s:o,s:o}", "users", users, "next", next));
}

/* The user of the path, as the caller has seen it; NULL with the request answered */
static struct user *path_user(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "user");
    struct user *user = users_find(scheduler->users, name);
    struct edl_error error = { 0 };
    char tag[ETAG_MAX];

    if (user != NULL) {
        etag_of_user(user, tag, sizeof tag);
        if (precondition_check(request, tag, &error) == 0)
            return user;
    } else {
        (void)edl_error_set(&error, -ENOENT, "there is no user \"%s\"", name);
        (void)edl_error_remedy(&error, "`edl user list` shows all, `edl user add NAME` makes one");
    }
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

void api_user_show(struct http_request *request, void *userdata)
{
    const struct user *user = path_user(userdata, request);
    char tag[ETAG_MAX];

    if (user == NULL)
        return;
    etag_of_user(user, tag, sizeof tag);
    http_reply_header(request, "ETag", tag);
    http_reply_json(request, 200, user_to_json(userdata, user));
}

static int read_role(const struct body_field *field, enum user_role *ret, struct edl_error *error)
{
    const char *word = user_role_to_string(*ret);
    int r = body_string(field, "role", 20, &word, error);
    int role;

    if (r < 0)
        return r;
    role = user_role_from_string(word);
    if (role < 0)
        return edl_error_at(error, -EINVAL, "/role",
                            "\"%s\" is not one of none, viewer, user, operator, admin", word);
    *ret = (enum user_role)role;
    return 0;
}

/* The group is asked for before anything is changed. */
static int read_group(const struct scheduler *scheduler, const struct body_field *field,
                      const char **ret, struct edl_error *error)
{
    int r = body_string(field, "group", GROUP_NAME_MAX, ret, error);

    if (r < 0 || *ret == NULL || **ret == '\0' || groups_find(scheduler->users, *ret) != NULL)
        return r;
    (void)edl_error_at(error, -EINVAL, "/group", "there is no group \"%s\"", *ret);
    return edl_error_remedy(error, "`edl group list` shows all, `edl group add NAME` makes one;"
                                   " \"\" is none");
}

/* What is to become of a user. */
struct user_wish {
    const char *name;
    enum user_role role;
    const char *group; /* NULL: as it is */
    struct owner_limits limits;
};

static int put_user(struct scheduler *scheduler, const struct user_wish *wish, struct user **ret,
                    struct edl_error *error)
{
    int r =
        users_put(scheduler->users, wish->name, wish->role, clock_instant().wall_us, ret, error);
    bool limited;

    if (r < 0)
        return r;
    limited = memcmp(&(*ret)->limits, &wish->limits, sizeof wish->limits) != 0;
    if (wish->group != NULL)
        users_join(scheduler->users, *ret, groups_find(scheduler->users, wish->group));
    if (limited)
        users_limit(scheduler->users, *ret, &wish->limits);
    if (limited || wish->group != NULL)
        scheduler_tell_groups(scheduler);
    return 0;
}

/* A user who may make no join tokens any more has none that are good. */
static void end_join_tokens(struct scheduler *scheduler, const struct user *user)
{
    unsigned n = 0;

    if (user->role < USER_OPERATOR)
        n = join_tokens_revoke_all(scheduler, user->name, clock_instant().wall_us);
    if (n > 0)
        log_info("%u join tokens that %s made were revoked", n, user->name);
}

static int add_user(struct scheduler *scheduler, const json_t *body, struct user **ret,
                    struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    struct user_wish wish = { .role = USER_USER };
    const struct user *known;
    const char *name;
    int r = body_known(&may, "name role group " OWNER_LIMIT_KEYS, error);

    if (r == 0)
        r = body_string(&must, "name", USER_NAME_MAX, &name, error);
    if (r == 0)
        r = read_role(&may, &wish.role, error);
    if (r == 0)
        r = read_group(scheduler, &may, &wish.group, error);
    if (r == 0)
        r = owner_limits_read(&may, &wish.limits, error);
    if (r < 0)
        return r;
    wish.name = name;
    if (streq(name, AUTH_ADMIN_NAME)) /* the admin token's; it needs no row */
        return edl_error_at(error, -EEXIST, "/name", "%s is there from the start", name);
    known = users_find(scheduler->users, name);
    if (known != NULL && known->role != USER_NOBODY) {
        _cleanup_free_ char *word = shell_word(name);

        (void)edl_error_at(error, -EEXIST, "/name", "there is a user %s", name);
        return edl_error_remedy(error,
                                "edl user set %s --role ROLE; for another machine: edl token "
                                "create --login --user %s",
                                word, word);
    }
    return put_user(scheduler, &wish, ret, error);
}

void api_user_add(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct user *user = NULL;
    json_t *body = NULL;
    int r = body_object(request, &body, &error);

    if (r == 0)
        r = add_user(scheduler, body, &user, &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        reply_changed(scheduler, request, 201, user);
    json_decref(body);
}

void api_user_set(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct user *user = path_user(scheduler, request);
    struct body_field field = { .at = "" };
    struct edl_error error = { 0 };
    struct user_wish wish;
    json_t *body = NULL;
    int r;

    if (user == NULL)
        return;
    wish = (struct user_wish){ user->name, user->role, NULL, user->limits };
    r = body_object(request, &body, &error);
    field.object = body;
    if (r == 0)
        r = body_known(&field, "role group " OWNER_LIMIT_KEYS, &error);
    if (r == 0)
        r = read_group(scheduler, &field, &wish.group, &error);
    if (r == 0)
        r = owner_limits_read(&field, &wish.limits, &error);
    field.required = wish.group == NULL && !owner_limits_given(&field); /* one of them */
    if (r == 0)
        r = read_role(&field, &wish.role, &error);
    if (r == 0)
        r = put_user(scheduler, &wish, &user, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
    } else {
        end_join_tokens(scheduler, user);
        reply_changed(scheduler, request, 200, user);
    }
    json_decref(body);
}

/* ?forget=1: also that the name is to be kept out */
static int read_forget(const struct http_request *request, bool *ret, struct edl_error *error)
{
    const char *given = http_request_query(request, "forget");

    *ret = given != NULL && streq(given, "1");
    if (given == NULL || *ret || streq(given, "0"))
        return 0;
    return edl_error_set(error, -EINVAL, "forget=%.20s is neither 1 nor 0", given);
}

void api_user_remove(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct user *user = path_user(scheduler, request);
    struct edl_error error = { 0 };
    struct held *held;
    json_t *answer;
    bool member, forget;

    if (user == NULL)
        return;
    if (read_forget(request, &forget, &error) < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held = held_new(request);
    audit_take(scheduler, held, 200); /* while it is known who asks: it may be the user */
    answer = json_pack("{s:s,s:s}", "name", user->name, "state", forget ? "forgotten" : "removed");
    member = user->group != NULL || owner_limits_any(&user->limits);
    users_bar(scheduler->users, user);
    end_join_tokens(scheduler, user);
    if (forget)
        users_forget(scheduler->users, user);
    if (member)
        scheduler_tell_groups(scheduler);
    held_after_commit(scheduler, held, 200, answer);
}

/* --- tokens --- */

json_t *api_token_json(const struct token *token)
{
    return json_pack("{s:I,s:s,s:s,s:I,s:o,s:o,s:b,s:b}", "id", (json_int_t)token->id, "user",
                     token->user, "note", token->note, "created_us",
                     (json_int_t)clock_shown_us(token->created_wall_us), "expires_us",
                     token->expires_wall_us != 0
                         ? json_integer((json_int_t)clock_shown_us(token->expires_wall_us))
                         : json_null(),
                     "made_with",
                     token->made_with != 0 ? json_integer((json_int_t)token->made_with)
                                           : json_null(),
                     "login", (int)token->is_login, "browser", (int)token->is_browser);
}

void api_tokens_list(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    uint64_t now_wall_us = clock_instant().wall_us;
    struct caller caller = { .user = "" };
    json_t *tokens = json_array();

    (void)auth_caller(scheduler, request, &caller);
    for (const struct token *token = tokens_first(scheduler->users); token != NULL;
         token = token->hh_id.next)
        if ((caller.role == USER_ADMIN || streq(token->user, caller.user)) &&
            tokens_find(scheduler->users, token->hash, now_wall_us) != NULL)
            (void)json_array_append_new(tokens, api_token_json(token));
    http_reply_json(request, 200, json_pack("{s:o}", "tokens", tokens));
}

/* Each is a line of the audit log, and costs a commit. An admin makes tokens for many. */
static int check_rate(struct scheduler *scheduler, struct http_request *request,
                      const struct caller *caller, struct edl_error *error)
{
    uint64_t wait_us = caller->role < USER_ADMIN ? call_rate_take(&scheduler->tokens, caller->user,
                                                                  clock_read_us(CLOCK_BOOTTIME))
                                                 : 0;
    char seconds[24];

    if (wait_us == 0)
        return 0;
    (void)snprintf(seconds, sizeof seconds, "%" PRIu64,
                   (wait_us + USEC_PER_SEC - 1) / USEC_PER_SEC);
    http_reply_header(request, "Retry-After", seconds);
    (void)edl_error_set(error, EDL_ETOOMANY,
                        "%s has made or removed up to %d tokens, and may one more every %d seconds",
                        caller->user, TOKEN_CALLS_AT_ONCE,
                        (int)(TOKEN_CALL_PERIOD_US / USEC_PER_SEC));
    return edl_error_remedy(error,
                            "wait %s s; a token is good for many calls, until its ttl_s is "
                            "over",
                            seconds);
}

struct wanted_token {
    const char *user, *note;
    uint64_t ttl_s;  /* 0: for ever */
    bool is_login;   /* a code for `edl login`, or for a browser */
    bool is_browser; /* a code for a browser and nothing else */
    const char *url; /* the server of that code */
};

static int read_token(const json_t *body, const struct caller *caller, struct wanted_token *ret,
                      struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    int r = body_known(&may, "user note ttl_s login browser", error);

    *ret = (struct wanted_token){ .user = caller->user, .note = "" };
    if (r == 0)
        r = body_string(&may, "user", USER_NAME_MAX, &ret->user, error);
    if (r == 0)
        r = body_string(&may, "note", TOKEN_NOTE_MAX, &ret->note, error);
    if (r == 0)
        r = body_bool(&may, "login", &ret->is_login, error);
    if (r == 0)
        r = body_bool(&may, "browser", &ret->is_browser, error);
    ret->is_login = ret->is_login || ret->is_browser;
    if (r == 0)
        r = body_u64(&may, "ttl_s", ret->is_login ? LOGIN_CODE_MAX_S : TOKEN_TTL_MAX_S, &ret->ttl_s,
                     error);
    if (r == 0 && ret->is_login && ret->ttl_s == 0)
        ret->ttl_s = LOGIN_CODE_S;
    if (r == 0 && caller->role != USER_ADMIN && !streq(ret->user, caller->user)) {
        (void)edl_error_at(error, -EACCES, "/user", "only an admin makes tokens for others");
        return edl_error_remedy(error, "leave it out: a token of your own");
    }
    return r;
}

static void count_jobs(const struct archived_usage *row, void *userdata)
{
    *(uint64_t *)userdata += row->n_jobs;
}

/* has_run_jobs - 1: somebody without a row of whom there is a job, an account that came by the
 * socket; 0: there is none; or negative */
static int has_run_jobs(struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    uint64_t n = 0;
    int r;

    for (const struct job *job = cluster_jobs(scheduler->cluster); job != NULL; job = job->hh.next)
        if (streq(job->user, name))
            return 1;
    askings_note_archive(scheduler);
    r = store_archived_usage(scheduler->store, name, count_jobs, &n, error);
    return r < 0 ? r : n > 0;
}

/* role_of_new - of somebody without a row who gets one with a first token, which is to outlive the
 * socket: as the socket has it. USER_NOBODY: nobody knows that name */
static int role_of_new(struct scheduler *scheduler, const struct caller *caller, const char *name,
                       enum user_role *ret, struct edl_error *error)
{
    int r = 0;

    *ret = streq(name, caller->user) ? caller->role : USER_NOBODY;
    if (!streq(name, caller->user) && users_find(scheduler->users, name) == NULL)
        r = has_run_jobs(scheduler, name, error);
    if (r == 1)
        *ret = auth_socket_role(scheduler, name);
    return MIN_OF(r, 0);
}

static int find_or_make_user(struct scheduler *scheduler, const struct caller *caller,
                             const char *name, struct user **ret, struct edl_error *error)
{
    _cleanup_free_ char *word = NULL;
    enum user_role role;
    int r;

    *ret = users_find(scheduler->users, name);
    if (*ret != NULL && (*ret)->role != USER_NOBODY)
        return 0;
    if (streq(name, AUTH_ADMIN_NAME)) {
        (void)edl_error_at(error, -EINVAL, "/user",
                           "%s has the token in the state directory and no other", name);
        return edl_error_remedy(error, "make an admin of your own: edl user add NAME --role admin");
    }
    r = role_of_new(scheduler, caller, name, &role, error);
    if (r < 0)
        return r;
    if (role != USER_NOBODY)
        return users_put(scheduler->users, name, role, clock_instant().wall_us, ret, error);
    word = shell_word(name);
    (void)edl_error_at(error, -ENOENT, "/user", "there is no user %s", name);
    return edl_error_remedy(error, "edl user add %s", word);
}

static int add_token(struct scheduler *scheduler, const struct caller *caller,
                     const struct wanted_token *wanted, json_t **ret, struct edl_error *error)
{
    uint64_t now_wall_us = clock_instant().wall_us;
    char text[TOKEN_HEX + 1], hash[TOKEN_HASH_MAX + 1];
    struct token_wish wish = { .hash = hash,
                               .note = wanted->note,
                               .is_login = wanted->is_login,
                               .is_browser = wanted->is_browser };
    const struct token *token;
    struct user *user;
    int r = auth_make_token(text, error);

    if (wanted->ttl_s != 0)
        wish.expires_wall_us = now_wall_us + wanted->ttl_s * USEC_PER_SEC;
    if (streq(wanted->user, caller->user)) /* for others: an admin's decision, on record */
        wish.made_with = caller->token_id;
    if (r == 0)
        r = auth_hash(text, hash, error);
    if (r == 0)
        r = find_or_make_user(scheduler, caller, wanted->user, &user, error);
    if (r == 0)
        r = tokens_add(scheduler->users, user, &wish, now_wall_us, &token, error);
    if (r < 0)
        return r;
    *ret = api_token_json(token);
    (void)json_object_set_new(*ret, "token", json_string(text));
    if (wanted->is_login)
        (void)json_object_set_new(*ret, "server", json_string(wanted->url));
    if (wanted->is_login && scheduler->listeners.tls.pin[0] != '\0')
        (void)json_object_set_new(*ret, "ca_pin", json_string(scheduler->listeners.tls.pin));
    return 0;
}

void api_token_add(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct caller caller = { .user = "" };
    struct wanted_token wanted;
    json_t *body = NULL, *answer = NULL;
    int r = body_object(request, &body, &error);

    (void)auth_caller(scheduler, request, &caller);
    if (r == 0)
        r = read_token(body, &caller, &wanted, &error);
    if (r == 0)
        r = check_rate(scheduler, request, &caller, &error);
    if (r == 0 && wanted.is_login)
        r = login_url(scheduler, wanted.is_browser, &wanted.url, &error);
    if (r == 0)
        r = add_token(scheduler, &caller, &wanted, &answer, &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        held_after_commit(scheduler, held_new(request), 201, answer);
    json_decref(body);
}

void api_token_remove(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *text = http_request_param(request, "token");
    struct caller caller = { .user = "" };
    struct edl_error error = { 0 };
    struct token *token = NULL;
    struct held *held;
    uint64_t id;
    unsigned n;

    (void)auth_caller(scheduler, request, &caller);
    if (parse_u64(text, &id) == 0)
        token = tokens_by_id(scheduler->users, id);
    /* Somebody else's looks like none at all. */
    if (token == NULL || (caller.role != USER_ADMIN && !streq(token->user, caller.user)) ||
        (caller.is_browser && id != caller.token_id)) {
        (void)edl_error_set(&error, -ENOENT, "you have no token %s", text);
        (void)edl_error_remedy(&error, "`edl token list` shows the numbers");
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    if (check_rate(scheduler, request, &caller, &error) < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held = held_new(request);
    audit_take(scheduler, held, 200); /* while it is known who asks: it may be with this token */
    tokens_drop(scheduler->users, token);
    n = join_tokens_revoke_orphans(scheduler, clock_instant().wall_us);
    if (n > 0)
        log_info("%u join tokens that were made with token %" PRIu64 " were revoked", n, id);
    held_after_commit(scheduler, held, 200,
                      json_pack("{s:I,s:s}", "id", (json_int_t)id, "state", "removed"));
}

/* --- the audit log --- */

static void add_entry(const struct audit_entry *entry, void *userdata)
{
    (void)json_array_append_new(userdata,
                                json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:i,s:s}", "id",
                                          (json_int_t)entry->id, "time_us",
                                          (json_int_t)clock_shown_us(entry->wall_us), "user",
                                          entry->user, "via", entry->via, "method", entry->method,
                                          "target", entry->target, "status", (int)entry->status,
                                          "request_id", entry->request_id));
}

void api_audit(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    json_t *entries = json_array();
    uint64_t after, limit;
    int r = http_request_query_u64(request, "after", 0, &after, &error);

    if (r == 0)
        r = page_limit(request, &limit, &error);
    if (r == 0)
        r = store_audit(scheduler->store, after, (uint32_t)limit, add_entry, entries, &error);
    if (r < 0) {
        json_decref(entries);
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200, json_pack("{s:o}", "entries", entries));
}
