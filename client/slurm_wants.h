/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_wants.h - options of sbatch, srun and salloc as options of `edl submit`; pure
 *
 * An option that means nothing here is refused with the nearest of ours: none is taken without
 * effect. Used by: job_script.c, slurm/. Tests: tests/unit/test_job_script.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/word_list.h"

struct edl_error;

struct slurm_wants {
    struct word_list words;                      /* of edl submit, for what can be told at once */
    uint64_t tasks, nodes, tasks_per_node, cpus; /* 0: not said, as all of these */
    uint64_t memory_bytes, memory_per_cpu_bytes; /* of a node, of a core */
    uint64_t gpus, gpus_per_node, gpus_per_task; /* of the job */
    /* what the program does, and no job */
    char *wrap;    /* the command in the place of a script; owned, as the next one */
    char *job;     /* beside which srun runs */
    bool of_batch; /* sbatch reads them: the caller's to say before */
    bool wait, parsable, test_only, terminal;
};

/* slurm_wants_read - options from the beginning of some words; *ret_n: how many were read, up to
 * the first that is no option. of_script: what a program does cannot be said. -EINVAL with remedy
 */
int slurm_wants_read(struct slurm_wants *wants, size_t n, char *const *words, bool of_script,
                     size_t *ret_n, struct edl_error *error);

/* slurm_wants_finish - what follows from several of them together: instances and the share of each.
 * -EINVAL with remedy: what does not come out even */
int slurm_wants_finish(struct slurm_wants *wants, struct edl_error *error);

void slurm_wants_clear(struct slurm_wants *wants);
