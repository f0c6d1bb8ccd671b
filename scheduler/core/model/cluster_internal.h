/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_internal.h - everything that the core knows, for its rooms alone */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_config.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/holdings.h"

struct cluster {
    struct cluster_config config;
    const char *policy_name;            /* for sentences; borrowed */
    struct node *nodes;                 /* uthash by name */
    struct machine_nodes *machines;     /* uthash by id */
    struct job *jobs;                   /* uthash by id; without those that are archived */
    struct job_name *job_names;         /* uthash by name; job_names.c */
    struct awaited_array *awaited;      /* uthash by first; owned */
    struct array_notice *array_notices; /* uthash by base; owned; notices.h */
    struct job *active;                 /* list of the jobs that are not final, in submit order */
    uint64_t newest_wall_us;  /* the latest submission; the clock may have been put back since */
    uint64_t n_filed;         /* jobs that wait to be started: waiting.h */
    struct job *first_queued; /* of them */
    struct job *ended;        /* list of the jobs that are over, the first to end first */
    uint64_t n_ended;
    struct archive_round archive; /* of them, that leave */
    struct job *ends;             /* list: ended, and who waits for them does not know yet */
    /* lists of the nodes with a lease, the first to end first; starting: those with start_session
     */
    struct node *leases, *starting;
    uint64_t away_us; /* for so long nodes may go on without a scheduler: told by the last run, or
                         by this one when it leaves (events/scheduler_away.h) */
    bool leaves;
    uint64_t next_job_id;
    uint64_t lost_jobs_until;   /* 0: no restore */
    uint64_t first_incarnation; /* of a new job */
    uint64_t sessions;          /* the last one given; of no other run of the scheduler */
    uint64_t groups_version;    /* rises with each table of groups */
    uint64_t offers_version;    /* rises whenever a node comes, goes or offers something else */
    struct planner *planner;    /* what planning keeps between two plans; owned */
    uint64_t n_assigned;        /* processes, ever */
    struct past_refusals *past_refusals; /* owned; NULL: none yet (this run) */
    struct holdings holdings;            /* of active */
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
    struct job *touched; /* list: what a plan has to look at */
    bool plan_wanted;
    struct node *changed; /* lists: since planning looked at them */
    struct job *changed_jobs;
    struct node *removed;  /* list: that planning may still speak of, until the next plan; owned */
    bool files_changed;    /* some job came to wait to be started, or does so no longer */
    uint64_t plan_owed_us; /* until then plans have had their share of the time */
    struct deadline pause; /* when the plan comes that was wanted meanwhile */
};

/* unlisted_move - a table of states does not list this move: nothing is done, and cluster_check
 * says so from now on */
void unlisted_move(struct cluster *cluster, const char *what, const char *name, const char *from,
                   const char *to);

void job_free(struct job *job);

/* the deadline of the job's task queue may have moved */
void job_tasks_changed(struct cluster *cluster, struct job *job);

/* job_expire_tasks - tasks that were not finished in time are to be done again */
void job_expire_tasks(struct cluster *cluster, struct job *job, struct instant now);
