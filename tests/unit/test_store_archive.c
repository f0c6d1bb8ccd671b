/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_archive.c - jobs that the core has let go of: the loaded rows of them are the kept
 * ones */
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_match.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/json/job_json.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static void put(struct fixture *f, const struct effect *effects, size_t n)
{
    struct edl_error error = { 0 };

    if (store_commit(f->store, &(struct turn_records){ .effects = effects, .n_effects = n },
                     &error) < 0)
        fail_msg("%s", error.text);
}

static void archive(struct fixture *f, uint64_t id)
{
    put(f, &(struct effect){ .kind = EFFECT_ARCHIVE_JOB, .id = id }, 1);
}

/* A job that never ran and is over. */
static uint64_t add_ended(struct fixture *f, const char *name, const char *array, const char *user,
                          uint64_t cpu_millicore_ms)
{
    uint32_t index = *array != '\0' ? (uint32_t)strtoul(name + strlen(array) + 1, NULL, 10) : 0;
    struct job_spec *spec = parse_job(job_text);
    struct edl_error error = { 0 };
    struct usage usage = { 0 };
    struct job *job;

    (void)snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->array.name = *array != '\0' ? xstrdup(array) : NULL;
    spec->array.first = index;
    spec->array.n = *array != '\0' ? 100 : 0;
    assert_int_equal(cluster_submit(f->cluster, spec, user, start, &job, &error), 0);
    usage.kinds[USAGE_IDLE].cpu_millicore_ms = cpu_millicore_ms;
    usage.kinds[USAGE_WASTED].gpu_ms = 2;
    usage_of_ended(job, &usage);
    assert_int_equal(cluster_kill_job(f->cluster, job, "", start, &error), 0);
    commit(f);
    return job->id;
}

static struct cluster *load(const struct fixture *f, const struct archive_query *query)
{
    struct cluster *loaded = new_cluster();
    struct edl_error error = { 0 };

