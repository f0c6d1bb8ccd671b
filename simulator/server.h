/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - a scheduler's shell (server*.c) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/leading.h"
#include "simulator/server_clock.h"

struct cluster;
struct effect;
struct event;
struct group_table;
struct instant;
struct message;
struct node;
struct sim;
struct truth_job;

struct task_ref {
    uint32_t task, pass, lease, lost; /* a finish: so many of its records */
};

/* What the core took and is not on disk yet. */
enum pending_kind {
    PENDING_SCALE,
    PENDING_PRIORITISE,
    PENDING_NODE,
    PENDING_KILL,
    PENDING_LEASE, /* this and the following are looked at by ledger_tasks.c */
    PENDING_FINISH,
    PENDING_FAIL,
    PENDING_RETURN,
    PENDING_SAVER,
    PENDING_SAVED,
};
struct pending {
    enum pending_kind kind;
    struct truth_job *job; /* NULL: NODE */
    struct task_ref ref;
    uint64_t holder;
    uint64_t at_us; /* LEASE: when it was asked for */
    uint32_t op;    /* SCALE, PRIORITISE, NODE */
};

struct pendings {
    struct pending *items; /* owned */
    size_t n, cap;
};

/* --- server.c, server_calls.c --- */
enum crash_when { CRASH_NOW, CRASH_IN_COMMIT, CRASH_AFTER_COMMIT };

struct server {
    uint32_t index;
    uint64_t run; /* which of all runs of schedulers: one that leads anew is another */
    bool up, frozen, busy;
    struct cluster *cluster;    /* owned; NULL while down */
    struct group_table *groups; /* owned; on disk as well; NULL: none */
    uint64_t generation;
    uint64_t commits; /* that its state has */
    uint64_t joins;
    uint64_t boot_base_us;
    int64_t wall_offset_us;
    struct server_clock clock;
    uint64_t random;
    uint64_t timer_at_us;
    uint64_t turns;
    enum crash_when crash_when; /* when it is to end; NOW: it is not */
    uint64_t down_us;           /* and for how long then */
    bool leaves, leaves_late;   /* in order: serves nothing else; is to, after this commit */
    bool tells_away;            /* and nodes may know */
    bool planned;               /* the turn under way may have moved the next deadline */
    bool timer_late;            /* it came during a commit */
    bool regrouped;             /* what is being committed was planned with other groups */
    uint64_t disk_slow_us, disk_slow_until_us, frozen_until_us;
    uint64_t deaf_since_us;    /* while frozen or busy: it hears nobody since then */
    uint64_t excused_until_us; /* it was down, or stood still */
    uint64_t forgets_at_us;    /* NEVER_US but for a mutant */
    struct pendings pendings;
    struct leading leading;          /* of two schedulers */
    struct message *inbox, *answers; /* owned lists */
    struct message **orders_waiters; /* owned array of owned lists, by node */
    struct event *late;
    size_t n_late, cap_late;
};

struct instant server_instant(const struct sim *sim);
/* server_at, server_after - an event of the scheduler whose event this is */
void server_at(struct sim *sim, uint64_t at_us, uint32_t kind, uint32_t a, uint64_t b);
void server_after(struct sim *sim, uint64_t delay_us, uint32_t kind, uint32_t a, uint64_t b);
/* server_boot_us, server_when_us - its boot clock, and when that shows boot_us */
uint64_t server_boot_us(const struct sim *sim);
uint64_t server_when_us(const struct sim *sim, uint64_t boot_us);
void server_start(struct sim *sim);
/* server_load - the state of the store; serves from then on. server_serves - it does. */
void server_load(struct sim *sim);
void server_serves(struct sim *sim);
/* server_write - what its turn has done is stored: the commit itself
 * server_stored - and it knows */
void server_write(struct sim *sim);
void server_stored(struct sim *sim);
/* server_drop - what it has in memory of its callers: answered with this status, 0: reset */
void server_drop(struct sim *sim, int status);
/* server_crash - now or with the next commit; comes back after down_us */
void server_crash(struct sim *sim, enum crash_when when, uint64_t down_us);
bool server_has_news(const struct sim *sim); /* the core is ahead of the disk in what it tells */
/* server_leave - in order: stores for how long it is away, tells its nodes, and is down for so
 * long; dies: on the way to the disk. server_on_gone - it is that far. server_add_away - to the
 * orders of a node that it knows well */
void server_leave(struct sim *sim, uint64_t down_us, bool dies);
void server_on_gone(struct sim *sim, uint64_t generation);
void server_add_away(const struct sim *sim, const struct node *node, struct message *answer);
/* server_regroup - people made other groups: sim->groups */
void server_regroup(struct sim *sim);
void server_receive(struct sim *sim, struct message *take_request);
/* server_hears_again - after a freeze or a commit: the core hears of it when it was long */
void server_hears_again(struct sim *sim);
void server_on_committed(struct sim *sim, uint64_t generation);
void server_on_timer(struct sim *sim, uint64_t generation);
void server_on_poll_end(struct sim *sim, uint32_t node, uint64_t call);
void server_on_lease_end(struct sim *sim, uint32_t job, uint64_t call);
void server_done(struct sim *sim, struct server *server);
/* server_node_removed - whoever waits for its orders is told */
void server_node_removed(struct sim *sim, uint32_t node);
/* server_calls.c */
void server_handle(struct sim *sim, struct message *take_request);
void server_serve_tasks(struct sim *sim, struct truth_job *job);
void server_answer_orders(struct sim *sim, struct message *take_request);
void server_hold(struct sim *sim, struct message *take_answer); /* until the commit */

/* server_spoil.c: mutants. spoil_before_plan - right before a plan; spoil_after_plan - behind it;
 * spoil_write - the records of a commit, as they are kept; spoil_torn - of one that was torn;
 * spoil_restore - after a start */
void spoil_before_plan(struct sim *sim);
void spoil_after_plan(struct sim *sim);
void spoil_write(struct sim *sim, const struct effect *effects, size_t n);
void spoil_torn(struct sim *sim);
void spoil_restore(struct sim *sim);
