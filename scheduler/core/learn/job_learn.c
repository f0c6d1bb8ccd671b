/* SPDX-License-Identifier: Apache-2.0 */
/* job_learn.c - how fast a job is at which size, for policies that want to know
 *
 * The counts are those of the task queue anyway; a program need not say anything. Of a job without
 * a queue they are the steps that its instances tell of. The speed of one job is noted of its
 * family, and a new one begins with that. With another policy nothing is kept. */
#include "scheduler/core/learn/job_learn.h"

#include <math.h>

#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/length.h"
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/speed/prior.h"
#include "scheduler/core/speed/servers.h"

#define TOLD_LEAST_US (60 * USEC_PER_SEC)
#define TOLD_PART 4
#define SAVED_LEAST_US (300 * USEC_PER_SEC)

static double seconds_of(struct instant now)
{
    return (double)now.now_us / USEC_PER_SEC;
}

void job_learn_size(struct job *job, const struct fact *fact)
{
    struct goodput_size size;

    if (job->learned == NULL || fact->elastic < 0)
        return;
    size = (struct goodput_size){ .now_s = seconds_of(fact->now),
                                  .wanted = fact->wanted,
                                  .working = fact->at_work,
                                  .stopping = fact->stopping,
                                  .disturbed = fact->disturbed || job->learned->stood_still };
    goodput_learn_size(&job->learned->of, &size);
    if (!fact->servers_run) /* the figures so far are not those of so many */
        job->learned->of.instances = 0;
}

void job_learn_still(struct job *job, const struct fact *fact)
{
    if (job->learned == NULL)
        return;
    job->learned->stood_still = true;
    job->learned->still_s += (double)fact->us / USEC_PER_SEC;
}

void job_learn_lost(struct job *job, const struct fact *fact)
{
    if (job->learned != NULL)
        goodput_learn_lost(&job->learned->of, (double)fact->us / USEC_PER_SEC);
}

/* Its length is guessed from the work of jobs of its family that run still. */
static bool follows_others(const struct goodput_learned *learned, const struct goodput_work *work)
{
    return learned->family_s > 0 && goodput_learn_remaining(learned, work) < 0;
}

/* One whose bounds were made equal meanwhile stays where it was. */
static void rank(const struct job *job, struct job_learned *learned)
{
    int elastic = job_elastic_role(job);
    const struct role_spec *role = &job->spec->roles[MAX_OF(elastic, 0)];
    const struct goodput_span span = { .min = MAX_OF(role->min, 1), .max = MAX_OF(role->max, 1) };
    const struct goodput_work work =
        goodput_learn_work(&learned->of, learned->units_done, learned->units_left);

    if (elastic < 0)
        return;
    goodput_learn_rank(&learned->of, &span, goodput_remaining(&GOODPUT_LEVELS, &work),
                       follows_others(&learned->of, &work));
}

/* One of its family that has ended did what an instance does in that time, and nothing could be
 * measured of any. */
static bool is_family_silent(const struct goodput_family_facts *family)
{
    return family->n_ended > 0 && family->prior.largest == 0 &&
           family->ended[family->n_ended - 1] >= (double)TOLD_LEAST_US / USEC_PER_SEC;
}

/* The policy knows the beliefs of this moment. */
static void tell(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    struct job_learned *learned = job->learned;
    struct instant now = fact->now;
    struct goodput_family_facts family = { 0 };

    goodput_prior_renew(goodput_family_prior(cluster->families, learned->curve), &learned->of);
    goodput_family_done(cluster->families, learned->family, learned->of.work_s);
    learned->of.family_s =
        goodput_family_work(cluster->families, learned->family, learned->of.work_s);
    (void)goodput_family_get(cluster->families, learned->family, &family);
    learned->of.lasts_s = family.n_ended > 0 ? learned->of.family_s : 0;
    learned->of.longest_s =
        goodput_family_longest(cluster->families, learned->family, learned->of.work_s);
    learned->of.hint_s = job_hint_s(job, &learned->of);
    if (learned->units_left < 0) /* so that the policy sees that it was told something new */
        learned->units_done = learned->of.work_s;
    learned->of.silent =
        !fact->tells && learned->of.largest == 0 &&
        (now.now_us - learned->since_us >= TOLD_LEAST_US || is_family_silent(&family));
    rank(job, learned);
    learned->told = learned->of;
    learned->told_us = now.now_us;
    learned->elapsed_s =
        (double)(now.wall_us - MIN_OF(after_ready_wall_us(cluster, job), now.wall_us)) /
        USEC_PER_SEC;
    learned->crowd = fact->crowd;
    job_touch(cluster, job);
}

