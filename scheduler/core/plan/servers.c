/* SPDX-License-Identifier: Apache-2.0 */
/* servers.c - with how many parameter servers a job is started
 *
 * Where its document says from how many to how many, it waits as a gang with the fewest. When that
 * finds room it is given as many as jobs like it have shown to be best (speed/servers.h), for as
 * many trainers as its share has room for, if they find room beside its gang, or others give way
 * that would give way to a gang, which is waited for once and not for long, else half as many and
 * so on. Room that is promised to others or kept for them is not taken.
 *
 * Servers are not given back, so they come out of the room that is left when all waiting jobs have
 * their minima, and with groups out of the guarantee of the job's own group. */
#include "scheduler/core/plan/servers.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/room.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/servers.h"
#include "shared/clock.h"
#include "shared/macro.h"

/* The room that is free on a node, or could be: elastic jobs give way down to their minima. */
static void add_node(struct resources *sum, const struct node *node)
{
    if (!room_is_listed(node->room))
        return;
    resources_add(sum, &node->room->facts.later, 1);
    resources_add(sum, &node->room->facts.yield, 1);
}

static uint32_t fewest(const struct job *job)
{
    return job->spec->roles[spec_servers(job->spec)].min;
}

static uint32_t promised_beyond(const struct job *job, const struct queue_class *class)
{
    return (uint32_t)plan_promised_servers(job, gang_size(class->demands, class->n_demands));
}

static void take_spare(struct plan *plan, const struct job *job, uint32_t servers)
{
    struct resources need;

    if (servers == 0)
        return;
    need = resources_of_role(&job->spec->roles[spec_servers(job->spec)]);
    resources_add(&plan->spare.left, &need, -(int64_t)servers);
}

/* It is elastic and could run, or does. */
static bool shares(const struct job *job)
{
    return job_elastic_role(job) >= 0 && (job->filed || job_is_started(job));
}

/* The room that nobody has for good, once all waiting jobs have their minima; and how many share
 * it. Servers are not given back, so they come out of that alone. Once in a pass that asks, linear
 * in all. */
static void sum_up(struct plan *plan)
{
    const struct planner *planner = plan->planner;
    const struct queue *queue = &planner->queue;
    struct spare *spare = &plan->spare;
    const struct queue_class *class;
    const struct node *node;
    const struct job *job;

    if (spare->known)
        return;
    *spare = (struct spare){ .known = true };
    for (node = plan->cluster->nodes; node != NULL; node = node->hh.next)
        add_node(&spare->left, node);
    DL_FOREACH2(plan->cluster->active, job, active_next)
    spare->n_jobs += shares(job);
    for (class = queue->classes; class != NULL; class = class->hh.next)
        if (!class->never)
            resources_add(&spare->left, &class->least.total, -(int64_t) class->n_jobs);
    spare->left.cpu_millicores -=
        planner->total.cpu_millicores -
        policy_load_limit(planner->total.cpu_millicores, plan->cluster->config.max_load_permille);
    for (size_t i = 0; i < queue->n_promised; i++)
        take_spare(plan, queue->promised[i],
                   promised_beyond(queue->promised[i], planned_is(queue->promised[i])->class));
}

/* The same on the nodes that carry such labels. Linear in the nodes. */
static struct resources spare_on(const struct plan *plan, const struct labels *selector)
{
    struct resources sum = { 0 };
    const struct node *node;

    if (selector->n == 0)
        return plan->spare.left;
    for (node = plan->cluster->nodes; node != NULL; node = node->hh.next)
        if (labels_cover(&node->offer.labels, selector))
            add_node(&sum, node);
    return resources_lesser(&sum, &plan->spare.left);
}

/* Of its workers and servers: the fewest, and an equal part of the rest. */
static struct resources share_of(struct plan *plan, const struct job_spec *spec, uint32_t workers,
                                 uint32_t servers)
{
    const struct resources worker = resources_of_role(&spec->roles[workers]);
    const struct resources server = resources_of_role(&spec->roles[servers]);
    struct resources left, share = { 0 };
    int64_t n;

    sum_up(plan);
    n = MAX_OF(plan->spare.n_jobs, 1U);
    left = spare_on(plan, role_selector(&spec->roles[workers]));
    share.cpu_millicores = MAX_OF(left.cpu_millicores, 0) / n;
    share.memory_bytes = MAX_OF(left.memory_bytes, 0) / n;
    share.gpus = MAX_OF(left.gpus, 0) / n;
    resources_add(&share, &worker, spec->roles[workers].min);
    resources_add(&share, &server, spec->roles[servers].min);
    return share;
}

