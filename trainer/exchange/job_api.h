/* SPDX-License-Identifier: Apache-2.0 */
/* job_api.h - what a trainer asks its scheduler, in the trainer's own words
 *
 * The calls are those of libedl, which any other program makes too; here are the trainer's
 * structs and errors. */
#pragma once

#include "trainer/data/dataset.h"
#include "trainer/exchange/ps_client.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct job_api;

struct edl_task;

struct task {
    struct edl_task *lease; /* owned; of the api, and freed before it */
    int64_t pass_number;
    struct dataset_chunk *chunks;
    size_t n_chunks;
};

enum lease_kind { LEASE_TASK, LEASE_FINISHED };

/* job_api_new - the scheduler may be away for retry_us; *stop ends waits with -EINTR */
int job_api_new(const char *socket_path, uint64_t retry_us, const volatile sig_atomic_t *stop,
                struct job_api **ret, struct edl_error *error);
struct job_api *job_api_free(struct job_api *api);

/* job_api_secret - of the job: what trainers and parameter servers prove to each other */
int job_api_secret(struct job_api *api, uint8_t ret[JOB_SECRET_BYTES], struct edl_error *error);

/* job_api_hosts - the running processes of a role, newest incarnation of each index first come
 * *ret_hosts: malloc'd [*ret_want], entries without a process have port 0; *ret_n of them are
 * there. */
int job_api_hosts(struct job_api *api, const char *role, struct ps_host **ret_hosts,
                  uint32_t *ret_want, uint32_t *ret_n, struct edl_error *error);

/* job_api_has_dataset - 1 when somebody has put the index, else 0 */
int job_api_has_dataset(struct job_api *api, struct edl_error *error);

/* job_api_put_dataset - EDL_ESTALE when another index was put before */
int job_api_put_dataset(struct job_api *api, const json_t *dataset, struct edl_error *error);

/* job_api_trained - 1 when a task of the job has been counted, else 0; *ret_leased: tasks that
 * trainers have in hand */
int job_api_trained(struct job_api *api, uint64_t *ret_leased, struct edl_error *error);

/* job_api_values_lost - a server has no values and no trainer has them: that is the job's end */
int job_api_values_lost(struct job_api *api, struct edl_error *error);

/* job_api_lease - LEASE_TASK fills *ret_task (task_clear it); LEASE_FINISHED sets *ret_save_model;
 * waits while all tasks are with others */
int job_api_lease(struct job_api *api, struct task *ret_task, bool *ret_save_model,
                  struct edl_error *error);
void task_clear(struct task *task);

/* job_api_finish - EDL_ESTALE when the lease is no longer ours (drop the task, go on) */
int job_api_finish(struct job_api *api, const struct task *task, struct edl_error *error);

/* job_api_fail - returned: given back untouched by no fault of the data */
int job_api_fail(struct job_api *api, const struct task *task, bool returned, const char *reason,
                 struct edl_error *error);

int job_api_metrics(struct job_api *api, const json_t *metrics, struct edl_error *error);

/* job_api_progress - how far this process is, for people; tried once, as nothing depends on it */
void job_api_progress(struct job_api *api, const json_t *progress);

/* job_api_alive - edl_alive: promised anew within that time, 0: no more; an error is worth another
 * try at the next time */
void job_api_alive(struct job_api *api, uint64_t within_us);

/* job_api_owe_model - before the model is saved: a job whose trainers all fail at that has failed.
 * A scheduler of before refuses the question, and knows so anyway. */
void job_api_owe_model(struct job_api *api);

int job_api_save_model(struct job_api *api, const char *path, struct edl_error *error);

/* wait_ms - sleeps, or returns -EINTR at once when *stop is set meanwhile (a signal interrupts) */
int wait_ms(unsigned ms, const volatile sig_atomic_t *stop);
