/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h - the parts of `edl simulate`: seeds under faults, and scenarios */
#pragma once

#include <stdio.h>

#include "client/verb.h"
#include "shared/macro.h"
#include "simulator/experiment.h"

struct simulate_options {
    struct common_options common;
    /* seeds */
    const char *faults, *only;
    uint64_t seeds, first_seed, seed, duration_us;
    bool history, night;
    /* scenarios */
    const char *experiment, *policy, *plot;
    uint64_t rounds, every_us;
    bool show, all;
    /* traces */
    struct option_list traces;
    const char *import, *round, *restart, *window, *level, *against, *generate, *rate, *export_to;
    uint64_t jobs;
    /* of seeds a number, of traces NODESxPLACES */
    const char *nodes;
};

/* simulate_faults - seeds until one breaks a check; with --night until a signal. enum status. */
int simulate_faults(const struct simulate_options *options);

/* simulate_scenario - its rounds, and the figures; experiment may be NULL. enum status. */
int simulate_scenario(const struct simulate_options *options, const struct scenario *scenario,
                      const struct experiment *experiment);

/* How the samples of a round are told while it runs. */
struct simulate_watch {
    FILE *plot;        /* every sample a line of tab separated columns; NULL: none */
    uint64_t every_us; /* a line for people so often; 0: none */
    uint64_t next_us;
    bool headed;
    const char *const *jobs; /* names by submission */
};

/* simulate_watch_sample - a scenario_sample_fn; userdata is a struct simulate_watch */
void simulate_watch_sample(const struct scenario_sample *sample, void *userdata);

/* The rounds of a scenario that were played. */
struct simulate_play {
    const struct simulate_options *options;
    const struct scenario *scenario;
    const struct experiment *experiment; /* NULL: a file */
    uint64_t first_seed;
    struct scenario_result *rounds; /* owned */
    size_t n;
};

void simulate_print_tables(const struct simulate_play *play);
void simulate_print_json(const struct simulate_play *play);

static inline double simulate_seconds(uint64_t us)
{
    return (double)us / USEC_PER_SEC;
}
