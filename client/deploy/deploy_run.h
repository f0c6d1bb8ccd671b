/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_run.h - a deployment to many hosts at once, from the first connection to the summary */
#pragma once

#include <stdbool.h>

#include "client/deploy/deploy_core.h"
#include "client/server.h"
#include "client/ssh/ssh_session.h"
#include "shared/host_list.h"

struct deploy_options {
    enum deploy_mode mode;
    struct ssh_options ssh;
    bool accept_new_keys; /* without a question */
    bool yes;             /* nor with one before a removal */
    bool json;
    const char *password; /* tried before anybody is asked; NULL: none */
    const char *packages; /* folder; NULL: what apt of this machine fetches */
};

/* deploy_run - returns enum status: STATUS_FAILED when a host failed. Prints everything. */
int deploy_run(const struct host_list *hosts, const struct deploy_options *options,
               struct server *server);
