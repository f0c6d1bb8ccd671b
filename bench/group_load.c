/* SPDX-License-Identifier: Apache-2.0 */
/* group_load.c - a rank of a group whose steps are timed: `group_load [OPTIONS] DIR`
 *
 * The gradient of a micro-batch is written afresh in each step, and summed. The values move by the
 * sum, and some sums are compared with what they must be. DIR/INDEX.INCARNATION gets lines, with
 * times in microseconds of CLOCK_MONOTONIC:
 *
 *     start TIME PID
 *     step STEP GENERATION SIZE COMPUTED_US SUMMED_US COMMITTED_US
 *
 * COMPUTED_US is when the last gradient was written, SUMMED_US when the sum was there. A step that
 * a newcomer only follows has no line. Without --steps it goes on until SIGTERM.
 *
 *   --exact     exact sums, else those of 32-bit floats
 *   --apart     ranks of one machine share no memory, as if they were on several
 *
 * `group_load --kill PID` prints the time, and kills. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define ALIVE_US (5 * USEC_PER_SEC)

enum { CHECKED = 16, KINDS = 128 };

struct load {
    uint64_t n_values, micro_batches, steps;
    int exact, apart;
    const char *dir;
    int log_fd;
    float *values;
};

static struct edl_group *running;

static void on_signal(int number)
{
    (void)number;
    edl_group_leave(running);
}

static int die(const char *what, const char *why)
{
    (void)fprintf(stderr, "group_load: %s: %s\n", what, why);
    return 1;
}

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

/* value_of - few bits, so that any order of additions has the same sum */
static float value_of(uint64_t step, uint64_t m, uint64_t i)
{
    return (float)((i + step + 3 * m) % KINDS) / KINDS;
}

/* add_gradient - the KINDS values come again and again */
static void add_gradient(const struct load *load, uint64_t step, uint64_t m, float *gradient)
{
    float kinds[KINDS];

    for (uint64_t i = 0; i < KINDS; i++)
        kinds[i] = value_of(step, m, i);
    for (uint64_t first = 0; first < load->n_values; first += KINDS)
        for (uint64_t i = 0; i < MIN_OF(load->n_values - first, (uint64_t)KINDS); i++)
            gradient[first + i] += kinds[i];
}

/* is_right - of some values */
static bool is_right(const struct load *load, uint64_t step, const float *sum)
{
    for (uint64_t c = 0; c < CHECKED; c++) {
        uint64_t i = (load->n_values - 1) * c / (CHECKED - 1);
        float expected = 0;

        for (uint64_t m = 0; m < load->micro_batches; m++)
            expected += value_of(step, m, i);
        if (sum[i] < expected || sum[i] > expected)
            return false;
    }
    return true;
}

static void move(const struct load *load, const float *sum)
{
    for (uint64_t i = 0; i < load->n_values; i++)
        load->values[i] -= 1e-3f * sum[i];
}

/* note - one write, so that whoever reads the file finds whole lines */
static void note(const struct load *load, const char *line)
{
    if (write(load->log_fd, line, strlen(line)) < 0)
        exit(die(load->dir, strerror(errno)));
}

static int open_log(struct load *load)
{
    const char *index = getenv("EDL_INDEX"), *incarnation = getenv("EDL_INCARNATION");
    char path[4096], line[100];

    (void)snprintf(path, sizeof path, "%s/%s.%s", load->dir, index != NULL ? index : "0",
                   incarnation != NULL ? incarnation : "1");
    load->log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (load->log_fd < 0)
        return die(path, strerror(errno));
    (void)snprintf(line, sizeof line, "start %" PRIu64 " %d\n", now_us(), (int)getpid());
    note(load, line);
    return 0;
}

/* take_step - 1, 0 if a rank was lost, or below 0 */
static int take_step(const struct load *load, struct edl_group *group,
                     const struct edl_group_step *step)
{
    uint64_t m, computed_us, summed_us;
    const float *sum;
    char line[200];
    int r;

    for (computed_us = now_us(); (r = edl_group_take(group, &m)) == 1; computed_us = now_us())
        add_gradient(load, step->step, m, step->gradient);
    if (r == 0)
        r = edl_group_sum(group, &sum);
    summed_us = now_us();
    if (r <= 0)
        return r;
    if (!is_right(load, step->step, sum))
        exit(die("a sum is wrong", "a fault of libedl"));
    move(load, sum);
    (void)edl_group_commit(group);
    if (step->rank == EDL_NO_RANK)
        return 1;
    (void)snprintf(line, sizeof line,
                   "step %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                   step->step, step->generation, step->size, computed_us, summed_us, now_us());
    note(load, line);
    return 1;
}

static int run(struct load *load)
{
    const struct edl_group_bucket bucket = { "values", load->n_values };
    const struct edl_group_part state = { load->values, load->n_values * sizeof *load->values };
    const struct edl_group_options options = { .micro_batches = load->micro_batches,
                                               .buckets = &bucket,
                                               .n_buckets = 1,
                                               .state = &state,
                                               .n_parts = 1,
                                               .steps = load->steps,
                                               .exact = load->exact,
                                               .alive_us = ALIVE_US };
    const struct sigaction action = { .sa_handler = on_signal };
    struct edl_client *client = NULL;
    struct edl_group_step step;
    int r;

    if (edl_client_new(NULL, &client) < 0)
        return die("no client", "it is to run as a process of a job");
    if (edl_group_new(client, &options, &running) < 0)
        return die("no group", edl_last_error(client));
    if (load->apart)
        running->machine = 0;
    (void)sigaction(SIGTERM, &action, NULL);
    do {
        r = edl_group_begin(running, &step);
        if (r == 1)
            r = MIN_OF(take_step(load, running, &step), 0) + 1;
    } while (r == 1);
    if (r < 0)
        r = die("the group", edl_group_error(running));
    running = edl_group_free(running);
    edl_client_free(client);
    return r;
}

static int kill_now(uint64_t pid)
{
    uint64_t at_us = now_us();

    if (kill((pid_t)pid, SIGKILL) < 0)
        return die("kill", strerror(errno));
    return printf("%" PRIu64 "\n", at_us) < 0;
}

int main(int argc, char **argv)
{
    struct load load = { .n_values = 565785, .micro_batches = 4 };
    uint64_t pid = 0;
    const struct option options[] = {
        { "values", required_argument, NULL, 'v' },
        { "micro-batches", required_argument, NULL, 'm' },
        { "steps", required_argument, NULL, 's' },
        { "kill", required_argument, NULL, 'k' },
        { "exact", no_argument, &load.exact, 1 },
        { "apart", no_argument, &load.apart, 1 },
        { NULL, 0, NULL, 0 },
    };
    bool bad = false;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        uint64_t *number = option == 'v'   ? &load.n_values
                           : option == 'm' ? &load.micro_batches
                           : option == 's' ? &load.steps
                           : option == 'k' ? &pid
                                           : NULL;

        bad |= option == '?' || (number != NULL && parse_u64(optarg, number) < 0);
    }
    if (!bad && pid > 0)
        return kill_now(pid);
    if (bad || argc != optind + 1 || load.n_values == 0) {
        (void)fprintf(stderr, "usage: group_load [--values N] [--micro-batches N] [--steps N] "
                              "[--exact] [--apart] DIR\n       group_load --kill PID\n");
        return 2;
    }
    load.dir = argv[optind];
    load.values = xcalloc(load.n_values, sizeof *load.values);
    if (open_log(&load) != 0)
        return 1;
    return run(&load);
}
