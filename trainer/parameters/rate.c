/* SPDX-License-Identifier: Apache-2.0 */
/* rate.c - how the learning rate follows the samples trained, or the pass; pure */
#include "trainer/parameters/rate.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

static const char *const names[] = {
#define XX(upper, lower) [RATE_##upper] = #lower,
    RATE_SCHEDULE_MAP(XX)
#undef XX
};

const char *rate_schedule_to_string(uint32_t schedule)
{
    return schedule < RATE_SCHEDULES ? names[schedule] : "?";
}

int rate_schedule_of(const char *name)
{
    for (int i = 0; i < RATE_SCHEDULES; i++)
        if (streq(names[i], name))
            return i;
    return -1;
}

/* Bounds that keep a power real and a rate from growing without end. */
static const struct {
    double a_above, b_above; /* strictly; -1: may be 0 too; -INFINITY: not used */
} bounds[] = {
    [RATE_CONSTANT] = { -INFINITY, -INFINITY },
    [RATE_POLY] = { -1, -1 },
    [RATE_CAFFE_POLY] = { 0, -1 },
    [RATE_EXP] = { 0, 0 },
    [RATE_DISCEXP] = { 0, 0 },
    [RATE_LINEAR] = { -1, -1 },
    [RATE_MANUAL] = { -INFINITY, -INFINITY },
    [RATE_PASS_MANUAL] = { -INFINITY, -INFINITY },
};

static int check_number(const char *schedule, const char *which, double value, double above,
                        struct edl_error *error)
{
    const bool may_be_zero = above < 0;

    if (isinf(above) || (isfinite(value) && (may_be_zero ? value >= 0 : value > 0)))
        return 0;
    return edl_error_set(error, -EINVAL, "learning_rate_decay_%s is %g, but schedule %s needs %s",
                         which, value, schedule,
                         may_be_zero ? "a number of at least 0" : "a number above 0");
}

/* One "until:factor" from text on; returns what is behind it, NULL when it is none. */
static const char *parse_step(const char *text, uint64_t *ret_until, double *ret_factor)
{
    char *end;

    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *ret_until = strtoull(text, &end, 10);
    if (errno != 0 || *end != ':')
        return NULL;
    text = end + 1;
    *ret_factor = strtod(text, &end);
    if (end == text || !isfinite(*ret_factor) || *ret_factor < 0)
        return NULL;
    return *end == ',' && end[1] != '\0' ? end + 1 : *end == '\0' ? end : NULL;
}

static int parse_steps(const char *args, struct rate *rate, struct edl_error *error)
{
    const char *text = args;

    while (*text != '\0' || rate->n_steps == 0) {
        uint64_t until;
        double factor;

        if (rate->n_steps == RATE_STEPS_MAX)
            return edl_error_set(error, -EINVAL,
                                 "learning_rate_args has more than %d steps: \"%s\"",
                                 RATE_STEPS_MAX, args);
        text = parse_step(text, &until, &factor);
        if (text == NULL)
            return edl_error_set(error, -EINVAL,
                                 "learning_rate_args is \"%s\", but schedule %s needs steps with "
                                 "factors such as \"1000:1.0,2000:0.5\"",
                                 args, names[rate->schedule]);
        if (rate->n_steps > 0 && until <= rate->steps[rate->n_steps - 1].until)
            return edl_error_set(error, -EINVAL,
                                 "learning_rate_args is \"%s\", but its steps must rise", args);
        rate->steps[rate->n_steps].until = until;
        rate->steps[rate->n_steps++].factor = factor;
    }
    return 0;
}

int rate_parse(uint32_t schedule, double base, double a, double b, const char args[RATE_ARGS_SIZE],
               struct rate *ret, struct edl_error *error)
{
    struct rate rate = { .schedule = schedule, .base = base, .a = a, .b = b };
    int r;

    if (schedule >= RATE_SCHEDULES)
        return edl_error_set(error, -EINVAL, "there is no rate schedule of number %u", schedule);
    if (!isfinite(base) || base < 0)
        return edl_error_set(error, -EINVAL, "learning_rate is %g, not a number of at least 0",
                             base);
    if (memchr(args, '\0', RATE_ARGS_SIZE) == NULL)
        return edl_error_set(error, -EINVAL,
                             "learning_rate_args has no end within at most %d characters",
                             RATE_ARGS_SIZE - 1);
    r = check_number(names[schedule], "a", a, bounds[schedule].a_above, error);
    if (r >= 0)
        r = check_number(names[schedule], "b", b, bounds[schedule].b_above, error);
    if (r >= 0 && (schedule == RATE_MANUAL || schedule == RATE_PASS_MANUAL))
        r = parse_steps(args, &rate, error);
    if (r >= 0)
        *ret = rate;
    return r;
}

static double step_factor(const struct rate *rate, uint64_t at)
{
    uint32_t i = 0;

    while (i + 1 < rate->n_steps && at > rate->steps[i].until)
        i++;
    return rate->steps[i].factor;
}

double rate_at(const struct rate *rate, uint64_t samples, uint32_t pass)
{
    const double n = (double)samples, a = rate->a, b = rate->b;

    switch ((enum rate_schedule)rate->schedule) {
    case RATE_POLY:
        return rate->base * pow(1 + a * n, -b);
    case RATE_CAFFE_POLY:
        return n > a ? 0 : rate->base * pow(1 - n / a, b);
    case RATE_EXP:
        return rate->base * pow(a, n / b);
    case RATE_DISCEXP:
        return rate->base * pow(a, floor(n / b));
    case RATE_LINEAR:
        return fmax(rate->base - a * n, b);
    case RATE_MANUAL:
        return rate->base * step_factor(rate, samples);
    case RATE_PASS_MANUAL:
        return rate->base * step_factor(rate, pass);
    case RATE_CONSTANT:
    case RATE_SCHEDULES:
        break;
    }
    return rate->base;
}
