/* SPDX-License-Identifier: Apache-2.0 */
/* backup_copy.c - a backup of a database that schedulers share, made beside the loop */
#include "scheduler/api/backup_copy.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "scheduler/store/copy/copy.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "scheduler/worker.h"
#include "shared/error.h"
#include "shared/macro.h"

struct backup_copy {
    struct worker_job job; /* the first member */
    struct worker *worker; /* owned */
    const char *url, *path;
    atomic_bool given_up;
    struct edl_error error; /* code 0: it is whole */
    void (*done)(void *userdata);
    void *userdata;
};

static void run(struct worker_job *job)
{
    struct backup_copy *copy = (struct backup_copy *)job; /* why: it is the first member */
    const struct copy_wishes wishes = { .where = copy->path, .give_up = &copy->given_up };
    struct copy_place *from = NULL, *to = NULL;
    struct copy_sum sum = { 0 };
    int r = postgresql_copy_source(copy->url, false, &from, &copy->error);

    if (r == 0)
        r = sqlite_copy_target(copy->path, &to, &copy->error);
    if (r == 0)
        (void)copy_all(from, to, &wishes, &sum, &copy->error);
    copy_sum_done(&sum);
    (void)copy_close(to);
    (void)copy_close(from);
}

static void done(struct worker_job *job)
{
    struct backup_copy *copy = (struct backup_copy *)job; /* why: the same */

    copy->done(copy->userdata);
}

int backup_copy_new(sd_event *event, const char *url, const char *path,
                    void (*on_done)(void *userdata), void *userdata, struct backup_copy **ret,
                    struct edl_error *error)
{
    struct backup_copy *copy = xcalloc(1, sizeof *copy);
    int r = worker_new(event, "backup", &copy->worker, error);

    if (r < 0) {
        free(copy);
        return r;
    }
    copy->job.run = run;
    copy->job.done = done;
    copy->url = url;
    copy->path = path;
    copy->done = on_done;
    copy->userdata = userdata;
    worker_start(copy->worker, &copy->job);
    *ret = copy;
    return 0;
}

int backup_copy_result(const struct backup_copy *copy, struct edl_error *error)
{
    *error = copy->error;
    return error->code;
}

struct backup_copy *backup_copy_free(struct backup_copy *copy)
{
    if (copy == NULL)
        return NULL;
    atomic_store(&copy->given_up, true);
    (void)worker_free(copy->worker);
    free(copy);
    return NULL;
}
