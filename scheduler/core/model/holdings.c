/* SPDX-License-Identifier: Apache-2.0 */
/* holdings.c - what the jobs that are not over take of the scheduler itself, by user and in all */
#include "scheduler/core/model/holdings.h"

#include <stdio.h>
#include <errno.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/spec_size.h"
#include "shared/error.h"
#include "shared/macro.h"

static const struct {
    const char *name, *what, *remedy;
} amounts[] = {
    [HOLDING_JOBS] = { "jobs", "jobs that are not over",
                       "wait until some have ended, or kill some" },
    [HOLDING_INSTANCES] = { "instances", "instances of jobs that are not over",
                            "wait until some have ended, or ask for fewer instances" },
    [HOLDING_BYTES] = { "bytes", "bytes of documents of jobs that are not over",
                        "put what is long in env, command or entrypoint into a file of the "
                        "workspace, or wait until some have ended" },
    [HOLDING_TASKS] = { "tasks", "tasks of jobs that are not over",
                        "put more chunks into each task, or wait until some jobs have ended" },
    [HOLDING_TASK_BYTES] = { "task_bytes", "bytes of tasks of jobs that are not over",
                             "let chunks be larger pieces of files, or wait until some jobs have "
                             "ended" },
};

const char *holding_amount_to_string(unsigned amount)
{
    return amounts[amount].name;
}

static struct holding *find(const struct holdings *holdings, const char *user)
{
    struct holding *found;

    HASH_FIND_STR(holdings->users, user, found);
    return found;
}

uint64_t holdings_jobs(const struct holdings *holdings, const char *user)
{
    const struct holding *holding = find(holdings, user);

    return holding != NULL ? holding->amounts[HOLDING_JOBS] : 0;
}

static void add(uint64_t sums[HOLDING_AMOUNTS], const struct job *job)
{
    sums[HOLDING_JOBS]++;
    sums[HOLDING_INSTANCES] += job->held_instances;
    sums[HOLDING_BYTES] += job->held_bytes;
    sums[HOLDING_TASKS] += job->held_tasks;
    sums[HOLDING_TASK_BYTES] += job->held_task_bytes;
}

static void subtract(uint64_t sums[HOLDING_AMOUNTS], const struct job *job)
{
    sums[HOLDING_JOBS]--;
    sums[HOLDING_INSTANCES] -= job->held_instances;
    sums[HOLDING_BYTES] -= job->held_bytes;
    sums[HOLDING_TASKS] -= job->held_tasks;
    sums[HOLDING_TASK_BYTES] -= job->held_task_bytes;
}

static struct holding *find_or_add(struct holdings *holdings, const char *user)
{
    struct holding *holding = find(holdings, user);

    if (holding == NULL) {
        holding = xcalloc(1, sizeof *holding);
        (void)snprintf(holding->user, sizeof holding->user, "%s", user);
        HASH_ADD_STR(holdings->users, user, holding);
    }
    return holding;
}

static void drop_empty(struct holdings *holdings, struct holding *holding)
{
    if (holding->amounts[HOLDING_JOBS] > 0 || holding->ended > 0)
        return;
    HASH_DEL(holdings->users, holding);
    free(holding);
}

void holdings_enter(struct holdings *holdings, struct job *job)
{
    struct holding *holding = find_or_add(holdings, job->user);

    job->held_bytes = job_spec_bytes(job->spec);
    job->held_instances = 0;
    job->held_tasks = job->queue != NULL ? task_queue_n_tasks(job->queue) : 0;
    job->held_task_bytes = job->queue != NULL ? task_queue_bytes(job->queue) : 0;
    for (size_t r = 0; r < job->spec->n_roles; r++)
        job->held_instances += job->n_slots[r];
    add(holding->amounts, job);
    add(holdings->all, job);
}

void holdings_leave(struct holdings *holdings, struct job *job)
{
    struct holding *holding = find(holdings, job->user);

    subtract(holding->amounts, job);
    subtract(holdings->all, job);
    drop_empty(holdings, holding);
}

void holdings_ended(struct holdings *holdings, const char *user, int sign)
{
    struct holding *holding = find_or_add(holdings, user);

    holding->ended += (uint64_t)sign;
    drop_empty(holdings, holding);
}

void holdings_grow(struct holdings *holdings, struct job *job, uint32_t instances)
{
    job->held_instances += instances;
    find(holdings, job->user)->amounts[HOLDING_INSTANCES] += instances;
    holdings->all[HOLDING_INSTANCES] += instances;
}

void holdings_data(struct holdings *holdings, struct job *job)
{
    struct holding *holding = find(holdings, job->user);

    subtract(holding->amounts, job);
    subtract(holdings->all, job);
    job->held_tasks = task_queue_n_tasks(job->queue);
    job->held_task_bytes = task_queue_bytes(job->queue);
    add(holding->amounts, job);
    add(holdings->all, job);
}

void holdings_done(struct holdings *holdings)
{
    struct holding *holding, *next;

    HASH_ITER(hh, holdings->users, holding, next)
    {
        HASH_DEL(holdings->users, holding);
        free(holding);
    }
}

/* The owner of a limit, and the amount that is held. */
struct held {
    const char *who; /* "": all */
    const uint64_t *amounts;
    uint64_t ended; /* jobs that should have left the core */
};

