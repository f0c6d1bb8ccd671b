/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_world.h - a cluster core with pretended agents around it, for the tests of scheduler/core
 *
 * The agents do what orders say: start, stop, report. After every step the core's invariants are
 * checked, and two that only the world can see: no node holds more than it offers, no slot has two
 * processes that can act. */
#pragma once

#include <stdbool.h>

#include "scheduler/core/core.h"
#include "scheduler/core/record/memory_store.h"

#define WORLD_NODES 8
#define GIB (UINT64_C(1) << 30)

struct fake_process {
    uint64_t job_id, incarnation;
    char role[ROLE_NAME_MAX + 1];
    uint32_t role_index, index;
    enum process_state state;
    int exit_code, exit_signal;
    enum cause cause;
    const char *reason;
    const char *error; /* world_says */
    uint64_t error_before_us;
    uint64_t cpu_millicores;
    uint64_t started_us;
    uint64_t cpu_used_us;    /* set by a test */
    uint64_t frozen_us;      /* set by a test: for how long it stood still in all */
    struct steps_told steps; /* set by a test: any, sums; and when: */
    uint64_t steps_us;
    struct backlog_told backlog; /* set by a test */
    enum unfit unfit;
    enum start_fault start_fault;
    uint32_t linger; /* steps that it takes to start or stop */
    bool hangs;      /* world_hang */
};

struct fake_agent {
    char name[NODE_NAME_MAX + 1];
    bool silent; /* sends nothing */
    bool keeps;  /* does not stop its processes when its lease ends */
    uint32_t boot;
    bool reports_first; /* before it reads orders, once */
    uint64_t last_contact_us;
    struct node_offer offer;
    uint64_t foreign_cpu_millicores;
    uint64_t gpus_foreign, gpus_idle;
    uint16_t ports_foreign[8];
    size_t n_ports_foreign;
    bool disk_full;
    const char
        *set_aside; /* said once; with a start_fault, along with the first start that fails */
    uint64_t set_aside_number;
    enum unfit unfit;             /* it can run no process for this reason, and says so: */
    enum start_fault start_fault; /* none of those jobs starts on it, by this fault */
    const char *unfit_says;       /* in these words; NULL: in some */
    uint32_t unfit_one_in;        /* of those jobs whose number this divides; 0: of none */
    uint32_t unfit_roles;         /* of those roles of them, as a mask; 0: of all */
    struct fake_process *items;   /* owned */
    size_t n, cap;
};

/* Where effects are committed to. */
struct world_disk {
    void (*commit)(void *userdata, const struct effect *effects, size_t n);
    int (*load)(void *userdata, struct cluster *cluster, struct instant now,
                struct edl_error *error);
    void *userdata;
};

struct world {
    struct cluster *cluster;    /* owned */
    struct memory_store *store; /* owned; the disk unless another is given */
    struct world_disk disk;
    uint64_t n_commits;
    uint32_t replay_every; /* commits; 0: the rarer, the more there is to load */
    struct instant now;
    struct fake_agent agents[WORLD_NODES + 1]; /* one more than random tests use */
    size_t n_agents;
    const char *user; /* who submits; borrowed */
    uint64_t seed;    /* 0: starts and stops take one step */
    uint32_t max_linger;
    uint64_t n_checks, n_plans;
};

/* of the worlds made from now on; fulfilment at first */
extern const struct policy *world_policy;
struct world *world_new(size_t n_nodes, uint64_t cpu_millicores, uint64_t memory_bytes,
                        uint32_t load_permille);
struct world *world_free(struct world *world);
uint64_t world_random(struct world *world, uint64_t below);

/* plan, then every invariant; fails the test when one does not hold. What the plan does is done to
 * a copy as well: of the first 20 plans, but in a storm, and of one in eight */
void world_plan(struct world *world);
void world_check(struct world *world);
/* looks at everything afresh; fails the test when that changes anything that a plan had not */
void world_replan(struct world *world);
/* the effects are on disk and cleared; what is loaded from there is compared with what is there */
void world_commit(struct world *world);
/* a new cluster from what is on disk */
struct cluster *world_load(const struct world *world);
/* one agent carries out its orders and reports; then plan and check */
void world_turn(struct world *world, size_t agent);
/* a second passes, then all agents carry out their orders and report, then one plan */
void world_second(struct world *world);
/* all agents, n times */
void world_run(struct world *world, unsigned n);
void world_advance(struct world *world, uint64_t us);
/* Until the policy takes a job of which nothing can be measured for silent, and the job has grown
 * as far as it can. Before that it waits at four times its minimum. */
void world_fall_silent(struct world *world);
/* the process ends by itself; told at its agent's next turn */
void world_exit(struct world *world, const struct process *process, int exit_code, int exit_signal);
/* world_says - the error of a process that ends, so long before its end; borrowed */
void world_says(struct world *world, const struct process *process, const char *error,
                uint64_t before_us);
/* while it hangs it does not end when it is to stop */
void world_hang(struct world *world, const struct process *process, bool hangs);
/* a new core from what is on disk: what was not committed is gone */
void world_restart(struct world *world);

struct job_spec *world_spec(const char *name, uint32_t min, uint32_t max, uint64_t cpu,
                            uint32_t pservers, uint64_t pserver_cpu);
/* the first role runs that */
struct job_spec *world_command(struct job_spec *spec, const char *command);
struct job *world_submit(struct world *world, struct job_spec *spec);
struct process *world_live(const struct job *job, const char *role, uint32_t index);
struct task_queue *world_queue(uint32_t n_tasks, uint32_t passes);
uint32_t role_of(const struct job *job, const char *role);
