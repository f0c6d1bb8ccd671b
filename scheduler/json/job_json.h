/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.h - jobs and processes as the API shows them */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct job;
struct process;
struct usage;

/* job_to_json - new reference; with_spec: the normalised document, too */
json_t *job_to_json(const struct job *job, const char *policy, bool with_spec);
/* job_json_mask - of a job with its document, for who is not its owner: names of variables stay,
 * values do not, nor who is told of it */
#define ENV_MASKED "(hidden)"
void job_json_mask(json_t *job);
json_t *job_tasks_to_json(const struct job *job);
json_t *job_metrics_to_json(const struct job *job); /* null when its processes gave none */
json_t *process_to_json(const struct process *process);

/* usage_to_json - core-seconds, GPU-seconds and GiB-seconds of each kind; new reference */
json_t *usage_to_json(const struct usage *usage);

/* ports_to_json - new reference */
json_t *ports_to_json(const struct process *process);

/* gpus_to_json - the devices of a mask, [0,3]; new reference */
json_t *gpus_to_json(uint64_t mask);

/* process_address - where others reach it; "" when its node was removed */
const char *process_address(const struct process *process);
