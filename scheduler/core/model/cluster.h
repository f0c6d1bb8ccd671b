/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - the deciding core: nodes, jobs and processes, and what is to be done next
 *
 * Pure: no I/O, no clock, no randomness. Events come in as calls with an instant; state changes;
 * what the world has to do or to remember comes out as effects. The shell writes the effects'
 * records in one transaction and only then answers and wakes the agents. The simulator drives the
 * same code.
 *
 * Invariants (cluster_check): one live process per slot; incarnations rise; sum granted <= offered
 * per node; a job runs min..max of each role or is queued with nothing granted (gang); a resource
 * is free again only when its holder was seen gone (exited) or its node's lease ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/speed/pace.h"
#include "scheduler/core/speed/gpu_types.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/plan/job_plan.h"
#include "scheduler/core/events/node_reports.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/policy/policy.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/base/steps.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/usage.h"
#include "shared/clock.h"
#include "shared/job_secret.h"
#include "shared/job_spec.h"
#include "shared/label.h"
#include "shared/node_name.h"
#include "shared/start_fault.h"
#include "shared/unfit.h"

struct edl_error;

#define PROCESS_PORTS_MAX ROLE_PORTS_MAX
#define PROCESS_REASON_SIZE 240
#define NODE_GPUS_MAX ROLE_GPUS_MAX
/* So many superseded incarnations of each job are in memory: enough to know those of one broken
 * machine when it comes back with their logs. A turn forgets older ones, the next one their rows.
 * A constant: what is loaded again must be what was kept. */
#define JOB_HISTORY_MAX 256

/* What is learnt of so many families of jobs is kept; for more the user with the most loses his
 * oldest. Of each the lengths of so many jobs, written whenever one ends. */
#define CLUSTER_FAMILIES_MAX 1000
#define CLUSTER_FAMILY_ENDED_MAX 128

/* What a node offers, as its agent reports it. */
struct node_offer {
    char address[64]; /* where other nodes reach its processes */
    uint64_t cpu_millicores;
    uint64_t memory_bytes;
    uint32_t gpus;                   /* devices 0..gpus-1, at most NODE_GPUS_MAX */
    uint16_t port_first, port_last;  /* inclusive range for the processes */
    uint8_t numa_nodes;              /* 0: not known, taken as 1 */
    uint8_t gpu_numa[NODE_GPUS_MAX]; /* NUMA node of each device */
    struct labels labels;
};

/* A job whose process could not be started on a node. Whoever submits the same job again is the
 * same one. */
#define START_FAILURES_MAX 8
struct start_failure {
    uint64_t who, at_us;                    /* who: digest of its user and name */
    bool fails_elsewhere, starts_elsewhere; /* it fails, and ran, on another node as well */
    bool others_start;                      /* other jobs ran here */
};

#define MACHINE_ID_MAX 32
/* Nodes whose machines say that they have the same /etc/machine-id. */
struct machine_nodes {
    char id[MACHINE_ID_MAX + 1];
    struct node *nodes; /* list by machine_next/machine_prev */
    UT_hash_handle hh;  /* k: id */
};

