/* SPDX-License-Identifier: Apache-2.0 */
/* process_sm.h - the states of a process */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/states.h"

struct cluster;
struct instant;
struct job;
struct node;
struct node_offer;
struct process;
struct process_report;

/* process_may_become - what an agent says may be old: it is asked first */
bool process_may_become(const struct process *process, enum process_state to);
bool process_set_state(struct cluster *cluster, struct process *process, enum process_state to,
                       struct instant now);

/* process_assign - a new incarnation in a free slot; false when the node lacks ports (nothing done)
 */
bool process_assign(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                    struct node *node, struct instant now);

/* process_attach - on node from now on; the caller refreshes the node and touches the job */
void process_attach(struct process *process, struct node *node);

/* process_stop - asks it to stop; nothing when it was asked before. again: its slot is filled anew
 * afterwards */
void process_stop(struct cluster *cluster, struct process *process, bool again, enum cause cause,
                  const char *reason, struct instant now);

/* process_was_refused - whether its agent did not start it because the node, as this same report
 * says, offers less than it was ordered for: no failure of its own. One that a node refuses
 * although it offers as much fails like any other, or it would be ordered there for ever. */
bool process_was_refused(const struct process *process, const struct process_report *report,
                         const struct node_offer *offer);
void process_exited(struct cluster *cluster, struct process *process,
                    const struct process_report *report, struct instant now);
void process_lost(struct cluster *cluster, struct process *process, enum cause cause,
                  const char *reason, struct instant now);

/* process_leaves_gang - one was lost or taken, which is no failure of its own: a job that is not
 * fault tolerant starts again as a whole. What never ran took nothing along and is placed anew. */
void process_leaves_gang(struct cluster *cluster, struct process *process, const char *how,
                         struct instant now);
struct slot *process_slot(const struct process *process);

/* process_describe_exit - "exit code 1 (General Error)" */
void process_describe_exit(int exit_code, int exit_signal, char *buffer, size_t size);

/* "trainer-3" */
void process_name(const struct process *process, char *buffer, size_t size);

struct process *process_new(struct job *job, uint32_t role, uint32_t index, uint64_t incarnation);
