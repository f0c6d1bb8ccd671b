/* SPDX-License-Identifier: Apache-2.0 */
/* reason.c - the reasons of waiting jobs: why, in numbers, and the remedy
 *
 * A plan finds where each job stands (enum queue_verdict), and lists the jobs of which that changed
 * (plan/told.c). Their reasons are written here, behind it.
 *
 * A job is told when its standing changes, not whenever a number does: each telling is a row to be
 * saved, and with thousands waiting that would be thousands of rows an event. So the numbers are
 * those of that moment; cluster_explain gives those of now. */
#include "scheduler/core/ask/reason.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/ask/foreign_wait.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/ask/pin_wait.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/filing.h"
#include "scheduler/core/plan/fits.h"
#include "scheduler/core/plan/told.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/servers.h"
#include "scheduler/core/plan/start.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define NAMES_SAID 3

static const struct kind {
    size_t offset; /* in struct resources */
    const char *format;
    double unit;
} kinds[] = {
    { offsetof(struct resources, gpus), "%.0f GPU", 1 },
    { offsetof(struct resources, cpu_millicores), "%.0fm CPU", 1 },
    { offsetof(struct resources, memory_bytes), "%.1f GiB memory", (double)(1 << 30) },
    { offsetof(struct resources, ports), "%.0f ports", 1 },
};

static int64_t amount_of(const struct resources *resources, const struct kind *kind)
{
    return *(const int64_t *)((const char *)resources + kind->offset);
}

static const char *amount(const struct kind *kind, const struct resources *resources, char *buffer,
                          size_t size)
{
    (void)snprintf(buffer, size, kind->format, (double)amount_of(resources, kind) / kind->unit);
    return buffer;
}

/* The first kind of which there is less than is needed, else NULL. */
static const struct kind *short_of(const struct resources *have, const struct resources *need)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (amount_of(need, &kinds[i]) > amount_of(have, &kinds[i]))
            return &kinds[i];
    return NULL;
}

/* ", at most 2000m CPU on one": of the resources that are short for an instance on every node; ""
 * when each kind alone is somewhere */
static const char *describe_most(const struct capacity *offered, const struct want *want,
                                 char *buffer, size_t size)
{
    struct resources most = capacity_most(offered, want->selector);
    const struct kind *kind = short_of(&most, &want->need);
    char text[32];

    buffer[0] = '\0';
    if (kind != NULL)
        (void)snprintf(buffer, size, ", at most %s on one", amount(kind, &most, text, sizeof text));
    return buffer;
}

/* explain_never - see reason.h */
void explain_never(const struct cluster *cluster, const struct job_spec *spec, char *buffer,
                   size_t size)
{
    const struct capacity *offered = &cluster->planner->offered;
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands(spec, demands);
    struct resources total = gang_total(demands, n);
    struct pin_wait pin;
    char need[80];
    char all[80];

    if (pin_wait_find(cluster, demands, n, true, &pin)) {
        (void)pin_wait_say(&pin, buffer, size);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct want *want = &demands[i].want;
        char labels[100];
        char most[80];

        if (capacity_best_fit(offered, want, true) != NULL)
            continue;
        resources_describe(&want->need, need, sizeof need);
        (void)snprintf(buffer, size,
                       "one %s needs %s and %lld ports%s%s: no node offers that much, even "
                       "empty%s; a larger node or a smaller request would change it",
                       spec->roles[demands[i].role].name, need, (long long)want->need.ports,
                       want->selector != NULL ? " on a node with " : "",
                       want->selector != NULL
                           ? labels_describe(want->selector, labels, sizeof labels)
                           : "",
                       describe_most(offered, want, most, sizeof most));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (fits_alone(&cluster->planner->offered, &demands[i]))
            continue;
        total = gang_total(&demands[i], 1);
        resources_describe(&demands[i].want.need, need, sizeof need);
        resources_describe(&total, all, sizeof all);
        (void)snprintf(buffer, size,
                       "%u of %s need %s each, %s in all: the %u node%s cannot hold so many even "
                       "when empty; more nodes or a lower minimum would change it",
                       demands[i].count, spec->roles[demands[i].role].name, need, all,
                       capacity_n_rooms(offered), PLURAL(capacity_n_rooms(offered)));
        return;
    }
    resources_describe(&total, need, sizeof need);
    total = fits_offered(cluster, demands, n);
    resources_describe(&total, all, sizeof all);
    (void)snprintf(buffer, size,
                   "its minimum of %zu process%s needs %s: the %u node%s %s and cannot hold "
                   "it even when empty; more nodes or a lower minimum would change it",
                   gang_size(demands, n), PLURAL_ES(gang_size(demands, n)), need,
                   capacity_n_rooms(offered),
                   capacity_n_rooms(offered) == 1 ? " offers" : "s offer", all);
}

