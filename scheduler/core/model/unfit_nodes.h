/* SPDX-License-Identifier: Apache-2.0 */
/* unfit_nodes.h - the nodes that cannot run a job, as their agents said when it was to start there
 *
 * So are those that could not start it, for a fault of their own.
 * Kept with the job, and forgotten a while after the last of them was noted, as accounts and
 * folders may be made meanwhile; also by a restart. Placement passes by them: such a list is a part
 * of a job's wishes for a node (struct want). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/unfit.h"

struct cluster;
struct instant;
struct job;
struct node;
struct process;

#define UNFIT_TEXT_SIZE 160

struct unfit_node {
    const struct node *node; /* borrowed */
    uint32_t roles;          /* that cannot run there, as a mask */
    uint32_t refused;        /* of these, those that the node said it cannot run at all */
    enum unfit why;
    char text[UNFIT_TEXT_SIZE]; /* the agent's sentence */
};

struct unfit_nodes {
    struct unfit_node *items; /* owned */
    size_t n;
};

/* unfit_nodes_find - what is known of the node; NULL: nothing. unfit: NULL, an empty list. O(n) */
const struct unfit_node *unfit_nodes_find(const struct unfit_nodes *unfit, const struct node *node);

/* unfit_nodes_hold - some of these roles cannot run on the node. O(n) */
static inline bool unfit_nodes_hold(const struct unfit_nodes *unfit, const struct node *node,
                                    uint32_t roles)
{
    const struct unfit_node *found = unfit != NULL ? unfit_nodes_find(unfit, node) : NULL;

    return found != NULL && (found->roles & roles) != 0;
}

/* unfit_remedy - what to do about one node, while others can run it */
const char *unfit_remedy(enum unfit why);

/* unfit_nodes_free - accepts NULL; returns NULL */
struct unfit_nodes *unfit_nodes_free(struct unfit_nodes *unfit);

/* job_note_unfit - the node of the process cannot run it; text: its agent's */
void job_note_unfit(struct cluster *cluster, const struct process *process, enum unfit why,
                    const char *text, struct instant now);

/* job_expect_unfit - the same of a job of a copy, for one that was refused so before */
void job_expect_unfit(struct job *job, const struct node *node, uint32_t role, enum unfit why,
                      const char *text);

/* Where else a process could be started. */
enum elsewhere {
    ELSEWHERE_NONE,   /* nowhere: no other node takes processes that its job could be started on */
    ELSEWHERE_ENOUGH, /* so many nodes missed its program that the others are not tried */
    ELSEWHERE_MAYBE,
};

#define NO_PROGRAM_NODES_MAX 32

/* job_note_failed_start - the node of the process could not start it (UNFIT_START_FAILED,
 * UNFIT_NO_PROGRAM); noted if it may be elsewhere. Linear in the nodes */
enum elsewhere job_note_failed_start(struct cluster *cluster, const struct process *process,
                                     enum unfit why, const char *text, struct instant now);

/* job_is_refused - of one of its roles: by each node that is large enough. Linear in the nodes */
bool job_is_refused(const struct cluster *cluster, const struct job *job);

/* job_stop_if_unfit - a started job that is refused fails; one that never was complete, and cannot
 * be with the nodes that are left, is queued again: true. Linear in the nodes */
bool job_stop_if_unfit(struct cluster *cluster, struct job *job, struct instant now);

/* job_say_unfit - of a job that has such nodes: that none is left, and what to do about it.
 * job_say_too_few - of one that has: that there are too few others.
 * job_describe_unfit - "; it cannot run on n2: ..."; "" when there is none. Both return buffer */
char *job_say_unfit(const struct job *job, char *buffer, size_t size);
char *job_say_too_few(const struct job *job, char *buffer, size_t size);
char *job_describe_unfit(const struct job *job, char *buffer, size_t size);

/* job_unfit_fell_due - all are tried again. job_forget_unfit - it is over */
void job_unfit_fell_due(struct cluster *cluster, struct job *job);
void job_forget_unfit(struct cluster *cluster, struct job *job);

/* unfit_forget_node - it is removed. Linear in the jobs that are not over */
void unfit_forget_node(struct cluster *cluster, const struct node *node);

/* unfit_forget_disk - there is room on it again. Linear in the jobs that are not over */
void unfit_forget_disk(struct cluster *cluster, const struct node *node);

/* job_copy_unfit - for a copy of the cluster, whose nodes are there */
void job_copy_unfit(struct cluster *copy, struct job *to, const struct job *from);
