/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - see account.h
 *
 * The instances that need a place are placed on the index of rooms as far as it goes, the largest
 * first. The rest, put together on one node, is the missing room. That is enough by construction,
 * and seldom more than is needed: a plan tries the same order. All takes are rolled back. */
#include "scheduler/core/ask/account.h"

#include <stdio.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/ask/foreign_wait.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/ask/node_account.h"
#include "scheduler/core/ask/pin_wait.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/start.h"
#include "shared/macro.h"

static const char *const changes[] = {
    [CHANGE_NONE] = "none",         [CHANGE_REPORTS] = "reports",      [CHANGE_STOPS] = "stops",
    [CHANGE_JOB] = "job-before",    [CHANGE_FOREIGN] = "foreign-load", [CHANGE_NODE] = "node",
    [CHANGE_ROOM] = "room",         [CHANGE_SMALLER] = "smaller",      [CHANGE_AFTER] = "job",
    [CHANGE_OWNER] = "owner-limit", [CHANGE_ARRAY] = "array-limit",
};

static const struct kind {
    size_t offset; /* in struct resources */
    const char *format;
    double unit;
} kinds[] = {
    { offsetof(struct resources, gpus), "%.0f more GPU", 1 },
    { offsetof(struct resources, cpu_millicores), "%.0fm more CPU", 1 },
    { offsetof(struct resources, memory_bytes), "%.2f GiB more memory", (double)(1 << 30) },
    { offsetof(struct resources, ports), "%.0f more ports", 1 },
};

const char *wait_change_to_string(enum wait_change change)
{
    return changes[change];
}

static int64_t *kind_of(struct resources *resources, size_t kind)
{
    return (int64_t *)((char *)resources + kinds[kind].offset);
}

/* How far away that is: the sum of the missing parts, in millionths of the need. */
static uint64_t distance(struct resources lacks, struct resources need)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < ELEMENTS(kinds); k++)
        if (*kind_of(&need, k) > 0)
            sum += (uint64_t)((double)*kind_of(&lacks, k) * 1e6 / (double)*kind_of(&need, k));
    return sum;
}

/* --- node by node --- */

static bool is_nearer(const struct node_account *a, const struct node_account *b,
                      struct resources need)
{
    uint64_t x = distance(a->lacks, need);
    uint64_t y = distance(b->lacks, need);

    if (a->verdict != b->verdict)
        return a->verdict < b->verdict;
    return x != y ? x < y : strcmp(a->node->name, b->node->name) < 0;
}

/* The nearest first; those that have no place among them are counted. */
static void list_node(const struct node *node, const struct want *want, bool promised,
                      struct job_account *ret)
{
    struct node_account account = node_account_of(node, want, promised);
    size_t at = ret->n_nodes;

    while (at > 0 && is_nearer(&account, &ret->nodes[at - 1], want->need))
        at--;
    if (at == ACCOUNT_NODES_MAX) {
        ret->others[account.verdict]++;
        return;
    }
    if (ret->n_nodes == ACCOUNT_NODES_MAX)
        ret->others[ret->nodes[--ret->n_nodes].verdict]++;
    memmove(&ret->nodes[at + 1], &ret->nodes[at], (ret->n_nodes - at) * sizeof *ret->nodes);
    ret->nodes[at] = account;
    ret->n_nodes++;
}

static bool is_named_before(const struct role_spec *role, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (streq(role->nodes[i], role->nodes[at]))
            return true;
    return false;
}

/* Of a role that names its nodes, those. */
static void list_nodes(const struct cluster *cluster, const struct role_spec *role,
                       const struct want *want, bool promised, struct job_account *ret)
{
    const struct node *node;

    for (uint32_t i = 0; i < role->n_nodes; i++) {
        node = cluster_node(cluster, role->nodes[i]);
        if (node != NULL && !is_named_before(role, i))
            list_node(node, want, promised, ret);
    }
    for (node = cluster->nodes; role->nodes == NULL && node != NULL; node = node->hh.next)
        list_node(node, want, promised, ret);
}

