/* SPDX-License-Identifier: Apache-2.0 */
/* formula.h - profiles that are not measured point by point: laws of speed-up, parameter servers,
 * tables of throughput */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct profile;

/* profile_power_new - speed n^p of one instance's, which makes one step a second; 0 < p <= 1 */
struct profile *profile_power_new(const char *name, double p);

/* profile_amdahl_new - speed 1 / (serial + (1 - serial) / n); 0 <= serial <= 1 */
struct profile *profile_amdahl_new(const char *name, double serial);

/* profile_table_new - steps per second at some amounts, which rise and are the only ones that make
 * a difference (copied) */
struct profile *profile_table_new(const char *name, const uint32_t *counts, const double *rates,
                                  size_t n);

/* The step of synchronous training with w trainers and p parameter servers takes
 * theta[0] M / w + theta[1] + theta[2] w / p + theta[3] w + theta[4] p seconds, M
 * samples at once (Optimus 2018). */
struct pserver_model {
    const char *name;
    uint32_t batch; /* M */
    double theta[5];
};

/* pserver_models - eight that were fitted to measured speeds; ends with a name of NULL */
extern const struct pserver_model pserver_models[];
const struct pserver_model *pserver_model_find(const char *name);

/* profile_pserver_new - an instance is a trainer or a parameter server; at least one of each */
struct profile *profile_pserver_new(const struct pserver_model *model);

/* profile_parse - "power:0.8", "amdahl:0.05", "pserver:resnet-50", "table:1=2.5;2=4.8;4=9"
 * Errors: -EINVAL with what is wrong and the remedy. */
int profile_parse(const char *text, const char *name, struct profile **ret,
                  struct edl_error *error);

/* profile_text - what profile_parse makes the same profile of; new string. NULL: it has no such
 * text
 */
char *profile_text(const struct profile *profile);
