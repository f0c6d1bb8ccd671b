/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types_cases.c - small divisions among three types, and what they are worth at most */
#include "tests/unit/goodput_types_cases.h"

#include <string.h>

#include "tests/unit/goodput_curves.h"

#define STATES_MAX 16384 /* three types of 24 bundles */

static const double speeds[CASE_TYPES] = { 1, 1.8, 4 };

void types_case_draw(struct types_case *c, uint64_t *seed, size_t n, const double *budgets)
{
    *c = (struct types_case){ .n = n };
    for (size_t t = 0; t < CASE_TYPES; t++)
        c->types[t] = (struct goodput_type){ .budget = budgets[t] };
    for (size_t i = 0; i < n; i++) {
        double p = 0.4 + 0.55 * random_unit(seed), a = exp(1.5 * random_unit(seed));
        int k = 0;

        for (uint32_t t = 0; t < CASE_TYPES; t++)
            for (double cost = 1; cost <= budgets[t]; cost *= 2)
                c->options[i][k++] = (struct goodput_option){
                    t, cost, a * pow(speeds[t], 0.5 + random_unit(seed)) * pow(cost, p)
                };
        c->jobs[i] = (struct goodput_chooser){
            .id = i, .options = c->options[i], .n_options = k, .chosen = GOODPUT_NO_OPTION
        };
    }
}

struct gang {
    double weight, power;
    double least;   /* bundles */
    double penalty; /* of a size that spans nodes: a factor */
    bool rigid;
};

static struct gang draw_gang(uint64_t *seed)
{
    static const double least[] = { 1, 1, 2, 4, 8 };

    return (struct gang){
        .weight = exp(3 * random_unit(seed)),
        .power = 0.3 + 0.7 * random_unit(seed),
        .least = least[random_below(seed, ELEMENTS(least))],
        .penalty = random_below(seed, 4) == 0 ? 0.5 + 0.4 * random_unit(seed) : 1,
        .rigid = random_below(seed, 4) == 0,
    };
}

/* Its options of one type, behind those that are there */
static void add_gang(struct goodput_chooser *job, struct goodput_option *options,
                     const struct gang *gang, const struct goodput_option *one, double node,
                     double budget)
{
    double cost = gang->least < node ? gang->least : ceil(gang->least / node) * node;

    while (cost <= budget && job->n_options < CASE_OPTIONS_MAX) {
        options[job->n_options++] = (struct goodput_option){
            .type = one->type,
            .cost = cost,
            .value = one->value * pow(cost, gang->power) * (cost > node ? gang->penalty : 1),
        };
        if (gang->rigid)
            return;
        cost = cost < node ? 2 * cost : cost + node;
    }
}

void types_case_draw_gangs(struct types_case *c, uint64_t *seed, size_t n)
{
    double nodes[CASE_TYPES];

    *c = (struct types_case){ .n = n };
    for (size_t t = 0; t < CASE_TYPES; t++) {
        nodes[t] = random_below(seed, 2) == 0 ? 4 : 8;
        c->types[t].budget = nodes[t] * (1 + (double)random_below(seed, 3));
    }
    for (size_t i = 0; i < n; i++) {
        struct gang gang = draw_gang(seed);

        c->jobs[i] = (struct goodput_chooser){ .id = i,
                                               .options = c->options[i],
                                               .chosen = GOODPUT_NO_OPTION };
        for (uint32_t t = 0; t < CASE_TYPES; t++) {
            double speed = gang.weight * pow(speeds[t], 0.5 + random_unit(seed));
            bool cannot = random_below(seed, 5) == 0;

            if (!cannot)
                add_gang(&c->jobs[i], c->options[i], &gang,
                         &(struct goodput_option){ .type = t, .value = speed }, nodes[t],
                         c->types[t].budget);
        }
    }
}

static size_t state_of(const size_t *left, const struct types_case *c)
{
    return (left[0] * ((size_t)c->types[1].budget + 1) + left[1]) *
               ((size_t)c->types[2].budget + 1) +
           left[2];
}

/* With this much left, and one more job than `before` knew */
static double best_with(const struct types_case *c, const struct goodput_chooser *job,
                        const double *before, const size_t *left)
{
    double best = before[state_of(left, c)];

    for (int o = 0; o < job->n_options; o++) {
        const struct goodput_option *option = &job->options[o];
        size_t rest[CASE_TYPES] = { left[0], left[1], left[2] };

        if ((size_t)option->cost > left[option->type])
            continue;
        rest[option->type] -= (size_t)option->cost;
        best = fmax(best, before[state_of(rest, c)] + option->value);
    }
    return best;
}

double types_case_exact(const struct types_case *c)
{
    static double best[2][STATES_MAX];
    size_t top[CASE_TYPES];

    for (size_t t = 0; t < CASE_TYPES; t++)
        top[t] = (size_t)c->types[t].budget;
    assert_true(state_of(top, c) < STATES_MAX);
    memset(best, 0, sizeof best);
    for (size_t i = 0; i < c->n; i++) {
        size_t left[CASE_TYPES];

        for (left[0] = 0; left[0] <= top[0]; left[0]++)
            for (left[1] = 0; left[1] <= top[1]; left[1]++)
                for (left[2] = 0; left[2] <= top[2]; left[2]++)
                    best[(i + 1) % 2][state_of(left, c)] =
                        best_with(c, &c->jobs[i], best[i % 2], left);
    }
    return best[c->n % 2][state_of(top, c)];
}

struct goodput_auction types_case_divide(struct types_case *c, int rounds, uint64_t tries)
{
    struct goodput_auction auction;
    double used[CASE_TYPES] = { 0 }, value = 0;

    assert_int_equal(goodput_types_divide(c->jobs, c->n, c->types, CASE_TYPES,
                                          &(struct goodput_effort){ rounds, tries }, &auction),
                     0);
    for (size_t i = 0; i < c->n; i++)
        if (c->jobs[i].chosen >= 0) {
            const struct goodput_option *option = &c->options[i][c->jobs[i].chosen];

            used[option->type] += option->cost;
            value += option->value;
        }
    for (size_t t = 0; t < CASE_TYPES; t++) {
        assert_near(used[t], c->types[t].used, 1e-9);
        assert_true(used[t] <= c->types[t].budget + 1e-9);
    }
    assert_near(value, auction.value, 1e-9);
    return auction;
}
