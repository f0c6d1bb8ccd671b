/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_sgd.c - synchronous SGD: trainers in processes of their own, on real servers */
#include "trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "tests/unit/test.h"
#include "trainer/exchange/table.h"

#define ROWS 12
#define COLUMNS 3
#define DENSE 40
#define SERVERS 2
#define STEPS 30

enum { PARAM_TABLE, PARAM_WEIGHT, PARAMS };

static struct declaration declare_two(void)
{
    struct declaration d = {
        .seed = 5,
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 0.1f, .epsilon = 1e-6f },
        .n_params = PARAMS
    };

    d.params[PARAM_TABLE] = (struct param_spec){
        "table", ROWS, COLUMNS, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    d.params[PARAM_WEIGHT] =
        (struct param_spec){ "weight", DENSE, 1, .initial_std = 0.1f, .learning_rate = 1.0f };
    return d;
}

/* What all processes see. */
struct seen {
    _Atomic uint64_t steps; /* pushes that were answered, of all */
    float weight[4][DENSE]; /* of each trainer, at its end */
    float rows[4][ROWS * COLUMNS];
};

/* A byte for each push that was answered; those that nobody reads are dropped. */
static int told[2] = { -1, -1 };

static struct seen *seen_new(void)
{
    struct seen *seen =
        mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(seen != MAP_FAILED);
    return seen;
}

/* One trainer: its gradients depend on its number, the step and the values. */
struct worker {
    struct ps_client *client;
    uint32_t trainer;
    float weight[DENSE], weight_gradient[DENSE];
    float rows[ROWS * COLUMNS], pushed[4 * COLUMNS];
    uint32_t ids[ROWS], pushed_ids[4], n_pushed;
};

static void worker_open(struct worker *w, const struct test_server *servers, uint32_t n,
                        uint32_t trainer, uint64_t incarnation, uint32_t trainers)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = trainer,
                                       .incarnation = incarnation,
                                       .secret = TEST_SECRET,
                                       .declaration = declare_two(),
                                       .agreement = { .mode = SGD_SYNCHRONOUS + 1,
                                                      .trainers = trainers },
                                       .n_servers = n,
                                       .timeout_us = 120 * USEC_PER_SEC };
    struct ps_host hosts[SERVERS];

    *w = (struct worker){ .trainer = trainer };
    for (uint32_t i = 0; i < ROWS; i++)
        w->ids[i] = i;
    hosts_of(servers, n, hosts);
    if (ps_client_new(&config, &w->client, NULL) < 0 ||
        ps_client_connect(w->client, hosts, NULL) < 0)
        _exit(3);
}

static int talk(struct worker *w, bool enters, bool push, bool leaves)
{
    float *values[PARAMS] = { [PARAM_WEIGHT] = w->weight };
    const float *gradients[PARAMS] = { [PARAM_WEIGHT] = w->weight_gradient };
    struct exchange_rows rows = { .param = PARAM_TABLE,
                                  .n_push = push ? w->n_pushed : 0,
                                  .push_ids = w->pushed_ids,
                                  .push_rows = w->pushed,
                                  .n_pull = ROWS,
                                  .pull_ids = w->ids,
                                  .ret_rows = w->rows };
    struct exchange exchange = { .push = push,
                                 .enters = enters,
                                 .leaves = leaves,
                                 .samples = push ? 8 : 0,
                                 .dense_gradients = push ? gradients : NULL,
                                 .ret_dense = values,
                                 .rows = &rows,
                                 .n_rows = 1 };
    struct edl_error error = { 0 };
    int r = ps_client_exchange(w->client, &exchange, &error);

    if (r < 0)
        (void)fprintf(stderr, "trainer %u: %s\n", w->trainer, error.text);
    return r;
}

static void make_gradient(struct worker *w, unsigned step)
{
    for (unsigned i = 0; i < DENSE; i++)
        w->weight_gradient[i] =
            0.3f * w->weight[i] + sinf((float)(step + 7 * w->trainer + i)) / 3.0f;
    w->n_pushed = 1 + (step + w->trainer) % 3;
    for (uint32_t k = 0; k < w->n_pushed; k++) {
        w->pushed_ids[k] = (step * 5 + w->trainer * 2 + k * 4) % ROWS;
        for (unsigned c = 0; c < COLUMNS; c++)
            w->pushed[k * COLUMNS + c] =
                0.1f * w->rows[w->pushed_ids[k] * COLUMNS + c] + (float)(w->trainer + c) / 7.0f;
    }
}

