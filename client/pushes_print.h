/* SPDX-License-Identifier: Apache-2.0 */
/* pushes_print.h - `edl show`: how many pushes of each trainer the parameter servers took */
#pragma once

#include <jansson.h>

/* pushes_print - a line for each trainer, of what all live servers of the job told; nothing when
 * none told. processes: of GET /jobs/JOB/processes */
void pushes_print(const json_t *processes);
