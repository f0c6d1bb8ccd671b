/* SPDX-License-Identifier: Apache-2.0 */
/* join_tokens.c - one-time tokens with which nodes join */
#include "scheduler/accounts/join_tokens.h"

#include <errno.h>
#include <stdio.h>
#include <uthash.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/users.h"
#include "scheduler/core/core.h"
#include "scheduler/store/far/far.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ID_HEX 12 /* of the hash: long enough to be the only one, no help to guess the token */

struct join_token {
    struct stored_token record;
    bool changed;
    UT_hash_handle hh;
};

static struct join_token *add(struct join_tokens *tokens, const struct stored_token *record)
{
    struct join_token *token = xcalloc(1, sizeof *token);

    token->record = *record;
    HASH_ADD_STR(tokens->by_hash, record.hash, token);
    tokens->n++;
    return token;
}

static void drop(struct join_tokens *tokens, struct join_token *token)
{
    HASH_DEL(tokens->by_hash, token);
    tokens->n--;
    tokens->n_changed -= token->changed;
    free(token);
}

static void change(struct join_tokens *tokens, struct join_token *token)
{
    tokens->n_changed += !token->changed;
    token->changed = true;
}

static void on_stored(const struct stored_token *record, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)add(&scheduler->join_tokens, record);
}

int join_tokens_load(struct scheduler *scheduler, struct edl_error *error)
{
    if (scheduler->store == NULL)
        return 0;
    return store_tokens(store_near(scheduler->store), on_stored, scheduler, error);
}

void join_tokens_done(struct join_tokens *tokens)
{
    struct join_token *token, *next;

    HASH_ITER(hh, tokens->by_hash, token, next)
    {
        drop(tokens, token);
    }
}

static bool is_good(const struct stored_token *record, uint64_t now_wall_us)
{
    return record->used_wall_us == 0 && record->expires_wall_us > now_wall_us;
}

/* Those that cannot be used any more take nobody's place. */
static int check_number(const struct join_tokens *tokens, const struct join_token_maker *maker,
                        uint64_t now_wall_us, struct edl_error *error)
{
    size_t most = JOIN_TOKENS_MAX - (maker->is_admin ? 0 : JOIN_TOKENS_RESERVED);
    size_t n = 0, own = 0;
    int r = 0;

    for (const struct join_token *token = tokens->by_hash; token != NULL; token = token->hh.next) {
        bool good = is_good(&token->record, now_wall_us);

        n += good;
        own += good && streq(token->record.made_by, maker->name);
    }
    if (!maker->is_admin && own >= JOIN_TOKENS_MAKER_MAX)
        r = edl_error_set(error, -EDQUOT, "there are %zu unused join tokens of %s already", own,
                          maker->name);
    else if (n >= most)
        r = edl_error_set(error, -EDQUOT, "there are %zu unused join tokens already", n);
    return r == 0 ? 0
                  : edl_error_remedy(error, "revoke those that nobody needs (edl node tokens,"
                                            " edl node revoke ID), or wait until some are used"
                                            " or have expired");
}

/* None outlives the token it was made with, which is there: its owner calls with it. */
static uint64_t end_of(const struct scheduler *scheduler, const struct join_token_maker *maker,
                       uint64_t wanted_us)
{
    const struct token *with =
        maker->token_id != 0 ? tokens_by_id(scheduler->users, maker->token_id) : NULL;

    return with != NULL && with->expires_wall_us != 0 ? MIN_OF(wanted_us, with->expires_wall_us)
                                                      : wanted_us;
}

/* The store forgets at once what expired long ago. */
static void forget_oldest(struct join_tokens *tokens, uint64_t now_wall_us)
{
    for (struct join_token *token = tokens->by_hash; token != NULL; token = token->hh.next)
        if (!is_good(&token->record, now_wall_us) && token->record.expires_wall_us != 0) {
            token->record.expires_wall_us = 0;
            change(tokens, token);
            return;
        }
}

/* Tokens that the store lets go with the next one that is put; not those that it has yet to hear
 * of. */
static void trim(struct join_tokens *tokens, uint64_t now_wall_us)
{
    struct join_token *token, *next;

    HASH_ITER(hh, tokens->by_hash, token, next)
    {
        if (!token->changed && token->record.expires_wall_us < stored_token_oldest_us(now_wall_us))
            drop(tokens, token);
    }
}

