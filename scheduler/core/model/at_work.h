/* SPDX-License-Identifier: Apache-2.0 */
/* at_work.h - which instances work: they took a task, or are together with others */
#pragma once

struct cluster;
struct instant;
struct process;

/* process_works - it took a task, or is together with others; process_waits - it has arrived and
 * waits for others. Idempotent */
void process_works(struct cluster *cluster, struct process *process, struct instant now);
void process_waits(struct cluster *cluster, struct process *process, struct instant now);
