/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - a whole cluster under a virtual clock: scheduler, agents, machines, processes, clients
 *
 * The very object code of the daemons decides (libcore.a, libagentcore.a); around it stand models
 * of the network, the store, the machines and the programs. One thread, one heap of events, ties in
 * the order of their making: a seed and a configuration give one history, on every machine. Every
 * time is in microseconds of the simulation's own clock, which begins at 0.
 *
 * After every event the checkers look from the outside at the processes that really ran, and when.
 * The first violation stops the simulation: sim_step returns false and sim_violation tells it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler/core/core.h"

#define SIM_GPU_SPEEDS_MAX 8

struct edl_error;
struct sim;

/* Uniform, both ends included. */
struct sim_range {
    uint64_t min_us, max_us;
};

/* One bug planted into the simulator's shells, to see its checker catch it. */
enum sim_mutant {
    SIM_MUTANT_NONE,
    SIM_MUTANT_ANSWER_BEFORE_COMMIT,        /* answers leave when the core took the call */
    SIM_MUTANT_ORDERS_BEFORE_COMMIT,        /* orders are made of a state that is not on disk */
    SIM_MUTANT_FENCE_IGNORES_LEASE,         /* supervisors go on when the lease ends */
    SIM_MUTANT_STORE_LOSES_RECORD,          /* now and then one record of a commit is not kept */
    SIM_MUTANT_STORE_KEEPS_TORN,            /* half of a commit survives a crash in the middle */
    SIM_MUTANT_STALE_FINISH_ACCEPTED,       /* the trainer's lease number is not looked at */
    SIM_MUTANT_PROCESS_NOT_COUNTED,         /* reports leave out a process that runs */
    SIM_MUTANT_CAPACITY_DOUBLED,            /* agents offer twice of what there is */
    SIM_MUTANT_REASON_EMPTIED,              /* waiting jobs lose their reason */
    SIM_MUTANT_RESTART_FORGETS_INCARNATION, /* restored jobs count incarnations anew */
    SIM_MUTANT_AGENT_FORGETS_EXITS, /* a restarted agent adopts the living only and says so */
    SIM_MUTANT_MARGIN_NEGATIVE,     /* a silent node's work is granted before its lease ended */
    SIM_MUTANT_STOP_IGNORED,        /* agents lose some of the stops they are to carry out */
    SIM_MUTANT_GANG_BY_HALVES,      /* the core is told that one of each is enough */
    SIM_MUTANT_MAX_EXCEEDED,        /* the core is told a larger maximum */
    SIM_MUTANT_SELECTOR_IGNORED,    /* the core is not told which nodes a role wants */
    SIM_MUTANT_PINS_IGNORED,        /* nor which node each of its instances has */
    SIM_MUTANT_GPU_SHARED,      /* orders name the first devices of the node, whoever has them */
    SIM_MUTANT_PORT_SHARED,     /* orders name the first ports of the node */
    SIM_MUTANT_GRANT_HALVED,    /* orders give half of the cores that the job asked for */
    SIM_MUTANT_CORDON_IGNORED,  /* a cordon is acknowledged and not carried out */
    SIM_MUTANT_EXIT_HIDDEN,     /* reports call processes running that have ended */
    SIM_MUTANT_MINIMUM_LOWERED, /* the core is told to scale down to a minimum of one */
    SIM_MUTANT_STOP_UNASKED,    /* orders stop one that is on record as running */
    SIM_MUTANT_GRACE_HALVED,    /* orders give half of the grace that the job asked for */
    SIM_MUTANT_THAW_UNFENCED,   /* supervisors of a machine that thaws do not look at the lease */
    SIM_MUTANT_FENCE_TOO_EARLY, /* supervisors take the lease for twice as long as it is */
    SIM_MUTANT_TIMER_SPINS,     /* an agent's timer is due again at once */
    SIM_MUTANT_KILL_FAILS,      /* a kill stops the job as if it had failed */
    SIM_MUTANT_TASKS_DISCARDED_EARLY, /* queues are made to discard at the first failure */
    SIM_MUTANT_TASKS_TAKEN_EARLY,     /* queues are made to take tasks back after 3 s */
    SIM_MUTANT_TASKS_NEVER_TAKEN,     /* queues are made to wait for whoever has a task */
    SIM_MUTANT_SAVERS_MANY,           /* everybody is told to save the model */
    SIM_MUTANT_SAVE_ASSUMED,          /* the core is told that the model is saved, nobody else */
    SIM_MUTANT_LOSS_IGNORED,          /* the core is not told what a task lost */
    SIM_MUTANT_NUMBER_REUSED,         /* a submission is given the number of the last job */
    SIM_MUTANT_ORDERS_KEPT,      /* an agent that was cut off goes on by the orders from before */
    SIM_MUTANT_MARGIN_NONE,      /* neither supervisors nor the scheduler allow for other clocks */
    SIM_MUTANT_SUM_SPOILED,      /* a shell writes into a sum that the core keeps */
    SIM_MUTANT_REQUEST_INFLATED, /* the core is told that processes ask for more than nodes have */
    SIM_MUTANT_SUCCESS_FAILS,    /* reports call a success a failure */
    SIM_MUTANT_PRIORITY_IGNORED, /* another priority is acknowledged and not carried out */
    SIM_MUTANT_GANG_FORGOTTEN,   /* the core is told to start again with one when queued again */
    SIM_MUTANT_DRAIN_AS_CORDON,  /* a node that is to be drained is only closed */
    SIM_MUTANT_FOREIGN_HIDDEN,   /* reports do not tell of load that is not ours */
    SIM_MUTANT_MAX_LOWERED,      /* the core is told the minimum as the maximum */
    SIM_MUTANT_SHARES_MIXED_UP,  /* the core is told of each group the share of the next one */
    SIM_MUTANT_GROUPS_KEPT,      /* other groups are acknowledged and not told to the core */
    SIM_MUTANT_SHARE_LOWERED,    /* the core is told half of each guarantee */
    SIM_MUTANT_LIMITS_UNTOLD,    /* the core is told of no limit */
    SIM_MUTANT_USER_MISTAKEN,    /* the core is told that each job is the first user's */
    SIM_MUTANT_STARTS_FORGOTTEN, /* the core forgets what could not be started on which node */
    SIM_MUTANT_NOBODY_SPARED,    /* a job of which one process is given up is failed */
    SIM_MUTANT_COST_OVERRATED,   /* a change of size is believed to take ten minutes */
    SIM_MUTANT_STALL_IGNORED,    /* nobody tells the core that the scheduler stood still */
    SIM_MUTANT_THAW_BY_LEASE,   /* supervisors thaw when the lease is renewed, whatever its epoch */
    SIM_MUTANT_THAW_OLD_ORDERS, /* an agent that was cut off thaws by orders from before */
    SIM_MUTANT_THAW_STALE,      /* supervisors do not look at the epoch of a thaw */
    SIM_MUTANT_THAW_UNLISTED,   /* what orders do not list is thawed, and not killed */
    SIM_MUTANT_STOP_THAWS,      /* a frozen process is thawed to get SIGTERM */
    SIM_MUTANT_FREEZE_LATE,     /* after the deadline */
    SIM_MUTANT_FREEZE_UNVERIFIED, /* nobody looks whether all of it stands still */
    SIM_MUTANT_FROZEN_FOR_EVER,   /* nothing is killed however long it stands */
    SIM_MUTANT_EPOCH_KEPT,        /* a lease that is renewed after a gap keeps its epoch */
    SIM_MUTANT_PERMISSION_NONE,   /* of two schedulers: a leader tells leases without a proof */
    SIM_MUTANT_PERMISSION_LONG,   /* its permission lasts for 12 s, and the next one waits for 8 */
    SIM_MUTANT_PROOF_WITHOUT_COMMIT, /* its sign of life is not stored, as SELECT 1 is not */
    SIM_MUTANT_FIRST_LEASE_SHORT,    /* the next one judges nodes after 10 s */
    SIM_MUTANT_TERM_UNCHECKED,       /* the store takes turns of a lower term */
    SIM_MUTANT_TERMS_ALIKE,          /* agents know nothing of terms */
    SIM_MUTANT_DEPOSED_ORDERS,       /* who was deposed answers orders */
    SIM_MUTANT_LOAD_BEFORE_TERM,     /* the state is loaded with the lock */
    SIM_MUTANT_AWAY_BEFORE_COMMIT,   /* nodes are told that it leaves before that is on disk */
    SIM_MUTANT_AWAY_FORGOTTEN,       /* the next scheduler is not told what is on disk of it */
    SIM_MUTANT_AWAY_SHARE_EARLY,     /* a node is waited for no more once it is heard */
    SIM_MUTANT_START_GRANTS,         /* a start does not wait for nodes that are silent */
    SIM_MUTANT_START_FLOOR_SHORT,    /* nor longer than a lease, and who is frozen tries seldom */
    SIM_MUTANT_STANDSTILL_UNTOLD, /* an agent does not tell for how long what it runs stood still */
    SIM_MUTANT_AGES_BY_WALL_CLOCK, /* the core is told the wall clock for elapsed time */
    SIM_MUTANT_PROMISE_FORGOTTEN,  /* a restarted agent does not know who promised to be alive */
    SIM_MUTANT_SILENT_FROZEN,      /* agents take what is frozen for silent */
    SIM_MUTANT_PARKED_UNASKED,     /* the core is told that each job may be parked */
    SIM_MUTANT_NOTICE_LOST,        /* now and then an end is committed without its notice */
    SIM_MUTANT_BACKLOG_HIDDEN,     /* reports do not tell of the queues of services */
    SIM_MUTANT_PARKED_FORGOTTEN,   /* a job that was parked is taken out of the queue */
    _SIM_MUTANT_MAX,
};
const char *sim_mutant_to_string(enum sim_mutant mutant);

