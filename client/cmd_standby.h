/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_standby.h - `edl admin standby`: more schedulers on one database */
#pragma once

#include "client/verb.h"

struct server;

/* standby_run - args: "standby", then add NAME, remove NAME or list */
int standby_run(const struct invocation *invocation);

/* schedulers_print - below the nodes: the leader, the standbys, the copies of the database; nothing
 * where there is only one scheduler, or one that does not tell */
void schedulers_print(struct server *server);
