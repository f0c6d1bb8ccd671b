/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - what is committed is there again after a restart, and nothing else */
#include "shared/elapsed_clock.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

TEST_EACH(set_up, tear_down);

TEST(test_restart_brings_back_job_node_and_processes)
{
    struct fixture *f = *state;
    struct process *process;
    struct job *job = run_job(f->cluster);
    uint64_t next_incarnation = job->next_incarnation;
    uint16_t port = job->processes->ports[0];

    job->resizes = 3;
    job->updates_lost = 661;
    job->served = UINT64_C(1) << 60;
    job->updates_lost_of = UINT64_C(1) << 61;
    commit(f);
    restart(f);
    job = the_job(f);
    assert_int_equal(job->id, 1);
    assert_int_equal(job->state, JOB_STARTING);
    assert_string_equal(job->user, "me");
    assert_int_equal(job->next_incarnation, next_incarnation);
    assert_int_equal(job->resizes, 3);
    assert_int_equal(job->updates_lost, 661);
    assert_true(job->served == UINT64_C(1) << 60);
    assert_true(job->updates_lost_of == UINT64_C(1) << 61);
    assert_int_equal(job->submitted_wall_us, start.wall_us);
    assert_int_equal(job->target[1], 2);
    assert_string_equal(job->spec->roles[1].argv[2], "python train.py --x 1");
    assert_int_equal(job_count(job, 0, true), 1);
    assert_int_equal(job_count(job, 1, true), 2);
    process = job->processes;
    assert_int_equal(process->ports[0], port);
    assert_ptr_equal(process->node, cluster_node(f->cluster, "n1"));
    assert_string_equal(process->node->credential_hash, "c0ffee");
    assert_string_equal(process->node->boot_id, "boot");
    assert_int_equal(process->node->cpu_granted_millicores, 3500);
}

/* labels, NUMA, granted devices, and what people set on a node that is lost */
TEST(test_what_a_node_is_survives)
{
    static const char gpu_job[] =
        "metadata: {name: g}\nspec: {trainer: {entrypoint: x, min-instance: 2, max-instance: 2,"
        " resources: {limits: {gpu: 2, cpu: 1}}}}\n";
    struct fixture *f = *state;
    struct node_report report = node_says(NULL, 0);
    struct edl_error error = { 0 };
    struct cluster *before;
    struct node *node;
    struct job *job;
    const struct instant later = { .now_us = start.now_us + 60 * USEC_PER_SEC,
                                   .wall_us = start.wall_us + 60 * USEC_PER_SEC };

    report.offer.gpus = 4;
    report.offer.numa_nodes = 2;
    report.offer.gpu_numa[2] = report.offer.gpu_numa[3] = 1;
    assert_int_equal(labels_parse(&report.offer.labels, "rack=r1", &error), 0);
    assert_int_equal(labels_parse(&report.offer.labels, "gpu=a100", &error), 0);
    assert_int_equal(cluster_join_node(f->cluster, "n1", "c0ffee", &report.offer, start, &node,
                                       &error),
                     0);
    assert_int_equal(cluster_report(f->cluster, node, &report, start, &error), 0);
    assert_int_equal(cluster_submit(f->cluster, parse_job(gpu_job), "me", start, &job, &error), 0);
    cluster_plan(f->cluster, start);
    assert_int_equal(job_count(job, 0, true), 2);
    commit(f);
    cluster_tick(f->cluster, later);
    assert_int_equal(node->state, NODE_LOST);
    assert_int_equal(cluster_set_node_state(f->cluster, node, NODE_CORDONED, later, &error), 0);
    cluster_plan(f->cluster, later);
    commit(f);
    before = f->cluster;
    f->cluster = NULL;
    restart(f);
    assert_int_equal(cluster_compare(before, f->cluster, &error), 0);
    node = cluster_node(f->cluster, "n1");
    assert_string_equal(labels_get(&node->offer.labels, "rack"), "r1");
    assert_int_equal(node->offer.gpu_numa[3], 1);
    assert_int_equal(cluster_report(f->cluster, node, &report, later, &error), 0);
    assert_int_equal(node->state, NODE_CORDONED);
    (void)cluster_free(before);
}

