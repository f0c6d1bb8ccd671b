/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c - made-up traces */
#include "simulator/trace/generate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

#define MEDIAN_S 1200.0
#define SPREAD 1.5 /* of the logarithm of lengths */
#define SHORTEST_S 10.0
#define LONGEST_S (7 * 86400.0)
#define PARETO_EXPONENT 1.1
#define PARETO_LEAST_S 120.0
#define PARETO_MOST_S (2 * 86400.0)
#define SWING 0.8
#define DAY_S 86400.0
#define USERS 8
#define GROWTH 4 /* max over what was asked for */
#define PSERVER_INSTANCES 4
#define PSERVER_MOST 24

static const uint32_t requests[] = { 1, 1, 1, 1, 2, 2, 4, 4, 8, 16 };

/* Laws of speed-up that jobs are drawn from, from hardly scaling to nearly ideal. */
static const struct {
    const char *name;
    double power, serial; /* power 0: Amdahl's law */
} laws[] = {
    { "power-0.5", 0.5, 0 },   { "power-0.7", 0.7, 0 },    { "power-0.85", 0.85, 0 },
    { "power-0.95", 0.95, 0 }, { "amdahl-0.02", 0, 0.02 }, { "amdahl-0.1", 0, 0.1 },
};

struct generator {
    const struct generate_options *options;
    const struct kind *kind;
    uint64_t random;
    double now_s;
    struct profile *profiles[8]; /* as they were first needed */
};

struct kind {
    const char *name;
    double (*gap_s)(struct generator *generator);
    double (*length_s)(struct generator *generator);
    void (*fill)(struct generator *generator, struct trace_job *job);
};

static double exponential(struct generator *generator)
{
    return -log1p(-random_unit(&generator->random));
}

static double poisson_gap_s(struct generator *generator)
{
    return exponential(generator) * 3600 / generator->options->per_hour;
}

/* Thinning: candidates at the highest rate, kept as often as the rate of their hour says. */
static double diurnal_gap_s(struct generator *generator)
{
    double at_s = generator->now_s;

    do
        at_s += exponential(generator) * 3600 / (generator->options->per_hour * (1 + SWING));
    while (random_unit(&generator->random) * (1 + SWING) >
           1 + SWING * sin(2 * M_PI * (at_s / DAY_S - 0.25)));
    return at_s - generator->now_s;
}

/* Box and Muller's normal number; the second one is not used. */
static double normal(struct generator *generator)
{
    double radius = sqrt(2 * exponential(generator));

    return radius * cos(2 * M_PI * random_unit(&generator->random));
}

static double lognormal_length_s(struct generator *generator)
{
    return fmin(fmax(MEDIAN_S * exp(SPREAD * normal(generator)), SHORTEST_S), LONGEST_S);
}

static double pareto_length_s(struct generator *generator)
{
    double cut = pow(PARETO_LEAST_S / PARETO_MOST_S, PARETO_EXPONENT);
    double u = random_unit(&generator->random);

    return PARETO_LEAST_S / pow(1 - u * (1 - cut), 1 / PARETO_EXPONENT);
}

static void fill_scaling(struct generator *generator, struct trace_job *job)
{
    size_t law = random_below(&generator->random, ELEMENTS(laws));

    if (generator->profiles[law] == NULL)
        generator->profiles[law] = laws[law].power > 0
                                       ? profile_power_new(laws[law].name, laws[law].power)
                                       : profile_amdahl_new(laws[law].name, laws[law].serial);
    job->profile = profile_ref(generator->profiles[law]);
    job->requested = requests[random_below(&generator->random, ELEMENTS(requests))];
    job->min = 1;
    job->max = GROWTH * job->requested;
}

static void fill_pserver(struct generator *generator, struct trace_job *job)
{
    size_t n = 0, model;

    while (pserver_models[n].name != NULL)
        n++;
    model = random_below(&generator->random, n);
    if (generator->profiles[model] == NULL)
        generator->profiles[model] = profile_pserver_new(&pserver_models[model]);
    job->profile = profile_ref(generator->profiles[model]);
    job->requested = PSERVER_INSTANCES;
    job->min = 2;
    job->max = PSERVER_MOST;
}

static const struct kind kinds[] = {
    { "poisson", poisson_gap_s, lognormal_length_s, fill_scaling },
    { "diurnal", diurnal_gap_s, lognormal_length_s, fill_scaling },
    { "heavy-tailed", poisson_gap_s, pareto_length_s, fill_scaling },
    { "pserver", poisson_gap_s, lognormal_length_s, fill_pserver },
};

static void add_job(struct generator *generator, struct trace *trace)
{
    struct trace_job *job;
    char text[40];
    double length_s;

    generator->now_s += generator->kind->gap_s(generator);
    job = trace_add(trace);
    generator->kind->fill(generator, job);
    length_s = generator->kind->length_s(generator);
    job->submit_s = generator->now_s;
    job->work_steps =
        length_s * profile_pace_of(job->profile, job->requested, UINT32_MAX / 2, NULL)->rate[0];
    job->family = xstrdup(job->profile->name);
    (void)snprintf(text, sizeof(text), "u%u", (unsigned)random_below(&generator->random, USERS));
    job->user = xstrdup(text);
    (void)snprintf(text, sizeof(text), "%s-%zu", generator->kind->name, trace->n - 1);
    job->name = xstrdup(text);
}

int trace_generate(const struct generate_options *options, struct trace **ret,
                   struct edl_error *error)
{
    struct generator generator = { .options = options, .random = options->seed };
    char name[80];

    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i].name, options->kind))
            generator.kind = &kinds[i];
    if (generator.kind == NULL) {
        (void)edl_error_set(error, -EINVAL, "no kind of trace is called \"%s\"", options->kind);
        return edl_error_remedy(error, "poisson, diurnal, heavy-tailed or pserver");
    }
    (void)snprintf(name, sizeof(name), "%s-%llu", options->kind, (unsigned long long)options->seed);
    *ret = trace_new(name);
    for (uint32_t i = 0; i < options->jobs; i++)
        add_job(&generator, *ret);
    for (size_t i = 0; i < ELEMENTS(generator.profiles); i++)
        (void)profile_unref(generator.profiles[i]);
    return 0;
}
