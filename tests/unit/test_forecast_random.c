/* SPDX-License-Identifier: Apache-2.0 */
/* test_forecast_random.c - forecasts come true: in many clusters, in the middle of their work
 *
 * A random cluster is asked what a random change would do; then the change is really made and the
 * world goes on. It must do what was told: the same nodes, the same victims, the same wait, the
 * same sizes in the end. EDL_SEED (seeds.h) and EDL_ROUNDS choose the run; the seed of a round is
 * in every message. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"
#include "tests/unit/world_storm.h"

#define ROUNDS 1500
#define PATIENCE 40 /* seconds that the world is watched */

static const struct forecast_options options = { .stop_us = USEC_PER_SEC,
                                                 .start_us = USEC_PER_SEC };

static uint64_t round_seed;

/* Rounds whose forecasts were wrong. In the first three the copy chose nodes to keep for a waiting
 * gang when it tried a class that never fits, which the cluster itself did not try again. In the
 * last one the jobs of the copy grew no older, and one of them gave to another in vain. */
static const uint64_t were_wrong[] = { 2026112701257, 2026112800977, 2026120100705, 77881201142 };

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("round with seed %" PRIu64 ": ", round_seed);                              \
            fail_msg(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)

static struct job_spec *random_spec(struct world *w, unsigned number)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 4);
    char name[16];
    struct job_spec *spec;

    (void)snprintf(name, sizeof name, "job-%u", number);
    spec =
        world_spec(name, min, min + (uint32_t)world_random(w, 8), 100 * (1 + world_random(w, 15)),
                   (uint32_t)world_random(w, 3), 100 * world_random(w, 8));
    spec->priority = (int32_t)world_random(w, 3);
    spec->grace_us = (1 + world_random(w, 20)) * USEC_PER_SEC;
    return spec;
}

static void do_nothing(struct world *w)
{
    (void)w;
}

static void disturb(struct world *w)
{
    static const struct storm_event events[] = { { 1, storm_kill },       { 1, storm_node_state },
                                                 { 1, storm_foreign },    { 1, storm_scale },
                                                 { 1, storm_prioritise }, { 1, storm_exit },
                                                 { 1, do_nothing } };

    storm_happen(w, events, ELEMENTS(events));
}

/* Jobs come and the cluster is in the middle of what follows from it. */
static struct world *random_world(uint64_t seed)
{
    struct world *w = world_new(1 + seed % WORLD_NODES, 1000 + 500 * (seed / 8 % 8), GIB,
                                700 + 100 * (uint32_t)(seed / 64 % 4));
    unsigned n;

    w->seed = seed;
    for (int i = 0; i < 8; i++)
        (void)world_random(w, 2);
    n = 1 + (unsigned)world_random(w, 7);
    for (unsigned i = 0; i < n; i++) {
        (void)world_submit(w, random_spec(w, i));
        for (uint64_t s = world_random(w, 4); s > 0; s--)
            world_second(w);
        disturb(w);
        world_plan(w);
    }
    for (uint64_t s = 1 + world_random(w, 4); s > 0; s--) /* foreign load was told */
        world_second(w);
    return w;
}

/* --- what really happened --- */

struct before {
    uint64_t job_id;
    uint32_t size[JOB_ROLES_MAX];
};

struct history {
    struct before jobs[16];
    size_t n_jobs;
    const struct process *stopping[512];
    size_t n_stopping;
};

static void remember(const struct world *w, struct history *history)
{
    const struct job *job;
    const struct process *process;

    *history = (struct history){ 0 };
    DL_FOREACH2(w->cluster->active, job, active_next)
    {
        struct before *before = &history->jobs[history->n_jobs++];

        before->job_id = job->id;
        for (uint32_t r = 0; r < job->spec->n_roles; r++)
            before->size[r] = job_count(job, r, false);
        DL_FOREACH2(job->processes, process, job_next)
        if (process->stop_wanted)
            history->stopping[history->n_stopping++] = process;
    }
}

static bool was_stopping(const struct history *history, const struct process *process)
{
    for (size_t i = 0; i < history->n_stopping; i++)
        if (history->stopping[i] == process)
            return true;
    return false;
}

static bool is_settled(const struct world *w)
{
    const struct process *process;

    for (const struct node *node = w->cluster->nodes; node != NULL; node = node->hh.next)
        DL_FOREACH2(node->processes, process, node_next)
        {
            if (process->state != PROCESS_RUNNING)
                return false;
        }
    return true;
}

/* --- is it what was told? --- */

static const struct forecast_role *told(const struct forecast *forecast, const struct job *job,
                                        uint32_t role)
{
    for (size_t i = 0; i < forecast->n_roles; i++)
        if (forecast->roles[i].job_id == job->id &&
            streq(forecast->roles[i].role, job->spec->roles[role].name))
            return &forecast->roles[i];
    return NULL;
}

