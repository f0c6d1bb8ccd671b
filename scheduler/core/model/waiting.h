/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.h - the jobs that wait to be started: queued, and for no other job. Each plan makes their
 * order */
#pragma once

#include <stdint.h>

struct cluster;
struct job;

/* job_file - the next plan puts it among those that wait. The caller tells it its reason
 * job_unfile - before its demand or priority changes, or when it is queued no longer: the findings
 * of plans about it are over. The caller touches it. Both O(1) */
void job_file(struct cluster *cluster, struct job *job);
void job_unfile(struct cluster *cluster, struct job *job);
