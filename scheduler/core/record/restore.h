/* SPDX-License-Identifier: Apache-2.0 */
/* restore.h - the cluster again, from the records of before a restart */
#pragma once

#include <stdint.h>

#include "scheduler/core/model/states.h"

struct cluster;
struct instant;
struct job_spec;
struct node_offer;

/* restore_links - ties restored rows together: lists, sums, leases; decides nothing */
void restore_links(struct cluster *cluster, struct instant now);

struct job *
cluster_restore_job(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                    const char *user,
                    enum job_state state); /* caller fills the plain members it stored */
struct process *cluster_restore_process(struct job *job, uint32_t role, uint32_t index,
                                        uint64_t incarnation, enum process_state state,
                                        const char *node_name);
struct node *cluster_restore_node(struct cluster *cluster, const char *name, enum node_state state,
                                  const struct node_offer *offer);

/* cluster_restore_away - for so long the run before let nodes go on without a scheduler */
void cluster_restore_away(struct cluster *cluster, uint64_t us);

/* cluster_restored - recomputes sums; every node gets a lease of 15 s at least before it can be
 * called lost, until it repeats its start_session */
void cluster_restored(struct cluster *cluster, struct instant now);