/* What histories contained: a promise proves nothing where nothing attacked it. */
enum sim_seen {
    SIM_SEEN_STARTS,       /* processes that really started */
    SIM_SEEN_STARTS_AGAIN, /* in a slot that had one before */
    SIM_SEEN_STARTS_WITH_GPU,
    SIM_SEEN_STARTS_BY_SELECTOR, /* of a role that wants nodes with certain labels */
    SIM_SEEN_STARTS_PINNED,      /* of a role that names the node of each instance */
    SIM_SEEN_ENDS_THEMSELVES,
    SIM_SEEN_ENDS_ON_SIGTERM,
    SIM_SEEN_ENDS_ON_SIGKILL,    /* after the grace */
    SIM_SEEN_CHECKPOINTS_DONE,   /* said while it is stopped: SIGKILL comes early */
    SIM_SEEN_ENDS_BY_FENCE,      /* the lease ran out */
    SIM_SEEN_FROZEN,             /* processes, because a lease ran out */
    SIM_SEEN_ESCAPES,            /* of those, which could not be */
    SIM_SEEN_THAWED,             /* and went on */
    SIM_SEEN_SUPERVISORS_KILLED, /* of frozen ones */
    SIM_SEEN_ENDS_WITH_POWER,    /* of the machine */
    SIM_SEEN_STARTS_FAILED,
    SIM_SEEN_QUARANTINES, /* committed */
    SIM_SEEN_RESIZES,     /* committed */
    SIM_SEEN_NODES_LOST,  /* committed */
    SIM_SEEN_CORDONS,     /* committed: cordoned or draining */
    SIM_SEEN_KILLS,       /* acknowledged */
    SIM_SEEN_PRIORITIES,  /* other ones, committed */
    SIM_SEEN_FOREIGN_LOADS,
    SIM_SEEN_FOREIGN_MEMORY,
    SIM_SEEN_WALL_JUMPS,
    SIM_SEEN_MESSAGES_LOST,
    SIM_SEEN_MESSAGES_TWICE,
    SIM_SEEN_MESSAGES_OVERTAKEN, /* one from the same node that was sent later came first */
    SIM_SEEN_CLIENT_CALLS_LOST,  /* or their answers */
    SIM_SEEN_CLIENT_CALLS_TWICE,
    SIM_SEEN_CLIENTS_CUT,
    SIM_SEEN_CUTS_ONE_WAY,
    SIM_SEEN_CUTS_BOTH_WAYS,
    SIM_SEEN_MACHINES_FROZEN,
    SIM_SEEN_AGENTS_FROZEN,
    SIM_SEEN_AGENT_CRASHES,
    SIM_SEEN_OFFERS_SMALLER, /* of a machine that was started again */
    SIM_SEEN_OFFERS_LARGER,
    SIM_SEEN_AGENT_STOPS,         /* told to end its processes and leave */
    SIM_SEEN_AGENTS_LEFT,         /* and did */
    SIM_SEEN_CREDENTIALS_REFUSED, /* of a node that was removed: it joins anew */
    SIM_SEEN_CLOCKS_DRIFTING,     /* of nodes, against the scheduler's */
    SIM_SEEN_FAULTS_OVERLAPPING,  /* one more of a kind that had not healed */
    SIM_SEEN_SCHEDULER_CRASHES,
    SIM_SEEN_SCHEDULER_FREEZES,
    SIM_SEEN_SCHEDULER_LEFT, /* in order */
    SIM_SEEN_LEASES_ALONE,   /* that went on because the scheduler had said that it leaves */
    SIM_SEEN_STALLS,         /* freezes and commits so long that leases were made longer */
    SIM_SEEN_COMMITS,
    SIM_SEEN_ARCHIVED,       /* jobs that were over long enough */
    SIM_SEEN_COMMITS_TORN,   /* the scheduler ended in the middle: nothing of it is there */
    SIM_SEEN_ANSWERS_LOST,   /* it ended after the commit, before anybody was told */
    SIM_SEEN_STALE_FINISHES, /* refused: of a task that another holds */
    SIM_SEEN_TASKS_FINISHED,
    SIM_SEEN_TASKS_GIVEN_BACK, /* their trainer was stopped or lost: done again by another */
    SIM_SEEN_TASKS_FAILED,     /* their trainer said so */
    SIM_SEEN_TASKS_DISCARDED,
    SIM_SEEN_TASKS_DAMAGED,   /* done, and not all of their records could be read */
    SIM_SEEN_TASKS_TIMED_OUT, /* their trainer hung; others got them */
    SIM_SEEN_TRAINERS_HUNG,
    SIM_SEEN_PROMISES_BROKEN, /* by those that hang: they are killed */
    SIM_SEEN_GROUPS_CHANGED,
    SIM_SEEN_SHARES_TAKEN, /* committed: others' processes stop for a group below its share */
    SIM_SEEN_LIMITED,      /* committed: a job waits for the limit of its user or group */
    SIM_SEEN_DATA_LATE,    /* registered a minute or more after its job's minimum ran */
    SIM_SEEN_STRAGGLERS_MOVED,
    SIM_SEEN_SERVERS_CHOSEN, /* more parameter servers than a minimum */
    SIM_SEEN_EXCHANGED,   /* instances that gave their place to one of another job, for its place */
    SIM_SEEN_TYPES_KNOWN, /* resizes of jobs of which it is known how they compare types of GPU */
    SIM_SEEN_BACKLOGS,    /* committed: resizes of services that tell of their queues */
    SIM_SEEN_PARKED,      /* jobs that went back to the queue for others */
    SIM_SEEN_GIVEN_UP,    /* processes that failed too often, and their jobs go on */
    SIM_SEEN_AT_ONCE,     /* jobs whose program failed everywhere within seconds */
    SIM_SEEN_TRAINED_NOTHING, /* jobs of which no task of a pass was trained */
    SIM_SEEN_FAILED,          /* fault tolerant jobs that were failed */
    /* of two schedulers: */
    SIM_SEEN_TERMS,            /* leaders that began */
    SIM_SEEN_TURNS_REFUSED,    /* of a leader that was deposed */
    SIM_SEEN_TERMS_LOWER,      /* answers that a node did not take */
    SIM_SEEN_LEADERS_AWAY,     /* leaders that gave up their term */
    SIM_SEEN_LEASES_ONLY,      /* answers that tell a lease and nothing else */
    SIM_SEEN_PERMISSIONS_OVER, /* answers that did not leave, as their leader's was over */
    SIM_SEEN_DEPOSED,          /* faults */
    SIM_SEEN_DATABASE_CRASHES,
    SIM_SEEN_DATABASE_SPLITS,
    _SIM_SEEN_MAX,
};
#define SIM_SEEN_ALONE_MAX (SIM_SEEN_FAILED + 1)    /* those from there on are of two schedulers */
const char *sim_seen_to_string(enum sim_seen seen); /* "starts", "ends-by-fence", ... */

