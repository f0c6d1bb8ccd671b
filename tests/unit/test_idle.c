/* SPDX-License-Identifier: Apache-2.0 */
/* test_idle.c - the end of an idle command, and the CPU, company and GPUs that it goes by */
#include "agent/idle/idle_rule.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/idle/gpu_use.h"
#include "agent/idle/group_use.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "tests/unit/test.h"

#define MINUTE_US (60 * USEC_PER_SEC)
#define DEADLINE_MS 120000

/* ---- the rule ---- */

/* A place that is looked at every so often, in which so much of a core is used. */
struct place {
    struct idle_rule rule;
    struct idle_look look;
    struct idle_verdict verdicts[IDLE_KINDS];
    unsigned told;
};

static void begin(struct place *place, uint64_t idle_us, uint64_t sessions_us)
{
    *place = (struct place){ .look = { .now_us = 77 * MINUTE_US, .used_us = 5 * MINUTE_US } };
    idle_rule_begin(&place->rule, idle_us, sessions_us);
    idle_rule_look(&place->rule, &place->look, place->verdicts);
}

static void pass(struct place *place, uint64_t us, uint64_t used_us)
{
    place->look.now_us += us;
    place->look.used_us += used_us;
    idle_rule_look(&place->rule, &place->look, place->verdicts);
    for (size_t i = 0; i < IDLE_KINDS; i++)
        place->told += place->verdicts[i].tells;
}

/* pass_until - looks at its own times until something ends; for so long */
static uint64_t pass_until(struct place *place, uint64_t used_us_per_s, uint64_t most_us)
{
    uint64_t every_us = idle_rule_every(&place->rule), us = 0;

    while (us < most_us && !place->verdicts[IDLE_WORK].ends &&
           !place->verdicts[IDLE_COMPANY].ends) {
        pass(place, every_us, used_us_per_s * every_us / USEC_PER_SEC);
        us += every_us;
    }
    return us;
}

TEST(test_two_idle_hours_end_it_and_each_tenth_is_told)
{
    struct place place;

    begin(&place, 120 * MINUTE_US, 0);
    assert_int_equal(idle_rule_every(&place.rule), 30 * USEC_PER_SEC);
    assert_int_equal(pass_until(&place, 0, 300 * MINUTE_US), 120 * MINUTE_US);
    assert_true(place.verdicts[IDLE_WORK].ends);
    assert_false(place.verdicts[IDLE_COMPANY].ends);
    assert_int_equal(place.told, 9); /* the tenth one is the end */
}

TEST(test_a_hundredth_of_a_core_is_idle_and_more_is_not)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 0);
    assert_int_equal(pass_until(&place, 10000, 60 * MINUTE_US), 10 * MINUTE_US);
    begin(&place, 10 * MINUTE_US, 0);
    assert_int_equal(pass_until(&place, 10100, 60 * MINUTE_US), 60 * MINUTE_US);
    assert_int_equal(place.told, 0);
}

TEST(test_work_begins_the_time_anew_and_is_told_where_less_was_told)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 0);
    (void)pass_until(&place, 0, 9 * MINUTE_US);
    assert_int_equal(place.verdicts[IDLE_WORK].left_us, MINUTE_US);
    pass(&place, 15 * USEC_PER_SEC, USEC_PER_SEC);
    assert_true(place.verdicts[IDLE_WORK].is_over);
    pass(&place, 15 * USEC_PER_SEC, USEC_PER_SEC);
    assert_false(place.verdicts[IDLE_WORK].is_over); /* once */
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 10 * MINUTE_US);
}

TEST(test_a_gpu_that_works_is_work)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 0);
    place.look.gpu_works = true;
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 60 * MINUTE_US);
    place.look.gpu_works = false;
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 10 * MINUTE_US);
}

TEST(test_what_is_not_known_is_work)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 0);
    (void)pass_until(&place, 0, 9 * MINUTE_US);
    place.look.used_is_unknown = true;
    pass(&place, 15 * USEC_PER_SEC, 0);
    assert_int_equal(place.verdicts[IDLE_WORK].quiet_us, 0);
    place.look.used_is_unknown = false;
    pass(&place, 15 * USEC_PER_SEC, 0); /* since a look that saw nothing */
    assert_int_equal(place.verdicts[IDLE_WORK].quiet_us, 0);
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 10 * MINUTE_US);
}

/* A process that ends takes what it used with it, where processes are added up. */
TEST(test_a_sum_that_falls_is_no_work)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 0);
    place.look.used_us = 0;
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 10 * MINUTE_US);
}

