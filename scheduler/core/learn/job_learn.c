/* SPDX-License-Identifier: Apache-2.0 */
/* job_learn.c - how fast a job is at which size, for policies that want to know
 *
 * The counts are those of the task queue anyway; a program need not say anything. Of a job without
 * a queue they are the steps that its instances tell of. The speed of one job is noted of its
 * family, and a new one begins with that. With another policy nothing is kept. */
#include "scheduler/core/plan/plan_internal.h"

#include <math.h>

#include "scheduler/core/speed/length.h"
#include "scheduler/core/speed/servers.h"

#define TOLD_LEAST_US (60 * USEC_PER_SEC)
#define TOLD_PART 4
#define SAVED_LEAST_US (300 * USEC_PER_SEC)

static double seconds_of(struct instant now)
{
    return (double)now.now_us / USEC_PER_SEC;
}

/* How many there are when all of them run and nobody is being stopped, else 0 */
static uint32_t steady_instances(const struct job *job, uint32_t role)
{
    uint32_t live = job_count(job, role, true);

    return live == job_count_running(job, role) && live == job_count(job, role, false) ? live : 0;
}

/* It lacks instances for another reason than a change of its size, or is about to be over. */
static bool is_disturbed(const struct job *job, uint32_t role)
{
    return !(job->state == JOB_RUNNING || job->state == JOB_RESIZING) || job->finishing ||
           job->waits_for_room || job_count_due(job, role) > 0 || job->learned->stood_still;
}

/* Of a program that neither takes tasks nor meets others nor tells of steps it is only known that
 * it runs. */
static uint32_t working_instances(const struct job *job, uint32_t role)
{
    bool tells = job->queue != NULL || rendezvous_of(job, role) != NULL || job->tells_steps;

    return tells ? job->counts[role].at_work : job_count_running(job, role);
}

void job_learn_size(struct job *job, struct instant now)
{
    int elastic = job_elastic_role(job);
    uint32_t role = (uint32_t)elastic;
    const struct rendezvous *rendezvous;
    struct goodput_size size;

    if (job->learned == NULL || elastic < 0)
        return;
    rendezvous = rendezvous_of(job, role);
    size = (struct goodput_size){
        .now_s = seconds_of(now),
        .wanted = job_count(job, role, false),
        .working = working_instances(job, role),
        /* a member that is left of a generation that is over is about to wait for the next one */
        .stopping = job->counts[role].stopping > 0 || (rendezvous != NULL && rendezvous->over),
        .disturbed = is_disturbed(job, role),
    };
    goodput_learn_size(&job->learned->of, &size);
    if (!job_servers_run(job)) /* the figures so far are not those of so many */
        job->learned->of.instances = 0;
}

void process_works(struct process *process, struct instant now)
{
    if (process->at_work || process->state >= PROCESS_STOPPING)
        return;
    process_set_at_work(process, true);
    job_learn_size(process->job, now);
}

void process_waits(struct process *process, struct instant now)
{
    if (!process->at_work)
        return;
    process_set_at_work(process, false);
    job_learn_size(process->job, now);
}

void job_learn_lost(const struct process *process, struct instant now)
{
    const struct job *job = process->job;

    if (job->learned != NULL && process->stop_wanted && job_elastic_role(job) == (int)process->role)
        goodput_learn_lost(&job->learned->of,
                           (double)task_queue_held_us(job->queue, process->incarnation,
                                                      now.now_us) /
                               USEC_PER_SEC);
}