/* The shortage: a label, something of one instance on one node, or something in all. */
static void say_short(const struct cluster *cluster, const struct job_spec *spec,
                      const struct demand *demands, size_t n, char *buffer, size_t size)
{
    const struct capacity *rooms = &cluster->planner->rooms;
    struct resources total = gang_total(demands, n);
    struct resources largest = capacity_most(rooms, NULL);
    const struct kind *kind = short_of(&rooms->free, &total);
    char free_in_all[32];
    char most_on_one[32];
    char needed[32];

    for (size_t d = 0; d < n; d++) {
        const struct labels *selector = demands[d].want.selector;
        struct want any = { .selector = selector };
        struct resources most = capacity_most(rooms, selector);
        const struct kind *here = short_of(&most, &demands[d].want.need);
        char labels[60] = "";

        if (selector != NULL)
            (void)labels_describe(selector, labels, sizeof labels);
        if (capacity_best_fit(rooms, &any, false) == NULL && selector != NULL) {
            (void)snprintf(buffer, size, "no node with %s is ready", labels);
            return;
        }
        if (here != NULL && (selector != NULL || here->offset != kinds[1].offset)) {
            (void)snprintf(buffer, size,
                           "one %s needs %s on a node%s%s, at most %s are free on one",
                           spec->roles[demands[d].role].name,
                           amount(here, &demands[d].want.need, needed, sizeof needed),
                           selector != NULL ? " with " : "", labels,
                           amount(here, &most, most_on_one, sizeof most_on_one));
            return;
        }
    }
    kind = kind != NULL ? kind : &kinds[1];
    (void)snprintf(buffer, size, "free are %s on %u node%s, at most %s on one",
                   amount(kind, &rooms->free, free_in_all, sizeof free_in_all),
                   capacity_n_rooms(rooms), PLURAL(capacity_n_rooms(rooms)),
                   amount(kind, &largest, most_on_one, sizeof most_on_one));
}

/* How much of the buffer it took. */
static size_t say_need(const struct job *job, char *buffer, size_t size)
{
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands_of_job(job, demands);
    struct resources total = gang_total(demands, n);
    char need[80];
    int used;

    resources_describe(&total, need, sizeof need);
    used = snprintf(buffer, size, "its minimum of %zu process%s needs %s; ", gang_size(demands, n),
                    PLURAL_ES(gang_size(demands, n)), need);
    return used < 0 ? 0 : MIN_OF((size_t)used, size - 1);
}

/* It would start at once if nothing but jobs ran on the nodes. */
static bool waits_for_foreign(const struct cluster *cluster, const struct job *job,
                              enum queue_verdict verdict, struct foreign_load *ret)
{
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands_of_job(job, demands);

    return verdict == VERDICT_WAITS && plan_waits_for_foreign(cluster, demands, n, ret);
}

static void say_waits(const struct cluster *cluster, const struct job *job,
                      enum queue_verdict verdict, char *buffer, size_t size)
{
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands_of_job(job, demands);
    size_t used = say_need(job, buffer, size);
    struct foreign_load foreign;
    char what[240];