int join_tokens_make(struct scheduler *scheduler, const char *node,
                     const struct join_token_maker *maker, uint64_t now_wall_us, uint64_t ttl_us,
                     char *ret_token, const struct stored_token **ret, struct edl_error *error)
{
    struct join_tokens *tokens = &scheduler->join_tokens;
    struct stored_token record = { .made_wall_us = now_wall_us,
                                   .expires_wall_us =
                                       end_of(scheduler, maker, now_wall_us + ttl_us),
                                   .made_with = maker->token_id };
    struct join_token *token;
    int r;

    trim(tokens, now_wall_us);
    r = check_number(tokens, maker, now_wall_us, error);
    if (r == 0)
        r = auth_make_token(ret_token, error);
    if (r == 0)
        r = auth_hash(ret_token, record.hash, error);
    if (r < 0)
        return r;
    (void)snprintf(record.id, sizeof record.id, "%.*s", ID_HEX, record.hash);
    (void)snprintf(record.node, sizeof record.node, "%s", node);
    (void)snprintf(record.made_by, sizeof record.made_by, "%s", maker->name);
    if (tokens->n >= JOIN_TOKENS_KEPT)
        forget_oldest(tokens, now_wall_us);
    token = add(tokens, &record);
    change(tokens, token);
    *ret = &token->record;
    return 0;
}

static struct join_token *find(const struct scheduler *scheduler, const char *hash)
{
    struct join_token *token;

    HASH_FIND_STR(scheduler->join_tokens.by_hash, hash, token);
    return token;
}

const struct stored_token *join_tokens_find(const struct scheduler *scheduler, const char *token)
{
    struct join_token *found;
    char hash[65];

    /* Looked up by its hash: how long that takes tells nothing of the token. */
    if (auth_hash(token, hash, NULL) < 0)
        return NULL;
    found = find(scheduler, hash);
    return found != NULL ? &found->record : NULL;
}

static int refuse(struct edl_error *error, int code, const char *node, const char *format,
                  const char *detail)
{
    (void)edl_error_set(error, code, format, detail);
    return edl_error_remedy(error, "make a new one on the scheduler's host: edl node add%s%s",
                            node[0] != '\0' ? " " : "", node);
}

int join_tokens_alive(const struct stored_token *token, uint64_t now_wall_us,
                      struct edl_error *error)
{
    return token->used_wall_us == 0 && token->expires_wall_us <= now_wall_us
               ? refuse(error, EDL_EUNAUTHENTICATED, token->node, "the join token has expired%s",
                        "")
               : 0;
}

/* Until its first report, for the machine that it was used from, and while no other token made the
 * node anew. */
static bool is_good_again(const struct stored_token *token, const struct node *there,
                          const struct join_wish *wish, uint64_t now_wall_us)
{
    return token->expires_wall_us > now_wall_us && there != NULL &&
           streq(there->credential_hash, token->credential_hash) &&
           node_awaits_first_report(there, wish->machine_id);
}

int join_tokens_check(const struct scheduler *scheduler, const struct stored_token *token,
                      const struct join_wish *wish, uint64_t now_wall_us, struct edl_error *error)
{
    const char *node = wish->node;
    const struct node *there = cluster_node(scheduler->cluster, node);

    if (token->used_wall_us != 0) {
        if (!streq(token->used_by, node))
            return refuse(error, EDL_EUNAUTHENTICATED, node,
                          "the join token was used already, by node %s", token->used_by);
        if (streq(token->credential_hash, wish->credential_hash))
            return 1;
        return is_good_again(token, there, wish, now_wall_us)
                   ? 0
                   : refuse(error, EDL_EUNAUTHENTICATED, node,
                            "the join token was used already, by node %s", token->used_by);
    }
    if (join_tokens_alive(token, now_wall_us, error) < 0)
        return error->code;
    if (token->node[0] != '\0' && !streq(token->node, node))
        return refuse(error, -EACCES, node, "the join token is for node %s", token->node);
    if (token->node[0] == '\0' && there != NULL)
        return refuse(error, -EACCES, node,
                      "there is a node %s, and the join token is for new ones only", node);
    return 0;
}

