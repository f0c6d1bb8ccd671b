/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_send.h - a folder of this machine as a workspace that every node can fetch
 *
 * Packed by edl-workspace, which lies beside this program, and sent unless the scheduler has it. */
#pragma once

#include "shared/workspace_id.h"

struct server;

/* workspace_send - prints what is wrong. Returns enum status; ret: sha256: and 64 digits */
int workspace_send(struct server *server, const char *folder, char ret[WORKSPACE_NAME_MAX + 1]);
