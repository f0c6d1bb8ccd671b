/* SPDX-License-Identifier: Apache-2.0 */
/* job_states.h - the states of jobs as the server, people and Slurm call them; pure
 *
 * Tests: tests/unit/test_job_filter.c. */
#pragma once

#include <stdbool.h>

struct edl_error;

/* A state as Slurm calls it. */
struct slurm_state {
    const char *word, *letters; /* "PENDING", "PD" */
};

/* job_states_read - a list such as "running,queued" as a set; Slurm's words and letters are
 * understood, and "all". -EINVAL: the nearest word is the remedy */
int job_states_read(const char *list, unsigned *ret, struct edl_error *error);

/* job_states_has - whether a state is in a set; one that is not known is in none */
bool job_states_has(unsigned set, const char *state);

/* job_states_are_active - whether no job that is over can be in a state of the set */
bool job_states_are_active(unsigned set);

/* job_state_of_slurm - never NULL */
struct slurm_state job_state_of_slurm(const char *state);