static int64_t times(int64_t have, int64_t need)
{
    return need <= 0 ? INT64_MAX : MAX_OF(have, 0) / need;
}

/* Workers for which so many servers leave room in the share; the fewest servers always leave it for
 * the fewest workers. */
static uint32_t room_for(const struct job_spec *spec, uint32_t workers, uint32_t servers,
                         uint32_t pservers, const struct resources *share)
{
    const struct role_spec *of = &spec->roles[workers];
    struct resources left = *share;
    struct resources server = resources_of_role(&spec->roles[servers]);
    int64_t n;

    resources_add(&left, &server, -(int64_t)pservers);
    n = MIN_OF(times(left.cpu_millicores, of->cpu_millicores),
               MIN_OF(times(left.memory_bytes, (int64_t)of->memory_bytes),
                      times(left.gpus, of->gpus)));
    if (n < of->min)
        return pservers == spec->roles[servers].min ? of->min : 0;
    return (uint32_t)MIN_OF(n, (int64_t)of->max);
}

/* Its group holds its guarantee at most: a lent part has to come back. */
static bool group_has_room(const struct planner *planner, const struct job *job, uint32_t servers,
                           uint32_t pservers)
{
    const struct job_spec *spec = job->spec;
    struct resources holds = { 0 };

    for (uint32_t r = 0; r < spec->n_roles; r++) {
        const struct resources need = resources_of_role(&spec->roles[r]);

        resources_add(&holds, &need, r == servers ? pservers : spec->roles[r].min);
    }
    return pservers == spec->roles[servers].min || group_may_hold(planner, job, &holds);
}

static struct goodput_servers choose(struct plan *plan, const struct job *job)
{
    const struct cluster *cluster = plan->cluster;
    uint32_t servers = (uint32_t)spec_servers(job->spec);
    uint32_t workers = (uint32_t)job_elastic_role(job);
    const struct role_spec *role = &job->spec->roles[servers];
    struct resources share = share_of(plan, job->spec, workers, servers);
    struct goodput_servers_question question = { .program = job_program(job) };
    uint32_t numbers[GOODPUT_SERVERS_NUMBERS];
    struct goodput_family_facts facts;
    struct goodput_prior family = { 0 };
    char name[JOB_FAMILY_SIZE];

    job_family_name(job, name);
    if (goodput_family_get(cluster->families, name, &facts))
        family = facts.prior;
    question.may_try = goodput_servers_begun(&family, question.program);
    question.n = goodput_servers_numbers(role->min, role->max, numbers);
    for (uint32_t i = 0; i < question.n; i++) {
        struct goodput_servers_number *number = &question.numbers[i];

        number->pservers = numbers[i];
        if (group_has_room(plan->planner, job, servers, numbers[i]))
            number->workers = room_for(job->spec, workers, servers, numbers[i], &share);
        job_program_name(job, numbers[i], name);
        if (goodput_family_get(cluster->families, name, &facts))
            number->seen = facts.prior;
    }
    return goodput_servers_choose(&question);
}

/* So many more beside the takes: all of them, or nothing is taken. */
static bool place(struct plan *plan, const struct demand *more, const struct placed *gang, size_t n,
                  struct placed *ret)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    struct near near = { 0 };

    for (size_t i = 0; i < n && near.n < NEAR_MAX; i++)
        near_add(&near, gang[i].room);
    for (uint32_t i = 0; i < more->count; i++) {
        struct room *room = place_one(rooms, &more->want, &near, true);

        if (room == NULL) {
            capacity_roll_back(rooms, mark);
            return false;
        }
        capacity_take(rooms, room, &more->want.need, true);
        ret[i] = (struct placed){ room, more->role, more->want.need };
    }
    return true;
}

uint32_t plan_more_servers(const struct job *job)
{
    const struct role_spec *role;

    if (!job_chooses_servers(job))
        return 0;
    role = &job->spec->roles[spec_servers(job->spec)];
    return role->max - role->min;
}

