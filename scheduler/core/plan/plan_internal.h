/* SPDX-License-Identifier: Apache-2.0 */
/* plan_internal.h - the common parts of the files of planning: the state between two plans, and one
 * plan
 *
 * Words: a job is touched when something of it changed; it is lacking when it is started and has
 * less than it must have; a gang is promised when room is being made for it; a class holds the
 * waiting jobs that ask for exactly the same. A room is reserved for promises and for instances
 * that wait for their back-off: those are the takes that stay in the index between two plans. */
#pragma once

#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/model/core_internal.h"
#include "scheduler/core/speed/servers.h"

/* Classes of waiting jobs that are tried in vain in one plan, so that a long queue of different
 * jobs costs a bounded time (Slurm's bf_max_job_test). Of those behind, as many are tried with the
 * room that is free now, and only those that the largest holes and the sum of them may hold. */
#define QUEUE_DEPTH 128
/* Gangs that room is being made for at a time; the others get their turn when these started. */
#define PROMISES_MAX 16
/* Searches for victims that find none, in one plan. */
#define SEARCHES_MAX 16
/* Sizes that were counted in vain and are remembered; more are counted again. */
#define REFUSALS_MAX 16
/* Nodes of a job that are looked at before all others. */
#define NEAR_MAX 16

/* A role's instances to be placed. */
struct demand {
    uint32_t role;
    uint32_t count;
    struct want want;               /* of one; of the first, where each has a node of its own */
    const struct role_spec *pinned; /* it names the node of each; NULL: any node; borrowed */
    const uint32_t *slots;          /* pinned: their indexes; NULL: from 0 on; borrowed */
};

struct placed {
    struct room *room;
    uint32_t role;
    struct resources need;
};

/* Rooms in which a job has something already. */
struct near {
    struct room *rooms[NEAR_MAX];
    size_t n, next;
};

/* Does a gang fit these nodes when they are empty? */
enum queue_fit {
    FIT_NEVER,   /* one instance, one role alone or the sum does not: that is certain */
    FIT_UNKNOWN, /* no order that is tried finds room, which proves nothing */
    FIT_EVER,
};

/* The least need of a gang: of one node (of each kind, by its largest instance), and in all. */
struct least {
    struct resources of_one, total;
};

/* A place among jobs of one priority. */
struct turn {
    uint64_t wall_us; /* job_turn.c; 0 where the order is that of the submission */
    uint64_t id;
};

struct queue_class {
    struct tree_node tree; /* first; in queue->order while somebody is to be tried */
    struct least least;
    struct least least_below; /* of the subtree, of each kind */
    uint32_t n_below;         /* of the subtree, itself as well */
    uint64_t digest;
    uint32_t group;
    int32_t priority;
    struct demand *demands;    /* gang_demands of each of its jobs; owned, their selectors too */
    struct labels **selectors; /* of the demands; owned; NULL: any node */
    const struct unfit_nodes *unfit; /* of its only job, then; NULL: none of its jobs has such */
    size_t n_demands;
    struct job *jobs;  /* all of them, by turn */
    struct tree order; /* the same, to find a place among them */
    uint32_t n_jobs;
    struct job *next;      /* to be tried next; those before it are promised room; NULL: all are */
    struct turn next_turn; /* the key, with the priority */
    uint64_t fits_version; /* of the offers that fits_ever was found out with */
    enum queue_fit fits_ever;
    uint64_t failed_in; /* the last round in which it was tried in vain */
    /* What `next` was told when sums alone showed that it does not fit, VERDICT_NONE: they did not;
     * the last round in which they did, and queue->n_keeps then */
    enum queue_verdict hopeless;
    uint64_t hopeless_in, hopeless_beside;
    bool never;      /* in queue->never */
    bool told_never; /* its jobs were told so: if it is not true any more they have to be told */
    bool deep;       /* it was behind the depth when that was looked at last */
    bool fresh;      /* in queue->fresh */
    bool told;       /* in queue->told */
    /* of which job the family was asked for last, and the family itself: by its document, which
     * stays */
    uint64_t family_of;
    char family[JOB_FAMILY_SIZE];
    struct queue_class *order_next, *order_prev; /* while in queue->order: its neighbours there */
    struct queue_class *never_next, *never_prev;
    struct queue_class *fresh_next, *fresh_prev;
    struct queue_class *told_next, *told_prev;
    UT_hash_handle hh; /* k: digest */
};

