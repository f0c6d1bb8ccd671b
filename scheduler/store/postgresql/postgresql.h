/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql.h - the store in PostgreSQL: opening it, and leading over it
 *
 * Every call blocks: it waits for the server until a deadline. So it is made in a thread beside the
 * loop, one thread to each connection. A connection that was lost, or waited too long, is lost for
 * good. Each call of it says -ENOTCONN; its owner closes it and opens another.
 *
 * libpq is loaded with the first call; the program is not linked with it.
 *
 * Codes, beside those of engine.h. -ENOTCONN: the database is away (lost, too slow, starting).
 * -ESTALE: another scheduler leads. -EACCES: the server does not let this user in, or do it.
 * -EINVAL: the database cannot be used as it is, and the error has the remedy. No error has a
 * password in it.
 *
 * Used by: leadership, far. Tests: tests/unit/test_postgresql.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct engine;
struct store;

#define POSTGRESQL_NAME_MAX 63
#define POSTGRESQL_ADDRESS_MAX 255
#define POSTGRESQL_COPIES_MAX 8
#define POSTGRESQL_WANTED_MAX 127           /* of the text of synchronous_standby_names */
#define POSTGRESQL_COMMIT_LIMIT_US 10000000 /* a commit that takes longer: -ENOTCONN */

/* postgresql_open - a store that writes. Its hosts are tried one after the other, each for a
 * second. Then the settings of the server are checked and the schema is made, or brought forward.
 * known_term: a leader had it. A host of an earlier term is not taken (-ENOTCONN)
 * postgresql_open_reader - a connection for reading: each statement is a transaction of its own;
 * those between begin and commit see one state. The schema must be the newest (-EINVAL). A server
 * whose leader has an earlier term than least_term is passed over */
int postgresql_open(const char *url, uint64_t known_term, struct store **ret,
                    struct edl_error *error);
int postgresql_open_reader(const char *url, uint64_t least_term, struct engine **ret,
                           struct edl_error *error);

/* postgresql_open_bytes - a connection that writes beside the store's, large rows. Each of its
 * transactions fails in another term; a statement outside of one does not look at it */
int postgresql_open_bytes(const char *url, uint64_t term, struct engine **ret,
                          struct edl_error *error);

/* postgresql_warnings - what an administrator ought to change in the server, a line each; "" for
 * nothing. Borrowed from the store */
const char *postgresql_warnings(const struct store *store);

/* postgresql_claim - the database belongs to the cluster of this authority (a text that names it,
 * its pin) from the first call on. -EINVAL: it belongs to another cluster */
int postgresql_claim(struct store *store, const char *authority, struct edl_error *error);

/* postgresql_check_here - -EINVAL with remedy: the state was moved to another engine, and nobody
 * leads over what is left here (postgresql_copy.h). postgresql_lead looks again */
int postgresql_check_here(struct store *store, struct edl_error *error);

/* --- leading --- */

/* postgresql_lead - waits until no other scheduler holds the lock, then begins a term, which is
 * stored when it returns. Each transaction of the store begins with the check that the term is
 * still the newest: -ESTALE. address: where others reach this scheduler
 * least_term: the term is this number at least; 0: the next one will do
 * give_up: looked at once a second; -ECANCELED */
int postgresql_lead(struct store *store, const char *name, const char *address, uint64_t least_term,
                    const atomic_bool *give_up, uint64_t *ret_term, struct edl_error *error);

/* postgresql_clock - what the database's wall clock shows, in microseconds since 1970 */
int postgresql_clock(struct store *store, uint64_t *ret_wall_us, struct edl_error *error);

/* postgresql_loaded - the state of the term has been read: from its next transaction on the server
 * ends the session when it is silent for 1.5 s, and another scheduler leads. Until then that takes
 * 30 s */
void postgresql_loaded(struct store *store);

/* postgresql_term - of a store that leads; 0: it does not */
uint64_t postgresql_term(const struct store *store);

struct database_copy {
    char name[POSTGRESQL_NAME_MAX + 1];
    char state[16]; /* "sync", "quorum", "potential", "async"; "unknown": it may not be seen */
    uint64_t lag_bytes, lag_us;
};

struct leader_facts {
    uint64_t term; /* 0: nobody has led yet */
    uint64_t turn;
    char name[POSTGRESQL_NAME_MAX + 1];
    char address[POSTGRESQL_ADDRESS_MAX + 1];
    uint64_t since_wall_us;
    /* synchronous_standby_names, whose copies commits wait for; "": for none */
    char wanted_copies[POSTGRESQL_WANTED_MAX + 1];
    uint64_t commit_waits_us; /* the longest that one has done so until now; 0: none does */
    char server[POSTGRESQL_ADDRESS_MAX + 1]; /* host of the connection */
    size_t n_copies;
    struct database_copy copies[POSTGRESQL_COPIES_MAX]; /* those that are connected */
};

/* postgresql_leader - who leads, and the copies of the database */
int postgresql_leader(struct engine *engine, struct leader_facts *ret, struct edl_error *error);
