/* SPDX-License-Identifier: Apache-2.0 */
/* each.c - a command as a process, again and again, one after the other
 *
 * Usage: each COUNT COMMAND [ARGUMENT]... "%d" at the end of the last argument becomes the number
 * of the process, from 0 on. Their output is thrown away; one that fails ends this. Prints one JSON
 * object: how many a second, and the CPU time of one. A shell would do the same, but to fork a
 * shell takes as long as a small program. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

static void run(char **argv, const posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int status;

    errno = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
    if (errno != 0)
        wire_die(argv[0]);
    if (waitpid(pid, &status, 0) != pid)
        wire_die("waitpid");
    if (status != 0) {
        (void)fprintf(stderr, "each: %s failed\n", argv[0]);
        exit(1);
    }
}

/* numbered - text with the number in place of "%d" at its end, to be freed; NULL: it has none */
static char *numbered(const char *text, uint64_t number)
{
    size_t size = strlen(text);
    char *ret;

    if (size < 2 || !streq(text + size - 2, "%d"))
        return NULL;
    if (asprintf(&ret, "%.*s%" PRIu64, (int)size - 2, text, number) == -1)
        wire_die("asprintf");
    return ret;
}

static double cpu_us(void)
{
    struct rusage used;

    (void)getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    uint64_t count, begin_us, took_us;
    char *last = argv[argc - 1];

    if (argc < 3 || parse_u64(argv[1], &count) < 0 || count == 0) {
        (void)fprintf(stderr, "usage: each COUNT COMMAND [ARGUMENT]...\n");
        return 2;
    }
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0)
        wire_die("posix_spawn");
    begin_us = clock_read_us(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < count; i++) {
        _cleanup_free_ char *text = numbered(last, i);

        argv[argc - 1] = text != NULL ? text : last;
        run(argv + 2, &actions);
    }
    took_us = clock_read_us(CLOCK_MONOTONIC) - begin_us;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)printf("{\"per_s\": %.1f, \"cpu_us\": %.0f}\n",
                 (double)count * 1e6 / (double)MAX_OF(took_us, 1U), cpu_us() / (double)count);
    return 0;
}
