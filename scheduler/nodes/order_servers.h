/* SPDX-License-Identifier: Apache-2.0 */
/* order_servers.h - where a process finds the parameter servers of its job, in PaddlePaddle's words
 *
 * PADDLE_INIT_PSERVERS, PADDLE_INIT_PORT, PADDLE_INIT_PORTS_NUM, PADDLE_INIT_PORTS_NUM_FOR_SPARSE:
 * true at the moment of the order. Servers with allocated ports have one each; without, they listen
 * where the job's document says. */
#pragma once

#include <jansson.h>

struct process;

/* order_servers - the list is left out while a server waits to be placed again, and of more than
 * 1,024 servers */
void order_servers(json_t *env, const struct process *process);