/* steps: all at once in one stay; a delay makes it the last one of each round */
static _Noreturn void work(struct worker *w, struct seen *seen, unsigned steps, bool is_late)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (talk(w, true, false, false) < 0)
        _exit(4);
    for (unsigned step = 0; step < steps; step++) {
        /* the others have pushed meanwhile, most of the time: the sum must not depend on it */
        for (unsigned times = 0; times < (is_late ? 2000u : 1u); times++)
            make_gradient(w, step);
        if (talk(w, false, true, step + 1 == steps) < 0)
            _exit(5);
        (void)__atomic_add_fetch(&seen->steps, 1, __ATOMIC_RELAXED);
        (void)!write(told[1], "s", 1);
    }
    memcpy(seen->weight[w->trainer], w->weight, sizeof w->weight);
    memcpy(seen->rows[w->trainer], w->rows, sizeof w->rows);
    (void)ps_client_free(w->client);
    _exit(0);
}

static pid_t work_in_child(const struct test_server *servers, struct seen *seen, uint32_t trainer,
                           uint32_t trainers, unsigned steps, bool is_late)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct worker w;

        worker_open(&w, servers, SERVERS, trainer, 1, trainers);
        work(&w, seen, steps, is_late);
    }
    return pid;
}

/* The same in this process: the sum of all, in the order of the trainers, as one push on a table.
 */
