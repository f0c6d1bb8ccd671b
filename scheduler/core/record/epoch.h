/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.h - the history is begun anew from a backup */
#pragma once

#include <stdint.h>

struct cluster;
struct instant;

/* cluster_begin_epoch - after cluster_restored, from a backup: jobs and incarnations are numbered
 * from first_number on, which is above every number ever given. Linear. */
void cluster_begin_epoch(struct cluster *cluster, uint64_t first_number, struct instant now);
