/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - whether a deadline can be kept, asked when its job is submitted
 *
 * Costs are parts of the room of a trial, of the resource that is scarcest for it: where these fit
 * together, so does each resource. Where they do not, each resource may all the same: a deadline
 * that is said to be impossible is so for one of them, looked at alone. */
#include "scheduler/core/ask/admission.h"

#include <math.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/ask/admission_internal.h"
#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/policy/deadline_share.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"
#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/speed/prior.h"

#define SHORTEST_TENTHS 1
/* Parts of it that are all of it add up to a little more, or less. */
#define WHOLE_ROOM (1 + 1e-9)

const char *admission_verdict_to_string(enum admission_verdict verdict)
{
    static const char *const texts[] = { [ADMISSION_NO_DEADLINE] = "no-deadline",
                                         [ADMISSION_IN_TIME] = "in-time",
                                         [ADMISSION_TOO_LATE] = "too-late",
                                         [ADMISSION_UNKNOWN] = "unknown" };

    return texts[verdict];
}

/* --- the job in question, and the others ---------------------------------------------------
 */

static void demand_of(const struct job_spec *spec, int elastic, struct subject *ret)
{
    for (uint32_t r = 0; r < spec->n_roles; r++) {
        struct resources need = resources_of_role(&spec->roles[r]);

        if ((int)r == elastic)
            ret->each = need;
        else
            resources_add(&ret->fixed, &need, spec->roles[r].min);
    }
    ret->min = elastic >= 0 ? spec->roles[elastic].min : 0;
}

static void add_minimum(struct resources *sum, const struct job_spec *spec)
{
    for (uint32_t r = 0; r < spec->n_roles; r++) {
        struct resources need = resources_of_role(&spec->roles[r]);

        resources_add(sum, &need, spec->roles[r].min);
    }
}

/* Of a curve what is of use: each size is faster than those before it. */
static void keep_faster(struct goodput_curve *curve, uint32_t most)
{
    int n = goodput_curve_best(curve) + 1;

    while (n > 1 && curve->points[n - 1].instances > most)
        n--;
    curve->n = 1;
    for (int i = 1; i < n; i++)
        if (curve->points[i].speed > curve->points[curve->n - 1].speed)
            curve->points[curve->n++] = curve->points[i];
}

static void curve_of(const struct goodput_learned *learned, uint32_t min, uint32_t max,
                     uint32_t most, struct goodput_curve *ret)
{
    const struct goodput_span span = {
        .min = min, .max = max, .current = max, .cost_per_instance = 1
    };

    goodput_learn_curve(learned, &span, ret);
    keep_faster(ret, most);
}

/* It has its minimum until its deadline ends it. */
static void keep_until_due(struct subject *subject)
{
    subject->known = false;
    subject->curve.n = 1;
    subject->curve.points[0] = (struct goodput_point){ .instances = subject->min, .speed = 1 };
}

/* It has its minimum before the job that is submitted has anything. */
static bool goes_first(const struct question *question, const struct job *job)
{
    return job_is_started(job) ||
           (job->n_waits == 0 && job->spec->priority >= question->spec->priority);
}

/* It has not begun, or nobody has heard of it since a restart: as of the one that is submitted. */
static void know_by_family(const struct question *question, const struct job *job, int elastic,
                           struct subject *ret)
{
    struct goodput_family_facts family;
    struct goodput_learned learned;
    char name[JOB_FAMILY_SIZE];

    if (question->cluster->families == NULL || elastic < 0 || job->learned != NULL)
        return;
    job_family_name(job, name);
    if (!goodput_family_get(question->cluster->families, name, &family) || family.n_ended == 0)
        return;
    job_expect_speed(question->cluster, job->spec, job->user, &family);
    goodput_prior_begin(&family.prior, &learned);
    ret->known = true;
    ret->shortest_s = goodput_family_tenth(&family, SHORTEST_TENTHS);
    ret->work_s = goodput_family_tenth(&family, GOODPUT_LONGEST_TENTHS);
    curve_of(&learned, job->spec->roles[elastic].min, job->spec->roles[elastic].max, UINT32_MAX,
             &ret->curve);
}

