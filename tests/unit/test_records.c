/* SPDX-License-Identifier: Apache-2.0 */
/* test_records.c - the committed state is there, in memory and in SQLite, and a copy of a cluster
 * plans as the original does
 *
 * Random histories: after every plan the turn is committed, everything is loaded into a fresh
 * cluster and compared. EDL_SEED and EDL_EVENTS choose the run; the seed is printed. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/record_storm.h"
#include "tests/unit/test.h"

#define EVENTS 4000
#define SQLITE_EVENTS 1500

TEST(test_random_history_is_what_was_committed)
{
    struct world *w = storm_new();

    storm(w, storm_number("EDL_EVENTS", EVENTS));
    print_message("%" PRIu64 " commits, %u jobs\n", w->n_commits, HASH_CNT(hh, w->cluster->jobs));
    assert_int_equal(memory_store_commits(w->store), w->n_commits);
    world_free(w);
}

/* --- the same through a file --- */

struct file {
    char path[64];
    struct store *store;
};

static void remove_file(const struct file *file)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };

    for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
        char path[80];

        (void)snprintf(path, sizeof path, "%s%s", file->path, suffixes[i]);
        (void)unlink(path);
    }
}

static void open_file(struct file *file)
{
    struct edl_error error = { 0 };

    if (store_open(file->path, &file->store, &error) < 0)
        fail_msg("%s", error.text);
}

static void commit_to_file(void *userdata, const struct effect *effects, size_t n)
{
    const struct file *file = userdata;
    struct edl_error error = { 0 };

    if (store_commit(file->store, &(struct turn_records){ .effects = effects, .n_effects = n },
                     &error) < 0)
        fail_msg("%s", error.text);
}

/* As a new scheduler does it. */
static int load_from_file(void *userdata, struct cluster *cluster, struct instant now,
                          struct edl_error *error)
{
    struct file *file = userdata;

    file->store = store_free(file->store);
    open_file(file);
    return store_load(file->store, cluster, now, error);
}

/* What the world did so far (its nodes joined) goes to the file as well. */
static void use_file(struct world *w, struct file *file)
{
    struct cluster *copy = cluster_clone(w->cluster, w->now);
    struct node *node;

    *file = (struct file){ 0 };
    (void)snprintf(file->path, sizeof file->path, "/tmp/edl-test-records-%d.db", (int)getpid());
    remove_file(file);
    open_file(file);
    for (node = copy->nodes; node != NULL; node = node->hh.next)
        commit_to_file(file, &(struct effect){ .kind = EFFECT_SAVE_NODE, .node = node }, 1);
    (void)cluster_free(copy);
    w->disk = (struct world_disk){ commit_to_file, load_from_file, file };
}

TEST(test_random_history_through_sqlite)
{
    struct world *w = storm_new();
    struct file file;

    w->replay_every = 10;
    use_file(w, &file);
    storm(w, storm_number("EDL_EVENTS", SQLITE_EVENTS));
    (void)store_free(file.store);
    remove_file(&file);
    world_free(w);
}

/* --- crashes --- */

static void assert_same(const struct cluster *a, const struct cluster *b)
{
    struct edl_error error = { 0 };

    if (cluster_compare(a, b, &error) < 0 || cluster_compare(b, a, &error) < 0)
        fail_msg("%s", error.text);
}

/* A turn that is planned and not committed. */
static void uncommitted_turn(struct world *w)
{
    struct job_spec *spec = storm_spec(w);
    struct job *job;

    (void)snprintf(spec->name, sizeof spec->name, "extra");
    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, &job, NULL), 0);
    cluster_plan(w->cluster, w->now);
}

TEST(test_crash_before_the_commit_leaves_the_former_state)
{
    struct world *w = storm_new();
    struct edl_error error = { 0 };
    struct cluster *former;
    struct cluster *loaded;

    storm(w, 300);
    for (int i = 0; i < 20; i++) {
        struct job *job = cluster_find_job(w->cluster, "job-0");

        if (job != NULL && !job_state_is_final(job->state))
            assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
        storm(w, 20);
        former = cluster_clone(w->cluster, w->now);
        for (int n = 0; n < 15; n++)
            storm_work(w);
        storm_exit(w);
        cluster_tick(w->cluster, w->now);
        cluster_plan(w->cluster, w->now);
        loaded = world_load(w);
        (void)cluster_free(w->cluster);
        w->cluster = loaded;
        assert_same(former, w->cluster);
        assert_int_equal(cluster_check(w->cluster, &error), 0);
        (void)cluster_free(former);
        world_plan(w);
    }
    world_free(w);
}

