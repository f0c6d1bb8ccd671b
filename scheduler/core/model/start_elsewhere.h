/* SPDX-License-Identifier: Apache-2.0 */
/* start_elsewhere.h - whether a process that could not be started would fit on another node */
#pragma once

#include <stdbool.h>

struct cluster;
struct instant;
struct process;

/* process_fits_elsewhere - on a node on which its job did not fail to start; at_once: which has
 * room now. Linear in the nodes */
bool process_fits_elsewhere(const struct cluster *cluster, const struct process *process,
                            bool at_once, struct instant now);
