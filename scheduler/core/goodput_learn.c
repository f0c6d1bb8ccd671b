/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_learn.c - speed curves from finished tasks */
#include "scheduler/core/goodput_learn.h"

#include <math.h>

#include "shared/macro.h"

#define TASKS_PER_INSTANCE 2
#define TASKS_MIN 4
/* One size after the other up to here, then by a sixth more, so that thousands fit on a curve. */
#define DENSE_SIZES 8
#define SPARSE_STEP 6

void goodput_learn_init(struct goodput_learned *learned)
{
    *learned =
        (struct goodput_learned){ .uneven_s = -1, .change_s = -1, .resize_s = GOODPUT_RESIZE_S };
    /* one unit a step, one server that stays: t0 M/w is then t0/k */
    goodput_pserver_init(&learned->fit, 1, false);
}

static void begin_window(struct goodput_learned *learned, const struct goodput_progress *progress)
{
    learned->from_s = progress->now_s;
    learned->from_tasks = progress->tasks;
    learned->from_units = progress->units;
}

static double median_of_three(const double *x)
{
    return fmax(fmin(x[0], x[1]), fmin(fmax(x[0], x[1]), x[2]));
}

/* What went back to the queue, or a dataset that was changed, is no progress to measure by. */
static bool is_broken(const struct goodput_learned *learned,
                      const struct goodput_progress *progress)
{
    return progress->instances != learned->instances || progress->now_s < learned->from_s ||
           progress->tasks < learned->from_tasks || progress->units < learned->from_units;
}

/* Not all that are wanted work, but they are expected to. */
static bool is_uneven(const struct goodput_learned *learned, double now_s)
{
    return learned->uneven_s >= 0 && now_s - learned->uneven_s <= GOODPUT_RESIZE_MAX_S;
}

bool goodput_learn_note(struct goodput_learned *learned, const struct goodput_progress *progress)
{
    struct goodput_pserver_report report = { .workers = progress->instances, .pservers = 1 };
    uint64_t wanted = MAX_OF(TASKS_PER_INSTANCE * (uint64_t)progress->instances, TASKS_MIN);
    uint64_t tasks;

    if (progress->instances == 0 || is_broken(learned, progress) ||
        is_uneven(learned, progress->now_s)) {
        learned->instances = is_uneven(learned, progress->now_s) ? 0 : progress->instances;
        learned->warm = false;
        learned->n_recent = 0;
        begin_window(learned, progress);
        return false;
    }
    tasks = progress->tasks - learned->from_tasks;
    if (!learned->warm) { /* until each has had the time for one task of its own */
        learned->warm = tasks >= progress->instances;
        if (learned->warm)
            begin_window(learned, progress);
        return false;
    }
    if (tasks < wanted || progress->units <= learned->from_units)
        return false;
    learned->recent_s[learned->n_recent++] =
        (progress->now_s - learned->from_s) / (progress->units - learned->from_units);
    begin_window(learned, progress);
    if (learned->n_recent < ELEMENTS(learned->recent_s))
        return false;
    learned->n_recent = 0;
    report.step_s = median_of_three(learned->recent_s);
    if (goodput_pserver_add(&learned->fit, &report) < 0)
        return false; /* no time has passed: nothing can be told */
    learned->windows++;
    learned->largest = MAX_OF(learned->largest, progress->instances);
    return true;
}

/* ret_theta: without anything measured, that of a job that is as fast as it has instances */
static void theta_of(const struct goodput_learned *learned, double ret_theta[GOODPUT_THETAS])
{
    goodput_pserver_solve(&learned->fit, ret_theta);
    if (learned->windows == 0)
        ret_theta[0] = 1;
}

/* --- what a change of size costs
 * --------------------------------------------------------------------- */

static bool is_settled(const struct goodput_size *size)
{
    return size->wanted > 0 && size->working == size->wanted && !size->stopping && !size->disturbed;
}

/* Of so many seconds, by as much as those that work are slower than those that are wanted will be
 */
static double lost_of(const struct goodput_learned *learned, const struct goodput_size *size,
                      double elapsed_s)
{
    double theta[GOODPUT_THETAS];

    if (elapsed_s <= 0 || size->working >= size->wanted)
        return 0;
    theta_of(learned, theta);
    return elapsed_s * fmax(1 - goodput_pserver_speed(theta, 1, false, size->working, 1) /
                                    goodput_pserver_speed(theta, 1, false, size->wanted, 1),
                            0);
}

