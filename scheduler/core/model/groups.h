/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - groups of users, and the share of the cluster that each is guaranteed
 *
 * Told to the core as plain data and never changed by it: the maker of a table keeps it as long as
 * a cluster has it (cluster_config.groups, cluster_set_groups). A user in no group is in the first
 * of the table, which has no name and no guarantee. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct job;
struct process;
struct resources;

#define GROUPS_MAX 64 /* with a name */
#define GROUP_NAME_MAX 32
#define GROUP_WEIGHT_MAX 1000

/* Of all jobs of an owner together, but for the last; 0: no limit (owner_limits.h) */
struct owner_limits {
    uint64_t cpu_millicores, gpus; /* that they hold at once */
    uint64_t jobs;                 /* that are not over */
    uint64_t time_us;              /* the largest time limit of one */
};

struct group_spec {
    char name[GROUP_NAME_MAX + 1];
    uint32_t guaranteed_permille; /* of the cores, and of the GPUs, of the nodes that take work */
    uint32_t weight;              /* 1..GROUP_WEIGHT_MAX: of the room beyond all guarantees */
    struct owner_limits limits;
};

/* A user or a group with limits. */
struct owner {
    const char *name; /* borrowed from the table */
    bool is_group;
    struct owner_limits limits;
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

/* owner_limits_any - whether one is set */
bool owner_limits_any(const struct owner_limits *limits);
/* group_table_limit_user - before the table is given to a cluster; limits that are none are passed
 * by */
void group_table_limit_user(struct group_table *table, const char *user,
                            const struct owner_limits *limits);
/* group_table_n_owners - those that have limits. table may be NULL: 0
 * group_table_owner - one of them
 * group_table_find_owner - the user or group of that name; -1: it has no limit
 * group_table_owners_of - which of them the jobs of the user have; at most 2, their number */
size_t group_table_n_owners(const struct group_table *table);
const struct owner *group_table_owner(const struct group_table *table, uint32_t index);
int32_t group_table_find_owner(const struct group_table *table, const char *name, bool is_group);
uint32_t group_table_owners_of(const struct group_table *table, const char *user, uint32_t ret[2]);

/* cluster_set_groups - other groups, members or shares; table is borrowed until the next call,
 * NULL: none. Nobody is stopped by it: the next plan shares anew. It has no effects: whoever keeps
 * the groups tells them again after a restart. Linear in the jobs that are not over. */
void cluster_set_groups(struct cluster *cluster, const struct group_table *table);