static uint32_t count_servers(const struct job *job, const struct placed *placed, size_t n)
{
    uint32_t servers = 0;

    for (size_t i = 0; i < n; i++)
        servers += (int)placed[i].role == spec_servers(job->spec);
    return servers;
}

size_t plan_promised_servers(const struct job *job, size_t gang)
{
    return plan_more_servers(job) > 0 && planned_is(job)->n_places > gang
               ? planned_is(job)->n_places - gang
               : 0;
}

struct resources plan_promised_beyond(const struct job *job, size_t gang)
{
    size_t n = plan_promised_servers(job, gang);
    struct resources need, beyond = { 0 };

    if (n == 0)
        return beyond;
    need = resources_of_role(&job->spec->roles[spec_servers(job->spec)]);
    resources_add(&beyond, &need, (int64_t)n);
    return beyond;
}

static bool is_learnt(const struct cluster *cluster, const struct job *job)
{
    return cluster->families != NULL && job_elastic_role(job) >= 0;
}

/* The largest number up to that for which find says yes; 0: none but the fewest */
static uint32_t descend(struct plan *plan, const struct job *job, uint32_t wanted,
                        bool (*find)(struct plan *plan, const struct demand *more, void *userdata),
                        void *userdata)
{
    uint32_t at = (uint32_t)spec_servers(job->spec);
    const struct role_spec *role = &job->spec->roles[at];
    struct demand more = { .role = at, .want = want_of(job, at) };
    uint32_t numbers[GOODPUT_SERVERS_NUMBERS];
    uint32_t i = goodput_servers_numbers(role->min, role->max, numbers);

    while (i-- > 1) {
        more.count = numbers[i] - role->min;
        if (numbers[i] <= wanted && find(plan, &more, userdata))
            return numbers[i];
    }
    return 0;
}

struct gang_places {
    struct placed *placed; /* n of the gang; the others behind them */
    size_t n;
};

static bool find_free(struct plan *plan, const struct demand *more, void *userdata)
{
    struct gang_places *gang = userdata;

    return place(plan, more, gang->placed, gang->n, &gang->placed[gang->n]);
}

size_t plan_place_servers(struct plan *plan, const struct job *job, struct placed *placed, size_t n,
                          struct servers_choice *ret)
{
    struct gang_places gang = { placed, n };
    size_t promised = plan_promised_servers(job, n);
    uint32_t min, free;

    *ret = (struct servers_choice){ 0 };
    if (plan_more_servers(job) == 0)
        return n;
    min = fewest(job);
    ret->placed = ret->wanted.pservers = min;
    ret->bound = owner_room_is_bound(plan->planner, job);
    if (ret->bound || !is_learnt(plan->cluster, job))
        return n;
    if (promised > 0) {
        ret->wanted = planned_is(job)->servers;
        ret->placed = count_servers(job, placed, n + promised);
        return n + promised;
    }
    ret->wanted = choose(plan, job);
    free = descend(plan, job, ret->wanted.pservers, find_free, &gang);
    ret->placed = MAX_OF(free, min);
    take_spare(plan, job, ret->placed - min);
    return n + ret->placed - min;
}

struct gang_demands {
    struct job *job;
    uint32_t free; /* so many more find room as it is */
    const struct demand *demands;
    size_t n;
};

/* All of the gang with so many more: others may give way for it. */
static bool make_room(struct plan *plan, const struct demand *more, void *userdata)
{
    const struct gang_demands *gang = userdata;
    struct demand demands[JOB_ROLES_MAX];

    if (more->count <= gang->free)
        return false;
    for (size_t d = 0; d < gang->n; d++) {
        demands[d] = gang->demands[d];
        if (demands[d].role == more->role)
            demands[d].count += more->count;
    }
    return plan_make_room(plan, gang->job, demands, gang->n);
}

/* The largest number up to that for which there is room beside its gang as things are */
static uint32_t free_number(struct plan *plan, const struct job *job, const struct demand *demands,
                            size_t n, uint32_t wanted)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    size_t size = gang_size(demands, n);
    struct placed *placed = xcalloc(size + plan_more_servers(job), sizeof *placed);
    struct gang_places gang = { placed, size };
    uint32_t free_now = 0;

    if (place_gang(rooms, demands, n, true, placed))
        free_now = descend(plan, job, wanted, find_free, &gang);
    capacity_roll_back(rooms, mark);
    free(placed);
    return free_now;
}