static void subject_of(const struct question *question, const struct job *job, struct subject *ret)
{
    struct instant now = question->now;
    int elastic = job_elastic_role(job);
    double work_s = job_left_s(job, now);

    *ret = (struct subject){ .job = job,
                             .holds = goes_first(question, job),
                             .work_s = work_s,
                             .due_s = (double)(deadline_at(&job->due) -
                                               MIN_OF(now.now_us, deadline_at(&job->due))) /
                                      USEC_PER_SEC };
    demand_of(job->spec, elastic, ret);
    keep_until_due(ret);
    if (work_s < 0) {
        know_by_family(question, job, elastic, ret);
        return;
    }
    ret->known = true;
    ret->shortest_s = work_s;
    curve_of(&job->learned->told, job->spec->roles[elastic].min, job->spec->roles[elastic].max,
             UINT32_MAX, &ret->curve);
}

static int earlier_first(const void *left, const void *right)
{
    const struct job *a = *(struct job *const *)left, *b = *(struct job *const *)right;
    uint64_t a_us = deadline_at(&a->due), b_us = deadline_at(&b->due);

    if (a_us != b_us)
        return a_us < b_us ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool is_due_before(const struct question *question, const struct job *job)
{
    return (double)deadline_at(&job->due) <=
           (double)question->now.now_us + question->own.due_s * USEC_PER_SEC;
}

/* ret: those with deadlines; owned by the caller */
static size_t count_jobs(struct question *question, const struct job ***ret)
{
    const struct job **due = NULL;
    const struct job *job;
    size_t n = 0, cap = 0;

    DL_FOREACH2(question->cluster->active, job, active_next)
    {
        bool has_deadline = deadline_at(&job->due) != NEVER_US;

        if (job->state == JOB_STOPPING)
            continue;
        if (has_deadline && n == cap) {
            cap = cap > 0 ? 2 * cap : 16;
            due = xreallocarray(due, cap, sizeof *due);
        }
        if (has_deadline) {
            due[n++] = job;
        } else if (goes_first(question, job)) {
            add_minimum(&question->kept, job->spec);
        } else {
            add_minimum(&question->behind, job->spec);
        }
    }
    *ret = due;
    return n;
}

static void find_others(struct question *question)
{
    const struct job **due;
    size_t n = count_jobs(question, &due), before = 0;
    size_t room = ADMISSION_DUE_MAX - MIN_OF(question->n_own, (uint32_t)ADMISSION_DUE_MAX);

    if (n > 1)
        qsort(due, n, sizeof *due, earlier_first);
    while (before < n && is_due_before(question, due[before]))
        before++;
    question->too_many = before > room || question->n_own > ADMISSION_DUE_MAX;
    question->n_others = question->too_many ? 0 : MIN_OF(n, room);
    question->n_not_looked_at = n - question->n_others;
    question->n_before = MIN_OF(before, question->n_others);
    question->others = xcalloc(MAX_OF(question->n_others, (size_t)1), sizeof *question->others);
    for (size_t i = 0; i < question->n_others; i++)
        subject_of(question, due[i], &question->others[i]);
    for (size_t i = question->n_others; i < n; i++)
        add_minimum(goes_first(question, due[i]) ? &question->kept : &question->behind,
                    due[i]->spec);
    free(due);
}

static int64_t times(int64_t have, int64_t need)
{
    return need > 0 ? MAX_OF(have, (int64_t)0) / need : ROLE_INSTANCES_MAX;
}

/* Instances that an empty node takes */
static int64_t places_in(const struct resources *total, const struct role_spec *role)
{
    struct resources need = resources_of_role(role);

    return MIN_OF(MIN_OF(times(total->cpu_millicores, need.cpu_millicores),
                         times(total->memory_bytes, need.memory_bytes)),
                  MIN_OF(times(total->gpus, need.gpus), times(total->ports, need.ports)));
}

static int64_t places_on(const struct node *node, const struct role_spec *role)
{
    const struct resources empty = resources_of_offer(&node->offer);
    bool carries = role->selector == NULL || labels_cover(&node->offer.labels, role->selector);

    return carries ? places_in(&empty, role) : 0;
}

/* As if all nodes were one: that much is known without a look at them, and a job that promises
 * nothing to others need not know better. */
static void look_at_total(struct question *question, const struct role_spec *role)
{
    question->total = question->cluster->planner->total;
    if (role == NULL)
        return;
    question->places = (uint32_t)MIN_OF(places_in(&question->total, role), (int64_t)UINT32_MAX);
    question->max = MIN_OF(role->max, MAX_OF(question->places, role->min));
}

/* role: the elastic one; NULL: there is none */
static void look_at_nodes(struct question *question, const struct role_spec *role)
{
    int64_t places = 0;

    for (const struct node *node = question->cluster->nodes; node != NULL; node = node->hh.next) {
        if (!node_takes_processes(node))
            continue;
        resources_add(&question->foreign,
                      &(struct resources){ .cpu_millicores = (int64_t)node->foreign_planned_cpu,
                                           .memory_bytes = (int64_t)node->foreign_planned_memory,
                                           .gpus = node_gpus_withheld(node) },
                      1);
        if (role != NULL)
            places = MIN_OF(places + places_on(node, role), (int64_t)UINT32_MAX);
    }
    question->total = question->cluster->planner->total;
    question->places = (uint32_t)places;
    if (role != NULL)
        question->max = MIN_OF(role->max, MAX_OF(question->places, role->min));
}

/* --- trials --------------------------------------------------------------------------------------
 */

struct trial {
    struct resources room;
    double work_s;   /* of each job that is submitted */
    uint32_t most;   /* instances that one may have */
    double part;     /* of the time that is left, in which all are to be over */
    bool all_hold;   /* their minima: also those that come after it */
    bool at_best;    /* only a job of known length that is due before counts, and no minimum */
    unsigned counts; /* resources, as a mask of 1 << enum policy_resource; 0: all */
};

struct answer {
    bool kept;          /* the deadline, of all that are submitted */
    double end_s;       /* of the last one */
    uint32_t instances; /* the most that one of them needs */
};

/* More than all, and finite: held room is given back. */
#define PART_MAX 1e3

static double part_of(int64_t need, int64_t room)
{
    if (need <= 0)
        return 0;
    return room > 0 ? fmin((double)need / (double)room, PART_MAX) : PART_MAX;
}

static double cost_of(const struct resources *need, const struct trial *trial)
{
    const struct resources *room = &trial->room;
    const double parts[] = { [POLICY_CPU] = part_of(need->cpu_millicores, room->cpu_millicores),
                             [POLICY_MEMORY] = part_of(need->memory_bytes, room->memory_bytes),
                             [POLICY_GPU] = part_of(need->gpus, room->gpus) };
    double most = 0;

    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++)
        if (trial->counts == 0 || (trial->counts & 1U << r) != 0)
            most = fmax(most, parts[r]);
    return most;
}