/* --- changes that would help --- */

/* The room that is missing; one node that has it beside its present room would do. */
struct rest {
    uint32_t count;
    struct resources needs;
    const struct labels *selector; /* of the first that has one */
    const struct unfit_nodes *unfit;
    uint32_t unfit_roles;
};

static struct rest place_what_fits(struct capacity *rooms, const struct demand *demands, size_t n)
{
    struct rest rest = { 0 };

    for (size_t d = 0; d < n; d++) {
        const struct want *want = &demands[d].want;

        for (uint32_t i = 0; i < demands[d].count; i++) {
            const struct want one = demand_want(&demands[d], i);
            struct room *room = capacity_best_fit(rooms, &one, true);

            if (room != NULL) {
                capacity_take(rooms, room, &want->need, true);
                continue;
            }
            rest.count++;
            rest.unfit = want->unfit;
            rest.unfit_roles |= want->unfit_roles;
            resources_add(&rest.needs, &want->need, 1);
            if (rest.selector == NULL)
                rest.selector = want->selector;
        }
    }
    return rest;
}

static void nearest_node(const struct cluster *cluster, const struct rest *rest,
                         struct job_account *ret)
{
    uint64_t least = UINT64_MAX;
    const struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        struct resources lacks = resources_missing(&node->room->now, &rest->needs);
        uint64_t far = distance(lacks, rest->needs);

        if (!room_is_listed(node->room) || !node->heard || node->n_stale > 0 ||
            unfit_nodes_hold(rest->unfit, node, rest->unfit_roles) ||
            (rest->selector != NULL && !labels_cover(&node->offer.labels, rest->selector)))
            continue;
        if (far > least || (far == least && strcmp(node->name, ret->on->name) > 0))
            continue;
        least = far;
        ret->on = node;
        ret->more = lacks;
    }
}

