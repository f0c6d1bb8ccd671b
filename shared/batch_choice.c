/* SPDX-License-Identifier: Apache-2.0 */
/* batch_choice.c - the batch that teaches most a second */
#include "shared/batch_choice.h"

#include <math.h>

#include "shared/goodput_batch.h"
#include "shared/macro.h"

#define POWERS 8          /* of 2 between two floats of squares */
#define MEMORY 1000       /* first batches that an average holds */
#define STEPS_KEPT 64     /* that the mean of a time holds */
#define OUTLIER 4         /* a longer step counts as so many times the mean */
#define LANES 8           /* sums of a square: their order is that of the source on all machines */
#define BETTER 1.05       /* a gain below is noise of the measures */
#define SECONDS_MAX 32000 /* exact sums take less than 32,768 */

enum { TOLD_COMPUTE = BATCH_SQUARES, TOLD_RANKS, TOLD_STEPS, TOLD_STEP_S };

/* ---- what is told ---- */

double batch_square(const float *values, size_t n)
{
    double sums[LANES] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += (double)values[i + (size_t)k] * (double)values[i + (size_t)k];
    for (; i < n; i++)
        sums[0] += (double)values[i] * (double)values[i];
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

/* unit_of - what 1 in that float of squares stands for */
static double unit_of(int place)
{
    return ldexp(1, (place - BATCH_SQUARES / 2) * POWERS);
}

void batch_tell(float *told, double square, double compute_s)
{
    int power, place;

    told[TOLD_COMPUTE] += (float)fmin(compute_s, SECONDS_MAX);
    if (!(square > 0) || !isfinite(square))
        return;
    (void)frexp(square, &power);
    place = (int)floor((power - 1) / (double)POWERS) + BATCH_SQUARES / 2;
    place = MAX_OF(0, MIN_OF(place, BATCH_SQUARES - 1));
    told[place] += (float)fmin(square / unit_of(place), SECONDS_MAX);
}

void batch_tell_step(float *told, uint32_t ranks, double step_s)
{
    told[TOLD_RANKS] += (float)ranks;
    told[TOLD_STEPS] += 1;
    told[TOLD_STEP_S] += (float)fmin(step_s, SECONDS_MAX);
}

/* ---- what is measured ---- */

static void add_noise(struct batch_measures *m, const struct batch_rules *rules, const float *told,
                      uint32_t micro_batches, double square)
{
    const double v = micro_batches, b = rules->micro_batch;
    const double share = fmin(v * b / rules->start / MEMORY, 1);
    double mean = 0, of_mean = square / (v * b * v * b);

    for (int place = 0; place < BATCH_SQUARES; place++)
        mean += (double)told[place] * unit_of(place) / (v * b * b);
    m->square += share * ((v * of_mean - mean) / (v - 1) - m->square);
    m->variance += share * ((mean - of_mean) * v / (v - 1) - m->variance);
    m->weight += share * (1 - m->weight);
}

/* point_of - of that size: the one that there is, or a new one in place of the oldest */
static struct batch_point *point_of(struct batch_measures *m, uint32_t ranks, uint32_t v)
{
    struct batch_point *oldest = &m->points[0];

    for (int i = 0; i < BATCH_POINTS; i++) {
        struct batch_point *p = &m->points[i];

        if (p->weight > 0 && p->ranks == ranks && p->micro_batches == v)
            return p;
        if (oldest->weight > 0 && (!(p->weight > 0) || p->step < oldest->step))
            oldest = p;
    }
    *oldest = (struct batch_point){ .ranks = ranks, .micro_batches = v };
    return oldest;
}

static double towards(double mean, double x, double weight)
{
    return weight > 1 ? mean + (fmin(x, OUTLIER * mean) - mean) / weight : x;
}

static void add_times(struct batch_measures *m, const float *told, uint32_t v, uint64_t step)
{
    const double n = (double)told[TOLD_STEPS], compute_s = (double)told[TOLD_COMPUTE] / v;
    struct batch_point *p;

    if (!(n >= 1) || !(compute_s > 0) || !(told[TOLD_STEP_S] > 0) || !(told[TOLD_RANKS] >= 1))
        return;
    p = point_of(m, (uint32_t)((double)told[TOLD_RANKS] / n + 0.5), v);
    p->step = step;
    p->weight = fmin(p->weight + 1, STEPS_KEPT);
    p->compute_s = towards(p->compute_s, compute_s, p->weight);
    p->step_s = towards(p->step_s, (double)told[TOLD_STEP_S] / n, p->weight);
}

void batch_measure(struct batch_measures *m, const struct batch_rules *rules, const float *told,
                   uint32_t micro_batches, double square, uint64_t step)
{
    if (micro_batches > 1 && isfinite(square))
        add_noise(m, rules, told, micro_batches, square);
    add_times(m, told, micro_batches, step);
}

/* ---- what is best ---- */

/* gradient_of - as of the first batch; false: not known yet */
static bool gradient_of(const struct batch_measures *m, const struct batch_rules *rules,
                        struct goodput_gradient *ret)
{
    if (!(m->weight > 0))
        return false;
    ret->square = fmax(m->square / m->weight, 0);
    ret->variance = fmax(m->variance / m->weight, 0) * rules->micro_batch / rules->start;
    return true;
}

double batch_noise(const struct batch_measures *m, const struct batch_rules *rules)
{
    struct goodput_gradient gradient;

    if (!gradient_of(m, rules, &gradient))
        return -1;
    return gradient.square > 0 ? gradient.variance / gradient.square * rules->start : INFINITY;
}

double batch_worth(const struct batch_measures *m, const struct batch_rules *rules,
                   uint32_t micro_batches)
{
    struct goodput_gradient gradient;

    return gradient_of(m, rules, &gradient)
               ? goodput_efficiency(&gradient, rules->start,
                                    (double)micro_batches * rules->micro_batch)
               : 1;
}

static uint32_t busiest(uint32_t ranks, uint32_t micro_batches)
{
    return micro_batches / ranks + (micro_batches % ranks > 0);
}

/* fit - micro-batches are local batches of one size, which a rank accumulates */
static bool fit(const struct batch_measures *m, const struct batch_rules *rules,
                struct goodput_perf *ret)
{
    struct goodput_perf_point points[BATCH_POINTS];
    int n = 0;

    for (int i = 0; i < BATCH_POINTS; i++) {
        const struct batch_point *p = &m->points[i];
        double further_s;

        if (!(p->weight > 0) || p->ranks == 0 || p->micro_batches == 0)
            continue;
        further_s = (busiest(p->ranks, p->micro_batches) - 1.0) * p->compute_s;
        points[n++] =
            (struct goodput_perf_point){ .nodes = 1,
                                         .replicas = p->ranks,
                                         .local_batch = rules->micro_batch,
                                         .accumulate_s = p->compute_s,
                                         .step_s = fmax(p->step_s - further_s, p->compute_s) };
    }
    return n > 0 && goodput_perf_fit(points, n, ret) >= 0;
}

static double goodput_of(const struct goodput_perf *perf, const struct goodput_gradient *gradient,
                         const struct batch_rules *rules, uint32_t ranks, uint32_t v)
{
    const double batch = (double)v * rules->micro_batch, further = busiest(ranks, v) - 1.0;
    const double accumulate_s = goodput_perf_accumulate_s(perf, rules->micro_batch);
    const double step_s =
        goodput_perf_step_s(perf, accumulate_s, goodput_perf_exchange_s(perf, 1, ranks));

    return batch / (further * accumulate_s + step_s) *
           goodput_efficiency(gradient, rules->start, batch);
}

uint32_t batch_choice(const struct batch_measures *m, const struct batch_rules *rules,
                      uint32_t ranks, uint32_t present)
{
    struct goodput_gradient gradient;
    struct goodput_perf perf;
    uint32_t best = present;
    double most, now;

    if (ranks == 0 || present == 0 || !gradient_of(m, rules, &gradient) || !fit(m, rules, &perf))
        return present;
    most = now = goodput_of(&perf, &gradient, rules, ranks, present);
    for (uint64_t batch = rules->start; batch <= rules->most; batch *= 2) {
        const uint32_t v = batch_plan(rules, ranks, (uint32_t)batch).micro_batches;
        const double goodput = goodput_of(&perf, &gradient, rules, ranks, v);

        if (goodput > most) {
            most = goodput;
            best = v;
        }
    }
    return most > BETTER * now ? best : present;
}
