/* SPDX-License-Identifier: Apache-2.0 */
/* core_internal.h - what the files of the deciding core share and nobody else sees
 *
 * Words: a process is live until it was seen gone or its node's lease ended; it counts for its role
 * while it is live and not stopping; a slot is due when its process failed or was lost and a new
 * incarnation is wanted. */
#pragma once

#include <errno.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/prior.h"
#include "scheduler/core/model/cluster.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "scheduler/core/model/effects.h"

#define BACKOFF_MAX_US (60 * USEC_PER_SEC)
#define BACKOFF_LEAST_US (100 * USEC_PER_MSEC) /* from a slot's second failure on; doubles, too */

/* --- cluster.c
 * -------------------------------------------------------------------------------------------- */
/* unlisted_move - a table of states does not list this move: nothing is done, and cluster_check
 * says so from now on */
void unlisted_move(struct cluster *cluster, const char *what, const char *name, const char *from,
                   const char *to);

void job_free(struct job *job);
/* job_name_enter, job_name_leave - it is found by its name; an older one of its user's is again */
void job_name_enter(struct cluster *cluster, struct job *job);
void job_name_leave(struct cluster *cluster, struct job *job);
unsigned job_names_count(const struct cluster *cluster);
void job_names_done(struct cluster *cluster);

/* --- job_sm.c
 * ------------------------------------------------------------------------------------------- */
/* job_set_state - by the table; false (and nothing done) when the table does not allow it */
bool job_set_state(struct cluster *cluster, struct job *job, enum job_state to, struct instant now);
/* job_want_nothing - no process of it any more */
void job_want_nothing(struct job *job);
/* job_set_reason - why it is in its state: the cause, and a sentence for people. Its intent stays
 */
