/* SPDX-License-Identifier: Apache-2.0 */
/* job_match.h - which jobs a list shows: by user, state, name and array; pure
 *
 * Tests: tests/unit/test_job_match.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/model/states.h"

struct edl_error;
struct job;

/* Texts are borrowed; NULL: any. */
struct job_match {
    unsigned states;        /* a bit for each of enum job_state */
    const char *user;       /* the whole name */
    const char *name;       /* a part of the job's name, whatever the case of its letters */
    const char *array;      /* the whole name of the array that it is one of */
    const char *array_user; /* whose array */
};

/* What of a job decides whether it is in the list. */
struct job_facts {
    enum job_state state;
    const char *user, *name;
    const char *array; /* "": it is of none */
};

/* job_match_states - "active", "all", "over", or states with commas between them; NULL: active.
 * -EINVAL */
int job_match_states(const char *text, unsigned *ret, struct edl_error *error);

/* job_match_wants_over - whether a job that is over can be in the list */
bool job_match_wants_over(const struct job_match *match);

bool job_match_fits(const struct job_match *match, const struct job_facts *facts);

/* job_match_fits_job - the same of a job */
bool job_match_fits_job(const struct job_match *match, const struct job *job);