struct node {
    char name[NODE_NAME_MAX + 1];
    enum node_state state;
    bool ever_reported;
    struct node_offer offer;
    uint64_t cpu_granted_millicores, memory_granted_bytes; /* sum over its live processes */
    uint32_t gpus_granted;
    uint64_t gpus_foreign;   /* devices that others use, as its agent sees it, as a mask */
    uint64_t gpus_idle;      /* devices that have done nothing for long, as its agent sees it */
    uint16_t *ports_foreign; /* owned; of its range, what others listen on, as its agent sees it */
    size_t n_ports_foreign;
    uint64_t gpus_beyond; /* devices still held that its agent had ceased to offer, as a mask */
    uint64_t foreign_cpu_millicores; /* used by what is not ours, smoothed by the agent */
    uint64_t foreign_memory_bytes;
    uint64_t lease_deadline_us; /* silent until then: lost */
    uint64_t last_report_wall_us;
    uint64_t reported_us;    /* when its last report came; 0: none to this run of the scheduler */
    uint64_t orders_version; /* rises whenever its orders change (this run of the scheduler) */
    char boot_id[40];
    char former_boot_id[40];   /* the boot before; "": not known (this run of the scheduler) */
    uint64_t report_sent_us;   /* of the newest report of this boot, by the node's clock */
    uint64_t session;          /* what a report of session_boot has to repeat; 0: none */
    uint64_t start_session;    /* what a report repeats once its node has heard this run of the
                                  scheduler; 0: it has, or it had no lease at the start */
    char session_boot[40];     /* another boot than boot_id that says it is the present one */
    char credential_hash[65];  /* SHA-256 hex of its bearer credential */
    uint16_t port_next;        /* ports are handed out round robin */
    struct process *processes; /* live ones, list by node_next/node_prev */
    /* the core's own */
    enum node_state admin_state; /* what it returns to when it was lost */
    bool disk_full;              /* as its agent says: nothing starts there */
    bool offer_shrunk; /* its agent offers less than is granted: nothing new of what is short */
    bool disconnected; /* its agent's connection ended, and no report has come since */
    bool told_away;    /* that this run of the scheduler leaves (scheduler/nodes/leaving.c) */
    bool heard;        /* since the scheduler started and since it was last lost, a complete report
                          came: until then what it runs and what else runs there is hearsay */
    uint32_t n_stale;  /* what it still runs and should not: nothing new until that is gone */
    struct node_had had;
    uint64_t foreign_planned_cpu, foreign_planned_memory; /* in plans: rises at once, falls late */
    uint64_t foreign_peak_cpu, foreign_peak_memory;       /* most since it was lower than planned */
    struct deadline foreign_falls; /* then the peak becomes what is planned with */
    /* the last different jobs that could not be started here, oldest first */
    struct start_failure start_failures[START_FAILURES_MAX];
    uint32_t n_start_failures;
    struct node_speed speeds[_SPEED_KINDS]; /* as seen; a restart forgets it */
    uint32_t moved_away;                    /* instances, because they were slow here */
    struct deadline speed_forgotten;
    char waits[256]; /* for whom it drains still, "" nobody; derived by each plan */
    /* sums over its live processes, kept by process_count, checked by cluster_check */
    uint32_t n_processes;
    uint64_t gpus_used;                       /* mask of the devices that are held */
    int64_t ports_held;                       /* of its present range */
    struct resources stopping;                /* held by those that are being stopped */
    struct resources yield;                   /* held by those whose jobs are above their minimum */
    struct machine_nodes *machine;            /* NULL: it did not say (this run) */
    struct node *machine_next, *machine_prev; /* of machine */
    struct room *room;       /* in the index of the nodes that take processes; owned */
    struct room *empty_room; /* in the index of what all nodes offer; owned */
    struct resources counted_total, counted_requested, counted_stopping; /* in policy's totals */
    bool unheard;                                                        /* it is counted as such */
    struct node *pressed_next, *pressed_prev;                            /* nodes that owe */
    struct node *draining_next, *draining_prev; /* nodes that are being emptied */
    struct node *lease_next, *lease_prev;       /* cluster->leases, or starting */
    uint32_t effects_pending;
    UT_hash_handle hh; /* k: name */
};

struct process {
    uint64_t incarnation; /* rises within the job; unique per (job, role, index) */
    struct job *job;      /* borrowed */
    uint32_t role;        /* index in spec->roles */
    uint32_t index;       /* dense, unique among the live ones of the role */
    enum process_state state;
    struct node *node; /* borrowed; NULL once final (node_name stays) */
    char node_name[NODE_NAME_MAX + 1];
    uint16_t ports[PROCESS_PORTS_MAX];
    uint32_t n_ports;
    uint64_t gpu_mask; /* the devices it was granted, bit i = device i of its node */
    int64_t pid;       /* as reported, display only */
    int exit_code;     /* valid when EXITED and exit_signal == 0; -1 unknown */
    int exit_signal;
    bool stop_wanted; /* we asked it to stop: its end is neither success nor failure */
    enum cause cause; /* why it was stopped or ended: decides */
    char reason[PROCESS_REASON_SIZE]; /* the same as a sentence, for people */
    uint64_t assigned_wall_us, started_wall_us, ended_wall_us;
    uint64_t cpu_used_us, memory_used_bytes; /* last report */
    uint64_t memory_peak_bytes, tasks;       /* last report; a restart forgets them, 0: not known */
    uint64_t ran_us;           /* likewise: for how long it has run, by a clock that nobody sets */
    uint64_t frozen_us;        /* of that it stood still, as its node was cut off */
    uint64_t frozen_before_us; /* of that, before the last time */
    uint64_t still_seen_us;    /* the last report that told of more came then; 0: none */
    bool stands_still;         /* the last report did */
    bool steps_stale;          /* the next step that it tells of lasted while it stood still */
    /* for its usage, forgotten by a restart: asked to stop then, its work is safe until then */
    uint64_t stopping_wall_us, credited_wall_us;
    uint64_t since_us;  /* when it was assigned, then asked to stop; 0: before a restart */
    bool reported;      /* the core's own: its agent has spoken of it */
    bool told_progress; /* how far it is; a restart forgets that */
    bool start_failed;  /* EXITED: its program never ran */
    bool at_work; /* it took a task, or is together with others; not while it waits for them */
    bool arrived; /* it waits for the next generation of its role */
    char *note;   /* that it brings there; NULL: none; owned */
    struct goodput_pace pace;    /* of its tasks or steps, when its job learns */
    bool runs;                   /* as the facts say that are learnt from: pace counts */
    struct process_steps *steps; /* what it told of them; NULL: nothing, to this run; owned */
    bool idles;          /* its agent says that none of its GPUs has done anything for long */
    float speed;         /* beside its job's others, by the last comparison; 0: there was none */
    uint64_t generation; /* that it is a member of and has not left; 0: none */
    char *stuck; /* it was killed and is still there: why, as its node tells; NULL: no; owned */
    bool listed; /* in its node's last report, if that came since the start */
    bool marked; /* scratch of a search for victims */
    uint32_t effects_pending;
    struct process *job_next, *job_prev;   /* job->processes, all states, oldest first */
    struct process *node_next, *node_prev; /* node->processes, live ones */
    struct process *past_next, *past_prev; /* job->past */
};

