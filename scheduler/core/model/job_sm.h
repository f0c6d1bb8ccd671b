/* SPDX-License-Identifier: Apache-2.0 */
/* job_sm.h - the states of a job */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/states.h"

struct cluster;
struct instant;
struct job;

/* job_set_state - by the table; false (and nothing done) when the table does not allow it */
bool job_set_state(struct cluster *cluster, struct job *job, enum job_state to, struct instant now);

/* job_set_reason - why it is in its state: the cause, and a sentence for people. Its intent stays
 */
void job_set_reason(struct cluster *cluster, struct job *job, enum cause cause, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
void job_set_target(struct cluster *cluster, struct job *job, uint32_t role, uint32_t target,
                    struct instant now);

/* job_stop - stops all its processes; when the last one is gone it ends as intent says */
void job_stop(struct cluster *cluster, struct job *job, struct instant now, enum intent intent,
              enum cause cause, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* job_keeps_remains - it has ended by itself, and what still runs of it stays until it is killed */
bool job_keeps_remains(const struct job *job);

/* job_kill - whatever it does now; what is stopping goes on ending the way it was to end */
void job_kill(struct cluster *cluster, struct job *job, struct instant now, enum cause cause,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* job_watch_deadline - from now on it is known when it has to be over */
void job_watch_deadline(struct cluster *cluster, struct job *job, struct instant now);

/* job_overdue - its deadline came */
void job_overdue(struct cluster *cluster, struct job *job, struct instant now);

/* job_settle - state and reason after something changed: started, resized, done, ended. Idempotent.
 */
void job_settle(struct cluster *cluster, struct job *job, struct instant now);

/* job_retry_given_up - the role starts anew (its bounds were changed, the job was queued again):
 * what was given up may be filled again */
void job_retry_given_up(struct cluster *cluster, struct job *job, uint32_t role);
