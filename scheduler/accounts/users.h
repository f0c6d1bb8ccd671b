/* SPDX-License-Identifier: Apache-2.0 */
/* users.h - people, their groups and their tokens: the known ones, and the changes to be stored
 *
 * A table in memory, loaded at start. Every change is queued beside and stored in the transaction
 * of its turn (users_pending); until then its answer waits like any other. Tokens are kept as
 * SHA-256 only. Used by: auth.c, api/users.c, turn.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/model/groups.h"
#include "shared/account_name.h"

struct account_change;
struct audit_entry;
struct edl_error;
struct store;
struct users;

#define USER_NAME_MAX ACCOUNT_NAME_MAX
#define TOKEN_HASH_MAX 64
#define TOKEN_NOTE_MAX 80
#define TOKENS_PER_USER_MAX 64
/* Of a user who is no admin. */
#define TOKEN_CALLS_AT_ONCE 100
#define TOKEN_CALL_PERIOD_US (6 * USEC_PER_SEC)
#define USERS_MAX 100000

/* Each may what those before it may; USER_NOBODY, "none" to people, does not come in. */
enum user_role { USER_NOBODY, USER_VIEWER, USER_USER, USER_OPERATOR, USER_ADMIN };

/* user_role_to_string - "none", "viewer", "user", "operator", "admin"; from_string: -EINVAL when it
 * is another word */
const char *user_role_to_string(enum user_role role);
int user_role_from_string(const char *text);

struct user {
    char name[USER_NAME_MAX + 1];
    enum user_role role;
    uint64_t created_wall_us;
    uint32_t n_tokens;
    struct user_group *group; /* borrowed; NULL: of none */
    struct owner_limits limits;
    UT_hash_handle hh;
};

struct user_group {
    struct group_spec spec;
    uint64_t created_wall_us;
    uint32_t n_members;
    UT_hash_handle hh; /* by spec.name */
};

struct token {
    uint64_t id;
    char hash[TOKEN_HASH_MAX + 1];
    char user[USER_NAME_MAX + 1];
    char note[TOKEN_NOTE_MAX + 1]; /* its owner's name for it */
    uint64_t created_wall_us;
    uint64_t expires_wall_us; /* 0: never */
    uint64_t made_with;       /* id of the token with which its owner made it, and goes; 0: none */
    bool is_login;            /* a code: POST /login takes it once, and no other call does */
    bool is_browser;          /* a browser keeps it, or gets one for the code: it reads, and goes */
    UT_hash_handle hh;        /* by hash */
    UT_hash_handle hh_id;
};

/* users_load - all that is stored */
int users_load(struct store *store, struct users **ret, struct edl_error *error);
struct users *users_free(struct users *users);
/* users_new - nobody */
struct users *users_new(void);

/* users_find - NULL when there is none; users_first, user->hh.next: all */
struct user *users_find(const struct users *users, const char *name);
const struct user *users_first(const struct users *users);

/* users_put - a new user, or another role. -EINVAL: not a user's name */
int users_put(struct users *users, const char *name, enum user_role role, uint64_t now_wall_us,
              struct user **ret, struct edl_error *error);
/* users_bar - who is removed: without tokens and group, and with no role. The row stays: without
 * one an account of this machine would come in again by the socket */
void users_bar(struct users *users, struct user *user);

/* users_forget - the row of somebody who was barred goes: of an account of this machine nobody
 * knows any more that it is to be kept out */
void users_forget(struct users *users, struct user *take_user);

/* users_join - the user is of that group from now on; NULL: of none */
void users_join(struct users *users, struct user *user, struct user_group *group);

/* users_limit - how much the user's jobs may hold and be from now on */
void users_limit(struct users *users, struct user *user, const struct owner_limits *limits);

/* groups_find - NULL when there is none; groups_first, group->hh.next: all */
struct user_group *groups_find(const struct users *users, const char *name);
const struct user_group *groups_first(const struct users *users);
/* groups_put - a new group, or other shares. -EINVAL: not a name, a weight that is none, or more
 * than all would be guaranteed; -EDQUOT: too many. Nothing is changed then. */
int groups_put(struct users *users, const struct group_spec *spec, uint64_t now_wall_us,
               struct user_group **ret, struct edl_error *error);
/* groups_drop - its members are of none then */
void groups_drop(struct users *users, struct user_group *group);
/* groups_table - what the core is told; NULL when there are no groups. The caller frees it. */
struct group_table *groups_table(const struct users *users);

/* A token to be made. */
struct token_wish {
    const char *hash; /* SHA-256 of the token in hex */
    const char *note;
    uint64_t expires_wall_us; /* 0: never */
    uint64_t made_with; /* id of one of its owner's: it ends with that at the latest; 0: none */
    bool is_login;      /* a code for POST /login */
    bool is_browser;    /* for a browser to keep */
};
/* tokens_add - -EDQUOT: too many; EDL_EUNAUTHENTICATED: made_with is no more */
int tokens_add(struct users *users, struct user *user, const struct token_wish *wish,
               uint64_t now_wall_us, const struct token **ret, struct edl_error *error);
/* tokens_drop - with those that were made with it */
void tokens_drop(struct users *users, struct token *token);
/* tokens_find - by hash, NULL when there is none or it has expired */
const struct token *tokens_find(const struct users *users, const char *hash, uint64_t now_wall_us);
struct token *tokens_by_id(const struct users *users, uint64_t id);
const struct token *tokens_first(const struct users *users); /* hh.next: all, by id */

/* users_note - what a person did, for the audit log; copied */
void users_note(struct users *users, const struct audit_entry *entry);

/* users_pending - what the turn has to store, in order; users_pending_clear: the
 * first n of it are */
const struct account_change *users_pending(const struct users *users, size_t *ret_n);
void users_pending_clear(struct users *users, size_t n);