/* A place in the order of the classes. */
struct queue_key {
    uint32_t rank; /* 0: its group has less than is guaranteed to it, 1: it does not */
    int32_t priority;
    struct turn turn;
};

struct queue {
    struct queue_class *classes; /* uthash by digest; owned */
    uint32_t n_jobs;             /* in them: queued, and not waiting for another job */
    struct resources minima; /* of those, but for those that never fit: the needs of their gangs */
    bool by_turn;
    /* of each group, by priority, then by turn; and the same as a list */
    struct tree order[POLICY_GROUPS_MAX];
    struct queue_class *in_order[POLICY_GROUPS_MAX];
    uint32_t n_open;                    /* classes in them */
    bool reordered;                     /* since the look at the jobs behind the depth */
    uint64_t round;                     /* how often it was gone through */
    struct queue_class *never;          /* list: do not fit these nodes even when they are empty */
    struct queue_class *fresh;          /* list: new since the last plan */
    struct queue_class *told;           /* list, with groups: told what they wait for */
    struct job *promised[PROMISES_MAX]; /* borrowed */
    size_t n_promised;
    /* the last class behind the depth that was tried, when not all were: the next time goes on
     * there; turn.id 0: from the depth on */
    struct queue_key deep;
    struct job *held; /* the first that waits for ends; its places are kept for it, once there are
                       * some; borrowed; NULL: none */
    struct placed *kept; /* owned: the takes of the index, until it has to hold other places */
    size_t n_kept;
    uint64_t n_keeps; /* how often it came to hold others */
    /* capacity.growths when it was gone through the last time; NEVER_US: whatever is seen next is
     * to be looked at */
    uint64_t growths;
    bool hold_check; /* something started since it was looked at whether these can work */
    bool hold_tried; /* places for it were looked for since the queue was last gone through */
    uint64_t offers_version; /* of the offers that `never` was found out with */
    bool wanted; /* something might fit that did not when the queue was last gone through */
};

struct planner {
    struct capacity rooms;                       /* of the nodes that take processes */
    struct capacity offered;                     /* of all nodes, as if nothing ran there */
    struct resources total, requested, stopping; /* the figures for the policy */
    struct resources given; /* of requested, the instances that jobs give up at the end of a task */
    struct resources held;  /* granted, stopping instances included, and foreign load */
    struct node *pressed, *draining; /* lists */
    bool nodes_came;                 /* to one of them: no longer by name */
    struct policy_state *policy;
    struct queue queue;
    struct past_refusals *past_refusals;           /* owned; NULL: none yet (this run) */
    struct policy_group groups[POLICY_GROUPS_MAX]; /* the sum of each, when there are any */
    uint32_t n_groups;                             /* with the one without a name: 1 or more */
    bool groups_changed;                           /* their sums, since the queue was wanted */
    uint64_t n_assigned;                           /* processes, ever */
    uint32_t n_sharing;  /* elastic jobs that are started or in the queue */
    uint64_t drain_pass; /* over the nodes that drain: each job is looked at once */
};

/* The room for more servers than the fewest (plan/servers.c). */
struct spare {
    bool known;
    struct resources left; /* below 0: those that wait lack so much for their minima */
    uint32_t n_jobs;       /* elastic ones, which share it */
};

/* So many of one size, for which there is no room. */
struct refusal {
    struct resources need;
    uint32_t count;
};

/* Those that a smaller refused one does not stand for (plan/refusals.c). */
struct refusals {
    struct refusal items[REFUSALS_MAX];
    size_t n;
    uint64_t growths; /* of the rooms, when they were refused */
};

/* One pass. */
struct plan {
    struct cluster *cluster;
    struct planner *planner;
    struct instant now;
    unsigned searches; /* left, of SEARCHES_MAX */
    bool check_hold;   /* a job that was started before it may be in the way of the gang that nodes
                          are kept for */
    bool searched;     /* single nodes were looked at for victims */
    bool looked;       /* the same, or for places */
    /* of the rooms: since then nothing was given back to them; NEVER_US: it was */
    uint64_t growths;
    struct placed *before; /* the reservations of the repaired job from the last time; owned */
    size_t n_before, at_before;
    bool remembers;              /* the refused ones: */
    struct refusals refusals[2]; /* if others gave way, and as it is now */
    struct spare spare;
    char load[64]; /* for reasons: "load 61.2% of 97.0%" */
};

