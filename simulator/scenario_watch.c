/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_watch.c - the looks at a running scenario and the figures made of them */
#include "simulator/scenario_watch.h"

#include <stdio.h>

#include "scheduler/core/core.h"

#define NO_SUBMISSION UINT32_MAX

/* The role whose instances are counted: the elastic one, else "trainer", else the last. */
static const char *counted_role(const struct job_spec *spec)
{
    int trainer = job_spec_role(spec, "trainer");

    for (size_t r = 0; r < spec->n_roles; r++)
        if (spec->roles[r].max > spec->roles[r].min)
            return spec->roles[r].name;
    return spec->roles[trainer >= 0 ? (size_t)trainer : spec->n_roles - 1].name;
}

static void init_machines(struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;

    watch->machines = xcalloc(scenario->nodes, sizeof(*watch->machines));
    for (size_t g = 0; g < scenario->n_groups; g++)
        for (uint32_t i = 0; i < scenario->groups[g].count; i++)
            watch->machines[scenario->groups[g].first + i] = (struct machine_watch){
                .cpu_millicores = scenario->groups[g].offer.cpu_millicores,
                .short_since_us = NEVER_US,
            };
}

void watch_init(struct watch *watch, const struct scenario *scenario, struct sim *sim,
                struct load_change *take_changes, size_t n_changes, struct scenario_result *result)
{
    struct step_mean whole = { .from_us = scenario->begin_us, .to_us = NEVER_US };
    struct step_mean plateau = { .from_us = scenario->plateau_from_us,
                                 .to_us = scenario->plateau_to_us };
    size_t n = scenario->submissions, at = 0;

    *watch = (struct watch){
        .scenario = scenario,
        .sim = sim,
        .result = result,
        .changes = take_changes,
        .n_changes = n_changes,
        .roles = xcalloc(n, sizeof(*watch->roles)),
        .trainers = xcalloc(n, sizeof(*watch->trainers)),
        .shares = xcalloc(n, sizeof(*watch->shares)),
        .trainers_mean = xcalloc(n, sizeof(*watch->trainers_mean)),
        .utilisation = whole,
        .utilisation_plateau = plateau,
        .ours_plateau = plateau,
        .jain_plateau = plateau,
        .trainers_plateau = plateau,
    };
    init_machines(watch);
    result->jobs = xcalloc(n, sizeof(*result->jobs));
    result->n_jobs = n;
    for (size_t j = 0; j < scenario->n_jobs; j++)
        for (uint32_t copy = 0; copy < scenario->jobs[j].copies; copy++, at++) {
            watch->roles[at] = counted_role(scenario->jobs[j].spec);
            watch->trainers_mean[at] = plateau;
            result->jobs[at] = (struct scenario_job_result){
                .placed_us = NEVER_US,
                .shown_us = NEVER_US,
            };
        }
    watch->sample.total_cores = (double)scenario->cpu_millicores / 1000;
    watch->sample.job_trainers = watch->trainers;
    watch->sample.n_jobs = n;
}

/* remember_id - job ids are handed out from 1 on, so that an array finds them */
static void remember_id(struct watch *watch, uint64_t id, uint32_t submission)
{
    while (id >= watch->cap_submission) {
        size_t cap = MAX_OF(64, 2 * watch->cap_submission);

        watch->submission = xreallocarray(watch->submission, cap, sizeof(*watch->submission));
        for (size_t i = watch->cap_submission; i < cap; i++)
            watch->submission[i] = NO_SUBMISSION;
        watch->cap_submission = cap;
    }
    watch->submission[id] = submission;
}

static void count_process(const struct sim_process_view *view, void *userdata)
{
    struct watch *watch = userdata;
    struct machine_watch *machine = &watch->machines[view->node];
    uint32_t s =
        view->job_id < watch->cap_submission ? watch->submission[view->job_id] : NO_SUBMISSION;

    machine->held_millicores += view->cpu_millicores;
    if (!view->running)
        return;
    machine->running_millicores += view->cpu_millicores;
    if (s != NO_SUBMISSION && !view->stopping && streq(view->role, watch->roles[s]))
        watch->trainers[s]++;
}

/* note_shown - what the scheduler says of a job; the look that sees it first dates it */
static void note_shown(const struct cluster *cluster, uint64_t id, uint64_t now_us,
                       struct scenario_job_result *job)
{
    const struct job *shown =
        cluster != NULL && job->shown_us == NEVER_US ? cluster_job(cluster, id) : NULL;

