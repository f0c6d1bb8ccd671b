/* SPDX-License-Identifier: Apache-2.0 */
/* log_names.h - the logs of our own trainers and parameter servers under the names that those of
 * PaddlePaddle have: train.log, server.log, paddle_trainer.INFO, paddle_pserver2.INFO */
#pragma once

#include <jansson.h>

#include "agent/core/process_id.h"

struct layout;

/* log_names_point - links beside the log of a process that is about to start, if its order runs
 * such a program; where a node has several of a job, they lead to the one that was started last. A
 * failure is logged: nothing depends on them. */
void log_names_point(const struct layout *layout, const struct process_id *id, const json_t *order);