static bool is_told_victim(const struct forecast_role *role, const struct process *process)
{
    for (size_t i = 0; role != NULL && i < role->n_victims; i++)
        if (role->victims[i].incarnation == process->incarnation)
            return streq(role->victims[i].node, process->node_name) &&
                   role->victims[i].index == process->index;
    return false;
}

static void check_victims(const struct world *w, const struct history *history,
                          const struct forecast *forecast)
{
    const struct job *job;
    const struct process *process;
    uint32_t n = 0;

    DL_FOREACH2(w->cluster->active, job, active_next)
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (!process->stop_wanted || was_stopping(history, process))
            continue;
        n++;
        CHECK(is_told_victim(told(forecast, job, process->role), process),
              "%s %s-%u on %s had to stop and was not told", job->spec->name,
              job->spec->roles[process->role].name, process->index, process->node_name);
    }
    CHECK(n == forecast->n_victims, "%u victims were told, %u there were", forecast->n_victims, n);
}

static void check_sizes(const struct world *w, const struct history *history,
                        const struct forecast *forecast)
{
    for (const struct job *job = w->cluster->jobs; job != NULL; job = job->hh.next) {
        const struct before *before = NULL;

        for (size_t i = 0; i < history->n_jobs; i++)
            if (history->jobs[i].job_id == job->id)
                before = &history->jobs[i];
        for (uint32_t r = 0; r < job->spec->n_roles; r++) {
            const struct forecast_role *role = told(forecast, job, r);
            uint32_t size = role != NULL ? role->later : before != NULL ? before->size[r] : 0;

            CHECK(job_count(job, r, false) == size, "%s has %u of %s, told were %u",
                  job->spec->name, job_count(job, r, false), job->spec->roles[r].name, size);
        }
    }
}

/* Of a new job, when it has just started. */
static void check_placements(const struct forecast *forecast, const struct job *job)
{
    const struct process *process;
    size_t n = 0;

    DL_FOREACH2(job->processes, process, job_next)
    {
        const char *role = job->spec->roles[process->role].name;
        bool found = false;

        for (size_t i = 0; i < forecast->n_placements; i++)
            found = found || (forecast->placements[i].index == process->index &&
                              streq(forecast->placements[i].role, role) &&
                              streq(forecast->placements[i].node, process->node_name));
        CHECK(found, "%s-%u came to %s, which was not told", role, process->index,
              process->node_name);
        n++;
    }
    CHECK(n == forecast->n_placements, "%zu placements were told, %zu there were",
          forecast->n_placements, n);
}

/* --- the change, told and made --- */

enum kind { SUBMIT, CHANGE, DRAIN };

struct change {
    enum kind kind;
    struct job_spec *spec; /* SUBMIT; owned until it is made */
    struct job *job;       /* CHANGE; made by SUBMIT */
    struct job_change to;  /* CHANGE */
    struct node *node;
};

/* Other bounds, another priority, or both. */
static struct job_change random_job_change(struct world *w)
{
    struct job_change to = { .min = 1 + (uint32_t)world_random(w, 3) };
    uint64_t what = world_random(w, 3);

    to.scale = what != 0;
    to.max = to.min + (uint32_t)world_random(w, 6);
    to.prioritise = what != 1;
    to.priority = (int32_t)world_random(w, 7) - 3;
    return to;
}

static struct change random_change(struct world *w)
{
    struct change change = { .job = storm_job(w) };

    switch (world_random(w, 4)) {
    case 0:
        change.kind = DRAIN;
        change.node = cluster_node(w->cluster, w->agents[world_random(w, w->n_agents)].name);
        return change;
    case 1:
        change.kind = CHANGE;
        change.to = random_job_change(w);
        if (change.job != NULL && change.job->state != JOB_STOPPING)
            return change;
        break;
    default:
        break;
    }
    change.kind = SUBMIT;
    change.spec = random_spec(w, 100);
    return change;
}

static int ask(const struct world *w, const struct change *change, struct forecast *ret,
               struct edl_error *error)
{
    switch (change->kind) {
    case SUBMIT:
        return cluster_forecast(w->cluster, change->spec, "ann", NULL, w->now, &options, ret,
                                error);
    case CHANGE:
        return cluster_forecast_change(w->cluster, change->job, &change->to, w->now, &options, ret,
                                       error);
    case DRAIN:
        break;
    }
    return cluster_forecast_node(w->cluster, change->node, NODE_DRAINING, w->now, &options, ret,
                                 error);
}

