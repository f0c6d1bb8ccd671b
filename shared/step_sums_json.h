/* SPDX-License-Identifier: Apache-2.0 */
/* step_sums_json.h - struct step_sums as calls carry it:
 * {"step": 1200, "steps": 37, "samples": 4736, "compute_us": 812345, "wait_us": 12345} */
#pragma once

#include <jansson.h>

struct edl_error;
struct step_sums;

/* step_sums_from_json - a member that is absent is 0, an unknown one is passed over; -EINVAL with a
 * pointer, from the value on, unless each is a whole number from 0 to STEP_SUM_MAX */
int step_sums_from_json(const json_t *value, struct step_sums *ret, struct edl_error *error);
json_t *step_sums_to_json(const struct step_sums *sums);
