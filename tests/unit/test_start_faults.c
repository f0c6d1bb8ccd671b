/* SPDX-License-Identifier: Apache-2.0 */
/* test_start_faults.c - starts that fail: for the job's fault, for the node's, for nobody's */
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Nodes of 1000m; the first so many can start nothing, by this fault. */
static struct world *faulty_world(size_t n_nodes, size_t n_faulty, enum start_fault fault)
{
    struct world *w = world_new(n_nodes, 1000, GIB, 1000);

    for (size_t i = 0; i < n_faulty; i++) {
        w->agents[i].start_fault = fault;
        w->agents[i].unfit_one_in = 1;
    }
    return w;
}

static struct job *submit(struct world *w, const char *name, uint32_t n, uint32_t cpu,
                          bool fault_tolerant)
{
    struct job_spec *spec = world_spec(name, n, n, cpu, 0, 0);
    struct job *job;

    spec->fault_tolerant = fault_tolerant;
    spec->restart_max = fault_tolerant ? 10 : 0;
    job = world_submit(w, spec);
    world_run(w, 4);
    return job;
}

static enum node_state state_of(const struct world *w, const char *name)
{
    return cluster_node(w->cluster, name)->state;
}

static void seconds(struct world *w, unsigned n)
{
    for (; n > 0; n--) {
        world_second(w);
        world_run(w, 2);
    }
}

TEST(test_words)
{
    for (int i = START_FAULT_NONE; i < _START_FAULTS; i++)
        assert_int_equal(start_fault_from_string(start_fault_to_string((enum start_fault)i), NULL),
                         i);
    /* agents of the version before say it in words only */
    assert_int_equal(start_fault_from_string(NULL, "cannot start: no such file"), START_FAULT_NODE);
    assert_int_equal(start_fault_from_string("", "cannot start: no such file"), START_FAULT_NODE);
    assert_int_equal(start_fault_from_string(NULL, "its last words: cannot start"),
                     START_FAULT_NONE);
    assert_int_equal(start_fault_from_string("job", "cannot start: no such file"), START_FAULT_JOB);
    assert_int_equal(start_fault_from_string("moonlight", "cannot start"), START_FAULT_NONE);
    assert_int_equal(start_fault_of_error(-ENOSPC), START_FAULT_DISK);
    assert_int_equal(start_fault_of_error(-EDQUOT), START_FAULT_DISK);
    assert_int_equal(start_fault_of_error(EDL_EBADSPEC), START_FAULT_JOB);
    assert_int_equal(start_fault_of_error(-ECANCELED), START_FAULT_NONE);
    assert_int_equal(start_fault_of_error(-EACCES), START_FAULT_NODE);
    assert_int_equal(start_fault_of_exec(-ENOENT), START_FAULT_PROGRAM);
    assert_int_equal(start_fault_of_exec(-EACCES), START_FAULT_PROGRAM);
    assert_int_equal(start_fault_of_exec(-E2BIG), START_FAULT_JOB);
    assert_int_equal(start_fault_of_exec(-ENOMEM), START_FAULT_NODE);
}

/* However often it is tried, and by however many: no node is blamed, and each job ends with the
 * first try. */
TEST(test_a_bad_job_blames_no_node)
{
    for (int fault_tolerant = 0; fault_tolerant < 2; fault_tolerant++) {
        struct world *w = faulty_world(2, 2, START_FAULT_JOB);
        char name[32];

        for (int i = 0; i < 12; i++) {
            const struct job *job;

            (void)snprintf(name, sizeof name, "typo-%d", i);
            job = submit(w, name, 1, 100, fault_tolerant != 0);
            assert_int_equal(job->state, JOB_FAILED);
            assert_string_equal(job->reason_code, "process-failed");
            assert_non_null(strstr(job->reason, "no node can start trainer-0, for its job's "
                                                "request: "));
            assert_int_equal(job->next_incarnation, 2);
        }
        assert_int_equal(state_of(w, "node-0"), NODE_READY);
        assert_int_equal(state_of(w, "node-1"), NODE_READY);
        world_free(w);
    }
}