    if (store_load_archived(f->store, query, loaded, start, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(loaded, start);
    if (cluster_check(loaded, &error) < 0)
        fail_msg("%s", error.text);
    return loaded;
}

/* All that is told of it. */
static char *told(const struct job *job)
{
    json_t *all = json_array();
    const struct process *process;
    char *text;

    (void)json_array_append_new(all, job_to_json(job, "any", true));
    (void)json_array_append_new(all, job_tasks_to_json(job));
    DL_FOREACH2(job->processes, process, job_next)
    (void)json_array_append_new(all, process_to_json(process));
    text = json_dumps(all, JSON_SORT_KEYS);
    json_decref(all);
    return text;
}

TEST_EACH(set_up, tear_down);

TEST(test_an_archived_job_is_whole)
{
    const struct instant later = { .now_us = start.now_us + 60 * USEC_PER_SEC,
                                   .wall_us = start.wall_us + 60 * USEC_PER_SEC };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    _cleanup_free_ char *before = NULL, *after = NULL, *listed = NULL;
    struct cluster *loaded;

    (void)start_data(f, 20);
    assert_int_equal(cluster_kill_job(f->cluster, the_job(f), "enough", start, &error), 0);
    cluster_tick(f->cluster, later); /* its node is lost, and with it what is stopping */
    cluster_plan(f->cluster, later);
    assert_int_equal(the_job(f)->state, JOB_KILLED);
    commit(f);
    before = told(the_job(f));
    (void)add_ended(f, "newer", "", "me", 0);
    archive(f, 1);
    restart(f);
    assert_null(cluster_job(f->cluster, 1));
    assert_non_null(cluster_job(f->cluster, 2));
    loaded = load(f, &(struct archive_query){ .id = 1 });
    after = told(cluster_job(loaded, 1));
    assert_string_equal(before, after);
    assert_int_equal(HASH_CNT(hh, loaded->jobs), 1);
    (void)cluster_free(loaded);
    loaded = load(f, &(struct archive_query){ .ids = (const uint64_t[]){ 1, 7 }, .n_ids = 2 });
    assert_null(cluster_job(loaded, 1)->processes); /* a page is without */
    assert_non_null(cluster_job(loaded, 1)->queue);
    (void)cluster_free(loaded);
    loaded = load(f, &(struct archive_query){ .id = 2 }); /* the core has it */
    assert_int_equal(HASH_CNT(hh, loaded->jobs), 0);
    (void)cluster_free(loaded);
}

static int find(struct fixture *f, const char *name, struct archived_job *ret)
{
    struct edl_error error = { 0 };
    int r = store_find_archived(f->store, "me", name, ret, &error);

    if (r < 0)
        fail_msg("%s", error.text);
    return r;
}

TEST(test_it_is_found)
{
    struct fixture *f = *state;
    struct archived_job found;
    struct edl_error error = { 0 };

    for (int i = 0; i < 3; i++)
        (void)add_ended(f, "many-1", i == 1 ? "many" : "", "me", 0);
    assert_int_equal(find(f, "many-1", &found), 0);
    assert_int_equal(store_has_archived_array(f->store, "me", "many", &error), 0);
    archive(f, 1);
    archive(f, 2);
    assert_int_equal(find(f, "many-1", &found), 1);
    assert_int_equal(found.id, 2);
    assert_string_equal(found.named, "many-1");
    assert_int_equal(find(f, "1", &found), 1);
    assert_int_equal(found.id, 1);
    assert_string_equal(found.name, "many-1");
    assert_int_equal(found.state, JOB_KILLED);
    assert_int_equal(find(f, "3", &found), 0);
    assert_int_equal(find(f, "9999999999999999999", &found), 0);
    assert_int_equal(find(f, "many-", &found), 0);
    assert_int_equal(store_has_archived_array(f->store, "me", "many", &error), 1);
    assert_int_equal(store_has_archived_array(f->store, "me", "many-1", &error), 0);
}

/* Two users have jobs of the same names, and an array each. */
TEST(test_names_are_of_users)
{
    static const char *const users[] = { "me", "you", "you", "me" };
    struct fixture *f = *state;
    struct archived_array array = { .named = "you/many" };
    struct archived_job found;
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(users); i++)
        (void)add_ended(f, i < 2 ? "both-1" : "many-1", i < 2 ? "" : "many", users[i], 0);
    (void)add_ended(f, "yours", "", "you", 0);
    for (uint64_t id = 1; id <= 5; id++)
        archive(f, id);
    assert_int_equal(find(f, "both-1", &found), 1);
    assert_int_equal(found.id, 1);
    assert_int_equal(find(f, "you/both-1", &found), 1);
    assert_int_equal(found.id, 2);
    assert_int_equal(find(f, "yours", &found), 0);
    assert_int_equal(store_only_archived(f->store, "yours", &found, &error), 1);
    assert_int_equal(found.id, 5);
    assert_int_equal(store_only_archived(f->store, "nobodys", &found, &error), 0);
    assert_int_equal(store_only_archived(f->store, "both-1", &found, &error), -ENOTUNIQ);
    assert_non_null(strstr(error.text, "me and you among them"));
    assert_string_equal(error.remedy, "say whose it is: me/both-1");
    assert_int_equal(store_find_archived_array(f->store, "me", "many", &array.place, &error), 1);
    assert_int_equal(array.place.id, 4);
    assert_int_equal(store_find_archived_array(f->store, "me", "you/many", &array.place, &error),
                     1);
    assert_int_equal(array.place.id, 3);
    assert_int_equal(store_archived_of_array(f->store, &array, &error), 0);
    assert_int_equal(array.first, 3);
    assert_int_equal(array.n, 1);
    assert_int_equal(store_has_archived_array(f->store, "he", "many", &error), 0);
}

static struct archived_array of_array(struct fixture *f, const char *name)
{
    struct archived_array array = { .named = name };
    struct edl_error error = { 0 };