bool plan_promise_servers(struct plan *plan, struct job *job, const struct demand *demands,
                          size_t n)
{
    struct gang_demands gang = { .job = job, .demands = demands, .n = n };
    unsigned searches = plan->searches;
    struct goodput_servers wanted;
    uint32_t free_now, promised = 0;

    if (!is_learnt(plan->cluster, job))
        return false;
    wanted = choose(plan, job);
    if (wanted.pservers == fewest(job))
        return false;
    free_now = free_number(plan, job, demands, n, wanted.pservers);
    gang.free = free_now > fewest(job) ? free_now - fewest(job) : 0;
    if (free_now < wanted.pservers)
        promised = descend(plan, job, wanted.pservers, make_room, &gang);
    plan->searches = searches; /* nobody else has fewer for it */
    if (promised == 0)
        return false;
    planned_of(job)->servers = wanted;
    take_spare(plan, job, promised - fewest(job));
    return true;
}

static void describe(const struct job *job, const struct servers_choice *choice, char *buffer,
                     size_t size)
{
    const struct goodput_servers *wanted = &choice->wanted;
    int role = job_elastic_role(job);
    const char *worker = role >= 0 ? job->spec->roles[role].name : "";

    if (choice->bound)
        (void)snprintf(buffer, size, "its user or group has a limit");
    else if (wanted->workers == 0)
        (void)snprintf(buffer, size, "nothing was measured of jobs like it");
    else if (wanted->tries)
        (void)snprintf(buffer, size,
                       "with %u of %s, no job of its program was "
                       "measured with %u yet",
                       wanted->workers, worker, wanted->pservers);
    else if (wanted->n_compared < 2)
        (void)snprintf(buffer, size,
                       "with %u of %s, no other number was measured that its share has room for",
                       wanted->workers, worker);
    else if (wanted->pservers == wanted->least)
        (void)snprintf(buffer, size, "with %u of %s, more did not gain %.0f%%", wanted->workers,
                       worker, (GOODPUT_SERVERS_MARGIN - 1) * 100);
    else
        (void)snprintf(buffer, size,
                       "with %u of %s, %u are %.2f times as fast as "
                       "%u",
                       wanted->workers, worker, wanted->pservers, wanted->gain, wanted->least);
}

static void note_try(struct cluster *cluster, const struct job *job, uint32_t pservers)
{
    char name[JOB_FAMILY_SIZE];

    job_program_name(job, pservers, name);
    goodput_servers_tried(goodput_family_prior(cluster->families, name), job_program(job));
}

void plan_fix_servers(struct plan *plan, struct job *job, const struct servers_choice *choice)
{
    char why[160];
    char room[48] = "";
    char name[JOB_FAMILY_SIZE];

    if (choice->placed == 0)
        return;
    if (is_learnt(plan->cluster, job)) {
        job_family_name(job, name);
        (void)goodput_servers_begun(goodput_family_prior(plan->cluster->families, name),
                                    job_program(job));
    }
    if (job_chooses_servers(job))
        planned_of(job)->servers_until_us = 0;
    (void)plan_do(plan->cluster,
                  &(struct act){ .kind = ACT_SERVERS, .job = job->id, .n = choice->placed },
                  plan->now);
    if (choice->wanted.tries && choice->placed == choice->wanted.pservers)
        note_try(plan->cluster, job, choice->placed);
    if (is_learnt(plan->cluster, job))
        describe(job, choice, why, sizeof why);
    else
        (void)snprintf(why, sizeof why, "nothing is learnt of %s",
                       plan->cluster->families == NULL ? "jobs by this policy"
                                                       : "jobs whose trainers are fixed");
    if (choice->placed < choice->wanted.pservers)
        (void)snprintf(room, sizeof room, "; %u find room now", choice->placed);
    plan_event(plan, job, "pservers-chosen", "%u parameter server%s of %u to %u: %s%s",
               choice->placed, PLURAL(choice->placed), job->servers_min, job->servers_max, why,
               room);
}