    say_short(cluster, job->spec, demands, n, what, sizeof what);
    buffer += used;
    size -= used;
    if (waits_for_foreign(cluster, job, verdict, &foreign)) {
        char load[160];

        (void)snprintf(buffer, size,
                       "%s; %s, without that it would start; it waits until that is less, a job "
                       "ends or a node comes",
                       what, foreign_describe(&foreign, load, sizeof load));
        return;
    }
    (void)snprintf(buffer, size, "%s; %s", what,
                   verdict == VERDICT_PROMISED ? "room is being made for it"
                                               : "it waits until a job ends or a node comes");
}

/* Names, as many as a reason has room for. */
struct name_list {
    const char *names[NAMES_SAID];
    size_t n, n_more;
};

static void list_add(struct name_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (streq(list->names[i], name))
            return;
    if (list->n < NAMES_SAID)
        list->names[list->n++] = name;
    else
        list->n_more++;
}

static const char *list_say(const struct name_list *list, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < list->n && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%.40s", i > 0 ? ", " : "",
                                 list->names[i]);
    if (list->n_more > 0 && used < size)
        (void)snprintf(buffer + used, size - used, " and others");
    return buffer;
}

static struct name_list nodes_held(const struct job *held)
{
    struct name_list nodes = { .n = 0 };

    for (size_t i = 0; i < planned_is(held)->n_places; i++)
        list_add(&nodes, planned_is(held)->places[i].room->name);
    return nodes;
}

/* Instances that could be shrunk away give way before an end. */
static void say_held(const struct job *job, char *buffer, size_t size)
{
    struct name_list nodes = nodes_held(job);
    struct name_list jobs = { .n = 0 };
    const struct process *process;
    char node_names[96];
    char job_names[96];
    size_t used = say_need(job, buffer, size);

    for (size_t i = 0; i < planned_is(job)->n_places; i++) {
        DL_FOREACH2(planned_is(job)->places[i].room->node->processes, process, node_next)
        {
            if (!planned_yields(process))
                list_add(&jobs, process->job->spec->name);
        }
    }
    (void)snprintf(buffer + used, size - used,
                   "nodes %s are kept for it: they are free when jobs %s have ended",
                   list_say(&nodes, node_names, sizeof node_names),
                   jobs.n > 0 ? list_say(&jobs, job_names, sizeof job_names) : "there");
}

static void say_yields(const struct cluster *cluster, const struct job *job, char *buffer,
                       size_t size)
{
    const struct job *held = cluster->planner->queue.held;
    struct name_list nodes = { .n = 0 };
    struct resources total;
    struct demand demands[JOB_ROLES_MAX];
    char names[96];
    char need[80];
    size_t used = say_need(job, buffer, size);

    if (held != NULL)
        nodes = nodes_held(held);
    if (nodes.n == 0) {
        (void)snprintf(buffer + used, size - used,
                       "it is tried again: nodes were kept for a job before it");
        return;
    }
    total = gang_total(demands, gang_demands(held->spec, demands));
    resources_describe(&total, need, sizeof need);
    (void)snprintf(buffer + used, size - used,
                   "nodes %s, where room may be, are kept until %.48s, before it, has started: "
                   "that needs %s",
                   list_say(&nodes, names, sizeof names), held->spec->name, need);
}

/* How much of the buffer it took. */
static size_t say_share(const struct planner *planner, const struct job *job, char *buffer,
                        size_t size)
{
    const struct policy_group *group = &planner->groups[job->group];
    char who[GROUP_NAME_MAX + 40] = "users of no group hold";
    int used;

    if (job->group != 0)
        (void)snprintf(who, sizeof who, "group %s holds", group->name);
    used = snprintf(buffer, size, "%s %.1f%% of the cluster, %.1f%% are guaranteed to %s; ", who,
                    group_percent(planner, job->group), group->guaranteed_permille / 10.0,
                    job->group != 0 ? "it" : "them");
    return used < 0 ? 0 : MIN_OF((size_t)used, size - 1);
}