void job_set_reason(struct cluster *cluster, struct job *job, enum cause cause, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
void job_set_target(struct cluster *cluster, struct job *job, uint32_t role, uint32_t target,
                    struct instant now);
/* job_stop - stops all its processes; when the last one is gone it ends as intent says */
void job_stop(struct cluster *cluster, struct job *job, struct instant now, enum intent intent,
              enum cause cause, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* job_keeps_remains - it has ended by itself, and what still runs of it stays until it is killed */
bool job_keeps_remains(const struct job *job);
/* job_kill - whatever it does now; what is stopping goes on ending the way it was to end */
void job_kill(struct cluster *cluster, struct job *job, struct instant now, enum cause cause,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
/* job_watch_deadline - from now on it is known when it has to be over */
void job_watch_deadline(struct cluster *cluster, struct job *job, struct instant now);
/* job_overdue - its deadline came */
void job_overdue(struct cluster *cluster, struct job *job, struct instant now);
/* job_settle - state and reason after something changed: started, resized, done, ended. Idempotent.
 */
void job_settle(struct cluster *cluster, struct job *job, struct instant now);

/* --- submit.c
 * ------------------------------------------------------------------------------------------- */
/* submit_prepare - what cluster_submit_array does before anything is made: its checks, then names
 * and times become absolute. Nothing is changed after an error */
int submit_prepare(const struct cluster *cluster, struct job_spec *spec, const char *user,
                   const struct archived_jobs *archived, struct instant now,
                   struct edl_error *error);
/* The parts of a submission besides its document. */
struct submit_terms {
    const char *user;
    const struct archived_jobs *archived;
    bool resolved; /* the jobs that it is to run after have their numbers already */
    struct instant now;
};
/* submission_prepare - submit_prepare by such terms. submission_add - a queued job, in no queue
 * yet. submission_enter - it has its turn: it enters the queue, or waits for others. O(log n) */
int submission_prepare(const struct cluster *cluster, struct job_spec *spec,
                       const struct submit_terms *terms, struct edl_error *error);
struct job *submission_add(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                           struct instant now);
void submission_enter(struct cluster *cluster, struct job *job, struct instant now);
/* spec_check_size - what one submission may ask for, whoever makes it; EDL_EBADSPEC, pointer set */
int spec_check_size(const struct job_spec *spec, struct edl_error *error);
/* spec_makes_array - an array of jobs is to be made of the document */
bool spec_makes_array(const struct job_spec *spec);

/* --- submission.c
 * ------------------------------------------------------------------------------------------- */
/* submit_resolved - cluster_submit_array of what was prepared so: of a copy, which does not have
 * those that are over */
int submit_resolved(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                    struct instant now, struct job **ret_first, struct edl_error *error);

/* --- after_resolve.c, after.c: jobs that wait for others
 * ------------------------------------------------------------------------------------------- */
/* What a resolved text of spec->after says: a job, or all jobs of an array. */
struct after_name {
    uint64_t first;
    uint32_t n; /* 0: the one job */
};
struct after_name after_read(const char *text);
/* after_resolve - names in spec->after become numbers; EDL_EBADSPEC (pointer set) when one is not
 * there, is of several other users, or has ended without success: all or nothing. Linear in all
 * jobs of the core for each array that is named */
int after_resolve(const struct cluster *cluster, const char *user,
                  const struct archived_jobs *archived, struct job_spec *spec,
                  struct edl_error *error);
/* after_link - a queued job, new or restored: it enters the queue, waits for others first, or fails
 * because one of them has. tell: as queue_enter has it. O(n) in those it names */
void after_link(struct cluster *cluster, struct job *job, bool tell, struct instant now);
/* after_name - it is queued (1), or no longer (-1): those that it was to run after stay meanwhile
 */
void after_name(struct cluster *cluster, struct job *job, int sign);
/* after_ended - the job is over: who waits for it enters the queue or fails, and so on. It waits
 * for nobody any more */
void after_ended(struct cluster *cluster, struct job *job, struct instant now);
/* after_ready_wall_us - since when it waits for nothing but room: its submission, or the end of the
 * last job that it names. O(n) in those */
uint64_t after_ready_wall_us(const struct cluster *cluster, const struct job *job);
/* after_first - the first that a job still waits for, of an array the first that is not over; NULL
 * none */
const struct job *after_first(const struct cluster *cluster, const struct job *job);
/* after_describe - for whom a job waits; "" nobody */
char *after_describe(const struct job *job, char *buffer, size_t size);
/* after_describe_success - what a job that waits (n_waits > 0) waits for */
void after_describe_success(const struct job *job, char *buffer, size_t size);
/* after_free - what is known of arrays, with the cluster */
void after_free(struct cluster *cluster);

/* --- tasks.c
 * -------------------------------------------------------------------------------------------- */
/* What of a task queue is compared before and after a change. */
struct tasks_mark {
    uint32_t pass;
    uint64_t tasks_discarded, records_discarded, chunks_lost, records_lost;
};
struct tasks_mark tasks_mark(const struct job *job);
/* tasks_changed - its queue changed since the mark: it is saved. Events tell of a pass that ended
 * and of tasks that are skipped, however that came */
void tasks_changed(struct cluster *cluster, struct job *job, const struct tasks_mark *before,
                   struct instant now);
/* task_gaps.c: tasks_heard_again - its node reports after a silence, and node->reported_us is still
 * that of the report before: no task of its processes is due sooner for that time. Linear in the
 * processes of the node
 * tasks_put_off - before tasks of the job expire: those that are due wait for the next report of
 * their node, which says whether they stood still. Linear in the slots of the job */
void tasks_heard_again(struct cluster *cluster, struct node *node, struct instant now);
void tasks_put_off(const struct cluster *cluster, struct job *job, struct instant now);
/* tasks_settle - behind tasks_changed: the job moves on when its data is worked off or failed */
void tasks_settle(struct cluster *cluster, struct job *job, struct instant now);
/* tasks_describe_skipped - how much of its data was skipped, as a clause; "" nothing was. Returns
 * buffer */
char *tasks_describe_skipped(const struct job *job, char *buffer, size_t size);

/* --- job_restarts.c
 * ------------------------------------------------------------------------------------- */
/* slot_failed_at_once - a process of the slot ran on that node for seconds only and failed by
 * itself, as far as its processes are remembered. O(JOB_HISTORY_MAX) */
bool slot_failed_at_once(const struct job *job, const struct slot *slot, const struct node *node,
                         struct instant now);
/* process_ran_for_us - at most, by its agent's clock or ours */
uint64_t process_ran_for_us(const struct process *process, struct instant now);
/* job_fails_at_once - its program fails everywhere within seconds and nothing was ever done, as
 * often as the job bears of that; `last` has just failed. buffer: how often and where, as a clause.
 * Linear in its processes, times the nodes */
bool job_fails_at_once(const struct cluster *cluster, const struct job *job,
                       const struct process *last, struct instant now, char *buffer, size_t size);

/* --- rendezvous.c
 * --------------------------------------------------------------------------------------- */
/* rendezvous_get - of that role, made when there is none */
struct rendezvous *rendezvous_get(struct job *job, uint32_t role);
/* rendezvous_free - those of all roles */
void rendezvous_free(struct job *job);
/* rendezvous_moved - the state of the process changed */
void rendezvous_moved(struct cluster *cluster, struct process *process);
/* rendezvous_restored - the job's processes are tied together: who of the members is still there.
 * Linear in the members */
void rendezvous_restored(struct job *job);
/* rendezvous_begin_epoch - numbers of generations go on above first_number, and what was agreed is
 * over. Linear in the job's processes */
void rendezvous_begin_epoch(struct cluster *cluster, struct job *job, uint64_t first_number);

/* --- job_roles.c: pure questions about a job
 * ------------------------------------------------------------- */
/* job_elastic_role - the one role that grows and shrinks, or -1 */
int job_elastic_role(const struct job *job);
int spec_elastic_role(const struct job_spec *spec);
/* job_role_works - its end is the job's end: every role but "pserver", unless it is the only one */
bool job_role_works(const struct job *job, uint32_t role);
bool job_is_started(const struct job *job); /* starting, running or resizing */
bool job_data_complete(
    const struct job *job); /* no dataset, or all passes ended and the model is saved */
/* all O(1) */
uint32_t job_count_live(const struct job *job); /* stopping ones included */
uint32_t job_count_due(const struct job *job, uint32_t role);
uint32_t job_count_finished(const struct job *job, uint32_t role);
/* instances of its elastic role that it could lose: above the minimum, without those that leave a
 * draining node (others stand in for them) and those that are marked as victims */
uint32_t job_surplus(const struct job *job);
/* spec_servers - the role of parameter servers beside others; -1: there is none */
int spec_servers(const struct job_spec *spec);
/* instances that a started job must not lack now */
uint32_t job_role_floor(const struct job *job, uint32_t role);
void job_grow_slots(struct job *job, uint32_t role, uint32_t n);

/* --- history.c: the incarnations of before
 * ------------------------------------------------------------- */
/* history_add - the process is its slot's newest; the one before it is history */
void history_add(struct process *process);
/* history_trim - forgets the oldest beyond JOB_HISTORY_MAX; nothing may borrow them any more */
void history_trim(struct cluster *cluster, struct job *job);

/* --- archive.c
 * ------------------------------------------------------------------------------------------- */
/* ended_add - the job is over; ended_restore, then ended_restored: many, in any order */
void ended_add(struct cluster *cluster, struct job *job);
void ended_restore(struct cluster *cluster, struct job *job);
void ended_restored(struct cluster *cluster);
/* job_close_queue - the job is over: of its tasks only what was counted stays */
void job_close_queue(struct cluster *cluster, struct job *job);
/* ended_is_ordered - for checks; linear */
bool ended_is_ordered(const struct cluster *cluster);

/* --- process_sm.c
 * --------------------------------------------------------------------------------------- */
/* process_may_become - what an agent says may be old: it is asked first */
bool process_may_become(const struct process *process, enum process_state to);
bool process_set_state(struct cluster *cluster, struct process *process, enum process_state to,
                       struct instant now);
/* process_assign - a new incarnation in a free slot; false when the node lacks ports (nothing done)
 */
bool process_assign(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                    struct node *node, struct instant now);
/* process_attach - on node from now on; the caller refreshes the node and touches the job */
void process_attach(struct process *process, struct node *node);
/* process_stop - asks it to stop; nothing when it was asked before. again: its slot is filled anew
 * afterwards */
void process_stop(struct cluster *cluster, struct process *process, bool again, enum cause cause,
                  const char *reason, struct instant now);
/* process_was_refused - whether its agent did not start it because the node, as this same report
 * says, offers less than it was ordered for: no failure of its own. One that a node refuses
 * although it offers as much fails like any other, or it would be ordered there for ever. */
bool process_was_refused(const struct process *process, const struct process_report *report,
                         const struct node_offer *offer);
void process_exited(struct cluster *cluster, struct process *process,
                    const struct process_report *report, struct instant now);
void process_lost(struct cluster *cluster, struct process *process, enum cause cause,
                  const char *reason, struct instant now);
/* process_leaves_gang - one was lost or taken, which is no failure of its own: a job that is not
 * fault tolerant starts again as a whole. What never ran took nothing along and is placed anew. */
void process_leaves_gang(struct cluster *cluster, struct process *process, const char *how,
                         struct instant now);
struct slot *process_slot(const struct process *process);
/* process_describe_exit - "exit code 1 (General Error)" */
void process_describe_exit(int exit_code, int exit_signal, char *buffer, size_t size);
/* "trainer-3" */
void process_name(const struct process *process, char *buffer, size_t size);

/* --- jobs, nodes
 * ---------------------------------------------------------------------------------------- */
struct job *job_new(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                    const char *user);
struct node *node_new(struct cluster *cluster, const char *name, enum node_state state,
                      const struct node_offer *offer);
struct process *process_new(struct job *job, uint32_t role, uint32_t index, uint64_t incarnation);
struct node *node_free(struct cluster *cluster, struct node *node);
/* lease.c
 * node_renew_lease - it was heard now; node_end_lease - it has none any more. Idempotent
 * node_begin_lease - at a start; no report makes it shorter until one repeats the session that its
 * node gets here, which node_repeats looks at */
void node_renew_lease(struct cluster *cluster, struct node *node, struct instant now);
void node_end_lease(struct cluster *cluster, struct node *node);
void node_begin_lease(struct cluster *cluster, struct node *node, struct instant now);
void node_repeats(struct cluster *cluster, struct node *node, uint64_t session);
/* process_frozen.c */
void process_take_frozen(struct cluster *cluster, struct process *process,
                         const struct process_report *report, struct instant now);
/* away.c; away_wait_us - from a start on; away_settle - one node fewer is waited for */
uint64_t away_wait_us(const struct cluster *cluster);
void away_settle(struct cluster *cluster);
/* node_identity.c
 * node_admit - whether a report is to be believed, see cluster_report; node_take_identity - of one
 * that is: its machine and boot; true: the node was started again since its last report */
int node_admit(struct cluster *cluster, struct node *node, const struct node_report *report,
               struct edl_error *error);
bool node_take_identity(struct cluster *cluster, struct node *node,
                        const struct node_report *report);
void node_forget_machine(struct cluster *cluster, struct node *node);
void machines_free(struct cluster *cluster);
/* cluster_machine - by its id, or NULL. node_take_machine - the node is on that one; NULL, "": not
 * told, and nothing changes */
struct machine_nodes *cluster_machine(const struct cluster *cluster, const char *id);
void node_take_machine(struct cluster *cluster, struct node *node, const char *id);

/* node_first_fenced - the first process on a lost node that ended with its lease, or NULL;
 * node_note_kept - an event for each that did not */
struct process *node_first_fenced(const struct node *node);
void node_note_kept(struct cluster *cluster, const struct node *node, struct instant now);
/* node_note_reachable - what runs there can be reached again, or at another address */
void node_note_reachable(struct cluster *cluster, const struct node *node);
/* node_failed_to_start - a process of that job, in the last ten minutes */
bool node_failed_to_start(const struct node *node, const struct job *job, struct instant now);
/* node_start_failed, node_started - what a node's processes tell about it */
void node_start_failed(struct cluster *cluster, struct node *node, struct job *job,
                       struct instant now);
void node_started(struct cluster *cluster, struct node *node, struct job *job, struct instant now);
/* node_quarantine - a ready one takes nothing new until an operator sets it ready */
void node_quarantine(struct cluster *cluster, struct node *node, struct instant now);
/* node_lost - its lease has ended */
void node_lost(struct cluster *cluster, struct node *node, struct instant now);
struct node_offer node_offer_bounded(const struct node_offer *offer);
/* foreign load that was lower than planned for long enough: the peak of that time is planned with
 */
void node_foreign_fell(struct cluster *cluster, struct node *node, struct instant now);
bool node_offers_same(const struct node_offer *a, const struct node_offer *b);
#define NODE_CPU_MILLICORES_MAX UINT64_C(100000000)
#define NODE_MEMORY_BYTES_MAX (UINT64_C(1) << 46) /* sums over 100,000 nodes stay in an int64_t */
/* node_set_state - by the table, with that event; what the table does not list is not done */
void node_set_state(struct cluster *cluster, struct node *node, enum node_state state,
                    const char *event, const char *text, struct instant now);
/* node_plan_with_foreign - others are taken to use so much of it from now on */
void node_plan_with_foreign(struct cluster *cluster, struct node *node, uint64_t cpu_millicores,
                            uint64_t memory_bytes);
/* node_take_foreign - what others use of it, as its report says */
void node_take_foreign(struct cluster *cluster, struct node *node, const struct node_report *report,
                       struct instant now);
/* node_measure_offer - is less offered than is granted? After either changed behind its back */
void node_measure_offer(struct node *node);

/* --- restore.c
 * -------------------------------------------------------------------------------------------- */
/* restore_links - ties restored rows together: lists, sums, leases; decides nothing */
void restore_links(struct cluster *cluster, struct instant now);

/* --- counts.c: sums that are kept, never searched for
 * -------------------------------------------------------------------------------------------- */
/* slot_count, process_count - adds (1) or takes away (-1) what this one contributes; whoever
 * changes it takes away before and adds after */
void slot_count(struct job *job, uint32_t role, uint32_t index, int sign);
void process_count(struct process *process, int sign);
/* of one that is live */
void process_set_at_work(struct process *process, bool at_work);
/* live, not stopping, on a node that is being drained */
bool process_is_leaving(const struct process *process);
/* its role names the node of each instance: it runs there and nowhere else */
static inline bool process_is_pinned(const struct process *process)
{
    return process->job->spec->roles[process->role].nodes != NULL;
}
void slot_set_due(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                  bool due);
void slot_set_finished(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       bool finished);
void slot_set_failures(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       uint32_t failures);
/* job_retry_given_up - the role starts anew (its bounds were changed, the job was queued again):
 * what was given up may be filled again */
void job_retry_given_up(struct cluster *cluster, struct job *job, uint32_t role);
/* its restarts are used up and nobody lives there: it is not filled any more */
bool slot_is_given_up(const struct job *job, const struct slot *slot);
/* free: nobody lives there, nobody is to come back, nobody finished there, and it is not given up
 */
bool slot_is_free(const struct job *job, const struct slot *slot);
/* the lowest free slot under max, or -1; O(1) amortized */
int job_lowest_free(struct job *job, uint32_t role);
/* everything of the job afresh, from its slots */
void job_recount(struct job *job);
/* job_touch - something of it changed: the next plan looks at it */
void job_touch(struct cluster *cluster, struct job *job);
/* --- job_family.c
 * ----------------------------------------------------------------------------------------- */
#define JOB_FAMILY_SIZE (sizeof(((struct job *)0)->user) + 18)
/* job_family_name - the same for jobs of one family. Linear in the text of its commands */
void job_family_name(const struct job *job, char buffer[JOB_FAMILY_SIZE]);
void spec_family_name(const struct job_spec *spec, const char *user, char buffer[JOB_FAMILY_SIZE]);

/* job_curve_name - of the speeds of its family with so many servers, in what unit each job has;
 * job_program_name - with so many, of the one program that numbers are compared by */
void job_curve_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE]);
void job_program_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE]);
/* job_expect_speed - of a job that is not started: that of its family with its fewest servers, in
 * place of the family's own prior, where that knows nothing */