struct sim_config {
    uint64_t seed;
    /* scheduler */
    const struct policy *policy;
    uint32_t max_load_permille;         /* 0: 970 */
    uint64_t lease_us, lease_margin_us; /* 0: 15 s, 2 s */
    uint64_t away_us;                   /* told when it leaves in order; 0: 60 s */
    uint64_t parking_us;                /* 0: no job is parked */
    uint64_t foreign_hold_us;           /* 0: as edl-scheduler has it */
    uint64_t keep_ended_jobs;           /* 0: all */
    uint32_t schedulers;                /* 0: one; 2: over one store that both reach */
    bool ignores_speed, ignores_types;  /* as cluster_config has them */
    bool promises;                      /* processes promise to be alive */
    bool first_come;                    /* as cluster_config has it */
    bool groups;                        /* jobs are of several users, who are in groups */
    bool limits;                        /* some of both have limits, until the calm */
    struct sim_range commit;            /* how long a commit takes */
    /* agents */
    uint64_t heartbeat_us;    /* 0: 1 s */
    uint64_t cut_off_kill_us; /* 0: 15 min */
    uint32_t thaw_late_ppm;   /* of thaws that a supervisor takes much later */
    uint32_t drift_ppm;       /* a node's clock goes faster or slower by up to so much; < 1000000 */
    /* network, one way; every message draws its own */
    struct sim_range latency;
    uint32_t tail_ppm; /* so many take up to tail_us instead */
    uint64_t tail_us;
    uint32_t loss_ppm, duplicate_ppm;
    enum sim_mutant mutant;
    FILE *trace; /* borrowed; every event one line; NULL: none */
};