TEST(test_why_a_node_is_set_aside_survives)
{
    struct fixture *f = *state;
    struct node_report report = node_says(NULL, 0);
    struct node *node;

    (void)run_job(f->cluster);
    report.set_aside = "epilog 20-clean ended with 1: \xc3\xa9tat";
    node = cluster_node(f->cluster, "n1");
    assert_int_equal(cluster_report(f->cluster, node, &report, start, NULL), 0);
    commit(f);
    restart(f);
    node = cluster_node(f->cluster, "n1");
    assert_int_equal(node->state, NODE_QUARANTINED);
    assert_string_equal(node_reason(node), report.set_aside);
}

/* The secret of a job lasts as long as the job, and no row of one that is over has it. */
TEST(test_secret_survives_until_the_end)
{
    const uint8_t secret[JOB_SECRET_BYTES] = "what nobody else is told, 32 byt";
    const uint8_t another[JOB_SECRET_BYTES] = "another";
    static const char late_job[] =
        "metadata: {name: late}\nspec: {trainer: {entrypoint: x, min-instance: 1}}\n";
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct job *job = run_job(f->cluster);
    struct job *late;

    cluster_give_secret(f->cluster, job, secret);
    commit(f);
    cluster_give_secret(f->cluster, job, another); /* it keeps what it has */
    commit(f);
    restart(f);
    job = the_job(f);
    assert_memory_equal(job->secret, secret, sizeof secret);
    /* a job of before there were secrets gets its own when it is asked for, by itself */
    assert_int_equal(cluster_submit(f->cluster, parse_job(late_job), "me", start, &late, &error),
                     0);
    commit(f);
    assert_false(job_secret_is_set(late->secret));
    cluster_give_secret(f->cluster, late, another);
    commit(f);
    restart(f);
    assert_memory_equal(cluster_job(f->cluster, 2)->secret, another, sizeof another);
    assert_memory_equal(the_job(f)->secret, secret, sizeof secret);
    /* over: neither here nor on disk */
    assert_int_equal(cluster_kill_job(f->cluster, cluster_job(f->cluster, 2), "", start, &error),
                     0);
    assert_int_equal(cluster_job(f->cluster, 2)->state, JOB_KILLED);
    assert_false(job_secret_is_set(cluster_job(f->cluster, 2)->secret));
    cluster_give_secret(f->cluster, cluster_job(f->cluster, 2), another);
    commit(f);
    run_sql(f, "DELETE FROM job WHERE id = 2 AND secret = ''");
    restart(f);
    assert_null(cluster_job(f->cluster, 2)); /* so it had none */
    /* what is no secret is said to be damaged, and not what it is */
    run_sql(f, "UPDATE job SET secret = 'c0ffee' WHERE id = 1");
    f->cluster = cluster_free(f->cluster);
    f->cluster = new_cluster();
    assert_int_equal(store_load(f->store, f->cluster, start, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "job 1"));
    assert_non_null(strstr(error.text, "secret"));
    assert_null(strstr(error.text, "c0ffee"));
}

TEST(test_restart_without_commit_knows_nothing)
{
    struct fixture *f = *state;

    (void)run_job(f->cluster);
    restart(f);
    assert_null(cluster_find_job(f->cluster, "example"));
    assert_null(cluster_node(f->cluster, "n1"));
}

/* What an agent says once all is over. */
static void exit_all(struct fixture *f, int exit_code)
{
    struct process_report reports[8] = { 0 };
    struct node_report report;
    struct edl_error error = { 0 };
    struct job *job = the_job(f);
    const struct process *process;
    size_t n = 0;

    DL_FOREACH2(job->processes, process, job_next)
    if (!process_state_is_final(process->state))
        reports[n++] = (struct process_report){
            .job_id = job->id,
            .role = job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = PROCESS_EXITED,
            .exit_code = exit_code,
            .reason = "over",
        };
    report = node_says(reports, n);
    assert_int_equal(cluster_report(f->cluster, cluster_node(f->cluster, "n1"), &report, start,
                                    &error),
                     0);
}

