/* SPDX-License-Identifier: Apache-2.0 */
/* fit_pserver.c - recursive least squares with coefficients that are not negative
 *
 * A report is divided by its own step time: the residual is relative, so that slow configurations
 * do not outweigh fast ones, and the right-hand side is 1. */
#include "scheduler/core/speed/fit_pserver.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/macro.h"

#define FORGETTING 0.98
/* A column whose part that others do not explain is smaller is taken to be explained by them. */
#define INDEPENDENT 1e-9
#define ROUNDS_MAX 64 /* of the active set; a set never comes twice, and there are 32 */

void goodput_pserver_init(struct goodput_pserver_fit *fit, double batch, bool async)
{
    *fit = (struct goodput_pserver_fit){ .batch = batch, .async = async };
}

static void terms(double batch, bool async, uint32_t workers, uint32_t pservers,
                  double ret[GOODPUT_THETAS])
{
    double w = workers, p = pservers;

    ret[0] = async ? 0 : batch / w;
    ret[1] = 1;
    ret[2] = w / p;
    ret[3] = w;
    ret[4] = p;
}

static double dot(const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < GOODPUT_THETAS; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Takes (1 - FORGETTING) of the knowledge in the direction x away. */
static void forget(struct goodput_pserver_fit *fit, const double *x)
{
    double gram_x[GOODPUT_THETAS];
    double known, moment;

    for (int i = 0; i < GOODPUT_THETAS; i++)
        gram_x[i] = dot(fit->gram[i], x);
    known = dot(gram_x, x);
    /* a direction of which (nearly) nothing is known: there is nothing to forget */
    if (!(known > 1e-12 * dot(x, x) * dot(x, x)))
        return;
    moment = dot(fit->moment, x);
    for (int i = 0; i < GOODPUT_THETAS; i++) {
        for (int j = 0; j < GOODPUT_THETAS; j++)
            fit->gram[i][j] -= (1 - FORGETTING) * gram_x[i] * gram_x[j] / known;
        fit->moment[i] -= (1 - FORGETTING) * gram_x[i] * moment / known;
    }
}

int goodput_pserver_add(struct goodput_pserver_fit *fit,
                        const struct goodput_pserver_report *report)
{
    double x[GOODPUT_THETAS];

    if (report->workers == 0 || report->pservers == 0 || !(report->step_s > 0) ||
        !isfinite(report->step_s))
        return -EINVAL;
    terms(fit->batch, fit->async, report->workers, report->pservers, x);
    for (int i = 0; i < GOODPUT_THETAS; i++)
        x[i] /= report->step_s;
    forget(fit, x);
    for (int i = 0; i < GOODPUT_THETAS; i++) {
        for (int j = 0; j < GOODPUT_THETAS; j++)
            fit->gram[i][j] += x[i] * x[j];
        fit->moment[i] += x[i];
    }
    fit->reports++;
    return 0;
}

void goodput_pserver_join(struct goodput_pserver_fit *fit, const struct goodput_pserver_fit *other)
{
    for (int i = 0; i < GOODPUT_THETAS; i++) {
        for (int j = 0; j < GOODPUT_THETAS; j++)
            fit->gram[i][j] += other->gram[i][j];
        fit->moment[i] += other->moment[i];
    }
    fit->reports += other->reports;
}

/* --- least squares with t >= 0: the active set method of Lawson and Hanson -----------------------
 */

struct system {
    double gram[GOODPUT_THETAS][GOODPUT_THETAS]; /* scaled: the diagonal is 1 */
    double moment[GOODPUT_THETAS];
    double scale[GOODPUT_THETAS]; /* 0: nothing was ever seen of it */
};

static void scale(const struct goodput_pserver_fit *fit, struct system *ret)
{
    for (int i = 0; i < GOODPUT_THETAS; i++)
        ret->scale[i] = fit->gram[i][i] > 0 ? 1 / sqrt(fit->gram[i][i]) : 0;
    for (int i = 0; i < GOODPUT_THETAS; i++) {
        for (int j = 0; j < GOODPUT_THETAS; j++)
            ret->gram[i][j] = fit->gram[i][j] * ret->scale[i] * ret->scale[j];
        ret->moment[i] = fit->moment[i] * ret->scale[i];
    }
}

/* Cholesky of the rows and columns in `set`; false: they depend on each other */
static bool solve_set(const struct system *system, unsigned set, double *ret_t)
{
    double l[GOODPUT_THETAS][GOODPUT_THETAS] = { { 0 } };
    double y[GOODPUT_THETAS] = { 0 };
    int of[GOODPUT_THETAS], n = 0;

    for (int i = 0; i < GOODPUT_THETAS; i++)
        if (set >> i & 1)
            of[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = system->gram[of[i]][of[j]];

            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && sum < INDEPENDENT)
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
        y[i] = system->moment[of[i]];
        for (int k = 0; k < i; k++)
            y[i] -= l[i][k] * y[k];
        y[i] /= l[i][i];
    }
    memset(ret_t, 0, GOODPUT_THETAS * sizeof *ret_t);
    for (int i = n; i-- > 0;) {
        double sum = y[i];

        for (int k = i + 1; k < n; k++)
            sum -= l[k][i] * ret_t[of[k]];
        ret_t[of[i]] = sum / l[i][i];
    }
    return true;
}