/* One slot's history: how often its processes failed, and when it may start again. */
struct slot {
    uint32_t failures, failed_starts; /* failed_starts: in a row that spent none; volatile */
    uint64_t not_before_us;           /* back-off */
    bool finished;                    /* a process of it ended by itself with exit code 0 */
    bool due;               /* its process failed or was lost: a new incarnation is wanted */
    struct process *live;   /* borrowed; NULL when none */
    struct process *newest; /* borrowed; live or not; NULL when there never was one */
};

/* Sums over the slots of one role, kept up to date by slot_count and process_count and checked by
 * cluster_check. */
struct role_counts {
    uint32_t live; /* stopping ones included */
    uint32_t stopping;
    uint32_t running;
    uint32_t at_work; /* and not stopping */
    uint32_t leaving; /* live, not stopping, on a node that is being drained */
    uint32_t due;     /* without a live process */
    uint32_t finished;
    uint32_t given_up;    /* failed more often than the job bears, and others do its work */
    uint32_t lowest_free; /* a hint: no slot below it is free */
};

/* One that waits for the success of another, or of all jobs of an array. */
struct dependency {
    struct job *waiter, *on; /* borrowed; on and array NULL: it waits no longer */
    struct awaited_array *array;
    struct dependency *prev, *next;
};

/* An array that queued jobs were to run after; those of its jobs that the core has point here. */
struct awaited_array {
    uint64_t first;           /* number of its first job */
    uint32_t n, n_jobs;       /* jobs; of them, that are in the core */
    uint32_t n_left;          /* of them, that are not over */
    uint32_t n_named;         /* queued jobs that name it */
    const struct job *failed; /* the first that ended without success; NULL: none */
    uint64_t ended_wall_us;   /* the last end */
    char name[JOB_NAME_MAX + 1];
    struct dependency *dependents; /* list: who waits for it */
    UT_hash_handle hh;             /* k: first */
};

#define JOB_REASON_SIZE 400
#define DATASET_DIGEST_SIZE 65

