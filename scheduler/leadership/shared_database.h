/* SPDX-License-Identifier: Apache-2.0 */
/* shared_database.h - what leadership asks of a database that several schedulers share
 *
 * PostgreSQL is the only one; tests have another. All of these block: they are for threads, one
 * thread to each connection. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/options.h"

struct edl_error;
struct engine;
struct store;

#define SCHEDULERS_MAX 8 /* that are told to agents */
#define DATABASE_COPIES_MAX 8

/* A scheduler of the cluster. */
struct scheduler_peer {
    char name[SCHEDULER_NAME_MAX + 1];
    char address[SCHEDULER_ADDRESS_MAX]; /* "": a Unix socket only */
    uint64_t seen_ago_us;                /* since it last told so, by the clock of the database */
};

struct shared_copy {
    char name[64];
    char state[16]; /* "sync", "quorum", "potential", "async"; "unknown": it may not be seen */
    uint64_t lag_bytes, lag_us;
};

/* The answer of the database to a watch. */
struct shared_facts {
    struct scheduler_peer leader; /* name "": nobody has led yet */
    uint64_t term, since_wall_us;
    struct scheduler_peer schedulers[SCHEDULERS_MAX];
    size_t n_schedulers;
    char server[256];         /* which of its hosts this is */
    char wanted_copies[128];  /* commits wait for these, in the words of the server; "": for none */
    uint64_t commit_waits_us; /* the longest that one has done so until now; 0: none does */
    int64_t clock_ahead_us;   /* of this machine, before that of the database */
    uint64_t clock_error_us;  /* what it may be off, as the answer took so long */
    struct shared_copy copies[DATABASE_COPIES_MAX];
    size_t n_copies;
};

/* The scheduler that asks; of a look without a name: it tells nobody that it is there. */
struct shared_self {
    const char *name, *address, *authority; /* authority: the cluster's, "" unknown */
    const char *forget;  /* of a look: a scheduler that is no more; NULL, "": none */
    uint64_t least_term; /* of lead: the next term is this number at least */
    uint64_t known_term; /* of open: the highest that was seen there; 0: none was */
};

/* Codes are those of store.h, and: -ENOTCONN the database is away, -ESTALE another one leads,
 * -EEXIST another scheduler has the name or the address, -EBUSY a session of its own that is gone
 * has it still, as its commit waits for a copy, -ECANCELED give_up was set. */
struct shared_database {
    /* a store that writes, of this cluster and of this name */
    int (*open)(const char *url, const struct shared_self *self, struct store **ret,
                struct edl_error *error);
    /* waits until nobody else leads; the term is stored then. ret_ahead_us: of this machine's
     * clock, before that of the database */
    int (*lead)(struct store *store, const struct shared_self *self, const atomic_bool *give_up,
                uint64_t *ret_term, int64_t *ret_ahead_us, struct edl_error *error);
    /* the state has been read from the store: a silence of it is taken for an end from its next
     * transaction on */
    void (*loaded)(struct store *store);
    /* what an administrator ought to change in the server, a line each; the store's */
    const char *(*warnings)(const struct store *store);
    /* a connection for reading; for watching, it also tells that self is there */
    int (*open_reader)(const char *url, struct engine **ret, struct edl_error *error);
    /* one for archives of workspaces; store_workspaces.h */
    int (*open_bytes)(const char *url, uint64_t term, struct engine **ret, struct edl_error *error);
    int (*look)(struct engine *engine, const struct shared_self *self, struct shared_facts *ret,
                struct edl_error *error);
};
