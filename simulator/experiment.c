/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - known scenarios by name, with their goals and the figures of others
 *
 * Of the machines of 2017 only the totals are known: 133 with 12 cores or more, 2,348 cores and
 * 13.67 TB of memory together. 39 with 12 and 94 with 20 cores are the simplest shapes that fit. */
#include "simulator/experiment.h"

#include <math.h>

/* Five shapes with the same totals, with leftovers that suit the requests less. */
#define MIXED                                                                                      \
    "nodes:\n"                                                                                     \
    "- {name: a, count: 40, cpu: 12, memory: 64Gi}\n"                                              \
    "- {name: b, count: 47, cpu: 16, memory: 86Gi}\n"                                              \
    "- {name: c, count: 23, cpu: 20, memory: 108Gi}\n"                                             \
    "- {name: d, count: 10, cpu: 24, memory: 130Gi}\n"                                             \
    "- {name: e, count: 13, cpu: 32, memory: 170Gi}\n"

#define MACHINES                                                                                   \
    "nodes:\n"                                                                                     \
    "- {name: small, count: 39, cpu: 12, memory: 64Gi}\n"                                          \
    "- {name: large, count: 94, cpu: 20, memory: 108Gi}\n"

#define MNIST(bounds)                                                                              \
    "  job:\n"                                                                                     \
    "    name: mnist\n"                                                                            \
    "    fault_tolerant: true\n"                                                                   \
    "    roles:\n"                                                                                 \
    "    - {role: master, cpu: 1, memory: 500Mi, entrypoint: master}\n"                            \
    "    - {role: pserver, min: 10, cpu: 4, memory: 5Gi}\n"                                        \
    "    - {role: trainer, " bounds ", cpu: 5, memory: 8Gi, entrypoint: train}\n"                  \
    "  work: {start: 5s, stop: 5s}\n"

/* The machines have started after 10 s; all times of the report are counted from there. */
#define TIMES(duration, plateau)                                                                   \
    "policy: fulfilment\n"                                                                         \
    "max-load: 0.97\n"                                                                             \
    "lease: 20s\n"                                                                                 \
    "lease-margin: 2s\n"                                                                           \
    "begin: 10s\n"                                                                                 \
    "duration: " duration "\n"                                                                     \
    "plateau: " plateau "\n"                                                                       \
    "sample: 100ms\n"

#define CASE1(name, machines, bounds)                                                              \
    "name: " name "\n" TIMES("560s", "[260s, 460s]") machines "jobs:\n"                            \
                                                              "- at: 10s\n"                        \
                                                              "  copies: 20\n"                     \
                                                              "  every: 10s\n" MNIST(bounds)

#define WEB(place)                                                                                 \
    "services:\n"                                                                                  \
    "- name: web\n"                                                                                \
    "  place: " place "\n"                                                                         \
    "  cpu: 3\n"                                                                                   \
    "  memory: 3Gi\n"                                                                              \
    "  steps:\n"                                                                                   \
    "  - {at: 0s, replicas: 400}\n"                                                                \
    "  - {at: 100s, replicas: 300}\n"                                                              \
    "  - {at: 190s, replicas: 200}\n"                                                              \
    "  - {at: 280s, replicas: 100}\n"                                                              \
    "  - {at: 370s, replicas: 200}\n"                                                              \
    "  - {at: 460s, replicas: 300}\n"                                                              \
    "  - {at: 550s, replicas: 400}\n"

#define CASE2(name, machines, bounds, place)                                                       \
    "name: " name "\n" TIMES("670s", "[310s, 380s]") machines "jobs:\n"                            \
                                                              "- at: 10s\n"                        \
                                                              "  copies: 6\n" MNIST(bounds)        \
                                                                  WEB(place)

/* 10 cores of which others take 1.84, a load of 90 %, and the tutorial's job three times; its
 * master is counted with the side container that it had. */
