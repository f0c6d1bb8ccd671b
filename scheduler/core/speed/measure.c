/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - speed curves from finished tasks */
#include "scheduler/core/speed/measure.h"

#include <math.h>
#include <string.h>

#include "scheduler/core/speed/fit_pserver.h"
#include "scheduler/core/speed/length.h"
#include "shared/macro.h"

#define TASKS_PER_INSTANCE 1
#define TASKS_MIN 2
/* Each cost that does not shrink with the instances is made dearer by this part of itself: a time
 * that several terms explain alike, as where one size was measured twice, is then taken to
 * scale. */
#define OPTIMISM 0.01
/* One size after the other up to here, then each by as much more that the last is the largest. */
#define DENSE_SIZES 8
/* Points that are kept for the largest size, and for the one that is held and its neighbours. */
#define KEPT_SIZES 4

void goodput_learn_init(struct goodput_learned *learned)
{
    *learned =
        (struct goodput_learned){ .uneven_s = -1, .change_s = -1, .resize_s = GOODPUT_RESIZE_S };
    /* one unit a step, one server that stays: t0 M/w is then t0/k */
    goodput_pserver_init(&learned->fit, 1, false);
    learned->own = learned->fit;
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

/* Tasks that went back to the queue, or a dataset that was changed, are no progress to measure
 * by. */
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

/* ret_theta: without anything measured, that of a job that is as fast as it has instances */
static void theta_of(const struct goodput_learned *learned, double ret_theta[GOODPUT_THETAS])
{
    struct goodput_pserver_fit fit = learned->fit;
    double sum = 0;

    for (int i = 1; i < GOODPUT_THETAS; i++)
        fit.gram[i][i] *= 1 + OPTIMISM;
    goodput_pserver_solve(&fit, ret_theta);
    for (int i = 0; i < GOODPUT_THETAS; i++)
        sum += ret_theta[i];
    if (learned->fit.reports == 0 || sum <= 0) /* nothing takes no time */
        ret_theta[0] = 1;
}

/* units in a second, by the knowledge of it */
static double speed_of(const struct goodput_learned *learned, const double theta[GOODPUT_THETAS],
                       uint32_t instances)
{
    double largest = MAX_OF(learned->largest, 1U);
    double speed = goodput_pserver_speed(theta, 1, false, instances, 1);

    return instances > largest ? speed * pow(instances / largest, -GOODPUT_UNTRIED) : speed;
}

/* The first measurement of its own: from now on the unit of its family's figures is its own.
 */
static void take_over(struct goodput_learned *learned, const struct goodput_pserver_report *report)
{
    double theta[GOODPUT_THETAS];

    if (!learned->borrowed || !(report->step_s > 0))
        return;
    theta_of(learned, theta);
    goodput_pserver_scale(&learned->fit, report->step_s * speed_of(learned, theta, report->workers),
                          1);
    learned->borrowed = false;
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
    if (progress->evenness > 0) /* the curve is that of instances like most */
        report.step_s *= progress->evenness;
    take_over(learned, &report);
    if (goodput_pserver_add(&learned->fit, &report) < 0)
        return false; /* no time has passed: nothing can be told */
    (void)goodput_pserver_add(&learned->own, &report);
    learned->windows++;
    learned->measured_s = report.step_s;
    learned->measured = report.workers;
    learned->largest = MAX_OF(learned->largest, progress->instances);
    return true;
}

/* --- the cost of a change of size
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
    return elapsed_s * fmax(1 - speed_of(learned, theta, size->working) /
                                    speed_of(learned, theta, size->wanted),
                            0);
}

static void end_change(struct goodput_learned *learned)
{
    double cost_s = fmin(learned->lost_s / MAX_OF(learned->steps, 1), GOODPUT_RESIZE_MAX_S);

    learned->resize_s += 0.5 * (cost_s - learned->resize_s);
    learned->change_s = -1;
}

/* The size until now, and the size from now on */
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
        learned->was = before->wanted;
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

/* Paces of instances at about one size can be compared. */
static void count_size(struct goodput_learned *learned, uint32_t wanted)
{
    uint32_t least = MIN_OF(wanted, learned->size_of);
    uint32_t most = MAX_OF(wanted, learned->size_of);

    if (4 * (uint64_t)most <= 5 * (uint64_t)least)
        return;
    learned->sizes++;
    learned->size_of = wanted;
}

void goodput_learn_size(struct goodput_learned *learned, const struct goodput_size *size)
{
    struct goodput_size before = learned->size;

    learned->size = *size;
    if (size->now_s > before.now_s)
        learned->work_s +=
            (size->now_s - before.now_s) * goodput_learn_speedup(learned, before.working);
    if (size->wanted != before.wanted)
        learned->instances = 0;
    count_size(learned, size->wanted);
    if (size->working == size->wanted)
        learned->uneven_s = -1;
    else if (learned->uneven_s < 0 || size->wanted != before.wanted)
        learned->uneven_s = size->now_s;
    follow_change(learned, &before, size);
}

void goodput_learn_stood_still(struct goodput_learned *learned, double instance_s)
{
    uint32_t working = learned->size.working;

    if (working > 0)
        learned->work_s =
            fmax(learned->work_s - instance_s * goodput_learn_speedup(learned, working) / working,
                 0);
}

void goodput_learn_lost(struct goodput_learned *learned, double instance_s)
{
    double each; /* of them was so fast, beside one alone */

    if (learned->change_s < 0 || learned->size.wanted == 0 || learned->was == 0)
        return;
    each = goodput_learn_speedup(learned, learned->was) / learned->was;
    learned->lost_s += fmin(instance_s, GOODPUT_RESIZE_MAX_S) * each /
                       goodput_learn_speedup(learned, learned->size.wanted);
}

/* --- the knowledge of it
 * ----------------------------------------------------------------------------- */

double goodput_learn_unit_s(const struct goodput_learned *learned, uint32_t instances)
{
    double theta[GOODPUT_THETAS];

    if (learned->fit.reports == 0 || instances == 0)
        return 0;
    theta_of(learned, theta);
    return 1 / speed_of(learned, theta, instances);
}

double goodput_learn_speedup(const struct goodput_learned *learned, uint32_t instances)
{
    double theta[GOODPUT_THETAS];

    if (instances == 0)
        return 0;
    theta_of(learned, theta);
    return speed_of(learned, theta, instances) / speed_of(learned, theta, 1);
}

/* --- curves
 * ------------------------------------------------------------------------------------------- */

struct sizes {
    uint32_t of[GOODPUT_POINTS_MAX]; /* ascending */
    int n;
};

static void put_size(struct sizes *sizes, uint32_t size)
{
    int at = sizes->n;

    while (at > 0 && sizes->of[at - 1] > size)
        at--;
    if (at > 0 && sizes->of[at - 1] == size)
        return;
    memmove(&sizes->of[at + 1], &sizes->of[at], (size_t)(sizes->n - at) * sizeof sizes->of[0]);
    sizes->of[at] = size;
    sizes->n++;
}

/* So many from min on, the next one of which would be the largest or beyond. */
static void put_series(struct sizes *sizes, uint32_t min, uint32_t most, int n)
{
    uint32_t first = MAX_OF(min, DENSE_SIZES);
    int steps = n - (int)(first - min);
    double ratio = pow((double)most / first, 1.0 / steps);

    for (uint32_t k = min; k < most && sizes->n < n;
         k = k < first ? k + 1 : MAX_OF(k + 1, (uint32_t)ceil(k * ratio)))
        sizes->of[sizes->n++] = k;
}

static void sizes_of(const struct goodput_span *span, uint32_t most, struct sizes *ret)
{
    uint32_t held = span->current;

    ret->n = 0;
    if (most - span->min < GOODPUT_POINTS_MAX) {
        for (uint32_t k = span->min; k <= most; k++)
            ret->of[ret->n++] = k;
        return;
    }
    put_series(ret, span->min, most, GOODPUT_POINTS_MAX - KEPT_SIZES);
    put_size(ret, most);
    for (uint32_t k = MAX_OF(held, span->min + 1) - 1; held > 0 && k <= held + 1 && k <= most; k++)
        put_size(ret, k);
}

void goodput_learn_curve(const struct goodput_learned *learned, const struct goodput_span *span,
                         struct goodput_curve *ret_curve)
{
    uint64_t seen = MAX_OF(learned->silent ? span->current : learned->largest, span->min);
    uint64_t reach = MAX_OF(GOODPUT_GROWTH_MAX * seen, (uint64_t)span->current);
    struct sizes sizes;
    double theta[GOODPUT_THETAS];
    double of_one;

    theta_of(learned, theta);
    of_one = speed_of(learned, theta, 1);
    sizes_of(span, (uint32_t)MIN_OF(reach, span->max), &sizes);
    for (int i = 0; i < sizes.n; i++) {
        double speed = speed_of(learned, theta, sizes.of[i]) / of_one;

        if (learned->silent)
            speed *= pow(sizes.of[i], -GOODPUT_SILENT);
        ret_curve->points[i] = (struct goodput_point){
            .instances = sizes.of[i], .cost = sizes.of[i] * span->cost_per_instance, .speed = speed
        };
    }
    ret_curve->n = sizes.n;
}

struct goodput_work goodput_learn_work(const struct goodput_learned *learned, double units_done,
                                       double units_left)
{
    double unit_s = goodput_learn_unit_s(learned, 1);
    bool counted = units_left >= 0 && units_done > 0 && unit_s > 0;

    if (unit_s <= 0 && units_left >= 0 && units_done > 0) /* at least how long it took so far */
        unit_s = learned->work_s / units_done;

    return (struct goodput_work){
        .remaining_s = units_left >= 0 && unit_s > 0 ? units_left * unit_s : -1,
        .attained_s = counted ? units_done * unit_s : learned->work_s,
        .family_median_s = learned->family_s,
        .hint_s = learned->hint_s,
    };
}

void goodput_learn_rank(struct goodput_learned *learned, const struct goodput_span *span,
                        double remaining_s, bool guessed)
{
    const struct goodput_span whole = { span->min, span->max, span->max, 1 };
    const double step = guessed ? GOODPUT_RANK_STEP_GUESSED : GOODPUT_RANK_STEP;
    struct goodput_curve curve;
    double length;

    goodput_learn_curve(learned, &whole, &curve);
    length = goodput_length(&curve, remaining_s, 1);
    if (!(learned->length > 0) || length > learned->length * step ||
        length < learned->length / step)
        learned->length = length;
}

static double left_of(const struct goodput_work *work, double lasts_s)
{
    if (work->remaining_s >= 0)
        return work->remaining_s;
    return lasts_s > work->attained_s ? lasts_s - work->attained_s : -1;
}

double goodput_learn_remaining(const struct goodput_learned *learned,
                               const struct goodput_work *work)
{
    return left_of(work, learned->lasts_s);
}

double goodput_learn_longest(const struct goodput_learned *learned, const struct goodput_work *work)
{
    return left_of(work, learned->longest_s);
}