static void set_costs(struct subject *subject, const struct trial *trial)
{
    for (int i = 0; i < subject->curve.n; i++) {
        struct goodput_point *point = &subject->curve.points[i];
        struct resources need = subject->fixed;

        resources_add(&need, &subject->each, point->instances);
        point->cost = cost_of(&need, trial);
    }
}

static struct goodput_due due_of(const struct subject *subject, uint64_t id,
                                 const struct trial *trial)
{
    double due_s = trial->part * subject->due_s;
    double work_s = trial->at_best ? subject->shortest_s : subject->work_s;

    return (struct goodput_due){ .id = id,
                                 .curve = &subject->curve,
                                 .remaining_s = subject->known ? work_s : due_s,
                                 .deadline_s = due_s,
                                 .holds = (subject->holds || trial->all_hold) && !trial->at_best };
}

static void set_own(struct question *question, const struct trial *trial)
{
    int elastic = spec_elastic_role(question->spec);

    if (question->own.known) {
        const struct role_spec *role = &question->spec->roles[elastic];

        question->own.work_s = question->own.shortest_s = trial->work_s;
        curve_of(&question->learned, role->min, role->max, trial->most, &question->own.curve);
    } else {
        keep_until_due(&question->own);
    }
    set_costs(&question->own, trial);
}