TEST(test_restart_never_gives_a_job_id_twice)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct job *job = run_job(f->cluster);

    assert_int_equal(cluster_kill_job(f->cluster, job, "enough", start, &error), 0);
    exit_all(f, 0);
    commit(f);
    restart(f);
    assert_int_equal(the_job(f)->state, JOB_KILLED);
    assert_int_equal(cluster_submit(f->cluster, parse_job(job_text), "me", start, &job, &error), 0);
    assert_int_equal(job->id, 2);
    assert_int_equal(cluster_job(f->cluster, 1)->state, JOB_KILLED);
}

TEST(test_failures_of_a_slot_survive)
{
    struct fixture *f = *state;
    struct job *job = run_job(f->cluster);
    struct process *process;

    exit_all(f, 7);
    job->processes->start_failed = true;
    assert_int_equal(job->slots[1][0].failures, 1);
    job->slots[1][0].failures = 3; /* more than the processes that are left tell */
    commit(f);
    restart(f);
    job = the_job(f);
    assert_int_equal(job->slots[1][0].failures, 3);
    assert_int_equal(job->slots[1][1].failures, 1);
    process = job->processes;
    assert_int_equal(process->state, PROCESS_EXITED);
    assert_int_equal(process->exit_code, 7);
    assert_true(process->start_failed);
    assert_false(process->job_next->start_failed);
    assert_int_equal(job_count(job, 1, true), 0);
    assert_int_equal(cluster_node(f->cluster, "n1")->cpu_granted_millicores, 0);
}

TEST(test_removed_node_is_forgotten)
{
    struct fixture *f = *state;
    struct node_report report = node_says(NULL, 0);
    struct edl_error error = { 0 };
    struct node *node;

    assert_int_equal(cluster_join_node(f->cluster, "n2", "x", &report.offer, start, &node, &error),
                     0);
    commit(f);
    assert_int_equal(cluster_remove_node(f->cluster, node, start, &error), 0);
    commit(f);
    restart(f);
    assert_null(cluster_node(f->cluster, "n2"));
}

/* --- task queue --- */

static void finish(struct fixture *f, struct process *holder, const struct task *task)
{
    struct edl_error error = { 0 };

    if (cluster_finish_task(f->cluster, holder, task->id, task_queue_pass(holder->job->queue),
                            task->lease, start, &error) < 0)
        fail_msg("%s", error.text);
}

TEST(test_tasks_survive_with_their_leases)
{
    struct fixture *f = *state;
    struct process *holder = start_data(f, 3);
    struct task_queue_counts counts;
    const struct task *task;
    uint32_t leased;

    finish(f, holder, lease(f, holder));
    leased = lease(f, holder)->id;
    commit(f);
    restart(f);
    assert_string_equal(the_job(f)->dataset_digest, "d1");
    counts = task_queue_counts(the_job(f)->queue);
    assert_int_equal(counts.done, 1);
    assert_int_equal(counts.leased, 1);
    assert_int_equal(counts.todo, 1);
    assert_int_equal(counts.records_done, 10);
    assert_int_equal(counts.records_total, 10);
    task = task_queue_task(the_job(f)->queue, leased);
    assert_string_equal(task->chunks[0].path, "/data/\"train\"-\xc3\xa9");
    assert_int_equal(task->chunks[0].offset_bytes, UINT64_C(1) << 40);
    assert_int_equal(task->chunks[0].file_bytes, UINT64_C(1) << 41);
    assert_int_equal(task->chunks[0].mtime_us, UINT64_C(1700000000123456));
    task = task_queue_task(the_job(f)->queue, 0); /* of its file nothing was told */
    assert_true(task->chunks[0].file_bytes == 0 && task->chunks[0].mtime_us == 0);
    task = task_queue_task(the_job(f)->queue, leased);
    assert_int_equal(task->holder, a_trainer(the_job(f))->incarnation);
    finish(f, a_trainer(the_job(f)), task); /* the holder goes on as if nothing had been */
    assert_int_equal(task_queue_counts(the_job(f)->queue).records_total, 20);
}

