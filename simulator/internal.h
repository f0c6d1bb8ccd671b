/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of the simulator share
 *
 * Layers, lower ones first: engine (heap, streams, trace) <- network <- ledger (truth and checks)
 * <- server, machine, agent shell, programs, clients <- faults and runs. Nothing here depends on an
 * address, on the order of a hash table or on real time. */
#pragma once

#include "agent/core/agent_core.h"
#include "agent/core/fence.h"
#include "agent/core/link_sm.h"
#include "scheduler/core/core.h"
#include "scheduler/core/record/memory_store.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "simulator/database.h"
#include "simulator/freezing.h"
#include "simulator/groups.h"
#include "simulator/program.h"
#include "simulator/script.h"
#include "simulator/server.h"
#include "simulator/sim.h"

struct sim_node;
struct truth_job;

#define NOBODY UINT32_MAX
#define PPM 1000000
#define WALL_BASE_US UINT64_C(1700000000000000)

/* --- engine.c --- */

enum event_kind {
    EVENT_DELIVER,      /* p: message, owned */
    EVENT_AGENT_START,  /* a: node */
    EVENT_AGENT_TIMER,  /* a: node, b: which agent */
    EVENT_TAIL,         /* a: node, b: process serial: its last output was taken */
    EVENT_UNIT,         /* a: node, b: process serial, p unused: its life goes on */
    EVENT_SUPERVISOR,   /* a: node, b: process serial: fence and grace */
    EVENT_THAWED,       /* a: node: what was late has happened */
    EVENT_PROGRAM,      /* a: node, b: process serial: what the program does */
    EVENT_COMMITTED,    /* b: generation of the server */
    EVENT_SERVER_TIMER, /* b: generation */
    EVENT_SERVER_START,
    EVENT_SERVER_CRASH, /* b: generation: in the middle of a commit */
    EVENT_SERVER_GONE,  /* b: generation: it has left in order */
    EVENT_POLL_END,     /* a: node, b: call: a long poll for orders is over */
    EVENT_LEASE_END,    /* a: job, b: call: a long poll for a task is over */
    EVENT_CLIENT,       /* a: operation, b: call or 0 */
    EVENT_SCRIPT,       /* p: script, owned */
    EVENT_HEAL,         /* p: script, owned: its time is over */
    EVENT_NODE,         /* a: node: switched on for the first time */
    EVENT_FROZEN,       /* a: node, b: process serial: all of it was seen to stand still */
    EVENT_THAW,         /* a: node, b: process serial, p: number of an epoch: its agent says so */
    EVENT_STOOD,      /* a: node, b: process serial, p: since when: it is not frozen for so long */
    EVENT_ALIVE,      /* a: node, b: process serial: it says that it is */
    EVENT_LEASE_OVER, /* a: node: nothing that its lease ends acts any more */
    EVENT_DATABASE,   /* p: query, owned: it is there */
    EVENT_DATABASE_DONE, /* b: number of what it does: is stored */
    EVENT_DATABASE_IDLE, /* b: session: is it silent for too long? */
    EVENT_DATABASE_UP,   /* b: line: a primary serves */
    EVENT_DATABASE_SAYS, /* p: query, owned, answered */
    EVENT_PROOF,         /* b: generation: the leader's sign of life is due */
    EVENT_SILENT,        /* b: call: the database was silent for too long */
    EVENT_CANDIDATE,     /* b: session: asks for the lock */
    EVENT_REPORT_WAITED, /* a: node, b: call: a report has waited for the turn in flight */
    _EVENT_MAX,
};

struct event {
    uint64_t at_us, seq;
    void *p;
    uint64_t b;
    uint32_t a;
    uint32_t kind;
};

struct heap {
    struct event *items; /* owned */
    size_t n, cap;
};

/* An event of a scheduler has its number in p. */

void heap_push(struct heap *heap, const struct event *event);
bool heap_pop(struct heap *heap, struct event *ret);