/* The kernel ends the process in the middle of writing the commit. */
static void commit_and_die(const struct world *w, const char *path, rlim_t bytes)
{
    const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = bytes };
    struct store *store = NULL;
    const struct effect *effects;
    size_t n;

    (void)signal(SIGXFSZ, SIG_DFL);
    if (store_open(path, &store, NULL) < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        _exit(2);
    effects = cluster_effects(w->cluster, &n);
    _exit(store_commit(store, &(struct turn_records){ .effects = effects, .n_effects = n }, NULL) <
                  0
              ? 3
              : 0);
}

TEST(test_kill_in_the_middle_of_a_commit_leaves_the_former_state)
{
    struct world *w = storm_new();
    struct cluster *former;
    struct cluster *loaded;
    struct file file;
    int status;

    use_file(w, &file);
    w->replay_every = 50;
    storm(w, 100);
    former = cluster_clone(w->cluster, w->now);
    uncommitted_turn(w);
    for (rlim_t bytes = 4096; bytes <= 16384; bytes += 4096) {
        pid_t pid;

        file.store = store_free(file.store);
        pid = fork();
        if (pid == 0)
            commit_and_die(w, file.path, bytes);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
        open_file(&file);
        loaded = world_load(w);
        assert_same(former, loaded);
        (void)cluster_free(loaded);
    }
    world_commit(w); /* and with room it goes through */
    loaded = world_load(w);
    assert_same(w->cluster, loaded);
    (void)cluster_free(loaded);
    (void)cluster_free(former);
    (void)store_free(file.store);
    remove_file(&file);
    world_free(w);
}

/* --- a store that loses something is found out --- */

struct lossy {
    struct memory_store *store;
    enum effect_kind loses; /* the first of a kind in a commit, while it is armed */
    bool armed, lost;
};

static void commit_lossy(void *userdata, const struct effect *effects, size_t n)
{
    struct lossy *lossy = userdata;
    struct effect *kept = xcalloc(n, sizeof *kept);
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++)
        if (lossy->armed && !lossy->lost && effects[i].kind == lossy->loses)
            lossy->lost = true;
        else
            kept[n_kept++] = effects[i];
    memory_store_commit(lossy->store, kept, n_kept);
    free(kept);
}

static int load_lossy(void *userdata, struct cluster *cluster, struct instant now,
                      struct edl_error *error)
{
    const struct lossy *lossy = userdata;

    return memory_store_load(lossy->store, cluster, now, error);
}

/* One of each kind changes what is remembered. */
static void change(struct world *w, enum effect_kind kind)
{
    struct job *job = cluster_find_job(w->cluster, "one");
    struct process *process = world_live(job, "trainer", 0);
    enum rendezvous_result agreed;
    enum task_lease_result result;
    struct task *task;
    bool save;

    switch (kind) {
    case EFFECT_SAVE_JOB:
        assert_int_equal(cluster_kill_job(w->cluster, job, "", w->now, NULL), 0);
        break;
    case EFFECT_SAVE_SPEC:
        assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 3, w->now, NULL), 0);
        break;
    case EFFECT_SAVE_PROCESS:
        world_exit(w, process, 1, 0);
        world_run(w, 1);
        break;
    case EFFECT_SAVE_NODE:
        assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-1"),
                                                NODE_CORDONED, w->now, NULL),
                         0);
        break;
    case EFFECT_SAVE_TASKS:
        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &save, NULL),
                         0);
        break;
    case EFFECT_SAVE_DATASET:
        job = cluster_find_job(w->cluster, "two");
        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "d", w->now, NULL),
                         0);
        break;
    case EFFECT_SAVE_RENDEZVOUS:
        for (uint32_t i = 0; i < job_count(job, 0, false); i++)
            assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", i), 0, NULL,
                                            w->now, &agreed, NULL),
                             0);
        assert_int_equal(agreed, RENDEZVOUS_AGREED);
        break;
    case EFFECT_SAVE_AWAY:
        cluster_leave(w->cluster, 60 * USEC_PER_SEC);
        break;
    case EFFECT_FORGET_NODE:
        assert_int_equal(cluster_remove_node(w->cluster, cluster_node(w->cluster, "node-2"), w->now,
                                             NULL),
                         0);
        break;
    default:
        fail_msg("nothing to remember of it");
    }
    world_plan(w);
}

static void lose(enum effect_kind kind)
{
    struct world *w = world_new(3, 2000, GIB, 900);
    struct lossy lossy = { .store = w->store, .loses = kind };
    struct cluster *loaded = NULL;
    struct job *job;

    w->disk = (struct world_disk){ commit_lossy, load_lossy, &lossy };
    job = world_submit(w, world_spec("one", 1, 2, 1900, 0, 0));
    (void)world_submit(w, world_spec("two", 1, 1, 50, 0, 0));
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "d", w->now, NULL), 0);
    world_run(w, 3);
    loaded = world_load(w);
    assert_same(w->cluster, loaded);
    (void)cluster_free(loaded);
    lossy.armed = true;
    w->replay_every = UINT32_MAX;
    change(w, kind);
    assert_true(lossy.lost);
    loaded = cluster_new(&w->cluster->config);
    if (memory_store_load(w->store, loaded, w->now, NULL) == 0) {
        cluster_restored(loaded, w->now);
        if (cluster_compare(w->cluster, loaded, NULL) == 0)
            fail_msg("an effect of kind %d was lost and nobody noticed", (int)kind);
    }
    (void)cluster_free(loaded);
    world_free(w);
}