TEST(test_pass_that_ends_and_a_lease_in_one_turn_survive)
{
    struct fixture *f = *state;
    struct process *holder = start_data(f, 2);
    struct task_queue_counts counts;
    const struct task *task;
    uint32_t id, lease_number;

    finish(f, holder, lease(f, holder));
    task = lease(f, holder);
    commit(f);
    finish(f, holder, task); /* ends the pass: every task is to do again */
    task = lease(f, holder);
    id = task->id;
    lease_number = task->lease;
    commit(f);
    restart(f);
    assert_int_equal(task_queue_pass(the_job(f)->queue), 1);
    counts = task_queue_counts(the_job(f)->queue);
    assert_int_equal(counts.records_total, 20);
    assert_int_equal(counts.records_done, 0);
    assert_int_equal(counts.done, 0);
    assert_int_equal(counts.leased, 1);
    assert_int_equal(counts.todo, 1);
    task = task_queue_task(the_job(f)->queue, id);
    assert_int_equal(task->state, TASK_LEASED);
    assert_int_equal(task->lease, lease_number);
}

TEST(test_saver_and_saved_model_survive)
{
    struct fixture *f = *state;
    struct process *holder = start_data(f, 1);
    enum task_lease_result result;
    struct edl_error error = { 0 };
    struct task *task;
    bool save = false;

    finish(f, holder, lease(f, holder));
    finish(f, holder, lease(f, holder));
    assert_int_equal(cluster_lease_task(f->cluster, holder, NULL, 0, start, &result, &task, &save,
                                        &error),
                     0);
    assert_true(save);
    commit(f);
    restart(f);
    holder = a_trainer(the_job(f));
    assert_false(task_queue_save_asked(the_job(f)->queue));
    save = false;
    assert_int_equal(cluster_ask_to_save(f->cluster, holder, start, &save, &error), 0);
    assert_true(save);
    commit(f);
    restart(f);
    holder = a_trainer(the_job(f));
    assert_true(task_queue_save_asked(the_job(f)->queue));
    assert_int_equal(task_queue_saver(the_job(f)->queue), holder->incarnation);
    assert_int_equal(cluster_model_saved(f->cluster, holder, "/out/model", start, &error), 0);
    commit(f);
    restart(f);
    assert_true(task_queue_is_model_saved(the_job(f)->queue));
    assert_string_equal(task_queue_model_path(the_job(f)->queue), "/out/model");
}

/* --- events and logs --- */

struct seen {
    size_t n;
    uint64_t last;
    char event[32], text[32];
};

static void see_event(const struct stored_event *event, void *userdata)
{
    struct seen *seen = userdata;

    assert_true(event->revision > seen->last);
    seen->last = event->revision;
    seen->n++;
    if (seen->n == 1)
        (void)snprintf(seen->event, sizeof seen->event, "%s", event->event);
}

TEST(test_events_come_in_order_and_resume)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct seen all = { 0 }, rest = { 0 }, none = { 0 }, two = { 0 };

    (void)run_job(f->cluster);
    commit(f);
    assert_int_equal(store_events(f->store, 0, 0, 100, see_event, &all, &error), 0);
    assert_true(all.n >= 4);
    assert_string_equal(all.event, "node-joined");
    assert_int_equal(store_events(f->store, 0, 0, 2, see_event, &two, &error), 0);
    assert_int_equal(two.n, 2);
    assert_int_equal(store_events(f->store, 1, two.last, 100, see_event, &rest, &error), 0);
    assert_true(rest.n < all.n);
    assert_int_equal(store_events(f->store, 99, 0, 100, see_event, &none, &error), 0);
    assert_int_equal(none.n, 0);
    assert_int_equal(store_events(f->store, 0, UINT64_MAX, 100, see_event, &none, &error), 0);
    assert_int_equal(none.n, 0);
}

static void see_resize(const struct stored_event *event, void *userdata)
{
    struct seen *seen = userdata;

    assert_string_equal(event->event, "job-resized");
    (void)snprintf(seen->text, sizeof seen->text, "%s", event->text);
    seen->last = event->revision;
    seen->n++;
}