bool cluster_never_fits(const struct cluster *cluster, const struct job *job, char *buffer,
                        size_t size)
{
    struct planner *planner = cluster->planner;
    const struct queue_class *class = queue_class_like(&planner->queue, job);
    bool known = class != NULL && class->fits_version == cluster->offers_version;

    rooms_look(planner);
    if (job->state != JOB_QUEUED || capacity_n_rooms(&planner->offered) == 0 ||
        (known ? class->fits_ever != FIT_NEVER : spec_fits_ever(cluster, job->spec)))
        return false;
    explain_never(cluster, job->spec, buffer, size);
    return true;
}

static const enum cause codes[] = {
    [VERDICT_NONE] = CAUSE_QUEUED,
    [VERDICT_BEHIND] = CAUSE_QUEUED,
    [VERDICT_DEEP] = CAUSE_QUEUED,
    [VERDICT_WAITS] = CAUSE_GANG_DOES_NOT_FIT,
    [VERDICT_PROMISED] = CAUSE_GANG_DOES_NOT_FIT,
    [VERDICT_HELD] = CAUSE_GANG_DOES_NOT_FIT,
    [VERDICT_YIELDS] = CAUSE_GANG_DOES_NOT_FIT,
    [VERDICT_UNPACKED] = CAUSE_GANG_NOT_PACKED,
    [VERDICT_OVER_LOAD] = CAUSE_OVER_LOAD_LIMIT,
    [VERDICT_OWNER] = CAUSE_OWNER_LIMIT,
    [VERDICT_ARRAY] = CAUSE_ARRAY_LIMIT,
    [VERDICT_NO_NODES] = CAUSE_NO_NODES,
    [VERDICT_NEVER] = CAUSE_NEVER_FITS,
};

/* On the nodes that it is promised. */
static uint32_t count_stopping(const struct job *job)
{
    uint32_t n_stopping = 0;

    for (size_t i = 0; i < planned_is(job)->n_places; i++) {
        const struct node *node = planned_is(job)->places[i].room->node;
        const struct process *process;
        size_t before = 0;

        while (before < i &&
               planned_is(job)->places[before].room != planned_is(job)->places[i].room)
            before++;
        if (before < i)
            continue; /* counted */
        DL_FOREACH2(node->processes, process, node_next)
        n_stopping += process->state == PROCESS_STOPPING;
    }
    return n_stopping;
}

static void say_no_nodes(const struct cluster *cluster, char *buffer, size_t size)
{
    const struct node *node = cluster->nodes;

    while (node != NULL && !(node->state == NODE_READY && node->disk_full) &&
           !(node->state == NODE_QUARANTINED && node->set_aside[0] != '\0'))
        node = node->hh.next;
    if (node != NULL)
        (void)snprintf(buffer, size, "no node is ready to take processes; %.64s: %s", node->name,
                       node_reason(node));
    else
        (void)snprintf(buffer, size,
                       "no node is ready to take processes; it is tried when one joins, reports "
                       "again or is made ready (edl node uncordon)");
}

/* Nodes that could hold it cannot run it. */
static bool fails_for_unfit(const struct cluster *cluster, const struct job *job,
                            enum queue_verdict verdict)
{
    return verdict == VERDICT_NEVER && job->unfit != NULL && spec_fits_ever(cluster, job->spec);
}

/* How much of the buffer it took. */
static size_t say_parked(const struct job *job, char *buffer, size_t size)
{
    int used = snprintf(buffer, size, "it was parked for job %llu and goes on from where it was; ",
                        (unsigned long long)job->parked_for);

    return used < 0 ? 0 : MIN_OF((size_t)used, size - 1);
}

/* By the limit alone: how much its other jobs hold changes all the time. */
static void say_owner(const struct cluster *cluster, const struct job *job, char *buffer,
                      size_t size)
{
    const struct resources least = owner_room_least(job);

    if (cluster->planner->n_owners == 0 ||
        *owner_excess(cluster, job, cluster->planner->owner_sums[OWNER_LATER], &least, buffer,
                      size) == '\0')
        (void)snprintf(buffer, size, "waits until others of its owner end");
}