/* What the processes of a job really do, which its document does not tell.
 * Roles that do not work (pserver beside others) run until told to stop. */
enum sim_work_kind {
    SIM_WORK_TASKS,    /* the working roles lease tasks of a dataset, save the model, exit 0 */
    SIM_WORK_LIFETIME, /* each runs for lifetime_us, then exits 0 */
    SIM_WORK_STEPS,    /* all train together in steps, without a queue, and exit 0 at the last */
    SIM_WORK_FOREVER,  /* until told to stop */
    SIM_WORK_SERVE,    /* likewise: they share a load, and tell of their queues */
};

#define SIM_LOADS_MAX 16

#define SIM_STEP_TERMS 5

struct sim_work {
    enum sim_work_kind kind;
    uint32_t tasks;            /* TASKS: of one pass (spec->passes of them) */
    uint32_t steps;            /* STEPS: of the job */
    uint32_t records_per_task; /* TASKS; STEPS: samples of a step of all instances */
    uint32_t damaged_each;     /* TASKS: of so many one has records that nobody can read; 0: none */
    uint64_t task_us;          /* TASKS, STEPS: one of them in a job of one instance */
    bool silent;               /* STEPS: they tell of none */
    /* TASKS, STEPS: n instances work n^(speedup/1000) times as fast as one; 0 and 1000: linear */
    uint32_t speedup_permille;
    /* TASKS, STEPS: what a step of w instances with p servers takes, as t0/w + t1 + t2 w/p + t3 w +
     * t4 p, relative to that of one with one; all 0: speedup_permille */
    double step[SIM_STEP_TERMS];
    uint64_t save_us;             /* TASKS: the model */
    struct sim_range lifetime;    /* LIFETIME */
    struct sim_range start, stop; /* from order to running; from SIGTERM to gone */
    uint32_t start_failure_ppm;   /* of starts that fail */
    bool useless;                 /* all of them end with 1 within a second, whatever they do */
    uint32_t crash_ppm;           /* of tasks (TASKS) or lives (LIFETIME) that end non-zero */
    uint32_t task_failure_ppm;    /* TASKS: of tries that the trainer gives up and says so */
    uint32_t bad_task_ppm;        /* TASKS: of tasks that nobody can work off */
    bool bad_tasks_crash;         /* they end their trainer; else it says so */
    uint32_t hang_ppm;            /* TASKS: of tries, and savings, whose trainer hangs for ever */
    struct sim_range prepare;     /* TASKS: from running to the data, for who finds none */
    uint32_t ignores_sigterm_ppm; /* of processes: SIGKILL after the grace */
    /* TASKS: so much faster it works on nodes of these types of GPU; on others as told above */
    struct sim_gpu_speed {
        char type[LABEL_VALUE_MAX + 1];
        uint32_t permille;
    } gpu_speeds[SIM_GPU_SPEEDS_MAX];
    uint32_t n_gpu_speeds;
    /* SERVE: from then on, so many instances would be busy all the time; thousandths. Rising in
     * time; none before the first */
    struct sim_load {
        uint64_t at_us;
        uint32_t permille;
    } loads[SIM_LOADS_MAX];
    uint32_t n_loads;
};

