/* SPDX-License-Identifier: Apache-2.0 */
/* process_id_json.h - identity of a process in the bodies of calls */
#pragma once

#include <jansson.h>

#include "agent/core/process_id.h"

struct edl_error;

/* process_id_from_json - keys job_id, role, index, incarnation of an object; -EINVAL with error */
int process_id_from_json(const json_t *object, struct process_id *ret, struct edl_error *error);

/* process_id_json - new object with the four keys */
json_t *process_id_json(const struct process_id *id);