/* No job is lost by it, also one that bears no failure, and the node is blamed all the same. */
TEST(test_a_bad_node_costs_no_job)
{
    for (int fault_tolerant = 0; fault_tolerant < 2; fault_tolerant++) {
        struct world *w = faulty_world(7, 1, START_FAULT_NODE);
        char name[16];

        for (int i = 0; i < 6; i++) {
            const struct job *job;

            (void)snprintf(name, sizeof name, "job-%d", i);
            job = submit(w, name, 1, 1000, fault_tolerant != 0); /* the bad one is the first */
            seconds(w, 1);
            assert_int_equal(job->state, JOB_RUNNING);
            assert_string_not_equal(world_live(job, "trainer", 0)->node_name, "node-0");
            assert_int_equal(job->slots[0][0].failures, 0);
        }
        assert_int_equal(state_of(w, "node-0"), NODE_QUARANTINED);
        assert_int_equal(state_of(w, "node-1"), NODE_READY);
        world_free(w);
    }
}

/* What bears no failure waits for the good node, which is full; what does goes on trying. */
TEST(test_the_good_node_is_full)
{
    struct world *w = faulty_world(2, 1, START_FAULT_NODE);
    struct job *full, *job;

    full = submit(w, "full", 1, 1000, false);
    assert_int_equal(full->state, JOB_RUNNING);
    job = submit(w, "job", 1, 500, false);
    seconds(w, 20);
    assert_int_equal(job->state, JOB_STARTING);
    assert_non_null(strstr(job->reason, "waits for room"));
    assert_int_equal(cluster_kill_job(w->cluster, full, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* Nobody else can start it: the one failure that it bears, or as many as its document says. */
TEST(test_the_only_node_is_bad)
{
    struct world *w = faulty_world(1, 1, START_FAULT_NODE);
    const struct job *job = submit(w, "once", 1, 100, false);

    assert_int_equal(job->state, JOB_FAILED);
    assert_non_null(strstr(job->reason, "is not fault tolerant"));
    job = submit(w, "often", 1, 100, true);
    seconds(w, 3);
    assert_int_equal(job->state, JOB_STARTING);
    assert_true(job->slots[0][0].failures >= 1);
    w->agents[0].start_fault = START_FAULT_NONE;
    seconds(w, 60);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* It is the disk's, and no sign of a node that is broken. With no other node the job waits. */
TEST(test_a_full_disk)
{
    struct world *w = faulty_world(2, 1, START_FAULT_DISK);
    char name[16];
    const struct job *job;

    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "job-%d", i);
        job = submit(w, name, 1, 100, false);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
    }
    assert_int_equal(state_of(w, "node-0"), NODE_READY);
    w->agents[1].start_fault = START_FAULT_DISK;
    w->agents[1].unfit_one_in = 1;
    job = submit(w, "waits", 1, 100, false);
    seconds(w, 5);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_string_equal(job->reason_code, "too-few-nodes-run-it");
    assert_non_null(strstr(job->reason, "make room on its disk"));
    w->agents[0].start_fault = w->agents[1].start_fault = START_FAULT_NONE;
    world_advance(w, 601 * USEC_PER_SEC);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* No start is tried where there is no room, what runs goes on, and it is told. */
TEST(test_nothing_starts_on_a_full_disk)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    const struct job *before = submit(w, "before", 1, 100, false);
    const struct job *job;
    const char *there = world_live(before, "trainer", 0)->node_name;
    struct job_account account;

    for (size_t i = 0; i < 2; i++)
        w->agents[i].disk_full = streq(w->agents[i].name, there);
    world_run(w, 2);
    assert_non_null(strstr(node_reason(cluster_node(w->cluster, there)), "its disk is full"));
    job = submit(w, "job", 1, 100, false);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->next_incarnation, 2);
    assert_string_not_equal(world_live(job, "trainer", 0)->node_name, there);
    assert_int_equal(before->state, JOB_RUNNING);

    w->agents[0].disk_full = w->agents[1].disk_full = true;
    world_run(w, 2);
    job = submit(w, "waits", 1, 100, false);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_string_equal(job->reason_code, "no-nodes");
    assert_non_null(strstr(job->reason, ": its disk is full"));
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.nodes[0].verdict, ACCOUNT_DISK_FULL);
    assert_string_equal(account_verdict_to_string(ACCOUNT_DISK_FULL), "disk-full");
    world_replan(w);
    assert_int_equal(job->next_incarnation, 1);
    w->agents[1].disk_full = false;
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(before->state, JOB_RUNNING);
    world_free(w);
}