/* The parts of a plan; owned. */
struct layout {
    struct goodput_due *others, *own; /* own: question->n_own; in one piece that others owns */
    const struct job **jobs;          /* of the others; owned */
    size_t n_others;
};

static struct layout lay_out(struct question *question, const struct trial *trial)
{
    struct layout layout = {
        .others = xcalloc(question->n_others + question->n_own, sizeof *layout.others),
        .jobs = xcalloc(question->n_others + 1, sizeof *layout.jobs),
    };

    for (size_t i = 0; i < question->n_others; i++) {
        struct subject *other = &question->others[i];

        if (trial->at_best && (!other->known || i >= question->n_before))
            continue;
        set_costs(other, trial);
        layout.jobs[layout.n_others] = other->job;
        layout.others[layout.n_others++] = due_of(other, other->job->id, trial);
    }
    layout.own = layout.others + layout.n_others;
    set_own(question, trial);
    for (uint32_t i = 0; i < question->n_own; i++)
        layout.own[i] = due_of(&question->own, question->cluster->next_job_id + i, trial);
    return layout;
}

static void layout_done(struct layout *layout)
{
    free(layout->others);
    free(layout->jobs);
}

static struct answer answer_of(const struct question *question, const struct goodput_due *own)
{
    struct answer answer = { .kept = true };

    for (uint32_t i = 0; i < question->n_own; i++) {
        answer.kept = answer.kept && own[i].feasible;
        answer.end_s = fmax(answer.end_s, own[i].end_s);
        if (own[i].feasible)
            answer.instances =
                MAX_OF(answer.instances, own[i].curve->points[own[i].share].instances);
    }
    return answer;
}

static struct answer try(struct question *question, const struct trial *trial)
{
    struct layout layout = lay_out(question, trial);
    struct answer answer;

    (void)goodput_due_admits(layout.others, layout.n_others, layout.own, question->n_own,
                             WHOLE_ROOM);
    answer = answer_of(question, layout.own);
    layout_done(&layout);
    return answer;
}

static struct resources less(struct resources room, const struct resources *what)
{
    resources_add(&room, what, -1);
    return room;
}

/* The room that jobs may grow into: all but foreign load, and cores below the limit of the load */
static struct resources shared_room(const struct question *question)
{
    struct resources room = question->total;

    room.cpu_millicores =
        policy_load_limit(room.cpu_millicores, question->cluster->config.max_load_permille);
    room = less(room, &question->foreign);
    return less(room, &question->kept);
}

/* With the room that is surely its own: beyond its minimum that is the rest beside the minima of
 * all others, also of those whose turn comes after it. Nothing is surely its own where groups
 * share: room beyond minima goes by the sums that they hold, not by deadlines. */
static struct answer try_surely(struct question *question)
{
    uint32_t measured = MAX_OF(question->learned.largest, question->own.min);
    struct trial trial = { .room = less(shared_room(question), &question->behind),
                           .work_s = question->longest_s,
                           .most = MIN_OF(question->max, measured),
                           .part = GOODPUT_IN_TIME,
                           .all_hold = true };
    struct answer more = { .end_s = INFINITY }, least;

    if (question->cluster->planner->n_groups <= 1)
        more = try(question, &trial);
    if (more.kept)
        return more;
    trial.room = shared_room(question);
    trial.most = question->own.min;
    trial.all_hold = false;
    least = try(question, &trial);
    return least.kept || least.end_s < more.end_s ? least : more;
}

/* Those without deadlines were gone, and it were as short as any; as if there were but one
 * resource, the worst of them. */
static struct answer try_at_best(struct question *question)
{
    struct answer worst = { .kept = true };

    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++) {
        const struct trial trial = { .room = question->total,
                                     .work_s = question->shortest_s,
                                     .most = question->max,
                                     .part = 1,
                                     .at_best = true,
                                     .counts = 1U << r };
        struct answer answer = try(question, &trial);

        worst.kept = worst.kept && answer.kept;
        worst.end_s = fmax(worst.end_s, answer.end_s);
    }
    return worst;
}

