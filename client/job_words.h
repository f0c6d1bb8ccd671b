/* SPDX-License-Identifier: Apache-2.0 */
/* job_words.h - options of a job by the words of Slurm, and what stands for those that are none;
 * pure
 *
 * Used by: job_build.c, job_script.c, the rows of job_input.h. Tests: tests/unit/test_job_words.c.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct option_list;
struct option_value;

/* job_words_ours - what to write instead of an option of another system: of "--partition=x" or
 * "-p"; NULL: nobody knows */
const char *job_words_ours(const char *word);

/* What -n says: a name here, a number in Slurm, and no job's name begins with a digit. */
struct job_tasks {
    uint64_t n;       /* instances; 0: not said */
    const char *name; /* NULL: not said */
};

/* option_name_or_tasks - into a struct job_tasks */
int option_name_or_tasks(const struct option_value *value, struct edl_error *error);

/* option_gres - of a number of GPUs: "gpu:2", "gpu" */
int option_gres(const struct option_value *value, struct edl_error *error);

/* slurm_time - "90" (minutes), "1:30:00", "2-12", "2-12:30" to microseconds; -EINVAL */
int slurm_time(const char *text, uint64_t *ret_us);

/* slurm_memory - "4G", "500M", "800" (mebibytes) to bytes; -EINVAL */
int slurm_memory(const char *text, uint64_t *ret_bytes);

/* slurm_nodes - "n1,n[3-5,08]" as an array of names; new reference. -EINVAL; at most
 * ROLE_INSTANCES_MAX */
int slurm_nodes(const char *list, json_t **ret, struct edl_error *error);

/* slurm_after - "afterok:12:13,afterok:14" as names for `after`, behind those that are there.
 * -EINVAL with remedy: another kind of dependency */
int slurm_after(const char *dependency, json_t *after, struct edl_error *error);

/* job_env_add - "NAME=VALUE" and "NAME", whose value is that of this process. -EINVAL with remedy
 */
int job_env_add(json_t *env, const char *text, struct edl_error *error);

/* job_env_export - "ALL", "NONE" or a list of what job_env_add takes, with commas between: of ALL
 * what belongs to this machine or this session stays here */
int job_env_export(json_t *env, const char *list, struct edl_error *error);
