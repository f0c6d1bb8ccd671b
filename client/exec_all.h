/* SPDX-License-Identifier: Apache-2.0 */
/* exec_all.h - one command beside every running process of a job, several at a time
 *
 * Each line of output stands behind the name of its process, as `edl logs` has it. The commands
 * have no standard input. */
#pragma once

#include <jansson.h>

struct server;

/* exec_all - body: of a request, borrowed. Prints failures. The worst exit status of all */
int exec_all(struct server *server, const char *job, const json_t *body);
