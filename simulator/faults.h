/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - one seed's cluster, work and faults, as a list that can be shortened
 *
 * Every entry is made from a stream of its own number, so that leaving one out changes no other. */
#pragma once

#include "simulator/internal.h"

enum entry_kind {
    ENTRY_SUBMIT,
    ENTRY_KILL,
    ENTRY_SCALE,
    ENTRY_NODE_STATE,
    ENTRY_NODE_REMOVE,
    ENTRY_FAULT,
    ENTRY_PRIORITISE
};

struct entry {
    enum entry_kind kind;
    uint64_t at_us;
    uint32_t job;  /* SUBMIT: its number; KILL, SCALE, PRIORITISE: of which */
    uint32_t node; /* NODE_STATE, NODE_REMOVE */
    uint32_t min, max;
    int32_t priority;
    enum node_state state;
    struct script fault;
};

struct schedule {
    struct sim_config config;
    uint64_t seed;
    uint64_t calm_us; /* no fault and no submission after it */
    uint64_t end_us;  /* everything must have ended by then */
    uint32_t n_nodes;
    struct node_offer *offers; /* owned */
    uint32_t *speeds;          /* owned: permille of each node; NULL: all alike */
    struct entry *entries;     /* owned, by time */
    size_t n_entries;
    bool types;    /* of GPU: most jobs use them, and each is faster on some than on others */
    bool services; /* some jobs serve a load, and tell of their queues */
    bool pins;     /* half of the roles name the node of each instance */
};

/* schedule_make - -EINVAL with error: no such profile */
int schedule_make(const struct sim_run_options *options, uint64_t seed, struct schedule *ret,
                  struct edl_error *error);
void schedule_done(struct schedule *schedule);
/* schedule_job - the document and the work of the number-th job; *ret_spec is owned by the caller
 */
void schedule_job(const struct schedule *schedule, uint32_t number, struct job_spec **ret_spec,
                  struct sim_work *ret_work);
/* schedule_pin_roles - half of the roles name the node of each instance, some of them one node
 * twice, or one node more than they have instances. Of parameter servers there is one number then
 * (fault_pins.c) */
void schedule_pin_roles(struct job_spec *spec, uint32_t n_nodes, uint64_t random);
/* schedule_filler, schedule_claim - of the calm, with groups: what fills the cluster and gives way,
 * and the number-th gang that comes then. Neither ends by itself. */
void schedule_filler(uint64_t seed, struct job_spec **ret_spec, struct sim_work *ret_work);
void schedule_claim(uint64_t seed, uint32_t number, struct job_spec **ret_spec,
                    struct sim_work *ret_work);
/* schedule_describe - one line of an entry */
void schedule_describe(const struct schedule *schedule, const struct entry *entry, char *buffer,
                       size_t size);
