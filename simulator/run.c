/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - one seed: run it, and when it fails find the shortest schedule that still does */
#include <errno.h>
#include <inttypes.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "shared/cleanup.h"
#include "simulator/faults.h"
#include "simulator/promises.h"

#define HISTORY_BYTES (16 * 1024) /* of the trace's end */
#define SHRINK_RUNS_MAX 400
/* what was cut off may be told so late */
#define LATEST_US (35 * USEC_PER_SEC)
#define DIGITS "0123456789."
/* Of calm. Load of the machines' own that ended with the faults is forgotten (three times the
 * hold); then a node is drained; then it is ready and there is such load again; then what never
 * ends by itself is killed. */
#define FILLER_US (40 * USEC_PER_SEC)
#define CLAIMS 5
#define SETTLED_US (70 * USEC_PER_SEC)
#define DRAIN_US (110 * USEC_PER_SEC)
#define FOREIGN_US (165 * USEC_PER_SEC)
#define REST_US (205 * USEC_PER_SEC)
#define LOOK_US (10 * USEC_PER_SEC) /* so often people do */

static const struct sim_range boots = { 0, USEC_PER_SEC };

/* Quartz, a bad one, or one that nobody keeps: well within the margin of a lease. */
static uint32_t drift_ppm(uint64_t seed)
{
    static const uint32_t drifts[] = { 0, 200, 10000 };
    const struct sim sim = { .config = { .seed = seed } };
    uint64_t random = stream(&sim, "drifts", 0, 0);

    return drifts[random_below(&random, ELEMENTS(drifts))];
}

static void add_nodes(struct sim *sim, const struct schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->n_nodes; i++) {
        uint64_t random = stream(sim, "boot", i, 0);
        char name[NODE_NAME_MAX + 1];

        (void)snprintf(name, sizeof name, "n%u", i);
        (void)sim_add_node(sim, draw(&random, boots), name, &schedule->offers[i]);
        if (schedule->speeds != NULL)
            sim_set_speed(sim, i, schedule->speeds[i]);
    }
}

static void add_foreign(struct sim *sim, const struct schedule *schedule, uint32_t node)
{
    const struct node_offer *offer = &schedule->offers[node];
    uint64_t random = stream(sim, "calm-foreign", node, 0);
    uint64_t cpu = random_below(&random, 2) * random_below(&random, offer->cpu_millicores + 1);
    uint64_t memory = random_below(&random, 2) * random_below(&random, offer->memory_bytes + 1);

    sim_foreign_at(sim, schedule->calm_us + FOREIGN_US, node, cpu, memory);
    sim_foreign_at(sim, schedule->calm_us + REST_US, node, 0, 0);
}

/* One job that fills what is free and gives way, then gangs of all users. */
static void add_claims(struct sim *sim, const struct schedule *schedule)
{
    struct job_spec *spec;
    struct sim_work work;

    schedule_filler(schedule->seed, &spec, &work);
    (void)sim_submit_at(sim, schedule->calm_us + FILLER_US, spec, &work);
    for (uint32_t i = 0; i < CLAIMS; i++) {
        schedule_claim(schedule->seed, i, &spec, &work);
        (void)sim_submit_at(sim, schedule->calm_us + SETTLED_US + i * USEC_PER_SEC, spec, &work);
    }
}

/* What never ends by itself is killed when the faults are over; every node is ready then. */
static void add_calm(struct sim *sim, const struct schedule *schedule)
{
    uint64_t random = stream(sim, "calm-drain", 0, 0);
    uint32_t drained = (uint32_t)random_below(&random, schedule->n_nodes);

    sim_script_at(sim, schedule->calm_us, &(struct script){ .kind = SCRIPT_CALM });
    for (uint32_t i = 0; i < schedule->n_nodes; i++) {
        sim_node_state_at(sim, schedule->calm_us + LATEST_US, i, NODE_READY);
        add_foreign(sim, schedule, i);
    }
    sim_node_state_at(sim, schedule->calm_us + DRAIN_US, drained, NODE_DRAINING);
    sim_node_state_at(sim, schedule->calm_us + FOREIGN_US, drained, NODE_READY);
    if (sim->config.groups)
        add_claims(sim, schedule);
    for (uint32_t i = 0; i < sim->n_submissions; i++)
        if (program_serves(&sim->submissions[i].work))
            sim_kill_at(sim, schedule->calm_us + REST_US, i);
}