/* Of one that has run before anybody learnt: the time that its living instances have run, together.
 * By their agents' reports: the wall clock of a start may have been wrong, or be so now. */
static double work_before(const struct fact *fact, const struct goodput_learned *learned)
{
    return fact->n_ran > 0
               ? fact->ran_s / fact->n_ran * goodput_learn_speedup(learned, fact->running)
               : 0;
}

/* A start that learns the same again costs little: now and then is enough. */
static void save_family(struct cluster *cluster, struct job *job, struct instant now)
{
    job->learned->saved_us = now.now_us;
    effect_save_family(cluster, job);
}

/* It is one of those that are known to have begun: it ran before a restart. */
static bool is_counted(const struct cluster *cluster, const struct job *job,
                       const struct job_learned *learned)
{
    struct goodput_family_facts family;

    return job->started_wall_us != 0 &&
           goodput_family_get(cluster->families, learned->family, &family) && family.n_begun > 0;
}

/* Where a number of servers was chosen, speeds are of so many. */
static void name_curves(const struct job *job, struct job_learned *learned)
{
    memcpy(learned->curve, learned->family, sizeof learned->curve);
    if (job_servers(job) == 0)
        return;
    job_curve_name(job, job_servers(job), learned->curve);
    job_program_name(job, job_servers(job), learned->program);
}

void job_learn_begin(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    struct job_learned *learned;

    if (job->learned != NULL || fact->elastic < 0 || fact->unheard)
        return;
    learned = xcalloc(1, sizeof *learned);
    job_family_name(job, learned->family);
    name_curves(job, learned);
    goodput_prior_begin(goodput_family_prior(cluster->families, learned->curve), &learned->of);
    if (!is_counted(cluster, job, learned))
        goodput_family_begun(cluster->families, learned->family);
    learned->units_left = -1;
    learned->evenness = 1;
    learned->since_us = fact->now.now_us;
    learned->families = cluster->families;
    learned->of.work_s = work_before(fact, &learned->of);
    job->learned = learned;
    job_believe_types(cluster, job, fact->now);
    tell(cluster, job, fact);
}

/* It may have been learnt of before it was queued again. */
void job_learn_start(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    job_learn_begin(cluster, job, fact);
    if (job->learned != NULL)
        job_believe_types(cluster, job, fact->now);
}

/* Learnt before it was queued again, without having run: that was for another number. Or its owner
 * says how many: its speed from now on is of no number. */
void job_learn_servers(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    struct job_learned *learned = job->learned;

    if (learned == NULL)
        return;
    if (fact->wanted == 0) {
        memcpy(learned->curve, learned->family, sizeof learned->curve);
        learned->program[0] = '\0';
        return;
    }
    job_curve_name(job, fact->wanted, learned->curve);
    job_program_name(job, fact->wanted, learned->program);
    if (learned->of.windows == 0)
        goodput_prior_begin(goodput_family_prior(cluster->families, learned->curve), &learned->of);
}

/* --- of a job of fixed size its length alone, which is not kept through a restart
 * ------------------------------------------------------------------------------------------ */

static double length_of(const struct job *job, uint64_t ran_us)
{
    return (double)ran_us / USEC_PER_SEC / job_length_unit_s(job);
}

/* Each time that it has run twice as long: names of families cost a look at the document. */
static void note_length(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    char name[JOB_FAMILY_SIZE];

    if (fact->elastic >= 0 || fact->us < MAX_OF(2 * job->noted_us, USEC_PER_SEC))
        return;
    job_length_name(job, name);
    job->noted_us = fact->us;
    goodput_family_done(cluster->families, name, length_of(job, fact->us));
}

static void end_length(struct cluster *cluster, const struct job *job, const struct fact *fact)
{
    char name[JOB_FAMILY_SIZE];

    if (job->state != JOB_SUCCEEDED || fact->elastic >= 0)
        return;
    job_length_name(job, name);
    goodput_family_ended(cluster->families, name, length_of(job, fact->us));
}

