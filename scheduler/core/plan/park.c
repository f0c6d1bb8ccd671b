/* SPDX-License-Identifier: Apache-2.0 */
/* park.c - under crowding a job that can go on later goes back to the queue
 *
 * A gang may wait that neither fits nor finds room by shrinking, while jobs run of which the state
 * is kept without their processes (job_can_resume). policy/parking.c decides whether it pays that
 * some of these wait in its stead. Here they are found:
 *
 *   the wait    without: the started jobs end one after the other, as park_facts.c tells, until
 *               the gang fits.
 *   the donors  those that lose least, as few as are enough.
 *
 * The gang goes first then, so nobody takes the room that is lent to it. Behind it go the parked
 * jobs in the order in which they were parked. They go before all others of their priority that
 * nobody gave way for (shares.c).
 *
 * A loan has an end (park_loan_s). Then the parked job has its room back, and the other one waits
 * if it still runs.
 *
 * Cost: one look in a sixtieth of that time, and one behind each parking. Each goes through the
 * jobs that are not over, sorts the started ones, and places GANGS_LOOKED_AT gangs, each some
 * DONORS_LOOKED_AT times at most. */
#include "scheduler/core/plan/park.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/waiting.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/half_gangs.h"
#include "scheduler/core/plan/hold.h"
#include "scheduler/core/plan/park_facts.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/rooms.h"

#define LOOKS_IN_A_TURN 60
#define GANGS_LOOKED_AT 4
#define CLASSES_LOOKED_AT 64
#define JOBS_LOOKED_AT 128 /* of a class */
#define DONORS_MAX 16
#define DONORS_LOOKED_AT 64 /* those that lose least */
#define LEAVING_MAX 8       /* jobs that stop for others */

struct started {
    struct job *job;
    struct parking_job facts;
};

struct look {
    struct plan *plan;
    double again_s;
    struct started *items;   /* owned */
    struct started **by_end; /* the first to end first; owned */
    size_t n;
};

/* A gang that waits. */
struct waiter {
    struct job *job;
    const struct demand *demands;
    size_t n_demands;
    double length_s;
};

/* Jobs that are on their way to the queue for others. */
static unsigned count_leaving(const struct cluster *cluster)
{
    const struct job *job;
    unsigned n = 0;

    DL_FOREACH2(cluster->active, job, active_next)
    n += job->state == JOB_STOPPING && job->parked_for != 0;
    return n;
}

static int compare_ends(const void *a, const void *b)
{
    const struct started *x = *(const struct started *const *)a;
    const struct started *y = *(const struct started *const *)b;

    if (x->facts.remaining_s != y->facts.remaining_s)
        return x->facts.remaining_s < y->facts.remaining_s ? -1 : 1;
    return x->job->id < y->job->id ? -1 : x->job->id > y->job->id;
}

static void look_around(struct look *look)
{
    struct job *job;
    size_t n = 0;

    DL_FOREACH2(look->plan->cluster->active, job, active_next)
    n += job_is_started(job);
    look->items = xcalloc(n + 1, sizeof *look->items);
    look->by_end = xcalloc(n + 1, sizeof(*look->by_end));
    DL_FOREACH2(look->plan->cluster->active, job, active_next)
    {
        struct started *started = &look->items[look->n];

        if (!job_is_started(job))
            continue;
        *started = (struct started){ job, park_facts(look->plan, job, look->again_s) };
        look->by_end[look->n++] = started;
    }
    qsort(look->by_end, look->n, sizeof(*look->by_end), compare_ends);
}

static void done(struct look *look)
{
    free(look->by_end);
    free(look->items);
}

/* Once these have ended. */
static bool fits_without(struct look *look, const struct waiter *waiter,
                         struct started *const *gone, size_t n)
{
    struct capacity *rooms = &look->plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool fits;

    for (size_t i = 0; i < n; i++)
        plan_give_back(rooms, gone[i]->job);
    fits = place_gang(rooms, waiter->demands, waiter->n_demands, false, NULL);
    capacity_roll_back(rooms, mark);
    return fits;
}

/* At least so long, if nobody gives way. */
static double wait_of(struct look *look, const struct waiter *waiter)
{
    size_t least = 0;

    for (size_t high = look->n; least < high;) {
        size_t middle = least + (high - least) / 2;

        if (fits_without(look, waiter, look->by_end, middle))
            high = middle;
        else
            least = middle + 1;
    }
    return least == 0 ? 0 : look->by_end[least - 1]->facts.remaining_s;
}

/* Each of its processes bears a failure still: else its start again could be its end. Where any
 * failure is, its document says that it may be parked (job_can_resume). */
static bool bears_a_start(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            if (job->spec->fault_tolerant && job->slots[r][i].failures >= job->spec->restart_max)
                return false;
    return true;
}

/* And go on later. */
static bool may_stop(const struct job *job)
{
    return job_can_resume(job) && bears_a_start(job) && job->spec->deadline_wall_us == 0;
}