static void alone(unsigned trainers, unsigned steps, float *ret_weight, float *ret_rows)
{
    struct declaration d = declare_two();
    struct table *table = NULL;
    struct worker w = { 0 };
    float *values[PARAMS] = { [PARAM_WEIGHT] = w.weight };

    assert_int_equal(table_new(&d, 0, 1, &table, NULL), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        w.ids[i] = i;
    for (unsigned step = 0; step <= steps; step++) {
        float sum[DENSE] = { 0 }, row_sum[ROWS * COLUMNS] = { 0 };
        const float *gradients[PARAMS] = { [PARAM_WEIGHT] = sum };
        uint32_t ids[ROWS], n_ids = 0;
        bool has[ROWS] = { false };
        float packed[ROWS * COLUMNS];
        struct exchange_rows rows = { .param = PARAM_TABLE,
                                      .push_ids = ids,
                                      .push_rows = packed,
                                      .n_pull = ROWS,
                                      .pull_ids = w.ids,
                                      .ret_rows = w.rows };
        struct exchange exchange = { .push = step > 0,
                                     .samples = step > 0 ? 8 * trainers : 0,
                                     .dense_gradients = step > 0 ? gradients : NULL,
                                     .ret_dense = values,
                                     .rows = &rows,
                                     .n_rows = 1 };

        for (uint32_t t = 0; step > 0 && t < trainers; t++) {
            w.trainer = t;
            make_gradient(&w, step - 1);
            for (unsigned i = 0; i < DENSE; i++)
                sum[i] = t == 0 ? w.weight_gradient[i] : sum[i] + w.weight_gradient[i];
            for (uint32_t k = 0; k < w.n_pushed; k++) {
                float *to = row_sum + w.pushed_ids[k] * COLUMNS;

                for (unsigned c = 0; c < COLUMNS; c++)
                    to[c] = has[w.pushed_ids[k]] ? to[c] + w.pushed[k * COLUMNS + c]
                                                 : w.pushed[k * COLUMNS + c];
                has[w.pushed_ids[k]] = true;
            }
        }
        for (uint32_t row = 0; row < ROWS; row++)
            if (has[row]) {
                memcpy(packed + n_ids * COLUMNS, row_sum + row * COLUMNS, COLUMNS * sizeof *packed);
                ids[n_ids++] = row;
            }
        rows.n_push = n_ids;
        assert_int_equal(table_exchange(table, &exchange, NULL), 0);
    }
    memcpy(ret_weight, w.weight, sizeof w.weight);
    memcpy(ret_rows, w.rows, sizeof w.rows);
    (void)table_free(table);
}

static void servers_begin(struct test_server *servers)
{
    for (uint32_t s = 0; s < SERVERS; s++)
        server_start(&servers[s], s, 1, NULL, 0);
}

static void servers_end(struct test_server *servers)
{
    for (uint32_t s = 0; s < SERVERS; s++)
        assert_int_equal(server_stop(&servers[s]), 0);
}

/* Whoever is last, each step is that of all gradients together, bit for bit, in each trainer. */
TEST(test_one_step_is_that_of_all)
{
    for (uint32_t late = 0; late < 3; late++) {
        struct test_server servers[SERVERS];
        struct seen *seen = seen_new();
        float weight[DENSE], rows[ROWS * COLUMNS];
        pid_t pids[3];

        servers_begin(servers);
        for (uint32_t t = 0; t < 3; t++)
            pids[t] = work_in_child(servers, seen, t, 3, STEPS, t == late);
        for (uint32_t t = 0; t < 3; t++)
            assert_int_equal(child_wait(pids[t]), 0);
        alone(3, STEPS, weight, rows);
        for (uint32_t t = 0; t < 3; t++) {
            assert_memory_equal(seen->weight[t], weight, sizeof weight);
            assert_memory_equal(seen->rows[t], rows, sizeof rows);
        }
        servers_end(servers);
        (void)munmap(seen, sizeof *seen);
    }
}

/* Uneven data: who has no more leaves, and the others go on. */
TEST(test_who_has_no_more_data_leaves)
{
    struct test_server servers[SERVERS];
    struct seen *seen = seen_new();
    pid_t few, more;

    servers_begin(servers);
    few = work_in_child(servers, seen, 0, 2, 5, false);
    more = work_in_child(servers, seen, 1, 2, 25, false);
    assert_int_equal(child_wait(few), 0);
    assert_int_equal(child_wait(more), 0);
    assert_int_equal(seen->steps, 30);
    servers_end(servers);
    (void)munmap(seen, sizeof *seen);
}

/* Trainers are killed between and within their rounds, others come: those that live take all of
 * their steps. */
TEST(test_deaths_and_arrivals_stall_nobody)
{
    struct test_server servers[SERVERS];
    struct seen *seen = seen_new();
    pid_t stays, dies;
    char step;

    assert_int_equal(pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fcntl(told[0], F_SETFL, 0), 0);
    servers_begin(servers);
    stays = work_in_child(servers, seen, 0, 0, 3000, false);
    for (unsigned round = 0; round < 12; round++) {
        dies = work_in_child(servers, seen, 1 + round % 2, 0, 1000000, false);
        for (unsigned steps = 0; steps < 20 + round; steps++)
            assert_int_equal(read(told[0], &step, 1), 1);
        assert_int_equal(kill(dies, SIGKILL), 0);
        assert_int_equal(child_wait(dies), -SIGKILL);
    }
    assert_int_equal(child_wait(stays), 0);
    assert_true(seen->steps >= 3000);
    told[0] = safe_close(told[0]);
    told[1] = safe_close(told[1]);
    servers_end(servers);
    (void)munmap(seen, sizeof *seen);
}

/* A trainer that has entered and stands still holds the round, and its end ends that. */
TEST(test_a_stopped_trainer_holds_its_round_until_it_ends)
{
    struct test_server servers[SERVERS];
    struct seen *seen = seen_new();
    int status = 0;
    pid_t still, other;

    servers_begin(servers);
    still = fork();
    if (still == 0) {
        struct worker w;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        worker_open(&w, servers, SERVERS, 1, 1, 0);
        if (talk(&w, true, false, false) == 0)
            (void)raise(SIGSTOP);
        _exit(1);
    }
    assert_int_equal(waitpid(still, &status, WUNTRACED), still);
    assert_true(WIFSTOPPED(status));
    other = work_in_child(servers, seen, 0, 0, 10, false);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
    assert_int_equal(__atomic_load_n(&seen->steps, __ATOMIC_RELAXED), 0);
    assert_int_equal(kill(still, SIGKILL), 0);
    assert_int_equal(child_wait(still), -SIGKILL);
    assert_int_equal(child_wait(other), 0);
    assert_int_equal(seen->steps, 10);
    servers_end(servers);
    (void)munmap(seen, sizeof *seen);
}

/* A push without an ENTER before it is refused on this side; all trainers are of one mode. */
TEST(test_refused)
{
    struct test_server servers[SERVERS];
    struct ps_host hosts[SERVERS];
    struct worker w;
    struct edl_error error = { 0 };
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = 1,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .declaration = declare_two(),
                                       .agreement = { .mode = SGD_ASYNCHRONOUS + 1 },
                                       .n_servers = SERVERS };
    struct ps_client *other = NULL;

    servers_begin(servers);
    worker_open(&w, servers, SERVERS, 0, 1, 0);
    make_gradient(&w, 0);
    assert_int_equal(talk(&w, false, true, false), EDL_ESTALE);
    hosts_of(servers, SERVERS, hosts);
    assert_int_equal(ps_client_new(&config, &other, NULL), 0);
    assert_int_equal(ps_client_connect(other, hosts, &error), -EINVAL);
    assert_non_null(strstr(error.text, "trainer-1 has --sync=no, and trainer-0 has yes"));
    (void)ps_client_free(other);
    (void)ps_client_free(w.client);
    servers_end(servers);
}
