/* SPDX-License-Identifier: Apache-2.0 */
/* action.h - verbs that have actions: `edl user add ann`, `edl token list` */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct invocation;
struct server;

struct action {
    const char *name;
    size_t n_args; /* behind the action's name */
    int (*run)(const struct invocation *invocation, struct server *server);
    size_t more_args;   /* so many may follow; SIZE_MAX: any number */
    bool takes_command; /* behind "--" */
};

/* action_run - finds the action that the first argument names, opens the server, runs it, closes
 * it. Returns enum status. */
int action_run(const struct invocation *invocation, const struct action *actions, size_t n);
