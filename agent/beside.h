/* SPDX-License-Identifier: Apache-2.0 */
/* beside.h - joins the cluster for the agent that runs on this state folder
 *
 * Tests: tests/integration/281-rejoin.sh. */
#pragma once

struct agent_options;
struct edl_error;

/* agent_join_beside - until the scheduler has taken the node, and the credential is kept
 * For --join-only, when agent_new says -EBUSY. A node that is a member still gets another
 * credential, with which its agent goes on. Errors: EDL_ECONFIG of another node or cluster; what
 * the scheduler says when it refuses the token. */
int agent_join_beside(const struct agent_options *options, struct edl_error *error);