/* Many wait in memory: what few jobs have, or is short in most, is not in the struct itself. */
struct job {
    uint64_t id;
    struct job_spec *spec; /* owned */
    enum job_state state;
    enum intent intent;   /* STOPPING: how it is to end; over: how it ended; else INTENT_NONE */
    enum cause cause;     /* why it is in this state: decides */
    char reason_code[32]; /* its word: "gang-does-not-fit" (cause_code) */
    uint32_t resizes;     /* grown or shrunk after the start */
    char *reason;         /* the same as a sentence; owned, never NULL */
    char user[64];
    uint64_t next_incarnation;
    uint8_t secret[JOB_SECRET_BYTES]; /* told to its processes only; all 0: none, or it is over */
    /* one for each role, all in one piece that slots owns */
    struct slot **slots; /* n_slots[r] of each, at least spec->roles[r].max; owned */
    uint32_t *n_slots;
    uint32_t *target; /* instances wanted now */
    struct role_counts *counts;
    struct usage *usage; /* of processes that ended; usage_of_job has the rest; NULL: none; owned */
    uint64_t submitted_wall_us, started_wall_us, ended_wall_us;
    uint64_t turn_wall_us; /* its place among those that wait: job_turn.c */
    /* its owner's bounds of parameter servers, once a number within them was chosen, which is its
     * minimum and maximum from then on (job_servers.c); 0: none was */
    uint32_t servers_min, servers_max;
    uint64_t submitted_us;
    struct task_queue *queue;      /* NULL without a dataset; owned */
    char *dataset_digest;          /* owned; NULL without one */
    char *metrics;                 /* JSON text last reported by the trainers, NULL; owned */
    struct rendezvous *rendezvous; /* one for each role, NULL: nobody called; owned */
    struct process *processes;     /* owned list */
    /* the core's own */
    struct dependency *after;      /* n_after; owned */
    uint32_t n_after, n_waits;     /* n_waits: of them, that have not succeeded yet */
    struct dependency *dependents; /* list: who waits for this one */
    uint32_t n_named;              /* queued jobs that were to run after it, over or not */
    uint32_t held_instances;       /* counted in the holdings while it is not over, and: */
    uint64_t held_bytes, held_tasks, held_task_bytes;
    struct awaited_array *awaited; /* borrowed; the array that it is of, when one waits for that */
    struct job *ends_next;         /* cluster->ends */
    struct process *past; /* list of those whose slot has a newer one, first superseded first */
    uint32_t n_past;      /* at most JOB_HISTORY_MAX between turns */
    bool finishing;       /* some process finished: no more growth */
    bool waits_for_room;  /* a replacement of its minimum does not fit now */
    bool tells_steps;     /* one of its processes told of steps, to this run */
    uint32_t counted_todo, counted_leased; /* its part of the figures of tasks */
    struct job_learned *learned; /* owned; NULL: nothing yet, or the policy does not learn */
    struct unfit_nodes *unfit;   /* owned; NULL: no node has refused it (this run) */
    struct job_plan plan;
    uint32_t effects_pending;
    struct job *active_next, *active_prev;         /* cluster->active */
    struct job *ended_next, *ended_prev;           /* cluster->ended */
    struct job *name_older, *name_newer;           /* its user's jobs of the same name, by number */
    struct job *name_users_next, *name_users_prev; /* the newest only: other users' newest */
    UT_hash_handle hh;                             /* k: id */
};

enum effect_kind {
    EFFECT_SAVE_JOB,        /* job's row but for its document */
    EFFECT_SAVE_SPEC,       /* job's whole row: it is new, or asks for something else */
    EFFECT_SAVE_PROCESS,    /* process' row */
    EFFECT_SAVE_NODE,       /* node's row */
    EFFECT_SAVE_TASKS,      /* job's task queue: task_queue_take_changed */
    EFFECT_SAVE_DATASET,    /* job's task queue is new: all its tasks */
    EFFECT_SAVE_RENDEZVOUS, /* job's generations, one for each role */
    EFFECT_SAVE_FAMILY,     /* what is learnt of job's family: now and then, not at each change */
    EFFECT_SAVE_AWAY,       /* for how long nodes may go on without a scheduler: id, us */
    EFFECT_FORGET_NODE,     /* node was removed: name */
    EFFECT_ARCHIVE_JOB, /* it is over and leaves the core; all of it stays where it is kept: id */
    EFFECT_FORGET_PROCESS, /* superseded incarnation of job: role, index, id; name is the role's */
    EFFECT_EVENT,          /* append to the event log */
    EFFECT_ORDERS,         /* node's orders changed: wake its long poll */
    EFFECT_MEMBERSHIP, /* who of job's processes is there, or together, changed: wake who waits */
};

struct effect {
    enum effect_kind kind;
    struct job *job;              /* borrowed; SAVE_JOB, SAVE_SPEC, SAVE_TASKS, SAVE_DATASET,
                                     SAVE_RENDEZVOUS, SAVE_FAMILY, MEMBERSHIP, FORGET_PROCESS,
                                     EVENT (may be NULL) */
    struct process *process;      /* borrowed; SAVE_PROCESS */
    struct node *node;            /* borrowed; SAVE_NODE, ORDERS */
    uint64_t id;                  /* ARCHIVE_JOB: its number; FORGET_PROCESS: incarnation; EVENT:
                                     the same, 0 when it is of no process; SAVE_AWAY: us */
    uint32_t role, index;         /* FORGET_PROCESS; EVENT of a process */
    char name[NODE_NAME_MAX + 1]; /* FORGET_NODE; EVENT: node or ""; FORGET_PROCESS: its role */
    char event[32]; /* EVENT: "job-queued", "job-resized", "process-exited", "node-lost", ... */
    char text[240]; /* EVENT: a sentence */
    uint64_t wall_us;
};

/* effect_saves_job - something of its job is new */
static inline bool effect_saves_job(const struct effect *effect)
{
    return effect->kind == EFFECT_SAVE_JOB || effect->kind == EFFECT_SAVE_SPEC;
}

#define FOREIGN_HOLD_US (5 * USEC_PER_SEC) /* what edl-scheduler sets */

