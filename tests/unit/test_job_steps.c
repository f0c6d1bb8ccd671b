/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_steps.c - jobs without a queue are learnt from by the steps that their processes tell */

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/speed/pace.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000)
#define BATCH 64 /* samples of a step, of all instances together */
#define SLOTS 16

/* All instances of a job compute their part of a step, then exchange what they found. */
struct program {
    struct job *job;
    double compute_s;  /* of a whole step, on an even node */
    double exchange_s; /* that every step takes as well */
    bool silent;       /* it tells nothing */
    struct {
        uint64_t incarnation;
        double steps; /* a part of one as well */
        struct step_sums sums;
    } done[SLOTS]; /* by index */
};

struct plant {
    struct world *w;
    double slowness[WORLD_NODES]; /* by agent; 0: 1 */
};

static double slowness(const struct plant *p, size_t agent)
{
    return p->slowness[agent] > 0 ? p->slowness[agent] : 1;
}

/* How long a step of the job takes now; 0: nobody works on it. */
static double step_s(const struct plant *p, const struct program *program, uint32_t *ret_n)
{
    double slowest = 0;

    *ret_n = 0;
    for (size_t a = 0; a < p->w->n_agents; a++)
        for (size_t i = 0; i < p->w->agents[a].n; i++) {
            const struct fake_process *fake = &p->w->agents[a].items[i];

            if (fake->job_id != program->job->id || fake->state != PROCESS_RUNNING)
                continue;
            (*ret_n)++;
            slowest = fmax(slowest, slowness(p, a));
        }
    return *ret_n > 0 ? program->compute_s / *ret_n * slowest + program->exchange_s : 0;
}

/* One second of one instance of n, of which it computed such a part. */
static void work(struct program *program, struct fake_process *fake, uint32_t n, double each_s,
                 double computes)
{
    double *steps = &program->done[fake->index].steps;
    struct step_sums *sums = &program->done[fake->index].sums;
    uint64_t whole;

    *steps += 1 / each_s;
    whole = (uint64_t)*steps - sums->steps;
    step_sums_add(sums, &(struct step_sums){ .step = sums->steps + whole,
                                             .steps = whole,
                                             .samples = whole * BATCH / n,
                                             .compute_us = (uint64_t)(computes * 1e6),
                                             .wait_us = (uint64_t)((1 - computes) * 1e6) });
}

static void train(struct plant *p, struct program *program)
{
    uint32_t n;
    double each_s = step_s(p, program, &n);

    for (size_t a = 0; a < p->w->n_agents; a++)
        for (size_t i = 0; i < p->w->agents[a].n; i++) {
            struct fake_process *fake = &p->w->agents[a].items[i];

            if (fake->job_id != program->job->id || fake->state != PROCESS_RUNNING)
                continue;
            if (program->done[fake->index].incarnation != fake->incarnation) {
                memset(&program->done[fake->index], 0, sizeof program->done[0]);
                program->done[fake->index].incarnation = fake->incarnation;
            }
            work(program, fake, n, each_s, program->compute_s / n * slowness(p, a) / each_s);
            fake->steps = (struct steps_told){ .any = !program->silent,
                                               .sums = program->done[fake->index].sums };
            fake->steps_us = p->w->now.now_us;
        }
}

static void train_s(struct plant *p, struct program *programs, size_t n, unsigned seconds)
{
    for (; seconds > 0; seconds--) {
        world_second(p->w);
        for (size_t i = 0; i < n; i++)
            train(p, &programs[i]);
    }
}

static void begin(struct plant *p, size_t machines, uint64_t cores)
{
    *p = (struct plant){ 0 };
    world_policy = &policy_goodput;
    p->w = world_new(machines, cores * CORE, GIB, 1000);
    world_run(p->w, 1);
}

static void end(struct plant *p)
{
    world_free(p->w);
    world_policy = &policy_fulfilment;
}

static struct job *submit(struct plant *p, const char *name, uint32_t min, uint32_t max)
{
    struct job *job =
        world_submit(p->w, world_command(world_spec(name, min, max, CORE, 0, 0), name));

    world_run(p->w, 4);
    return job;
}

/* --- the sums --- */

static struct steps_told told(uint64_t steps, uint64_t age_us)
{
    return (struct steps_told){ .any = true,
                                .sums = { .step = steps,
                                          .steps = steps,
                                          .samples = 10 * steps,
                                          .compute_us = 3 * steps,
                                          .wait_us = steps },
                                .age_us = age_us };
}

