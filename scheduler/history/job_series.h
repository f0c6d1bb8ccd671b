/* SPDX-License-Identifier: Apache-2.0 */
/* job_series.h - how each running job goes: points are taken as its nodes report, and stored
 *
 * Shown to people; nothing is decided by it. A point takes a walk over the job's processes, at most
 * every SERIES_PERIOD_US. A report costs a look at a table for each of its processes. A
 * job's points are stored when it ends, when the scheduler stops, and at most every SAVE_US. A
 * scheduler that is killed loses what came since. Tests: tests/unit/test_job_series.c,
 * tests/integration/148-page-pictures.sh. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct asking;
struct job_series;
struct node_report;
struct scheduler;
struct stored_series;
struct turn_records;

#define JOB_SERIES_LOADS 8 /* that a report reads back: a few milliseconds */

struct job_series_table {         /* all 0: of none */
    struct job_series *jobs;      /* owned; uthash, by number */
    struct job_series *unsaved;   /* those of them with a point that is not stored, the first that
                                     was taken first; utlist */
    struct stored_series *sealed; /* owned; what the commit that is being made stores */
    size_t n_sealed;
    struct asking *asking; /* owned: for those of earlier jobs; NULL: none was asked for */
    uint64_t wanted[JOB_SERIES_LOADS]; /* by number */
    size_t n_wanted;
    uint64_t begun_wall_us; /* of this run: points of earlier jobs are in the store */
};

/* job_series_report - what a node said of its processes was taken */
void job_series_report(struct scheduler *scheduler, const struct node_report *report);

/* job_series_seal - before a commit: some points that are to be stored; those of jobs that ended */
void job_series_seal(struct scheduler *scheduler, struct turn_records *records);
/* job_series_stored - the commit took them */
void job_series_stored(struct job_series_table *table);

/* job_series_json - of a job (series_to_json); the caller's. NULL: what there is is in the store */
json_t *job_series_json(const struct job_series_table *table, uint64_t job_id);

void job_series_done(struct job_series_table *table);
