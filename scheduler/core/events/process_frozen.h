/* SPDX-License-Identifier: Apache-2.0 */
/* process_frozen.h - processes that stood still because their node was cut off */
#pragma once

struct cluster;
struct instant;
struct process;
struct process_report;

void process_take_frozen(struct cluster *cluster, struct process *process,
                         const struct process_report *report, struct instant now);
