/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - groups of users as people make them, by number */
#pragma once

#include "scheduler/core/model/groups.h"

struct sim;

#define SIM_USERS 5
#define SIM_GROUPS_MAX 3

struct sim_groups {
    struct group_spec specs[SIM_GROUPS_MAX];
    uint32_t n;
    uint32_t of_user[SIM_USERS];         /* 1 + its group; 0: none */
    uint64_t user_millicores[SIM_USERS]; /* the limit of each; 0: none. Those of groups: specs */
    bool unlimited;                      /* the calm has come: limits are lifted */
};

/* groups_make - of a number; what there is from now on
 * groups_lift - nobody has a limit from now on */
void groups_make(struct sim *sim, uint64_t number);
void groups_lift(struct sim *sim);
const char *groups_user(uint32_t user);
/* groups_table - as the core is told of them; NULL: there are none. The caller's */
struct group_table *groups_table(const struct sim *sim);