struct sim *sim_new(const struct sim_config *config);
struct sim *sim_free(struct sim *sim);

/* --- what is to happen; before or during the run, never in the past ----------------------------
 */

/* sim_add_node - a machine whose agent starts at at_us; returns its number (0, 1, ..) */
uint32_t sim_add_node(struct sim *sim, uint64_t at_us, const char *name,
                      const struct node_offer *offer);

/* sim_set_speed - what works there is so much faster or slower from now on; 1000 at first */
void sim_set_speed(struct sim *sim, uint32_t node, uint32_t permille);

/* sim_set_user - who submits that; the name is copied. "sim" where nobody says */
void sim_set_user(struct sim *sim, uint32_t submission, const char *user);

/* sim_submit_at - a client submits and tries again until it is answered; returns the submission's
 * number (0, 1, ..) */
uint32_t sim_submit_at(struct sim *sim, uint64_t at_us, struct job_spec *take_spec,
                       const struct sim_work *work);
/* The same for what people do to a job; it waits for its submission to be answered. */
void sim_kill_at(struct sim *sim, uint64_t at_us, uint32_t submission);
void sim_scale_at(struct sim *sim, uint64_t at_us, uint32_t submission, const char *role,
                  uint32_t min, uint32_t max);
void sim_prioritise_at(struct sim *sim, uint64_t at_us, uint32_t submission, int32_t priority);
/* NODE_READY, NODE_CORDONED, NODE_DRAINING */
void sim_node_state_at(struct sim *sim, uint64_t at_us, uint32_t node, enum node_state state);
/* refused while its processes live; its agent joins again */
void sim_remove_node_at(struct sim *sim, uint64_t at_us, uint32_t node);
/* load of the machine that is not ours, from now on; agents smooth it as they do */
void sim_foreign_at(struct sim *sim, uint64_t at_us, uint32_t node, uint64_t cpu_millicores,
                    uint64_t memory_bytes);

