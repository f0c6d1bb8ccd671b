/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - see users.h */
#include "scheduler/users.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/macro.h"

struct users {
    struct user *users;         /* uthash, owned */
    struct token *tokens;       /* uthash by hash, owned */
    struct token *tokens_by_id; /* the same by id, in the order of their ids */
    uint64_t last_token_id;
    struct account_change *pending; /* owned, n_pending of cap_pending */
    size_t n_pending, cap_pending;
};

static const char *const roles[] = {
    [USER_NOBODY] = "nobody",     [USER_VIEWER] = "viewer", [USER_USER] = "user",
    [USER_OPERATOR] = "operator", [USER_ADMIN] = "admin",
};

const char *user_role_to_string(enum user_role role)
{
    return roles[role];
}

int user_role_from_string(const char *text)
{
    for (int i = USER_VIEWER; i <= USER_ADMIN; i++)
        if (streq(text, roles[i]))
            return i;
    return -EINVAL;
}

/* --- what is to be stored --- */

static struct account_change *queue(struct users *users, enum account_change_kind kind)
{
    struct account_change *change;

    if (users->n_pending == users->cap_pending) {
        users->cap_pending = users->cap_pending != 0 ? users->cap_pending * 2 : 8;
        users->pending = xreallocarray(users->pending, users->cap_pending, sizeof *users->pending);
    }
    change = &users->pending[users->n_pending++];
    *change = (struct account_change){ .kind = kind };
    return change;
}

static void queue_user(struct users *users, enum account_change_kind kind, const struct user *user)
{
    struct account_change *change = queue(users, kind);

    change->name = xstrdup(user->name);
    change->role = user_role_to_string(user->role);
    change->created_wall_us = user->created_wall_us;
}

static void queue_token(struct users *users, enum account_change_kind kind,
                        const struct token *token)
{
    struct account_change *change = queue(users, kind);

    change->id = token->id;
    change->name = xstrdup(token->user);
    change->hash = xstrdup(token->hash);
    change->note = xstrdup(token->note);
    change->created_wall_us = token->created_wall_us;
    change->expires_wall_us = token->expires_wall_us;
}

void users_note(struct users *users, const struct audit_entry *entry)
{
    struct account_change *change = queue(users, ACCOUNT_AUDIT);

    change->name = xstrdup(entry->user);
    change->via = xstrdup(entry->via);
    change->method = xstrdup(entry->method);
    change->target = xstrdup(entry->target);
    change->request_id = xstrdup(entry->request_id);
    change->status = entry->status;
    change->created_wall_us = entry->wall_us;
}

const struct account_change *users_pending(const struct users *users, size_t *ret_n)
{
    *ret_n = users->n_pending;
    return users->pending;
}

void users_pending_clear(struct users *users)
{
    for (size_t i = 0; i < users->n_pending; i++) {
        struct account_change *change = &users->pending[i];

        free(change->name);
        free(change->hash);
        free(change->note);
        free(change->via);
        free(change->method);
        free(change->target);
        free(change->request_id);
    }
    users->n_pending = 0;
}

/* --- people --- */

static int check_name(const char *name, struct edl_error *error)
{
    size_t length = strlen(name);
    bool good = length > 0 && length <= USER_NAME_MAX &&
                (islower((unsigned char)name[0]) || name[0] == '_');

    for (const char *p = name; *p != '\0'; p++)
        good = good && (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_' ||
                        *p == '-' || *p == '.');
    if (good)
        return 0;
    (void)edl_error_at(error, -EINVAL, "/name", "\"%.80s\" cannot be a user's name", name);
    return edl_error_remedy(error,
                            "as of a Unix account: a-z or _ first, then also digits, '-' and"
                            " '.', at most %d",
                            USER_NAME_MAX);
}

struct user *users_find(const struct users *users, const char *name)
{
    struct user *user;

    HASH_FIND_STR(users->users, name, user);
    return user;
}

const struct user *users_first(const struct users *users)
{
    return users->users;
}

static struct user *add_user(struct users *users, const char *name, enum user_role role,
                             uint64_t created_wall_us)
{
    struct user *user = xcalloc(1, sizeof *user);

    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->role = role;
    user->created_wall_us = created_wall_us;
    HASH_ADD_STR(users->users, name, user);
    return user;
}

int users_put(struct users *users, const char *name, enum user_role role, uint64_t now_wall_us,
              struct user **ret, struct edl_error *error)
{
    struct user *user = users_find(users, name);
    int r = check_name(name, error);

    if (r < 0)
        return r;
    if (user == NULL && HASH_COUNT(users->users) >= USERS_MAX)
        return edl_error_set(error, -EDQUOT, "there are %d users", USERS_MAX);
    if (user == NULL)
        user = add_user(users, name, role, now_wall_us);
    user->role = role;
    queue_user(users, ACCOUNT_PUT_USER, user);
    *ret = user;
    return 0;
}

static void forget_token(struct users *users, struct token *token)
{
    HASH_DEL(users->tokens, token);
    HASH_DELETE(hh_id, users->tokens_by_id, token);
    free(token);
}

