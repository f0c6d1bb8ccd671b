/* SPDX-License-Identifier: Apache-2.0 */
/* database_check.c - see database_check.h */
#include "scheduler/database_check.h"

#include <stdio.h>

#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/store.h"
#include "scheduler/worker.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

struct check {
    struct worker_job job; /* first: worker_abandon */
    struct scheduler *scheduler;
    struct edl_error error;
    int r;
    char path[STATE_PATH_MAX];
};

static void run_check(struct worker_job *job)
{
    struct check *check = (struct check *)job;

    check->r = store_check_pages(check->path, &check->error);
}

static void on_checked(struct worker_job *job)
{
    struct check *check = (struct check *)job;
    struct scheduler *scheduler = check->scheduler;

    if (check->r == EDL_ECORRUPT) {
        store_stay_open(scheduler->store);
        scheduler_end(scheduler, END_DAMAGED, &check->error);
    } else if (check->r < 0) {
        log_warning("the database was not checked: %s", check->error.text);
    } else {
        log_info("every page of the database was checked");
    }
    free(check);
}

int database_check_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct check *check;
    int r;

    if (scheduler->store == NULL || !store_wants_check(scheduler->store))
        return 0;
    r = worker_new(scheduler->event, "edl-check", &scheduler->checker, error);
    if (r < 0)
        return r;
    check = xcalloc(1, sizeof *check);
    check->job = (struct worker_job){ .run = run_check, .done = on_checked };
    check->scheduler = scheduler;
    state_path(&scheduler->options, "edl.db", check->path);
    worker_start(scheduler->checker, &check->job);
    return 0;
}

void database_check_done(struct scheduler *scheduler)
{
    scheduler->checker = worker_abandon(scheduler->checker);
}
