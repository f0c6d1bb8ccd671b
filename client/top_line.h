/* SPDX-License-Identifier: Apache-2.0 */
/* top_line.h - the monitor's line for one answer of GET /cluster */
#pragma once

#include <jansson.h>

#define TOP_HEADER "SUBMITTED-JOBS    PENDING-JOBS    RUNNING-TRAINERS    CPU-UTILS"

/* top_line - "3    1    example2:0|example:5    68.40%", new string */
char *top_line(const json_t *cluster);