TEST(test_resizes_are_found_among_the_events)
{
    static const char *const texts[] = { "trainer: 2 -> 3 (grown: why)", "trainer: 3 -> 2" };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct seen all = { 0 }, rest = { 0 };
    struct job *job = run_job(f->cluster);

    commit(f);
    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct effect effects[] = { { .kind = EFFECT_EVENT, .job = job, .event = "job-resized" },
                                    { .kind = EFFECT_EVENT, .job = job, .event = "job-resizing" } };

        (void)snprintf(effects[0].text, sizeof effects[0].text, "%s", texts[i]);
        assert_int_equal(store_commit(f->store,
                                      &(struct turn_records){ .effects = effects, .n_effects = 2 },
                                      &error),
                         0);
    }
    assert_int_equal(store_resizes(f->store, job->id, 0, 100, see_resize, &all, &error), 0);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.text, "trainer: 3 -> 2");
    assert_int_equal(store_resizes(f->store, job->id, all.last - 1, 100, see_resize, &rest, &error),
                     0);
    assert_int_equal(rest.n, 1);
    assert_int_equal(store_resizes(f->store, 99, 0, 100, see_resize, &rest, &error), 0);
    assert_int_equal(rest.n, 1);
}

static bool see_tail(const struct log_tail *tail, void *userdata)
{
    struct seen *seen = userdata;

    seen->n++;
    seen->last = tail->sequence;
    (void)snprintf(seen->text, sizeof seen->text, "%s", tail->text != NULL ? tail->text : "-");
    return true;
}

TEST(test_log_tail_is_kept_and_replaced)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct seen seen = { 0 }, later = { 0 };
    uint64_t sequence;
    char first[] = "first", second[] = "second";
    struct log_tail tail = { .job_id = 1, .role = "trainer", .incarnation = 2, .sequence = 5 };

    (void)run_job(f->cluster);
    commit(f);
    tail.text = first;
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .tails = &tail, .n_tails = 1 },
                                  &error),
                     0);
    tail.text = second;
    tail.sequence = 6;
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .tails = &tail, .n_tails = 1 },
                                  &error),
                     0);
    restart(f);
    assert_int_equal(store_log_tails(f->store, 1, 0, see_tail, &seen, &error), 0);
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.text, "second");
    assert_int_equal(store_log_sequence(f->store, &sequence, &error), 0);
    assert_int_equal(sequence, 6);
    assert_int_equal(store_log_tails(f->store, 1, 6, see_tail, &later, &error), 0);
    assert_int_equal(later.n, 0);
}

/* --- what must not happen --- */

/* Every value is checked when it is read, and the error names its row. */
TEST(test_damaged_row_stops_the_start)
{
    static const struct {
        const char *damage, *repair, *names;
    } rows[] = {
        { "UPDATE process SET state = 'flying' WHERE incarnation = 1",
          "UPDATE process SET state = 'assigned' WHERE incarnation = 1", "process 1.0.0.1: state" },
        { "UPDATE process SET role = 7 WHERE incarnation = 2",
          "UPDATE process SET role = 1 WHERE incarnation = 2", "incarnation 2 of job 1" },
        { "UPDATE process SET ports = '[70000]' WHERE incarnation = 1",
          "UPDATE process SET ports = '[20000, 20001]' WHERE incarnation = 1",
          "process 1.0.0.1: ports" },
        { "UPDATE process SET gpus = '[64]' WHERE incarnation = 1",
          "UPDATE process SET gpus = '[]' WHERE incarnation = 1", "process 1.0.0.1: gpus" },
        { "UPDATE process SET gpus = '[3]' WHERE incarnation = 1",
          "UPDATE process SET gpus = '[]' WHERE incarnation = 1", "incarnation 1 of job 1" },
        { "UPDATE node SET admin_state = 'lost'", "UPDATE node SET admin_state = 'ready'",
          "node n1" },
        { "UPDATE node SET cpu_millicores = -1", "UPDATE node SET cpu_millicores = 4000",
          "node n1: cpu_millicores" },
        { "UPDATE node SET labels = '{\"A B\":\"\"}'", "UPDATE node SET labels = '{}'",
          "node n1: labels" },
        { "UPDATE node SET gpu_numa = '[0]'", "UPDATE node SET gpu_numa = '[]'",
          "node n1: gpu_numa" },
        { "UPDATE job SET slots = '[[0, 0, \"x\", true, true]]'", "UPDATE job SET slots = '[]'",
          "job 1: slots" },
        { "UPDATE job SET targets = '[1, 99999]'", "UPDATE job SET targets = '[1, 2]'", "job 1" },
        { "UPDATE job SET servers_min = 3", "UPDATE job SET servers_min = 0",
          "job 1 is recorded with parameter servers" },
        { "UPDATE job SET servers_max = -1", "UPDATE job SET servers_max = 0",
          "job 1: servers_max" },
        { "UPDATE job SET spec = '{}'", NULL, "job 1: spec" },
    };
    struct fixture *f = *state;

    (void)run_job(f->cluster);
    commit(f);
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };

        run_sql(f, rows[i].damage);
        f->cluster = cluster_free(f->cluster);
        f->cluster = new_cluster();
        if (store_load(f->store, f->cluster, start, &error) != EDL_ECORRUPT)
            fail_msg("%s: was not noticed", rows[i].damage);
        if (strstr(error.text, rows[i].names) == NULL)
            fail_msg("%s: the error is %s", rows[i].damage, error.text);
        if (rows[i].repair != NULL) {
            run_sql(f, rows[i].repair);
            restart(f);
        }
    }
}