/* Frozen with its group for an hour, or asleep with its machine: nothing could work. */
TEST(test_time_that_nobody_saw_is_not_idle)
{
    struct place place;

    begin(&place, 10 * MINUTE_US, 10 * MINUTE_US);
    pass(&place, 60 * MINUTE_US, 0);
    assert_false(place.verdicts[IDLE_WORK].ends);
    assert_false(place.verdicts[IDLE_COMPANY].ends);
    assert_int_equal(place.verdicts[IDLE_WORK].quiet_us, 30 * USEC_PER_SEC);
    assert_int_equal(place.verdicts[IDLE_COMPANY].quiet_us, 30 * USEC_PER_SEC);
}

TEST(test_an_empty_place_ends)
{
    struct place place;

    begin(&place, 0, MINUTE_US);
    place.look.has_company = true;
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), 60 * MINUTE_US);
    place.look.has_company = false;
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), MINUTE_US);
    assert_true(place.verdicts[IDLE_COMPANY].ends);
    assert_false(place.verdicts[IDLE_WORK].ends);
    assert_int_equal(place.told, 9);
}

/* A short session between two looks leaves nothing but the time that it used. */
TEST(test_somebody_who_came_and_left_was_there)
{
    struct place place;

    begin(&place, 0, MINUTE_US);
    (void)pass_until(&place, 0, 50 * USEC_PER_SEC);
    pass(&place, idle_rule_every(&place.rule), 3000);
    assert_true(place.verdicts[IDLE_COMPANY].is_over);
    assert_int_equal(pass_until(&place, 0, 60 * MINUTE_US), MINUTE_US);
}

/* ---- the group ---- */

/* burn - until it has used so much */
static void burn(uint64_t us)
{
    uint64_t begun_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);

    while (clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - begun_us < us)
        ;
}

struct worker {
    int ready[2], stay[2];
};

/* start_worker - works, says so, and stays until the pipe ends */
static void start_worker(struct worker *worker, uint64_t us)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid != 0)
        return;
    (void)safe_close(worker->stay[1]);
    burn(us);
    (void)!write(worker->ready[1], "", 1);
    (void)!read(worker->stay[0], &(char){ 0 }, 1);
    _exit(0);
}

static void await_worker(const struct worker *worker)
{
    struct pollfd p = { .fd = worker->ready[0], .events = POLLIN };
    char c;

    assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
    assert_int_equal(read(worker->ready[0], &c, 1), 1);
}