static void add_entries(struct sim *sim, const struct schedule *schedule, const bool *left_out)
{
    uint32_t *submissions = xcalloc(schedule->n_entries, sizeof *submissions);

    memset(submissions, 0xff, schedule->n_entries * sizeof *submissions);
    for (size_t i = 0; i < schedule->n_entries; i++) {
        const struct entry *entry = &schedule->entries[i];
        struct job_spec *spec;
        struct sim_work work;

        if (left_out[i] || entry->kind != ENTRY_SUBMIT)
            continue;
        schedule_job(schedule, entry->job, &spec, &work);
        submissions[entry->job] = sim_submit_at(sim, entry->at_us, spec, &work);
    }
    for (size_t i = 0; i < schedule->n_entries; i++) {
        const struct entry *entry = &schedule->entries[i];

        if (left_out[i])
            continue;
        if (entry->kind == ENTRY_FAULT)
            sim_script_at(sim, entry->at_us, &entry->fault);
        else if (entry->kind == ENTRY_NODE_STATE)
            sim_node_state_at(sim, entry->at_us, entry->node, entry->state);
        else if (entry->kind == ENTRY_NODE_REMOVE)
            sim_remove_node_at(sim, entry->at_us, entry->node);
        else if (entry->kind == ENTRY_KILL && submissions[entry->job] != NOBODY)
            sim_kill_at(sim, entry->at_us, submissions[entry->job]);
        else if (entry->kind == ENTRY_SCALE && submissions[entry->job] != NOBODY)
            sim_scale_at(sim, entry->at_us, submissions[entry->job], "trainer", entry->min,
                         entry->max);
        else if (entry->kind == ENTRY_PRIORITISE && submissions[entry->job] != NOBODY)
            sim_prioritise_at(sim, entry->at_us, submissions[entry->job], entry->priority);
    }
    free(submissions);
}

/* Everything ended, or can never start. */
static bool is_quiet(const struct sim *sim)
{
    if (!sim->server->up)
        return false;
    for (uint32_t i = 0; i < sim->n_submissions; i++) {
        const struct truth_job *truth = ledger_job(sim, sim->submissions[i].job_id);

        if (truth == NULL || truth->n_live > 0)
            return false;
        if (!job_state_is_final(truth->state) && !check_may_wait(sim, truth))
            return false;
    }
    return true;
}

/* A node whose starts failed waits for people: they look now and then. */
static void end_quarantines(struct sim *sim)
{
    for (uint32_t i = 0; sim->server->up && i < sim->n_nodes; i++) {
        const struct node *node = cluster_node(sim->server->cluster, sim->nodes[i]->name);

        if (node != NULL && node->state == NODE_QUARANTINED)
            sim_node_state_at(sim, sim->now_us, i, NODE_READY);
    }
}

/* Of a job with one that hangs: nobody else is there, or the others have nothing left to do. */
static bool is_stuck(const struct sim *sim, const struct truth_job *truth)
{
    bool hangs = false;
    bool works = false;

    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct unit *unit;

        DL_FOREACH(sim->nodes[i]->units, unit)
        if (unit->job == truth && unit->life != LIFE_GONE && unit->life != LIFE_LOST &&
            program_works_on_data(unit)) {
            hangs = hangs || unit->step == STEP_HANG;
            works = works || unit->step != STEP_HANG;
        }
    }
    return hangs && (!works || truth->passes_ended == truth->passes);
}

/* One that hangs keeps its job from ending, but not the others from working: people kill it then.
 */
static void end_stuck(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_submissions; i++) {
        const struct truth_job *truth = ledger_job(sim, sim->submissions[i].job_id);

        if (truth != NULL && sim->submissions[i].hung && !truth->killed &&
            !job_state_is_final(truth->state) && is_stuck(sim, truth))
            sim_kill_at(sim, sim->now_us, i);
    }
}

static void look_after(struct sim *sim, const struct schedule *schedule)
{
    check_kills(sim, schedule->calm_us);
    end_quarantines(sim);
    end_stuck(sim);
}

static void settle(struct sim *sim, const struct schedule *schedule)
{
    for (uint64_t us = SETTLED_US; us < REST_US; us += USEC_PER_SEC) {
        sim_run_until(sim, schedule->calm_us + us);
        if (us % LOOK_US == 0) {
            if (sim->violated || is_quiet(sim))
                return;
            look_after(sim, schedule);
        }
        if (us == DRAIN_US)
            check_rest(sim);
        check_settled(sim);
        freezing_check_calm(sim);
        promises_check_calm(sim);
        if (sim->config.groups)
            check_groups(sim);
    }
}

static void run_to_end(struct sim *sim, const struct schedule *schedule)
{
    settle(sim, schedule);
    while (!sim->violated && sim->now_us < schedule->end_us && !is_quiet(sim)) {
        look_after(sim, schedule);
        sim_run_until(sim, sim->now_us + LOOK_US);
    }
    if (!sim->violated)
        check_calm(sim);
}

static void run(const struct schedule *schedule, const bool *left_out, FILE *trace,
                struct sim_result *ret)
{
    struct sim_config config = schedule->config;
    struct sim *sim;

