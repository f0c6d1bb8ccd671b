/* SPDX-License-Identifier: Apache-2.0 */
/* check_internal.h - what the files of cluster_check share */
#pragma once

#include "shared/error.h"

struct cluster;
struct job;
struct node;

#define BROKEN(...) edl_error_set(error, EDL_EBADTRANSITION, __VA_ARGS__)

int check_job_counts(const struct job *job, struct edl_error *error);
int check_node_counts(const struct node *node, struct edl_error *error);
int check_planner(const struct cluster *cluster, struct edl_error *error);