TEST(test_a_note_is_what_was_done_in_some_seconds)
{
    struct process_steps steps;
    struct steps_told now = told(100, 200000);
    struct step_sums more;

    steps_begin(&steps, &now, 1000000);
    assert_int_equal(steps.total.samples, 1000);
    assert_int_equal(steps.at_us, 800000);
    now = told(110, 0);
    assert_int_equal(steps_take(&steps, &now, 4000000, &more), 0); /* too soon */
    assert_int_equal(more.steps, 10);
    now = told(150, 100000);
    assert_int_equal(steps_take(&steps, &now, 6100000, &more), 5200000);
    assert_int_equal(steps.last.samples, 500);
    assert_int_equal(steps.last.compute_us, 150);
    assert_int_equal(steps.total.samples, 1500);
    assert_near(steps_samples_per_s(&steps, 6100000), 500 / 5.2, 1e-9);
    /* a report without news is none; who is silent is slower and slower */
    assert_int_equal(steps_take(&steps, &now, 20000000, &more), 0);
    assert_int_equal(more.steps, 0);
    assert_near(steps_samples_per_s(&steps, 26000000), 500 / 20.0, 1e-9);
}

/* Its agent was started again and knows nothing of before, and when that was nobody knows. */
TEST(test_sums_that_fall_are_a_new_beginning)
{
    struct process_steps steps;
    struct steps_told now = told(100, 0);
    struct step_sums more;

    steps_begin(&steps, &now, 1000000);
    now = told(30, 0);
    assert_int_equal(steps_take(&steps, &now, 9000000, &more), 0);
    assert_int_equal(more.steps, 30);
    assert_int_equal(steps.total.steps, 130);
    now = told(50, 0);
    assert_int_equal(steps_take(&steps, &now, 15000000, &more), 6000000);
    assert_int_equal(steps.last.steps, 20);
    assert_int_equal(steps.total.steps, 150);
}

/* Ages and sums that cannot be: no number becomes infinite, no time is negative. */
TEST(test_no_number_does_harm)
{
    struct process_steps steps;
    struct steps_told lie = { .any = true,
                              .sums = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                        UINT64_MAX },
                              .age_us = UINT64_MAX };
    struct steps_told now = told(1, 0);
    struct step_sums more;

    steps_begin(&steps, &now, 1000000);
    assert_int_equal(steps_take(&steps, &lie, 9000000, &more), 0); /* told before the first */
    assert_true(more.samples <= STEP_SUM_MAX);
    now = told(1, 0);
    (void)steps_take(&steps, &now, 20000000, &more);
    lie.age_us = 0;
    assert_true(steps_take(&steps, &lie, 30000000, &more) > 0);
    assert_int_equal(steps.last.samples, STEPS_NOTE_SAMPLES_MAX);
    assert_int_equal(steps.total.samples, STEP_SUM_MAX);
    assert_true(isfinite(steps_samples_per_s(&steps, 30000000)));
    steps_begin(&steps, &lie, 5); /* an age beyond the beginning of time */
    assert_int_equal(steps.at_us, 5);
    assert_near(steps_samples_per_s(&steps, 5), 0, 0);
}

/* What sums can no longer show, as they have come to their end or nothing was done, the step shows:
 * it is the last one told, however many reports brought it. */
TEST(test_the_step_is_the_last_one_told)
{
    static const uint64_t sums[] = { 7, STEP_SUM_MAX };

    for (size_t i = 0; i < ELEMENTS(sums); i++) {
        struct process_steps steps;
        struct steps_told now = told(sums[i], 0);
        struct step_sums more;

        steps_begin(&steps, &now, 1000000);
        assert_int_equal(steps.total.step, sums[i]);
        now.sums.step = 3;
        assert_int_equal(steps_take(&steps, &now, 9000000, &more), 0);
        assert_int_equal(more.steps, 0);
        assert_int_equal(steps.total.step, 3);
        assert_int_equal(steps.total.steps, sums[i]);
        steps_begin(&steps, &now, 1000000); /* both in one report */
        assert_int_equal(steps.total.step, 3);
    }
}

/* --- learnt --- */

static double model_unit_s(const struct program *program, uint32_t n)
{
    return (program->compute_s / n + program->exchange_s) / BATCH;
}