struct cluster_config {
    const struct policy *policy;
    uint32_t max_load_permille;
    uint64_t lease_us;        /* a node's lease; an agent stops its processes before it ends */
    uint64_t lease_margin_us; /* on top, before a silent node's work is granted again */
    uint64_t first_session;   /* sessions count from here: random, so that runs do not meet */
    uint64_t foreign_hold_us; /* foreign load that falls is believed after so long; 0: at once */
    /* Jobs that are over leave the core: when there are more, when they ended longer ago (wall
     * clock); 0: never. */
    uint64_t keep_ended_jobs, keep_ended_us;
    /* so many more that succeeded and that queued jobs were to run after; 0: any */
    uint64_t keep_named_jobs;
    const struct group_table *groups; /* borrowed; NULL: none */
    bool ignores_speed;               /* all nodes are taken to be equally fast */
    bool ignores_types;               /* all types of GPU are, for each job */
};

struct cluster {
    struct cluster_config config;
    struct node *nodes;             /* uthash by name */
    struct machine_nodes *machines; /* uthash by id */
    struct job *jobs;               /* uthash by id; without those that are archived */
    struct job_name *job_names;     /* uthash by name; job_names.c */
    struct awaited_array *awaited;  /* uthash by first; owned */
    struct job *active;             /* list of the jobs that are not final, in submit order */
    uint64_t newest_wall_us;  /* the latest submission; the clock may have been put back since */
    struct job *first_queued; /* of those in active, that wait for no other job */
    struct job *ended;        /* list of the jobs that are over, the first to end first */
    uint64_t n_ended;
    struct archive_round archive; /* of them, that leave */
    struct job *ends;             /* list: ended, and who waits for them does not know yet */
    /* lists of the nodes with a lease, the first to end first; starting: those with start_session
     */
    struct node *leases, *starting;
    uint64_t away_us; /* for so long nodes may go on without a scheduler: told by the last run, or
                         by this one when it leaves (core/away.h) */
    bool leaves;
    uint64_t next_job_id;
    uint64_t sessions;        /* the last one given; of no other run of the scheduler */
    uint64_t offers_version;  /* rises whenever a node comes, goes or offers something else */
    struct planner *planner;  /* what planning keeps between two plans; owned */
    struct holdings holdings; /* of active */
    /* what is known of the speeds and lengths of jobs; owned; NULL: the policy does not learn */
    struct goodput_families *families;
    struct gpu_types gpu_types; /* of its nodes; what is learnt of them a restart forgets */
    struct cluster_figures figures;
    char unlisted[160]; /* the first move that no table of states lists: a defect; "" none */
    struct effect *effects;
    size_t n_effects, cap_effects;
    struct fact *facts; /* of which nothing is learnt yet: facts.h, learn/take.h; owned */
    size_t n_facts, cap_facts;
    struct deadlines deadlines; /* what time will bring */
    struct deadline quiet;      /* until then plans wait for the nodes that have not been heard */
    uint32_t n_unheard;
    struct job *touched,
        *lacking; /* lists: what a plan has to look at; started, and short of something */
    bool plan_wanted;
};

struct cluster *cluster_new(const struct cluster_config *config);
struct cluster *cluster_free(struct cluster *cluster);

/* Look-ups; NULL when absent. Jobs by what people call them: job_names.h */
struct job *cluster_job(const struct cluster *cluster, uint64_t id);
struct node *cluster_node(const struct cluster *cluster, const char *name);
struct process *job_find_process(const struct job *job, uint32_t role, uint32_t index,
                                 uint64_t incarnation);
/* live (not final) processes of a role; stopping ones excluded when !with_stopping; O(1) */
uint32_t job_count(const struct job *job, uint32_t role, bool with_stopping);
uint32_t job_count_running(const struct job *job, uint32_t role);

/* --- events --- */

/* cluster_submit - names in take_spec->after become numbers and its deadline an instant. take_spec
 * is consumed on success only. -EEXIST when a job of that name is not final; EDL_EBADSPEC also when
 * a job in `after` is not there or has ended without success, or the deadline has passed; when the
 * gang can never fit a cluster of these nodes is NOT an error: it queues with a reason. */
int cluster_submit(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                   struct instant now, struct job **ret_job, struct edl_error *error);

/* cluster_find_arrays - of each of n names, ARRAY of that user, else of others, or USER/ARRAY, the
 * newest array of which the core has a job, n 0: none; n <= JOB_AFTER_MAX; linear in all jobs, once
 * for all */
void cluster_find_arrays(const struct cluster *cluster, const char *user, char *const *names,
                         size_t n, struct array_place *ret);