    assert_int_equal(store_find_archived_array(f->store, "me", name, &array.place, &error), 1);
    if (store_archived_of_array(f->store, &array, &error) < 0)
        fail_msg("%s", error.text);
    return array;
}

/* Of the newest array of that name, whatever is around it. */
TEST(test_an_array_is_found)
{
    static const struct {
        const char *name, *array;
    } jobs[] = { { "many-4", "many" }, { "many-7", "many" }, { "other", "" },
                 { "many-9", "many" }, { "many-3", "many" }, { "few-1", "few" } };
    struct fixture *f = *state;
    struct archived_array array;
    struct edl_error error = { 0 };

    assert_int_equal(store_find_archived_array(f->store, "me", "many", &array.place, &error), 0);
    for (size_t i = 0; i < ELEMENTS(jobs); i++)
        (void)add_ended(f, jobs[i].name, jobs[i].array, "me", 0);
    for (uint64_t id = 1; id <= 4; id++)
        archive(f, id);
    array = of_array(f, "many");
    assert_int_equal(array.place.id, 4);
    assert_int_equal(array.place.index, 9);
    assert_int_equal(array.place.n, 100);
    assert_int_equal(array.n, 2); /* 2 and 4; 1 was submitted with others, 5 too and is not here */
    assert_int_equal(array.first, 2);
    assert_int_equal(array.failed.id, 2);
    assert_string_equal(array.failed.name, "many-7");
    assert_int_equal(array.failed.state, JOB_KILLED);
    archive(f, 5);
    array = of_array(f, "many");
    assert_int_equal(array.place.id, 5);
    assert_int_equal(array.n, 1); /* its index shows that it was submitted with others */
    assert_int_equal(store_find_archived_array(f->store, "me", "few", &array.place, &error), 0);
}

#define ALL_STATES (~0U)

/* Those that a walk finds, in their order; rows: that it may look at. */
static void assert_walk(const struct fixture *f, struct archive_walk walk, const char *wanted)
{
    struct archive_row row;
    struct edl_error error = { 0 };
    char ids[64] = "";
    int r;

    while ((r = store_walk_archived(f->store, &walk, &row, &error)) == 1)
        (void)snprintf(ids + strlen(ids), sizeof ids - strlen(ids), " %llu",
                       (unsigned long long)row.id);
    if (r < 0)
        fail_msg("%s", error.text);
    assert_string_equal(ids, wanted);
}

static void assert_all(const struct fixture *f, const char *wanted)
{
    assert_walk(f,
                (struct archive_walk){ .rows = 999,
                                       .match = &(struct job_match){ .states = ALL_STATES } },
                wanted);
}

TEST(test_walks)
{
    static const struct job_match all = { .states = ALL_STATES },
                                  threes = { .states = ALL_STATES, .array = "threes" },
                                  fours = { .states = ALL_STATES, .array = "fours" },
                                  ones = { .states = ALL_STATES, .name = "NES-" },
                                  hers = { .states = ALL_STATES, .user = "ann" },
                                  failed = { .states = 1U << JOB_FAILED },
                                  killed = { .states = 1U << JOB_KILLED, .user = "me" };
    static const struct {
        struct archive_walk walk;
        const char *wanted;
    } walks[] = {
        { { .match = &all, .rows = 3 }, " 1 2 3" },
        { { .match = &all, .rows = 3, .at = 4 }, " 6 7 8" },
        { { .match = &all, .rows = 9, .at = UINT64_MAX }, "" },
        { { .match = &all, .rows = 3, .newest = true, .at = UINT64_MAX }, " 9 8 7" },
        { { .match = &all, .rows = 9, .newest = true, .at = 6 }, " 4 3 2 1" },
        { { .match = &threes, .rows = 2 }, " 3 6" },
        { { .match = &threes, .rows = 2, .at = 6 }, " 9" },
        { { .match = &threes, .rows = 9, .newest = true, .at = 9 }, " 6 3" },
        { { .match = &fours, .rows = 2 }, "" },
        { { .match = &ones, .rows = 99 }, " 1 4 7" },
        { { .match = &ones, .rows = 4 }, " 1 4" }, /* of four, two fit */
        { { .match = &hers, .rows = 99 }, "" },
        { { .match = &failed, .rows = 99 }, "" },
        { { .match = &killed, .rows = 99, .at = 7 }, " 8 9" },
    };
    struct archive_walk walk = { .match = &threes, .newest = true, .at = UINT64_MAX, .rows = 1 };
    struct archive_row row;
    struct fixture *f = *state;
    char name[16];

    for (uint64_t id = 1; id <= 9; id++) {
        const char *array = id % 3 == 0 ? "threes" : id % 3 == 1 ? "ones" : "";

        (void)snprintf(name, sizeof name, "%s-%d", *array != '\0' ? array : "job", (int)id);
        (void)add_ended(f, name, array, "me", 0);
        if (id != 5)
            archive(f, id);
    }
    assert_all(f, " 1 2 3 4 6 7 8 9");
    for (size_t i = 0; i < ELEMENTS(walks); i++)
        assert_walk(f, walks[i].walk, walks[i].wanted);
    assert_int_equal(store_walk_archived(f->store, &walk, &row, NULL), 1);
    assert_int_equal(row.id, 9);
    assert_string_equal(row.name, "threes-9");
    assert_string_equal(row.array, "threes");
    assert_int_equal(row.index, 9);
    assert_int_equal(row.n, 100);
    assert_int_equal(walk.at, 9);
    assert_int_equal(store_walk_archived(f->store, &walk, &row, NULL), 0); /* no rows are left */
    assert_int_equal(walk.at, 9);
    assert_int_equal(walk.rows, 0);
}

static void add_sum(const struct archived_usage *row, void *userdata)
{
    char *text = userdata;

    (void)snprintf(text + strlen(text), 256 - strlen(text), "%s: %d jobs, idle %d, wasted %d; ",
                   row->user, (int)row->n_jobs, (int)row->usage->kinds[USAGE_IDLE].cpu_millicore_ms,
                   (int)row->usage->kinds[USAGE_WASTED].gpu_ms);
}

TEST(test_what_they_were_granted_is_summed_up)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t counts[FIGURE_JOB_STATES];
    char sums[256] = "", of_ann[256] = "";

