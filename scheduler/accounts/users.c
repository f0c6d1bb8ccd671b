/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - see users.h */
#include "scheduler/accounts/users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

struct users {
    struct user *users;         /* uthash, owned */
    struct user_group *groups;  /* uthash, owned */
    struct token *tokens;       /* uthash by hash, owned */
    struct token *tokens_by_id; /* the same by id, in the order of their ids */
    uint64_t last_token_id;
    struct account_change *pending; /* owned, n_pending of cap_pending */
    size_t n_pending, cap_pending;
};

static const char *const roles[] = {
    [USER_NOBODY] = "none",       [USER_VIEWER] = "viewer", [USER_USER] = "user",
    [USER_OPERATOR] = "operator", [USER_ADMIN] = "admin",
};

const char *user_role_to_string(enum user_role role)
{
    return roles[role];
}

int user_role_from_string(const char *text)
{
    for (int i = USER_NOBODY; i <= USER_ADMIN; i++)
        if (streq(text, roles[i]))
            return i;
    return -EINVAL;
}

/* --- changes to be stored --- */

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
    change->group = xstrdup(user->group != NULL ? user->group->spec.name : "");
    change->role = user_role_to_string(user->role);
    change->limits = user->limits;
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
    change->made_with = token->made_with;
    change->is_login = token->is_login;
    change->is_browser = token->is_browser;
}

static void queue_group(struct users *users, enum account_change_kind kind,
                        const struct user_group *group)
{
    struct account_change *change = queue(users, kind);

    change->name = xstrdup(group->spec.name);
    change->guaranteed_permille = group->spec.guaranteed_permille;
    change->weight = group->spec.weight;
    change->limits = group->spec.limits;
    change->created_wall_us = group->created_wall_us;
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

void users_pending_clear(struct users *users, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct account_change *change = &users->pending[i];

        free(change->name);
        free(change->group);
        free(change->hash);
        free(change->note);
        free(change->via);
        free(change->method);
        free(change->target);
        free(change->request_id);
    }
    users->n_pending -= n;
    if (users->n_pending > 0)
        memmove(users->pending, users->pending + n, users->n_pending * sizeof *users->pending);
}

/* --- people --- */

static int check_name(const char *name, struct edl_error *error)
{
    if (account_name_valid(name))
        return 0;
    (void)edl_error_at(error, -EINVAL, "/name", "\"%.80s\" cannot be a user's name", name);
    return edl_error_remedy(error, ACCOUNT_NAME_RULE);
}

