/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - what is remembered of the cluster; nothing else survives a restart
 *
 * One record per row of a store. They are plain data: made from the live object when a turn's
 * effects are committed, and turned into a live object again at start. Every store (SQLite, memory)
 * keeps records and knows no live object beyond them. */
#pragma once

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/core/speed/family.h"
#include "shared/job_secret.h"
#include "shared/job_spec.h"
#include "shared/node_name.h"

struct array_notice;
struct cluster;
struct instant;
struct job;
struct node;
struct process;
struct task;
struct task_queue;

struct node_record {
    char name[NODE_NAME_MAX + 1];
    enum node_state state, admin_state;
    bool ever_reported;
    struct node_offer offer;
    uint16_t port_next;
    uint64_t foreign_cpu_millicores, foreign_memory_bytes;
    uint64_t last_report_wall_us;
    char boot_id[40];
    char credential_hash[65];
    char set_aside[NODE_SET_ASIDE_SIZE];
};

struct slot_record { /* of a slot with a history only */
    uint32_t role, index, failures;
    bool finished, due;
};

struct job_record {
    uint64_t id;
    enum job_state state;
    enum cause cause;
    enum intent intent;
    char reason_code[32], reason[JOB_REASON_SIZE];
    char user[ACCOUNT_NAME_MAX + 1];
    uint64_t next_incarnation;
    uint8_t secret[JOB_SECRET_BYTES]; /* all 0: none */
    uint32_t target[JOB_ROLES_MAX];
    uint32_t n_targets;
    uint32_t resizes;
    uint32_t n_parked;
    uint64_t parked_wall_us, parked_for;
    bool goes_first;
    uint32_t servers_min, servers_max;
    uint64_t updates_lost, updates_lost_of;
    struct usage usage;
    bool finishing;
    uint64_t submitted_wall_us, started_wall_us, ended_wall_us, turn_wall_us, served, charged;
    uint64_t runs_from_wall_us, ran_us;
    char dataset_digest[DATASET_DIGEST_SIZE];
    const struct job_spec *spec;     /* owned by the maker of the record */
    const char *metrics;             /* JSON text, NULL; the same */
    const struct slot_record *slots; /* n_slots; the same */
    size_t n_slots;
};

struct process_record {
    uint64_t job_id;
    uint32_t role, index;
    uint64_t incarnation;
    enum process_state state;
    char node_name[NODE_NAME_MAX + 1];
    uint16_t ports[PROCESS_PORTS_MAX];
    uint32_t n_ports;
    uint64_t gpu_mask;
    int64_t pid;
    int exit_code, exit_signal;
    bool stop_wanted, start_failed;
    enum cause cause;
    char reason[PROCESS_REASON_SIZE];
    uint64_t assigned_wall_us, started_wall_us, ended_wall_us;
    uint64_t cpu_used_us, memory_used_bytes, frozen_us;
};

struct queue_record {
    uint64_t job_id;
    uint32_t pass;
    uint32_t passes;                 /* 0, of one that was stored earlier: as the document says */
    struct task_queue_counts counts; /* of a closed one all; else the totals, the rest follows */
    bool save_asked;                 /* a program has asked who saves the model */
    bool model_saved;
    const char *model_path; /* "" not told; owned by the maker of the record */
    uint64_t saver;         /* incarnation elected to save the model, 0: none */
    bool closed;            /* its job is over: there are no tasks, only these sums of them */
};

struct rendezvous_record { /* of a role that ever agreed on one */
    uint64_t job_id;
    uint32_t role;
    uint64_t generation;
    const struct rendezvous_member *members; /* n_members; the maker decides whose they are */
    uint32_t n_members;
};

struct array_notice_record {
    uint64_t first_id;
    uint32_t n_jobs, n_succeeded, n_failed, n_killed, told;
    uint64_t first_failed;
};

struct task_record {
    uint32_t id;
    enum task_state state;
    uint32_t lease, failures;
    uint64_t holder;
    uint32_t pass; /* that this is of; before the queue's: since then it is to do again */
    uint64_t lost_records;
    uint32_t lost_chunks;
    uint32_t deaths, outlived, died_slot;
    uint64_t died_before;
};

/* Live object to record. record_of_job borrows spec and metrics from the job; slots is an array of
 * the caller's with room for every slot of the job (record_max_slots). */
void record_of_node(const struct node *node, struct node_record *ret);
size_t record_max_slots(const struct job *job);
void record_of_job(const struct job *job, struct slot_record *slots, struct job_record *ret);
void record_of_process(const struct process *process, struct process_record *ret);
void record_of_queue(const struct job *job, struct queue_record *ret);
void record_of_task(const struct task_queue *queue, const struct task *task,
                    struct task_record *ret);
void record_of_array_notice(const struct array_notice *array, struct array_notice_record *ret);
/* record_of_family - what a job tells of its family are several records, by number: of the family
 * itself, of its speed with so many servers, and that of one program with so many. Borrows all of
 * it; false: nothing is known */
#define FAMILY_RECORDS 3
bool record_of_family(const struct job *job, unsigned which, struct goodput_family_facts *ret);
/* record_of_rendezvous - borrows the members; false: there is nothing to remember */
bool record_of_rendezvous(const struct job *job, uint32_t role, struct rendezvous_record *ret);

/* Record to live object, in this order: families, nodes, jobs, processes, generations, queues
 * (job->queue made by the caller, with its tasks added), tasks; then cluster_restored. EDL_ECORRUPT
 * with error for a record that refers to nothing that is there. */
/* the one that was noted of first comes first; nothing is done when the policy does not learn */
int cluster_restore_family_record(struct cluster *cluster,
                                  const struct goodput_family_facts *record,
                                  struct edl_error *error);
int cluster_restore_node_record(struct cluster *cluster, const struct node_record *record,
                                struct edl_error *error);
/* takes spec in place of the record's, on success only */
int cluster_restore_job_record(struct cluster *cluster, const struct job_record *record,
                               struct job_spec *take_spec, struct instant now,
                               struct edl_error *error);
int cluster_restore_process_record(struct cluster *cluster, const struct process_record *record,
                                   struct edl_error *error);
/* tasks: n of the queue, in the order of their ids */
int cluster_restore_queue_record(struct cluster *cluster, const struct queue_record *record,
                                 const struct task_record *tasks, size_t n, struct instant now,
                                 struct edl_error *error);
int cluster_restore_array_notice_record(struct cluster *cluster,
                                        const struct array_notice_record *record,
                                        struct edl_error *error);
/* copies the members and their notes */
int cluster_restore_rendezvous_record(struct cluster *cluster,
                                      const struct rendezvous_record *record,
                                      struct edl_error *error);
