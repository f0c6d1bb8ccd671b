/* SPDX-License-Identifier: Apache-2.0 */
/* node_json.h - nodes as agents report them and as the API shows them */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct machine;
struct node;
struct node_offer;

/* node_offer_from_json - what a join or a report says the node has
 * labels, numa_nodes and gpu_numa may be absent. Errors: -EINVAL with the pointer of the member.
 */
int node_offer_from_json(const json_t *body, struct node_offer *ret, struct edl_error *error);

/* ports_foreign_from_json - the ports of a report that others listen on, rising, at most
 * AGENT_PORTS_FOREIGN_MAX: *ret, the caller's to free; NULL: none. Beside those of the range that
 * is offered more may be told. A number that does not rise, is no port or is too much is left out,
 * and is no reason to lose the node. -EINVAL with the key when it is no list */
int ports_foreign_from_json(const json_t *body, uint16_t **ret, size_t *ret_n,
                            struct edl_error *error);

/* gpus_foreign_from_json - the devices of a report that are not free for a reason of the machine,
 * as a mask; none when it does not say. -EINVAL with pointer */
int gpus_foreign_from_json(const json_t *body, uint64_t *ret_mask, struct edl_error *error);
/* gpus_idle_from_json - the same of those that do nothing */
int gpus_idle_from_json(const json_t *body, uint64_t *ret_mask, struct edl_error *error);

/* node_to_json - new reference; "devices" lists each GPU with its NUMA node, its figures, and,
 * while one is granted, the process that holds it; "machine" its agent's figures, NULL: none yet */
json_t *node_to_json(const struct node *node, const struct machine *machine);