uint32_t job_learn_crowd(const struct cluster *cluster)
{
    static const enum job_state states[] = { JOB_STARTING, JOB_RUNNING, JOB_RESIZING };
    uint64_t n = cluster->planner->queue.n_jobs;

    for (size_t i = 0; i < ELEMENTS(states); i++)
        n += cluster->figures.jobs[states[i]];
    return (uint32_t)n;
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

/* The policy knows the beliefs of this moment. */
static void tell(struct cluster *cluster, struct job *job, struct instant now)
{
    struct job_learned *learned = job->learned;
    struct goodput_family_facts family;

    goodput_prior_renew(goodput_family_prior(cluster->families, learned->curve), &learned->of);
    goodput_family_done(cluster->families, learned->family, learned->of.work_s);
    learned->of.family_s =
        goodput_family_work(cluster->families, learned->family, learned->of.work_s);
    learned->of.lasts_s =
        goodput_family_get(cluster->families, learned->family, &family) && family.n_ended > 0
            ? learned->of.family_s
            : 0;
    learned->of.longest_s =
        goodput_family_longest(cluster->families, learned->family, learned->of.work_s);
    learned->of.hint_s = job_hint_s(job, &learned->of);
    if (learned->units_left < 0) /* so that the policy sees that it was told something new */
        learned->units_done = learned->of.work_s;
    learned->of.silent = job->queue == NULL && !job->tells_steps && learned->of.largest == 0 &&
                         now.now_us - learned->since_us >= TOLD_LEAST_US;
    rank(job, learned);
    learned->told = learned->of;
    learned->told_us = now.now_us;
    learned->elapsed_s =
        (double)(now.wall_us - MIN_OF(after_ready_wall_us(cluster, job), now.wall_us)) /
        USEC_PER_SEC;
    learned->crowd = job_learn_crowd(cluster);
    job_touch(cluster, job);
}

/* Of so much time that a process was there. */
static uint64_t less_still_us(const struct process *process, uint64_t us)
{
    return us - MIN_OF(process->frozen_us, us);
}

static uint64_t worked_us(const struct process *process)
{
    return less_still_us(process, process->ran_us);
}

/* Of one that has run before anybody learnt: the time that its living instances have run, together.
 * By their agents' reports: the wall clock of a start may have been wrong, or be so now. */
static double work_before(const struct job *job, const struct goodput_learned *learned)
{
    uint32_t role = (uint32_t)job_elastic_role(job);
    uint32_t running = job_count_running(job, role);
    uint32_t told = 0;
    double ran_s = 0;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        if (process == NULL || process->ran_us == 0)
            continue;
        told++;
        ran_s += (double)worked_us(process) / USEC_PER_SEC;
    }
    return told > 0 ? ran_s / told * goodput_learn_speedup(learned, running) : 0;
}

/* It runs since before a restart, and no agent has spoken of it yet. */
static bool is_unheard(const struct job *job)
{
    uint32_t role = (uint32_t)job_elastic_role(job);

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        if (process != NULL && process->listed)
            return false;
    }
    return job_count_running(job, role) > 0;
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

void job_learn_begin(struct cluster *cluster, struct job *job, struct instant now)
{
    struct job_learned *learned;

    if (cluster->families == NULL || job->learned != NULL || job_elastic_role(job) < 0 ||
        is_unheard(job))
        return;
    learned = xcalloc(1, sizeof *learned);
    job_family_name(job, learned->family);
    name_curves(job, learned);
    goodput_prior_begin(goodput_family_prior(cluster->families, learned->curve), &learned->of);
    if (!is_counted(cluster, job, learned))
        goodput_family_begun(cluster->families, learned->family);
    learned->units_left = -1;
    learned->evenness = 1;
    learned->since_us = now.now_us;
    learned->families = cluster->families;
    learned->of.work_s = work_before(job, &learned->of);
    job->learned = learned;
    job_believe_types(cluster, job, now);
    tell(cluster, job, now);
}

/* --- of a job of fixed size its length alone, which is not kept through a restart
 * ------------------------------------------------------------------------------------------ */

static double length_of(const struct job *job, uint64_t ran_us)
{
    return (double)ran_us / USEC_PER_SEC / job_length_unit_s(job);
}

/* Each time that it has run twice as long: names of families cost a look at the document. */
static void note_length(struct cluster *cluster, const struct process *process)
{
    struct job *job = process->job;
    char name[JOB_FAMILY_SIZE];

    if (job_elastic_role(job) >= 0 ||
        worked_us(process) < MAX_OF(2 * job->plan.noted_us, USEC_PER_SEC))
        return;
    job_length_name(job, name);
    job->plan.noted_us = worked_us(process);
    goodput_family_done(cluster->families, name, length_of(job, worked_us(process)));
}

/* Those that run now, or did last, for the longest. */
static uint64_t longest_us(const struct job *job, struct instant now)
{
    uint64_t us = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            if (job->slots[r][i].newest != NULL)
                us = MAX_OF(us, less_still_us(job->slots[r][i].newest,
                                              process_ran_for_us(job->slots[r][i].newest, now)));
    return us;
}

static void end_length(struct cluster *cluster, const struct job *job, struct instant now)
{
    char name[JOB_FAMILY_SIZE];

    if (cluster->families == NULL || job->state != JOB_SUCCEEDED || job_elastic_role(job) >= 0)
        return;
    job_length_name(job, name);
    goodput_family_ended(cluster->families, name, length_of(job, longest_us(job, now)));
}

void job_learn_end(struct cluster *cluster, struct job *job, struct instant now)
{
    const struct job_learned *learned = job->learned;

    if (learned == NULL) {
        end_length(cluster, job, now);
        return;
    }
    job_learn_size(job, now);
    if (job->state == JOB_SUCCEEDED)
        goodput_family_ended(cluster->families, learned->family, learned->of.work_s);
    else
        goodput_family_done(cluster->families, learned->family, learned->of.work_s);
    save_family(cluster, job, now);
}

