/* SPDX-License-Identifier: Apache-2.0 */
/* block_placement.c - see block_placement.h */
#include "trainer/parameters/block_placement.h"

#include <errno.h>

#include "shared/error.h"
#include "shared/macro.h"

#define FNV_OFFSET UINT32_C(2166136261)
#define FNV_PRIME UINT32_C(16777619)
#define BLOCK_BITS 7 /* of BLOCK_PLACEMENT_BLOCKS_MAX */

_Static_assert(1 << BLOCK_BITS == BLOCK_PLACEMENT_BLOCKS_MAX, "blocks of a service");

int block_placement_check(const struct block_placement *placement, uint32_t n_servers,
                          struct edl_error *error)
{
    const uint32_t dense = placement->dense_ports, sparse = placement->sparse_ports;

    if (dense == 0 && sparse == 0)
        return 0;
    if (dense == 0 || dense > BLOCK_PLACEMENT_PORTS_MAX || sparse > BLOCK_PLACEMENT_PORTS_MAX)
        return edl_error_set(error, -EINVAL,
                             "--ports_num and --ports_num_for_sparse are %u and %u; 1 to %d and 0 "
                             "to %d are possible",
                             dense, sparse, BLOCK_PLACEMENT_PORTS_MAX, BLOCK_PLACEMENT_PORTS_MAX);
    if (n_servers % (dense + sparse) == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL,
                        "%u server%s not whole hosts of --ports_num=%u and "
                        "--ports_num_for_sparse=%u",
                        n_servers, n_servers == 1 ? " is" : "s are", dense, sparse);
    return edl_error_remedy(error, "list each host with all of its %u ports", dense + sparse);
}

struct block_placement_role block_placement_role(const struct block_placement *placement,
                                                 uint32_t server, uint32_t n_servers)
{
    const uint32_t dense = placement->dense_ports, sparse = placement->sparse_ports;
    const uint32_t ports = dense + sparse, hosts = n_servers / ports;
    const uint32_t host = server / ports, port = server % ports;
    struct block_placement_role role = { .dense = BLOCK_PLACEMENT_NONE,
                                         .n_dense = hosts * dense,
                                         .sparse = BLOCK_PLACEMENT_NONE,
                                         .n_sparse = hosts * (sparse > 0 ? sparse : dense) };

    if (port < dense)
        role.dense = host * dense + port;
    if (sparse == 0)
        role.sparse = role.dense;
    else if (port >= dense)
        role.sparse = host * sparse + port - dense;
    return role;
}

uint32_t block_placement_hash(const char *name)
{
    uint32_t hash = FNV_OFFSET;

    for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
        hash = (hash ^ *p) * FNV_PRIME;
    return hash;
}

uint64_t block_placement_values(uint64_t dense_values, uint32_t services)
{
    uint64_t values = BLOCK_PLACEMENT_VALUES_MIN;

    while (values <= dense_values / services >> BLOCK_BITS)
        values *= 2;
    return values;
}

uint32_t block_placement_first(const char *name, uint32_t service, uint32_t n_services)
{
    return (service + n_services - block_placement_hash(name) % n_services) % n_services;
}