/* cluster_submit_array - the jobs of take_spec->array, all or none, with consecutive ids; without
 * an array the one job. archived: of those in take_spec->after that are not in the core; NULL:
 * there are none. Errors as cluster_submit's. Linear in them */
int cluster_submit_array(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                         const struct archived_jobs *archived, struct instant now,
                         struct job **ret_first, struct edl_error *error);

/* cluster_give_secret - the job's secret, for its processes; copied. A job keeps the one that it
 * has, and one that is over gets none. */
void cluster_give_secret(struct cluster *cluster, struct job *job,
                         const uint8_t secret[JOB_SECRET_BYTES]);

/* cluster_kill_array - every job of the arrays of that name that is not over and owner's; owner
 * NULL: anybody's. *ret_n: how many. archived: there are jobs of such an array that are not in the
 * core any more. -ENOENT when there never was one, EDL_EBADTRANSITION when all are over. Linear in
 * all jobs of the core */
int cluster_kill_array(struct cluster *cluster, const char *name, const char *owner, bool archived,
                       const char *reason, struct instant now, uint32_t *ret_n,
                       struct edl_error *error);

/* cluster_kill_job - idempotent for a job that is stopping; EDL_EBADTRANSITION when final */
int cluster_kill_job(struct cluster *cluster, struct job *job, const char *reason,
                     struct instant now, struct edl_error *error);

/* What people can change of a job that is there; what is not wanted stays as it is. */
struct job_change {
    bool scale;       /* bounds of a role */
    const char *role; /* NULL: "trainer" */
    uint32_t min, max;
    bool prioritise;
    int32_t priority;
};

/* cluster_change_job - all of it or nothing; -EINVAL with pointer when bounds make no sense,
 * EDL_EBADTRANSITION when the job is over or on its way to that */
int cluster_change_job(struct cluster *cluster, struct job *job, const struct job_change *change,
                       struct instant now, struct edl_error *error);

/* cluster_scale_job - cluster_change_job with bounds alone */
int cluster_scale_job(struct cluster *cluster, struct job *job, const char *role, uint32_t min,
                      uint32_t max, struct instant now, struct edl_error *error);

/* cluster_join_node - new or known by name (a known one gets the new credential) */
int cluster_join_node(struct cluster *cluster, const char *name, const char *credential_hash,
                      const struct node_offer *offer, struct instant now, struct node **ret_node,
                      struct edl_error *error);

void cluster_note_machine(struct cluster *cluster, struct node *node, const char *machine_id);
bool node_awaits_first_report(const struct node *node, const char *machine_id); /* joined there */
/* cluster_check_machine - -EEXIST with error when a node of another name that is alive has this
 * machine_id in another boot than this one: then one machine is a copy of the other. For whoever
 * wants to join as `name`; reports are checked by cluster_report. NULL or "": not told, nothing is
 * checked. */
int cluster_check_machine(const struct cluster *cluster, const char *name, const char *machine_id,
                          const char *boot_id, struct edl_error *error);

/* What an agent says of one process. */
struct process_report {
    uint64_t job_id;
    const char *role;
    uint32_t index;
    uint64_t incarnation;
    enum process_state state; /* PREPARING, RUNNING, STOPPING, EXITED */
    int64_t pid;
    int exit_code, exit_signal;
    enum cause cause;   /* EXITED: why; CAUSE_NONE: start_fault or unfit tells it, or nobody */
    const char *reason; /* of its end; of one that is STOPPING: what keeps it; may be NULL */
    uint64_t cpu_used_us, memory_used_bytes, memory_peak_bytes, tasks;
    uint64_t ran_us;    /* since it was started, in boot time; 0: not told */
    uint64_t frozen_us; /* of that it stood still, in all and so far */
    struct steps_told steps;
    uint64_t orphans_reaped;      /* EXITED: what it left behind and was killed */
    bool told_progress;           /* it has said how far it is */
    enum unfit unfit;             /* EXITED: the node cannot run it, so that it never ran */
    enum start_fault start_fault; /* EXITED: it could not be started, and whose fault that is */
};

struct node_report {
    const char *boot_id;
    const char *machine_id; /* NULL, "": not told */
    uint64_t sent_us;       /* boot time of the node; 0: not told */
    uint64_t session;       /* as the answer to the last report said; 0: none: node->session or
                               start_session */
    struct node_offer offer;
    uint64_t foreign_cpu_millicores, foreign_memory_bytes;
    uint64_t gpus_foreign; /* mask of the devices that are not free for a reason of the machine */
    uint64_t gpus_idle;    /* mask of those that were granted and have done nothing for long */
    const uint16_t *ports_foreign; /* rising; what others listen on; borrowed */
    size_t n_ports_foreign;
    const struct process_report *processes;
    size_t n_processes;
    bool disk_full;
    bool complete; /* lists everything on the node: a RUNNING process that is missing is lost */
};

