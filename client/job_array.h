/* SPDX-License-Identifier: Apache-2.0 */
/* job_array.h - an array's name where a verb takes a job: it stands for all its jobs
 *
 * A job of that name goes before an array. Of several arrays of one name, submitted one after
 * another, the newest is meant, as in `after`. */
#pragma once

#include <jansson.h>

struct edl_error;
struct server;

/* array_find - *ret: NULL when the name is a job's, else the array's jobs as GET /jobs lists them,
 * by their numbers; new reference. Prints a failure, also that there is neither; returns enum
 * status */
int array_find(struct server *server, const char *name, json_t **ret);

/* array_of - those of a list of jobs, by their numbers, that were submitted last and by one user
 * under that name: numbers and indexes rise together. New reference. user: NULL: of whoever */
json_t *array_of(const json_t *jobs, const char *user);

/* array_begun - by a number as scripts of Slurm keep it: "12" begins an array where its jobs follow
 * from 12 on, "12_3" is the job of index 3 of that array. *ret_jobs: all of them, or that one, by
 * their numbers; new reference. NULL: the word is something else. *ret_name: of the array, the
 * caller's to free. Returns enum status; a job that is not there is no failure here. */
int array_begun(struct server *server, const char *word, char **ret_name, json_t **ret_jobs);

/* array_dependency - "afterok:12" with the array in the place of a number that begins one; *ret:
 * the caller's to free. -EINVAL with remedy: neither its name nor its numbers can say it */
int array_dependency(struct server *server, const char *dependency, char **ret,
                     struct edl_error *error);

/* array_groups - [{"state", "reason_code", "reason", "jobs": [...]}, ...]: jobs of one state and
 * one reason together, in the order of the first of each; new reference. Those that wait are told
 * apart by the code alone: their reasons count who is before them. */
json_t *array_groups(const json_t *jobs);

/* array_print_summary - "array sweep: 4 jobs (7 to 10): 3 succeeded, 1 failed" */
void array_print_summary(const char *name, const json_t *jobs);

/* array_print_group - "3 jobs queued (sweep-1 to sweep-3): reason", of one of array_groups */
void array_print_group(const json_t *group);

/* array_outcome - STATUS_OK when each has succeeded, else STATUS_FAILED */
int array_outcome(const json_t *jobs);
