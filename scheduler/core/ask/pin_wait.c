/* SPDX-License-Identifier: Apache-2.0 */
/* pin_wait.c - see pin_wait.h */
#include "scheduler/core/ask/pin_wait.h"

#include <stdio.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/ask/node_account.h"
#include "scheduler/core/plan/pins.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "shared/printable.h"

#define PINS_EMPTY (PINS_READY | PINS_BACKING_OFF | PINS_FREE)

/* Takes its place; false: it has none. */
static bool take(struct capacity *rooms, const struct want *want)
{
    struct room *room = capacity_best_fit(rooms, want, true);

    if (room != NULL)
        capacity_take(rooms, room, &want->need, true);
    return room != NULL;
}

/* The instances before it are placed already: their places are not free. */
static void note(const struct cluster *cluster, const struct demand *demand, uint32_t at,
                 struct pin_wait *ret)
{
    ret->role = demand->pinned->name;
    ret->index = demand_slot(demand, at);
    ret->want = demand_want(demand, at);
    ret->name = ret->want.only;
    ret->node = cluster_node(cluster, ret->name);
    ret->account = ret->node != NULL ? node_account_of(ret->node, &ret->want, false)
                                     : (struct node_account){ .verdict = ACCOUNT_CLOSED };
}

bool pin_wait_find(const struct cluster *cluster, const struct demand *demands, size_t n,
                   bool empty, struct pin_wait *ret)
{
    struct capacity *rooms = empty ? &cluster->planner->offered : &cluster->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool found = false;

    for (size_t d = 0; d < n && !found; d++)
        for (uint32_t i = 0; demands[d].pinned != NULL && i < demands[d].count && !found; i++) {
            const struct want want = demand_want(&demands[d], i);

            found = !take(rooms, &want);
            if (found)
                note(cluster, &demands[d], i, ret);
        }
    capacity_roll_back(rooms, mark);
    if (found && empty && ret->node != NULL && ret->account.verdict != ACCOUNT_LABELS &&
        ret->account.verdict != ACCOUNT_UNFIT)
        ret->account.verdict = ACCOUNT_TOO_SMALL;
    return found;
}

static void say_closed(const struct node *node, char *buffer, size_t size)
{
    const char *why = node_reason(node);

    (void)snprintf(buffer, size, "is %s and takes no processes%s%.*s%s",
                   node_state_to_string(node->state), *why != '\0' ? " (" : "",
                   printable_prefix(why, 100), why, *why != '\0' ? ")" : "");
}

/* Of its need and the room. */
static void say_amounts(const struct pin_wait *wait, char *buffer, size_t size)
{
    const struct resources *free_now = &wait->account.free;
    char need[80], have[80];

    resources_describe(&wait->want.need, need, sizeof need);
    if (wait->account.verdict == ACCOUNT_TOO_SMALL) {
        resources_describe(&wait->node->empty_room->facts.now, have, sizeof have);
        (void)snprintf(buffer, size, "offers %s in all; it needs %s", have, need);
        return;
    }
    resources_describe(free_now, have, sizeof have);
    (void)snprintf(buffer, size, "has %s free; it needs %s and waits until something ends there",
                   have, need);
}

static void say_why(const struct pin_wait *wait, char *buffer, size_t size)
{
    char labels[100];

    switch (wait->account.verdict) {
    case ACCOUNT_CLOSED:
        say_closed(wait->node, buffer, size);
        break;
    case ACCOUNT_DISK_FULL:
        (void)snprintf(buffer, size, "has no room on its disk");
        break;
    case ACCOUNT_UNHEARD:
        (void)snprintf(buffer, size, "has not told yet what runs there");
        break;
    case ACCOUNT_LABELS:
        (void)snprintf(buffer, size, "does not carry %s",
                       labels_describe(wait->want.selector, labels, sizeof labels));
        break;
    case ACCOUNT_UNFIT:
        (void)snprintf(buffer, size, "cannot run it: %.*s; %s; it is tried again after ten minutes",
                       printable_prefix(wait->account.unfit->text, 120), wait->account.unfit->text,
                       unfit_remedy(wait->account.unfit->why));
        break;
    case ACCOUNT_FITS:
    case ACCOUNT_FOREIGN:
    case ACCOUNT_FULL:
    case ACCOUNT_TOO_SMALL:
    case ACCOUNT_VERDICTS:
        say_amounts(wait, buffer, size);
        break;
    }
}

char *pin_wait_say(const struct pin_wait *wait, char *buffer, size_t size)
{
    char why[280] = "is not a member (edl nodes)";

    if (wait->node != NULL)
        say_why(wait, why, sizeof why);
    (void)snprintf(buffer, size, "instance %u of %s runs on %s, which %s", wait->index, wait->role,
                   wait->name, why);
    return buffer;
}

char *pin_wait_explain(const struct pin_wait *wait, const struct job *job, char *buffer,
                       size_t size)
{
    char why[JOB_REASON_SIZE];

    (void)snprintf(buffer, size, "%s; %s", job->reason, pin_wait_say(wait, why, sizeof why));
    return buffer;
}

/* The instances of a started job without a place. */
static bool find_lacking(const struct cluster *cluster, const struct job *job, uint32_t role,
                         struct pin_wait *ret)
{
    const struct plan plan = { .planner = cluster->planner };
    uint32_t slots[ROLE_INSTANCES_MAX];
    uint32_t floor = job_role_floor(job, role);
    uint32_t live = job_count(job, role, true);
    struct demand demand = { .role = role, .want = want_of(job, role) };

    if (job->spec->roles[role].nodes == NULL || live >= floor)
        return false;
    demand.count = floor - live;
    return pins_choose(&plan, job, PINS_EMPTY, &demand, slots) > 0 &&
           pin_wait_find(cluster, &demand, 1, false, ret);
}

bool pin_wait_of_job(const struct cluster *cluster, const struct job *job, struct pin_wait *ret)
{
    struct demand demands[JOB_ROLES_MAX];

    if (job->state == JOB_QUEUED)
        return pin_wait_find(cluster, demands, gang_demands_of_job(job, demands), false, ret);
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (find_lacking(cluster, job, r, ret))
            return true;
    return false;
}

bool verdict_is_of_room(enum queue_verdict verdict)
{
    return verdict == VERDICT_WAITS || verdict == VERDICT_HELD || verdict == VERDICT_YIELDS ||
           verdict == VERDICT_UNPACKED || verdict == VERDICT_NO_NODES || verdict == VERDICT_NEVER;
}

bool pin_wait_of_verdict(const struct cluster *cluster, const struct job *job,
                         enum queue_verdict verdict, struct pin_wait *ret)
{
    struct demand demands[JOB_ROLES_MAX];

    if (verdict == VERDICT_NEVER)
        return pin_wait_find(cluster, demands, gang_demands_of_job(job, demands), true, ret);
    return verdict_is_of_room(verdict) && pin_wait_of_job(cluster, job, ret);
}