static void describe_more(struct resources more, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t k = 0; k < ELEMENTS(kinds) && used < size; k++) {
        int64_t amount = *kind_of(&more, k);
        int n;

        if (amount <= 0)
            continue;
        n = snprintf(buffer + used, size - used, "%s", used > 0 ? ", " : "");
        used += n > 0 ? (size_t)n : 0;
        if (used >= size)
            return;
        n = snprintf(buffer + used, size - used, kinds[k].format, (double)amount / kinds[k].unit);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void say_room(const struct cluster *cluster, const struct demand *demands, size_t n,
                     struct job_account *ret)
{
    struct capacity *rooms = &cluster->planner->rooms;
    size_t mark = capacity_mark(rooms);
    struct rest rest = place_what_fits(rooms, demands, n);
    char more[120];
    char labels[60] = "";

    if (rest.count == 0) { /* it fits: it waits for the next plan, or its turn */
        capacity_roll_back(rooms, mark);
        return;
    }
    ret->change = CHANGE_ROOM;
    nearest_node(cluster, &rest, ret);
    capacity_roll_back(rooms, mark);
    if (rest.selector != NULL)
        (void)labels_describe(rest.selector, labels, sizeof labels);
    if (ret->on == NULL) {
        ret->change = CHANGE_NODE;
        ret->more = rest.needs;
    }
    describe_more(ret->more, more, sizeof more);
    if (ret->on != NULL)
        (void)snprintf(ret->text, sizeof ret->text, "%s on one node%s%s; %s is the nearest", more,
                       *labels != '\0' ? " with " : "", labels, ret->on->name);
    else
        (void)snprintf(ret->text, sizeof ret->text, "%s node%s%s with room for %u of its processes",
                       rest.unfit != NULL ? "another" : "a", *labels != '\0' ? " with " : "",
                       labels, rest.count);
}

static void say_foreign(const struct foreign_load *foreign, struct job_account *ret)
{
    char load[160];

    ret->change = CHANGE_FOREIGN;
    ret->on = foreign->most;
    (void)snprintf(ret->text, sizeof ret->text, "less load beside jobs: %s",
                   foreign_describe(foreign, load, sizeof load));
}

static void say_before(const struct cluster *cluster, const struct job *job,
                       struct job_account *ret)
{
    const struct queue_class *class = planned_is(job)->class;

    ret->change = CHANGE_JOB;
    if (class == NULL) {
        (void)snprintf(ret->text, sizeof ret->text, "the next plan, which tries it");
        return;
    }
    if (planned_verdict(job) == VERDICT_DEEP || class->jobs == job) {
        (void)snprintf(ret->text, sizeof ret->text,
                       "the start or the end of jobs before it: more than %d kinds of them wait",
                       QUEUE_DEPTH);
        return;
    }
    ret->before = class->jobs;
    (void)
        snprintf(ret->text, sizeof ret->text,
                 "the start or the end of job %s (%llu), which asks for the same and %s%s",
                 class->jobs->spec->name, (unsigned long long)class->jobs->id,
                 class->jobs->id < job->id ? "came first"
                                           : "is expected to be shorter: that counts for at most "
                                             "ten minutes",
                 job_guess_was_wrong(cluster, job)
                     ? "; jobs like this one ran longer than was guessed, so its guess counts less"
                     : "");
}

static void say_owner(const struct cluster *cluster, const struct job *job, struct job_account *ret)
{
    const struct resources *sums = cluster->planner->owner_sums[OWNER_LATER];
    const struct resources least = owner_room_least(job);
    const struct owner *owner = sums != NULL ? owner_exceeded(cluster, job, sums, &least) : NULL;

    ret->change = CHANGE_OWNER;
    if (owner == NULL)
        (void)snprintf(ret->text, sizeof ret->text, "the next plan, which tries it");
    else
        (void)snprintf(ret->text, sizeof ret->text,
                       "the end of other jobs of %s %.80s, or a higher limit from an admin: edl %s "
                       "set %.80s",
                       owner->is_group ? "group" : "user", owner->name,
                       owner->is_group ? "group" : "user", owner->name);
}

/* The change of the node on which one of its instances has to run. */
static void say_pin(const struct pin_wait *pin, struct job_account *ret)
{
    char text[120];

    ret->change = CHANGE_NODE;
    ret->on = pin->node;
    ret->more = pin->account.lacks;
    describe_more(ret->more, text, sizeof text);
    if (pin->node == NULL)
        (void)snprintf(ret->text, sizeof ret->text, "a node called %s (edl node add)", pin->name);
    else if (pin->account.verdict == ACCOUNT_LABELS)
        (void)snprintf(ret->text, sizeof ret->text, "%s on node %s",
                       labels_describe(pin->want.selector, text, sizeof text), pin->name);
    else if (pin->account.verdict == ACCOUNT_UNFIT)
        (void)snprintf(ret->text, sizeof ret->text, "a change on node %s: %s", pin->name,
                       unfit_remedy(pin->account.unfit->why));
    else if (pin->account.verdict >= ACCOUNT_UNHEARD)
        (void)snprintf(ret->text, sizeof ret->text, "node %s, once it takes processes", pin->name);
    else
        (void)snprintf(ret->text, sizeof ret->text, "%s on node %s",
                       text[0] != '\0' ? text : "more room", pin->name);
}

static void say_change(const struct cluster *cluster, const struct job *job,
                       const struct demand *demands, size_t n, struct job_account *ret)
{
    bool queued = job->state == JOB_QUEUED;
    struct foreign_load foreign;
    struct pin_wait pin;
    enum queue_verdict verdict = queued ? planned_verdict(job) : VERDICT_WAITS;

    if (cluster->n_unheard > 0 && deadline_at(&cluster->quiet) != NEVER_US) {
        ret->change = CHANGE_REPORTS;
        (void)snprintf(ret->text, sizeof ret->text,
                       "the first report of %u node%s since the scheduler was started",
                       cluster->n_unheard, PLURAL(cluster->n_unheard));
    } else if (verdict == VERDICT_ARRAY) {
        ret->change = CHANGE_ARRAY;
        (void)snprintf(ret->text, sizeof ret->text,
                       "the end of a job of array %s, or a higher bound: edl scale %s%%N",
                       job->spec->array.name, job->spec->array.name);
    } else if (verdict == VERDICT_OWNER) {
        say_owner(cluster, job, ret);
    } else if (verdict_is_of_room(verdict) && pin_wait_of_job(cluster, job, &pin)) {
        say_pin(&pin, ret);
    } else if (verdict == VERDICT_NEVER || verdict == VERDICT_UNPACKED) {
        ret->change = CHANGE_SMALLER;
        (void)snprintf(ret->text, sizeof ret->text,
                       "smaller instances, a lower minimum, or other nodes");
    } else if (verdict == VERDICT_PROMISED || verdict == VERDICT_OVER_LOAD ||
               planned_promised(job)) {
        ret->change = CHANGE_STOPS;
        (void)snprintf(ret->text, sizeof ret->text,
                       "the end of the processes that are being stopped to make room for it");
    } else if (verdict == VERDICT_DEEP || verdict == VERDICT_BEHIND) {
        say_before(cluster, job, ret);
    } else if (capacity_n_rooms(&cluster->planner->rooms) == 0) {
        ret->change = CHANGE_NODE;
        (void)snprintf(ret->text, sizeof ret->text, "a node that takes processes");
    } else if (plan_waits_for_foreign(cluster, demands, n, &foreign)) {
        say_foreign(&foreign, ret);
    } else {
        say_room(cluster, demands, n, ret);
    }
}

static void say_after(const struct cluster *cluster, const struct job *job, struct job_account *ret)
{
    ret->change = CHANGE_AFTER;
    ret->before = after_first(cluster, job);
    after_describe_success(job, ret->text, sizeof ret->text);
}

/* The instances of a started job without a place: repairs of its minimum. */
static size_t lacking_demands(const struct job *job, struct demand ret[JOB_ROLES_MAX])
{
    size_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        uint32_t floor = job_role_floor(job, r);
        uint32_t live = job_count(job, r, true);

        if (live < floor)
            ret[n++] = (struct demand){ .role = r, .count = floor - live, .want = want_of(job, r) };
    }
    return n;
}

