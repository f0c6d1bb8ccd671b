/* SPDX-License-Identifier: Apache-2.0 */
/* api_usage.c - accounting by user: the sums over the jobs that are kept */
#include "scheduler/api.h"

#include <stdio.h>

#include "scheduler/job_json.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
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

static struct account *sum_jobs(const struct cluster *cluster, const char *user)
{
    uint64_t now_wall_us = clock_instant().wall_us;
    struct account *accounts = NULL;

    for (const struct job *job = cluster->jobs; job != NULL; job = job->hh.next) {
        struct account *account;
        struct usage usage;

        if (user != NULL && !streq(user, job->user))
            continue;
        account = account_of(&accounts, job->user);
        usage_of_job(job, now_wall_us, &usage);
        usage_add(&account->usage, &usage);
        account->n_jobs++;
    }
    return accounts;
}

void api_usage(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    struct account *accounts = sum_jobs(scheduler->cluster, http_request_query(request, "user"));
    struct account *account, *next;
    json_t *users = json_array();

    HASH_ITER(hh, accounts, account, next)
    {
        (void)json_array_append_new(users, json_pack("{s:s,s:I,s:o}", "user", account->user, "jobs",
                                                     (json_int_t)account->n_jobs, "usage",
                                                     usage_to_json(&account->usage)));
        HASH_DEL(accounts, account);
        free(account);
    }
    http_reply_json(request, 200, json_pack("{s:o}", "users", users));
}