/* --- plan.c: one pass
 * ------------------------------------------------------------------------------------- */
/* plan_pass - one plan; new possibilities want another (cluster->plan_wanted)
 * plan_is_quiet - after a restart, until the nodes were heard or a part of a lease is over
 * plan_settle - while it is quiet: events are told, and their consequences wait */
void plan_pass(struct cluster *cluster, struct instant now);
bool plan_is_quiet(struct cluster *cluster, struct instant now);
void plan_settle(struct cluster *cluster, struct instant now);

/* --- placement.c: where an instance goes
 * ------------------------------------------------------------------------------------- */
struct want want_of_role(const struct role_spec *role);
/* want_of - the same for this job: on no node that cannot run it */
struct want want_of(const struct job *job, uint32_t role);
/* placement_types.c: want_of_job - the same with the types of GPU in the order in which this job
 * goes to them; gang_demands_of - what all of its kind ask for, likewise, in own if that makes a
 * difference. O(types) and a look at its family, once something is known of types */
struct want want_of_job(const struct plan *plan, const struct job *job, uint32_t role);
const struct demand *gang_demands_of(const struct plan *plan, const struct job *job,
                                     const struct demand *demands, size_t n,
                                     struct demand own[JOB_ROLES_MAX]);
/* want_of_slot - want_of this instance, which its role may pin to a node */
struct want want_of_slot(const struct job *job, uint32_t role, uint32_t index);
void near_add(struct near *near, struct room *room);
void near_job(struct near *near, const struct job *job);
/* place_one - by the side of near ones, else in its rack, else where it fits best; NULL: nowhere
 */
struct room *place_one(const struct capacity *capacity, const struct want *want,
                       const struct near *near, bool now);
/* gang_demands - the minimum of every role in placing order: pservers first, larger first */
size_t gang_demands(const struct job_spec *spec, struct demand ret[JOB_ROLES_MAX]);
/* gang_demands_of_job - the same for this job, as want_of */
size_t gang_demands_of_job(const struct job *job, struct demand ret[JOB_ROLES_MAX]);
/* gang_fits_by_count - false: place_gang would fail, as there are not so many places for one of the
 * demands */
bool gang_fits_by_count(const struct capacity *capacity, const struct demand *demands, size_t n,
                        bool now);
/* is_harder - to find a place for: an instance with one node only, then one that wants more labels,
 * then one that is larger by GPUs, CPU, memory: the order of repairs and of tight packing */
bool is_harder(const struct want *a, const struct want *b);
/* demands_hardest_first - the same demands in that order */
void demands_hardest_first(const struct demand *demands, size_t n,
                           struct demand ret[JOB_ROLES_MAX]);
size_t gang_size(const struct demand *demands, size_t n);
struct resources gang_total(const struct demand *demands, size_t n);
/* place_gang - takes room for every instance and tells where (placed: gang_size entries, or NULL);
 * false: it does not fit, and nothing is taken */
bool place_gang(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed);
/* --- placement_pins.c: roles that name the node of each instance
 * ----------------------------------------------------------------------------------------- */
/* demand_slot - the index of the instance at that place of the demand */
uint32_t demand_slot(const struct demand *demand, uint32_t at);
/* demand_want - what that instance wants: its node as well, if it has one */
struct want demand_want(const struct demand *demand, uint32_t at);
bool demands_pin(const struct demand *demands, size_t n);
/* demand_fits - there are so many places for it, with nothing else beside it; demand_might_fit - if
 * all gave way that could. Take nothing */
bool demand_fits(const struct capacity *capacity, const struct demand *demand, bool now);
bool demand_might_fit(const struct capacity *capacity, const struct demand *demand);
/* pins_fit - all pinned instances of the demands, each on its node. Takes nothing */
bool pins_fit(struct capacity *capacity, const struct demand *demands, size_t n);
/* place_pins - as place_gang, but of the pinned demands alone; ret_n: how many are placed */
bool place_pins(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed, size_t *ret_n);

/* placement_pair.c: place_pair - the same for two roles, however they have to be mixed; false:
 * there is no place, or there are too many of both or of nodes to be sure */
bool place_pair(struct capacity *capacity, const struct demand demands[2], bool now,
                struct placed *placed);
