/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_database.c - see postgresql_database.h */
#include "scheduler/leadership/postgresql_database.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_schedulers.h"
#include "scheduler/store/store_workspaces.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

static int open_writer(const char *url, const struct shared_self *self, struct store **ret,
                       struct edl_error *error)
{
    struct store *store = NULL;
    int r = postgresql_open(url, self->known_term, &store, error);

    if (r == 0)
        r = postgresql_check_here(store, error);
    if (r == 0 && self->authority[0] != '\0')
        r = postgresql_claim(store, self->authority, error);
    if (r == 0)
        r = store_scheduler_make(store, error);
    if (r == 0)
        r = store_workspaces_make(store, error);
    if (r == 0)
        r = store_scheduler_take(store, self->name, self->address, error);
    if (r < 0)
        (void)store_free(store);
    else
        *ret = store;
    return r;
}

static int open_reader(const char *url, struct engine **ret, struct edl_error *error)
{
    return postgresql_open_reader(url, 0, ret, error);
}

/* ahead - of this machine's clock, which was read before and behind that of the database */
static int64_t ahead(uint64_t before_us, uint64_t there_us, uint64_t behind_us)
{
    if (there_us < before_us)
        return (int64_t)(before_us - there_us);
    return there_us > behind_us ? -(int64_t)(there_us - behind_us) : 0;
}

static int lead(struct store *store, const struct shared_self *self, const atomic_bool *give_up,
                uint64_t *ret_term, int64_t *ret_ahead_us, struct edl_error *error)
{
    int r = postgresql_lead(store, self->name, self->address, self->least_term, give_up, ret_term,
                            error);
    uint64_t before_us = clock_read_us(CLOCK_REALTIME), there_us = 0;

    if (r == 0)
        r = postgresql_clock(store, &there_us, error);
    if (r == 0)
        *ret_ahead_us = ahead(before_us, there_us, clock_read_us(CLOCK_REALTIME));
    return r;
}

static void take_leader(const struct leader_facts *facts, struct shared_facts *ret)
{
    ret->term = facts->term;
    ret->since_wall_us = facts->since_wall_us;
    ret->commit_waits_us = facts->commit_waits_us;
    (void)snprintf(ret->wanted_copies, sizeof ret->wanted_copies, "%s", facts->wanted_copies);
    (void)snprintf(ret->leader.name, sizeof ret->leader.name, "%s", facts->name);
    (void)snprintf(ret->leader.address, sizeof ret->leader.address, "%.*s",
                   SCHEDULER_ADDRESS_MAX - 1, facts->address);
    (void)snprintf(ret->server, sizeof ret->server, "%s", facts->server);
    for (; ret->n_copies < MIN_OF(facts->n_copies, ELEMENTS(ret->copies)); ret->n_copies++) {
        const struct database_copy *from = &facts->copies[ret->n_copies];
        struct shared_copy *copy = &ret->copies[ret->n_copies];

        (void)snprintf(copy->name, sizeof copy->name, "%s", from->name);
        (void)snprintf(copy->state, sizeof copy->state, "%s", from->state);
        copy->lag_bytes = from->lag_bytes;
        copy->lag_us = from->lag_us;
    }
}

static void take_scheduler(const struct stored_scheduler *row, void *userdata)
{
    struct shared_facts *facts = userdata;
    struct scheduler_peer *peer = &facts->schedulers[facts->n_schedulers];

    if (facts->n_schedulers == ELEMENTS(facts->schedulers))
        return;
    (void)snprintf(peer->name, sizeof peer->name, "%s", row->name);
    (void)snprintf(peer->address, sizeof peer->address, "%s", row->address);
    peer->seen_ago_us = row->seen_ago_us;
    facts->n_schedulers++;
}

/* tell_self - compares the clocks on the way */
static int tell_self(struct engine *engine, const struct shared_self *self,
                     struct shared_facts *facts, struct edl_error *error)
{
    uint64_t before_us = clock_read_us(CLOCK_REALTIME), there_us = 0;
    int r = store_scheduler_seen(engine, self->name, self->address, &there_us, error);
    uint64_t behind_us = clock_read_us(CLOCK_REALTIME);

    if (r == 0)
        facts->clock_ahead_us = ahead(before_us, there_us, behind_us);
    facts->clock_error_us = behind_us - before_us;
    return r;
}

static int look(struct engine *engine, const struct shared_self *self, struct shared_facts *ret,
                struct edl_error *error)
{
    struct leader_facts facts = { 0 };
    struct shared_facts found = { .clock_error_us = UINT64_MAX };
    int r = postgresql_leader(engine, &facts, error);

    if (r == 0)
        r = store_scheduler_begin(engine, error);
    if (r == 0 && self->name[0] != '\0')
        r = tell_self(engine, self, &found, error);
    if (r == 0 && self->forget != NULL && self->forget[0] != '\0')
        r = store_scheduler_forget(engine, self->forget, error);
    if (r == 0)
        r = store_scheduler_each(engine, take_scheduler, &found, error);
    if (r < 0)
        return r;
    take_leader(&facts, &found);
    *ret = found;
    return 0;
}

const struct shared_database postgresql_database = {
    .open = open_writer,
    .lead = lead,
    .loaded = postgresql_loaded,
    .warnings = postgresql_warnings,
    .open_reader = open_reader,
    .open_bytes = postgresql_open_bytes,
    .look = look,
};
