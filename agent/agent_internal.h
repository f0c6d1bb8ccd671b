/* SPDX-License-Identifier: Apache-2.0 */
/* agent_internal.h - the root object of edl-agent, for agent.c and its parts */
#pragma once

#include <systemd/sd-event.h>

#include "agent/core/cpu_pins.h"
#include "agent/core/turns.h"
#include "agent/machine/gpus.h"
#include "agent/machine/inventory.h"
#include "agent/layout.h"
#include "agent/link/lease.h"
#include "agent/machine/machine_id.h"
#include "agent/link/client_files.h"
#include "agent/link/membership.h"
#include "agent/link/orders.h"
#include "agent/machine/node_clock.h"
#include "agent/processes/process.h"
#include "agent/machine/procfs.h"
#include "shared/error.h"

struct agent {
    const struct agent_options *options; /* as it started; borrowed */
    const struct agent_options *now;     /* what may change while it runs, as read last */
    struct agent_options *reread;        /* owned; NULL: now is options */
    sd_event *event;
    struct layout layout;
    json_t *accounts; /* environment.h; owned */
    struct membership member;
    bool told_clients;          /* client_files.h; once a start */
    struct edl_error rejection; /* why the scheduler will not have this node; code 0: it does */
    char boot_id[BOOT_ID_SIZE];
    char machine_id[MACHINE_ID_SIZE]; /* "": it has none */
    int lock_fd;                      /* flock on the state folder */
    int runtime_fd;                   /* the same on the runtime folder */
    struct node_clock clock;
    struct lease_map lease;
    struct inventory inventory;
    struct probe *usage;            /* what processes use is asked of it */
    uint64_t sampled_us;            /* when it was asked last */
    struct process_id sampled_last; /* the next question goes on behind it */
    struct probe *probe;
    json_t *probed;        /* what it told last; NULL: nothing */
    json_t *ports_foreign; /* in the range that is offered, at the last sample; owned */
    struct gpus gpus;
    bool disk_full;             /* as it was reported last */
    bool report_cut;            /* the last report left out what processes told */
    uint64_t machine_session;   /* of the last report: a scheduler that is new hears at once what
                                 * the machine is like, and that it hands out files */
    bool gpu_news;              /* something of them that no report has told yet */
    struct gpu_wait *gpu_waits; /* owned list: starts that wait until their devices are proven */
    sd_event_source *gpu_timer;
    struct cpu_topology *topology; /* owned; NULL: processes float on all CPUs */
    json_t
        *cgroup_home; /* where control groups of processes are made; NULL: nowhere, or by systemd */
    json_t *limits;   /* those that are held, in words */
    bool by_systemd;  /* processes are units */
    struct runtime *runtime;
    struct folder_remover *remover;
    struct process_table table;
    struct agent_core *core;
    struct link *link;
    struct logs *logs;
    struct file_reads *file_reads;
    struct sessions *sessions;
    struct log_bound *log_bound;
    struct log_keep *log_keep;
    struct proxy *proxy;
    struct workspaces *workspaces;
    struct drop_ins *drop_ins; /* owned */
    struct turns late;         /* of what may start now (late_starts.c) */
    struct orders orders;      /* the core knows them by index */
    struct orders next;        /* newer ones, for when all is done that was decided by these */
    bool has_next;
    uint64_t next_asked_us;
    sd_event_source *carry_out_source;
    sd_event_source *core_timer;
};

/* agent_on_rejected - the token of a join line was refused: whoever typed it is still there, and
 * there are no processes yet. The loop ends, and rejection says why */
void agent_on_rejected(const struct edl_error *error, void *userdata);

/* report.c: what joins and reports say; userdata is the agent */
json_t *agent_join_body(void *userdata);
json_t *agent_report_body(uint64_t sent_us, uint64_t session, void *userdata);
/* agent_on_address - the next report tells it, unless an option says where the node is reached */
void agent_on_address(const char *address, void *userdata);

/* pins.c */
void agent_open_pins(struct agent *agent);
/* agent_pin - the CPUs that the process of an order gets for itself, "0-3", in list or static; "":
 * none of its own */
const char *agent_pin(const struct agent *agent, const json_t *order, char list[CPU_LIST_SIZE]);

/* usage.c */
/* agent_open_usage - asks for the first time, and waits a little for the answer */
void agent_open_usage(struct agent *agent);
void agent_close_usage(struct agent *agent);
/* agent_ask_usage - whether it was time to ask; the answer goes into the processes and the
 * inventory
 */
bool agent_ask_usage(struct agent *agent);
/* agent_is_stuck - it was killed, and should be gone long since */
bool agent_is_stuck(const struct process *process);