/* Adds those that could be kept without it, were there but one resource. */
static void note_late(struct question *question, enum policy_resource resource, bool *late)
{
    const struct trial trial = { .room = shared_room(question),
                                 .work_s = question->median_s,
                                 .most = question->max,
                                 .part = GOODPUT_IN_TIME,
                                 .counts = 1U << resource };
    struct layout layout = lay_out(question, &trial);

    (void)goodput_due_admits(layout.others, layout.n_others, layout.own, question->n_own,
                             WHOLE_ROOM);
    for (size_t i = 0; i < layout.n_others; i++)
        late[i] = late[i] || layout.others[i].displaced;
    layout_done(&layout);
}

/* Those that could be kept without it; of those that cannot be anyhow nobody is told. */
static void find_late(struct question *question, struct admission *ret)
{
    bool *late = xcalloc(question->n_others + 1, sizeof *late);

    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++)
        note_late(question, r, late);
    for (size_t i = 0; i < question->n_others; i++) {
        const struct job *job = question->others[i].job;
        struct admission_late *named;

        if (!late[i] || ret->n_late++ >= ADMISSION_LATE_NAMED)
            continue;
        named = &ret->late[ret->n_late - 1];
        named->id = job->id;
        memcpy(named->job, job->spec->name, sizeof named->job);
    }
    free(late);
}

/* --- the answer ----------------------------------------------------------------------------------
 */

/* More instances than it may have, as far as it gets faster by them, on empty nodes; 0 also when
 * it is not for want of those that it is not sure to be in time. */
static uint32_t find_larger_max(const struct question *question)
{
    double best = goodput_learn_speedup(&question->learned, question->max);
    double wanted = question->longest_s / (GOODPUT_IN_TIME * question->own.due_s);

    if (best >= wanted)
        return 0;
    for (uint32_t k = question->max + 1; k <= question->places; k += 1 + k / 16) {
        double speed = goodput_learn_speedup(&question->learned, k);

        if (speed >= wanted)
            return k;
        if (speed <= best)
            return 0;
        best = speed;
    }
    return 0;
}

static void suggest(const struct question *question, const struct answer *surely,
                    struct admission *ret)
{
    double end_s = surely->end_s / GOODPUT_IN_TIME;

    ret->max_wanted = find_larger_max(question);
    if (end_s < ADMISSION_TIME_MAX_S)
        ret->deadline_wanted_wall_us = ((instant_shown_us(question->now, question->now.wall_us) +
                                         (uint64_t)(end_s * USEC_PER_SEC)) /
                                            USEC_PER_SEC +
                                        1) *
                                       USEC_PER_SEC; /* nobody writes parts of a second */
}

/* At best, with the whole cluster: its curve is that of the last trial. */
static double alone_s(const struct question *question)
{
    const struct goodput_curve *curve = &question->own.curve;

    return question->shortest_s / curve->points[curve->n - 1].speed;
}

static void judge(struct question *question, struct admission *ret)
{
    struct answer surely, best;

    surely = try_surely(question);
    best = try_at_best(question);
    ret->least_s = best.kept ? alone_s(question) : best.end_s;
    ret->most_s = surely.end_s;
    if (!best.kept) {
        ret->verdict = ADMISSION_TOO_LATE;
        ret->late_s = best.end_s - question->own.due_s;
    } else if (!surely.kept || question->spec->after != NULL) {
        ret->verdict = ADMISSION_UNKNOWN;
    } else {
        ret->verdict = ADMISSION_IN_TIME;
        ret->instances = surely.instances;
        return;
    }
    suggest(question, &surely, ret);
}