static int make(struct world *w, struct change *change, struct edl_error *error)
{
    switch (change->kind) {
    case SUBMIT:
        return cluster_submit(w->cluster, change->spec, "ann", w->now, &change->job, error);
    case CHANGE:
        return cluster_change_job(w->cluster, change->job, &change->to, w->now, error);
    case DRAIN:
        break;
    }
    return cluster_set_node_state(w->cluster, change->node, NODE_DRAINING, w->now, error);
}

static void check_waits(struct world *w, const struct forecast *forecast, const struct job *job)
{
    for (int i = 0; i < PATIENCE; i++)
        world_second(w);
    CHECK(job->state == JOB_QUEUED, "%s started, though it was told %s", job->spec->name,
          forecast->code);
    CHECK(streq(job->reason_code, forecast->code), "told was %s, it is %s", forecast->code,
          job->reason_code);
}

/* As far as was told when; then on to where all has settled. */
static void live(struct world *w, const struct history *history, const struct forecast *forecast,
                 const struct change *change)
{
    bool waits = forecast->verdict == FORECAST_NEVER || forecast->verdict == FORECAST_UNKNOWN;
    uint64_t waited_us = 0;

    world_plan(w);
    if (waits && change->kind == SUBMIT)
        check_waits(w, forecast, change->job);
    if (waits)
        return;
    for (; waited_us < forecast->wait_least_us; waited_us += USEC_PER_SEC) {
        CHECK(change->kind != SUBMIT || change->job->state == JOB_QUEUED,
              "it waited %" PRIu64 " us, told were %" PRIu64, waited_us, forecast->wait_least_us);
        world_second(w);
    }
    if (change->kind == SUBMIT) {
        CHECK(change->job->state != JOB_QUEUED, "it waits longer than was told");
        check_placements(forecast, change->job);
    }
    CHECK(change->kind != DRAIN || change->node->processes == NULL, "the node is not empty");
    for (int i = 0; i < PATIENCE && !is_settled(w); i++)
        world_second(w);
    check_victims(w, history, forecast);
    check_sizes(w, history, forecast);
}

static enum forecast_verdict ask_and_compare(struct world *w)
{
    struct job *stopped = storm_job(w);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    enum forecast_verdict verdict;
    struct cluster *before;
    struct history history;
    struct change change;
    size_t n_effects;
    int r;

    if (stopped != NULL && world_random(w, 8) == 0)
        assert_int_equal(cluster_kill_job(w->cluster, stopped, NULL, w->now, NULL), 0);
    world_plan(w);
    change = random_change(w);
    remember(w, &history);
    before = cluster_clone(w->cluster, w->now);
    r = ask(w, &change, &forecast, &error);
    CHECK(cluster_compare(before, w->cluster, &error) == 0, "asking changed it: %s", error.text);
    (void)cluster_effects(w->cluster, &n_effects);
    CHECK(n_effects == 0 && !w->cluster->plan_wanted, "asking left %zu effects", n_effects);
    (void)cluster_free(before);
    CHECK(make(w, &change, &error) == r, "told was %d, it is not: %s", r, error.text);
    CHECK(r == 0 || change.kind == CHANGE, "refused: %s", error.text);
    if (r < 0)
        return FORECAST_NOW;
    CHECK(forecast.wait_most_us >= forecast.wait_least_us, "the bounds are the wrong way round");
    verdict = forecast.verdict;
    live(w, &history, &forecast, &change);
    forecast_done(&forecast);
    return verdict;
}

static enum forecast_verdict play_round(uint64_t seed)
{
    struct world *w;
    enum forecast_verdict verdict;

    round_seed = seed;
    w = random_world(seed);
    verdict = ask_and_compare(w);
    world_free(w);
    return verdict;
}

static void play_known_rounds(void)
{
    for (size_t i = 0; i < ELEMENTS(were_wrong); i++)
        (void)play_round(were_wrong[i]);
}

TEST(test_forecasts_come_true)
{
    uint64_t first = first_seed(STORM_SEED);
    uint64_t rounds = storm_number("EDL_ROUNDS", ROUNDS);
    unsigned n[FORECAST_NEVER + 1] = { 0 };

    play_known_rounds();
    for (uint64_t seed = first; seed - first < rounds; seed++)
        n[play_round(seed)]++;
    for (int v = 0; v <= FORECAST_NEVER; v++)
        print_message("%s: %u\n", forecast_verdict_to_string((enum forecast_verdict)v), n[v]);
    if (rounds < ROUNDS)
        return;
    assert_true(n[FORECAST_NOW] > 0 && n[FORECAST_AFTER_SHRINKING] > 0);
    assert_true(n[FORECAST_LATER] > 0 && n[FORECAST_UNKNOWN] > 0 && n[FORECAST_NEVER] > 0);
}

TEST(test_forecasts_with_goodput_come_true)
{
    world_policy = &policy_goodput;
    test_forecasts_come_true(state);
    world_policy = &policy_fulfilment;
}