    (void)add_ended(f, "a", "", "ann", 1000);
    (void)add_ended(f, "b", "", "ben", 200);
    (void)add_ended(f, "c", "", "ann", 34);
    (void)add_ended(f, "d", "", "ann", 5);
    archive(f, 1);
    archive(f, 2);
    archive(f, 3);
    archive(f, 3); /* twice is once */
    restart(f);
    assert_int_equal(store_archived_usage(f->store, NULL, add_sum, sums, &error), 0);
    assert_string_equal(sums,
                        "ann: 2 jobs, idle 1034, wasted 4; ben: 1 jobs, idle 200, wasted 2; ");
    assert_int_equal(store_archived_usage(f->store, "ann", add_sum, of_ann, &error), 0);
    assert_string_equal(of_ann, "ann: 2 jobs, idle 1034, wasted 4; ");
    store_archived_counts(f->store, counts);
    assert_int_equal(counts[JOB_KILLED], 3);
    assert_int_equal(counts[JOB_SUCCEEDED], 0);
}

static void turn(struct fixture *f, uint64_t n_ended, uint64_t wall_us)
{
    struct effect event = { .kind = EFFECT_EVENT, .event = "test", .wall_us = start.wall_us };
    struct edl_error error = { 0 };

    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .effects = &event,
                                                          .n_effects = 1,
                                                          .n_ended = n_ended,
                                                          .wall_us = wall_us },
                                  &error),
                     0);
}

/* The first to end go first; those of the core count, and accounts are for longer. */
TEST(test_they_are_bounded_by_number)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t counts[FIGURE_JOB_STATES];
    char sums[256] = "";

    for (uint64_t id = 1; id <= 9; id++) {
        (void)add_ended(f, "job", "", "ann", 10);
        archive(f, id);
    }
    run_sql(f, "UPDATE job SET ended_wall_us = 100 - id");
    turn(f, 3, 0);
    assert_all(f, " 1 2 3 4 5 6 7 8 9"); /* no bound */
    store_keep(f->store, &(struct store_history){ .jobs = 7 });
    turn(f, 3, 0);
    assert_all(f, " 1 2 3 4");
    turn(f, 3, 0);
    turn(f, 2, 0);
    assert_all(f, " 1 2 3 4");
    store_archived_counts(f->store, counts);
    assert_int_equal(counts[JOB_KILLED], 4);
    assert_int_equal(store_archived_usage(f->store, NULL, add_sum, sums, &error), 0);
    assert_string_equal(sums, "ann: 9 jobs, idle 90, wasted 18; ");
    turn(f, 99, 0);
    assert_int_equal(store_archived_total(f->store), 0);
}

TEST(test_they_are_bounded_by_age)
{
    struct fixture *f = *state;

    for (uint64_t id = 1; id <= 3; id++) {
        (void)add_ended(f, "job", "", "ann", 10);
        archive(f, id);
    }
    run_sql(f, "UPDATE job SET ended_wall_us = 100 * id");
    store_keep(f->store, &(struct store_history){ .us = 1000 });
    turn(f, 0, 1100);
    assert_all(f, " 1 2 3");
    turn(f, 0, 1201);
    assert_all(f, " 3");
}

/* Of the jobs that are over, by user. */
static uint64_t count_of(struct fixture *f, const char *user)
{
    const struct job_match match = { .states = ALL_STATES, .user = user };
    struct archive_walk walk = { .match = &match, .rows = 9999 };
    struct archive_row row;
    uint64_t n = 0;

    while (store_walk_archived(f->store, &walk, &row, NULL) == 1)
        n++;
    return n;
}

/* Whoever has the most loses his oldest, however new they are. */
TEST(test_nobody_pushes_out_jobs_of_others)
{
    struct fixture *f = *state;

    store_keep(f->store, &(struct store_history){ .jobs = 20 });
    for (unsigned i = 0; i < 60; i++) {
        const char *user = i < 4 ? "ann" : i < 8 ? "ben" : "eve";

        archive(f, add_ended(f, "job", "", user, 0));
    }
    assert_int_equal(count_of(f, "ann"), 4);
    assert_int_equal(count_of(f, "ben"), 4);
    assert_int_equal(count_of(f, "eve"), 12);
    for (unsigned i = 0; i < 60; i++) /* with an account more it has no more of hers */
        archive(f, add_ended(f, "job", "", "eve2", 0));
    assert_int_equal(count_of(f, "ann"), 4);
    assert_int_equal(count_of(f, "ben"), 4);
    assert_in_range(count_of(f, "eve2"), 5, 7);
}