static void open_worker(struct worker *worker)
{
    assert_int_equal(pipe2(worker->ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(worker->stay, O_CLOEXEC), 0);
}

/* close_worker - returns when it has ended: it may be a child of a child, and holds its end of the
 * pipe until then */
static void close_worker(struct worker *worker)
{
    char c;

    (void)safe_close(worker->stay[0]);
    (void)safe_close(worker->stay[1]);
    (void)safe_close(worker->ready[1]);
    while (read(worker->ready[0], &c, 1) > 0)
        ;
    (void)safe_close(worker->ready[0]);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void look(struct group_use *use, uint64_t *ret_used_us, bool *ret_others)
{
    assert_true(group_use_look(use, 0, 0, ret_used_us, ret_others));
}

/* Without a supervisor above us the group is others' as well. */
TEST(test_what_is_below_us_is_added_up)
{
    uint64_t before_us, used_us;
    struct worker worker;
    struct group_use use;
    bool others;

    group_use_begin(&use);
    assert_false(group_use_is_ours(&use));
    look(&use, &before_us, &others);
    assert_false(others);
    burn(100000); /* that is us */
    look(&use, &used_us, &others);
    assert_int_equal(used_us, before_us);
    open_worker(&worker);
    start_worker(&worker, 200000);
    await_worker(&worker);
    look(&use, &used_us, &others);
    assert_true(others);
    assert_in_range(used_us - before_us, 150000, 1000000);
    close_worker(&worker);
    look(&use, &used_us, &others);
    assert_false(others);
    assert_in_range(used_us - before_us, 150000, 1000000); /* of the child that was waited for */
    group_use_done(&use);
}

static const char *const identity[] = { "EDL_SOCKET", "EDL_JOB_ID", "EDL_ROLE", "EDL_INDEX",
                                        "EDL_INCARNATION" };

/* A session of an agent that is not root is not below us, and has our environment. */
TEST(test_a_session_is_known_by_its_environment)
{
    _cleanup_free_ char *program = text_format("/proc/%d/exe", (int)getpid());
    uint64_t used_us;
    struct worker worker;
    struct group_use use;
    bool others;
    pid_t pid;

    for (size_t i = 0; i < ELEMENTS(identity); i++)
        assert_int_equal(setenv(identity[i], i == 2 ? "trainer" : "1", 1), 0);
    group_use_begin(&use);
    look(&use, &used_us, &others);
    assert_false(others);
    for (int other = 0; other < 2; other++) {
        open_worker(&worker);
        pid = fork();
        if (pid == 0) {
            if (other)
                (void)setenv("EDL_INDEX", "11", 1); /* which has ours in it */
            if (fork() != 0)
                _exit(0);
            /* its environment in /proc is that of an exec */
            (void)dup2(worker.ready[1], STDOUT_FILENO);
            (void)dup2(worker.stay[0], STDIN_FILENO);
            (void)execl("/bin/sh", "sh", "-c", "echo; read line", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        await_worker(&worker);
        look(&use, &used_us, &others);
        assert_int_equal(others, other == 0);
        close_worker(&worker);
    }
    group_use_done(&use);
    for (size_t i = 0; i < ELEMENTS(identity); i++)
        (void)unsetenv(identity[i]);
}

/* ---- GPUs ---- */

TEST(test_which_devices_are_looked_at)
{
    static const struct {
        const char *visible;
        bool works;
    } rows[] = {
        { NULL, true },        /* all */
        { "", false },         /* none */
        { "0", false },        /* it does nothing */
        { "1", true },         /* it works */
        { "0,1", true },       /* one of them */
        { "GPU-aaaa", false }, /* by its name */
        { "GPU-bbbb-2222", true },
        { "GPU-b", true }, /* the beginning of it */
        { "2", false },    /* does not tell */
        { "9", false },    /* is not there */
        { "11", false },   /* is not 1 */
    };
    json_t *gpus =
        json_pack("[{s:s,s:i},{s:s,s:i},{s:s}]", "uuid", "GPU-aaaa-1111", "utilisation_ppm", 0,
                  "uuid", "GPU-bbbb-2222", "utilisation_ppm", 10000, "uuid", "GPU-cccc-3333");

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (gpu_use_of(gpus, rows[i].visible) != rows[i].works)
            fail_msg("CUDA_VISIBLE_DEVICES=%s", rows[i].visible);
    json_decref(gpus);
    assert_true(gpu_use_sees_any(NULL));
    assert_true(gpu_use_sees_any("GPU-aaaa"));
    assert_false(gpu_use_sees_any(""));
}

static void say_gpu(const char *path, const char *words)
{
    _cleanup_free_ char *next = text_format("%s.next", path);
    FILE *file = fopen(next, "we");

    assert_non_null(file);
    (void)fprintf(file, "%s", words);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(next, path), 0);
}

/* await_answer - it has said something since it was asked last */
static void await_answer(const struct gpu_use *use)
{
    struct pollfd p = { .fd = use->fd, .events = POLLIN };

    assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
}

/* The library of the tests says what a file says. One that hangs works; a broken one is none. */
TEST(test_the_helper_asks_the_library)
{
    const char *build = getenv("EDL_BUILD_DIR");
    _cleanup_free_ char *library =
        text_format("%s/tests/lib/libnvidia-ml.so.1", build != NULL ? build : ".");
    char path[] = "/tmp/edl-test-idle-XXXXXX";
    int fd = mkstemp(path);
    struct gpu_use use;

    assert_true(fd >= 0);
    (void)safe_close(fd);
    assert_int_equal(setenv("EDL_NVML_LIBRARY", library, 1), 0);
    assert_int_equal(setenv("EDL_TEST_NVML", path, 1), 0);
    say_gpu(path, "gpu 0000:01:00.0 GPU-a 100 50 0\n");
    gpu_use_begin(&use);
    assert_true(use.pid > 0);
    assert_false(gpu_use_look(&use)); /* nothing was asked yet */
    await_answer(&use);
    assert_false(gpu_use_look(&use));
    await_answer(&use);
    say_gpu(path, "gpu 0000:01:00.0 GPU-a 100 50 30\n");
    assert_false(gpu_use_look(&use)); /* it was said before */
    await_answer(&use);
    assert_true(gpu_use_look(&use));
    await_answer(&use);
    assert_true(use.used_us > 0);
    say_gpu(path, "gpu 0000:01:00.0 GPU-a 100 50 0\n");
    assert_true(gpu_use_look(&use));
    await_answer(&use);
    assert_false(gpu_use_look(&use));
    await_answer(&use);
    say_gpu(path, "hang\n");
    assert_false(gpu_use_look(&use));
    assert_true(gpu_use_look(&use)); /* it was asked, and says nothing */
    assert_true(gpu_use_look(&use));
    assert_int_equal(kill(use.pid, SIGKILL), 0);
    await_answer(&use);
    assert_false(gpu_use_look(&use)); /* nobody tells any more */
    assert_int_equal(use.pid, 0);
    say_gpu(path, "broken\n");
    gpu_use_begin(&use);
    await_answer(&use);
    assert_false(gpu_use_look(&use));
    assert_int_equal(use.pid, 0);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    (void)unsetenv("EDL_NVML_LIBRARY");
    (void)unsetenv("EDL_TEST_NVML");
    (void)unlink(path);
}
