/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_sums.c - the store counts itself: without reading, and as it is in the rows */
#include <errno.h>

#include "scheduler/core/model/cluster_internal.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static const char *const users[] = { "ann", "ben", "cy", "dora", "eve" };

/* --- an engine that counts reads --- */

static const struct engine_calls *real;
static struct engine_calls counting;
static unsigned n_read;

static int count_next(struct prepared *statement)
{
    n_read++;
    return real->next(statement);
}

static void begin_to_count(const struct fixture *f)
{
    if (f->store->engine->calls != &counting)
        real = f->store->engine->calls;
    counting = *real;
    counting.next = count_next;
    f->store->engine->calls = &counting;
    n_read = 0;
}

TEST_EACH(set_up, tear_down);

#define SUBMISSIONS 16

/* Each with its event, its answer and its line of the audit log. */
static void submit(struct fixture *f, unsigned first, uint64_t wall_us)
{
    struct effect effects[2 * SUBMISSIONS];
    struct stored_answer answers[SUBMISSIONS];
    struct account_change lines[SUBMISSIONS];
    char keys[SUBMISSIONS][24];
    static char none[] = "", body[] = "{\"id\":7}";
    struct edl_error error = { 0 };

    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        char *user = (char *)(uintptr_t)users[i % ELEMENTS(users)]; /* why: borrowed */

        (void)snprintf(keys[i], sizeof keys[i], "k%u", first + i);
        effects[2 * i] = (struct effect){ .kind = EFFECT_SAVE_SPEC, .job = the_job(f) };
        effects[2 * i + 1] =
            (struct effect){ .kind = EFFECT_EVENT, .event = "test", .wall_us = wall_us };
        answers[i] = (struct stored_answer){ user, keys[i], none, 201, none, none, body, wall_us };
        lines[i] = (struct account_change){ .kind = ACCOUNT_AUDIT,
                                            .name = user,
                                            .via = none,
                                            .method = none,
                                            .target = none,
                                            .request_id = none,
                                            .created_wall_us = wall_us };
    }
    if (store_commit(f->store,
                     &(struct turn_records){ .effects = effects,
                                             .n_effects = ELEMENTS(effects),
                                             .answers = answers,
                                             .n_answers = SUBMISSIONS,
                                             .accounts = lines,
                                             .n_accounts = SUBMISSIONS,
                                             .wall_us = wall_us },
                     &error) < 0)
        fail_msg("%s", error.text);
}

TEST(test_a_turn_of_submissions_reads_nothing)
{
    struct fixture *f = *state;

    (void)run_job(f->cluster);
    commit(f);
    store_keep(f->store, &(struct store_history){ .events = 50,
                                                  .jobs = 10,
                                                  .job_bytes = 1 << 20,
                                                  .us = 24 * 3600 * USEC_PER_SEC,
                                                  .log_bytes = 1 << 20,
                                                  .audit = 40,
                                                  .audit_us = 24 * 3600 * USEC_PER_SEC });
    for (unsigned i = 0; i < 4; i++) /* bounds are reached, and the first looks are over */
        submit(f, i * SUBMISSIONS, start.wall_us);
    begin_to_count(f);
    for (unsigned i = 4; i < 8; i++)
        submit(f, i * SUBMISSIONS, start.wall_us + i * USEC_PER_SEC);
    assert_int_equal(n_read, 0);
    assert_int_equal(number_of_sql(f, "SELECT count(*) FROM event"), 50);
    assert_in_range(number_of_sql(f, "SELECT count(*) FROM audit"), 39, 40);
}

static int happen(struct fixture *f, enum effect_kind last)
{
    const struct effect effects[] = {
        { .kind = EFFECT_EVENT, .event = "test", .wall_us = start.wall_us },
        { .kind = last, .event = "test", .wall_us = start.wall_us },
    };

    return store_commit(f->store, &(struct turn_records){ .effects = effects, .n_effects = 2 },
                        NULL);
}

TEST(test_a_start_of_processes_reads_nothing)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct turn_records records = { .wall_us = start.wall_us };

    assert_int_equal(happen(f, EFFECT_EVENT), 0); /* the first looks are over */
    (void)run_job(f->cluster);
    begin_to_count(f);
    records.effects = cluster_effects(f->cluster, &records.n_effects);
    assert_int_equal(store_commit(f->store, &records, &error), 0);
    cluster_effects_clear(f->cluster);
    assert_int_equal(n_read, 0);
    assert_true(number_of_sql(f, "SELECT count(*) FROM held_now") > 0);
}