void job_expect_speed(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                      struct goodput_family_facts *family);
/* job_length_name - lengths are noted of jobs of that name: its family's, and of a fixed size that
 * of its family with so many instances. Their lengths are in seconds, or where owners guessed by
 * their guess (job_length_unit_s): how true such guesses are */
void job_length_name(const struct job *job, char buffer[JOB_FAMILY_SIZE]);
/* job_program - a digest of what it runs to the letter, which is not 0 */
uint64_t job_program(const struct job *job);

/* --- job_servers.c: how many parameter servers
 * ------------------------------------------------------------------------------------------ */
/* job_chooses_servers - it has never run, and its document says from how many to how many */
bool job_chooses_servers(const struct job *job);
/* job_fix_servers - it is about to be started with so many: in no class of the queue any more */
void job_fix_servers(struct cluster *cluster, struct job *job, uint32_t pservers);
/* job_free_servers - it is queued again and has never run: as its document said */
void job_free_servers(struct cluster *cluster, struct job *job);
/* job_forget_servers - its owner says how many: its speed from now on is of no number */
void job_forget_servers(struct cluster *cluster, struct job *job);
/* job_servers_laid - on how many servers its parameters lie; 0: on none yet, or it has no servers.
 * Linear in its processes */
uint32_t job_servers_laid(const struct job *job);
/* job_check_servers - these bounds of the role are possible: of servers that hold parameters only
 * the number that there is. EDL_EBADTRANSITION with pointer and remedy */
