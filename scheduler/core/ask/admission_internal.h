/* SPDX-License-Identifier: Apache-2.0 */
/* admission_internal.h - what the files of admission share */
#pragma once

#include "scheduler/core/ask/admission.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/policy/deadline_share.h"
#include "scheduler/core/speed/measure.h"
#include "shared/clock.h"

/* Later than that nobody plans for: 100 years. */
#define ADMISSION_TIME_MAX_S (100 * 365 * 86400.0)

/* A job with a deadline. */
struct subject {
    const struct job *job;  /* borrowed; NULL: the one that is submitted */
    struct resources fixed; /* of its roles that do not grow */
    struct resources each;  /* of one instance of the one that does */
    uint32_t min;           /* of that one */
    bool known;             /* how much is left of it; else it keeps its minimum until it is due */
    bool holds;             /* it has its minimum before the one that is submitted has anything */
    double work_s;          /* that is left, in seconds of one instance */
    double shortest_s;      /* the same, at best */
    double due_s;           /* from now on */
    struct goodput_curve curve;
};

/* The job that is submitted, and all that it has to do with. */
struct question {
    const struct cluster *cluster; /* borrowed, as all else here but others */
    const struct job_spec *spec;
    struct instant now;
    struct goodput_learned learned; /* as its family knows */
    struct subject own;
    uint32_t n_own; /* jobs of it, all alike */
    double shortest_s, median_s,
        longest_s;             /* work of jobs like it: a tenth, a half, nine tenths took less */
    uint32_t max;              /* instances that it may have, and that empty nodes take */
    uint32_t places;           /* that empty nodes take */
    struct subject *others;    /* owned; the earliest deadlines first */
    size_t n_others, n_before; /* before: of them, that are due before it */
    size_t n_not_looked_at;    /* with deadlines, too */
    bool too_many;
    struct resources total, foreign;
    struct resources kept; /* minima of jobs without a deadline; and beyond those others */
    struct resources
        behind; /* the same of those whose turn comes after it, or that wait for jobs */
};

/* admission_say - code and text; unsure: why nobody knows, as code; NULL: somebody does */
void admission_say(const struct question *question, const char *unsure, struct admission *ret);
