/* SPDX-License-Identifier: Apache-2.0 */
/* join_tokens.h - one-time tokens with which nodes join
 *
 * Made for an operator, good for one node, once, and for a limited time. Only hashes are kept. Used
 * up in the transaction of the join itself. Tests: tests/unit/test_join_tokens.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/store/store.h"

struct edl_error;
struct scheduler;

#define JOIN_TOKENS_MAX 1024      /* at once, that are good */
#define JOIN_TOKENS_RESERVED 256  /* of them, for admins */
#define JOIN_TOKENS_MAKER_MAX 256 /* of one maker who is no admin */
#define JOIN_TOKENS_KEPT                                                                           \
    4096 /* with those that are not good any more; then the oldest of them go */
#define JOIN_TOKEN_US (3600 * USEC_PER_SEC)
#define JOIN_TOKEN_MAX_US (7 * 24 * 3600 * USEC_PER_SEC)

struct join_token; /* in join_tokens.c */

struct join_tokens {
    struct join_token *by_hash; /* owned; uthash */
    size_t n;
    size_t n_changed; /* since the last commit */
};

/* join_tokens_load - those that are stored */
int join_tokens_load(struct scheduler *scheduler, struct edl_error *error);
void join_tokens_done(struct join_tokens *tokens);

/* The maker of one. */
struct join_token_maker {
    const char *name; /* borrowed during the call */
    bool is_admin;
    uint64_t token_id; /* of users.h, with which they came; 0: none */
};

/* join_tokens_make - a new one for the next commit
 * node "": for any name that no node has. It ends no later than maker->token_id. ret_token holds
 * TOKEN_HEX + 1 bytes and is kept nowhere. *ret: until the next call. -EDQUOT when there are too
 * many that are good. Linear in all. */
int join_tokens_make(struct scheduler *scheduler, const char *node,
                     const struct join_token_maker *maker, uint64_t now_wall_us, uint64_t ttl_us,
                     char *ret_token, const struct stored_token **ret, struct edl_error *error);

/* join_tokens_find - by the token; NULL: none */
const struct stored_token *join_tokens_find(const struct scheduler *scheduler, const char *token);

/* join_tokens_alive - 0 when it has not expired, or was used in time; EDL_EUNAUTHENTICATED */
int join_tokens_alive(const struct stored_token *token, uint64_t now_wall_us,
                      struct edl_error *error);

/* The node that wants to join. */
struct join_wish {
    const char *node, *credential_hash;
    const char *machine_id; /* NULL, "": not told */
};

/* join_tokens_check - whether it is good for a node now
 * 0: good; 1: it is used up, and by this very node with this very credential, which asks again;
 * EDL_EUNAUTHENTICATED, -EACCES with error. Until it expires a used one is good again for the node
 * that it made, while that has never reported and the same machine asks: the person who typed the
 * line had something amiss. */
int join_tokens_check(const struct scheduler *scheduler, const struct stored_token *token,
                      const struct join_wish *wish, uint64_t now_wall_us, struct edl_error *error);

/* join_tokens_use - for the next commit, together with the join */
void join_tokens_use(struct scheduler *scheduler, const struct stored_token *token,
                     const char *node, const char *credential_hash, uint64_t now_wall_us);

/* join_tokens_revoke - by its id: it expires now, and another may be made for it; -ENOENT */
int join_tokens_revoke(struct scheduler *scheduler, const char *id, uint64_t now_wall_us,
                       const struct stored_token **ret, struct edl_error *error);

/* join_tokens_revoke_all - every one that a person made and that has not expired, used or not; how
 * many there were */
unsigned join_tokens_revoke_all(struct scheduler *scheduler, const char *made_by,
                                uint64_t now_wall_us);

/* join_tokens_revoke_unused - every one that was made for that node and that nobody has used; how
 * many there were */
unsigned join_tokens_revoke_unused(struct scheduler *scheduler, const char *node,
                                   uint64_t now_wall_us);

/* join_tokens_revoke_orphans - every one that was made with a token that is no more, and that has
 * not expired, used or not; how many there were */
unsigned join_tokens_revoke_orphans(struct scheduler *scheduler, uint64_t now_wall_us);

/* join_tokens_each - all of them, in the order in which they were made */
void join_tokens_each(const struct scheduler *scheduler, store_token_fn fn, void *userdata);

/* join_tokens_seal - copies of the changed ones, for the commit, which also forgets those that are
 * to go; the caller frees the array */
struct stored_token *join_tokens_seal(struct scheduler *scheduler, size_t *ret_n);