TEST(test_damaged_task_stops_the_start)
{
    static const struct {
        const char *damage, *names;
    } rows[] = {
        { "UPDATE task SET state = 7 WHERE id = 1", "task 1 of job 1: state" },
        { "UPDATE task SET state = 1, holder = 0 WHERE id = 1", "task 1 of job 1" },
        { "UPDATE task SET state = 0, chunks = '[[1, 2, 3]]' WHERE id = 1",
          "task 1 of job 1: chunks" },
        { "DELETE FROM task WHERE id = 1", "task 1 of job 1" },
        { "UPDATE queue SET pass = 9", "the task queue of job 1" },
    };
    struct fixture *f = *state;

    (void)start_data(f, 3);
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };

        run_sql(f, rows[i].damage);
        f->cluster = cluster_free(f->cluster);
        f->cluster = new_cluster();
        if (store_load(f->store, f->cluster, start, &error) != EDL_ECORRUPT)
            fail_msg("%s: was not noticed", rows[i].damage);
        if (strstr(error.text, rows[i].names) == NULL)
            fail_msg("%s: the error is %s", rows[i].damage, error.text);
    }
}

TEST(test_generation_survives)
{
    struct fixture *f = *state;
    const struct rendezvous *agreed;

    (void)start_data(f, 1);
    for (uint64_t generation = 1; generation <= 2; generation++) {
        agree(f, the_job(f));
        restart(f);
        agreed = rendezvous_of(the_job(f), 1);
        assert_non_null(agreed);
        assert_int_equal(agreed->generation, generation);
        assert_int_equal(agreed->n_members, the_job(f)->target[1]);
        assert_int_equal(agreed->n_standing, agreed->n_members);
        assert_false(agreed->over);
        for (uint32_t i = 0; i < agreed->n_members; i++)
            assert_string_equal(agreed->members[i].note, "at \"1\" \xc3\xa9\n");
        assert_null(rendezvous_of(the_job(f), 0)->members);
    }
}