/* A start that failed for it is remembered until there is room again, and no longer. */
TEST(test_room_again_is_heard)
{
    struct world *w = faulty_world(1, 1, START_FAULT_DISK);
    const struct job *job;

    job = submit(w, "job", 1, 100, false);
    w->agents[0].disk_full = true;
    seconds(w, 3);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job->next_incarnation, 2);
    w->agents[0].disk_full = false;
    w->agents[0].start_fault = START_FAULT_NONE;
    seconds(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* The prolog of a job fails: its node sets itself aside, with the reason, and the job goes on
 * elsewhere with all of its tries. */
TEST(test_a_node_sets_itself_aside)
{
    for (int fault_tolerant = 0; fault_tolerant < 2; fault_tolerant++) {
        struct world *w = faulty_world(2, 1, START_FAULT_NODE);
        struct node *node = cluster_node(w->cluster, "node-0");
        const struct job *job;

        w->agents[0].set_aside = "prolog 10-mount ended with 3: no route to host";
        job = submit(w, "job", 1, 900, fault_tolerant);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_int_equal(job->next_incarnation, 3);
        assert_int_equal(job->slots[0][0].failures, 0);
        assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
        assert_int_equal(node->state, NODE_QUARANTINED);
        assert_string_equal(node_reason(node), "prolog 10-mount ended with 3: no route to host");
        job = submit(w, "waits", 1, 900, fault_tolerant);
        assert_int_equal(job->state, JOB_QUEUED);
        world_replan(w);
        w->agents[0].start_fault = START_FAULT_NONE;
        assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
        assert_string_equal(node_reason(node), "");
        world_run(w, 4);
        assert_int_equal(job->state, JOB_RUNNING);
        world_free(w);
    }
}

/* Without that word it is a failed start of the node's, as told by an agent of any version. */
TEST(test_a_single_node_with_a_bad_prolog)
{
    struct world *w = faulty_world(1, 1, START_FAULT_NODE);
    const struct job *job;

    w->agents[0].set_aside = "prolog a ended with 1";
    job = submit(w, "job", 1, 900, false);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job->next_incarnation, 2); /* and no try more */
    assert_int_equal(state_of(w, "node-0"), NODE_QUARANTINED);
    w->agents[0].start_fault = START_FAULT_NONE;
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-0"),
                                            NODE_READY, w->now, NULL),
                     0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->slots[0][0].failures, 0);
    world_free(w);
}

/* The answer to a report is lost and it comes again, while people have set the node ready: it is
 * the same failure, and undoes nothing. The next one does. */
TEST(test_a_report_that_comes_twice_sets_aside_once)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct node *node = cluster_node(w->cluster, "node-0");

    for (uint64_t number = 7; number < 9; number++) {
        w->agents[0].set_aside = "epilog a ended with 1";
        w->agents[0].set_aside_number = number;
        world_run(w, 2);
        assert_int_equal(node->state, NODE_QUARANTINED);
        assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
        w->agents[0].set_aside = "epilog a ended with 1";
        world_run(w, 2);
        assert_int_equal(node->state, NODE_READY);
    }
    world_free(w);
}

/* An epilog fails: what runs there goes on, nothing new comes. People who have closed the node
 * already are told, and it stays as they have set it. */
TEST(test_a_node_aside_keeps_what_runs)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct node *node = cluster_node(w->cluster, "node-0");
    const struct job *job = submit(w, "job", 1, 100, false);

    w->agents[0].set_aside = "epilog a ended with 1";
    world_run(w, 2);
    assert_int_equal(node->state, NODE_QUARANTINED);
    assert_int_equal(job->state, JOB_RUNNING);
    w->agents[0].set_aside = "epilog b ended with 2";
    world_run(w, 2);
    assert_string_equal(node_reason(node), "epilog b ended with 2");
    world_replan(w);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_CORDONED, w->now, NULL), 0);
    w->agents[0].set_aside = "epilog c ended with 3";
    world_run(w, 2);
    assert_int_equal(node->state, NODE_CORDONED);
    assert_string_equal(node_reason(node), "");
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* Placed anew at once, and nobody is to blame. */
TEST(test_a_place_that_is_not_as_it_was)
{
    struct world *w = faulty_world(1, 1, START_FAULT_PLACE);
    const struct job *job = submit(w, "job", 1, 100, false);

    assert_int_equal(job->state, JOB_STARTING);
    assert_true(job->next_incarnation > 2);
    assert_int_equal(job->slots[0][0].failures, 0);
    w->agents[0].start_fault = START_FAULT_NONE;
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(state_of(w, "node-0"), NODE_READY);
    world_free(w);
}

/* --- a program that a node does not have --- */

/* What runs on the first so many nodes ends as a shell does that finds no program. */
static void end_without_program(struct world *w, const struct job *job, size_t n_lacking, int code)
{
    for (uint32_t i = 0; i < job->n_slots[0]; i++) {
        struct process *process = world_live(job, "trainer", i);

        for (size_t n = 0; process != NULL && n < n_lacking; n++)
            if (streq(process->node_name, w->agents[n].name) && process->state == PROCESS_RUNNING)
                world_exit(w, process, code, 0);
    }
    world_run(w, 4);
}