/* --- running ------------------------------------------------------------------------------------
 */
bool sim_step(struct sim *sim); /* one event; false: nothing left, or a violation */
void sim_run_until(struct sim *sim, uint64_t us); /* all events up to and at that time */
uint64_t sim_now_us(const struct sim *sim);
uint64_t sim_events(const struct sim *sim);                   /* handled so far */
uint64_t sim_saw(const struct sim *sim, enum sim_seen what);  /* so far */
const struct edl_error *sim_violation(const struct sim *sim); /* NULL: none */
uint64_t sim_hash(const struct sim *sim);                     /* of the history so far */

/* --- looking ------------------------------------------------------------------------------------
 */
/* the scheduler's view, possibly ahead of the store by the turn under way; NULL while it is down */
const struct cluster *sim_cluster(const struct sim *sim);

struct sim_process_view {
    uint32_t node;
    uint64_t job_id;
    const char *role;
    uint32_t index;
    uint64_t incarnation;
    bool running;      /* false: its start is under way */
    bool stopping;     /* got SIGTERM */
    uint64_t since_us; /* begin of its start */
    uint64_t cpu_millicores, memory_bytes;
    uint32_t gpus;
};
typedef void (*sim_process_fn)(const struct sim_process_view *view, void *userdata);
/* sim_each_process - what REALLY runs, by node and then in order of start */
void sim_each_process(const struct sim *sim, sim_process_fn fn, void *userdata);