TEST(test_speed_curve_is_measured_without_a_queue)
{
    struct program program = { .compute_s = 0.8, .exchange_s = 0.1 };
    const struct goodput_learned *of;
    struct plant p;

    begin(&p, 1, 4);
    program.job = submit(&p, "a", 1, 8);
    train_s(&p, &program, 1, 120);
    assert_non_null(program.job->learned);
    of = &program.job->learned->told;
    assert_int_equal(of->largest, 4);
    assert_near(goodput_learn_unit_s(of, 4) / model_unit_s(&program, 4), 1, 0.05);
    p.w->agents[0].offer.cpu_millicores = 8 * CORE;
    train_s(&p, &program, 1, 120);
    assert_int_equal(job_count_running(program.job, 0), 8);
    assert_int_equal(of->largest, 8);
    for (uint32_t n = 4; n <= 8; n++)
        assert_near(goodput_learn_unit_s(of, n) / model_unit_s(&program, n), 1, 0.08);
    end(&p);
}

/* How many the job that gains by each instance has in the end, beside one that gains by none. */
static uint32_t instances_of_steep(bool steep_first, bool silent)
{
    const struct program flat = { .compute_s = 0.1, .exchange_s = 0.9, .silent = silent };
    const struct program steep = { .compute_s = 1, .silent = silent };
    struct program programs[] = { steep_first ? steep : flat, steep_first ? flat : steep };
    uint32_t n;
    struct plant p;

    begin(&p, 1, 8);
    programs[0].job = submit(&p, "first", 1, 8);
    train_s(&p, programs, 1, 180); /* alone it is measured at more than one size */
    programs[1].job = submit(&p, "second", 1, 8);
    train_s(&p, programs, 2, 900);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(programs[i].job->learned->told.windows > 0, !silent);
    n = job_count_running(programs[steep_first ? 0 : 1].job, 0);
    end(&p);
    return n;
}

/* What nobody tells cannot be known: both have as many then. */
TEST(test_who_gains_by_more_instances_has_them)
{
    uint32_t first = instances_of_steep(true, true), second = instances_of_steep(false, true);

    print_message("silent: %u as the first, %u as the second\n", first, second);
    assert_true(first + second <= 8 + 1);
    first = instances_of_steep(true, false);
    second = instances_of_steep(false, false);
    print_message("told: %u as the first, %u as the second\n", first, second);
    assert_true(first >= 6 && second >= 6);
}

/* The queue is what is learnt from where there is one. */
TEST(test_steps_of_a_job_with_a_queue_are_only_shown)
{
    struct program program = { .compute_s = 0.5 };
    struct plant p;

    begin(&p, 1, 4);
    program.job = submit(&p, "a", 1, 4);
    assert_int_equal(cluster_set_dataset(p.w->cluster, program.job, world_queue(10, 1), "d",
                                         p.w->now, NULL),
                     0);
    train_s(&p, &program, 1, 120);
    assert_int_equal(program.job->learned->told.windows, 0);
    assert_int_equal(program.job->learned->step_notes, 0);
    assert_true(world_live(program.job, "trainer", 0)->steps->total.samples > 1000);
    assert_true(p.w->cluster->figures.step_samples > 4000);
    end(&p);
}

/* Steps of the same size by the same program, and a start: what is learnt costs a restart nothing
 * but the time to hear of it. */
TEST(test_a_restart_hears_of_it_again)
{
    struct program program = { .compute_s = 0.8, .exchange_s = 0.1 };
    struct process *process;
    uint64_t samples;
    struct plant p;

    begin(&p, 1, 4);
    program.job = submit(&p, "a", 1, 4);
    train_s(&p, &program, 1, 60);
    samples = world_live(program.job, "trainer", 1)->steps->total.samples;
    world_commit(p.w);
    world_restart(p.w);
    program.job = cluster_find_job(p.w->cluster, "a");
    assert_null(world_live(program.job, "trainer", 1)->steps);
    train_s(&p, &program, 1, 20);
    process = world_live(program.job, "trainer", 1);
    assert_true(process->steps->total.samples > samples);
    assert_int_equal(program.job->counts[0].at_work, 4);
    /* counted by the run before: these are new */
    assert_true(p.w->cluster->figures.step_samples < 4 * samples);
    end(&p);
}

/* --- slow --- */

