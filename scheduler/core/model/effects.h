/* SPDX-License-Identifier: Apache-2.0 */
/* effects.h - a turn's effects: rows to save, events, orders that changed
 *
 * Used by: core_internal.h. */
#pragma once

#include "scheduler/core/model/cluster.h"

void process_free(struct process *process);
void effect_save_job(struct cluster *cluster, struct job *job);
void effect_save_spec(struct cluster *cluster, struct job *job);
void effect_save_process(struct cluster *cluster, struct process *process);
void effect_save_away(struct cluster *cluster);
void effect_save_node(struct cluster *cluster, struct node *node);
void effect_save_tasks(struct cluster *cluster, struct job *job);
void effect_save_dataset(struct cluster *cluster, struct job *job);
void effect_save_rendezvous(struct cluster *cluster, struct job *job);
void effect_save_family(struct cluster *cluster, struct job *job);
/* who of its processes is there, or together, may have changed */
void effect_membership(struct cluster *cluster, struct job *job);
/* drops every effect that borrows the node, then says that it is forgotten */
void effect_forget_node(struct cluster *cluster, struct node *node);
/* every effect that borrows the job is carried out */
void effect_archive_job(struct cluster *cluster, uint64_t id);
void effect_forget_process(struct cluster *cluster, const struct process *process);
/* a new version of the node's orders */
void effect_orders(struct cluster *cluster, struct node *node);
/* job may be NULL, node "" */
void effect_event(struct cluster *cluster, struct instant now, struct job *job, const char *node,
                  const char *event, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* of a process, on its node */
void effect_process_event(struct cluster *cluster, struct instant now,
                          const struct process *process, const char *event, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