/* NULL: its family knows how long it takes; else why not, as a code */
static const char *look_up_family(struct question *question, const char *user, int elastic,
                                  struct admission *ret)
{
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];

    if (question->cluster->families == NULL)
        return "policy-does-not-learn";
    if (elastic < 0)
        return "fixed-size";
    spec_family_name(question->spec, user, name);
    if (!goodput_family_get(question->cluster->families, name, &family) || family.n_ended == 0)
        return "family-unknown";
    question->shortest_s = goodput_family_tenth(&family, SHORTEST_TENTHS);
    question->median_s = goodput_family_tenth(&family, 5);
    question->longest_s = goodput_family_tenth(&family, GOODPUT_LONGEST_TENTHS);
    ret->jobs_known = (uint32_t)family.n_ended;
    job_expect_speed(question->cluster, question->spec, user, &family);
    goodput_prior_begin(&family.prior, &question->learned);
    return NULL;
}

/* Alone, as if it had its largest size or its smallest one all the time. */
static void tell_length(struct question *question, struct admission *ret)
{
    const struct role_spec *role = &question->spec->roles[spec_elastic_role(question->spec)];
    struct goodput_curve curve;

    curve_of(&question->learned, role->min, role->max, question->max, &curve);
    ret->least_s = question->shortest_s / curve.points[curve.n - 1].speed;
    ret->most_s = question->longest_s / curve.points[0].speed;
}

static double seconds_until_due(const struct job_spec *spec, struct instant now)
{
    if (spec->deadline_us != 0)
        return (double)spec->deadline_us / USEC_PER_SEC;
    return ((double)spec->deadline_wall_us - (double)now.wall_us) / USEC_PER_SEC;
}

/* Whether others are looked at: not where no job has a deadline, nor for a job without one among so
 * many that it would be dear. */
static bool concerns_others(const struct question *question, const struct admission *answer)
{
    const struct cluster *cluster = question->cluster;

    return answer->verdict != ADMISSION_NO_DEADLINE ||
           (cluster->deadlines.n[DEADLINE_JOB] > 0 &&
            cluster->holdings.all[HOLDING_JOBS] <= ADMISSION_JOBS_MAX);
}

/* NULL: it was found out; else why nobody knows */
static const char *find_out(struct question *question, const char *user, struct admission *ret)
{
    int elastic = spec_elastic_role(question->spec);
    const struct role_spec *role = elastic >= 0 ? &question->spec->roles[elastic] : NULL;
    const char *unsure = look_up_family(question, user, elastic, ret);

    demand_of(question->spec, elastic, &question->own);
    question->own.known = unsure == NULL;
    question->own.holds = true;
    if (!concerns_others(question, ret)) {
        look_at_total(question, role);
        question->n_not_looked_at = question->cluster->deadlines.n[DEADLINE_JOB];
    } else {
        look_at_nodes(question, role);
        find_others(question);
        if (question->n_others > 0)
            find_late(question, ret);
    }
    if (unsure != NULL)
        return unsure;
    if (ret->verdict == ADMISSION_NO_DEADLINE) {
        tell_length(question, ret);
        return NULL;
    }
    if (question->places < question->own.min)
        return "no-room";
    if (question->too_many)
        return "too-many";
    judge(question, ret);
    return NULL;
}

void cluster_admission(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                       struct instant now, struct admission *ret)
{
    struct question question = {
        .cluster = cluster, .spec = spec, .now = now, .n_own = MAX_OF(spec->array.n, (uint32_t)1)
    };
    bool has_deadline = spec->deadline_us != 0 || spec->deadline_wall_us != 0;
    const char *unsure;

    rooms_look(cluster->planner);
    *ret = (struct admission){ .verdict = has_deadline ? ADMISSION_UNKNOWN : ADMISSION_NO_DEADLINE,
                               .least_s = INFINITY,
                               .most_s = INFINITY };
    question.own.due_s = INFINITY;
    if (has_deadline) {
        question.own.due_s = seconds_until_due(spec, now);
        ret->deadline_wall_us = instant_shown_us(now, now.wall_us) +
                                (uint64_t)(fmax(question.own.due_s, 0) * USEC_PER_SEC);
    }
    unsure = find_out(&question, user, ret);
    ret->n_not_looked_at = (uint32_t)question.n_not_looked_at;
    admission_say(&question, unsure, ret);
    free(question.others);
}
