/* SPDX-License-Identifier: Apache-2.0 */
/* usage_question.h - what processes use, as the agent asks its prober */
#pragma once

#include <jansson.h>

#define USAGE_QUESTION_MAX ((size_t)160 * 1024) /* as text: the kernel takes messages so long */

/* usage_answer - measures each tree of the question; new object. What is not as it should be in the
 * question is left out.
 *
 *     {"trees": [{"id", "root", "cgroup", "cgroup_legacy", "absent", "stuck"}]}
 *     {"busy_ticks", "memory_bytes", "available_bytes",
 *      "trees": [{"id", "absent", "cpu_used_us", "memory_used_bytes", "memory_peak_bytes", "tasks",
 *                 "stuck"}]}
 *
 * "stuck" asks why a process that was killed is still there, and says so. */
json_t *usage_answer(const json_t *question);
