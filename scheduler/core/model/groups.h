/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - groups of users, and the share of the cluster that each is guaranteed
 *
 * Told to the core as plain data and never changed by it: the maker of a table keeps it as long as
 * a cluster has it (cluster_config.groups, cluster_set_groups). A user in no group is in the first
 * of the table, which has no name and no guarantee. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cluster;
struct job;
struct process;
struct resources;

#define GROUPS_MAX 64 /* with a name */
#define GROUP_NAME_MAX 32
#define GROUP_WEIGHT_MAX 1000

struct group_spec {
    char name[GROUP_NAME_MAX + 1];
    uint32_t guaranteed_permille; /* of the cores, and of the GPUs, of the nodes that take work */
    uint32_t weight;              /* 1..GROUP_WEIGHT_MAX: of the room beyond all guarantees */
};

struct group_member {
    const char *user;
    const char *group; /* an unknown one counts as none */
};

struct group_table;

/* group_table_new - everything is copied; the guarantees of at most GROUPS_MAX specs come to 1000
 * at most. Their order does not matter. */
struct group_table *group_table_new(const struct group_spec *specs, size_t n_specs,
                                    const struct group_member *members, size_t n_members);
struct group_table *group_table_free(struct group_table *table); /* accepts NULL; returns NULL */
/* group_table_all - by name, the one without a name first */
const struct group_spec *group_table_all(const struct group_table *table, size_t *ret_n);
/* group_table_index - of a user's group in that list. table may be NULL: 0 */
uint32_t group_table_index(const struct group_table *table, const char *user);

/* cluster_set_groups - other groups, members or shares; table is borrowed until the next call,
 * NULL: none. Nobody is stopped by it: the next plan shares anew. It has no effects: whoever keeps
 * the groups tells them again after a restart. Linear in the jobs that are not over. */
void cluster_set_groups(struct cluster *cluster, const struct group_table *table);