/* place_in - takes room for every instance there, where all of it fits; placed: as place_gang */
void place_in(struct capacity *capacity, struct room *room, const struct demand *demands, size_t n,
              bool now, struct placed *placed);
/* the room in which all of it fits, or NULL */
struct room *place_whole(const struct capacity *capacity, const struct demand *demands, size_t n,
                         bool now);

/* --- plan/victims.c: victims
 * ------------------------------------------------------------------------------------------- */
/* it is elected to save its job's model, and did not yet */
bool is_saver(const struct process *process);
/* of two processes of one role: a goes first */
bool victim_before(const struct process *a, const struct process *b);
/* of two processes of any jobs: a goes first */
bool gives_before(const struct plan *plan, const struct process *a, const struct process *b);
/* it may be shrunk away, and it holds something of the short resource */
bool is_victim(const struct process *process, const struct resources *have,
               const struct resources *need);
/* the first one of this role to go; NULL: nobody is left. counted: of those on nodes that take
 * processes, which alone are in the totals: to stop another would lower no load */
struct process *next_victim(const struct job *job, uint32_t role, bool counted);

/* --- plan/give.c: instances that go when they are done with their tasks
 * ------------------------------------------------------------------------------------------- */
void plan_count_gives(struct planner *planner, struct job *job);
bool plan_give(struct plan *plan, struct job *job);
uint32_t job_gives(const struct job *job, uint32_t role);
/* its instances and lacking ones of a role, by which the policy counts */
uint32_t held_of_role(const struct job *job, uint32_t role);

/* --- plan/room.c
 * -------------------------------------------------------------------------------------------- */
/* --- plan/reason.c: foreign load
 * ------------------------------------------------------------------------------------------- */
/* The foreign load of the nodes that take processes, as far as plans reckon with it. */
struct foreign_load {
    struct resources sum;
    uint32_t n_nodes;
    const struct node *most; /* where most of it is; borrowed; NULL: nowhere */
};
struct resources plan_foreign_of(const struct node *node);
/* plan_waits_for_foreign - it would fit now if there were none of it. O(nodes log nodes) */
bool plan_waits_for_foreign(const struct cluster *cluster, const struct demand *demands, size_t n,
                            struct foreign_load *ret);
/* foreign_describe - "other programs use 500m CPU on n1 (foreign load)"; returns buffer */
char *foreign_describe(const struct foreign_load *load, char *buffer, size_t size);

/* plan_keep_places - takes what the job was promised, if it still is as it was; false: nothing */
bool plan_keep_places(struct plan *plan, const struct job *job, bool now);
/* plan_make_room - stops victims so that the demands fit later, and reserves that room; false:
 * nothing changed */
bool plan_make_room(struct plan *plan, struct job *job, const struct demand *demands, size_t n);

/* --- plan/refusals.c: counts that were in vain
 * ------------------------------------------------------------------------------------------ */
/* around the tries of all that wait, in which rooms are given back by growing only */
void plan_refusals_begin(struct plan *plan);
void plan_refusals_end(struct plan *plan);
/* plan_fits_by_count - as gang_fits_by_count; now false: if all gave way that could */
bool plan_fits_by_count(struct plan *plan, const struct demand *demands, size_t n, bool now);

/* --- plan/reserve.c: lacking instances keep their place from plan to plan
 * ----------------------------------------------------------------------------------------- */
/* around the repair of a job: between them its places of before are at hand, and new ones noted */
void plan_reserve_begin(struct plan *plan, struct job *job);
void plan_reserve_end(struct plan *plan);
/* the next place that this role had, if it fits later; NULL: choose another */
struct room *plan_reserved_before(struct plan *plan, uint32_t role, const struct want *want);
/* takes the place off the index, and notes it; place: copied */
void plan_reserve(struct plan *plan, struct job *job, const struct placed *place);
void plan_reserve_forget(struct job *job);

/* --- plan/move.c
 * -------------------------------------------------------------------------------------------- */
/* plan_move - stops one of the job's own processes that fits elsewhere, so that want fits later in
 * its place, which is reserved; false: there is none such */
bool plan_move(struct plan *plan, struct job *job, const struct want *want);

/* --- plan/half_gangs.c
 * -------------------------------------------------------------------------------------------- */
/* plan_note_stuck - whether a lacking job's minimum cannot be completed, after it was repaired */
void plan_note_stuck(struct plan *plan, struct job *job, bool stuck);
/* plan_half_gangs - of jobs that keep each other from being complete for long, those that rank last
 * give up; jobs: all that lack, by rank, with nothing reserved */
