/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - the table of groups */
#include "scheduler/core/model/groups.h"

#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/waiting.h"

struct member {
    char *user; /* owned */
    uint32_t group;
    UT_hash_handle hh;
};

/* A user with limits. */
struct limited {
    char *user;     /* owned */
    uint32_t owner; /* index */
    UT_hash_handle hh;
};

struct group_table {
    struct group_spec items[GROUPS_MAX + 1];
    size_t n;
    struct member *members; /* uthash by user, owned */
    struct owner *owners;   /* n_owners; owned */
    uint32_t n_owners;
    int32_t group_owner[GROUPS_MAX + 1]; /* index in them; -1: it has no limits */
    struct limited *limited;             /* uthash by user, owned */
};

/* --- the table --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct group_spec *)a)->name, ((const struct group_spec *)b)->name);
}

static uint32_t find_group(const struct group_table *table, const char *name)
{
    for (uint32_t i = 1; i < table->n; i++)
        if (streq(table->items[i].name, name))
            return i;
    return 0;
}

bool owner_limits_any(const struct owner_limits *limits)
{
    return limits->cpu_millicores != 0 || limits->gpus != 0 || limits->jobs != 0 ||
           limits->time_us != 0;
}

static uint32_t add_owner(struct group_table *table, const char *name, bool is_group,
                          const struct owner_limits *limits)
{
    table->owners = xreallocarray(table->owners, table->n_owners + 1, sizeof *table->owners);
    table->owners[table->n_owners] =
        (struct owner){ .name = name, .is_group = is_group, .limits = *limits };
    return table->n_owners++;
}

static void limit_groups(struct group_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        table->group_owner[i] = -1;
        if (owner_limits_any(&table->items[i].limits))
            table->group_owner[i] =
                (int32_t)add_owner(table, table->items[i].name, true, &table->items[i].limits);
    }
}

void group_table_limit_user(struct group_table *table, const char *user,
                            const struct owner_limits *limits)
{
    struct limited *limited;

    HASH_FIND_STR(table->limited, user, limited);
    if (limited != NULL || !owner_limits_any(limits))
        return;
    limited = xcalloc(1, sizeof *limited);
    limited->user = xstrdup(user);
    limited->owner = add_owner(table, limited->user, false, limits);
    HASH_ADD_KEYPTR(hh, table->limited, limited->user, strlen(limited->user), limited);
}

size_t group_table_n_owners(const struct group_table *table)
{
    return table != NULL ? table->n_owners : 0;
}

const struct owner *group_table_owner(const struct group_table *table, uint32_t index)
{
    return &table->owners[index];
}

int32_t group_table_find_owner(const struct group_table *table, const char *name, bool is_group)
{
    struct limited *limited = NULL;
    uint32_t group;

    if (group_table_n_owners(table) == 0)
        return -1;
    if (!is_group) {
        HASH_FIND_STR(table->limited, name, limited);
        return limited != NULL ? (int32_t)limited->owner : -1;
    }
    group = find_group(table, name);
    return group > 0 ? table->group_owner[group] : -1;
}

uint32_t group_table_owners_of(const struct group_table *table, const char *user, uint32_t ret[2])
{
    struct limited *limited = NULL;
    uint32_t group, n = 0;

    if (group_table_n_owners(table) == 0)
        return 0;
    HASH_FIND_STR(table->limited, user, limited);
    if (limited != NULL)
        ret[n++] = limited->owner;
    group = group_table_index(table, user);
    if (table->group_owner[group] >= 0)
        ret[n++] = (uint32_t)table->group_owner[group];
    return n;
}

struct group_table *group_table_new(const struct group_spec *specs, size_t n_specs,
                                    const struct group_member *members, size_t n_members)
{
    struct group_table *table = xcalloc(1, sizeof *table);
    struct member *member;

    table->items[0].weight = 1;
    table->n = 1 + MIN_OF(n_specs, (size_t)GROUPS_MAX);
    if (table->n > 1)
        memcpy(&table->items[1], specs, (table->n - 1) * sizeof *specs);
    qsort(&table->items[1], table->n - 1, sizeof *specs, compare_names);
    limit_groups(table);
    for (size_t i = 0; i < n_members; i++) {
        uint32_t group = find_group(table, members[i].group);

        HASH_FIND_STR(table->members, members[i].user, member);
        if (group == 0 || member != NULL)
            continue;
        member = xcalloc(1, sizeof *member);
        member->user = xstrdup(members[i].user);
        member->group = group;
        HASH_ADD_KEYPTR(hh, table->members, member->user, strlen(member->user), member);
    }
    return table;
}

struct group_table *group_table_free(struct group_table *table)
{
    struct member *member, *next;
    struct limited *limited, *next_limited;

    if (table == NULL)
        return NULL;
    HASH_ITER(hh, table->limited, limited, next_limited)
    {
        HASH_DEL(table->limited, limited);
        free(limited->user);
        free(limited);
    }
    free(table->owners);
    HASH_ITER(hh, table->members, member, next)
    {
        HASH_DEL(table->members, member);
        free(member->user);
        free(member);
    }
    free(table);
    return NULL;
}

const struct group_spec *group_table_all(const struct group_table *table, size_t *ret_n)
{
    *ret_n = table->n;
    return table->items;
}

uint32_t group_table_index(const struct group_table *table, const char *user)
{
    struct member *member = NULL;

    if (table != NULL)
        HASH_FIND_STR(table->members, user, member);
    return member != NULL ? member->group : 0;
}

/* cluster_set_groups - see groups.h */
void cluster_set_groups(struct cluster *cluster, const struct group_table *table)
{
    struct job *job;

    cluster->config.groups = table;
    cluster->groups_version++;
    DL_FOREACH2(cluster->active, job, active_next)
    {
        job->group = group_table_index(table, job->user);
        if (job->filed) {
            job_unfile(cluster, job);
            job_file(cluster, job);
            job->was_told = true;
        }
        job_touch(cluster, job);
    }
    cluster->plan_wanted = true;
}
