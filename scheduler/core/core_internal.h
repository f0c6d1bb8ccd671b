/* SPDX-License-Identifier: Apache-2.0 */
/* core_internal.h - what the files of the deciding core share and nobody else sees
 *
 * Words: a process is live until it was seen gone or its node's lease ended; it counts for its role
 * while it is live and not stopping; a slot is due when its process failed or was lost and a new
 * incarnation is wanted. */
#pragma once

#include <errno.h>

#include "scheduler/core/cluster.h"
#include "shared/error.h"
#include "shared/macro.h"

#define BACKOFF_MAX_US (60 * USEC_PER_SEC)

/* Why a process was stopped whose slot is to be filled anew; stored with it, so a restart knows as
 * well. */
#define REASON_DRAINED "its node is being drained"
#define REASON_AGENT_STOPS "its agent stops it"
#define REASON_NO_ROOM "replacement-does-not-fit" /* a job's code; a restart goes on from it */

/* --- effects.c
 * ------------------------------------------------------------------------------------------ */
void effect_save_job(struct cluster *cluster, struct job *job);
void effect_save_process(struct cluster *cluster, struct process *process);
void effect_save_node(struct cluster *cluster, struct node *node);
void effect_save_tasks(struct cluster *cluster, struct job *job);
void effect_save_dataset(struct cluster *cluster, struct job *job);
/* drops every effect that borrows the node, then says that it is forgotten */
void effect_forget_node(struct cluster *cluster, struct node *node);
/* a new version of the node's orders */
void effect_orders(struct cluster *cluster, struct node *node);
/* job may be NULL, node "" */
void effect_event(struct cluster *cluster, struct instant now, struct job *job, const char *node,
                  const char *event, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* --- job_sm.c
 * ------------------------------------------------------------------------------------------- */
/* job_set_state - by the table; false (and nothing done) when the table does not allow it */
bool job_set_state(struct cluster *cluster, struct job *job, enum job_state to, struct instant now);
void job_set_reason(struct cluster *cluster, struct job *job, const char *code, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
void job_set_target(struct cluster *cluster, struct job *job, uint32_t role, uint32_t target,
                    struct instant now);
/* job_stop - stops all its processes; code decides how it ends: "done", "killed", anything else
 * failed */
void job_stop(struct cluster *cluster, struct job *job, struct instant now, const char *code,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
/* job_settle - state and reason after something changed: started, resized, done, ended. Idempotent.
 */
void job_settle(struct cluster *cluster, struct job *job, struct instant now);

/* --- job_roles.c: pure questions about a job
 * ------------------------------------------------------------- */
/* job_elastic_role - the one role that grows and shrinks, or -1 */
int job_elastic_role(const struct job *job);
/* job_role_works - its end is the job's end: every role but "pserver", unless it is the only one */
bool job_role_works(const struct job *job, uint32_t role);
bool job_is_started(const struct job *job); /* starting, running or resizing */
bool job_data_complete(
    const struct job *job); /* no dataset, or all passes ended and the model is saved */
uint32_t job_count_live(const struct job *job); /* stopping ones included */
uint32_t job_count_due(const struct job *job, uint32_t role);
uint32_t job_count_finished(const struct job *job, uint32_t role);
/* instances that a started job must not lack now */
uint32_t job_role_floor(const struct job *job, uint32_t role);
/* slot_set_due - and remembers it */
void slot_set_due(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                  bool due);
void job_grow_slots(struct job *job, uint32_t role, uint32_t n);

/* --- process_sm.c
 * --------------------------------------------------------------------------------------- */
bool process_set_state(struct cluster *cluster, struct process *process, enum process_state to,
                       struct instant now);
/* process_assign - a new incarnation in a free slot; false when the node lacks ports (nothing done)
 */
bool process_assign(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                    struct node *node, struct instant now);
void process_attach(struct process *process, struct node *node);
/* process_stop - asks it to stop; nothing when it was asked before. again: its slot is filled anew
 * afterwards */
void process_stop(struct cluster *cluster, struct process *process, bool again, const char *reason,
                  struct instant now);
void process_exited(struct cluster *cluster, struct process *process,
                    const struct process_report *report, struct instant now);
void process_lost(struct cluster *cluster, struct process *process, const char *reason,
                  struct instant now);
struct slot *process_slot(const struct process *process);
/* process_describe_exit - "exit code 1 (General Error)" */
void process_describe_exit(int exit_code, int exit_signal, char *buffer, size_t size);
/* "trainer-3" */
void process_name(const struct process *process, char *buffer, size_t size);

/* --- jobs, nodes
 * ---------------------------------------------------------------------------------------- */
struct job *job_new(struct cluster *cluster, uint64_t id, struct job_spec *take_spec);
struct node *node_new(struct cluster *cluster, const char *name, enum node_state state,
                      const struct node_offer *offer);
struct process *process_new(struct job *job, uint32_t role, uint32_t index, uint64_t incarnation);
void node_renew_lease(struct cluster *cluster, struct node *node, struct instant now);
void node_lost(struct cluster *cluster, struct node *node, struct instant now);
struct node_offer node_offer_bounded(const struct node_offer *offer);

/* --- placement.c: pure fit functions
 * --------------------------------------------------------------------- */
struct resources {
    int64_t cpu_millicores, memory_bytes, gpus, ports; /* signed: a node may owe */
};

/* One node's room: now, and later when everything that is stopping is gone; what is promised to a
 * waiting gang is taken from later only. Who starts now needs both. */
struct room {
    struct node *node;
    struct resources now, later;
};

struct rooms {
    struct room *items; /* owned */
    size_t n;
};

/* A role's instances to be placed. */
struct demand {
    uint32_t role;
    uint32_t count;
    struct resources need; /* of one */
};

struct placed {
    struct room *room;
    uint32_t role;
};

struct resources resources_of_role(const struct role_spec *role);
struct resources resources_of_offer(const struct node_offer *offer);
bool resources_fit(const struct resources *have, const struct resources *need);
void resources_add(struct resources *to, const struct resources *what, int64_t times);
/* "1400m CPU, 2.0 GiB memory, 1 GPU" */
void resources_describe(const struct resources *what, char *buffer, size_t size);
/* rooms_of_nodes - the nodes that take processes; empty: as if nothing ran on any known node */
struct rooms rooms_of_nodes(const struct cluster *cluster, bool empty);
void rooms_done(struct rooms *rooms);
struct room *rooms_best_fit(const struct rooms *rooms, const struct resources *need, bool now);
void room_take(struct room *room, const struct resources *need, bool now);
/* gang_demands - the minimum of every role in placing order: pservers first, larger first */
size_t gang_demands(const struct job_spec *spec, struct demand ret[JOB_ROLES_MAX]);
/* rooms_place_gang - all or nothing; placed (NULL: not wanted) has room for every instance */
bool rooms_place_gang(struct rooms *rooms, const struct demand *demands, size_t n, bool now,
                      struct placed *placed, size_t *ret_n);
/* node_pick_ports - n free ports of the node's range, round robin; false when there are too few */
bool node_pick_ports(struct node *node, uint32_t n, uint16_t *ret_ports);
/* node_pick_gpus - n free devices, of one NUMA node if one has as many; false when there are too
 * few */
bool node_pick_gpus(const struct node *node, uint32_t n, uint64_t *ret_mask);

/* --- plan*.c
 * -------------------------------------------------------------------------------------------- */
struct plan {
    struct cluster *cluster;
    struct instant now;
    struct rooms rooms;
    struct process **victims; /* owned array of processes marked to be shrunk away */
    size_t n_victims, cap_victims;
    unsigned tries;                /* how often room may still be made by shrinking */
    const struct job *beneficiary; /* first job that room is made for */
    struct resources promised;     /* gangs of waiting jobs that room is being made for */
    bool *waiting;                 /* of the i-th active job: it is one of those; owned */
    size_t n_active;
};

/* plan_room.c: chooses victims so that the demands fit later, and promises that room; false:
 * nothing changed */
bool plan_make_room(struct plan *plan, const struct demand *demands, size_t n);
void plan_mark(struct plan *plan, struct process *process);
/* of two processes of one role: a goes first */
bool plan_victim_before(const struct process *a, const struct process *b);
/* plan_queue.c: starts waiting gangs or says why not */
void plan_gangs(struct plan *plan);
/* plan_view.c: asks the policy; ret_target[i] of the i-th active job, for its elastic role */
void plan_ask_policy(struct plan *plan, uint32_t *ret_target);