void users_drop(struct users *users, struct user *user)
{
    struct token *token, *next;

    HASH_ITER(hh_id, users->tokens_by_id, token, next)
    if (streq(token->user, user->name))
        forget_token(users, token); /* their rows go with the user's */
    queue_user(users, ACCOUNT_DROP_USER, user);
    HASH_DEL(users->users, user);
    free(user);
}

/* --- tokens --- */

static struct token *add_token(struct users *users, struct user *user, const struct token *like)
{
    struct token *token = xcalloc(1, sizeof *token);

    *token = *like;
    HASH_ADD_STR(users->tokens, hash, token);
    HASH_ADD(hh_id, users->tokens_by_id, id, sizeof token->id, token);
    user->n_tokens++;
    users->last_token_id = MAX_OF(users->last_token_id, token->id);
    return token;
}

static bool is_expired(const struct token *token, uint64_t now_wall_us)
{
    return token->expires_wall_us != 0 && token->expires_wall_us <= now_wall_us;
}

/* Here, because only who makes new ones makes them many. */
static void drop_expired(struct users *users, uint64_t now_wall_us)
{
    struct token *token, *next;

    HASH_ITER(hh_id, users->tokens_by_id, token, next)
    if (is_expired(token, now_wall_us))
        tokens_drop(users, token);
}

int tokens_add(struct users *users, struct user *user, const char *hash, const char *note,
               uint64_t now_wall_us, uint64_t expires_wall_us, const struct token **ret,
               struct edl_error *error)
{
    struct token like = { .created_wall_us = now_wall_us, .expires_wall_us = expires_wall_us };

    drop_expired(users, now_wall_us);
    if (user->n_tokens >= TOKENS_PER_USER_MAX) {
        (void)edl_error_set(error, -EDQUOT, "%s has %u tokens already", user->name, user->n_tokens);
        return edl_error_remedy(error,
                                "`edl token list` shows them, `edl token remove ID` takes one"
                                " away");
    }
    like.id = users->last_token_id + 1;
    (void)snprintf(like.hash, sizeof like.hash, "%s", hash);
    (void)snprintf(like.user, sizeof like.user, "%s", user->name);
    (void)snprintf(like.note, sizeof like.note, "%s", note);
    *ret = add_token(users, user, &like);
    queue_token(users, ACCOUNT_PUT_TOKEN, *ret);
    return 0;
}

void tokens_drop(struct users *users, struct token *token)
{
    struct user *user = users_find(users, token->user);

    if (user != NULL)
        user->n_tokens--;
    queue_token(users, ACCOUNT_DROP_TOKEN, token);
    forget_token(users, token);
}

const struct token *tokens_find(const struct users *users, const char *hash, uint64_t now_wall_us)
{
    const struct token *token;

    HASH_FIND_STR(users->tokens, hash, token);
    return token != NULL && !is_expired(token, now_wall_us) ? token : NULL;
}

struct token *tokens_by_id(const struct users *users, uint64_t id)
{
    struct token *token;

    HASH_FIND(hh_id, users->tokens_by_id, &id, sizeof id, token);
    return token;
}

const struct token *tokens_first(const struct users *users)
{
    return users->tokens_by_id;
}

/* --- life --- */

struct loading {
    struct users *users;
    struct edl_error *error;
    int r;
};

static void load_one(const struct account_change *row, void *userdata)
{
    struct loading *loading = userdata;
    struct users *users = loading->users;
    int role = row->role != NULL ? user_role_from_string(row->role) : USER_NOBODY;
    struct user *user = users_find(users, row->name);
    struct token token = { .id = row->id,
                           .created_wall_us = row->created_wall_us,
                           .expires_wall_us = row->expires_wall_us };

    if (role < 0) {
        loading->r = edl_error_set(loading->error, EDL_ECORRUPT,
                                   "table user: %s has the role \"%.40s\"", row->name, row->role);
        return;
    }
    if (row->kind == ACCOUNT_PUT_USER) {
        (void)add_user(users, row->name, (enum user_role)role, row->created_wall_us);
        return;
    }
    if (user == NULL)
        return; /* why: a foreign key holds them together */
    (void)snprintf(token.hash, sizeof token.hash, "%s", row->hash);
    (void)snprintf(token.user, sizeof token.user, "%s", row->name);
    (void)snprintf(token.note, sizeof token.note, "%s", row->note);
    (void)add_token(users, user, &token);
}

int users_load(struct store *store, struct users **ret, struct edl_error *error)
{
    struct loading loading = { .users = xcalloc(1, sizeof *loading.users), .error = error };
    int r = store_accounts(store, load_one, &loading, &loading.users->last_token_id, error);

    if (r == 0)
        r = loading.r;
    if (r < 0)
        (void)users_free(loading.users);
    else
        *ret = loading.users;
    return r;
}

struct users *users_free(struct users *users)
{
    struct user *user, *next_user;
    struct token *token, *next_token;

    if (users == NULL)
        return NULL;
    HASH_ITER(hh_id, users->tokens_by_id, token, next_token)
    forget_token(users, token);
    HASH_ITER(hh, users->users, user, next_user)
    {
        HASH_DEL(users->users, user);
        free(user);
    }
    users_pending_clear(users);
    free(users->pending);
    free(users);
    return NULL;
}
