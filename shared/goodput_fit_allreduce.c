/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_fit_allreduce.c - the seven parameters of a step with all-reduce
 *
 * Searched for in logarithms (but for gamma): the error is one of logarithms. Its derivatives are
 * then shares of the time, between 0 and 1 in any units, and the bounds are far away. */
#include "shared/goodput_fit_allreduce.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "shared/goodput_minimise.h"
#include "shared/macro.h"

#define TINY 1e-8 /* the least parameter: nothing, but with a logarithm */
#define GAMMA_MAX 10
#define ROUNDED 1e-4
#define STEPS_MAX 120
#define ENOUGH 1e-5
#define REACH 1.5 /* a factor of 4.5 */
#define MULTI_NODE_PRIOR 1.1

#define PARAMS GOODPUT_PERF_PARAMS
#define LOGS GOODPUT_PERF_GAMMA /* as many parameters are searched for as logarithms */

struct sample {
    double local_batch, log_accumulate, log_step;
    double beyond_two; /* replicas beyond the second one */
    int link;          /* GOODPUT_PERF_AN, _AR, or -1: no exchange */
};

struct fit {
    struct sample samples[GOODPUT_PERF_POINTS_MAX];
    int n;
};

struct residuals {
    double squares[2];          /* sums: of T_acc, of T_step */
    double gradient[2][PARAMS]; /* of half of them, by the logarithms; gamma by itself */
};

static int link_of(uint32_t nodes, uint32_t replicas)
{
    return nodes > 1 ? GOODPUT_PERF_AN : replicas > 1 ? GOODPUT_PERF_AR : -1;
}

static struct sample sample_of(const struct goodput_perf_point *point)
{
    return (struct sample){ .local_batch = point->local_batch,
                            .log_accumulate = log(point->accumulate_s),
                            .log_step = log(point->step_s),
                            .beyond_two = fmax((double)point->replicas - 2, TINY),
                            .link = link_of(point->nodes, point->replicas) };
}

/* --- the model, and how its logarithms change with those of the parameters ----------------------
 */

static double exchange(const double *params, int link, double beyond_two)
{
    return link < 0 ? TINY : params[link] + params[link + 1] * beyond_two;
}

/* log of (A^g + N^g)^(1/g); ret_part: the share of A^g */
static double log_sum(double log_a, double log_n, double gamma, double *ret_part)
{
    double most = fmax(log_a, log_n);
    double rest = exp(-gamma * fabs(log_a - log_n)); /* of the smaller one, by the larger */

    *ret_part = log_a >= log_n ? 1 / (1 + rest) : rest / (1 + rest);
    return most + log1p(rest) / gamma;
}

static void add_sample(const struct sample *sample, const double *params, struct residuals *sums)
{
    double gamma = params[GOODPUT_PERF_GAMMA];
    double a = params[GOODPUT_PERF_AC] + params[GOODPUT_PERF_BC] * sample->local_batch;
    double n = exchange(params, sample->link, sample->beyond_two);
    double log_a = log(a), log_n = log(n);
    double of_a;
    double log_step = log_sum(log_a, log_n, gamma, &of_a);
    double ra = log_a - sample->log_accumulate, rs = log_step - sample->log_step;
    double constant = params[GOODPUT_PERF_AC] / a;

    sums->squares[0] += ra * ra;
    sums->squares[1] += rs * rs;
    sums->gradient[0][GOODPUT_PERF_AC] += ra * constant;
    sums->gradient[0][GOODPUT_PERF_BC] += ra * (1 - constant);
    sums->gradient[1][GOODPUT_PERF_AC] += rs * of_a * constant;
    sums->gradient[1][GOODPUT_PERF_BC] += rs * of_a * (1 - constant);
    if (sample->link >= 0) {
        double first = params[sample->link] / n;

        sums->gradient[1][sample->link] += rs * (1 - of_a) * first;
        sums->gradient[1][sample->link + 1] += rs * (1 - of_a) * (1 - first);
    }
    sums->gradient[1][GOODPUT_PERF_GAMMA] +=
        rs * (of_a * log_a + (1 - of_a) * log_n - log_step) / gamma;
}

