/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the root object of edl-agent and its loop */
#pragma once

struct agent;
struct agent_options;
struct edl_error;

/* agent_new - state folder locked, processes of an earlier agent adopted, socket open
 * options: borrowed for the agent's life. */
int agent_new(const struct agent_options *options, struct agent **ret, struct edl_error *error);

/* agent_run - until SIGTERM or SIGINT; processes go on unless they are to be stopped */
int agent_run(struct agent *agent, struct edl_error *error);

struct agent *agent_free(struct agent *agent);