int job_check_servers(const struct job *job, uint32_t role, uint32_t min, uint32_t max,
                      struct edl_error *error);
/* job_mend_servers - it has the right number again: what failed meanwhile is tried at once */
void job_mend_servers(struct cluster *cluster, struct job *job);
/* job_servers - how many it was given; 0: nobody chose */
uint32_t job_servers(const struct job *job);
/* job_servers_run - all of those, and none is on its way out */
bool job_servers_run(const struct job *job);
/* By what a job differs from others in what it makes of the types of GPU (job_types.c): logarithms
 * whose mean over the types that it knows is 0. */
struct type_bias {
    double log[GPU_TYPES_MAX];
    uint32_t born[GPU_TYPES_MAX]; /* of the name that is meant */
    uint32_t known;               /* types, a mask */
    bool clear;                   /* else it counts for nothing */
};

/* Its slot waits until the place of another job is free (plan/exchange.c). */
struct exchange {
    uint64_t with; /* the other job; 0: none */
    uint32_t role, index;
};

/* What was learnt of an elastic job since it was started. Volatile: after a restart it begins with
 * what its family knows, which is remembered. The policy is told what was known at the last
 * measurement, not what is true at the moment it is told: else a plan that looks at everything
 * would decide otherwise than the one before it.
 */
