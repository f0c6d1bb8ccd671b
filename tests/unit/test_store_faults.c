/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_faults.c - every acknowledged commit survives loss of power and errors of the disk
 *
 * Turns of a random history are committed to a disk that fails at a chosen call. Then the loaded
 * state is that of the last commit that was acknowledged, or of the one that was under way: nothing
 * of before is lost, nothing is half there. For each call of a short history one after the other;
 * at random in long ones. EDL_SEED chooses the run (seeds.h), EDL_ROUNDS and EDL_OPENINGS how much
 * of it; EDL_CALL_STRIDE takes every so-many-th of the calls of the short histories. */
#include <inttypes.h>
#include <stdio.h>
#include <sqlite3.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/record/records.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/lib/faulty_vfs.h"
#include "tests/unit/record_storm.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define PATH "/disk/edl.db"
#define SHORT_EVENTS 14
#define STRIDE "EDL_CALL_STRIDE"
#define LONG_EVENTS 120
#define ROUNDS 20
#define CHECKPOINT_PAGES 24 /* so that short histories have some */
#define OPENINGS 50         /* of each kind of call: all, of memory some (EDL_OPENINGS) */

struct trial {
    struct world *w;
    struct store *store;
    struct cluster *acknowledged;
    struct cluster *in_doubt; /* NULL: no commit was under way */
    bool failed;
    uint64_t n_commits;
};

static void open_store(struct trial *t)
{
    struct edl_error error = { 0 };

    if (store_open(PATH, &t->store, &error) < 0)
        fail_msg("%s", error.text);
    (void)sqlite3_wal_autocheckpoint(sqlite_engine_of(t->store->engine)->db, CHECKPOINT_PAGES);
}

static void keep(struct trial *t, struct cluster **where)
{
    (void)cluster_free(*where);
    *where = cluster_clone(t->w->cluster, t->w->now);
}

static void commit_to_disk(void *userdata, const struct effect *effects, size_t n)
{
    struct trial *t = userdata;

    if (t->failed)
        return;
    if (store_commit(t->store, &(struct turn_records){ .effects = effects, .n_effects = n }, NULL) <
        0) {
        t->failed = true;
        keep(t, &t->in_doubt);
        return;
    }
    t->n_commits++;
    keep(t, &t->acknowledged);
}

/* A restart of the scheduler in the middle of the history; the disk is well while it reads. */
static int load_from_disk(void *userdata, struct cluster *cluster, struct instant now,
                          struct edl_error *error)
{
    struct trial *t = userdata;
    int r;

    faulty_hold(true);
    r = store_load(t->store, cluster, now, error);
    faulty_hold(false);
    return r;
}

/* A disk with an empty database, whose migrations took ten times as long as a short history. */
static void install_made(uint64_t seed)
{
    static void *made;
    static size_t size;

    if (made == NULL) {
        struct trial maker = { 0 };

        faulty_install(1);
        open_store(&maker);
        (void)store_free(maker.store);
        made = faulty_content(PATH, &size);
        faulty_remove();
    }
    faulty_install(seed);
    faulty_add(PATH, made, size);
}

static void begin(struct trial *t, uint64_t seed)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct cluster *copy;

    *t = (struct trial){ .w = w };
    install_made(seed);
    w->seed = seed;
    w->max_linger = 2;
    w->replay_every = UINT32_MAX;
    for (size_t i = 0; i < w->n_agents; i++)
        w->agents[i].offer.gpus = 4;
    open_store(t);
    copy = cluster_clone(w->cluster, w->now); /* its nodes joined before */
    for (struct node *node = copy->nodes; node != NULL; node = node->hh.next)
        assert_int_equal(store_commit(t->store,
                                      &(struct turn_records){
                                          .effects = &(struct effect){ .kind = EFFECT_SAVE_NODE,
                                                                       .node = node },
                                          .n_effects = 1 },
                                      NULL),
                         0);
    (void)cluster_free(copy);
    keep(t, &t->acknowledged);
    w->disk = (struct world_disk){ commit_to_disk, load_from_disk, t };
}

static void end(struct trial *t)
{
    t->store = store_free(t->store);
    (void)cluster_free(t->acknowledged);
    (void)cluster_free(t->in_doubt);
    (void)world_free(t->w);
    faulty_remove();
}

/* Until the history is over or a commit failed. */
static void go_on(struct trial *t, uint64_t events)
{
    for (uint64_t i = 0; i < events && !t->failed; i++) {
        storm_act(t->w);
        if (!t->failed && world_random(t->w, 3) != 0)
            world_plan(t->w);
    }
    if (!t->failed)
        world_plan(t->w);
}

