/* SPDX-License-Identifier: Apache-2.0 */
/* curve_job.c - a training job whose work gives it its speed-up curve
 *
 * It takes its tasks from the task queue by libedl, like any program. Of each task a part is done
 * on a device of the instance's own. The rest is done while it holds a token of which the job has
 * one: a lock on a file. Both parts wait on a timer, as a program waits for its device. So a small
 * machine can stand for many devices, and how instances stand in each other's way is real.
 *
 *   --device-ms alone            as fast as it has instances
 *   --token-ms                   at most one task per token-ms, however many there are
 *   --peer-ms                    the token is held so much longer for each other instance (an
 * exchange with all of them): slower with more, beyond a size
 *   --warm-ms                    once, when an instance starts
 *
 * Usage: curve_job --tasks N --device-ms MS [--token-ms MS] [--peer-ms MS] [--warm-ms MS]
 * TOKEN-FILE */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define TASKS_MAX 100000
#define PEERS_LOOK_US USEC_PER_SEC

struct curve {
    uint64_t tasks, device_ms, token_ms, peer_ms, warm_ms;
    int token_fd;
    uint64_t peers, looked_us; /* other instances, as of then */
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* The device is busy for so long; -EINTR: told to stop. */
static int device_wait(uint64_t ms)
{
    const struct timespec time = { .tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000 };

    return stop || clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) != 0 ? -EINTR : 0;
}

static int look_for_peers(struct edl_client *edl, struct curve *curve)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    struct edl_hosts *hosts = NULL;
    int r;

    if (curve->peer_ms == 0 || now_us < curve->looked_us + PEERS_LOOK_US)
        return 0;
    r = edl_hosts_of(edl, "trainer", &hosts);
    if (r < 0)
        return r;
    curve->peers = hosts->n_peers > 0 ? hosts->n_peers - 1 : 0;
    curve->looked_us = now_us;
    edl_hosts_free(hosts);
    return 0;
}

static int with_token(const struct curve *curve)
{
    uint64_t ms = curve->token_ms + curve->peers * curve->peer_ms;
    int r;

    if (ms == 0)
        return 0;
    if (flock(curve->token_fd, LOCK_EX) == -1)
        return -errno;
    r = device_wait(ms);
    (void)flock(curve->token_fd, LOCK_UN);
    return r;
}

static int work(struct edl_client *edl, struct curve *curve, const struct edl_task *task)
{
    int r = device_wait(curve->device_ms);

    if (r == 0)
        r = look_for_peers(edl, curve);
    if (r == 0)
        r = with_token(curve);
    if (r == 0)
        r = edl_task_done(edl, task);
    return r == -ESTALE ? 0 : r; /* somebody else has it by now */
}

static int put_dataset(struct edl_client *edl, uint64_t n)
{
    struct edl_chunk *chunks = xcalloc(n, sizeof *chunks);
    struct edl_piece *pieces = xcalloc(n, sizeof *pieces);
    int r = edl_dataset_exists(edl);

    for (size_t i = 0; i < n; i++) {
        chunks[i] = (struct edl_chunk){ .path = "piece", .offset_bytes = i, .n_records = 1 };
        pieces[i] = (struct edl_piece){ .chunks = &chunks[i], .n_chunks = 1 };
    }
    if (r == 0)
        r = edl_dataset_put(edl, "as many as the command line says", pieces, n);
    free(pieces);
    free(chunks);
    return MIN_OF(r, 0);
}

static int run(struct edl_client *edl, struct curve *curve)
{
    int r = put_dataset(edl, curve->tasks);

    if (r == 0)
        r = device_wait(curve->warm_ms);
    while (r == 0) {
        struct edl_task *task = NULL;

        r = edl_task_next(edl, EDL_FOREVER, &task);
        if (r == EDL_NEXT_FINISHED)
            return 0;
        if (r == EDL_NEXT_SAVE_MODEL)
            return edl_model_saved(edl, "nothing");
        if (r == EDL_NEXT_TASK)
            r = work(edl, curve, task);
        edl_task_free(task);
    }
    return r;
}

static int read_options(int argc, char **argv, struct curve *curve)
{
    static const struct option longs[] = {
        { "tasks", required_argument, NULL, 0 },    { "device-ms", required_argument, NULL, 1 },
        { "token-ms", required_argument, NULL, 2 }, { "peer-ms", required_argument, NULL, 3 },
        { "warm-ms", required_argument, NULL, 4 },  { NULL, 0, NULL, 0 }
    };
    uint64_t *const values[] = { &curve->tasks, &curve->device_ms, &curve->token_ms,
                                 &curve->peer_ms, &curve->warm_ms };
    int c, r = 0;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        r |= c == '?' ? -EINVAL : parse_u64(optarg, values[c]);
    if (r != 0 || optind + 1 != argc || curve->tasks < 1 || curve->tasks > TASKS_MAX)
        return -EINVAL;
    return 0;
}

int main(int argc, char **argv)
{
    const struct sigaction action = { .sa_handler = on_signal };
    struct curve curve = { .token_fd = -1 };
    struct edl_client *edl = NULL;
    int r;

    if (read_options(argc, argv, &curve) < 0) {
        (void)fprintf(stderr, "usage: curve_job --tasks N --device-ms MS [--token-ms MS]"
                              " [--peer-ms MS] [--warm-ms MS] TOKEN-FILE\n");
        return 2;
    }
    curve.token_fd = open(argv[optind], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (curve.token_fd == -1 || edl_client_new(NULL, &edl) < 0) {
        (void)fprintf(stderr, "curve_job: %s cannot be opened, or this is no process of a job\n",
                      argv[optind]);
        return 1;
    }
    (void)sigaction(SIGTERM, &action, NULL); /* without SA_RESTART: it ends all waits */
    edl_client_set_stop(edl, &stop);
    r = run(edl, &curve);
    if (r < 0 && r != -EINTR)
        (void)fprintf(stderr, "curve_job: %s: %s\n", strerror(-r), edl_last_error(edl));
    edl_client_free(edl);
    (void)safe_close(curve.token_fd);
    return r < 0 && r != -EINTR;
}