TEST(test_a_lost_effect_is_reported)
{
    static const enum effect_kind kinds[] = { EFFECT_SAVE_JOB,     EFFECT_SAVE_SPEC,
                                              EFFECT_SAVE_PROCESS, EFFECT_SAVE_NODE,
                                              EFFECT_SAVE_TASKS,   EFFECT_SAVE_DATASET,
                                              EFFECT_FORGET_NODE,  EFFECT_SAVE_RENDEZVOUS,
                                              EFFECT_SAVE_AWAY };

    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        lose(kinds[i]);
}

TEST(test_archived_job_is_not_loaded)
{
    struct world *w = world_new(1, 2000, GIB, 900);
    uint64_t id = world_submit(w, world_spec("one", 1, 1, 100, 0, 0))->id;
    struct cluster *loaded;

    (void)world_submit(w, world_spec("two", 1, 1, 100, 0, 0));
    world_run(w, 3);
    memory_store_commit(w->store, &(struct effect){ .kind = EFFECT_ARCHIVE_JOB, .id = id }, 1);
    loaded = world_load(w);
    assert_null(cluster_job(loaded, id));
    assert_non_null(cluster_find_job(loaded, "two"));
    (void)cluster_free(loaded);
    loaded = cluster_new(&w->cluster->config);
    assert_int_equal(memory_store_load_archived(w->store, loaded, w->now, NULL), 0);
    assert_int_equal(cluster_job(loaded, id)->processes->state, PROCESS_RUNNING);
    assert_null(cluster_find_job(loaded, "two"));
    (void)cluster_free(loaded);
    world_free(w);
}

/* --- copies --- */

/* What a restart forgets and a plan looks at. */
static void assert_same_now(const struct cluster *a, const struct cluster *b)
{
    const struct node *node;

    assert_int_equal(cluster_next_deadline_us(a), cluster_next_deadline_us(b));
    for (node = a->nodes; node != NULL; node = node->hh.next) {
        const struct node *other = cluster_node(b, node->name);
        const struct process *p = node->processes;
        const struct process *q = other->processes;

        assert_int_equal(node->n_stale, other->n_stale);
        assert_int_equal(node->foreign_cpu_millicores, other->foreign_cpu_millicores);
        if (node->state != NODE_LOST)
            assert_int_equal(node->lease_deadline_us, other->lease_deadline_us);
        for (; p != NULL && q != NULL; p = p->node_next, q = q->node_next)
            assert_true(p->job->id == q->job->id && p->incarnation == q->incarnation);
        assert_true(p == NULL && q == NULL);
    }
}

/* A copy of what is planned needs no plan, although it looks at everything afresh; and from then on
 * each goes its own way. */
static void clone_and_plan(struct world *w)
{
    struct cluster *copy;
    struct edl_error error = { 0 };
    struct job *job;
    size_t n;

    copy = cluster_clone(w->cluster, w->now); /* in the middle of a turn */
    assert_same(w->cluster, copy);
    assert_same_now(w->cluster, copy);
    (void)cluster_free(copy);
    world_plan(w);
    copy = cluster_clone(w->cluster, w->now);
    cluster_replan(copy, w->now);
    (void)cluster_effects(copy, &n);
    assert_int_equal(n, 0);
    assert_same(w->cluster, copy);
    if (cluster_check(copy, &error) < 0)
        fail_msg("%s", error.text);
    job = copy->active;
    if (job != NULL)
        assert_int_equal(cluster_kill_job(copy, job, NULL, w->now, NULL), 0);
    (void)cluster_free(copy);
    world_plan(w);
}

TEST(test_copy_plans_as_the_original)
{
    struct world *w = storm_new();

    w->replay_every = 100;
    for (int i = 0; i < 1500; i++) {
        storm_act(w);
        clone_and_plan(w);
    }
    world_free(w);
}

/* In the middle of a turn a job is not settled yet, and so is its copy. */
TEST(test_copy_decides_nothing)
{
    struct world *w = world_new(2, 1000, GIB, 900);
    struct job *job;
    struct cluster *copy;

    job = world_submit(w, world_spec("one", 2, 2, 600, 0, 0));
    w->agents[1].silent = true;
    world_run(w, 3);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 2, w->now, NULL), 0);
    assert_int_equal(job->state, JOB_STARTING);
    cluster_node(w->cluster, "node-0")->n_stale = 2;
    copy = cluster_clone(w->cluster, w->now);
    assert_same(w->cluster, copy);
    assert_same_now(w->cluster, copy);
    (void)cluster_free(copy);
    cluster_node(w->cluster, "node-0")->n_stale = 0; /* nothing else has heard of it */
    world_plan(w);
    world_free(w);
}

