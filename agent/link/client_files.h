/* SPDX-License-Identifier: Apache-2.0 */
/* client_files.h - files for the accounts of this machine: the scheduler of its cluster
 *
 * The agent leaves address and authority in the file that the command `edl` reads
 * (client/client_conf.h). A file without its mark is the administrator's. */
#pragma once

#include <stdbool.h>

struct agent_options;
struct edl_error;
struct membership;

/* client_files_keep - writes client.conf and the ca.pem beside it, as they have to be now
 * Nothing for a scheduler that only this machine reaches, and nothing where options say so: without
 * --client-conf only as root with the default state folder. 1: written, 0: they are as they should
 * be, or not ours. Errors: those of writing */
int client_files_keep(const struct agent_options *options, const struct membership *member,
                      struct edl_error *error);

/* client_files_once - the same, once: told becomes true. Called when the scheduler has taken this
 * node, so it is there: people here may ask it as well. The log has the result. */
void client_files_once(const struct agent_options *options, const struct membership *member,
                       bool *told);
