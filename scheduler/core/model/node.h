/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - a node, from its first report to its removal */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/label.h"
#include "shared/node_name.h"

struct cluster;
struct instant;

#define NODE_CPU_MILLICORES_MAX UINT64_C(100000000)
#define NODE_MEMORY_BYTES_MAX (UINT64_C(1) << 46) /* sums over 100,000 nodes stay in an int64_t */

#define NODE_GPUS_MAX ROLE_GPUS_MAX
#define NODE_SET_ASIDE_SIZE 200

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

/* The processes of a node at most, in a minute and in the one before. */
struct node_had {
    size_t now, before;
    uint64_t since_us;
};

/* How fast it is, by the jobs that ran there and elsewhere: learn/node_speed.h. One figure for jobs
 * that use GPUs, one for those that do not. */
enum speed_kind { SPEED_CPU, SPEED_GPU, _SPEED_KINDS };

struct node_speed {
    double log; /* of how many times as fast as most */
    uint32_t rounds;
    uint64_t until_us; /* forgotten then; 0: nothing is known */
    int8_t level;
};

/* What failed may be at fault as well as the node. */
enum start_doubt {
    DOUBT_NONE,    /* the node's own fault, as its agent says */
    DOUBT_PROGRAM, /* it was not found, or may not be executed */
    DOUBT_REQUEST, /* an account or a folder that the job asks for is not there */
};

/* A job whose process could not be started on a node. Whoever submits the same job again is the
 * same one. */
#define START_FAILURES_MAX 8
struct start_failure {
    uint64_t who, at_us;                    /* who: digest of its user and name */
    uint64_t user;                          /* digest */
    bool fails_elsewhere, starts_elsewhere; /* it fails, and ran, on another node as well */
    bool others_start;                      /* other jobs ran here */
    enum start_doubt doubt;
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
    enum node_state admin_state;         /* what it returns to when it was lost */
    char set_aside[NODE_SET_ASIDE_SIZE]; /* why its agent said that nothing is to start there; ""
                                          * it did not, or somebody has set it ready since */
    uint64_t set_aside_number; /* of the last one: a report that comes twice says it once */
    bool disk_full;            /* as its agent says: nothing starts there */
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
    struct machine_nodes *machine;            /* NULL: it did not say (this run) */
    struct node *machine_next, *machine_prev; /* of machine */
    uint8_t gpu_type;                         /* GPU_TYPE_NONE: it has no GPU */
    int8_t levels[_SPEED_KINDS];              /* of its speeds, as planning shall see them */
    /* of plans (plan/rooms.c), owned; NULL: no plan has seen it: among the nodes that take
     * processes, and among all, as if nothing ran there */
    struct room *room, *empty_room;
    struct resources promised_now, promised_later; /* of its room, by the last plan */
    bool changed, offer_changed, removed;          /* since planning looked at it */
    struct node *changed_next;                     /* cluster->changed */
    bool unheard;                                  /* it is counted as such */
    bool owes; /* more than it has, its own services included, when what stops is gone */
    struct node *lease_next, *lease_prev; /* cluster->leases, or starting */
    struct node *removed_next;            /* cluster->removed */
    uint32_t effects_pending;
    UT_hash_handle hh; /* k: name */
};

bool node_offers_same(const struct node_offer *a, const struct node_offer *b);

struct node *node_new(struct cluster *cluster, const char *name, enum node_state state,
                      const struct node_offer *offer);

struct node *node_free(struct node *node);

/* node_remove - no process is left on it. It is freed with the next plan, as planning may speak of
 * its room until then; nodes_free_removed - all that wait for that */
void node_remove(struct cluster *cluster, struct node *node);
void nodes_free_removed(struct cluster *cluster);

/* node_quarantine - a ready one takes nothing new until an operator sets it ready */
void node_quarantine(struct cluster *cluster, struct node *node, struct instant now);

/* node_take_set_aside - its agent says once, in these words, that nothing is to start there: a
 * ready one is quarantined. One that people have closed is told of, and stays as it is. NULL or "":
 * it says nothing. number: of the failure; one that was taken says nothing new, whatever people
 * have done to the node since. 0: not told */
void node_take_set_aside(struct cluster *cluster, struct node *node, const char *why,
                         uint64_t number, struct instant now);

struct node_offer node_offer_bounded(const struct node_offer *offer);

/* node_set_state - by the table, with that event; what the table does not list is not done */
void node_set_state(struct cluster *cluster, struct node *node, enum node_state state,
                    const char *event, const char *text, struct instant now);

/* node_measure_offer - is less offered than is granted? After either changed behind its back */
void node_measure_offer(struct node *node);

/* node_reason - what keeps it from being what is wished for, as a sentence; "" nothing */
const char *node_reason(const struct node *node);