/* cluster_report - -EEXIST and nothing changed: the machine is a copy of another one that reports.
 * EDL_ESTALE and nothing changed: a newer one has overtaken it; or it is of
 * another boot than the last ones and does not repeat node->session, which only the node that runs
 * now can learn: then the answer is to tell it node->session, and it comes again. Else renews the
 * lease; unknown or stale processes in it are ignored (the agent stops what its orders do not
 * list). A process of ours not mentioned by a complete report that was PREPARING or later becomes
 * LOST. */
int cluster_report(struct cluster *cluster, struct node *node, const struct node_report *report,
                   struct instant now, struct edl_error *error);

/* cluster_note_disconnected - an event, once until it reports again */
void cluster_note_disconnected(struct cluster *cluster, struct node *node, struct instant now);

/* cluster_set_node_state - NODE_READY, NODE_CORDONED or NODE_DRAINING */
int cluster_set_node_state(struct cluster *cluster, struct node *node, enum node_state state,
                           struct instant now, struct edl_error *error);
/* node_reason - what keeps it from being what is wished for, as a sentence; "" nothing */
const char *node_reason(const struct node *node);
/* cluster_give_up_node - somebody knows that a lost node is off for good: what is kept there is
 * lost then. EDL_EBADTRANSITION unless it is lost */
int cluster_give_up_node(struct cluster *cluster, struct node *node, struct instant now,
                         struct edl_error *error);

/* cluster_remove_node - EDL_EBADTRANSITION while processes of ours live there (drain it first) */
int cluster_remove_node(struct cluster *cluster, struct node *node, struct instant now,
                        struct edl_error *error);

/* Task queue events; they keep the effects. holder is the process that calls: EDL_ESTALE when it is
 * not the live incarnation. */
int cluster_set_dataset(struct cluster *cluster, struct job *job, struct task_queue *take_queue,
                        const char *digest, struct instant now,
                        struct edl_error *error); /* -EEXIST other digest; 0 and frees when same */
int cluster_lease_task(struct cluster *cluster, struct process *holder, const uint32_t *known,
                       size_t n_known, struct instant now, enum task_lease_result *ret,
                       struct task **ret_task, bool *ret_save_model,
                       struct edl_error *error); /* FINISHED: ret_save_model: this one saves */
/* What became of a wish. */
struct tasks_given {
    enum task_lease_result result;
    struct task **tasks; /* the caller's array, with room for wish->n */
    size_t n;
    bool save_model; /* FINISHED: this one saves */
};
/* also EDL_EPASSBEFORE and EDL_EALLTASKSFAILED: nothing of the pass that is asked for will come */
int cluster_lease_tasks(struct cluster *cluster, struct process *holder,
                        const struct task_wish *wish, struct instant now, struct tasks_given *ret,
                        struct edl_error *error);
/* each has a result of its own; negative: none was looked at. -EINVAL of task_queue_check_lost,
 * which points into /tasks */
int cluster_finish_tasks(struct cluster *cluster, struct process *holder, struct task_finish *ends,
                         size_t n, struct instant now, struct edl_error *error);
int cluster_end_task(struct cluster *cluster, struct process *holder, const struct task_finish *end,
                     struct instant now, struct edl_error *error);
/* cluster_finish_task - of one that lost nothing */
int cluster_finish_task(struct cluster *cluster, struct process *holder, uint32_t task,
                        uint32_t pass, uint32_t lease, struct instant now, struct edl_error *error);
/* reason: in its own words, for people; NULL: none */
int cluster_fail_task(struct cluster *cluster, struct process *holder, uint32_t task, uint32_t pass,
                      uint32_t lease, bool returned, const char *reason, struct instant now,
                      struct edl_error *error);
/* path: where, for people; NULL: not told */
int cluster_model_saved(struct cluster *cluster, struct process *holder, const char *path,
                        struct instant now, struct edl_error *error);
int cluster_set_metrics(struct cluster *cluster, struct process *holder, const char *json,
                        struct instant now, struct edl_error *error);

/* cluster_set_groups - other groups, members or shares; table is borrowed until the next call,
 * NULL: none. Nobody is stopped by it: the next plan shares anew. It has no effects: whoever keeps
 * the groups tells them again after a restart. Linear in the jobs that are not over. */