/* Everything SQLite knows how to check. */
static void check_file(const struct trial *t)
{
    static const char *const checks[] = { "PRAGMA integrity_check", "PRAGMA foreign_key_check" };

    for (size_t i = 0; i < ELEMENTS(checks); i++) {
        sqlite3_stmt *statement = NULL;
        int step;

        assert_int_equal(sqlite3_prepare_v2(sqlite_engine_of(t->store->engine)->db, checks[i], -1,
                                            &statement, NULL),
                         SQLITE_OK);
        step = sqlite3_step(statement);
        if (i == 0 &&
            (step != SQLITE_ROW || !streq((const char *)sqlite3_column_text(statement, 0), "ok")))
            fail_msg("the database is damaged: %s", sqlite3_column_text(statement, 0));
        if (i == 1)
            assert_int_equal(step, SQLITE_DONE);
        (void)sqlite3_finalize(statement);
    }
}

static struct cluster *load(const struct trial *t)
{
    struct cluster *loaded = cluster_new(&t->w->cluster->config);
    struct edl_error error = { 0 };

    if (store_load(t->store, loaded, t->w->now, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(loaded, t->w->now);
    if (cluster_check(loaded, &error) < 0)
        fail_msg("%s", error.text);
    return loaded;
}

static bool same(const struct cluster *a, const struct cluster *b, struct edl_error *error)
{
    return cluster_compare(a, b, error) == 0 && cluster_compare(b, a, error) == 0;
}

/* What is loaded takes the place of what is in memory, as after a restart. */
static void take_up(struct trial *t, bool may_be_in_doubt)
{
    struct cluster *loaded = load(t);
    struct edl_error error = { 0 };
    bool there = same(t->acknowledged, loaded, &error);

    if (!there && may_be_in_doubt && t->in_doubt != NULL)
        there = same(t->in_doubt, loaded, &error);
    if (!there)
        fail_msg("what is there is not what was acknowledged: %s", error.text);
    (void)cluster_free(t->w->cluster);
    t->w->cluster = loaded;
    t->in_doubt = cluster_free(t->in_doubt);
    t->failed = false;
    keep(t, &t->acknowledged);
}

static void lose_power(struct trial *t, enum survival survival)
{
    faulty_power_off();
    t->store = store_free(t->store);
    faulty_restore(survival);
    open_store(t);
    check_file(t);
    take_up(t, true);
}

/* One history with one fault. The disk heals; a failed commit is followed by loading over the same
 * connection, as the scheduler does it; then power is lost, and it goes on. */
static void try_one(uint64_t seed, uint64_t events, enum fault fault, uint64_t nth,
                    enum survival survival)
{
    struct trial t;

    begin(&t, seed);
    faulty_strike(fault, nth, fault == FAULT_MEMORY ? 1 : 1 + (unsigned)(nth % 3));
    go_on(&t, events);
    faulty_strike(FAULT_NONE, 0, 0);
    if (t.failed && fault != FAULT_POWER) {
        take_up(&t, false);
        assert_int_equal(store_probe(t.store, NULL), 0);
        go_on(&t, 4);
        assert_false(t.failed);
    }
    lose_power(&t, survival);
    go_on(&t, 4);
    assert_false(t.failed);
    t.store = store_free(t.store);
    open_store(&t);
    check_file(&t);
    take_up(&t, false);
    end(&t);
}

static uint64_t count(uint64_t seed, uint64_t events, enum fault fault)
{
    struct trial t;
    uint64_t before, n;

    begin(&t, seed);
    before = faulty_calls(fault);
    go_on(&t, events);
    n = faulty_calls(fault) - before;
    assert_true(t.n_commits > 3);
    end(&t);
    return n;
}

TEST(test_power_is_lost_at_each_call)
{
    uint64_t seed = the_seed(STORM_SEED);
    uint64_t n = count(seed, SHORT_EVENTS, FAULT_POWER);

    for (uint64_t i = 1 + seed % stride(STRIDE); i <= n; i += stride(STRIDE))
        for (int survival = 0; survival < SURVIVAL_KINDS; survival++)
            try_one(seed, SHORT_EVENTS, FAULT_POWER, i, (enum survival)survival);
    print_message("%" PRIu64 " calls\n", n);
}

static void fail_each(enum fault fault)
{
    uint64_t seed = the_seed(STORM_SEED);
    uint64_t n = count(seed, SHORT_EVENTS, fault);

    for (uint64_t i = 1 + seed % stride(STRIDE); i <= n; i += stride(STRIDE))
        try_one(seed, SHORT_EVENTS, fault, i, (enum survival)(i % SURVIVAL_KINDS));
    print_message("%s: %" PRIu64 " calls\n", fault_name(fault), n);
}

TEST(test_each_write_fails)
{
    fail_each(FAULT_FULL);
    fail_each(FAULT_WRITE);
}

TEST(test_each_sync_fails)
{
    fail_each(FAULT_SYNC);
}

TEST(test_each_read_fails)
{
    fail_each(FAULT_READ);
    fail_each(FAULT_SHORT_READ);
}

TEST(test_memory_is_refused)
{
    fail_each(FAULT_MEMORY);
}

TEST(test_long_histories)
{
    uint64_t first = first_seed(STORM_SEED), rounds = storm_number("EDL_ROUNDS", ROUNDS);

    for (uint64_t seed = first; seed - first < rounds; seed++) {
        struct world dice = { .seed = seed + 1 };
        enum fault fault = (enum fault)(1 + world_random(&dice, FAULT_KINDS - 1));
        uint64_t n = count(seed, LONG_EVENTS, fault);
        uint64_t nth = n > 0 ? 1 + world_random(&dice, n) : 1;
        enum survival survival = (enum survival)world_random(&dice, SURVIVAL_KINDS);

        print_message("EDL_FIRST_SEED=%" PRIu64 " EDL_ROUNDS=1: %s at %" PRIu64 " of %" PRIu64 "\n",
                      seed, fault_name(fault), nth, n);
        try_one(seed, LONG_EVENTS, fault, nth, survival);
    }
}

/* --- opening --- */

/* It opens, or says why not; and whatever happened, the next one opens and has everything. */
static void open_with(struct trial *t, enum fault fault, uint64_t nth)
{
    struct edl_error error = { 0 };
    struct store *store = NULL;

    faulty_strike(fault, nth, 1);
    if (store_open(PATH, &store, &error) < 0) {
        assert_null(store);
        assert_true(error.text[0] != '\0');
    }
    if (fault == FAULT_POWER)
        faulty_power_off();
    (void)store_free(store);
    faulty_strike(FAULT_NONE, 0, 0);
    if (fault == FAULT_POWER)
        faulty_restore((enum survival)(nth % SURVIVAL_KINDS));
    open_store(t);
    check_file(t);
    if (t->acknowledged != NULL)
        take_up(t, false);
    t->store = store_free(t->store);
}

/* count_opening - calls of that kind until a store is made where there was nothing */
static uint64_t count_opening(uint64_t seed, enum fault fault)
{
    struct trial t = { 0 };
    uint64_t n;

    faulty_install(seed);
    open_store(&t);
    n = faulty_calls(fault);
    t.store = store_free(t.store);
    faulty_remove();
    return n;
}

/* It is made with all its migrations, which takes 20,000 allocations: some are struck, others with
 * another seed. */
static void fail_making(uint64_t seed, enum fault fault)
{
    uint64_t n = count_opening(seed, fault);
    uint64_t stride = MAX_OF(n / storm_number("EDL_OPENINGS", OPENINGS), UINT64_C(1));
    uint64_t n_struck = 0;

    for (uint64_t nth = 1 + seed % stride; nth <= n; nth += stride) {
        struct trial t = { 0 };

        faulty_install(seed);
        open_with(&t, fault, nth);
        n_struck += faulty_struck();
        faulty_remove();
    }
    print_message("%s: %" PRIu64 " of %" PRIu64 " calls\n", fault_name(fault), n_struck, n);
    assert_true(n_struck > 0 || n == 0);
}

TEST(test_making_fails_anywhere)
{
    for (int fault = 1; fault < FAULT_KINDS; fault++)
        fail_making(the_seed(STORM_SEED), (enum fault)fault);
}

TEST(test_opening_fails_anywhere)
{
    uint64_t seed = the_seed(STORM_SEED);

    for (int fault = 1; fault < FAULT_KINDS; fault++) {
        for (uint64_t nth = 1 + seed % stride(STRIDE); nth < 40;
             nth += stride(STRIDE) * (fault == FAULT_MEMORY ? 3 : 1)) {
            struct trial t;

            begin(&t, seed);
            go_on(&t, SHORT_EVENTS);
            faulty_power_off(); /* a log is left over */
            t.store = store_free(t.store);
            faulty_restore(SURVIVES_ALL);
            open_with(&t, (enum fault)fault, nth);
            end(&t);
        }
    }
}