/* Where a text has no room for it, its end is left out. */
static void say_others(const struct cluster *cluster, const struct job *job,
                       struct job_account *ret)
{
    uint32_t n = job->state == JOB_QUEUED ? share_others_before(cluster, job) : 0;
    size_t used = strlen(ret->text);

    if (n > 0)
        (void)snprintf(ret->text + used, sizeof ret->text - used,
                       "; %u job%s of other users, who have had less, %s before it", n,
                       n == 1 ? "" : "s", n == 1 ? "goes" : "go");
}

void cluster_account(const struct cluster *cluster, const struct job *job, struct job_account *ret)
{
    struct demand unordered[JOB_ROLES_MAX];
    struct demand demands[JOB_ROLES_MAX];
    size_t n = 0;

    *ret = (struct job_account){ .change = CHANGE_NONE };
    rooms_look(cluster->planner);
    if (job->n_waits > 0) {
        say_after(cluster, job, ret);
        return;
    }
    if (job->state == JOB_QUEUED)
        n = gang_demands_of_job(job, unordered);
    else if (job->waits_for_room)
        n = lacking_demands(job, unordered);
    if (n == 0)
        return;
    demands_hardest_first(unordered, n, demands);
    ret->role = demands[0].role;
    ret->wanted = demands[0].count;
    ret->needs = demands[0].want.need;
    ret->selector = demands[0].want.selector;
    list_nodes(cluster, &job->spec->roles[ret->role], &demands[0].want, planned_promised(job), ret);
    say_change(cluster, job, demands, n, ret);
    say_others(cluster, job, ret);
}
