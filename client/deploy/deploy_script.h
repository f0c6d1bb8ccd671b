/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_script.h - what is run at a host for each step: POSIX sh, as text
 *
 * Pure. A script tells facts as lines "edl:KEY=VALUE" (deploy_core.h). No secret stands in one:
 * every account of the host can read command lines; passwords and tokens come over its standard
 * input. */
#pragma once

#include "client/deploy/deploy_core.h"

struct edl_error;

/* Where a host joins; of the scheduler's answer to POST /tokens/join. */
struct deploy_join {
    const char *server, *ca_pin; /* "": none; server: URL[,URL...] */
    const char *token;           /* goes over standard input; NULL: it is a node already */
};

/* deploy_script - for host->step; join is for DEPLOY_JOIN only. The caller's to free. Never NULL
 * for a step that has a script. */
char *deploy_script(const struct deploy_plan *plan, const struct deploy_host *host,
                    const struct deploy_join *join);

/* deploy_script_needs_password - its first line of standard input is the password for sudo */
bool deploy_script_needs_password(const struct deploy_host *host);

/* deploy_script_patience_s - how long it may say nothing before the host counts as silent */
unsigned int deploy_script_patience_s(enum deploy_step step);