struct job_learned {
    bool stood_still;              /* a process did, since the last look at what was measured */
    double still_s;                /* that instances at work did, which are not taken off yet */
    struct goodput_learned of;     /* as it is learnt */
    struct goodput_learned told;   /* as it was at the last measurement */
    double units_done, units_left; /* then; left below 0: nobody knows, and done is work_s */
    double elapsed_s; /* since its submission, or the end of what it was to run after, then */
    uint32_t crowd;   /* jobs that had not ended, then */
    /* when it began to be learnt, the policy was told, what is learnt of its family was saved */
    uint64_t since_us, told_us, saved_us;
    const struct goodput_families *families; /* borrowed from the cluster */
    char family[JOB_FAMILY_SIZE];
    char curve[JOB_FAMILY_SIZE];   /* its speeds are noted there; mostly the same */
    char program[JOB_FAMILY_SIZE]; /* and there, in seconds; "": nowhere */
    /* its instances beside each other (job_pace.c) */
    uint32_t paces;     /* tasks that can be compared, since they were */
    bool lockstep;      /* its instances wait for the slowest one in every step */
    double evenness;    /* the job's speed by what it would be without stragglers: 0 .. 1 */
    uint64_t straggler; /* the slowest one, to be looked at by the next plan; 0: none */
    bool moving;        /* it was stopped, and its slot is not free yet */
    uint64_t moved_us;  /* when one was moved; 0: never */
    uint64_t moved_off; /* digest of the node's name */
    uint32_t in_vain; /* moves in a row off one node, to which it came back; exchanges, likewise */
    /* of a job without a queue: what its instances told of their steps (job_learn_steps) */
    uint64_t step_notes;
    double step_units, step_s;
    struct type_bias bias;
    struct exchange exchange;
    char moved[192]; /* the last one: "trainer-3 was moved from NODE: ..."; "": none */
};