/* What really became of a submission; times are NEVER_US while they have not come. */
struct sim_job_facts {
    const char *name;
    uint64_t job_id;          /* 0: not answered yet */
    uint64_t submitted_us;    /* the client's first try */
    uint64_t acknowledged_us; /* its answer came */
    uint64_t started_us;      /* the whole minimum really ran for the first time */
    uint64_t ended_us;        /* committed as final */
    enum job_state state;     /* as last committed */
    uint32_t resizes;
    uint64_t cpu_granted_us; /* integral over what really ran: millicores * us / 1000 */
};
size_t sim_n_submissions(const struct sim *sim);
void sim_job_facts(const struct sim *sim, uint32_t submission, struct sim_job_facts *ret);

/* --- seeds: schedule of faults and of work derived from a number (faults.h) ---------------------
 */
struct sim_run_options {
    const char *profile;  /* as sim_profile_name has them; NULL: mixed */
    uint64_t duration_us; /* faults and submissions happen in it; 0: by seed. Calm follows. */
    uint32_t nodes;       /* 0: by seed, 2..8 mostly */
    const struct policy *policy; /* NULL: fulfilment */
    enum sim_mutant mutant;
    bool no_shrink; /* on a violation: do not look for a shorter history */
    /* entries of the schedule, by their numbers from 1 on; borrowed; NULL: all of it */
    const uint32_t *only;
    size_t n_only;
    FILE *trace; /* borrowed; NULL: none */
};

struct sim_result {
    bool failed;
    uint64_t events;
    uint64_t node_us;     /* simulated: nodes times virtual time */
    uint64_t hash;        /* of the history */
    uint64_t violated_us; /* when */
    uint64_t seen[_SIM_SEEN_MAX];
    char violation[400];    /* "" when !failed */
    char shorter[400];      /* the violation of the shortened history; "" when not shortened */
    uint64_t shorter_us;    /* and when it came */
    char *history;          /* owned: last events before it, a line each; NULL when !failed */
    char *schedule;         /* owned: what was to happen, shrunk; NULL when !failed */
    uint32_t schedule_full; /* entries before shrinking */
    uint32_t schedule_left; /* entries after */
    uint32_t *left;         /* owned: their numbers, as sim_run_options.only takes them */
};

/* sim_run_seed - 0: it ran (ret->failed tells how it went); -EINVAL with error: no such profile or
 * entry */
int sim_run_seed(const struct sim_run_options *options, uint64_t seed, struct sim_result *ret,
                 struct edl_error *error);
void sim_result_done(struct sim_result *result);
/* sim_profile_name - the i-th profile, NULL after the last */
const char *sim_profile_name(size_t i);
