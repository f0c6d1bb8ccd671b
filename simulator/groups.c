/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - groups of users as people make them: their members, and their guarantees
 *
 * A number is a table, out of a stream of its own. The scheduler keeps the newest one (it is on its
 * disk as soon as it was told). It tells the core of it, at once and after each restart. */
#include "simulator/internal.h"

#define WHOLE_PERMILLE 1000
#define LIMIT_STEP 500

/* Of about half of the owners, also below what their jobs hold. */
static void limit_some(struct sim *sim, uint64_t number)
{
    uint64_t random = stream(sim, "limits", number, 0);

    for (uint32_t i = 0; i < sim->groups.n; i++)
        if (random_below(&random, 2) == 0)
            sim->groups.specs[i].limits.cpu_millicores =
                LIMIT_STEP * (1 + random_below(&random, 12));
    for (uint32_t user = 0; user < SIM_USERS; user++)
        if (random_below(&random, 2) == 0)
            sim->groups.user_millicores[user] = LIMIT_STEP * (1 + random_below(&random, 8));
}

void groups_make(struct sim *sim, uint64_t number)
{
    struct sim_groups *groups = &sim->groups;
    uint64_t random = stream(sim, "groups", number, 0);
    uint64_t left = WHOLE_PERMILLE;

    *groups = (struct sim_groups){ .n = 1 + (uint32_t)random_below(&random, SIM_GROUPS_MAX),
                                   .unlimited = groups->unlimited };
    for (uint32_t i = 0; i < groups->n; i++) {
        struct group_spec *spec = &groups->specs[i];

        (void)snprintf(spec->name, sizeof spec->name, "g%u", i);
        spec->guaranteed_permille = (uint32_t)random_below(&random, left + 1);
        spec->weight = 1 + (uint32_t)random_below(&random, 3);
        left -= spec->guaranteed_permille;
    }
    for (uint32_t user = 0; user < SIM_USERS; user++)
        groups->of_user[user] = (uint32_t)random_below(&random, groups->n + 1);
    if (sim->config.limits && !groups->unlimited)
        limit_some(sim, number);
}

void groups_lift(struct sim *sim)
{
    sim->groups.unlimited = true;
    for (uint32_t i = 0; i < sim->groups.n; i++)
        sim->groups.specs[i].limits.cpu_millicores = 0;
    memset(sim->groups.user_millicores, 0, sizeof sim->groups.user_millicores);
}

const char *groups_user(uint32_t user)
{
    static const char *const names[] = { "u0", "u1", "u2", "u3", "u4" };

    _Static_assert(ELEMENTS(names) == SIM_USERS, "each user has a name");
    return names[user];
}

struct group_table *groups_table(const struct sim *sim)
{
    const struct sim_groups *groups = &sim->groups;
    struct group_spec specs[SIM_GROUPS_MAX];
    struct group_member members[SIM_USERS];
    struct group_table *table;
    size_t n = 0;

    if (!sim->config.groups)
        return NULL;
    memcpy(specs, groups->specs, sizeof specs);
    for (uint32_t i = 0; i < groups->n; i++) {
        if (sim->config.mutant == SIM_MUTANT_SHARE_LOWERED)
            specs[i].guaranteed_permille /= 2;
        if (sim->config.mutant == SIM_MUTANT_SHARES_MIXED_UP)
            specs[i].guaranteed_permille = groups->specs[(i + 1) % groups->n].guaranteed_permille;
        if (sim->config.mutant == SIM_MUTANT_LIMITS_UNTOLD)
            specs[i].limits.cpu_millicores = 0;
    }
    for (uint32_t user = 0; user < SIM_USERS; user++)
        if (groups->of_user[user] > 0)
            members[n++] = (struct group_member){ groups_user(user),
                                                  groups->specs[groups->of_user[user] - 1].name };
    table = group_table_new(specs, groups->n, members, n);
    for (uint32_t user = 0; user < SIM_USERS; user++) {
        const struct owner_limits limits = { .cpu_millicores = groups->user_millicores[user] };

        if (sim->config.mutant != SIM_MUTANT_LIMITS_UNTOLD)
            group_table_limit_user(table, groups_user(user), &limits);
    }
    return table;
}