void plan_half_gangs(struct plan *plan, struct job *const *jobs, size_t n);

/* --- plan/servers.c: how many parameter servers
 * ------------------------------------------------------------------------------------------- */
struct servers_choice {
    uint32_t placed;               /* 0: its document says how many */
    struct goodput_servers wanted; /* why: the wanted thing */
};
/* plan_more_servers - as many more than its minimum a job may be started with */
uint32_t plan_more_servers(const struct job *job);
/* plan_place_servers - behind the n places of its gang, which are taken, those of more servers,
 * which are taken as well; how many places there are then */
size_t plan_place_servers(struct plan *plan, const struct job *job, struct placed *placed, size_t n,
                          struct servers_choice *ret);
/* plan_promise_servers - its gang fits now with the fewest: true when others give way for more,
 * whose places are promised with those of the gang. Nothing when as many as it wants fit already */
bool plan_promise_servers(struct plan *plan, struct job *job, const struct demand *demands,
                          size_t n);
/* plan_promised_servers - places that it is promised beyond its gang; all of them or none count */
size_t plan_promised_servers(const struct job *job, size_t gang);
/* plan_promised_beyond - what those need */
struct resources plan_promised_beyond(const struct job *job, size_t gang);
/* plan_fix_servers - it is started with those, and is told why */
void plan_fix_servers(struct plan *plan, struct job *job, const struct servers_choice *choice);

/* --- plan/pins.c: started jobs whose instances have nodes of their own
 * ------------------------------------------------------------------------------------------- */
/* Which of a role's instances: bits; the lowest first of those that are due, then free ones. */
enum pin_slots {
    PINS_READY = 1,       /* due now */
    PINS_BACKING_OFF = 2, /* due, but not yet */
    PINS_STOPPING = 4,    /* due, once what runs there is gone */
    PINS_FREE = 8,        /* nobody lives there; those first whose nodes take processes */
};
/* pins_choose - of a pinned role: the demand is for these instances, in slots, of count at most;
 * returns how many there are. Nothing for other roles, whose instances are all alike. O(slots) */
uint32_t pins_choose(const struct plan *plan, const struct job *job, unsigned which,
                     struct demand *demand, uint32_t slots[ROLE_INSTANCES_MAX]);
/* pins_fill - starts n instances of a pinned role whose nodes have room now; returns how many */
uint32_t pins_fill(struct plan *plan, struct job *job, uint32_t role, uint32_t n);

/* --- plan/repair.c
 * ------------------------------------------------------------------------------------------- */
/* place_slot - by the side of its job, as place_one; NULL: nowhere. A process that failed before
 * may have failed for its node, that lacks a program or a folder: nodes come first on which none of
 * its job failed to start, and this slot's program did not fail at once */
struct room *place_slot(struct plan *plan, const struct job *job, const struct slot *slot,
                        const struct want *want);
/* fill_role - brings a role up to wanted as far as there is room now; returns how many could not
 * be placed */
uint32_t fill_role(struct plan *plan, struct job *job, uint32_t role, uint32_t wanted);
/* the hardest to place first; returns how many */
size_t roles_hardest_first(const struct job *job, uint32_t ret[JOB_ROLES_MAX]);
/* the slot to fill next, or -1 */
int next_slot(struct job *job, uint32_t role, struct instant now);
uint32_t count_backing_off(const struct job *job, uint32_t role, struct instant now);
/* gives up repairs that nobody wants any more: those that found no room, the highest first */
void trim_due(struct plan *plan, struct job *job, uint32_t role, uint32_t keep);
/* keeps a touched job within its bounds, and knows whether it lacks something */
void plan_examine(struct plan *plan, struct job *job);
/* the lacking instances of jobs are placed, or room is made or kept for them */
void plan_repair(struct plan *plan);
/* size and state of a touched job, once everything is decided */
void plan_finish(struct plan *plan, struct job *job);
/* by id, so that the outcome does not depend on the order of the events */
void jobs_sort(struct job **jobs, size_t n);
void job_set_lacking(struct cluster *cluster, struct job *job, bool lacking);

/* --- plan/nodes.c: nodes that are emptied or owe
 * ------------------------------------------------------------------------------------------- */
