/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_families.c - what is learnt of families of jobs is there again after a restart */
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/speed/family.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define UNIT_S (1.0 / 3)
#define LONGEST_S 0.1 /* no number that a text of few digits has */

static struct cluster *learning_cluster(void)
{
    const struct cluster_config config = {
        .policy = &policy_goodput,
        .max_load_permille = 1000,
        .lease_us = 20 * USEC_PER_SEC,
        .lease_margin_us = USEC_PER_SEC,
    };

    return cluster_new(&config);
}

/* Two have ended, and one size was measured. */
static void know(struct goodput_families *families, const char *name)
{
    struct goodput_prior *prior = goodput_family_prior(families, name);

    goodput_family_ended(families, name, LONGEST_S);
    goodput_family_ended(families, name, LONGEST_S / 3);
    prior->largest = 4;
    prior->unit_s = UNIT_S;
    prior->resize_s = 7.5;
    prior->program = 0xfedcba9876543210;
    prior->tries = 2;
    goodput_pserver_init(&prior->fit, 1, false);
    (void)goodput_pserver_add(&prior->fit, &(struct goodput_pserver_report){ 4, 1, UNIT_S });
}

/* The job of the fixture, in a cluster that learns; its family is known and committed */
static struct job *learn(struct fixture *f)
{
    struct job *job;

    (void)cluster_free(f->cluster);
    f->cluster = learning_cluster();
    job = run_job(f->cluster);
    assert_non_null(job->learned);
    know(f->cluster->families, job->learned->family);
    effect_save_family(f->cluster, job);
    commit(f);
    return job;
}

static int load_again(struct fixture *f, struct cluster *take_cluster, struct edl_error *error)
{
    int r;

    f->cluster = cluster_free(f->cluster);
    f->store = store_free(f->store);
    if (open_store(f, &f->store, error) < 0)
        fail_msg("%s", error->text);
    f->cluster = take_cluster;
    r = store_load(f->store, f->cluster, start, error);
    if (r == 0)
        cluster_restored(f->cluster, start);
    return r;
}

TEST_EACH(set_up, tear_down);

TEST(test_restart_brings_families_back)
{
    struct fixture *f = *state;
    struct job *job = learn(f);
    struct goodput_family_facts family;
    struct goodput_families *before = goodput_families_copy(f->cluster->families);
    struct goodput_family_facts old;
    struct edl_error error = { 0 };
    char name[JOB_FAMILY_SIZE];

    memcpy(name, job->learned->family, sizeof name);
    assert_true(goodput_family_get(before, name, &old));
    if (load_again(f, learning_cluster(), &error) < 0)
        fail_msg("%s", error.text);
    assert_true(goodput_family_get(f->cluster->families, name, &family));
    assert_int_equal(family.n_ended, 2);
    assert_true(family.ended[0] == LONGEST_S / 3 && family.ended[1] == LONGEST_S);
    assert_int_equal(family.n_begun, old.n_begun);
    assert_int_equal(family.prior.largest, 4);
    assert_true(family.prior.unit_s == UNIT_S && family.prior.resize_s == 7.5);
    assert_true(family.prior.program == 0xfedcba9876543210);
    assert_int_equal(family.prior.tries, 2);
    assert_memory_equal(family.prior.fit.gram, old.prior.fit.gram, sizeof old.prior.fit.gram);
    assert_memory_equal(family.prior.fit.moment, old.prior.fit.moment, sizeof old.prior.fit.moment);
    assert_null(goodput_families_free(before));
}

/* It is not asked for them, and they are there when it learns again. */
TEST(test_policy_that_does_not_learn_leaves_them)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    (void)learn(f);
    restart(f);
    assert_null(f->cluster->families);
    commit(f);
    if (load_again(f, learning_cluster(), &error) < 0)
        fail_msg("%s", error.text);
    (void)cluster_report(f->cluster, cluster_node(f->cluster, "n1"),
                         &(struct node_report){ .boot_id = "boot" }, start, &error);
    fact_of_job(f->cluster, FACT_JOB_BEGUN, the_job(f), start);
    learn_take(f->cluster);
    assert_int_equal(the_job(f)->learned->told.largest, 4);
}

/* The job's family, and its speeds and seconds with the number of servers that it was given; the
 * names of the three */
