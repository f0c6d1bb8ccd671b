/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - accounting by user: the sums over all jobs of this database */
#include <stdio.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/json/job_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

struct account {
    char user[sizeof((struct job *)0)->user];
    struct usage usage;
    uint64_t n_jobs;
    UT_hash_handle hh;
};

static struct account *account_of(struct account **accounts, const char *user)
{
    struct account *account;

    HASH_FIND_STR(*accounts, user, account);
    if (account != NULL)
        return account;
    account = xcalloc(1, sizeof *account);
    (void)snprintf(account->user, sizeof account->user, "%s", user);
    HASH_ADD_STR(*accounts, user, account);
    return account;
}

/* Of the core: what is not over, and what has just ended. */
static void sum_jobs(const struct cluster *cluster, const char *user, struct account **accounts)
{
    uint64_t now_wall_us = clock_instant().wall_us;

    for (const struct job *job = cluster_jobs(cluster); job != NULL; job = job->hh.next) {
        struct account *account;
        struct usage usage;

        if (user != NULL && !streq(user, job->user))
            continue;
        account = account_of(accounts, job->user);
        usage_of_job(job, now_wall_us, &usage);
        usage_add(&account->usage, &usage);
        account->n_jobs++;
    }
}

static void add_archived(const struct archived_usage *row, void *userdata)
{
    struct account *account = account_of(userdata, row->user);

    usage_add(&account->usage, row->usage);
    account->n_jobs += row->n_jobs;
}

static int by_user(const struct account *a, const struct account *b)
{
    return strcmp(a->user, b->user);
}

void api_usage(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *user = http_request_query(request, "user");
    struct account *accounts = NULL, *account, *next;
    struct edl_error error = { 0 };
    json_t *users = json_array();
    int r;

    askings_note_archive(scheduler);
    r = store_archived_usage(scheduler->store, user, add_archived, &accounts, &error);
    sum_jobs(scheduler->cluster, user, &accounts);
    HASH_SORT(accounts, by_user);
    HASH_ITER(hh, accounts, account, next)
    {
        (void)json_array_append_new(users, json_pack("{s:s,s:I,s:o}", "user", account->user, "jobs",
                                                     (json_int_t)account->n_jobs, "usage",
                                                     usage_to_json(&account->usage)));
        HASH_DEL(accounts, account);
        free(account);
    }
    if (r == 0) {
        http_reply_json(request, 200, json_pack("{s:o}", "users", users));
        return;
    }
    json_decref(users);
    http_reply_error(request, &error);
}