/* --- at_work.c
 * ------------------------------------------------------------------------------------------ */
bool job_gives_up(struct cluster *cluster, struct process *process, struct instant now);
/* process_works - it took a task, or is together with others; process_waits - it has arrived and
 * waits for others. Idempotent */
void process_works(struct cluster *cluster, struct process *process, struct instant now);
void process_waits(struct cluster *cluster, struct process *process, struct instant now);
/* So much slower than its others (times) it is looked for a better place; see plan/straggler.c */
#define PROCESS_STRAGGLES 0.6
/* --- process_steps.c
 * --------------------------------------------------------------------------------------- */
/* process_take_steps - what its node's report says of its steps; see steps.h */
void process_take_steps(struct cluster *cluster, struct process *process,
                        const struct steps_told *told, struct instant now);
/* --- job_types.c: what a job makes of the types of GPU
 * ------------------------------------------------------------------------------------------ */
/* Where some of a job runs, in seconds per unit of work, as logarithms. */
struct node_stay {
    struct node *node;
    double log_s; /* the median of what runs there */
    double level; /* how fast the node is for all jobs */
    double bias;  /* and by how much more for this one, by its type of GPU */
};
/* cluster_minds_types - there are nodes of several types, and the policy wants to know which is
 * faster for whom. O(types) */
bool cluster_minds_types(const struct cluster *cluster);
/* job_order_types - the order in which it goes to the types, while cluster_minds_types. family: its
 * name, of a job that waits. false: it does not differ from others. A look at its family */
bool job_order_types(const struct cluster *cluster, const struct job *job, const char *family,
                     struct instant now, struct gpu_order *ret);
/* job_knows_type - of its family it is known what it makes of the node's type */
bool job_knows_type(const struct cluster *cluster, const struct job *job, const struct node *node);
/* job_expect_node - how fast a node is for this job: level and bias, 0 as far as nothing is known.
 * O(types) and a look at its family */
void job_expect_node(const struct cluster *cluster, const struct job *job, uint32_t role,
                     struct node_stay *stay);
/* process_gain_log - how much faster its job takes it to be on that node: a logarithm */
double process_gain_log(const struct cluster *cluster, const struct process *process,
                        const struct node *node);
/* job_exchange_fails (plan/exchange.c) - neither of both waits for the other's place any longer.
 * Nothing of one that is in none */
void job_exchange_fails(struct cluster *cluster, struct job *job, struct instant now);
/* job_believe_types - what its family is known to make of them now. O(types) and a look at it */
void job_believe_types(struct cluster *cluster, struct job *job, struct instant now);
/* job_misplaced - the incarnation of one that would be clearly faster on another type of GPU that
 * there is; 0: none. O(instances) */
uint64_t job_misplaced(const struct cluster *cluster, const struct job *job, uint32_t role);
/* job_note_types - it was compared on these nodes. O(n log n) */
void job_note_types(struct cluster *cluster, const struct job *job, uint32_t role,
                    const struct node_stay *stays, size_t n, struct instant now);

/* --- node_speed.c
 * ----------------------------------------------------------------------------------------- */
enum speed_kind speed_kind_of(const struct role_spec *role);
/* node_expect_speed - of one that nobody has seen yet: what is expected (as a logarithm) before its
 * first note. node_note_speed - a job was seen to run so many times as fast there as on others (as
 * a logarithm). O(log nodes) */
void node_expect_speed(struct node *node, enum speed_kind kind, double log);
void node_note_speed(struct cluster *cluster, struct node *node, enum speed_kind kind, double log,
                     struct instant now);
/* node_speed_fell_due - what nobody has measured for long is forgotten. O(log nodes) */
void node_speed_fell_due(struct cluster *cluster, struct node *node, struct instant now);
/* node_forget_speed - all of it: it may be another machine */
void node_forget_speed(struct cluster *cluster, struct node *node);
void node_copy_speed(struct cluster *copy, struct node *to, const struct node *from);
/* --- node_gpu_type.c
 * ----------------------------------------------------------------------------------------- */
