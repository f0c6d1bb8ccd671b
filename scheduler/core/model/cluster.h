/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - look-ups in a cluster, whose insides are cluster_internal.h */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct instant;
struct job;

/* Look-ups; NULL when absent. Jobs by what people call them: job_names.h */
struct job *cluster_job(const struct cluster *cluster, uint64_t id);
struct node *cluster_node(const struct cluster *cluster, const char *name);
struct process *job_find_process(const struct job *job, uint32_t role, uint32_t index,
                                 uint64_t incarnation);

/* live (not final) processes of a role; stopping ones excluded when !with_stopping; O(1) */
uint32_t job_count(const struct job *job, uint32_t role, bool with_stopping);
uint32_t job_count_running(const struct job *job, uint32_t role);

/* The view of a cluster from outside the core. cluster_nodes: the first, then by hh.next.
 * cluster_jobs: the first of all that are not archived, then by hh.next. cluster_last_job: the last
 * of them, then by hh.prev. cluster_active_jobs: the first that is not over, then by active_next,
 * in the order of their submission. All of them NULL: there is none. HASH_COUNT counts nodes and
 * jobs. */
const struct cluster_config *cluster_config(const struct cluster *cluster);
struct node *cluster_nodes(const struct cluster *cluster);
struct job *cluster_jobs(const struct cluster *cluster);
struct job *cluster_last_job(const struct cluster *cluster);
struct job *cluster_active_jobs(const struct cluster *cluster);
const struct cluster_figures *cluster_figures(const struct cluster *cluster);
const struct holdings *cluster_holdings(const struct cluster *cluster);
/* cluster_count_ended - the jobs that are over and not archived */
uint64_t cluster_count_ended(const struct cluster *cluster);
/* cluster_has_news - a plan is wanted already, whatever there is to be learnt. O(1) */
bool cluster_has_news(const struct cluster *cluster);
/* cluster_plan_is_due - the same, or one will be: it waits for its share of the time, or for nodes
 * that nobody has heard since the restart. O(1) */
bool cluster_plan_is_due(const struct cluster *cluster);
/* cluster_number_from - behind a restore: the next job gets that number, or a higher one, and the
 * incarnations of new jobs begin with that one */
void cluster_number_from(struct cluster *cluster, uint64_t job_id, uint64_t incarnation);
uint64_t cluster_next_job(const struct cluster *cluster); /* its number */
/* cluster_meet_job - a node has a process of a job that nobody knows: behind a restore, one of the
 * lost days. Its number is not given again, unless it is so high that it must be made up. */
#define LOST_JOBS_MOST UINT64_C(100000)
void cluster_meet_job(struct cluster *cluster, uint64_t job_id);

/* cluster_next_report_us - after so long an agent that has nothing to tell may report again: longer
 * in a larger cluster, at most a quarter of the lease */
uint64_t cluster_next_report_us(const struct cluster *cluster);

/* cluster_utilisation_ppm - CPU granted plus foreign over CPU offered by nodes that are not lost */
uint32_t cluster_utilisation_ppm(const struct cluster *cluster);