static void end(struct world *w, struct job *job)
{
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 4);
}

/* By its agent's word, or by a shell's exit code: six jobs of fixed size run on the other node, and
 * those that bear failures spend none of their restarts. */
TEST(test_a_missing_program_costs_no_job)
{
    static const struct {
        enum start_fault fault;
        int code;
        bool fault_tolerant;
    } cases[] = { { START_FAULT_PROGRAM, 0, false },
                  { START_FAULT_PROGRAM, 0, true },
                  { START_FAULT_NONE, 127, false },
                  { START_FAULT_NONE, 126, false },
                  { START_FAULT_NONE, 127, true } };

    for (size_t c = 0; c < ELEMENTS(cases); c++) {
        struct world *w = faulty_world(2, 1, cases[c].fault);
        char name[16], text[400];

        w->agents[0].unfit_one_in = cases[c].fault != START_FAULT_NONE;
        for (int i = 0; i < 6; i++) {
            struct job *job;

            (void)snprintf(name, sizeof name, "job-%d", i);
            job = submit(w, name, 1, 100, cases[c].fault_tolerant);
            end_without_program(w, job, 1, cases[c].code);
            assert_int_equal(job->state, JOB_RUNNING);
            assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
            assert_int_equal(job->slots[0][0].failures, 0);
            if (i < 3) /* later ones find the node closed */
                assert_non_null(
                    strstr(job_describe_unfit(job, text, sizeof text), "run on node-0"));
            world_replan(w);
            seconds(w, 31); /* now it has shown that it runs there */
            end(w, job);
        }
        assert_int_equal(state_of(w, "node-0"), NODE_QUARANTINED);
        assert_int_equal(state_of(w, "node-1"), NODE_READY);
        world_free(w);
    }
}

/* It is the job's fault: it ends with the words of the last try, and no node is blamed. */
TEST(test_a_program_that_no_node_has)
{
    for (int fault_tolerant = 0; fault_tolerant < 2; fault_tolerant++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        char name[16];

        for (int i = 0; i < 6; i++) {
            struct job_spec *spec;
            const struct job *job;

            (void)snprintf(name, sizeof name, "typo-%d", i);
            spec = world_spec(name, 1, 1, 100, 0, 0);
            spec->fault_tolerant = fault_tolerant != 0;
            spec->tries_at_once = 3;
            spec->restart_max = fault_tolerant != 0 ? 10 : 0;
            job = world_submit(w, spec);
            world_run(w, 4);
            for (int n = 0; n < 40 && !job_state_is_final(job->state); n++) {
                end_without_program(w, job, 2, 127);
                seconds(w, 1);
            }
            assert_int_equal(job->state, JOB_FAILED);
            assert_non_null(strstr(job->reason, "exit code 127"));
            assert_non_null(strstr(job->reason, "no other node can execute it"));
            assert_true(job->next_incarnation <= (fault_tolerant != 0 ? 8 : 3));
        }
        assert_int_equal(state_of(w, "node-0"), NODE_READY);
        assert_int_equal(state_of(w, "node-1"), NODE_READY);
        world_free(w);
    }
}

/* A shell that ran for long, or a program that told how far it is, failed by itself. */
TEST(test_what_has_run_failed_by_itself)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    const struct job *job = submit(w, "long", 1, 100, false);

    seconds(w, 40);
    end_without_program(w, job, 2, 127);
    assert_int_equal(job->state, JOB_FAILED);
    assert_int_equal(job->next_incarnation, 2);
    job = submit(w, "tells", 1, 100, false);
    world_live(job, "trainer", 0)->told_progress = true;
    end_without_program(w, job, 2, 127);
    assert_int_equal(job->state, JOB_FAILED);
    assert_int_equal(job->next_incarnation, 2);
    world_free(w);
}

/* The others are not disturbed. With half of them done already it is no different. */
TEST(test_an_instance_of_a_gang_finds_no_program)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("gang", 2, 2, 800, 0, 0);
    const struct process *there, *other;
    const struct job *job;
    uint64_t before;

    spec->fault_tolerant = false;
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    there = world_live(job, "trainer", 0);
    other = world_live(job, "trainer", 1);
    before = other->incarnation;
    if (!streq(there->node_name, "node-0")) {
        there = other;
        before = world_live(job, "trainer", 0)->incarnation;
    }
    assert_string_equal(there->node_name, "node-0");
    world_exit(w, there, 127, 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->next_incarnation, 4);
    for (uint32_t i = 0; i < 2; i++)
        assert_string_not_equal(world_live(job, "trainer", i)->node_name, "node-0");
    assert_true(world_live(job, "trainer", 0)->incarnation == before ||
                world_live(job, "trainer", 1)->incarnation == before);
    world_free(w);
}

