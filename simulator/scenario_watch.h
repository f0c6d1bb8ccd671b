/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_watch.h - the looks at a running scenario and the figures made of them; private to
 * scenario*.c */
#pragma once

#include "simulator/scenario_run.h"
#include "simulator/scenario_services.h"

struct machine_watch {
    uint64_t cpu_millicores;
    uint64_t others_millicores;                   /* wanted by what is not ours */
    uint64_t running_millicores, held_millicores; /* scratch of a look: ours, without and with
                                                     starting ones */
    uint64_t short_since_us;                      /* NEVER_US: it is not */
};

struct watch {
    const struct scenario *scenario;
    struct sim *sim;
    struct scenario_result *result;
    struct load_change *changes; /* owned, as told to the simulator */
    size_t n_changes, at_change;
    struct machine_watch *machines;
    const char **roles;   /* elastic role by submission; borrowed from the scenario */
    uint32_t *trainers;   /* by submission; scratch of a look */
    double *shares;       /* the same of the running jobs */
    uint32_t *submission; /* by job id */
    size_t cap_submission;
    struct step_mean utilisation, utilisation_plateau, ours_plateau, jain_plateau, trainers_plateau;
    struct step_mean *trainers_mean; /* by submission, in the plateau */
    struct scenario_sample sample;
    uint32_t n_short;
    uint64_t rise_us; /* the first node of the present ones became short */
};

/* watch_init - takes the changes */
void watch_init(struct watch *watch, const struct scenario *scenario, struct sim *sim,
                struct load_change *take_changes, size_t n_changes, struct scenario_result *result);
/* watch_look - at the simulation as it is now; the sample is in watch->sample */
void watch_look(struct watch *watch);
/* watch_end - the figures, into the result */
void watch_end(struct watch *watch);
void watch_clear(struct watch *watch);