/* instances for which others stand in leave the nodes that drain */
void plan_drain(struct plan *plan);
/* the others there move where there is a place; after repairs and before the queue */
void plan_drain_to_places(struct plan *plan);
/* and for whom they wait */
void plan_drain_tell(struct plan *plan);
void plan_relieve(struct plan *plan);

/* --- plan/hold.c: nodes are kept for a gang that waits for ends
 * ------------------------------------------------------------------------------------------- */
/* plan_hold - before a gang is tried that is behind the held one: keeps it off the nodes of that
 * one, which are chosen if there are none yet */
void plan_hold(struct plan *plan, const struct job *job, const struct demand *demands, size_t n);
/* plan_hold_works - the places are on nodes that take processes and offer enough; anew: when
 * services there are counted again */
bool plan_hold_works(struct planner *planner, const struct job *job, bool anew);
/* the index holds nothing any more: a room may go */
void plan_hold_drop(struct planner *planner);
/* plan_hold_on - what is kept is open to nobody until plan_hold_off: for gangs behind the held one,
 * and for jobs that grow */
void plan_hold_on(struct plan *plan);
void plan_hold_off(struct plan *plan);
/* these find room only with the nodes that are kept for the held gang */
bool plan_hold_keeps_out(const struct plan *plan, const struct job *job,
                         const struct demand *demands, size_t n);

/* --- plan/start.c
 * ------------------------------------------------------------------------------------------- */
void plan_queue(struct plan *plan);
/* the load of stopping processes holds some promised job back no longer */
void plan_queue_release(struct plan *plan);
/* somebody waits who could profit from another look */
bool plan_queue_waits(const struct cluster *cluster);

/* --- plan/reason.c
 * ------------------------------------------------------------------------------------------ */
/* whether the class fits these nodes when they are empty; found out once per change of an offer */
enum queue_fit queue_fits_ever(const struct cluster *cluster, struct queue_class *class);
enum queue_fit demands_fit_ever(const struct cluster *cluster, const struct demand *demands,
                                size_t n);
/* tells a waiting job where it stands, if that is news */
void queue_tell(struct cluster *cluster, struct job *job, enum queue_verdict verdict);

/* --- queue.c: the order of the waiting jobs
 * ------------------------------------------------------------------------------------------- */
/* something might fit that did not, or a promise cannot be kept: the next plan goes through the
 * queue from its start */
void queue_might_move(struct planner *planner);
/* the next job of its class is promised room */
void queue_promise(struct cluster *cluster, struct job *job);
/* the promise of a job is forgotten */
void queue_forget_places(struct job *job);
/* all promises are off: everybody is to be tried again */
void queue_reset(struct cluster *cluster);
/* never: all its jobs are told; else they are to be tried again */
void queue_set_never(struct cluster *cluster, struct queue_class *class, bool never);
/* its jobs were told that they never fit, and that is over */
void queue_tell_hope(struct cluster *cluster, struct queue_class *class);
void queue_forget_fresh(struct queue *queue, struct queue_class *class);
/* queue_note_told, queue_forget_told - with groups: its next job is told what it waits for, or that
 * it is behind the depth */
void queue_note_told(struct planner *planner, struct queue_class *class);
void queue_forget_told(struct queue *queue, struct queue_class *class);
/* queue_try_again - with the next plan, as if it were new */
void queue_try_again(struct queue *queue, struct queue_class *class);
/* turn_compare - below 0: a comes before b. queue_turn - where a job is among those of its priority
 */
int turn_compare(const struct turn *a, const struct turn *b);
struct turn queue_turn(const struct queue *queue, const struct job *job);
/* queue_before - how many of its class come before it. O(log n) */
uint32_t queue_before(const struct job *job);
/* queue_key - where a class is, as its group stands now */
struct queue_key queue_key(const struct planner *planner, const struct queue_class *class);
int queue_key_compare(const struct queue_key *a, const struct queue_key *b);
/* queue_place - how many classes are to be tried before that one. O(groups x log n) */
uint32_t queue_place(const struct planner *planner, const struct queue_class *class);
/* queue_at - the class at that place, when there are no groups; NULL: there are not so many.
 * O(log n) */
struct queue_class *queue_at(const struct queue *queue, uint32_t place);
/* queue_after - the first class behind key, NULL: of all. NULL: there is none. O(groups + log n) */
struct queue_class *queue_after(const struct planner *planner, const struct queue_key *key);
/* queue_next - the same for a class, if it still is where it was when that was its key: O(1) when
 * there are no groups */