/* node_set_gpu_type - as it offers now; there: not any more. The caller lists its rooms afresh.
 * node_copy_gpu_type - of the same type as the original. O(types) */
void node_set_gpu_type(struct cluster *cluster, struct node *node, bool there);
void node_copy_gpu_type(struct cluster *copy, struct node *to, const struct node *from);
/* node_count_type_speed - the known speed of the node is a part of that of its type (1), or not any
 * more (-1): away before a change of either, and back after it. O(1) */
void node_count_type_speed(struct cluster *cluster, const struct node *node, int sign);

/* --- unfit_nodes.c: nodes that cannot run a job
 * ------------------------------------------------------------------------------------------ */
/* job_note_unfit - the node of the process cannot run it; text: its agent's */
void job_note_unfit(struct cluster *cluster, const struct process *process, enum unfit why,
                    const char *text, struct instant now);
/* job_expect_unfit - the same of a job of a copy, for one that was refused so before */
void job_expect_unfit(struct job *job, const struct node *node, uint32_t role, enum unfit why,
                      const char *text);
/* job_note_failed_start - the node of the process could not start it. false, and not noted: no
 * other one takes processes that its job could be started on. Linear in the nodes */
bool job_note_failed_start(struct cluster *cluster, const struct process *process, const char *text,
                           struct instant now);
/* job_is_refused - of one of its roles: by each node that is large enough. Linear in the nodes */
bool job_is_refused(const struct cluster *cluster, const struct job *job);
/* job_stop_if_unfit - a started job that is refused fails; one that never was complete, and cannot
 * be with the nodes that are left, is queued again: true. Linear in the nodes */
bool job_stop_if_unfit(struct cluster *cluster, struct job *job, struct instant now);
/* job_say_unfit - of a job that has such nodes: that none is left, and what to do about it.
 * job_say_too_few - of one that has: that there are too few others.
 * job_describe_unfit - "; it cannot run on n2: ..."; "" when there is none. Both return buffer */
char *job_say_unfit(const struct job *job, char *buffer, size_t size);
char *job_say_too_few(const struct job *job, char *buffer, size_t size);
char *job_describe_unfit(const struct job *job, char *buffer, size_t size);
/* job_unfit_fell_due - all are tried again. job_forget_unfit - it is over */
void job_unfit_fell_due(struct cluster *cluster, struct job *job);
void job_forget_unfit(struct cluster *cluster, struct job *job);
/* unfit_forget_node - it is removed. Linear in the jobs that are not over */
void unfit_forget_node(struct cluster *cluster, const struct node *node);
/* unfit_forget_disk - there is room on it again. Linear in the jobs that are not over */
void unfit_forget_disk(struct cluster *cluster, const struct node *node);
/* job_copy_unfit - for a copy of the cluster, whose nodes are there */
void job_copy_unfit(struct cluster *copy, struct job *to, const struct job *from);

/* --- node_fit.c: which nodes could run an instance if nothing else ran there
 * ------------------------------------------------------------------------------------------ */
/* node_could_hold - it offers enough for an instance of the role, and carries its labels.
 * node_could_run - likewise, and it did not refuse the job. node_could_run_slot - likewise, and the
 * role names no other node for that instance */
bool node_could_hold(const struct node *node, const struct role_spec *role);
bool node_could_run(const struct node *node, const struct job *job, uint32_t role);
bool node_could_run_slot(const struct node *node, const struct job *job, uint32_t role,
                         uint32_t index);
/* job_could_be_complete - false: the nodes that there are, here or away, cannot run its minimum at
 * once. That is certain; true is not, as no places are looked for. Linear in the nodes, for each
 * role */
bool job_could_be_complete(const struct cluster *cluster, const struct job *job);

/* --- node_disk.c
 * ------------------------------------------------------------------------------------------ */
#define REASON_DISK_FULL                                                                           \
    "its disk is full, so nothing starts there; make room where its agent keeps its state and "    \
    "the "                                                                                         \
    "output of jobs"
/* node_note_processes - it reports, and tells of so many: see cluster_bound_report */
void node_note_processes(struct node *node, size_t n_told, struct instant now);

/* node_take_disk - as its agent reports it */
void node_take_disk(struct cluster *cluster, struct node *node, bool full, struct instant now);

/* --- past_refusals.c: what nodes refused, for who asks what would be
 * ------------------------------------------------------------------------------------------ */
/* past_refusals_note - the node of the process refused it. past_refusals_ran - it runs there, as
 * others like it will. O(PAST_REFUSALS_MAX) */
void past_refusals_note(struct planner *planner, const struct process *process, enum unfit why,
                        const char *text, struct instant now);
void past_refusals_ran(struct planner *planner, const struct process *process);
/* past_refusals_copy - for a copy of the cluster */
void past_refusals_copy(struct planner *copy, const struct planner *planner);
/* job_expect_refusals - a queued job of a copy: the nodes that refused another one with the same
 * account or folder are taken to refuse it as well */