/* Its last figure is not older than a part of its age: few times of a long job. */
static bool is_outdated(const struct job_learned *learned, struct instant now)
{
    uint64_t age_us = now.now_us - learned->since_us;

    return now.now_us - learned->told_us >= MAX_OF(age_us / TOLD_PART, TOLD_LEAST_US);
}

/* How far its queue is. */
static void count_units(struct job *job, double *ret_done, double *ret_left)
{
    struct task_queue_counts counts = task_queue_counts(job->queue);

    *ret_done =
        (double)(counts.records_total + counts.records_discarded_total + counts.records_lost_total);
    *ret_left =
        fmax((double)task_queue_passes(job->queue) * (double)counts.records_pass - *ret_done, 0);
}

/* Nobody worked in that time, and it is no part of the price of a change of size. */
static void take_standstill(struct job *job, struct instant now)
{
    double still_s = job->learned->still_s;

    if (still_s <= 0)
        return;
    job->learned->still_s = 0;
    job_learn_size(job, now);
    goodput_learn_stood_still(&job->learned->of, still_s);
}

void job_learn_seen(struct cluster *cluster, const struct process *process, struct instant now)
{
    struct job *job = process->job;

    if (cluster->families == NULL || !job_is_started(job))
        return;
    job_learn_begin(cluster, job, now);
    if (job->learned == NULL)
        note_length(cluster, process);
    if (job->learned != NULL)
        take_standstill(job, now);
    if (job->learned == NULL || !is_outdated(job->learned, now))
        return;
    job_learn_size(job, now);
    if (job->learned->units_left >= 0 && job->queue != NULL &&
        !task_queue_is_closed(
            job->queue)) /* tasks that take long measure nothing, but it gets on */
        count_units(job, &job->learned->units_done, &job->learned->units_left);
    tell(cluster, job, now);
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
                    const struct goodput_progress *progress, struct instant now)
{
    struct goodput_progress seen = *progress;
    bool measured;

    job_learn_size(job, now);
    if (job->learned->stood_still)
        seen.instances = 0; /* from here on anew */
    job->learned->stood_still = false;
    measured = goodput_learn_note(&job->learned->of, &seen);
    if (measured)
        note_family(cluster, job, now);
    return measured;
}

/* So many at a size that can be measured; 0: it is being resized. */
static uint32_t measured_instances(const struct job *job, uint32_t role)
{
    return job_servers_run(job) ? steady_instances(job, role) : 0;
}

void job_learn(struct cluster *cluster, struct job *job, struct instant now)
{
    int role = job_elastic_role(job);
    struct task_queue_counts counts;
    struct goodput_progress progress;
    bool first, measured;

    if (role < 0 || job->queue == NULL || task_queue_is_closed(job->queue))
        return;
    job_learn_begin(cluster, job, now);
    if (job->learned == NULL)
        return;
    counts = task_queue_counts(job->queue);
    progress = (struct goodput_progress){
        .now_s = seconds_of(now),
        .instances = measured_instances(job, (uint32_t)role),
        .evenness = job->learned->evenness,
        .tasks = (uint64_t)task_queue_pass(job->queue) * task_queue_n_tasks(job->queue) +
                 counts.done + counts.discarded,
        .units = (double)(counts.records_total + counts.records_discarded_total +
                          counts.records_lost_total),
    };
    first = job->learned->units_left < 0;
    measured = measure(cluster, job, &progress, now);
    if (!measured && !first)
        return;
    count_units(job, &job->learned->units_done, &job->learned->units_left);
    tell(cluster, job, now);
    cluster->plan_wanted = true;
}

/* A note is of the moment when its last step was told, not of the report that brought it. Notes of
 * several instances come in any order, and time goes on all the same. */
void job_learn_steps(struct cluster *cluster, const struct process *process, struct instant now)
{
    struct job *job = process->job;
    struct job_learned *learned;
    struct goodput_progress progress;

    if (job_elastic_role(job) != (int)process->role)
        return;
    job_learn_begin(cluster, job, now);
    learned = job->learned;
    if (learned == NULL)
        return;
    learned->step_notes++;
    learned->step_units += (double)process->steps->last.samples;
    learned->step_s = fmax(learned->step_s, (double)process->steps->at_us / USEC_PER_SEC);
    progress = (struct goodput_progress){ .now_s = learned->step_s,
                                          .instances = measured_instances(job, process->role),
                                          .evenness = learned->evenness,
                                          .tasks = learned->step_notes,
                                          .units = learned->step_units };
    if (!measure(cluster, job, &progress, now))
        return;
    tell(cluster, job, now);
    cluster->plan_wanted = true;
}