static uint64_t add_long(struct fixture *f, const char *user, size_t bytes)
{
    struct job_spec *spec = parse_job(job_text);
    struct edl_error error = { 0 };
    struct job *job;

    free(spec->roles[0].argv[0]);
    spec->roles[0].argv[0] = xcalloc(bytes + 1, 1);
    memset(spec->roles[0].argv[0], 'x', bytes);
    assert_int_equal(cluster_submit(f->cluster, spec, user, start, &job, &error), 0);
    assert_int_equal(cluster_kill_job(f->cluster, job, "", start, &error), 0);
    commit(f);
    archive(f, job->id);
    return job->id;
}

TEST(test_they_are_bounded_by_bytes)
{
    struct fixture *f = *state;

    store_keep(f->store, &(struct store_history){ .job_bytes = 300000 });
    for (unsigned i = 0; i < 10; i++)
        archive(f, add_ended(f, "job", "", "ann", 0));
    for (unsigned i = 0; i < 20; i++) {
        (void)add_long(f, "eve", 50000 + i);
        assert_in_range(store_archived_bytes(f->store), 1, 300000);
    }
    assert_int_equal(count_of(f, "ann"), 10);
    assert_int_equal(count_of(f, "eve"), 5);
    restart(f);
    assert_in_range(store_archived_bytes(f->store), 250000, 300000);
}

/* Jobs that differ by name and place in an array have one; what is told of them differs. */
TEST(test_documents_are_shared)
{
    struct fixture *f = *state;
    struct cluster *loaded;
    char name[16];

    for (uint64_t id = 1; id <= 40; id++) {
        (void)snprintf(name, sizeof name, "many-%d", (int)id);
        (void)add_ended(f, name, "many", id <= 30 ? "ann" : "ben", 0);
        archive(f, id);
    }
    assert_int_equal(number_of_sql(f, "SELECT count(*) FROM document"), 2);
    assert_int_equal(number_of_sql(f, "SELECT jobs FROM document WHERE \"user\" = 'ann'"), 30);
    assert_int_equal(number_of_sql(f, "SELECT sum(length(spec)) FROM job WHERE archived = 1"), 0);
    assert_int_equal(store_archived_bytes(f->store),
                     number_of_sql(f, "SELECT sum(kept_bytes) + (SELECT sum(bytes) FROM document)"
                                      " FROM job WHERE archived = 1"));
    restart(f);
    loaded = load(f, &(struct archive_query){ .id = 17 });
    assert_string_equal(cluster_job(loaded, 17)->spec->name, "many-17");
    assert_string_equal(cluster_job(loaded, 17)->spec->array.name, "many");
    assert_int_equal(cluster_job(loaded, 17)->spec->array.first, 17);
    assert_int_equal(cluster_job(loaded, 17)->spec->array.n, 100);
    (void)cluster_free(loaded);
    store_keep(f->store, &(struct store_history){ .jobs = 2 });
    turn(f, 0, 0);
    assert_int_equal(number_of_sql(f, "SELECT sum(jobs) FROM document"), 2);
    store_keep(f->store, &(struct store_history){ .us = 1 });
    turn(f, 0, start.wall_us * 2);
    assert_int_equal(number_of_sql(f, "SELECT count(*) FROM document"), 0);
    assert_int_equal(store_archived_bytes(f->store), 0);
    assert_int_equal(number_of_sql(f, "SELECT count(*) FROM archived_share"), 1); /* of all */
}

/* A bound that was lowered, or many that were archived: commits without records go on. */
TEST(test_commits_go_on_until_nothing_is_left)
{
    static const struct turn_records nothing;
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    unsigned turns = 0;

    for (uint64_t id = 1; id <= 1000; id++)
        archive(f, add_ended(f, "job", "", "ann", 0));
    assert_false(store_has_rest(f->store));
    store_keep(f->store, &(struct store_history){ .jobs = 7 });
    turn(f, 0, 0);
    assert_in_range(store_archived_total(f->store), 800, 900); /* a turn takes milliseconds */
    while (store_has_rest(f->store) && ++turns < 100)
        assert_int_equal(store_commit(f->store, &nothing, &error), 0);
    assert_in_range(turns, 2, 20);
    assert_int_equal(store_archived_total(f->store), 7);
    store_keep(f->store, &(struct store_history){ 0 });
    restart(f);
    assert_int_equal(count_of(f, "ann"), 7);
}