struct queue_class *queue_next(const struct planner *planner, const struct queue_class *class,
                               const struct queue_key *key);
/* queue_fitting_after - the first class behind key of which a gang may fit: most is the most that
 * is free on one node, all the sum. NULL: there is none. O(groups x log n) when one resource
 * decides */
struct queue_class *queue_fitting_after(const struct planner *planner, const struct queue_key *key,
                                        const struct resources *most, const struct resources *all);
void queue_init(struct queue *queue, bool by_turn);
void queue_done(struct queue *queue);

/* --- counts.c
 * ------------------------------------------------------------------------------------------- */
/* job_shares - it is elastic and could run, or does: planner.n_sharing has as many */
bool job_shares(const struct job *job);
/* count_sharing - that is counted as it is now */
void count_sharing(struct planner *planner, struct job *job);

/* --- groups.c: the sums of groups
 * ------------------------------------------------------------------------------------------- */
/* the planner's groups, which hold nothing yet */
void groups_init(struct planner *planner, const struct group_table *table);
/* group_use - the group holds so much more (1), or less (-1) */
void group_use(struct policy_group *group, const struct resources *what, int sign);
/* its group gives the process away (1), in a search for victims, or has it again (-1) */
void group_give(struct planner *planner, const struct process *process, int sign);

/* --- plan/group_levels.c: what each group holds, beside its guarantee
 * ------------------------------------------------------------------------------------------- */
/* as policy_group_level */
int64_t group_level(const struct planner *planner, uint32_t group);
bool group_is_below(const struct planner *planner, uint32_t group);
/* its part of the cluster */
double group_percent(const struct planner *planner, uint32_t group);
/* that job may hold so much and its group has no more than its guarantee */
bool group_may_hold(const struct planner *planner, const struct job *job,
                    const struct resources *holds);
/* it may be shrunk away and its group keeps what is guaranteed to it */
bool group_may_lend(const struct planner *planner, const struct process *process);

/* --- plan/repair.c: nodes on which a job could not be started lately
 * ------------------------------------------------------------------------------------------- */
struct failed_starts {
    const struct job *job;
    struct instant now;
};
/* could_not_start - want.avoids, with a struct failed_starts */
bool could_not_start(const struct room *room, const void *userdata);

/* --- plan/straggler.c: slow instances move
 * ------------------------------------------------------------------------------------------- */
void plan_stragglers(struct plan *plan);
/* job_can_move - it can spare one for a while, and none was moved lately; process_can_move - it is
 * at work there, and may leave it */
bool job_can_move(const struct job *job, uint32_t role, struct instant now);
bool process_can_move(const struct process *process);
/* move_gain_s - so much earlier its job is over when it works so much faster (as a logarithm) from
 * now on; move_cost_s - so much later, by the move. Its gain has to be so many times as much
 */
#define MOVE_WORTH_COSTS 2
double move_gain_s(const struct process *process, double gain_log);
double move_cost_s(const struct process *process, struct instant now);
/* process_tell_move - its move, as its reason, an event and its job's decision */
void process_tell_move(struct plan *plan, struct process *process, const char *event,
                       const char *what);

/* --- plan/exchange.c: two take each other's place
 * ------------------------------------------------------------------------------------------- */
/* plan_exchange - with one of another job, if one gains and the other agrees; false: there is none.
 * O(jobs) up to a bound, and their instances */
bool plan_exchange(struct plan *plan, struct process *process);
/* plan_exchange_goes_on - of a job that is in one: once both places are free, both slots are */
void plan_exchange_goes_on(struct plan *plan, struct job *job);
/* job_exchanges - so many of it are being stopped for that: they come back. O(1) */
uint32_t job_exchanges(const struct job *job, uint32_t role);

/* --- plan/grow.c: the policy
 * ------------------------------------------------------------------------------------------- */
/* tells it of a job that changed */
void plan_tell_policy(struct planner *planner, const struct policy *policy, struct job *job);
/* all that changed was told: it may be asked who gives way */
void plan_prepare_policy(struct plan *plan);
void plan_ask_policy(struct plan *plan);
/* the grants of a started job and those to come, or the gang that room is made for; else nothing */
struct resources wanted_of_job(const struct job *job);