void join_tokens_use(struct scheduler *scheduler, const struct stored_token *record,
                     const char *node, const char *credential_hash, uint64_t now_wall_us)
{
    struct join_token *token = find(scheduler, record->hash);

    token->record.used_wall_us = now_wall_us;
    (void)snprintf(token->record.used_by, sizeof token->record.used_by, "%s", node);
    (void)snprintf(token->record.credential_hash, sizeof token->record.credential_hash, "%s",
                   credential_hash);
    change(&scheduler->join_tokens, token);
}

int join_tokens_revoke(struct scheduler *scheduler, const char *id, uint64_t now_wall_us,
                       const struct stored_token **ret, struct edl_error *error)
{
    struct join_token *token, *next;

    HASH_ITER(hh, scheduler->join_tokens.by_hash, token, next)
    {
        if (!streq(token->record.id, id))
            continue;
        if (token->record.expires_wall_us > now_wall_us) {
            token->record.expires_wall_us = now_wall_us;
            change(&scheduler->join_tokens, token);
        }
        *ret = &token->record;
        return 0;
    }
    (void)edl_error_set(error, -ENOENT, "there is no join token %.40s", id);
    return edl_error_remedy(error, "`edl node tokens` lists every one");
}

static bool is_orphan(const struct scheduler *scheduler, const struct stored_token *record)
{
    return record->made_with != 0 && tokens_by_id(scheduler->users, record->made_with) == NULL;
}

/* Used ones as well, which may be good once more. made_by NULL: those whose token is no more */
static unsigned revoke_unexpired(struct scheduler *scheduler, const char *made_by,
                                 uint64_t now_wall_us)
{
    struct join_token *token, *next;
    unsigned n = 0;

    HASH_ITER(hh, scheduler->join_tokens.by_hash, token, next)
    {
        struct stored_token *record = &token->record;

        if (record->expires_wall_us <= now_wall_us ||
            (made_by != NULL ? !streq(record->made_by, made_by) : !is_orphan(scheduler, record)))
            continue;
        record->expires_wall_us = now_wall_us;
        change(&scheduler->join_tokens, token);
        n++;
    }
    return n;
}

unsigned join_tokens_revoke_all(struct scheduler *scheduler, const char *made_by,
                                uint64_t now_wall_us)
{
    return revoke_unexpired(scheduler, made_by, now_wall_us);
}

unsigned join_tokens_revoke_orphans(struct scheduler *scheduler, uint64_t now_wall_us)
{
    return revoke_unexpired(scheduler, NULL, now_wall_us);
}

unsigned join_tokens_revoke_unused(struct scheduler *scheduler, const char *node,
                                   uint64_t now_wall_us)
{
    unsigned n = 0;

    for (struct join_token *token = scheduler->join_tokens.by_hash; token != NULL;
         token = token->hh.next) {
        struct stored_token *record = &token->record;

        if (record->used_wall_us != 0 || record->expires_wall_us <= now_wall_us ||
            !streq(record->node, node))
            continue;
        record->expires_wall_us = now_wall_us;
        change(&scheduler->join_tokens, token);
        n++;
    }
    return n;
}

void join_tokens_each(const struct scheduler *scheduler, store_token_fn fn, void *userdata)
{
    for (const struct join_token *token = scheduler->join_tokens.by_hash; token != NULL;
         token = token->hh.next)
        fn(&token->record, userdata);
}

struct stored_token *join_tokens_seal(struct scheduler *scheduler, size_t *ret_n)
{
    struct join_tokens *tokens = &scheduler->join_tokens;
    struct join_token *token, *next;
    struct stored_token *list;
    size_t n = 0;

    *ret_n = tokens->n_changed;
    if (tokens->n_changed == 0)
        return NULL;
    list = xcalloc(tokens->n_changed, sizeof *list);
    HASH_ITER(hh, tokens->by_hash, token, next)
    {
        if (!token->changed)
            continue;
        list[n++] = token->record;
        token->changed = false;
        if (token->record.expires_wall_us == 0)
            drop(tokens, token);
    }
    tokens->n_changed = 0;
    return list;
}
