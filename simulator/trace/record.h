/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - what a cluster remembers of its jobs, and the trace that it makes
 *
 * Events come in as they were logged, oldest first; of each job they tell how many instances of
 * each role were there when. All else that is known of jobs, bounds and owners, comes from the list
 * of jobs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simulator/trace/run.h"

struct edl_error;
struct trace;
struct record;

/* One line of the event log. Borrowed. */
struct record_event {
    uint64_t time_us;
    uint64_t job_id; /* 0: of no job */
    const char *event, *text;
};

/* A job as the list of jobs has it. Borrowed. */
struct record_job {
    uint64_t id, submitted_us;
    const char *name, *user;
    const char *role; /* whose instances decide how fast it is */
    uint32_t min, max;
    uint32_t others; /* instances of its other roles */
};

struct record *record_new(void);
struct record *record_free(struct record *record);

/* record_event_add - the next event; those that say nothing of sizes are passed over. A clock that
 * was set back between two events of one job counts as no time. */
void record_event_add(struct record *record, const struct record_event *event);

/* record_job_add - at any time; of a job without it bounds are those that it was seen with, and the
 * owner is "" */
void record_job_add(struct record *record, const struct record_job *job);

/* record_newest_us - of all events; 0: there is none */
uint64_t record_newest_us(const struct record *record);

struct record_options {
    uint64_t since_us; /* jobs that were submitted earlier are left out */
    uint64_t end_us;   /* who has not ended is cut here; 0: at the newest event */
};

/* A record as a trace, and what happened as the result of a run. Counts are of jobs. */
struct recording {
    struct trace *trace;
    struct run_result result; /* by the trace's jobs, seconds from the first submission */
    uint64_t begin_us, end_us;
    double start_s; /* median of what an instance took from being assigned to running; NAN: none */
    uint32_t n_cut, n_killed, n_failed; /* in the trace */
    uint32_t n_measured, n_assumed;     /* in the trace: speed from passes, or linear */
    uint32_t n_guessed;                 /* in the trace: bounds are those that were seen */
    uint32_t n_earlier;                 /* left out: submitted before since_us */
    uint32_t n_unseen;                  /* left out: the record begins after its submission */
    uint32_t n_never_ran;               /* left out: nothing of it ever ran */
    uint32_t peak;                      /* instances of its jobs that were there at once */
};

/* recording_of - the trace of a record
 * An instance is one of any role: parameter servers take places, too. As many as there are of them
 * belong to each amount of the job; what is above them decides how fast it goes.
 * Work is in seconds of one instance: the sum of n^P over the time that n instances ran, where P is
 * that of the job's family (record_speed.c). What was done twice because a process failed counts
 * twice. Errors: -EINVAL when no job is left. */
int recording_of(const struct record *record, const struct record_options *options,
                 struct recording *ret, struct edl_error *error);
void recording_done(struct recording *recording);