    if (shown == NULL || shown->state == JOB_QUEUED)
        return;
    if (job->placed_us == NEVER_US)
        job->placed_us = now_us;
    if (shown->state == JOB_RUNNING || shown->state == JOB_RESIZING ||
        shown->state == JOB_SUCCEEDED)
        job->shown_us = now_us;
}

static void look_at_jobs(struct watch *watch)
{
    const struct cluster *cluster = sim_cluster(watch->sim);
    struct scenario_sample *sample = &watch->sample;

    for (uint32_t s = 0; s < sample->n_jobs; s++) {
        struct scenario_job_result *job = &watch->result->jobs[s];
        struct sim_job_facts facts;

        watch->trainers[s] = 0;
        sim_job_facts(watch->sim, s, &facts);
        (void)snprintf(job->name, sizeof(job->name), "%s", facts.name);
        job->state = facts.state;
        job->submitted_us = facts.submitted_us;
        job->acknowledged_us = facts.acknowledged_us;
        job->started_us = facts.started_us;
        job->ended_us = facts.ended_us;
        job->resizes = facts.resizes;
        if (facts.job_id != 0) {
            remember_id(watch, facts.job_id, s);
            note_shown(cluster, facts.job_id, sample->at_us, job);
        }
    }
}

/* count_jobs - and the fairness among those that run */
static void count_jobs(struct watch *watch)
{
    struct scenario_sample *sample = &watch->sample;

    sample->submitted = sample->waiting = sample->running = sample->ended = sample->trainers = 0;
    for (uint32_t s = 0; s < sample->n_jobs; s++) {
        const struct scenario_job_result *job = &watch->result->jobs[s];

        step_mean_add(&watch->trainers_mean[s], sample->at_us, watch->trainers[s]);
        sample->trainers += watch->trainers[s];
        if (job->submitted_us > sample->at_us)
            continue;
        sample->submitted++;
        if (job->ended_us <= sample->at_us)
            sample->ended++;
        else if (job->started_us > sample->at_us)
            sample->waiting++;
        else
            watch->shares[sample->running++] = watch->trainers[s];
    }
    sample->jain = jain_index(watch->shares, sample->running);
}

/* note_short - since when, and for how long it was, a machine lacks cores that others want */
static void note_short(struct watch *watch, struct machine_watch *machine, bool is_short)
{
    struct scenario_result *result = watch->result;
    uint64_t now_us = watch->sample.at_us;

    if (machine->short_since_us != NEVER_US)
        result->short_longest_us =
            MAX_OF(result->short_longest_us, now_us - machine->short_since_us);
    if (is_short == (machine->short_since_us != NEVER_US))
        return;
    machine->short_since_us = is_short ? now_us : NEVER_US;
    if (is_short && watch->n_short++ == 0)
        watch->rise_us = now_us;
    if (!is_short && --watch->n_short == 0 &&
        result->n_returns < ELEMENTS(result->short_returns_us))
        result->short_returns_us[result->n_returns++] = now_us - watch->rise_us;
}

static void look_at_machines(struct watch *watch)
{
    struct scenario_sample *sample = &watch->sample;

    sample->ours_cores = sample->others_cores = sample->missing_cores = 0;
    for (uint32_t m = 0; m < watch->scenario->nodes; m++) {
        struct machine_watch *machine = &watch->machines[m];
        uint64_t free =
            machine->cpu_millicores - MIN_OF(machine->held_millicores, machine->cpu_millicores);
        uint64_t got = MIN_OF(machine->others_millicores, free);

        sample->ours_cores += (double)machine->running_millicores / 1000;
        sample->others_cores += (double)got / 1000;
        sample->missing_cores += (double)(machine->others_millicores - got) / 1000;
    }
}

static void add_figures(struct watch *watch)
{
    const struct scenario_sample *sample = &watch->sample;
    double share = (sample->ours_cores + sample->others_cores) / sample->total_cores;

    step_mean_add(&watch->utilisation, sample->at_us, share);
    step_mean_add(&watch->utilisation_plateau, sample->at_us, share);
    step_mean_add(&watch->ours_plateau, sample->at_us, sample->ours_cores / sample->total_cores);
    step_mean_add(&watch->jain_plateau, sample->at_us, sample->jain);
    step_mean_add(&watch->trainers_plateau, sample->at_us, sample->trainers);
}