static void learn_of_servers(struct fixture *f, char names[3][JOB_FAMILY_SIZE])
{
    struct job *job = learn(f);

    job->servers_min = 1;
    job->servers_max = 3;
    job->spec->roles[0].min = job->spec->roles[0].max = 1;
    memcpy(names[0], job->learned->family, JOB_FAMILY_SIZE);
    job_curve_name(job, 1, names[1]);
    job_program_name(job, 1, names[2]);
    memcpy(job->learned->curve, names[1], JOB_FAMILY_SIZE);
    memcpy(job->learned->program, names[2], JOB_FAMILY_SIZE);
    know(f->cluster->families, names[1]);
    know(f->cluster->families, names[2]);
    effect_save_spec(f->cluster, job);
    effect_save_family(f->cluster, job);
    commit(f);
}

/* Where a number of servers was chosen, what is known with it has rows of its own, and the job the
 * bounds of before. */
TEST(test_restart_brings_numbers_of_servers_back)
{
    struct fixture *f = *state;
    char names[3][JOB_FAMILY_SIZE];
    struct goodput_family_facts family;
    struct edl_error error = { 0 };

    learn_of_servers(f, names);
    if (load_again(f, learning_cluster(), &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(the_job(f)->servers_min, 1);
    assert_int_equal(the_job(f)->servers_max, 3);
    assert_int_equal(job_servers(the_job(f)), 1);
    assert_true(goodput_family_get(f->cluster->families, names[1], &family));
    assert_int_equal(family.prior.largest, 4);
    assert_true(goodput_family_get(f->cluster->families, names[2], &family));
    assert_int_equal(family.prior.largest, 4);
}

static int64_t count_rows(const struct fixture *f)
{
    return number_of_sql(f, "SELECT count(*) FROM family");
}

/* 1,004 others of a user, noted after all that are there */
static void crowd(struct fixture *f, const char *user)
{
    char sql[600];

    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1003)"
                   "INSERT INTO family (noted, name, begun, most_s, ended_s, largest, unit_s,"
                   " resize_s, fit) SELECT (SELECT max(noted) FROM family) + 1 + i,"
                   " '%s:' || i, 1, 0, '[]', 0, 0, 10,"
                   " '[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' FROM n",
                   user);
    run_sql(f, sql);
    look_anew(f);
}

TEST(test_only_the_newest_are_kept)
{
    struct fixture *f = *state;
    struct job *job = learn(f);
    struct edl_error error = { 0 };
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];

    memcpy(name, job->learned->family, sizeof name);
    crowd(f, "me");
    effect_save_family(f->cluster, job); /* the newest again */
    commit(f);
    assert_int_equal(count_rows(f), CLUSTER_FAMILIES_MAX);
    if (load_again(f, learning_cluster(), &error) < 0)
        fail_msg("%s", error.text);
    assert_false(goodput_family_get(f->cluster->families, "me:4", &family));
    assert_true(goodput_family_get(f->cluster->families, "me:5", &family));
    assert_true(goodput_family_get(f->cluster->families, "me:1003", &family));
    assert_true(goodput_family_get(f->cluster->families, name, &family));
    goodput_family_begun(f->cluster->families, "you:1"); /* the oldest goes next */
    assert_false(goodput_family_get(f->cluster->families, "me:5", &family));
    assert_true(goodput_family_get(f->cluster->families, "me:10", &family));
}

/* Who submits a thousand different programs forgets his own, in memory as in the database. */
TEST(test_nobody_pushes_others_out)
{
    struct fixture *f = *state;
    struct job *job = learn(f);
    struct edl_error error = { 0 };
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];

    run_sql(f, "INSERT INTO family (noted, name, begun, most_s, ended_s, largest, unit_s, resize_s,"
               " fit) SELECT noted + 100, 'you:f' || begun, begun, most_s, ended_s, largest, "
               "unit_s, resize_s, fit"
               " FROM family");
    crowd(f, "me");
    memcpy(name, job->learned->family, sizeof name);
    effect_save_family(f->cluster, job);
    commit(f);
    assert_int_equal(count_rows(f), CLUSTER_FAMILIES_MAX);
    if (load_again(f, learning_cluster(), &error) < 0)
        fail_msg("%s", error.text);
    assert_true(goodput_family_get(f->cluster->families, "you:f1", &family));
    assert_true(goodput_family_get(f->cluster->families, name, &family));
    assert_false(goodput_family_get(f->cluster->families, "me:5", &family));
    assert_true(goodput_family_get(f->cluster->families, "me:6", &family));
    goodput_family_begun(f->cluster->families, "me:new");
    assert_true(goodput_family_get(f->cluster->families, "you:f1", &family));
    assert_false(goodput_family_get(f->cluster->families, "me:6", &family));
}