/* Only because of jobs that ended and are on their way to the database. */
static int refuse_ended(const struct held *held, uint64_t limit, struct edl_error *error)
{
    (void)edl_error_set(error, -EDQUOT,
                        "jobs%s: %llu are not over and %llu that ended are being put away, %llu "
                        "may be",
                        held->who, (unsigned long long)held->amounts[HOLDING_JOBS],
                        (unsigned long long)held->ended, (unsigned long long)limit);
    return edl_error_remedy(error, "submit again in a second");
}

static int check(const struct held *held, const uint64_t more[HOLDING_AMOUNTS],
                 const uint64_t limits[HOLDING_AMOUNTS], struct edl_error *error)
{
    const uint64_t *amount = held->amounts;

    for (unsigned i = 0; i < HOLDING_AMOUNTS; i++) {
        uint64_t ended = i == HOLDING_JOBS ? held->ended : 0;

        if (more[i] == 0 || limits[i] == 0 || amount[i] + ended + more[i] <= limits[i])
            continue;
        if (amount[i] + more[i] <= limits[i])
            return refuse_ended(held, limits[i], error);
        (void)edl_error_set(error, -EDQUOT, "%s%s: %llu there are, %llu would come, %llu may be",
                            amounts[i].what, held->who, (unsigned long long)amount[i],
                            (unsigned long long)more[i], (unsigned long long)limits[i]);
        return edl_error_remedy(error, "%s", amounts[i].remedy);
    }
    return 0;
}

static uint64_t with_ended(const struct held *held, unsigned amount)
{
    return held->amounts[amount] + (amount == HOLDING_JOBS ? held->ended : 0);
}

/* Of the bounds of all users no user takes more than stays free. So however few users take all that
 * they can, those who have less find a share. The first job of a user needs room only. */
static int check_share(const struct held *own, const struct held *all,
                       const uint64_t more[HOLDING_AMOUNTS], const uint64_t limits[HOLDING_AMOUNTS],
                       struct edl_error *error)
{
    if (own->amounts[HOLDING_JOBS] == 0 && own->ended == 0 && more[HOLDING_JOBS] == 1)
        return 0;
    for (unsigned i = 0; i < HOLDING_AMOUNTS; i++) {
        uint64_t held = with_ended(own, i), taken = with_ended(all, i) + more[i];

        if (more[i] == 0 || limits[i] == 0 || held + more[i] + taken <= limits[i])
            continue;
        (void)edl_error_set(error, -EDQUOT,
                            "%s%s: %llu there are, %llu would come, and %llu would be left for "
                            "others: nobody takes more than he leaves",
                            amounts[i].what, own->who, (unsigned long long)held,
                            (unsigned long long)more[i],
                            (unsigned long long)(limits[i] - MIN_OF(taken, limits[i])));
        return edl_error_remedy(error, "%s", amounts[i].remedy);
    }
    return 0;
}

/* user NULL: only the sum of all users counts. */
static int check_both(const struct cluster *cluster, const char *user,
                      const uint64_t more[HOLDING_AMOUNTS], const struct holding_limits *limits,
                      struct edl_error *error)
{
    static const uint64_t none[HOLDING_AMOUNTS];
    const struct holding *holding = user != NULL ? find(&cluster->holdings, user) : NULL;
    uint64_t beyond = cluster_archive_leaving(cluster);
    char who[ACCOUNT_NAME_MAX + 16];
    struct held own = { .who = who, .amounts = holding != NULL ? holding->amounts : none };
    struct held all = { .who = "", .amounts = cluster->holdings.all, .ended = beyond };

    (void)snprintf(who, sizeof who, " of %s", user != NULL ? user : "");
    own.ended = holding != NULL ? MIN_OF(beyond, holding->ended) : 0;
    if (user != NULL && check(&own, more, limits->user, error) < 0)
        return -EDQUOT;
    if (check(&all, more, limits->all, error) < 0)
        return -EDQUOT;
    return user != NULL ? check_share(&own, &all, more, limits->all, error) : 0;
}

int cluster_check_submit(const struct cluster *cluster, const struct job_spec *spec,
                         const char *user, const struct holding_limits *limits,
                         struct edl_error *error)
{
    uint64_t n = spec->array.name == NULL && spec->array.n > 0 ? spec->array.n : 1;
    const uint64_t more[HOLDING_AMOUNTS] = {
        [HOLDING_JOBS] = n,
        [HOLDING_INSTANCES] = n * job_spec_instances(spec),
        [HOLDING_BYTES] = n * job_spec_bytes(spec),
    };

    int r = spec_check_size(spec, error); /* a request that never has room is told first */

    return r < 0 ? r : check_both(cluster, user, more, limits, error);
}

int cluster_check_scale(const struct cluster *cluster, const struct job *job, uint32_t role,
                        uint32_t max, bool user_counts, const struct holding_limits *limits,
                        struct edl_error *error)
{
    const uint64_t more[HOLDING_AMOUNTS] = {
        [HOLDING_INSTANCES] = max > job->n_slots[role] ? max - job->n_slots[role] : 0,
    };

    return check_both(cluster, user_counts ? job->user : NULL, more, limits, error);
}

int cluster_check_dataset(const struct cluster *cluster, const char *user, uint64_t tasks,
                          uint64_t bytes, const struct holding_limits *limits,
                          struct edl_error *error)
{
    const uint64_t more[HOLDING_AMOUNTS] = {
        [HOLDING_TASKS] = tasks, [HOLDING_TASK_BYTES] = bytes
    };

    return check_both(cluster, user, more, limits, error);
}