TEST(test_damaged_generation_stops_the_start)
{
    static const struct {
        const char *damage, *names;
    } rows[] = {
        { "UPDATE rendezvous SET generation = 0", "generation 0 of job 1" },
        { "UPDATE rendezvous SET generation = -1",
          "the generation of role 1 of job 1: generation" },
        { "UPDATE rendezvous SET generation = 1, role = 2", "generation 1 of job 1" },
        { "UPDATE rendezvous SET role = 1, members = '[[0, 0]]'", "generation 1 of job 1" },
        { "UPDATE rendezvous SET members = '[[0, 1, 7]]'", "has a note that is no text" },
        { "WITH RECURSIVE w (t) AS (SELECT '\"' UNION ALL SELECT t || 'x' FROM w WHERE length(t) <"
          " 1026) UPDATE rendezvous SET members = '[[0, 1, ' || (SELECT max(t) FROM w) || '\"]]'",
          "generation 1 of job 1" },
        { "UPDATE rendezvous SET members = '[[0, 99]]'", "generation 1 of job 1" },
        { "UPDATE rendezvous SET members = '[[1, 2], [0, 3]]'", "generation 1 of job 1" },
        { "UPDATE rendezvous SET members = '[0, 2]'",
          "the generation of role 1 of job 1: members" },
        { "UPDATE rendezvous SET members = '[[9999, 2]]'",
          "the generation of role 1 of job 1: members" },
    };
    struct fixture *f = *state;

    (void)start_data(f, 1);
    agree(f, the_job(f));
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };

        run_sql(f, rows[i].damage);
        f->cluster = cluster_free(f->cluster);
        f->cluster = new_cluster();
        if (store_load(f->store, f->cluster, start, &error) != EDL_ECORRUPT)
            fail_msg("%s: was not noticed", rows[i].damage);
        if (strstr(error.text, rows[i].names) == NULL)
            fail_msg("%s: the error is %s", rows[i].damage, error.text);
    }
}

TEST(test_commit_that_fails_leaves_nothing_behind)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct log_tail tail = { .job_id = 77, .role = "trainer" }; /* of no job: a foreign key */
    char text[] = "x";
    size_t n;
    const struct effect *effects;

    tail.text = text;
    (void)run_job(f->cluster);
    effects = cluster_effects(f->cluster, &n);
    assert_true(store_commit(f->store,
                             &(struct turn_records){
                                 .effects = effects, .n_effects = n, .tails = &tail, .n_tails = 1 },
                             &error) < 0);
    assert_true(error.text[0] != '\0');
    restart(f);
    assert_null(cluster_find_job(f->cluster, "example"));
}

/* The last commit may be newer than the clock that is stored, and time does not go back. */
TEST(test_the_clock_goes_on_from_the_last_commit)
{
    struct fixture *f = *state;
    struct elapsed_record clock = { .boot_id = "a-boot",
                                    .boot_us = 5 * USEC_PER_SEC,
                                    .real_us = start.wall_us + 3 * USEC_PER_SEC,
                                    .elapsed_us = start.wall_us,
                                    .n_steps = 1,
                                    .steps = { { start.wall_us - 1, -3 } } };
    struct effect event = { .kind = EFFECT_EVENT, .event = "test", .wall_us = start.wall_us };
    const struct turn_records records = { .effects = &event, .n_effects = 1, .clock = &clock };
    struct edl_error error = { 0 };
    struct elapsed_record found;

    assert_int_equal(store_clock(f->store, &found, &error), 0);
    assert_int_equal(store_commit(f->store, &records, &error), 0);
    event.wall_us += USEC_PER_SEC;
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .effects = &event, .n_effects = 1 },
                                  &error),
                     0);
    assert_int_equal(store_clock(f->store, &found, &error), 1);
    assert_string_equal(found.boot_id, "a-boot");
    assert_true(found.elapsed_us == start.wall_us + USEC_PER_SEC);
    assert_true(found.boot_us == 6 * USEC_PER_SEC);
    assert_true(found.real_us == start.wall_us + 4 * USEC_PER_SEC);
    assert_int_equal(found.n_steps, 1);
    assert_true(found.steps[0].ahead_us == -3);
    run_sql(f, "UPDATE clock_step SET from_us = 9000000000000000000");
    assert_int_equal(store_clock(f->store, &found, &error), EDL_ECORRUPT);
}

TEST(test_full_disk_is_an_error)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct rlimit old, small = { .rlim_cur = 4096, .rlim_max = RLIM_INFINITY };
    size_t n;
    const struct effect *effects;
    int r;

    only_sqlite(f);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    (void)run_job(f->cluster);
    effects = cluster_effects(f->cluster, &n);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    r = store_commit(f->store, &(struct turn_records){ .effects = effects, .n_effects = n },
                     &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(r == -EIO || r == -ENOSPC);
    restart(f);
    assert_null(cluster_find_job(f->cluster, "example"));
}