/* It costs time to learn it again; a scheduler that does not start would cost more. */
TEST_PLAIN(test_damaged_row_is_forgotten)
{
    static const char *const damages[] = {
        "UPDATE family SET ended_s = '[2, 1]'",
        "UPDATE family SET ended_s = '[-1]'",
        "UPDATE family SET ended_s = '[\"x\"]'",
        "UPDATE family SET ended_s = 'x'",
        "UPDATE family SET fit = '[]'",
        "UPDATE family SET fit = '[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]'",
        "UPDATE family SET unit_s = 9e999",
        "UPDATE family SET unit_s = 1e-300",
        "UPDATE family SET unit_s = 0",
        "UPDATE family SET largest = -1",
        "UPDATE family SET most_s = -1",
        "UPDATE family SET program = 'x'",
        "UPDATE family SET program = '0000000000000000'",
        "UPDATE family SET program = 'fedcba987654321'",
        "UPDATE family SET program = 'fedcba98765432100'",
        "UPDATE family SET program = 'FEDCBA9876543210'",
        "UPDATE family SET program = '-000000000000001'",
        "UPDATE family SET tries = -1",
        "UPDATE family SET tries = 4294967296",
        "UPDATE family SET begun = begun", /* that is none */
    };

    for (size_t i = 0; i < ELEMENTS(damages); i++) {
        struct goodput_family_facts family;
        struct edl_error error = { 0 };
        char name[JOB_FAMILY_SIZE];
        void *own = NULL;
        struct fixture *f;

        assert_int_equal(set_up(&own), 0);
        f = own;
        memcpy(name, learn(f)->learned->family, sizeof name);
        run_sql(f, f->url[0] != '\0' && strstr(damages[i], "9e999") != NULL
                       ? "UPDATE family SET unit_s = 'Infinity'"
                       : damages[i]);
        if (load_again(f, learning_cluster(), &error) < 0)
            fail_msg("%s", error.text);
        if (goodput_family_get(f->cluster->families, name, &family) != (i + 1 == ELEMENTS(damages)))
            fail_msg("after %s the family is%s known", damages[i],
                     i + 1 == ELEMENTS(damages) ? " not" : "");
        assert_int_equal(tear_down(&own), 0);
    }
}

/* Whose seconds a number of servers is known by, or how often it was tried, is damaged in one row:
 * the others are there, the job goes on, and what is learnt from now on is kept in its place. */
TEST_PLAIN(test_damaged_row_leaves_the_others)
{
    static const char *const damages[] = { "program = 'fedcba98765432'", "program = '0'",
                                           "tries = -1", "tries = 99999999999" };

    for (size_t i = 0; i < 3 * ELEMENTS(damages); i++) {
        char names[3][JOB_FAMILY_SIZE];
        struct goodput_family_facts family;
        struct edl_error error = { 0 };
        char sql[200];
        void *own = NULL;
        struct fixture *f;

        assert_int_equal(set_up(&own), 0);
        f = own;
        learn_of_servers(f, names);
        (void)snprintf(sql, sizeof sql, "UPDATE family SET %s WHERE name = '%s'", damages[i / 3],
                       names[i % 3]);
        run_sql(f, sql);
        if (load_again(f, learning_cluster(), &error) < 0)
            fail_msg("%s", error.text);
        assert_int_equal(job_servers(the_job(f)), 1);
        for (size_t k = 0; k < 3; k++)
            if (goodput_family_get(f->cluster->families, names[k], &family) == (k == i % 3))
                fail_msg("after %s row %zu is%s known", sql, k, k == i % 3 ? "" : " not");
        know(f->cluster->families, names[i % 3]);
        (void)cluster_report(f->cluster, cluster_node(f->cluster, "n1"),
                             &(struct node_report){ .boot_id = "boot" }, start, &error);
        fact_of_job(f->cluster, FACT_JOB_BEGUN, the_job(f), start);
        learn_take(f->cluster);
        effect_save_family(f->cluster, the_job(f));
        commit(f);
        if (load_again(f, learning_cluster(), &error) < 0)
            fail_msg("%s", error.text);
        assert_true(goodput_family_get(f->cluster->families, names[i % 3], &family));
        assert_true(family.prior.program == 0xfedcba9876543210 && family.prior.tries == 2);
        assert_int_equal(tear_down(&own), 0);
    }
}
