/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - edl-scheduler: one per cluster */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "scheduler/restore_backup.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/log.h"

#define EXIT_USAGE 2

/* edl admin restore */
static int restore(const struct scheduler_options *options)
{
    struct restored restored = { 0 };
    struct edl_error error = { 0 };

    if (restore_backup(options, &restored, &error) < 0) {
        (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                      error.remedy[0] != '\0' ? "; " : "", error.remedy);
        return EXIT_FAILURE;
    }
    (void)printf("restored %" PRIu64 " jobs and %" PRIu64 " nodes; new numbers begin at %" PRIu64
                 "\n",
                 restored.jobs, restored.nodes, restored.first_number);
    if (restored.aside[0] != '\0')
        (void)printf("the former database is %s\n", restored.aside);
    return EXIT_SUCCESS;
}

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
    if (options.restore_file[0] != '\0')
        return restore(&options);
    if (scheduler_new(&options, &scheduler, &error) < 0) {
        (void)log_failure(&error, "cannot start");
        return EXIT_FAILURE;
    }
    r = scheduler_run(scheduler);
    (void)scheduler_free(scheduler);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