static void say(const struct cluster *cluster, const struct job *job, enum queue_verdict verdict,
                char *buffer, size_t size)
{
    const struct queue_class *class = planned_is(job)->class;
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands_of_job(job, demands);
    struct resources total = gang_total(demands, n);
    struct pin_wait pin;
    char need[80];

    resources_describe(&total, need, sizeof need);
    if (job->parked_for != 0) {
        size_t used = say_parked(job, buffer, size);

        buffer += used;
        size -= used;
    }
    if (plan_has_its_share(cluster, job, verdict)) {
        size_t used = say_share(cluster->planner, job, buffer, size);

        buffer += used;
        size -= used;
    }
    if (pin_wait_of_verdict(cluster, job, verdict, &pin)) {
        (void)pin_wait_say(&pin, buffer, size);
        return;
    }
    switch (verdict) {
    case VERDICT_NONE:
        (void)snprintf(buffer, size, "waits for its turn to be placed");
        break;
    case VERDICT_ARRAY:
        (void)snprintf(buffer, size, "at most %u job%s of its array %s run at once",
                       job->spec->array.most, PLURAL(job->spec->array.most), job->spec->array.name);
        break;
    case VERDICT_OWNER:
        say_owner(cluster, job, buffer, size);
        break;
    case VERDICT_BEHIND:
        (void)snprintf(buffer, size,
                       "waits behind %u job%s for the same; the first of them, %s, needs %s; "
                       "it is tried when that one has started or left",
                       queue_before(job), queue_before(job) == 1 ? " that asks" : "s that ask",
                       class->jobs->spec->name, need);
        break;
    case VERDICT_DEEP:
        (void)snprintf(buffer, size,
                       "waits behind more than %d kinds of jobs; its minimum of %zu process%s "
                       "needs %s; it is tried again when some of those before it have left",
                       QUEUE_DEPTH, gang_size(demands, n), PLURAL_ES(gang_size(demands, n)), need);
        break;
    case VERDICT_WAITS:
    case VERDICT_PROMISED:
        say_waits(cluster, job, verdict, buffer, size);
        break;
    case VERDICT_HELD:
        say_held(job, buffer, size);
        break;
    case VERDICT_YIELDS:
        say_yields(cluster, job, buffer, size);
        break;
    case VERDICT_NO_NODES:
        say_no_nodes(cluster, buffer, size);
        break;
    case VERDICT_UNPACKED:
        (void)
            snprintf(buffer, size,
                     "its minimum of %zu process%s needs %s and could not be packed on the nodes, "
                     "even empty, in several orders; it is tried again with every change; smaller "
                     "instances or one node more would change it",
                     gang_size(demands, n), PLURAL_ES(gang_size(demands, n)), need);
        break;
    case VERDICT_OVER_LOAD:
        (void)snprintf(buffer, size,
                       "over the load limit of %.1f%% until %u process%s gone that %s being "
                       "stopped where its minimum of %zu process%s goes%s",
                       cluster->config.max_load_permille / 10.0, count_stopping(job),
                       count_stopping(job) == 1 ? " is" : "es are",
                       count_stopping(job) == 1 ? "is" : "are", gang_size(demands, n),
                       PLURAL_ES(gang_size(demands, n)),
                       plan_promised_servers(job, gang_size(demands, n)) > 0
                           ? ", and more parameter servers with it"
                           : "");
        break;
    case VERDICT_NEVER:
        if (fails_for_unfit(cluster, job, verdict) && job_is_refused(cluster, job))
            (void)job_say_unfit(job, buffer, size);
        else if (fails_for_unfit(cluster, job, verdict))
            (void)job_say_too_few(job, buffer, size);
        else
            explain_never(cluster, job->spec, buffer, size);
        break;
    }
}

static enum cause cause_of(const struct cluster *cluster, const struct job *job,
                           enum queue_verdict verdict)
{
    struct foreign_load foreign;
    struct pin_wait pin;