/* 1e-2 (b/a)^2, and what it adds to the gradient by logarithms */
static double penalty(const double *params, int link, double *gradient)
{
    double ratio = params[link + 1] / params[link];

    gradient[link + 1] += 2e-2 * ratio * ratio;
    gradient[link] -= 2e-2 * ratio * ratio;
    return 1e-2 * ratio * ratio;
}

/* By the logarithms of the parameters; gamma by itself. */
static double objective(const struct fit *fit, const double *params, double *gradient)
{
    struct residuals sums = { 0 };
    double overlap = params[GOODPUT_PERF_GAMMA] - 1;
    double value = 1e-3 * overlap * overlap;

    for (int i = 0; i < fit->n; i++)
        add_sample(&fit->samples[i], params, &sums);
    for (int i = 0; i < PARAMS; i++)
        gradient[i] = i == GOODPUT_PERF_GAMMA ? 2e-3 * overlap : 0;
    for (int e = 0; e < 2; e++) {
        double root = sqrt(sums.squares[e] / fit->n + ROUNDED * ROUNDED);

        value += root;
        for (int i = 0; i < PARAMS; i++)
            gradient[i] += sums.gradient[e][i] / (fit->n * root);
    }
    value += penalty(params, GOODPUT_PERF_AN, gradient);
    value += penalty(params, GOODPUT_PERF_AR, gradient);
    return value;
}

static double objective_of_logs(const void *userdata, const double *x, double *ret_gradient)
{
    double params[PARAMS];

    for (int i = 0; i < PARAMS; i++)
        params[i] = i < LOGS ? exp(x[i]) : x[i];
    return objective(userdata, params, ret_gradient);
}

double goodput_perf_objective(const struct goodput_perf *perf,
                              const struct goodput_perf_point *points, int n,
                              double ret_gradient[GOODPUT_PERF_PARAMS])
{
    struct fit fit = { .n = n };
    double gradient[PARAMS];
    double value;

    for (int i = 0; i < n; i++)
        fit.samples[i] = sample_of(&points[i]);
    value = objective(&fit, perf->of, gradient);
    for (int i = 0; ret_gradient != NULL && i < PARAMS; i++)
        ret_gradient[i] = i < LOGS ? gradient[i] / perf->of[i] : gradient[i];
    return value;
}

/* --- the fit -------------------------------------------------------------------------------------
 */

static bool is_in_range(const struct goodput_perf_point *point)
{
    return point->nodes >= 1 && point->replicas >= point->nodes && point->local_batch > 0 &&
           point->accumulate_s > 0 && point->step_s > 0 && isfinite(point->local_batch) &&
           isfinite(point->accumulate_s) && isfinite(point->step_s);
}

struct seen {
    bool batches, one_node, several_nodes, three;
    double accumulate_s, local_batch, exchange_s; /* means; the last one of what has an exchange */
};

static struct seen look(const struct goodput_perf_point *points, int n)
{
    struct seen seen = { 0 };
    int exchanges = 0;

    for (int i = 0; i < n; i++) {
        const struct goodput_perf_point *point = &points[i];

        seen.batches |= point->local_batch != points[0].local_batch;
        seen.several_nodes |= point->nodes > 1;
        seen.one_node |= point->nodes == 1 && point->replicas > 1;
        seen.three |= point->replicas > 2;
        seen.accumulate_s += point->accumulate_s / n;
        seen.local_batch += point->local_batch / n;
        if (point->replicas > 1) {
            seen.exchange_s += fmax(point->step_s - point->accumulate_s, 0.05 * point->step_s);
            exchanges++;
        }
    }
    if (exchanges > 0)
        seen.exchange_s /= exchanges;
    return seen;
}

static void pin(struct goodput_problem *problem, double *x, int param, double value)
{
    problem->lower[param] = problem->upper[param] = x[param] = log(value);
}

