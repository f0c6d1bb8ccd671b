/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - whether a job that is submitted can be over before its deadline, beside those to
 * which theirs were promised
 *
 * Pure; nothing is changed. The test is that of policy/deadline_share.h, over all jobs with
 * deadlines, in parts of the cluster. It is asked twice, so there are three answers:
 *
 * - in time: with the room that is surely its own. Every job keeps its minimum, until its deadline
 *   if it has one; jobs after it keep all but its own minimum. Where groups share, that is all that
 *   is sure. Foreign load stays; it has no more instances than its family was measured with, and
 *   takes as long as nine in ten jobs of its family took.
 * - too late: even if all jobs without a deadline were gone, and it took no longer than the
 *   shortest tenth of its family.
 * - else it depends on facts that nobody knows, which the text names.
 *
 * It is the answer for the jobs that are there now, and no reservation: a later job gets a minimum
 * before a deadline gets anything, and is told of those that are too late because of it. Where an
 * instance fits is not looked at but for the job itself, on empty nodes. The policy gives each job
 * what its own deadline needs, not by this plan; of 12,717 promises beside each other in
 * 3,000 random clusters 46 were broken (test_admission.c with more seeds). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/job_spec.h"

struct cluster;
struct instant;
struct job_spec;

/* Jobs with deadlines that are looked at, the earliest first, those of an array that is submitted
 * included: more than so many before it, and the answer is that nobody knows. */
#define ADMISSION_DUE_MAX 256
#define ADMISSION_LATE_NAMED 8
/* Whom a job without a deadline makes too late is looked for among so many at most. */
#define ADMISSION_JOBS_MAX 20000

enum admission_verdict {
    ADMISSION_NO_DEADLINE,
    ADMISSION_IN_TIME,
    ADMISSION_TOO_LATE,
    ADMISSION_UNKNOWN
};
/* "no-deadline", "in-time", "too-late", "unknown" */
const char *admission_verdict_to_string(enum admission_verdict verdict);

/* A job whose deadline can be kept without the one that is submitted, and not with it. */
struct admission_late {
    uint64_t id;
    char job[JOB_NAME_MAX + 1];
};

struct admission {
    enum admission_verdict verdict;
    char code[32]; /* why: "fits", "too-little-left", "family-unknown", "waits-for-jobs", ... */
    char text[640];
    uint64_t deadline_wall_us; /* as the wall clock will show it; 0: none */
    uint32_t jobs_known;       /* of its family, that have ended and from which all this follows */
    /* from now on until it is over: at best, and with the room that is surely its own; INFINITY:
     * nobody knows, or never */
    double least_s, most_s;
    uint32_t instances; /* IN_TIME: of its elastic role, that it needs; else 0 */
    double late_s;      /* TOO_LATE: at best; else 0 */
    /* the remedy: a max-instance, if it goes on getting faster; a deadline. 0: none is known, or
     * there is no need */
    uint32_t max_wanted;
    uint64_t deadline_wanted_wall_us;                 /* for people, as deadline_wall_us */
    struct admission_late late[ADMISSION_LATE_NAMED]; /* the earliest deadlines first */
    uint32_t n_late;                                  /* of those looked at, named or not */
    /* others with deadlines that were not looked at: whether they are too late because of it is
     * not known */
    uint32_t n_not_looked_at;
};

/* cluster_admission - of a document as it is submitted, its deadline still from now on or an
 * instant. Linear in the nodes, and where somebody has a deadline in the jobs that are not over;
 * O(n^2) in those of them that have one, of which ADMISSION_DUE_MAX are looked at. */
void cluster_admission(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                       struct instant now, struct admission *ret);