static bool stands(const struct job *job)
{
    return (job->state == JOB_RUNNING || job->state == JOB_RESIZING) && !planned_is(job)->lacking;
}

static bool may_be_parked(const struct look *look, const struct started *started,
                          const struct waiter *waiter)
{
    const struct job *job = started->job;

    return stands(job) && may_stop(job) && job->spec->priority <= waiter->job->spec->priority &&
           job->group == waiter->job->group &&
           parking_may(look->again_s, &started->facts, waiter->length_s);
}

static int compare_losses(const void *a, const void *b)
{
    const struct started *x = *(const struct started *const *)a;
    const struct started *y = *(const struct started *const *)b;
    int order = parking_compare(&x->facts, &y->facts);

    return order != 0 ? order : compare_ends(b, a);
}

/* Those that may be parked, by their losses. Returns how many. */
static size_t list_donors(const struct look *look, const struct waiter *waiter,
                          struct started **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < look->n; i++)
        if (may_be_parked(look, look->by_end[i], waiter))
            ret[n++] = look->by_end[i];
    qsort(ret, n, sizeof(*ret), compare_losses);
    return n;
}

/* As many from the front as are enough, without those that turn out not to be needed. 0: all are
 * not enough. More of them make it fit as well, so the number is found by halving. */
static size_t choose_donors(struct look *look, const struct waiter *waiter, struct started **donors,
                            size_t n_all)
{
    size_t n = 0;

    n_all = MIN_OF(n_all, DONORS_LOOKED_AT);
    if (!fits_without(look, waiter, donors, n_all))
        return 0;
    for (size_t high = n_all; n < high;) {
        size_t middle = n + (high - n) / 2;

        if (fits_without(look, waiter, donors, middle))
            high = middle;
        else
            n = middle + 1;
    }
    for (size_t i = 0; n > 1 && i < n;) {
        struct started *donor = donors[i];

        donors[i] = donors[n - 1];
        if (fits_without(look, waiter, donors, n - 1)) {
            n--;
        } else {
            donors[n - 1] = donors[i];
            donors[i++] = donor;
        }
    }
    return n;
}

static void park(struct look *look, const struct waiter *waiter, const struct started *donor,
                 const char *why)
{
    struct job *job = donor->job;
    struct plan *plan = look->plan;
    char text[JOB_REASON_SIZE];
    const struct act act = { .kind = ACT_PARK,
                             .job = job->id,
                             .for_job = waiter->job->id,
                             .cause = CAUSE_PARKED,
                             .text = text };

    plan_event(plan, job, "job-parked",
               "%s lends its room to job %s (%llu), and is later by %.0f s at most for a restart "
               "and work done again",
               job->spec->name, waiter->job->spec->name, (unsigned long long)waiter->job->id,
               donor->facts.cost_s);
    (void)snprintf(text, sizeof text,
                   "parked for job %s (%llu), which %s; it keeps its state and is queued again",
                   waiter->job->spec->name, (unsigned long long)waiter->job->id, why);
    (void)plan_do(plan->cluster, &act, plan->now);
}

/* Before all others, until it starts. */
static void go_first(struct plan *plan, const struct job *job)
{
    (void)plan_do(plan->cluster, &(struct act){ .kind = ACT_FIRST, .job = job->id }, plan->now);
}