#define TUTORIAL                                                                                   \
    "name: tutorial\n"                                                                             \
    "policy: fulfilment\n"                                                                         \
    "max-load: 0.9\n"                                                                              \
    "lease: 20s\n"                                                                                 \
    "lease-margin: 2s\n"                                                                           \
    "duration: 240s\n"                                                                             \
    "plateau: [200s, 240s]\n"                                                                      \
    "sample: 100ms\n"                                                                              \
    "nodes:\n"                                                                                     \
    "- {name: node, cpu: 10, memory: 32Gi}\n"                                                      \
    "foreign:\n"                                                                                   \
    "- {at: 0s, cpu: 1840m, memory: 1Gi}\n"                                                        \
    "jobs:\n"                                                                                      \
    "- at: 10s\n"                                                                                  \
    "  copies: 3\n"                                                                                \
    "  every: 60s\n"                                                                               \
    "  job:\n"                                                                                     \
    "    name: example\n"                                                                          \
    "    fault_tolerant: true\n"                                                                   \
    "    roles:\n"                                                                                 \
    "    - {role: master, cpu: 600m, memory: 700Mi, entrypoint: master}\n"                         \
    "    - {role: pserver, min: 2, cpu: 500m, memory: 600Mi}\n"                                    \
    "    - {role: trainer, min: 2, max: 10, cpu: 200m, memory: 200Mi, entrypoint: train}\n"        \
    "  work: {start: 2s, stop: 2s}\n"

static double mean_waiting(const struct scenario_result *result)
{
    return result->waiting_s.mean;
}

static double utilisation(const struct scenario_result *result)
{
    return 100 * result->utilisation;
}

static double plateau(const struct scenario_result *result)
{
    return 100 * result->utilisation_plateau;
}

static double fairness(const struct scenario_result *result)
{
    return result->jain_plateau;
}

static double longest_short(const struct scenario_result *result)
{
    return (double)result->short_longest_us / USEC_PER_SEC;
}

static double trainers(const struct scenario_result *result)
{
    return result->trainers_plateau;
}

static double never_started(const struct scenario_result *result)
{
    return result->never_started;
}

#define WAITING(goal, elastic, fixed)                                                              \
    {                                                                                              \
        "mean_waiting_s", "mean waiting", "s", mean_waiting, false, goal, NAN, elastic, fixed      \
    }
#define UTILISATION(goal, elastic, fixed)                                                          \
    {                                                                                              \
        "utilisation", "mean utilisation", "%", utilisation, false, NAN, goal, elastic, fixed      \
    }
#define PLATEAU(name, goal, elastic, fixed)                                                        \
    {                                                                                              \
        "utilisation_plateau", name, "%", plateau, false, NAN, goal, elastic, fixed                \
    }
#define FAIRNESS(goal, elastic)                                                                    \
    {                                                                                              \
        "jain_plateau", "fairness (Jain), plateau", "", fairness, false, NAN, goal, elastic, NAN   \
    }
#define TRAINERS(elastic, fixed)                                                                   \
    {                                                                                              \
        "trainers_plateau", "trainers, plateau", "", trainers, false, NAN, NAN, elastic, fixed     \
    }
#define NEVER_STARTED(fixed)                                                                       \
    {                                                                                              \
        "never_started", "jobs that never ran", "", never_started, false, NAN, NAN, NAN, fixed     \
    }
#define LONGEST_SHORT(goal)                                                                        \
    {                                                                                              \
        "cores_back_s", "cores back, worst", "s", longest_short, true, goal, NAN, NAN, NAN         \
    }

static const struct experiment_figure case1_figures[] = {
    WAITING(10, 47.2, 308.5),
    PLATEAU("utilisation, plateau", 95, 86.19, 88.65),
    UTILISATION(NAN, 76.33, 76.16),
    FAIRNESS(0.95, 0.44),
    TRAINERS(254, 347),
    NEVER_STARTED(14),
};

