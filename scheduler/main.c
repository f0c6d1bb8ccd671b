/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - edl-scheduler: one per cluster */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/log.h"

#define EXIT_USAGE 2

int main(int argc, char **argv)
{
    struct edl_error error = { 0 };
    struct scheduler_options options;
    struct scheduler *scheduler;
    bool done;
    int r;

    log_init("edl-scheduler");
    (void)umask(077);
    if (options_parse(argc, argv, &options, &done, &error) < 0) {
        (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                      error.remedy[0] != '\0' ? "; " : "", error.remedy);
        return EXIT_USAGE;
    }
    if (done)
        return EXIT_SUCCESS;
    if (scheduler_new(&options, &scheduler, &error) < 0) {
        (void)log_failure(&error, "cannot start");
        return EXIT_FAILURE;
    }
    r = scheduler_run(scheduler);
    (void)scheduler_free(scheduler);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
