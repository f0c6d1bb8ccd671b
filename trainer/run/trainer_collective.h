/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_collective.h - a network trained by a group of processes without servers
 *
 * Each process keeps all values. Steps, ranks that come and go, and sums are libedl's (edl_group),
 * the part of a step is group_member's. Without an agent the process is a group of one. */
#pragma once

struct edl_error;
struct network_job;

/* network_collective - until all passes are trained; rank 0 measures the values and saves the model
 * to output_dir/model, and a checkpoint of a step that all have now and then Returns 0, -EINTR when
 * told to stop (the others go on), -EINVAL: what is asked for, -EDOM: it has diverged; and what
 * data, files and libedl give. */
int network_collective(const struct network_job *job, struct edl_error *error);
