/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.h - what single options of the agent take: ranges, lists, numbers with bounds
 *
 * Each stores the value of an option, and returns -EINVAL when the text is none, or another code
 * with error when the text alone does not show what is wrong with it.
 *
 * Used by: options.c. Tests: tests/unit/test_agent_options.c. */
#pragma once

struct agent_options;
struct edl_error;

int option_ports(const char *text, struct agent_options *options);
int option_user_range(const char *text, struct agent_options *options, struct edl_error *error);
int option_runtime(const char *text, struct agent_options *options);
int option_gpus(const char *text, struct agent_options *options, struct edl_error *error);
int option_gpu_numa(const char *text, struct agent_options *options);
int option_cut_off_kill(const char *text, struct agent_options *options, struct edl_error *error);
int option_log_max(const char *text, struct agent_options *options, struct edl_error *error);
int option_tasks_max(const char *text, struct agent_options *options, struct edl_error *error);