/* true: somebody gave way for it */
static bool park_for(struct look *look, const struct waiter *waiter, struct started **donors,
                     size_t n)
{
    char why[64];
    double loss_s = 0;
    double wait_s;

    n = choose_donors(look, waiter, donors, n);
    if (n == 0 || n > DONORS_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        loss_s += parking_loss(&donors[i]->facts, waiter->length_s);
    wait_s = wait_of(look, waiter);
    if (!parking_pays(wait_s, loss_s))
        return false;
    (void)snprintf(why, sizeof why, "would have waited for about %.0f s", wait_s);
    for (size_t i = 0; i < n; i++)
        park(look, waiter, donors[i], why);
    go_first(look->plan, waiter->job);
    queue_might_move(look->plan->cluster);
    return true;
}

/* It was tried, and waits for the ends of others. */
static bool waits_for_ends(const struct job *job)
{
    return planned_verdict(job) == VERDICT_WAITS || planned_verdict(job) == VERDICT_HELD ||
           planned_verdict(job) == VERDICT_YIELDS;
}

/* The shortest of those that ask for the same and can be sent back: a loan has an end. NULL: there
 * is none */
static void choose_waiter(const struct look *look, const struct queue_class *class,
                          struct waiter *waiter)
{
    struct job *job = class->next;

    for (unsigned i = 0; i < JOBS_LOOKED_AT && job != NULL; i++, job = job->planned->class_next) {
        double length_s = park_length_s(look->plan, job, look->again_s);

        if ((waiter->job != NULL && length_s >= waiter->length_s) || !may_stop(job))
            continue;
        waiter->job = job;
        waiter->length_s = length_s;
    }
}

/* true: there was somebody who may be parked for one of the class */
static bool try_class(struct look *look, const struct queue_class *class, bool *ret_parked)
{
    struct plan *plan = look->plan;
    struct started **donors = xcalloc(look->n + 1, sizeof(*donors));
    struct demand own[JOB_ROLES_MAX];
    struct waiter waiter = { .n_demands = class->n_demands };
    size_t n;

    choose_waiter(look, class, &waiter);
    if (waiter.job == NULL) {
        free(donors);
        return false;
    }
    waiter.demands = gang_demands_of(plan, waiter.job, class->demands, class->n_demands, own);
    n = list_donors(look, &waiter, donors);
    if (n > 0 && waiter.job != plan->planner->queue.held)
        plan_hold_on(plan);
    *ret_parked = n > 0 && park_for(look, &waiter, donors, n);
    plan_hold_off(plan);
    free(donors);
    return n > 0;
}

/* The first that wait for ends, of one rank and priority: jobs before them would take the room.
 * true: somebody gave way for one */
static bool go_through(struct look *look)
{
    const struct planner *planner = look->plan->planner;
    const struct queue_class *class = queue_after(planner, NULL);
    struct queue_key first = { 0 };
    unsigned looked_at = 0;
    bool parked = false;

    for (unsigned i = 0; class != NULL && i < CLASSES_LOOKED_AT && looked_at < GANGS_LOOKED_AT;
         i++) {
        const struct queue_key key = queue_key(planner, class);

        if (first.turn.id == 0 && waits_for_ends(class->next))
            first = key;
        if (first.turn.id != 0 && (key.rank != first.rank || key.priority != first.priority))
            return false;
        looked_at += waits_for_ends(class->next) && try_class(look, class, &parked);
        if (parked)
            return true;
        class = queue_after(planner, &key);
    }
    return false;
}

static struct started *find_started(struct look *look, const struct job *job)
{
    size_t i = 0;

    while (i < look->n && look->items[i].job != job)
        i++;
    return i < look->n ? &look->items[i] : NULL;
}

/* The job to which a parked one lent its room, if the time is over for which it did. NULL: it is
 * not, or that one cannot be sent back */
static struct started *overdue(struct look *look, const struct job *lender)
{
    struct job *job = cluster_job(look->plan->cluster, lender->parked_for);
    struct started *started = job != NULL ? find_started(look, job) : NULL;

    if (started == NULL || !stands(job) || !may_stop(job) ||
        job->spec->priority > lender->spec->priority || job->group != lender->group ||
        started->facts.ran_s < park_loan_s(look->plan, job, look->again_s))
        return NULL;
    return started;
}

/* true: a job that was parked has the room back that it lent */
static bool call_back(struct look *look)
{
    struct plan *plan = look->plan;
    struct demand own[JOB_ROLES_MAX];
    struct job *job;

    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        const struct queue_class *class = planned_is(job)->class;
        struct waiter lender = { .job = job };
        struct started *borrower;

        if (job->parked_for == 0 || class == NULL || class->never || job->goes_first ||
            planned_verdict(job) == VERDICT_OWNER || planned_verdict(job) == VERDICT_ARRAY)
            continue;
        borrower = overdue(look, job);
        if (borrower == NULL)
            continue;
        lender.n_demands = class->n_demands;
        lender.demands = gang_demands_of(plan, job, class->demands, class->n_demands, own);
        if (!fits_without(look, &lender, &borrower, 1))
            continue;
        park(look, &lender, borrower, "lent it its room for a shorter time");
        go_first(plan, job);
        queue_might_move(plan->cluster);
        return true;
    }
    return false;
}

void plan_park(struct plan *plan)
{
    struct cluster *cluster = plan->cluster;
    struct planner *planner = plan->planner;
    const uint64_t again_us = cluster->config.parking_us;
    struct look look = { .plan = plan, .again_s = (double)again_us / USEC_PER_SEC };

    if (again_us == 0 || cluster->families == NULL || planner->queue.n_open == 0) {
        deadline_set(&cluster->deadlines, &planner->park, DEADLINE_PARK, NEVER_US);
        planner->park_due = false;
        return;
    }
    if (deadline_at(&planner->park) == NEVER_US)
        deadline_set(&cluster->deadlines, &planner->park, DEADLINE_PARK,
                     plan->now.now_us + MAX_OF(again_us / LOOKS_IN_A_TURN, 1));
    if (!planner->park_due || planner->queue_moves)
        return;
    planner->park_due = false;
    if (count_leaving(cluster) >= LEAVING_MAX)
        return;
    look_around(&look);
    if (call_back(&look)) {
        done(&look);
        return;
    }
    /* the next plan promises the room that is lent, and then another one may gain as well */
    planner->park_due = go_through(&look);
    done(&look);
}