/* Whoever gives way does so on the node that owed first, and leaves the one that drained first. */
TEST(test_copy_takes_nodes_in_the_order_of_the_original)
{
    struct world *w = world_new(2, 2000, GIB, 1000);
    struct job *job;
    struct cluster *copy;

    job = world_submit(w, world_spec("one", 4, 4, 900, 0, 0));
    world_run(w, 3);
    for (size_t i = w->n_agents; i-- > 0;) {
        w->agents[i].foreign_cpu_millicores = 1000;
        world_turn(w, i);
    }
    copy = cluster_clone(w->cluster, w->now);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 3, 4, w->now, NULL), 0);
    assert_int_equal(cluster_scale_job(copy, cluster_job(copy, job->id), NULL, 3, 4, w->now, NULL),
                     0);
    world_plan(w);
    cluster_plan(copy, w->now);
    assert_int_equal(job_count(job, 0, false), 3);
    assert_same(w->cluster, copy);
    (void)cluster_free(copy);
    world_free(w);
}

/* --- the history of a job that restarts processes for months --- */

TEST(test_history_is_bounded)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job_spec *spec = world_spec("one", 2, 2, 100, 0, 0);
    struct job *job;
    uint32_t role;
    uint64_t first;

    w->replay_every = 16;
    spec->restart_max = 100000;
    spec->restart_backoff_us = 0;
    job = world_submit(w, spec);
    role = role_of(job, "trainer");
    world_run(w, 3);
    first = world_live(job, "trainer", 1)->incarnation;
    for (int i = 0; i < JOB_HISTORY_MAX + 50; i++) {
        world_exit(w, world_live(job, "trainer", 0), 1, 0);
        world_run(w, 1);
        for (int wait = 0; wait < 5; wait++) { /* its back-off, which is a minute at the most */
            world_advance(w, 15 * USEC_PER_SEC);
            world_run(w, 1);
        }
        world_run(w, 2);
    }
    assert_int_equal(job->n_past, JOB_HISTORY_MAX);
    assert_null(job_find_process(job, role, 0, 1));
    assert_non_null(job_find_process(job, role, 0, job->next_incarnation - 2));
    assert_int_equal(job_find_process(job, role, 1, first)->state, PROCESS_RUNNING);
    assert_int_equal(job->slots[role][0].failures, JOB_HISTORY_MAX + 50);
    world_restart(w);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job->n_past, JOB_HISTORY_MAX);
    assert_null(job_find_process(job, role, 0, 1));
    world_free(w);
}

/* --- records that cannot be --- */

TEST(test_node_that_never_reported_gets_nothing_after_a_restart)
{
    struct world *w = world_new(1, 2000, GIB, 900);
    struct node *node;

    w->agents[0].silent = true;
    assert_int_equal(cluster_join_node(w->cluster, "fresh", "a", &w->agents[0].offer, w->now, &node,
                                       NULL),
                     0);
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-0"),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_plan(w);
    world_restart(w);
    assert_int_equal(world_submit(w, world_spec("one", 1, 1, 100, 0, 0))->state, JOB_QUEUED);
    /* its answer was lost: it may join again */
    assert_int_equal(cluster_join_node(w->cluster, "fresh", "b", &w->agents[0].offer, w->now, &node,
                                       NULL),
                     0);
    world_free(w);
}

/* One process of the given record in a cluster with one job; what loading it says. */
static int load_process(const struct process_record *record, struct edl_error *error)
{
    struct world *w = world_new(1, 2000, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 100, 0, 0));
    int r;

    job->next_incarnation = 9;
    r = cluster_restore_process_record(w->cluster, record, error);
    world_free(w);
    return r;
}

TEST(test_records_that_do_not_belong_together_are_refused)
{
    static const struct process_record good = { .job_id = 1,
                                                .incarnation = 5,
                                                .state = PROCESS_LOST };
    struct process_record record = good;
    struct edl_error error = { 0 };

    assert_int_equal(load_process(&record, &error), 0);
    record.job_id = 2;
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "incarnation 5 of job 2"));
    record = good;
    record.role = 1;
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
    record = good;
    record.index = ROLE_INSTANCES_MAX;
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
    record = good;
    record.incarnation = 9; /* the job never made it */
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
    record.incarnation = 1; /* it is there */
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
    record = good;
    record.state = PROCESS_RUNNING;
    record.gpu_mask = 1; /* and its role is granted none */
    assert_int_equal(load_process(&record, &error), EDL_ECORRUPT);
}
