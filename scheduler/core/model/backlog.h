/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.h - how many instances of a service have work, by what they tell of their queues
 *
 * Jobs in mode "service", and those whose elastic role is "teacher". An instance that serves tells
 * with its progress how many tasks wait for it and for which part of the time it computes. From
 * that follows how many instances are wanted, which the policy takes for its bound. A service that
 * tells nothing is planned as any other job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/deadline.h"

struct cluster;
struct instant;
struct job;
struct process;

#define BACKLOG_ROLE "teacher"
#define BACKLOG_BUSY_MAX 1000           /* permille */
#define BACKLOG_WAITING_MAX 1000000000U /* thousandths of a task: a million tasks */
#define BACKLOG_LOOK_US (1 * USEC_PER_SEC)
/* Fewer are wanted when fewer were for so long; and a service is heard for so long before it is
 * taken for one that tells nothing. */
#define BACKLOG_HOLD_US (10 * USEC_PER_SEC)

/* The last words of one instance; the program's, so nothing but its bounds is sure. */
struct backlog_told {
    bool any;
    bool old; /* it has said nothing new for long: it may stand still */
    uint32_t waiting_milli, busy_permille;
};

struct backlog {
    struct job *job;        /* borrowed; the one that owns it */
    struct deadline look;   /* the next one */
    uint32_t wanted;        /* so many have work; 1 or more */
    uint32_t most;          /* the most that had some since_us */
    uint64_t since_us;      /* since then it was less than wanted, or it is heard */
    uint32_t n_told;        /* of how many instances the means are; 0: nobody has told */
    uint32_t waiting_milli; /* tasks that wait for each, as a mean */
    uint32_t busy_permille; /* of its time, as a mean */
};

/* backlog_role - the elastic role of a job whose instances serve; -1: there is none */
int backlog_role(const struct job *job);

/* job_hear_backlog - it has begun, or the scheduler has: it does not grow until it was heard */
void job_hear_backlog(struct cluster *cluster, struct job *job, struct instant now);
/* process_take_backlog - as its node reports it. O(1), but for the first of a job */
void process_take_backlog(struct cluster *cluster, struct process *process,
                          const struct backlog_told *told, struct instant now);
/* job_backlog_fell_due - looks at its instances; linear in them */
void job_backlog_fell_due(struct cluster *cluster, struct backlog *backlog, struct instant now);
/* job_forget_backlog - it is over, or begins anew */
void job_forget_backlog(struct cluster *cluster, struct job *job);
void job_copy_backlog(struct cluster *copy, struct job *to, const struct job *job);

/* job_wanted_by_backlog - 0: nobody says. O(1) */
uint32_t job_wanted_by_backlog(const struct job *job);
/* job_describe_backlog - "3.0 tasks wait for each teacher, which computes 100% of the time: 2 are
 * wanted"; "" when nobody has told. Returns buffer */
char *job_describe_backlog(const struct job *job, char *buffer, size_t size);