void watch_look(struct watch *watch)
{
    struct scenario_sample *sample = &watch->sample;
    uint64_t now_us = sim_now_us(watch->sim);

    watch->result->short_core_s +=
        sample->missing_cores * (double)(now_us - sample->at_us) / USEC_PER_SEC;
    sample->at_us = now_us;
    for (uint32_t m = 0; m < watch->scenario->nodes; m++)
        watch->machines[m].running_millicores = watch->machines[m].held_millicores = 0;
    for (; watch->at_change < watch->n_changes && watch->changes[watch->at_change].at_us <= now_us;
         watch->at_change++) {
        const struct load_change *change = &watch->changes[watch->at_change];

        watch->machines[change->node].others_millicores = change->cpu_millicores;
    }
    look_at_jobs(watch);
    sim_each_process(watch->sim, count_process, watch);
    look_at_machines(watch);
    for (uint32_t m = 0; m < watch->scenario->nodes; m++) {
        struct machine_watch *machine = &watch->machines[m];

        note_short(watch, machine,
                   machine->others_millicores > 0 &&
                       machine->held_millicores + machine->others_millicores >
                           machine->cpu_millicores);
    }
    count_jobs(watch);
    add_figures(watch);
}

/* collect - one distribution over the jobs: the time from one event to another, in seconds */
static void collect(const struct scenario_result *result, size_t from, size_t to,
                    bool only_succeeded, double *scratch, struct distribution *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < result->n_jobs; i++) {
        const struct scenario_job_result *job = &result->jobs[i];
        uint64_t begin = *(const uint64_t *)((const char *)job + from);
        uint64_t end = *(const uint64_t *)((const char *)job + to);

        if (begin > result->end_us || (only_succeeded && job->state != JOB_SUCCEEDED))
            continue;
        end = MIN_OF(end, result->end_us);
        scratch[n++] = end > begin ? (double)(end - begin) / USEC_PER_SEC : 0;
    }
    distribution_of(scratch, n, ret);
}

static void collect_times(struct watch *watch)
{
    struct scenario_result *result = watch->result;
    const struct {
        size_t from, to;
        bool only_succeeded;
        struct distribution *ret;
    } times[] = {
#define JOB(field) offsetof(struct scenario_job_result, field)
        { JOB(submitted_us), JOB(started_us), false, &result->waiting_s },
        { JOB(acknowledged_us), JOB(started_us), false, &result->waiting_acknowledged_s },
        { JOB(submitted_us), JOB(placed_us), false, &result->waiting_room_s },
        { JOB(submitted_us), JOB(shown_us), false, &result->waiting_shown_s },
        { JOB(submitted_us), JOB(ended_us), true, &result->completion_s },
#undef JOB
    };

    for (size_t i = 0; i < ELEMENTS(times); i++)
        collect(result, times[i].from, times[i].to, times[i].only_succeeded, watch->shares,
                times[i].ret);
}

void watch_end(struct watch *watch)
{
    struct scenario_result *result = watch->result;
    uint64_t end_us = result->end_us = sim_now_us(watch->sim);

    result->jain_end = watch->sample.jain;
    result->events = sim_events(watch->sim);
    result->starts = sim_saw(watch->sim, SIM_SEEN_STARTS);
    result->tasks_finished = sim_saw(watch->sim, SIM_SEEN_TASKS_FINISHED);
    result->tasks_given_back = sim_saw(watch->sim, SIM_SEEN_TASKS_GIVEN_BACK);
    result->utilisation = step_mean_end(&watch->utilisation, end_us);
    result->utilisation_plateau = step_mean_end(&watch->utilisation_plateau, end_us);
    result->utilisation_ours_plateau = step_mean_end(&watch->ours_plateau, end_us);
    result->jain_plateau = step_mean_end(&watch->jain_plateau, end_us);
    result->trainers_plateau = step_mean_end(&watch->trainers_plateau, end_us);
    for (size_t s = 0; s < result->n_jobs; s++) {
        result->jobs[s].trainers = watch->trainers[s];
        result->jobs[s].trainers_mean = step_mean_end(&watch->trainers_mean[s], end_us);
        result->resizes += result->jobs[s].resizes;
        if (result->jobs[s].submitted_us <= end_us && result->jobs[s].started_us > end_us)
            result->never_started++;
    }
    if (watch->n_short > 0 && result->n_returns < ELEMENTS(result->short_returns_us))
        result->short_returns_us[result->n_returns++] = NEVER_US;
    collect_times(watch);
}

void watch_clear(struct watch *watch)
{
    free(watch->changes);
    free(watch->machines);
    free(watch->roles);
    free(watch->trainers);
    free(watch->shares);
    free(watch->submission);
    free(watch->trainers_mean);
}