/* sim_at - at_us in the past means now */
void sim_at(struct sim *sim, uint64_t at_us, enum event_kind kind, uint32_t a, uint64_t b, void *p);
void sim_after(struct sim *sim, uint64_t delay_us, enum event_kind kind, uint32_t a, uint64_t b);
/* stream - the start of a stream of random numbers of its own */
uint64_t stream(const struct sim *sim, const char *name, uint64_t a, uint64_t b);
uint64_t draw(uint64_t *state, struct sim_range range);
bool chance(uint64_t *state, uint32_t ppm);
void sim_mix(struct sim *sim, uint64_t value); /* into the history's hash */
void sim_trace(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TRACE(sim, ...)                                                                            \
    do {                                                                                           \
        if ((sim)->config.trace != NULL)                                                           \
            sim_trace(sim, __VA_ARGS__);                                                           \
    } while (0)
/* text_kept - the same text for as long as the simulation lives */
const char *text_kept(struct sim *sim, const char *text);
/* violate - the first one is kept and ends the simulation; promise: a word; returns false */
bool violate(struct sim *sim, const char *promise, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- network.c --- */

enum call_kind {
    CALL_JOIN,
    CALL_REPORT,
    CALL_ORDERS,
    CALL_DATASET,
    CALL_LEASE,
    CALL_FINISH,
    CALL_FAIL,
    CALL_SAVED,
    CALL_SUBMIT,
    CALL_KILL,
    CALL_SCALE,
    CALL_NODE_STATE,
    CALL_NODE_REMOVE,
    CALL_PRIORITISE,
    _CALL_MAX,
};

/* What one report says of processes; shared by all reports until something changes. */
struct report_data {
    uint32_t refs;
    uint64_t n, made_us;
    struct process_report items[];
};

struct order {
    struct process_id id;
    uint32_t role;
    bool run, keep_cut_off;
    uint64_t grace_us;
    uint64_t cpu_millicores, memory_bytes, gpu_mask;
    uint16_t ports[PROCESS_PORTS_MAX];
    uint32_t n_ports;
};

struct orders_data {
    uint32_t refs;
    uint64_t version;
    uint64_t commit; /* of the state that they were made from */
    bool uncommitted;
    size_t n;
    struct order items[];
};

struct process_key {
    uint64_t job_id, incarnation;
    uint32_t role, index;
};

struct message {
    struct message *next, *prev;
    enum call_kind kind;
    bool answer;
    uint64_t generation; /* of the scheduler when it was sent; connections do not outlive it */
    uint32_t server;     /* which scheduler it goes to, or is from */
    uint64_t term;       /* the highest that the caller knows; answers: of who answers; 0: none */
    bool not_stored;     /* answers: a lease and nothing else */
    bool ask_others;     /* answers: who says so has no fresh proof that it leads */
    int status;          /* answer: 200, ...; 0: refused or reset */
    uint32_t node;       /* of the caller; NOBODY: a client */
    uint32_t op;         /* the client's operation */
    uint64_t call;       /* the caller's number for it */
    uint64_t process;    /* serial of the calling process, 0: the agent itself */
    uint64_t credential;
    struct process_key who; /* calls of processes */
    /* JOIN, REPORT */
    struct node_offer *offer; /* borrowed from the node: it never changes while anybody looks */
    char boot_id[24];
    uint64_t sent_us; /* boot time of the node */
    uint64_t foreign_cpu_millicores, foreign_memory_bytes;
    uint64_t session;
    struct report_data *report;
    uint64_t lease_us, next_report_us, version;
    bool has_version;
    uint64_t wait_us;
    uint64_t arrived_us; /* a long poll */
    struct orders_data *orders;
    /* tasks */
    struct task_ref ref;
    bool returned, finished, save_model, wait;
    /* clients */
    uint64_t job_id;
};

struct message *message_new(struct sim *sim, enum call_kind kind);
struct message *message_free(struct sim *sim, struct message *message);
struct report_data *report_data_unref(struct report_data *data);
struct orders_data *orders_data_unref(struct orders_data *data);
/* send_request - to the scheduler; lost, late, twice, as the network has it */
void send_request(struct sim *sim, struct message *take_request);
/* send_answer - to whoever called; request may be freed afterwards */
struct message *answer_new(struct sim *sim, const struct message *request, int status);
void send_answer(struct sim *sim, struct message *take_answer);
void network_deliver(struct sim *sim, struct message *take_message);

/* --- machine.c: machines, supervisors, processes --- */

enum unit_life {
    LIFE_STARTING, /* the supervisor was started, the program does not run yet */
    LIFE_RUNNING,
    LIFE_GONE, /* its end is in the folder */
    LIFE_LOST, /* the machine was started again: the folder is there without an end */
};

/* One process folder of a machine. */
struct unit {
    uint64_t serial; /* unique in the simulation */
    struct sim_node *node;
    struct process_id id;
    uint32_t role;
    struct truth_job *job;
    enum unit_life life;
    bool keep_cut_off; /* no lease ends it */
    uint64_t since_us;
    uint64_t runs_since_us; /* later by all that it stood still; meaningless before it runs */
    uint64_t cpu_millicores, memory_bytes, gpu_mask;
    uint16_t ports[PROCESS_PORTS_MAX];
    uint32_t n_ports;
    uint64_t grace_us, commit, told_us; /* told_us: boot time, of SIGTERM */
    struct fence fence;
    bool frozen, escapes; /* all of it stands still; one of it does not, and cannot be made to */
    bool thaw_held;       /* its supervisor is late to take the signal, which is of */
    uint16_t thaw_epoch;
    uint64_t frozen_since_us, still_since_us;     /* still_: freezing.c, in the calm */
    uint64_t said_us, promised_us, mute_since_us; /* promises.c; promised_us: its folder has it */
    uint64_t saved_us;           /* boot time: its agent heard that it has saved; 0: it did not */
    uint64_t fenced_deadline_us; /* of the lease when it was seen running out */
    bool told, ignores, starts_badly; /* told: it got SIGTERM */
    enum start_fault fault;           /* it could not be started */
    int exit_code, exit_signal;
    enum exit_cause exit_cause;
    const char *exit_reason; /* static */
    uint64_t random;
    uint64_t supervisor_at_us; /* when EVENT_SUPERVISOR is due; another one is old */
    /* program */
    enum step step;
    uint64_t call;       /* under way, 0: none */
    uint64_t program_at; /* when EVENT_PROGRAM is due; an event at another time is an old one */
    unsigned failures;
    struct task_ref ref;
    bool has_task;
    struct unit_steps steps;
    struct backlog_told backlog; /* what it told of its queue, to the agent of that number: */
    uint64_t backlog_agent;
    struct unit *next, *prev;           /* node->units */
    struct unit *slot_next, *slot_prev; /* truth_slot.live: those that really are there */
};

/* agent_shell.c: what an agent has in memory */
struct agent_shell {
    struct agent_core *core;
    struct link_sm link;
    struct orders_data *orders;              /* last that came */
    struct orders_data *orders_next;         /* being handed in */
    struct report_data *report;              /* as last made; NULL: something changed since */
    uint64_t number;                         /* of this agent in the simulation */
    uint64_t main_at_us, orders_at_us;       /* boot time; NEVER_US */
    uint64_t away_at_us;                     /* likewise: the lease goes on without a scheduler */
    uint64_t main_limit_us, orders_limit_us; /* of the calls in flight; boot time */
    uint64_t timer_at_us, limit_at_us;       /* simulation time of the events that are due */
    uint64_t foreign_cpu, foreign_memory, sampled_us; /* smoothed */
    bool acting;
    bool leaves; /* its core wants it to end */
};

/* Messages under way keep what was said of an earlier boot. */
struct offer_told {
    struct node_offer offer;
    struct offer_told *next;
};

#define EXCUSED_AFTER_US (60 * USEC_PER_SEC) /* until it was heard again, or its lease ended */

struct sim_node {
    uint32_t number;
    char name[NODE_NAME_MAX + 1];
    struct node_offer offer;   /* what there is */
    struct node_offer most;    /* of each kind that there ever was */
    struct offer_told *told;   /* owned list: what the agent says there is, newest first */
    bool up;                   /* the machine runs */
    bool frozen, agent_frozen; /* all of it; the agent alone */
    uint32_t speed_permille;   /* of what works there */
    uint32_t boots;
    char boot_id[24];
    uint64_t boot_base_us; /* its boot clock counts from there, faster or slower by */
    int32_t drift_ppm;
    struct lease_word lease;         /* the shared file */
    bool can_freeze, lease_over_due; /* it has control groups; there is an EVENT_LEASE_OVER */
    uint64_t freeze_random;
    uint64_t foreign_cpu, foreign_memory;
    /* link */
    bool cut_up, cut_down;
    uint64_t slow_us;
    /* of one scheduler alone: bit 0 what it sends there, bit 1 what it gets; until when */
    uint32_t apart[SIM_SCHEDULERS_MAX];
    uint64_t apart_until_us[SIM_SCHEDULERS_MAX];
    /* when the last one of its faults heals: an earlier one does not end a later one */
    uint64_t cut_up_until_us, cut_down_until_us, slow_until_us, down_until_us;
    uint64_t frozen_until_us, agent_frozen_until_us, starts_fail_until_us;
    uint64_t excused_until_us; /* for being silent: a fault of its own */
    uint64_t network_random, agent_random;
    /* truth */
    uint64_t lost_commit;                    /* the last one that called it lost */
    uint64_t drains_since_us, owes_since_us; /* check_settled.c: without an excuse; 0: with one */
    uint64_t n_start_failures, told_us;      /* told_us: the last event about the node itself */
    uint64_t thawed_us;     /* what was late has not happened yet in that instant */
    enum node_state wanted; /* by people, as committed */
    uint64_t last_call;     /* of it that arrived */
    struct unit *units;     /* owned */
    uint64_t cpu_used, memory_used;
    struct agent_shell *agent; /* owned; NULL: not running */
    uint64_t credential;       /* on disk, 0: none */
    uint64_t term;             /* on disk: the highest that it was told */
    uint32_t at;               /* the scheduler that its agent calls */
    uint64_t away_us;          /* how long an agent that left stays away */
    struct event *late;        /* owned: what was to happen while it was frozen */
    size_t n_late, cap_late;
};

static inline uint64_t node_boot_us(const struct sim *sim, const struct sim_node *node);

/* machine_tell_offer - what its agent says from now on is what there is */
void machine_tell_offer(const struct sim *sim, struct sim_node *node);
/* machine_offers_less - than at some time before */
bool machine_offers_less(const struct sim_node *node);
/* machine_told_less - a report that comes late may still say so */
bool machine_told_less(const struct sim_node *node);
void machine_boot(struct sim *sim, struct sim_node *node);
void machine_lose_power(struct sim *sim, struct sim_node *node);
void machine_freeze(struct sim *sim, struct sim_node *node, bool agent_only);
void machine_thaw(struct sim *sim, struct sim_node *node);
/* machine_thaw_part - the machine or its agent alone; what the other holds back stays late */
void machine_thaw_part(struct sim *sim, struct sim_node *node, bool agent_only);
/* true: it is kept for the thaw */
bool machine_defers(struct sim *sim, const struct event *event);
struct unit *machine_unit(struct sim_node *node, uint64_t serial);
/* unit_start - what the agent asks for; the folder is there from now on */
struct unit *unit_start(struct sim *sim, struct sim_node *node, const struct order *order,
                        uint64_t commit, uint64_t lease_us);
void unit_stop(struct sim *sim, struct unit *unit, uint64_t grace_us);
void unit_look(struct sim *sim, struct unit *unit); /* its supervisor does */
void unit_forget(struct sim *sim, struct unit *unit);
void unit_exit(struct sim *sim, struct unit *unit, int code, int signal, const char *reason);
void on_unit(struct sim *sim, struct sim_node *node, uint64_t serial);
void on_supervisor(struct sim *sim, struct sim_node *node, uint64_t serial);
void machine_done(struct sim_node *node);

/* --- agent_shell.c --- */
void agent_start(struct sim *sim, struct sim_node *node);
/* agent_stop - all its processes are ended first; it comes back away_us after it left */
void agent_stop(struct sim *sim, struct sim_node *node, uint64_t away_us);
void agent_crash(struct sim *sim, struct sim_node *node);
void agent_free_shell(struct sim_node *node);
void agent_unit_changed(struct sim *sim, struct unit *unit);
void agent_answer(struct sim *sim, struct sim_node *node, struct message *answer);
void agent_on_timer(struct sim *sim, struct sim_node *node, uint64_t number);
void agent_on_tail(struct sim *sim, struct sim_node *node, uint64_t serial, bool offered);
static inline bool agent_can_call(const struct sim_node *node)
{
    return node->agent != NULL && node->agent->link.joined;
}
void agent_checkpoint_done(struct sim *sim, struct unit *unit);

/* --- client.c --- */
struct submission {
    char name[JOB_NAME_MAX + 1];
    struct job_spec *spec; /* owned */
    struct sim_work work;
    uint32_t user;
    char user_name[ACCOUNT_NAME_MAX + 1]; /* of a scenario; "": none */
    bool hung;                            /* one of its trainers does, or did */
    uint64_t job_id;                      /* 0: not answered */
    uint64_t submitted_us, acknowledged_us;
};

struct operation {
    enum call_kind kind;
    uint32_t submission, node;
    uint64_t at_us;
    char role[ROLE_NAME_MAX + 1];
    uint32_t min, max;
    int32_t priority;
    enum node_state state;
    uint64_t call; /* under way */
    bool acknowledged, done;
    uint32_t at; /* the scheduler that it calls */
    unsigned failures;
    uint64_t random;
};

void client_on_event(struct sim *sim, uint32_t op, uint64_t call);
void client_answer(struct sim *sim, const struct message *answer);

/* sim_node_number - of a node of the core: its address tells it */
static inline uint32_t sim_node_number(const struct node *node)
{
    return (uint32_t)strtoul(node->offer.address, NULL, 10);
}

/* --- ledger*.c: what really is, and the checks against it --- */
struct truth_slot {
    struct unit *live; /* list: units of it that are there and not gone */
    bool used;         /* had one before */
    uint32_t failures; /* ends of its processes that nobody had asked for */
};

struct truth_role {
    char name[ROLE_NAME_MAX + 1];
    struct truth_slot *slots; /* owned */
    uint32_t n_slots;
    uint32_t n_live, n_running; /* units that are there and not asked to stop; that run */
    uint64_t short_since_us;    /* fewer than min run; meaningless while enough do */
    uint64_t longest_us;        /* that any of its units ran, of those that are gone */
    uint64_t small_since_us;    /* check_settled.c: it could grow; 0: it could not */
    uint64_t idle_since_us;     /* likewise: more of a service than have work; 0: not so */
    uint32_t min, max;          /* committed */
    uint32_t max_before;        /* holds until max_before_until_us as well */
    uint64_t max_before_until_us;
};

enum real_end { END_NONE, END_ITSELF, END_TOLD };

struct truth_process {
    bool exists; /* this and the next four: as committed */
    uint32_t role, index, node;
    enum process_state state;
    bool began; /* it really ran */
    uint32_t boot;
    enum real_end end;
    bool finished;               /* by itself, with 0 */
    uint64_t first_commit;       /* that assigned it */
    uint64_t running_commit;     /* the first that has it as running, 0 none */
    uint64_t stop_commit;        /* that asked it to end, 0 none */
    uint64_t start_failure;      /* which one of its node's; 0: it could be started */
    uint64_t heard_us, heard_by; /* when its end was committed, and by which run of the scheduler */
    uint64_t ended_us;           /* likewise, also of a lost one */
    bool unheard_of;             /* when it was asked to end, its agent had not told of it */
    uint64_t stood_us,
        frozen_since_us; /* it stood still so long before, and does since then; or 0 */
};

/* One task of one pass. */
struct truth_task {
    uint32_t lease; /* last one given out, as answered */
    uint64_t holder;
    uint64_t leased_us; /* asked for; a later answer to the same question counts */
    uint64_t stood_us;  /* that its holder had stood still then */
    bool held;          /* by its holder, as far as was heard of it */
    uint32_t accepted;  /* lease whose finish was committed, 0 none */
    uint32_t failures;  /* at most */
    uint32_t deaths;    /* of its holders, by themselves */
};

struct truth_job {
    uint64_t id;
    uint32_t submission; /* NOBODY: of no client that we know */
    char name[JOB_NAME_MAX + 1];
    struct truth_role roles[JOB_ROLES_MAX];
    uint32_t n_roles;
    bool exists, ran; /* committed: the job, and that it was running once */
    enum job_state state;
    int32_t priority;                /* committed */
    bool gang_complete;              /* was in a committed state since it was queued */
    uint64_t stop_commit;            /* the last one that asked a process of it to end */
    struct truth_process *processes; /* owned, by incarnation */
    uint64_t n_processes;
    uint32_t n_live; /* units that are there */
    uint32_t n_tasks, passes, damaged_each;
    bool has_data; /* committed */
    uint64_t records_per_task;
    struct truth_task *tasks; /* owned: pass * n_tasks + task */
    uint64_t records_accepted, records_discarded, records_lost;
    double steps_done;       /* by those that train together */
    uint32_t passes_ended;   /* looked at: every task of them was trained or failed too often */
    uint64_t saver;          /* incarnation that was told to save the model, 0 none */
    bool saved;              /* it said so */
    bool archived;           /* committed: it was over, and left the core */
    uint64_t share_since_us; /* check_groups.c: its group's share is kept from it; 0: it is not */
    bool kill_acknowledged;
    bool killed;        /* committed: and it was not ending in another way already */
    uint64_t killed_us; /* when that was committed */
    uint64_t started_us, ended_us, parked_us; /* parked: the last time; 0: never */
    uint32_t resizes, n_notices;              /* n_notices: committed, of its end */
    uint64_t cpu_now, cpu_since_us, cpu_used_us;
    struct message *waiters[SIM_SCHEDULERS_MAX]; /* owned lists: lease polls that wait there */
    uint64_t made_run;                           /* of the scheduler whose run made it */
};

struct ledger {
    struct truth_job **jobs; /* owned, by id; NULL holes */
    uint64_t n_jobs;
    size_t size; /* of what is remembered, roughly */
    uint64_t turns_unchecked, commits_unchecked;
};

struct truth_job *ledger_job(const struct sim *sim, uint64_t id);
/* ledger_job_made - the core made a job of a submission (not committed yet) */
struct truth_job *ledger_job_made(struct sim *sim, const struct job *job, uint32_t submission);
void ledger_committed(struct sim *sim, const struct effect *effects, size_t n);
void ledger_crashed(struct sim *sim);
/* ledger_dropped - jobs that this run of a scheduler made, and never stored, are not there
 * ledger_drop_all - likewise of all runs: another one has begun */
void ledger_dropped(struct sim *sim, uint64_t run);
void ledger_drop_all(struct sim *sim);
void ledger_restored(struct sim *sim);
void ledger_unit_starts(struct sim *sim, struct unit *unit, uint64_t commit);
/* ledger_unit_acts - it is not frozen, and neither is its machine beyond the end of the lease */
bool ledger_unit_acts(const struct sim *sim, const struct unit *unit);
void ledger_unit_runs(struct sim *sim, struct unit *unit);
void ledger_unit_gone(struct sim *sim, struct unit *unit);
/* ledger_units_stop - the job begins to end */
void ledger_units_stop(struct sim *sim, struct truth_job *truth);
/* ledger_node_thawed - what is late has happened: what is there acts again */
void ledger_node_thawed(struct sim *sim, const struct sim_node *node);
/* ledger_stops_committed - of a job whose processes were asked to end by this commit */
void ledger_stops_committed(struct sim *sim, const struct truth_job *truth);
/* ledger_unit_fenced - its supervisor saw the lease run out */
void ledger_unit_fenced(struct sim *sim, struct unit *unit);
void ledger_unit_told(struct sim *sim, struct unit *unit);         /* SIGTERM */
void ledger_unit_killed(struct sim *sim, const struct unit *unit); /* SIGKILL */
void ledger_task_leased(struct sim *sim, const struct job *job, const struct task *task,
                        uint64_t holder);
/* ledger_task_ended - its holder said so; kind: FINISH, FAIL, RETURN */
void ledger_task_ended(struct sim *sim, enum pending_kind kind, const struct job *job,
                       const struct task_ref *ref, uint64_t holder);
/* ledger_saver - kind: SAVER, told to save the model, or SAVED, said that it did */
void ledger_saver(struct sim *sim, enum pending_kind kind, const struct job *job, uint64_t holder);
/* ledger_tasks.c: a job's data as committed; how long a holder stood still, in all and so far */
void ledger_stands_still(struct sim *sim, const struct unit *unit);
void ledger_goes_on(struct sim *sim, const struct unit *unit);
/* ledger_may_discard - it failed, or its holders died, as often as a task may */
bool ledger_may_discard(const struct truth_task *task);
uint64_t ledger_stood_us(const struct sim *sim, const struct truth_job *truth, uint64_t holder);
void ledger_apply_task(struct sim *sim, const struct pending *pending);
void ledger_check_records(struct sim *sim, struct truth_job *truth, const struct job *job);
/* ledger_killed - the core took it for a job that was not ending already */
void ledger_killed(struct sim *sim, const struct job *job);
void ledger_scaled(struct sim *sim, const struct job *job, uint32_t op);
void ledger_prioritised(struct sim *sim, const struct job *job, uint32_t op);
void ledger_node_told(struct sim *sim, uint32_t op); /* its state, or that it is removed */
void ledger_acknowledged(struct sim *sim, const struct operation *op);
void ledger_done(struct sim *sim);
/* check.c: the costly ones */
void check_turn(struct sim *sim, bool committed);
void check_deep(struct sim *sim);
void check_durable(struct sim *sim);
/* check_end.c: may_wait - its minimum does not fit the machines, even empty ones */
bool check_may_wait(const struct sim *sim, const struct truth_job *truth);
/* check_failed - a job that failed had processes that did, more often than it bears */
void check_failed(struct sim *sim, const struct truth_job *truth);
/* check_given_up - this commit fails it: could others of the role have gone on without those? */
void check_given_up(struct sim *sim, const struct truth_job *truth);
/* check_settled.c: every second of the calm; nodes are emptied and relieved, jobs grow */
void check_settled(struct sim *sim);
/* of the calm: what the checks of it share */
bool settled_is_open(const struct sim *sim, const struct sim_node *node);
bool settled_is_complete(const struct truth_job *truth);
bool settled_is_finishing(const struct truth_job *truth);
bool settled_is_elastic(const struct sim *sim, const struct truth_job *truth, uint32_t role);
bool settled_nobody_failed(const struct truth_role *role);
/* since_us: when it began, 0 it is not so; true: it has lasted for so long */
bool settled_lasts(const struct sim *sim, uint64_t *since_us, bool is_so, uint64_t limit_us);
/* check_groups.c: every second of the calm; groups have their shares, and what they hold is known
 */
void check_groups(struct sim *sim);
/* check_lent - nobody was asked by this commit to give what is guaranteed to its group to who has
 * its share already */
void check_lent(struct sim *sim, const struct effect *effects, size_t n);
/* check_rest - in the calm: what is on record as running for long really runs */
void check_rest(struct sim *sim);
/* check_kills - in the calm, from since_us on: what was killed ends soon */
void check_kills(struct sim *sim, uint64_t since_us);
/* check_calm - after the last fault and time enough: nothing is left to be done */
void check_calm(struct sim *sim);

struct sim {
    struct sim_config config;
    uint64_t seen[_SIM_SEEN_MAX];
    uint64_t now_us, seq, events, hash;
    uint64_t instant_us, instant_events; /* the last instant, and how many were in it */
    struct heap heap;
    bool violated;
    struct edl_error violation;
    struct sim_node **nodes; /* owned */
    uint32_t n_nodes, cap_nodes;
    uint64_t unit_serial, call_serial, agent_serial;
    char **texts; /* owned; see text_kept */
    size_t n_texts, cap_texts;
    struct submission *submissions; /* owned */
    uint32_t n_submissions, cap_submissions;
    struct operation *operations; /* owned */
    uint32_t n_operations, cap_operations;
    uint32_t loss_ppm;
    uint64_t loss_until_us;
    bool clients_cut_up, clients_cut_down; /* people from the scheduler */
    uint64_t clients_until_us;
    struct server servers[SIM_SCHEDULERS_MAX];
    struct server *server; /* whose event it is; between events the one that leads */
    uint32_t n_servers;
    struct memory_store *store; /* owned; the disk */
    uint64_t commits;           /* of all schedulers */
    struct server_clock clock;  /* as of the last of them */
    struct database database;
    struct sim_groups groups;
    bool calm;                     /* SCRIPT_CALM was */
    uint64_t sums_differ_since_us; /* check_groups.c */
    struct ledger ledger;
    struct message *free_messages; /* owned list */
};

static inline uint64_t node_boot_us(const struct sim *sim, const struct sim_node *node)
{
    return (sim->now_us - node->boot_base_us) * (uint64_t)(PPM + node->drift_ppm) / PPM;
}

/* node_when_us - when the node's boot clock shows that; boot_us is not NEVER_US */
static inline uint64_t node_when_us(const struct sim_node *node, uint64_t boot_us)
{
    uint64_t rate = (uint64_t)(PPM + node->drift_ppm);

    return node->boot_base_us + (boot_us * PPM + rate - 1) / rate;
}