/* check_group_name - groups are named here and nowhere else, so their names are short and plain */
static int check_group_name(const char *name, struct edl_error *error)
{
    static const char later[] = "abcdefghijklmnopqrstuvwxyz0123456789_-.";

    if (strlen(name) <= GROUP_NAME_MAX && ((name[0] >= 'a' && name[0] <= 'z') || name[0] == '_') &&
        strspn(name, later) == strlen(name))
        return 0;
    (void)edl_error_at(error, -EINVAL, "/name", "\"%.80s\" cannot be a group's name", name);
    return edl_error_remedy(error, "a-z or _ first, then also digits, '-' and '.', at most %d",
                            GROUP_NAME_MAX);
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

/* Those who were removed stay in the list, and count. */
static int refuse_full(const struct users *users, struct edl_error *error)
{
    const struct user *barred = users->users;
    _cleanup_free_ char *word = NULL;

    while (barred != NULL && barred->role != USER_NOBODY)
        barred = barred->hh.next;
    (void)edl_error_set(error, -EDQUOT, "there are up to %d users, with those who were removed",
                        USERS_MAX);
    if (barred == NULL)
        return edl_error_remedy(error, "remove some: edl user remove NAME --forget");
    word = shell_word(barred->name);
    return edl_error_remedy(error, "forget some who were removed: edl user remove %s --forget",
                            word);
}

int users_put(struct users *users, const char *name, enum user_role role, uint64_t now_wall_us,
              struct user **ret, struct edl_error *error)
{
    struct user *user = users_find(users, name);
    int r = check_name(name, error);

    if (r < 0)
        return r;
    if (user == NULL && HASH_COUNT(users->users) >= USERS_MAX)
        return refuse_full(users, error);
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

static void drop_token(struct users *users, struct token *token)
{
    struct user *user = users_find(users, token->user);

    if (user != NULL)
        user->n_tokens--;
    queue_token(users, ACCOUNT_DROP_TOKEN, token);
    forget_token(users, token);
}

void users_bar(struct users *users, struct user *user)
{
    struct token *token, *next;

    HASH_ITER(hh_id, users->tokens_by_id, token, next)
    if (streq(token->user, user->name))
        drop_token(users, token);
    user->role = USER_NOBODY;
    users_join(users, user, NULL);
}

void users_forget(struct users *users, struct user *take_user)
{
    queue_user(users, ACCOUNT_DROP_USER, take_user);
    HASH_DEL(users->users, take_user);
    free(take_user);
}

/* --- groups --- */

struct user_group *groups_find(const struct users *users, const char *name)
{
    struct user_group *group;

    HASH_FIND_STR(users->groups, name, group);
    return group;
}

const struct user_group *groups_first(const struct users *users)
{
    return users->groups;
}

static void join(struct user *user, struct user_group *group)
{
    if (user->group != NULL)
        user->group->n_members--;
    user->group = group;
    if (group != NULL)
        group->n_members++;
}

void users_join(struct users *users, struct user *user, struct user_group *group)
{
    join(user, group);
    queue_user(users, ACCOUNT_PUT_USER, user);
}

void users_limit(struct users *users, struct user *user, const struct owner_limits *limits)
{
    user->limits = *limits;
    queue_user(users, ACCOUNT_PUT_USER, user);
}

static struct user_group *add_group(struct users *users, const struct group_spec *spec,
                                    uint64_t created_wall_us)
{
    struct user_group *group = xcalloc(1, sizeof *group);

    group->spec = *spec;
    group->created_wall_us = created_wall_us;
    HASH_ADD_STR(users->groups, spec.name, group);
    return group;
}

static int check_group(const struct users *users, const struct group_spec *spec,
                       struct edl_error *error)
{
    const struct user_group *group;
    uint32_t others_permille = 0;
    int r = check_group_name(spec->name, error);

    if (r < 0)
        return r;
    if (spec->weight < 1 || spec->weight > GROUP_WEIGHT_MAX)
        return edl_error_at(error, -EINVAL, "/weight", "weight is %u, not from 1 to %d",
                            spec->weight, GROUP_WEIGHT_MAX);
    for (group = users->groups; group != NULL; group = group->hh.next)
        others_permille +=
            streq(group->spec.name, spec->name) ? 0 : group->spec.guaranteed_permille;
    if (others_permille + (uint64_t)spec->guaranteed_permille > 1000) {
        (void)edl_error_at(error, -EINVAL, "/guaranteed_permille",
                           "%u of 1000 for %s, and %u are guaranteed to others: more than all",
                           spec->guaranteed_permille, spec->name, others_permille);
        return edl_error_remedy(error, "at most %u, or less for others: `edl group list`",
                                1000 - others_permille);
    }
    return 0;
}

int groups_put(struct users *users, const struct group_spec *spec, uint64_t now_wall_us,
               struct user_group **ret, struct edl_error *error)
{
    struct user_group *group = groups_find(users, spec->name);
    int r = check_group(users, spec, error);

    if (r < 0)
        return r;
    if (group == NULL && HASH_COUNT(users->groups) >= GROUPS_MAX)
        return edl_error_set(error, -EDQUOT, "there are up to %d groups, and as many are there",
                             GROUPS_MAX);
    if (group == NULL)
        group = add_group(users, spec, now_wall_us);
    group->spec = *spec;
    queue_group(users, ACCOUNT_PUT_GROUP, group);
    *ret = group;
    return 0;
}

void groups_drop(struct users *users, struct user_group *group)
{
    struct user *user;

    for (user = users->users; user != NULL; user = user->hh.next)
        if (user->group == group)
            join(user, NULL); /* their rows change with the group's */
    queue_group(users, ACCOUNT_DROP_GROUP, group);
    HASH_DEL(users->groups, group);
    free(group);
}

struct group_table *groups_table(const struct users *users)
{
    struct group_member *members = xcalloc(HASH_COUNT(users->users) + 1, sizeof *members);
    struct group_spec specs[GROUPS_MAX];
    struct group_table *table = NULL;
    const struct user_group *group;
    const struct user *user;
    bool limited = false;
    size_t n_members = 0;
    size_t n = 0;

    for (group = users->groups; group != NULL && n < GROUPS_MAX; group = group->hh.next)
        specs[n++] = group->spec;
    for (user = users->users; user != NULL; user = user->hh.next)
        if (user->group != NULL)
            members[n_members++] = (struct group_member){ user->name, user->group->spec.name };
    for (user = users->users; user != NULL; user = user->hh.next)
        limited = limited || owner_limits_any(&user->limits);
    if (n > 0 || limited)
        table = group_table_new(specs, n, members, n_members);
    for (user = users->users; limited && user != NULL; user = user->hh.next)
        group_table_limit_user(table, user->name, &user->limits);
    free(members);
    return table;
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

/* Here, because only a maker of new ones makes them many. None outlives the one it was made
 * with. */
static void drop_expired(struct users *users, uint64_t now_wall_us)
{
    struct token *token, *next;

    HASH_ITER(hh_id, users->tokens_by_id, token, next)
    if (is_expired(token, now_wall_us))
        drop_token(users, token);
}

/* When a token ends that is made with another. */
static int bound_by(const struct users *users, const struct token_wish *wish, uint64_t *ret,
                    struct edl_error *error)
{
    const struct token *with = tokens_by_id(users, wish->made_with);

    *ret = wish->expires_wall_us;
    if (wish->made_with == 0)
        return 0;
    if (with == NULL)
        return edl_error_set(error, EDL_EUNAUTHENTICATED, "your token has expired");
    if (*ret == 0 || (with->expires_wall_us != 0 && with->expires_wall_us < *ret))
        *ret = with->expires_wall_us;
    return 0;
}

int tokens_add(struct users *users, struct user *user, const struct token_wish *wish,
               uint64_t now_wall_us, const struct token **ret, struct edl_error *error)
{
    struct token like = { .created_wall_us = now_wall_us,
                          .made_with = wish->made_with,
                          .is_login = wish->is_login,
                          .is_browser = wish->is_browser };
    int r;

    drop_expired(users, now_wall_us);
    r = bound_by(users, wish, &like.expires_wall_us, error);
    if (r < 0)
        return r;
    if (user->n_tokens >= TOKENS_PER_USER_MAX) {
        (void)edl_error_set(error, -EDQUOT, "%s has as many tokens as one may have: %u", user->name,
                            user->n_tokens);
        return edl_error_remedy(error,
                                "`edl token list` shows them, `edl token remove ID` takes one"
                                " away");
    }
    like.id = users->last_token_id + 1;
    (void)snprintf(like.hash, sizeof like.hash, "%s", wish->hash);
    (void)snprintf(like.user, sizeof like.user, "%s", user->name);
    (void)snprintf(like.note, sizeof like.note, "%s", wish->note);
    *ret = add_token(users, user, &like);
    queue_token(users, ACCOUNT_PUT_TOKEN, *ret);
    return 0;
}

/* One that was made with another comes behind it in the list, and has a higher id. */
void tokens_drop(struct users *users, struct token *token)
{
    struct token *next;

    drop_token(users, token);
    HASH_ITER(hh_id, users->tokens_by_id, token, next)
    if (token->made_with != 0 && tokens_by_id(users, token->made_with) == NULL)
        drop_token(users, token);
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

static void load_group(struct users *users, const struct account_change *row)
{
    struct group_spec spec = { .guaranteed_permille = row->guaranteed_permille,
                               .weight = row->weight,
                               .limits = row->limits };

    (void)snprintf(spec.name, sizeof spec.name, "%s", row->name);
    (void)add_group(users, &spec, row->created_wall_us);
}

static void load_one(const struct account_change *row, void *userdata)
{
    struct loading *loading = userdata;
    struct users *users = loading->users;
    int role = row->role != NULL ? user_role_from_string(row->role) : USER_NOBODY;
    struct user *user = users_find(users, row->name);
    struct token token = { .id = row->id,
                           .created_wall_us = row->created_wall_us,
                           .expires_wall_us = row->expires_wall_us,
                           .made_with = row->made_with,
                           .is_login = row->is_login,
                           .is_browser = row->is_browser };

    if (row->kind == ACCOUNT_PUT_GROUP) {
        load_group(users, row);
        return;
    }
    if (role < 0) {
        loading->r = edl_error_set(loading->error, EDL_ECORRUPT,
                                   "table user: %s has the role \"%.40s\"", row->name, row->role);
        return;
    }
    if (row->kind == ACCOUNT_PUT_USER) {
        user = add_user(users, row->name, (enum user_role)role, row->created_wall_us);
        user->limits = row->limits;
        join(user, groups_find(users, row->group));
        return;
    }
    if (user == NULL)
        return; /* why: a foreign key holds them together */
    (void)snprintf(token.hash, sizeof token.hash, "%s", row->hash);
    (void)snprintf(token.user, sizeof token.user, "%s", row->name);
    (void)snprintf(token.note, sizeof token.note, "%s", row->note);
    (void)add_token(users, user, &token);
}

struct users *users_new(void)
{
    return xcalloc(1, sizeof(struct users));
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
    struct user_group *group, *next_group;

    if (users == NULL)
        return NULL;
    HASH_ITER(hh_id, users->tokens_by_id, token, next_token)
    forget_token(users, token);
    HASH_ITER(hh, users->users, user, next_user)
    {
        HASH_DEL(users->users, user);
        free(user);
    }
    HASH_ITER(hh, users->groups, group, next_group)
    {
        HASH_DEL(users->groups, group);
        free(group);
    }
    users_pending_clear(users, users->n_pending);
    free(users->pending);
    free(users);
    return NULL;
}