void job_expect_refusals(struct cluster *copy, struct job *job, struct instant now);

/* --- gpu_idle.c
 * ------------------------------------------------------------------------------------------ */
/* node_take_idle_gpus - as its agent reports them. O(processes of the node) when they change */
void node_take_idle_gpus(struct cluster *cluster, struct node *node, uint64_t mask,
                         struct instant now);
/* process_note_taken - it is stopped, and nobody is to take its place */
void process_note_taken(struct cluster *cluster, struct process *process, struct instant now);
/* job_busy_most - so many of its instances use their GPUs; 0: all do. O(its processes) of a job
 * with GPUs, else O(1) */
uint32_t job_busy_most(const struct job *job, uint32_t role);
/* job_forget_idle - it is over, or begins anew */
void job_forget_idle(struct cluster *cluster, struct job *job);
void job_idle_fell_due(struct cluster *cluster, struct job *job);
/* node_refresh - something of it changed: its room, its part of the totals. O(log nodes) */
void node_refresh(struct cluster *cluster, struct node *node);
/* node_list_offer - its room when nothing runs there. O(log nodes) */
void node_list_offer(struct cluster *cluster, struct node *node);
/* node_offer_changed - the same as node_refresh when it is new or offers something else */
void node_offer_changed(struct cluster *cluster, struct node *node);
struct resources resources_of_role(const struct role_spec *role);
struct resources resources_of_offer(const struct node_offer *offer);
/* what a node has free, as its counters say */
struct room_facts node_facts(const struct node *node);
bool node_takes_processes(const struct node *node);
/* node_gpus_withheld - devices that nobody of ours holds and that are not free all the same */
uint32_t node_gpus_withheld(const struct node *node);

/* --- ports and devices: node_pick.c
 * ------------------------------------------------------------------------------------------- */
/* node_take_foreign_ports - what others listen on, as a report says; n 0: nothing
 * node_ports_withheld - how many ports of its range are not free for that, held by none of ours */
void node_take_foreign_ports(struct cluster *cluster, struct node *node, const uint16_t *ports,
                             size_t n);
int64_t node_ports_withheld(const struct node *node);
/* node_pick_ports - n free ports of the node's range, round robin; false when there are too few */
bool node_pick_ports(struct node *node, uint32_t n, uint16_t *ret_ports);
/* node_pick_gpus - n free devices, of one NUMA node if one has as many; false when there are too
 * few */
bool node_pick_gpus(const struct node *node, uint32_t n, uint64_t *ret_mask);
/* of the node's range, which may have moved since they were handed out */
int64_t node_ports_of(const struct node *node, const struct process *process);

/* --- planning as other files see it: plan_internal.h has the rest
 * ---------------------------------------------------------------------- */
struct planner *planner_new(const struct policy *policy, const struct group_table *groups);
struct planner *planner_free(struct planner *planner, const struct policy *policy);
/* job_take_turn - of a new one: its place among those that wait, from what is known now:
 * job_turn.c. O(its document) */
void job_take_turn(struct cluster *cluster, struct job *job);
/* job_length_unit_s - of a job of fixed size: what its family's lengths are counted in */
double job_length_unit_s(const struct job *job);
/* job_hint_s - how long its owner thinks that it takes, in seconds on one instance; 0: no guess */
double job_hint_s(const struct job *job, const struct goodput_learned *learned);
/* job_guess_was_wrong - jobs like it take more than twice as long as it is guessed to. O(its
 * document) */
bool job_guess_was_wrong(const struct cluster *cluster, const struct job *job);
/* queue_enter, queue_leave - a job that is queued; leave: before its demand or priority changes, or
 * when it is no longer queued. tell: it has not been told before why it waits. O(log n) */
void queue_enter(struct cluster *cluster, struct job *job, bool tell);
void queue_leave(struct cluster *cluster, struct job *job);
/* spec_fits_ever - its minimum fits all nodes that are known, taken for empty and present; false:
 * it has to wait for another node or ask for less. A search in the index */
bool spec_fits_ever(const struct cluster *cluster, const struct job_spec *spec);
/* explain_never - why not, in numbers, and what would change it */
void explain_never(const struct cluster *cluster, const struct job_spec *spec, char *buffer,
                   size_t size);
/* the node is about to be freed */
void plan_forget_node(struct cluster *cluster, struct node *node);
/* the deadline of the job's task queue may have moved */
void job_tasks_changed(struct cluster *cluster, struct job *job);
/* job_expire_tasks - tasks that were not finished in time are to be done again */
void job_expire_tasks(struct cluster *cluster, struct job *job, struct instant now);
/* group_count - its part of what its group holds, afresh. O(roles) */
void group_count(struct cluster *cluster, struct job *job);
/* job_decided - why its size changes next; said with the change */
void job_decided(struct job *job, enum resize_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
