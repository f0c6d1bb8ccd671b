/* SPDX-License-Identifier: Apache-2.0 */
/* leading.h - of two schedulers over one store: who leads, and what the other one answers
 *
 * The lock is for waiting, the term decides. A leader tells leases by its permission, which its
 * stored turns renew. With one scheduler nothing of this happens. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/permission.h"

#define SIM_SCHEDULERS_MAX 2

struct event;
struct flight;
struct message;
struct query;
struct script;
struct server;
struct sim;
struct sim_node;

enum role { ROLE_ALONE, ROLE_STANDBY, ROLE_LEADER, ROLE_AWAY };

struct leading {
    enum role role;
    bool alive; /* its process is there */
    uint64_t term;
    struct permission permission;
    uint64_t proof_us;     /* when its last proof was sent, by the simulation's clock */
    uint64_t session;      /* of its connection to the database */
    uint64_t line;         /* to which primary that is */
    uint64_t call;         /* that it waits for; 0: none */
    struct flight *flight; /* its turn that nobody has stored or dropped; NULL: none */
    uint32_t cut;          /* from the database: bit 0 what it sends, bit 1 what it gets */
    uint64_t cut_until_us;
    int32_t drift_ppm; /* of its boot clock */
};

static inline bool role_is_alone(const struct leading *leading)
{
    return leading->role == ROLE_ALONE;
}

/* leading_init - of one of two. leading_start - its process begins, and waits for the lock */
void leading_init(struct sim *sim, struct server *server);
void leading_start(struct sim *sim);
/* leading_end - its process ends, and comes back after down_us */
void leading_end(struct sim *sim, uint64_t down_us);
/* leading_send - the turn of the scheduler whose event this is */
void leading_send(struct sim *sim);
/* leading_event - of those from EVENT_DATABASE_SAYS on */
void leading_event(struct sim *sim, const struct event *event);
/* leading_receive - false: it is to be handled as by one alone. Takes it else */
bool leading_receive(struct sim *sim, struct message *request);
/* leading_sign - an answer leaves: with the term, and nothing for nodes without a permission */
void leading_sign(struct sim *sim, struct message *answer);
/* leading_release - the state in memory goes, but for what a turn in flight needs of it */
void leading_release(struct sim *sim, struct server *server);
/* leading_deposed - another one has a term since */
bool leading_deposed(const struct sim *sim);

/* addresses.c: agents and clients
 * addresses_ask - whom it calls, and which term it knows
 * addresses_judge - an answer for the agent or a process of a node; one of a lower term becomes
 * none addresses_moves - it calls the other one after this answer */
void addresses_ask(struct sim *sim, struct message *request);
void addresses_judge(struct sim *sim, struct sim_node *node, struct message *answer);
bool addresses_moves(const struct sim *sim, const struct sim_node *node,
                     const struct message *answer);
