/* SPDX-License-Identifier: Apache-2.0 */
/* spoil.h - breaks a cluster on purpose, for the simulator's mutants; and what benchmarks teach it
 */
#pragma once

#include <stdint.h>

struct cluster;
struct goodput_families;
struct gpu_types;
struct instant;

/* spoil_figures - one job more is said to run
 * spoil_number - the last number of a job is given again
 * spoil_leases - nodes that were not heard since a start have a lease until then
 * spoil_restored - as cluster_restored, but nodes that go on without a scheduler are not waited for
 */
void spoil_figures(struct cluster *cluster);
void spoil_number(struct cluster *cluster);
void spoil_leases(struct cluster *cluster, uint64_t until_us);
void spoil_restored(struct cluster *cluster, struct instant now);

/* Both the cluster's own. */
struct goodput_families *taught_families(struct cluster *cluster);
struct gpu_types *taught_types(struct cluster *cluster);
