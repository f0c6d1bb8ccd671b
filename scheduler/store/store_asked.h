/* SPDX-License-Identifier: Apache-2.0 */
/* store_asked.h - reads of a database that is far away: asked for now, there later
 *
 * The loop waits for no answer of a database beside a network. A read that is not answered yet
 * returns -EINPROGRESS. Its caller keeps a memo, sends what it asks for, and does all of its
 * work again from the start once the rows are there: it finds them in the memo then, by the text of
 * the statement and its parameters. Nothing may be changed before the last read.
 *
 * A near store (SQLite) answers at once. It needs no memo and takes none.
 *
 * Used by: scheduler/calls/asking.c. Tests: tests/unit/test_store_asked.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct store;
struct store_asked;

#define STORE_ASKED_BYTES ((size_t)24 << 20)      /* rows of one memo; more is -E2BIG */
#define STORE_ASKED_ALL_BYTES ((size_t)128 << 20) /* of all that wait for another round */

/* store_is_far - whether reads have to be asked for */
bool store_is_far(const struct store *store);

/* store_asked_new - an empty memo. store_asked_free accepts NULL and returns NULL; not while it is
 * sent */
struct store_asked *store_asked_new(void);
struct store_asked *store_asked_free(struct store_asked *memo);
/* store_asked_forget - all that it holds; not while it is sent */
void store_asked_forget(struct store_asked *memo);
/* store_asked_wants - a read was asked for that is not there. store_asked_is_empty - none was ever
 */
bool store_asked_wants(const struct store_asked *memo);
bool store_asked_is_empty(const struct store_asked *memo);
size_t store_asked_bytes(const struct store_asked *memo); /* that its rows take */

/* store_ask_for - from now on reads are looked up in this memo (borrowed), NULL: in none, which
 * makes each an error; returns the one before */
struct store_asked *store_ask_for(struct store *store, struct store_asked *memo);

/* store_ask_send - what the memo wants is read beside the loop, in the order in which it was asked
 * for, and as one state of the database. done: from the loop, later; memo NULL: the store has
 * ended, and the memo with it. The memo must live until then. One is sent at a time */
typedef void (*store_asked_fn)(struct store_asked *memo, void *userdata);
void store_ask_send(struct store *store, struct store_asked *memo, store_asked_fn done,
                    void *userdata);