void job_learn_end(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    const struct job_learned *learned = job->learned;

    if (learned == NULL) {
        end_length(cluster, job, fact);
        return;
    }
    job_learn_size(job, fact);
    if (job->state == JOB_SUCCEEDED)
        goodput_family_ended(cluster->families, learned->family, learned->of.work_s);
    else
        goodput_family_done(cluster->families, learned->family, learned->of.work_s);
    save_family(cluster, job, fact->now);
}

/* Its last figure is not older than a part of its age: few times of a long job. */
uint64_t job_learn_outdated_us(const struct job *job)
{
    const struct job_learned *learned = job->learned;

    if (learned == NULL)
        return NEVER_US;
    return learned->told_us +
           MAX_OF((learned->told_us - learned->since_us) / (TOLD_PART - 1), TOLD_LEAST_US);
}

static void take_progress(struct job_learned *learned, const struct fact *fact)
{
    learned->units_done = (double)fact->units;
    learned->units_left = fact->units_left;
}

/* Nobody worked in that time, and it is no part of the price of a change of size. */
static void take_standstill(struct job *job, const struct fact *fact)
{
    double still_s = job->learned->still_s;

    if (still_s <= 0)
        return;
    job->learned->still_s = 0;
    job_learn_size(job, fact);
    goodput_learn_stood_still(&job->learned->of, still_s);
}

void job_learn_seen(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    job_learn_begin(cluster, job, fact);
    if (job->learned == NULL)
        note_length(cluster, job, fact);
    if (job->learned != NULL)
        take_standstill(job, fact);
    if (fact->now.now_us < job_learn_outdated_us(job))
        return;
    job_learn_size(job, fact);
    /* tasks that take long measure nothing, but it gets on */
    if (job->learned->units_left >= 0 && fact->has_data)
        take_progress(job->learned, fact);
    tell(cluster, job, fact);
    cluster->plan_wanted = true;
}

static void note_family(struct cluster *cluster, struct job *job, struct instant now)
{
    struct job_learned *learned = job->learned;

    goodput_prior_note(goodput_family_prior(cluster->families, learned->curve), &learned->of);
    if (learned->program[0] != '\0')
        goodput_servers_note(cluster->families, learned->family, learned->program, job_program(job),
                             &learned->of);
    if (learned->saved_us == 0 || now.now_us - learned->saved_us >= SAVED_LEAST_US)
        save_family(cluster, job, now);
}

/* True when that completed a measurement. */
static bool measure(struct cluster *cluster, struct job *job,
                    const struct goodput_progress *progress, const struct fact *fact)
{
    struct goodput_progress seen = *progress;
    bool measured;

    job_learn_size(job, fact);
    if (job->learned->stood_still)
        seen.instances = 0; /* from here on anew */
    job->learned->stood_still = false;
    measured = goodput_learn_note(&job->learned->of, &seen);
    if (measured)
        note_family(cluster, job, fact->now);
    return measured;
}

void job_learn_tasks(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    struct goodput_progress progress;
    bool first, measured;

    job_learn_begin(cluster, job, fact);
    if (job->learned == NULL)
        return;
    progress = (struct goodput_progress){ .now_s = seconds_of(fact->now),
                                          .instances = fact->steady,
                                          .evenness = job->learned->evenness,
                                          .tasks = fact->tasks,
                                          .units = (double)fact->units };
    first = job->learned->units_left < 0;
    measured = measure(cluster, job, &progress, fact);
    if (!measured && !first)
        return;
    take_progress(job->learned, fact);
    tell(cluster, job, fact);
    cluster->plan_wanted = true;
}

/* A note is of the moment when its last step was told, not of the report that brought it. Notes of
 * several instances come in any order, and time goes on all the same. */
void job_learn_steps(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    struct job_learned *learned;
    struct goodput_progress progress;

    job_learn_begin(cluster, job, fact);
    learned = job->learned;
    if (learned == NULL)
        return;
    learned->step_notes++;
    learned->step_units += (double)fact->units;
    learned->step_s = fmax(learned->step_s, (double)fact->at_us / USEC_PER_SEC);
    progress = (struct goodput_progress){ .now_s = learned->step_s,
                                          .instances = fact->steady,
                                          .evenness = learned->evenness,
                                          .tasks = learned->step_notes,
                                          .units = learned->step_units };
    if (!measure(cluster, job, &progress, fact))
        return;
    tell(cluster, job, fact);
    cluster->plan_wanted = true;
}