static const struct experiment_figure case1_fixed_figures[] = {
    WAITING(NAN, 47.2, 308.5),
    PLATEAU("utilisation, plateau", NAN, 86.19, 88.65),
    UTILISATION(NAN, 76.33, 76.16),
    FAIRNESS(NAN, 0.44),
    TRAINERS(254, 347),
    NEVER_STARTED(14),
};

static const struct experiment_figure case2_figures[] = {
    LONGEST_SHORT(10),
    UTILISATION(90, 83.42, 61.86),
    PLATEAU("utilisation, off-peak", NAN, 79.35, 44.91),
    WAITING(NAN, 51.5, 1.5),
};

static const struct experiment_figure case2_fixed_figures[] = {
    LONGEST_SHORT(NAN),
    UTILISATION(NAN, 83.42, 61.86),
    PLATEAU("utilisation, off-peak", NAN, 79.35, 44.91),
    WAITING(NAN, 51.5, 1.5),
};

static const struct experiment_figure tutorial_figures[] = {
    { "trainers_plateau", "trainers at the end", "", trainers, false, 11, 11, 11, NAN },
    PLATEAU("utilisation at the end", 88.4, 88.4, NAN),
    NEVER_STARTED(NAN),
};

#define FIGURES(array) array, ELEMENTS(array)

static const struct experiment experiments[] = {
    { "case1", "20 jobs of 2 to 60 trainers, one each 10 s",
      CASE1("case1", MACHINES, "min: 2, max: 60"), 10, FIGURES(case1_figures) },
    { "case1-mixed", "case1 on machines of five shapes",
      CASE1("case1-mixed", MIXED, "min: 2, max: 60"), 10, FIGURES(case1_figures) },
    { "case1-fixed", "case1 with 60 trainers each",
      CASE1("case1-fixed", MACHINES, "min: 60, max: 60"), 10, FIGURES(case1_fixed_figures) },
    { "case2",
      "6 jobs of 2 to 60 trainers beside a web service that goes from 400 to 100 "
      "replicas and back",
      CASE2("case2", MACHINES, "min: 2, max: 60", "spread"), 10, FIGURES(case2_figures) },
    { "case2-mixed", "case2 on machines of five shapes",
      CASE2("case2-mixed", MIXED, "min: 2, max: 60", "spread"), 10, FIGURES(case2_figures) },
    { "case2-packed", "case2 with a service that fills machine after machine",
      CASE2("case2-packed", MACHINES, "min: 2, max: 60", "pack"), 10, FIGURES(case2_figures) },
    { "case2-fixed", "case2 with 15 trainers each",
      CASE2("case2-fixed", MACHINES, "min: 15, max: 15", "spread"), 10,
      FIGURES(case2_fixed_figures) },
    { "tutorial", "three jobs of 2 to 10 trainers on 10 cores", TUTORIAL, 1,
      FIGURES(tutorial_figures) },
};

const struct experiment *experiment_at(size_t i)
{
    return i < ELEMENTS(experiments) ? &experiments[i] : NULL;
}

const struct experiment *experiment_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(experiments); i++)
        if (streq(experiments[i].name, name))
            return &experiments[i];
    return NULL;
}

double experiment_figure(const struct experiment_figure *figure,
                         const struct scenario_result *rounds, size_t n)
{
    double sum = 0, greatest = figure->of(&rounds[0]);

    for (size_t i = 0; i < n; i++) {
        double value = figure->of(&rounds[i]);

        sum += value;
        greatest = MAX_OF(greatest, value);
    }
    return figure->worst ? greatest : sum / (double)n;
}

bool experiment_has_goal(const struct experiment_figure *figure)
{
    return !isnan(figure->at_most) || !isnan(figure->at_least);
}

bool experiment_met(const struct experiment_figure *figure, double value)
{
    /* a goal is met to the last digit that is printed */
    const double slack = 1e-9;

    return (isnan(figure->at_most) || value <= figure->at_most + slack) &&
           (isnan(figure->at_least) || value >= figure->at_least - slack);
}