/* The trainers' program is missing there, and that of another command may not be. */
TEST(test_a_program_is_that_of_a_role)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    const struct node *node = cluster_node(w->cluster, "node-0");
    struct job_spec *spec = world_spec("job", 1, 1, 600, 1, 600);
    struct job *job;

    for (uint32_t r = 0; r < spec->n_roles; r++) {
        spec->roles[r].argv = xcalloc(2, sizeof *spec->roles[r].argv);
        spec->roles[r].argv[0] = xstrdup(spec->roles[r].name);
    }
    job = world_submit(w, spec);
    job_expect_unfit(job, node, 1, UNFIT_NO_PROGRAM, "trainer: no such file");
    assert_true(unfit_nodes_hold(job->unfit, node, 1 << 1));
    assert_false(unfit_nodes_hold(job->unfit, node, 1 << 0));
    free(job->spec->roles[0].argv[0]);
    job->spec->roles[0].argv[0] = xstrdup("trainer");
    job_expect_unfit(job, node, 1, UNFIT_NO_PROGRAM, "trainer: no such file");
    assert_true(unfit_nodes_hold(job->unfit, node, 1 << 0));
    world_free(w);
}

/* Another node may have it, so nobody says that none has. */
TEST(test_not_every_node_is_tried)
{
    struct world *w = faulty_world(2, 2, START_FAULT_PROGRAM);
    struct job_spec *spec = world_spec("typo", 1, 1, 100, 0, 0);
    struct job *job;
    char name[16];

    spec->fault_tolerant = false;
    spec->restart_max = 0;
    job = world_submit(w, spec);
    for (unsigned i = 1; i < NO_PROGRAM_NODES_MAX; i++) {
        struct node *node;

        (void)snprintf(name, sizeof name, "lacks-%u", i);
        assert_int_equal(cluster_join_node(w->cluster, name, "hash", &w->agents[0].offer, w->now,
                                           &node, NULL),
                         0);
        job_expect_unfit(job, node, 0, UNFIT_NO_PROGRAM, "no such file");
    }
    seconds(w, 5);
    assert_int_equal(job->state, JOB_FAILED);
    assert_null(strstr(job->reason, "no other node can execute it"));
    assert_non_null(strstr(job->reason, "the rest is not tried"));
    world_free(w);
}

/* A user who asks for what a node has not closes it to nobody. */
TEST(test_one_users_accounts_blame_no_node)
{
    for (int users = 1; users <= 2; users++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        char name[16];

        w->agents[0].unfit = UNFIT_NO_ACCOUNT;
        w->agents[0].unfit_one_in = 1;
        for (int i = 0; i < 4; i++) {
            struct job *job;

            w->user = i % users == 0 ? "ann" : "bob";
            (void)snprintf(name, sizeof name, "job-%d", i);
            job = submit(w, name, 1, 100, false);
            seconds(w, 31);
            assert_int_equal(job->state, JOB_RUNNING);
            assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
            end(w, job);
        }
        assert_int_equal(state_of(w, "node-0"), users == 1 ? NODE_READY : NODE_QUARANTINED);
        world_free(w);
    }
}

/* What runs there, or fails in a way of its own, tells that the node can execute programs. */
TEST(test_other_ends_clear_a_node)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    char name[16];

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "host", "first", NULL), 0);
    world_run(w, 1);
    for (int i = 0; i < 5; i++) {
        struct job_spec *spec = world_spec("shell", 1, 1, 100, 0, 0);
        struct job *job;

        (void)snprintf(name, sizeof name, "job-%d", i);
        job = submit(w, name, 1, 100, false);
        end_without_program(w, job, 1, 127);
        seconds(w, 31);
        assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
        end(w, job);
        spec->fault_tolerant = false;
        spec->restart_max = 0;
        assert_int_equal(role_select(&spec->roles[0], "host", "first", NULL), 0);
        job = world_submit(w, spec);
        world_run(w, 4);
        world_exit(w, world_live(job, "trainer", 0), 1, 0);
        world_run(w, 4);
        assert_int_equal(job->state, JOB_FAILED);
    }
    assert_int_equal(state_of(w, "node-0"), NODE_READY);
    world_free(w);
}
