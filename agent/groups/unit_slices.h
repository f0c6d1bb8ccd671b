/* SPDX-License-Identifier: Apache-2.0 */
/* unit_slices.h - what the slice of each job weighs: as much as its processes on this node together
 *
 * A control group shares with its neighbours: a unit with those of the same job, a job's slice with
 * those of other jobs. With one weight for all slices a job of eight cores had no more than a job
 * of one when cores are short. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct unit_slices;

/* unit_slices_new, unit_slices_free - free accepts NULL and returns NULL */
struct unit_slices *unit_slices_new(void);
struct unit_slices *unit_slices_free(struct unit_slices *slices);

/* unit_slices_weigh - the processes of a job that are here weigh so much; 0: there is none.
 * Returns whether systemd has to be told, should the slice be there */
bool unit_slices_weigh(struct unit_slices *slices, uint64_t job_id, uint64_t cpu_weight);

/* unit_slices_made - systemd is asked for the slice; returns its CPUWeight, which counts as told:
 * 1 to 10000, 100 where nothing was said of the job */
uint64_t unit_slices_made(struct unit_slices *slices, uint64_t job_id);

/* unit_slices_untold - it was there already, and weighs what it did */
void unit_slices_untold(struct unit_slices *slices, uint64_t job_id);

/* told - one that is returned true for counts as told */
typedef bool (*unit_slices_tell_fn)(uint64_t job_id, uint64_t cpu_weight, void *userdata);

/* unit_slices_tell - calls tell for each of which systemd does not know what it weighs now */
void unit_slices_tell(struct unit_slices *slices, unit_slices_tell_fn tell, void *userdata);
