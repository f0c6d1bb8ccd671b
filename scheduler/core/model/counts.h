/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h - sums that are kept, never searched for */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/figures.h"

struct cluster;
struct job;
struct node;
struct node_offer;
struct process;
struct role_spec;
struct slot;

/* slot_count, process_count - adds (1) or takes away (-1) what this one contributes; whoever
 * changes it takes away before and adds after */
void slot_count(struct job *job, uint32_t role, uint32_t index, int sign);
void process_count(struct process *process, int sign);

/* of one that is live */
void process_set_at_work(struct process *process, bool at_work);

/* live, not stopping, on a node that is being drained */
bool process_is_leaving(const struct process *process);

void slot_set_due(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                  bool due);
void slot_set_finished(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       bool finished);
void slot_set_failures(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       uint32_t failures);

/* its restarts are used up and nobody lives there: it is not filled any more */
bool slot_is_given_up(const struct job *job, const struct slot *slot);

/* free: nobody lives there, nobody is to come back, nobody finished there, and it is not given up
 */
bool slot_is_free(const struct job *job, const struct slot *slot);

/* the lowest free slot under max, or -1; O(1) amortized */
int job_lowest_free(struct job *job, uint32_t role);

/* everything of the job afresh, from its slots */
void job_recount(struct job *job);

/* job_touch - something of it changed: the next plan looks at it, and so does the next search
 * job_changed - the next search for room looks at it. Both O(1) */
void job_changed(struct cluster *cluster, struct job *job);
void job_touch(struct cluster *cluster, struct job *job);

/* node_changed - something of it changed: the next search for room looks at it. O(1) */
void node_changed(struct cluster *cluster, struct node *node);

/* node_offer_changed - the same when it is new or offers something else */
void node_offer_changed(struct cluster *cluster, struct node *node);
struct resources resources_of_role(const struct role_spec *role);
struct resources resources_of_offer(const struct node_offer *offer);

/* The facts of a node itself, before any plan takes something. */
struct room_facts {
    struct resources now, later;
    struct resources yield; /* held by instances that could be shrunk away: of plans alone, which
                               know that (plan/rooms.c) */
    struct resources most;  /* the offer, less foreign load: when all has ended */
};

/* what a node has free, as its counters say */
struct room_facts node_facts(const struct node *node);
bool node_takes_processes(const struct node *node);

/* node_gpus_withheld - devices that nobody of ours holds and that are not free all the same */
uint32_t node_gpus_withheld(const struct node *node);

/* job_decided - why its size changes next; said with the change */
void job_decided(struct job *job, enum resize_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* cluster_unheard_nodes - that had a lease before the scheduler started, and have not reported
 * since
 */
uint32_t cluster_unheard_nodes(const struct cluster *cluster);
