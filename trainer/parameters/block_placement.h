/* SPDX-License-Identifier: Apache-2.0 */
/* block_placement.h - which parameter server has which block, as PaddlePaddle spreads them
 *
 * Each host has some ports for dense parameters and, behind them, some for rows. A dense parameter
 * is cut into blocks of the same number of floats; each row of a sparse one is a block. Hosts times
 * ports of a kind are the services of that kind. A block goes to the service
 * (its number + hash of the parameter's name) modulo the services. Source of sizes and order:
 * pserver/ParameterClient2.cpp of PaddlePaddle 0.11; the hash is FNV-1a of 32 bits, as in its Go
 * client. Pure. */
#pragma once

#include <stdint.h>

struct edl_error;

#define BLOCK_PLACEMENT_PORTS_MAX 255    /* of a kind; a byte in a declaration */
#define BLOCK_PLACEMENT_VALUES_MIN 1024u /* floats */
#define BLOCK_PLACEMENT_BLOCKS_MAX 128   /* of a service, beside one more for each parameter */
#define BLOCK_PLACEMENT_NONE UINT32_MAX

/* Of each host. 0 and 0: another rule, that of shard.h, with one kind of server. */
struct block_placement {
    uint32_t dense_ports;
    uint32_t sparse_ports; /* 0: rows go to the dense ports */
};

/* What one server is. */
struct block_placement_role {
    uint32_t dense,
        n_dense; /* number among the services of dense blocks, or BLOCK_PLACEMENT_NONE */
    uint32_t sparse, n_sparse; /* the same of rows */
};

/* block_placement_check - that so many servers are whole hosts of these ports; -EINVAL names the
 * flags */
int block_placement_check(const struct block_placement *placement, uint32_t n_servers,
                          struct edl_error *error);

/* block_placement_role - of a server by its number in the list of hosts, each with all its ports;
 * both were checked */
struct block_placement_role block_placement_role(const struct block_placement *placement,
                                                 uint32_t server, uint32_t n_servers);

/* block_placement_hash - of a parameter's name: FNV-1a */
uint32_t block_placement_hash(const char *name);

/* block_placement_values - floats of a block when so many are spread over the services: a power of
 * two, of which a service has about BLOCK_PLACEMENT_BLOCKS_MAX or fewer */
uint64_t block_placement_values(uint64_t dense_values, uint32_t services);

/* block_placement_first - the first block of a parameter on a service; the others are each
 * n_services further */
uint32_t block_placement_first(const char *name, uint32_t service, uint32_t n_services);