/* The variable outside the set that would lower the error most; -1: none */
static int most_wanted(const struct system *system, unsigned set, unsigned refused, const double *t)
{
    double most = 1e-10;
    int wanted = -1;

    for (int i = 0; i < GOODPUT_THETAS; i++) {
        double gradient = system->moment[i] - dot(system->gram[i], t);

        if (!((set | refused) >> i & 1) && system->scale[i] > 0 && gradient > most) {
            most = gradient;
            wanted = i;
        }
    }
    return wanted;
}

/* Moves t towards the solution of its set as far as it stays non-negative, leaving out what reaches
 * 0 on the way; false: the last one makes the set dependent. */
static bool settle(const struct system *system, unsigned *set, double *t)
{
    double next[GOODPUT_THETAS];

    for (;;) {
        double part = 1;

        if (!solve_set(system, *set, next))
            return false;
        for (int i = 0; i < GOODPUT_THETAS; i++)
            if ((*set >> i & 1) && next[i] <= 0)
                part = fmin(part, t[i] / (t[i] - next[i]));
        for (int i = 0; i < GOODPUT_THETAS; i++)
            t[i] += part * (next[i] - t[i]);
        if (part >= 1)
            return true;
        for (int i = 0; i < GOODPUT_THETAS; i++)
            if ((*set >> i & 1) && next[i] <= 0 && t[i] <= 1e-14) {
                *set &= ~(1U << i);
                t[i] = 0;
            }
    }
}

void goodput_pserver_solve(const struct goodput_pserver_fit *fit, double ret_theta[GOODPUT_THETAS])
{
    struct system system;
    double t[GOODPUT_THETAS] = { 0 };
    unsigned set = 0, refused = 0;

    scale(fit, &system);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int wanted = most_wanted(&system, set, refused, t);
        unsigned before = set;

        if (wanted < 0)
            break;
        set |= 1U << wanted;
        if (!settle(&system, &set, t))
            set = before;
        if (!(set >> wanted & 1))
            refused |= 1U << wanted; /* depends on others, or went out at once */
        else
            refused = 0;
    }
    for (int i = 0; i < GOODPUT_THETAS; i++)
        ret_theta[i] = t[i] * system.scale[i];
}

double goodput_pserver_known(const struct goodput_pserver_fit *fit)
{
    double theta[GOODPUT_THETAS];
    double known = 0;

    /* each report is a row x of which t x is 1, nearly: so the sum of their squares counts them */
    goodput_pserver_solve(fit, theta);
    for (int i = 0; i < GOODPUT_THETAS; i++)
        known += theta[i] * dot(fit->gram[i], theta);
    return known;
}

void goodput_pserver_scale(struct goodput_pserver_fit *fit, double factor, double weight)
{
    for (int i = 0; i < GOODPUT_THETAS; i++) {
        for (int j = 0; j < GOODPUT_THETAS; j++)
            fit->gram[i][j] *= weight / (factor * factor);
        fit->moment[i] *= weight / factor;
    }
}

/* --- consequences of it ------------------------------------------------------------------------
 */

double goodput_pserver_speed(const double theta[GOODPUT_THETAS], double batch, bool async,
                             uint32_t workers, uint32_t pservers)
{
    double x[GOODPUT_THETAS];
    double step_s;

    if (workers == 0 || pservers == 0)
        return 0;
    terms(batch, async, workers, pservers, x);
    step_s = dot(theta, x);
    return step_s > 0 ? (async ? workers : 1) / step_s : INFINITY;
}

static void consider(const double *theta, double batch, bool async, uint32_t workers,
                     uint32_t pservers, struct goodput_split *best)
{
    double speed = goodput_pserver_speed(theta, batch, async, workers, pservers);
    uint32_t instances = workers + pservers;

    if (best->workers == 0 || speed > best->speed ||
        (speed == best->speed && instances < best->workers + best->pservers))
        *best = (struct goodput_split){ workers, pservers, speed };
}

struct goodput_split goodput_pserver_split(const double theta[GOODPUT_THETAS], double batch,
                                           bool async, const struct goodput_split_bounds *bounds,
                                           double budget)
{
    struct goodput_split best = { 0 };

    for (uint32_t w = MAX_OF(bounds->workers_min, 1); w <= bounds->workers_max; w++) {
        double left = budget - w * bounds->worker_cost;
        double room = floor(left / bounds->pserver_cost + 1e-9);
        uint32_t least = MAX_OF(bounds->pservers_min, 1);
        uint32_t most =
            room < bounds->pservers_max ? (uint32_t)fmax(room, 0) : bounds->pservers_max;
        /* t2 w/p + t4 p is least there, and grows on both sides of it */
        double bottom = theta[4] > 0 ? sqrt(theta[2] * w / theta[4]) : INFINITY;

        if (most < least)
            break; /* more workers leave even less */
        if (theta[2] <= 0)
            bottom = least;
        bottom = fmin(fmax(bottom, least), most);
        consider(theta, batch, async, w, (uint32_t)floor(bottom), &best);
        consider(theta, batch, async, w, (uint32_t)ceil(bottom), &best);
    }
    return best;
}