/* held_limits.c */
/* agent_open_limits - by_systemd: it makes the control groups of processes */
void agent_open_limits(struct agent *agent, bool by_systemd);
void agent_close_limits(struct agent *agent);

/* gpu_start.c */

/* agent_open_gpus - asks the prober for the first time, and waits a little for its answer */
int agent_open_gpus(struct agent *agent, struct edl_error *error);
void agent_close_gpus(struct agent *agent);

/* agent_await_gpus - whether the start of a process with these devices has to wait;
 * agent_start_late follows when they are proven empty, else it is told that it failed */
bool agent_await_gpus(struct agent *agent, const struct process_id *id, json_t *order);
/* agent_cancel_gpus - whether its start was waiting; it is not, any more */
bool agent_cancel_gpus(struct agent *agent, const struct process_id *id);

/* drop_ins/drop_ins.c */

/* agent_open_drop_ins - whose epilogs an earlier agent left is told to the core */
void agent_open_drop_ins(struct agent *agent);
void agent_close_drop_ins(struct agent *agent);

/* agent_await_prolog - whether the start of a process has to wait for the prolog of its job;
 * agent_start_behind_prolog follows, or it is told that it failed */
bool agent_await_prolog(struct agent *agent, const struct process_id *id, json_t *order);
/* agent_cancel_prolog - whether its start was waiting; it is told that it ended, soon */
bool agent_cancel_prolog(struct agent *agent, const struct process_id *id);
/* agent_run_epilog - as the core decided it: of the job of this process, which ended last */
void agent_run_epilog(struct agent *agent, const struct process_id *id);

/* agent_set_aside - why nothing is to start on this node any more, for the report that is made
 * now, and the number of the failure; NULL: no reason. agent_aside_told - a report was taken */
const char *agent_set_aside(struct agent *agent, uint64_t *ret_number);
void agent_aside_told(struct agent *agent);

/* reload.c */
/* agent_offer_of - how much of the machine is offered */
struct inventory_offer agent_offer_of(const struct agent_options *options);
/* agent_accounts_of - who may run processes here (environment.h); new reference */
json_t *agent_accounts_of(const struct agent_options *options);
/* agent_reload - reads files and command line again; the log tells what is different since and what
 * needs a restart. What is wrong is told, and then nothing changes. */
void agent_reload(struct agent *agent);
void agent_close_reload(struct agent *agent);

/* next_orders.c */
/* agent_on_orders - the link brings them; userdata is the agent. agent_take_next_orders - to the
 * core, once nothing is left to do that speaks of older ones. agent_drop_next_orders - they count
 * no more */
bool agent_on_orders(const json_t *answer, uint64_t asked_us, uint64_t now_us, void *userdata);
void agent_take_next_orders(struct agent *agent);
void agent_drop_next_orders(struct agent *agent);

/* starts.c */
struct agent_action;
/* agent_start, agent_stop - carry out what the core decided */
void agent_start(struct agent *agent, const struct agent_action *action);
void agent_stop(struct agent *agent, const struct agent_action *action);
/* agent_on_workspace - see workspaces_config; userdata is the agent */
void agent_on_workspace(const struct process_id *id, json_t *order, const struct edl_error *why,
                        void *userdata);
/* agent_start_now - nothing is left to wait for */
void agent_start_now(struct agent *agent, const struct process_id *id, json_t *order);
/* agent_start_behind_prolog - next its devices */
void agent_start_behind_prolog(struct agent *agent, const struct process_id *id, json_t *order);

/* told.c: of proxy_config; userdata is the agent */
bool agent_of_supervisor(pid_t supervisor_pid, uid_t uid, void *userdata, void **ret);
bool agent_of_group(pid_t pid, uid_t uid, void *userdata, void **ret);
/* agent_in_group - the process in whose control group that one is; NULL: it is in none of ours */
struct process *agent_in_group(const struct agent *agent, pid_t pid);
bool agent_on_checkpoint_done(struct process *process, void *userdata);
void agent_on_alive(struct process *process, uint64_t within_us, void *userdata);

/* late_starts.c */
/* agent_start_late - one that had to wait: in its turn, if it is still wanted then, and the lease
 * allows it */
void agent_start_late(struct agent *agent, const struct process_id *id, json_t *order);
/* agent_start_some_late - until then; false: there is more to do at once */
bool agent_start_some_late(struct agent *agent, uint64_t until_us);
void agent_forget_late(struct agent *agent);
/* agent_decided - the core was told something */
void agent_decided(struct agent *agent);