/* --- numbers --- */

TEST(test_a_turn_that_failed_leaves_no_hole)
{
    struct fixture *f = *state;
    struct event_bounds bounds = { 0 };

    assert_int_equal(happen(f, EFFECT_EVENT), 0);
    assert_int_equal(happen(f, (enum effect_kind)99), -EINVAL);
    assert_int_equal(happen(f, EFFECT_EVENT), 0);
    assert_int_equal(store_event_bounds(f->store, &bounds, NULL), 0);
    assert_int_equal(bounds.oldest, 1);
    assert_int_equal(bounds.newest, 4);
}

static void put_notice(struct fixture *f, uint64_t id, bool gone)
{
    const struct stored_notice notice = {
        .id = id, .user = "ann", .target = "", .notices = "", .gone = gone
    };
    struct edl_error error = { 0 };

    if (store_commit(f->store, &(struct turn_records){ .notices = &notice, .n_notices = 1 },
                     &error) < 0)
        fail_msg("%s", error.text);
}

static void see_notice(const struct stored_notice *notice, void *userdata)
{
    (void)notice;
    (void)userdata;
}

/* Also after the row with the highest is gone, and the scheduler came again. */
TEST(test_numbers_of_notices_are_given_once)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t last = 0;

    put_notice(f, 7, false);
    put_notice(f, 7, true);
    put_notice(f, 3, false);
    restart(f);
    assert_int_equal(store_notices(f->store, see_notice, NULL, &last, &error), 0);
    assert_int_equal(last, 7);
    put_notice(f, 8, false);
    put_notice(f, 8, true);
    restart(f);
    assert_int_equal(store_notices(f->store, see_notice, NULL, &last, &error), 0);
    assert_int_equal(last, 8);
}

/* --- sums --- */

static void assert_same_users(const struct user_sums *a, const struct user_sums *b)
{
    const struct user_sum *sum;

    assert_int_equal(a->n, b->n);
    assert_int_equal(a->bytes, b->bytes);
    for (sum = a->users; sum != NULL; sum = sum->hh.next) {
        const struct user_sum *other;

        HASH_FIND_STR(b->users, sum->user, other);
        if (other == NULL || other->n != sum->n || other->bytes != sum->bytes)
            fail_msg("%s has other sums", sum->user);
    }
}

/* Sums that were counted on are those that are read anew. */
static void assert_counted(struct fixture *f)
{
    struct store_sums counted = f->store->sums;
    struct store_numbers numbers = f->store->numbers;
    const struct store_sums *read = &f->store->sums;
    struct edl_error error = { 0 };

    f->store->sums = (struct store_sums){ .archive.have_rows = true };
    assert_int_equal(store_need_sums(f->store, &error), 0);
    if (counted.audit_known)
        assert_int_equal(store_read_audit(f->store, &error), 0);
    assert_memory_equal(&numbers, &f->store->numbers, sizeof numbers);
    assert_same_users(&counted.answers, &read->answers);
    assert_same_users(&counted.audit, &read->audit);
    assert_same_users(&counted.archive, &read->archive);
    assert_memory_equal(counted.archived, read->archived, sizeof counted.archived);
    assert_int_equal(counted.log_bytes, read->log_bytes);
    assert_int_equal(counted.events.oldest, read->events.oldest);
    assert_int_equal(counted.events.newest, read->events.newest);
    store_free_sums(f->store);
    f->store->sums = counted;
    assert_int_equal(number_of_sql(f, "SELECT bytes FROM archived_share WHERE \"user\" = '*'"),
                     counted.archive.bytes);
}

TEST(test_what_is_counted_is_in_the_rows)
{
    struct fixture *f = *state;

    (void)run_job(f->cluster);
    commit(f);
    store_keep(f->store, &(struct store_history){ .events = 70, .audit = 60 });
    for (unsigned i = 0; i < 12; i++) {
        submit(f, i * SUBMISSIONS, start.wall_us + i * 3 * 3600 * USEC_PER_SEC);
        assert_counted(f);
    }
    restart(f);
    store_keep(f->store, &(struct store_history){ .events = 40, .audit = 10 });
    submit(f, 0, start.wall_us + 48 * 3600 * USEC_PER_SEC); /* all answers had their day */
    assert_counted(f);
    assert_in_range(f->store->sums.answers.n, SUBMISSIONS, 9 * SUBMISSIONS);
}