static const struct process *on_node(const struct plant *p, const struct job *job, size_t agent)
{
    for (uint32_t i = 0; i < job->n_slots[0]; i++) {
        const struct process *process = job->slots[0][i].live;

        if (process != NULL && strcmp(process->node->name, p->w->agents[agent].name) == 0)
            return process;
    }
    return NULL;
}

TEST(test_slow_one_is_found_though_all_finish_alike)
{
    struct program program = { .compute_s = 1.2, .exchange_s = 0.1 };
    const struct process *slow;
    struct plant p;

    begin(&p, 4, 1);
    p.slowness[1] = 4;
    program.job = submit(&p, "a", 4, 4 + 1); /* it has nothing to spare: it stays */
    train_s(&p, &program, 1, 120);
    slow = on_node(&p, program.job, 1);
    assert_non_null(slow);
    assert_near(slow->speed, 0.25, 0.02);
    for (uint32_t i = 0; i < 4; i++)
        if (program.job->slots[0][i].live != slow)
            assert_true(program.job->slots[0][i].live->speed > 0.9);
    assert_true(program.job->learned->lockstep);
    /* 0.3 + 0.1 s would be a step, and 1.2 + 0.1 s it is */
    assert_near(program.job->learned->evenness, 0.4 / 1.3, 0.03);
    /* the curve is that of even nodes */
    assert_near(goodput_learn_unit_s(&program.job->learned->told, 4) / model_unit_s(&program, 4), 1,
                0.1);
    assert_true(slow->node->levels[SPEED_CPU] < 0);
    end(&p);
}

/* Were the others not to wait for it, it would be a tenth of the job, and not worth such a resize.
 */
TEST(test_slow_one_moves)
{
    struct program program = { .compute_s = 1.2, .exchange_s = 0.1 };
    struct plant p;

    begin(&p, 6, 1);
    p.slowness[1] = 2;
    program.job = submit(&p, "a", 2, 5);
    train_s(&p, &program, 1, 10);
    assert_non_null(on_node(&p, program.job, 1));
    program.job->learned->of.resize_s = 35;
    train_s(&p, &program, 1, 300);
    assert_null(on_node(&p, program.job, 1));
    assert_int_equal(job_count_running(program.job, 0), 5);
    assert_int_equal(p.w->cluster->figures.stragglers_moved, 1);
    end(&p);
}

/* --- lies --- */

/* What one job says of itself leaves the other one as it was. */
TEST(test_who_lies_misleads_nobody_else)
{
    static const struct step_sums lies[] = {
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
        { 0 },
        { 1, 1, STEP_SUM_MAX, 0, 0 },
        { 2, 2, STEP_SUM_MAX, STEP_SUM_MAX, 1 },
        { 3, STEP_SUM_MAX, 1, 1, 1 },
    };
    struct program program = { .compute_s = 0.8, .exchange_s = 0.1 };
    struct plant p;
    struct job *liar;

    begin(&p, 2, 4);
    program.job = submit(&p, "honest", 1, 4);
    liar = submit(&p, "liar", 1, 4);
    for (unsigned s = 0; s < 600; s++) {
        for (size_t a = 0; a < p.w->n_agents; a++)
            for (size_t i = 0; i < p.w->agents[a].n; i++)
                if (p.w->agents[a].items[i].job_id == liar->id)
                    p.w->agents[a].items[i].steps =
                        (struct steps_told){ true, lies[(s / 7 + i) % ELEMENTS(lies)], s };
        train_s(&p, &program, 1, 1);
    }
    assert_int_equal(job_count_running(program.job, 0), 4);
    assert_near(goodput_learn_unit_s(&program.job->learned->told, 4) / model_unit_s(&program, 4), 1,
                0.05);
    for (uint32_t n = 1; n <= 8; n++)
        assert_true(isfinite(goodput_learn_speedup(&liar->learned->of, n)) &&
                    goodput_learn_speedup(&liar->learned->of, n) <= n * 1.001);
    for (size_t a = 0; a < p.w->n_agents; a++) {
        const struct node *node = cluster_node(p.w->cluster, p.w->agents[a].name);

        assert_true(fabs(node->speeds[SPEED_CPU].log) <= log(GOODPUT_PACE_MOST) + 1e-9);
    }
    assert_true(p.w->cluster->figures.step_samples <= STEP_SUM_MAX);
    end(&p);
}