static void end_change(struct goodput_learned *learned)
{
    double cost_s = fmin(learned->lost_s / MAX_OF(learned->steps, 1), GOODPUT_RESIZE_MAX_S);

    learned->resize_s += 0.5 * (cost_s - learned->resize_s);
    learned->change_s = -1;
}

/* What the size was until now, and what it is from now on */
static void follow_change(struct goodput_learned *learned, const struct goodput_size *before,
                          const struct goodput_size *size)
{
    bool moved = size->wanted != before->wanted;

    if (learned->change_s >= 0) {
        learned->lost_s += lost_of(learned, before, size->now_s - before->now_s);
    } else if (moved && is_settled(before)) {
        learned->change_s = learned->moved_s = size->now_s;
        learned->steps = 0;
        learned->lost_s = 0;
    }
    if (learned->change_s < 0)
        return;
    if (moved && (learned->steps == 0 || size->now_s > learned->moved_s)) {
        learned->steps++;
        learned->moved_s = size->now_s;
    }
    if (size->disturbed || size->now_s - learned->change_s > GOODPUT_RESIZE_MAX_S)
        learned->change_s = -1;
    else if (is_settled(size))
        end_change(learned);
}

void goodput_learn_size(struct goodput_learned *learned, const struct goodput_size *size)
{
    struct goodput_size before = learned->size;

    learned->size = *size;
    if (size->wanted != before.wanted)
        learned->instances = 0;
    if (size->working == size->wanted)
        learned->uneven_s = -1;
    else if (learned->uneven_s < 0 || size->wanted != before.wanted)
        learned->uneven_s = size->now_s;
    follow_change(learned, &before, size);
}

void goodput_learn_lost(struct goodput_learned *learned, double instance_s)
{
    if (learned->change_s >= 0 && learned->size.wanted > 0)
        learned->lost_s += fmin(instance_s, GOODPUT_RESIZE_MAX_S) / learned->size.wanted;
}

/* --- what is known of it
 * ----------------------------------------------------------------------------- */

double goodput_learn_unit_s(const struct goodput_learned *learned, uint32_t instances)
{
    double theta[GOODPUT_THETAS];

    if (learned->windows == 0 || instances == 0)
        return 0;
    theta_of(learned, theta);
    return 1 / goodput_pserver_speed(theta, 1, false, instances, 1);
}

static void add_size(struct goodput_curve *curve, const double *theta,
                     const struct goodput_span *span, uint32_t instances)
{
    double speed = goodput_pserver_speed(theta, 1, false, instances, 1) /
                   goodput_pserver_speed(theta, 1, false, 1, 1);

    curve->points[curve->n++] =
        (struct goodput_point){ instances, instances * span->cost_per_instance, speed };
}

static uint32_t step_after(uint32_t instances)
{
    return instances < DENSE_SIZES ? 1 : MAX_OF(instances / SPARSE_STEP, 1);
}

void goodput_learn_curve(const struct goodput_learned *learned, const struct goodput_span *span,
                         struct goodput_curve *ret_curve)
{
    uint64_t reach = GOODPUT_GROWTH_MAX * (uint64_t)MAX_OF(span->current, span->min);
    uint32_t most = (uint32_t)MIN_OF(reach, span->max);
    uint32_t held = span->current >= span->min && span->current <= most ? span->current : most;
    double theta[GOODPUT_THETAS];

    theta_of(learned, theta);
    ret_curve->n = 0;
    /* two places are kept: for what is held, and for the largest */
    for (uint32_t k = span->min; k <= most && ret_curve->n < GOODPUT_POINTS_MAX - 2;
         k += step_after(k)) {
        if (ret_curve->n > 0 && held < k && held > ret_curve->points[ret_curve->n - 1].instances)
            add_size(ret_curve, theta, span, held);
        if (k < most)
            add_size(ret_curve, theta, span, k);
    }
    if (ret_curve->n == 0 || (held < most && held > ret_curve->points[ret_curve->n - 1].instances))
        add_size(ret_curve, theta, span, ret_curve->n == 0 ? MIN_OF(held, most) : held);
    if (ret_curve->points[ret_curve->n - 1].instances < most)
        add_size(ret_curve, theta, span, most);
}

struct goodput_work goodput_learn_work(const struct goodput_learned *learned, double units_done,
                                       double units_left)
{
    double unit_s = goodput_learn_unit_s(learned, 1);

    return (struct goodput_work){
        .remaining_s = units_left >= 0 && unit_s > 0 ? units_left * unit_s : -1,
        .attained_s = units_done * unit_s,
    };
}