static void pin_unseen(struct goodput_problem *problem, const struct seen *seen, double *x)
{
    const struct {
        bool unseen;
        int param;
        double value;
    } pins[] = {
        { !seen->batches, GOODPUT_PERF_AC, seen->accumulate_s / 2 },
        { !seen->several_nodes, GOODPUT_PERF_AN, TINY },
        { !seen->several_nodes || !seen->three, GOODPUT_PERF_BN, TINY },
        { !seen->one_node, GOODPUT_PERF_AR, TINY },
        { !seen->one_node || !seen->three, GOODPUT_PERF_BR, TINY },
    };

    for (size_t i = 0; i < ELEMENTS(pins); i++)
        if (pins[i].unseen)
            pin(problem, x, pins[i].param, pins[i].value);
}

/* Two places to begin at: half of each time in each of its parts with much overlap or little. The
 * better end of both. */
static void begin(const struct seen *seen, bool overlap, double *x)
{
    double exchange_s = overlap ? seen->accumulate_s : seen->exchange_s;

    x[GOODPUT_PERF_AC] = log(seen->accumulate_s / 2);
    x[GOODPUT_PERF_BC] = log(seen->accumulate_s / 2 / seen->local_batch);
    x[GOODPUT_PERF_AN] = x[GOODPUT_PERF_AR] = log(fmax(exchange_s, 10 * TINY));
    x[GOODPUT_PERF_BN] = x[GOODPUT_PERF_BR] = log(fmax(exchange_s / 20, 10 * TINY));
    x[GOODPUT_PERF_GAMMA] = overlap ? 4 : 1.2;
}

int goodput_perf_fit(const struct goodput_perf_point *points, int n, struct goodput_perf *ret_perf)
{
    struct goodput_problem problem = { .n = PARAMS,
                                       .value = objective_of_logs,
                                       .steps_max = STEPS_MAX,
                                       .reach = REACH,
                                       .enough = ENOUGH };
    struct fit fit = { .n = n };
    struct seen seen;
    double least = INFINITY;

    if (n < 1 || n > GOODPUT_PERF_POINTS_MAX)
        return -EINVAL;
    for (int i = 0; i < n; i++) {
        if (!is_in_range(&points[i]))
            return -EINVAL;
        fit.samples[i] = sample_of(&points[i]);
    }
    seen = look(points, n);
    problem.userdata = &fit;
    for (int overlap = 0; overlap < 2; overlap++) {
        double x[PARAMS];
        double value;

        for (int i = 0; i < PARAMS; i++) {
            problem.lower[i] = i < LOGS ? log(TINY) : 1;
            problem.upper[i] = i < LOGS ? log(1 / TINY) : GAMMA_MAX;
        }
        begin(&seen, overlap, x);
        pin_unseen(&problem, &seen, x);
        value = goodput_minimise(&problem, x);
        for (int i = 0; value < least && i < PARAMS; i++)
            ret_perf->of[i] = i < LOGS ? exp(x[i]) : x[i];
        least = fmin(least, value);
        if (!seen.one_node && !seen.several_nodes)
            break; /* without an exchange nothing overlaps */
    }
    if (!seen.several_nodes)
        for (int i = 0; i < 2; i++)
            ret_perf->of[GOODPUT_PERF_AN + i] =
                fmax(ret_perf->of[GOODPUT_PERF_AN + i],
                     MULTI_NODE_PRIOR * ret_perf->of[GOODPUT_PERF_AR + i]);
    return 0;
}

double goodput_perf_accumulate_s(const struct goodput_perf *perf, double local_batch)
{
    return perf->of[GOODPUT_PERF_AC] + perf->of[GOODPUT_PERF_BC] * local_batch;
}

double goodput_perf_exchange_s(const struct goodput_perf *perf, uint32_t nodes, uint32_t replicas)
{
    return exchange(perf->of, link_of(nodes, replicas), fmax((double)replicas - 2, TINY));
}

double goodput_perf_step_s(const struct goodput_perf *perf, double accumulate_s, double exchange_s)
{
    double part;

    return exp(log_sum(log(accumulate_s), log(exchange_s), perf->of[GOODPUT_PERF_GAMMA], &part));
}