void cluster_set_groups(struct cluster *cluster, const struct group_table *table);
/* What is known of a job on a type of GPU that there are nodes of. */
struct job_gpu_type {
    const char *name;   /* borrowed; "": no label, or of more types than are told apart */
    double speed;       /* as many times as on the slowest that is known; 0: not known */
    uint32_t rounds;    /* comparisons that say so */
    uint32_t instances; /* of its elastic role, there */
};
/* cluster_job_gpu_types - so many; none of a job that uses no GPUs or has not started, or where all
 * are of one type. O(types) */
size_t cluster_job_gpu_types(const struct cluster *cluster, const struct job *job,
                             struct job_gpu_type ret[GPU_TYPES_MAX]);

/* cluster_job_leaves_room - one more of it may be known not to help: it is slower with it by what
 * was measured, or stands still too long for a change, but for no longer than believed_s. O(1) */
bool cluster_job_leaves_room(const struct cluster *cluster, uint64_t id, double believed_s);
/* cluster_prices - of cores, memory and GPUs, as things are; false: the policy knows none. O(log
 * n), as policy.prices */
bool cluster_prices(const struct cluster *cluster, struct policy_price ret[POLICY_RESOURCES]);
/* cluster_group_held_permille - what its jobs hold, lack and are promised of the cores or of the
 * GPUs, whichever is more. 0 for a group that it was not told of */
uint32_t cluster_group_held_permille(const struct cluster *cluster, const char *name);

/* cluster_tick - what time alone brings: leases and back-offs that are over, task deadlines */
void cluster_tick(struct cluster *cluster, struct instant now);
uint64_t cluster_next_deadline_us(const struct cluster *cluster); /* NEVER_US when none */
/* cluster_next_report_us - after so long an agent that has nothing to tell may report again: longer
 * in a larger cluster, at most a quarter of the lease */
uint64_t cluster_next_report_us(const struct cluster *cluster);

/* cluster_wants_plan - something changed that a plan has to look at, or something was learnt of it.
 * A turn asks this, then plans */
bool cluster_wants_plan(struct cluster *cluster);
/* cluster_plan - if anything changed since the last plan: gang starts, shrinking, growth. Costs
 * what changed (scheduler/core/plan/plan.c), not the size of the cluster. */
void cluster_plan(struct cluster *cluster, struct instant now);
/* cluster_replan - the same with everything looked at afresh: linear in the cluster. After a plan
 * it changes nothing; tests say so. */
void cluster_replan(struct cluster *cluster, struct instant now);

/* --- effects
 * ------------------------------------------------------------------------------------------ */
/* The array is the cluster's; valid until the next event. SAVE_* are deduplicated. */
const struct effect *cluster_effects(struct cluster *cluster, size_t *ret_n);
void cluster_effects_clear(struct cluster *cluster);

/* --- restart: rebuild from the stored records, then cluster_restored
 * ---------------------------------- */
struct job *
cluster_restore_job(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                    const char *user,
                    enum job_state state); /* caller fills the plain members it stored */
struct process *cluster_restore_process(struct job *job, uint32_t role, uint32_t index,
                                        uint64_t incarnation, enum process_state state,
                                        const char *node_name);
struct node *cluster_restore_node(struct cluster *cluster, const char *name, enum node_state state,
                                  const struct node_offer *offer);
/* cluster_restored - recomputes sums; every node gets a lease of 15 s at least before it can be
 * called lost, until it repeats its start_session */
void cluster_restored(struct cluster *cluster, struct instant now);

/* cluster_begin_epoch - after cluster_restored, from a backup: jobs and incarnations are numbered
 * from first_number on, which is above every number ever given. Linear. */
void cluster_begin_epoch(struct cluster *cluster, uint64_t first_number, struct instant now);

/* cluster_clone - an independent copy to try something on: what is remembered, and what a plan
 * looks at besides (leases, back-offs, foreign load), without pending effects. cluster_free it.
 * Linear. */
struct cluster *cluster_clone(const struct cluster *cluster, struct instant now);
/* cluster_clone_active - without the jobs that are over: it plans the same. Linear in the nodes and
 * the jobs that are not, and a walk over the list of all. */
struct cluster *cluster_clone_active(const struct cluster *cluster, struct instant now);

/* cluster_compare - do two clusters remember the same? 0, or EDL_EBADTRANSITION with error naming
 * the first difference. Linear. */
int cluster_compare(const struct cluster *a, const struct cluster *b, struct edl_error *error);

/* cluster_check - the invariants; 0, or EDL_EBADTRANSITION with error naming the first that does
 * not hold */
int cluster_check(const struct cluster *cluster, struct edl_error *error);

/* cluster_utilisation_ppm - CPU granted plus foreign over CPU offered by nodes that are not lost */
uint32_t cluster_utilisation_ppm(const struct cluster *cluster);
