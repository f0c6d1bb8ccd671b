/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - what an agent is told: the processes its node should have, and how to start each */
#pragma once

#include <jansson.h>

struct account_numbers;
struct log_hub;
struct node;
struct process;

/* orders_to_json - {"version","processes":[ORDER...],"logs":[...]}; new reference. logs NULL: none
 * wanted. numbers: of the accounts that processes run as, NULL: not told; a process whose number is
 * being asked for is left out */
json_t *orders_to_json(const struct node *node, const struct log_hub *logs,
                       struct account_numbers *numbers);

/* order_to_json - one process' ORDER, with the members that start it until its agent has reported
 * it; new reference */
json_t *order_to_json(const struct process *process);

/* order_environment - upstream's variables, torchrun's, Open MPI's, ours, and the job's own; new
 * reference The job's own win over everything but EDL_*. The agent adds what only the node knows.
 */
json_t *order_environment(const struct process *process);