    config.trace = trace;
    config.drift_ppm = drift_ppm(schedule->seed);
    sim = sim_new(&config);
    add_nodes(sim, schedule);
    add_entries(sim, schedule, left_out);
    add_calm(sim, schedule);
    run_to_end(sim, schedule);
    ret->failed = sim->violated;
    ret->events = sim->events;
    ret->node_us = sim->now_us * schedule->n_nodes;
    ret->hash = sim->hash;
    memcpy(ret->seen, sim->seen, sizeof ret->seen);
    ret->violated_us = sim->violated ? sim->now_us : 0;
    (void)snprintf(ret->violation, sizeof ret->violation, "%s",
                   sim->violated ? sim->violation.text : "");
    (void)sim_free(sim);
}

/* --- shorter --- */

/* The same sentence, whatever its numbers: of a job, a node, a moment. */
static bool is_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, DIGITS);
        b += strspn(b, DIGITS);
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

static bool still_fails(const struct schedule *schedule, const bool *left_out,
                        const char *violation)
{
    struct sim_result result = { 0 };

    run(schedule, left_out, NULL, &result);
    return result.failed && is_alike(result.violation, violation);
}

/* Leaves out ever smaller runs of entries as long as it still fails. */
static void shrink(const struct schedule *schedule, bool *left_out, const char *violation)
{
    size_t n = schedule->n_entries;
    _cleanup_free_ bool *attempt = xcalloc(n, sizeof *attempt);
    unsigned runs = 0;

    for (size_t width = n / 2; width > 0 && runs < SHRINK_RUNS_MAX; width /= 2)
        for (size_t at = 0; at < n && runs < SHRINK_RUNS_MAX; at += width) {
            bool any = false;

            memcpy(attempt, left_out, n * sizeof *attempt);
            for (size_t i = at; i < MIN_OF(at + width, n); i++) {
                any = any || !attempt[i];
                attempt[i] = true;
            }
            if (!any)
                continue;
            runs++;
            if (still_fails(schedule, attempt, violation))
                memcpy(left_out, attempt, n * sizeof *attempt);
        }
}

static char *describe(const struct schedule *schedule, const bool *left_out, struct sim_result *ret)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        abort();
    ret->left = xcalloc(schedule->n_entries, sizeof *ret->left);
    for (uint32_t i = 0; i < schedule->n_entries; i++) {
        char line[200];

        if (left_out[i])
            continue;
        schedule_describe(schedule, &schedule->entries[i], line, sizeof line);
        (void)fprintf(file, "%4" PRIu32 " %s\n", i + 1, line);
        ret->left[ret->schedule_left++] = i + 1;
    }
    (void)fclose(file);
    return text;
}

/* The end of the trace of the shortened history. */
static char *history(const struct schedule *schedule, const bool *left_out, struct sim_result *ret)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        abort();
    run(schedule, left_out, file, ret);
    (void)fclose(file);
    if (size > HISTORY_BYTES) {
        char *from = strchr(text + size - HISTORY_BYTES, '\n');

        if (from != NULL)
            memmove(text, from + 1, strlen(from + 1) + 1);
    }
    return text;
}

static int leave_out(const struct schedule *schedule, const struct sim_run_options *options,
                     bool *left_out, struct edl_error *error)
{
    for (size_t i = 0; options->only != NULL && i < schedule->n_entries; i++)
        left_out[i] = true;
    for (size_t i = 0; options->only != NULL && i < options->n_only; i++) {
        uint32_t number = options->only[i];

        if (number == 0 || number > schedule->n_entries)
            return edl_error_set(error, -EINVAL,
                                 "there is no entry %" PRIu32 ", the schedule has %zu", number,
                                 schedule->n_entries);
        left_out[number - 1] = false;
    }
    return 0;
}

static void run_and_shrink(const struct schedule *schedule, const struct sim_run_options *options,
                           bool *left_out, struct sim_result *ret)
{
    run(schedule, left_out, options->trace, ret);
    ret->schedule_full = (uint32_t)schedule->n_entries;
    if (ret->failed && !options->no_shrink) {
        struct sim_result shorter = { 0 };

        shrink(schedule, left_out, ret->violation);
        ret->history = history(schedule, left_out, &shorter);
        ret->shorter_us = shorter.violated_us;
        (void)snprintf(ret->shorter, sizeof ret->shorter, "%s", shorter.violation);
    }
    if (ret->failed)
        ret->schedule = describe(schedule, left_out, ret);
}

int sim_run_seed(const struct sim_run_options *options, uint64_t seed, struct sim_result *ret,
                 struct edl_error *error)
{
    struct schedule schedule;
    _cleanup_free_ bool *left_out = NULL;
    int r = schedule_make(options, seed, &schedule, error);

    if (r < 0)
        return r;
    *ret = (struct sim_result){ 0 };
    left_out = xcalloc(schedule.n_entries, sizeof *left_out);
    r = leave_out(&schedule, options, left_out, error);
    if (r == 0)
        run_and_shrink(&schedule, options, left_out, ret);
    schedule_done(&schedule);
    return r;
}

void sim_result_done(struct sim_result *result)
{
    free(result->history);
    free(result->schedule);
    free(result->left);
    *result = (struct sim_result){ 0 };
}
