/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_nodes.h - what the scheduler is told and asked of the hosts once all are done */
#pragma once

struct run;

/* deploy_nodes_await_ready - every host that changed has reported as a node; notes where one has
 * not within a minute. Blocks. */
void deploy_nodes_await_ready(struct run *run);

/* deploy_nodes_forget - the hosts that were removed are nodes no more; notes those that the
 * scheduler keeps. Blocks for a lease. */
void deploy_nodes_forget(struct run *run);