    if (plan_has_its_share(cluster, job, verdict))
        return CAUSE_GROUP_SHARE;
    if (pin_wait_of_verdict(cluster, job, verdict, &pin))
        return pin.account.verdict == ACCOUNT_UNFIT ? CAUSE_NODE_CANNOT_RUN_IT
                                                    : CAUSE_WAITS_FOR_NODE;
    if (fails_for_unfit(cluster, job, verdict))
        return job_is_refused(cluster, job) ? CAUSE_NO_NODE_RUNS_IT : CAUSE_TOO_FEW_NODES;
    return waits_for_foreign(cluster, job, verdict, &foreign) ? CAUSE_FOREIGN_LOAD : codes[verdict];
}

/* Once for each job that was told something, by its standing when the plan is ready. Foreign load
 * is asked after then, not at each look: it costs a search. */
void reasons_tell(struct cluster *cluster, struct instant now)
{
    size_t n;
    struct job *const *told = plan_told(cluster->planner, &n);
    char text[JOB_REASON_SIZE];

    for (size_t i = 0; i < n; i++) {
        struct job *job = told[i];

        if (!job->filed || planned_verdict(job) == VERDICT_NONE)
            continue; /* it was started, say */
        say(cluster, job, planned_verdict(job), text, sizeof text);
        (void)plan_do(cluster,
                      &(struct act){ .kind = ACT_REASON,
                                     .job = job->id,
                                     .cause = cause_of(cluster, job, planned_verdict(job)),
                                     .text = text },
                      now);
    }
    plan_told_clear(cluster->planner);
}

/* explain_stuck - a job that stops waits for its processes to go */
static char *explain_stuck(const struct job *job, char *buffer, size_t size)
{
    const struct process *process;
    char name[ROLE_NAME_MAX + 16];

    DL_FOREACH2(job->processes, process, job_next)
    if (process->stuck != NULL && process->state == PROCESS_STOPPING) {
        process_name(process, name, sizeof name);
        (void)snprintf(buffer, size, "%s does not end on node %s: %.*s", name, process->node_name,
                       printable_prefix(process->stuck, 120), process->stuck);
        break;
    }
    return buffer;
}

/* explain_unfit - a started job waits for room: the nodes that it cannot have. Not a part of its
 * reason, which is stored: a restart forgets them */
static char *explain_unfit(const struct job *job, char *buffer, size_t size)
{
    char nodes[160];

    (void)snprintf(buffer, size, "%s%s", job->reason, job_describe_unfit(job, nodes, sizeof nodes));
    return buffer;
}

/* its present standing */
static enum queue_verdict verdict_now(const struct job *job)
{
    const struct queue_class *class = planned_is(job)->class;

    if (planned_verdict(job) == VERDICT_NONE && class != NULL && job != class->next)
        return VERDICT_BEHIND; /* it was told before a restart */
    return planned_verdict(job);
}

/* cluster_explain_code - see reason.h */
const char *cluster_explain_code(const struct cluster *cluster, const struct job *job)
{
    if (job->state != JOB_QUEUED || job->n_waits > 0)
        return job->reason_code;
    rooms_look(cluster->planner);
    return cause_to_string(cause_of(cluster, job, verdict_now(job)));
}

/* cluster_explain - see reason.h */
char *cluster_explain(const struct cluster *cluster, const struct job *job, char *buffer,
                      size_t size)
{
    struct pin_wait pin;

    buffer[0] = '\0';
    rooms_look(cluster->planner);
    if (job->state == JOB_STOPPING)
        return explain_stuck(job, buffer, size);
    if (job->state != JOB_QUEUED && job->waits_for_room && pin_wait_of_job(cluster, job, &pin))
        return pin_wait_explain(&pin, job, buffer, size);
    if (job->state != JOB_QUEUED && job->waits_for_room && job->unfit != NULL)
        return explain_unfit(job, buffer, size);
    if (job->state != JOB_QUEUED)
        return buffer;
    if (job->n_waits > 0)
        return after_describe(job, buffer, size);
    if (verdict_now(job) == VERDICT_BEHIND && planned_is(job)->class == NULL)
        (void)snprintf(buffer, size, "%s", job->reason); /* no plan has seen it since a restart */
    else
        say(cluster, job, verdict_now(job), buffer, size);
    return buffer;
}
