/* SPDX-License-Identifier: Apache-2.0 */
/* inherited.h - listening sockets that a service manager holds for us (sd_listen_fds(3))
 *
 * They outlive the scheduler: a caller that connects while it restarts waits in their queue. Where
 * it listens is said by --listen all the same; a socket is only taken instead of one made here. */
#pragma once

#include <stdbool.h>

#include "scheduler/calls/listen_spec.h"

struct edl_error;

struct inherited {
    int n;
    bool taken[LISTEN_MAX];
};

/* inherited_find - what was passed to this process; later children get none of it
 * -E2BIG for more than there can be places */
int inherited_find(struct inherited *ret, struct edl_error *error);

/* inherited_take - the descriptor for this place, now the caller's; -1 when none was passed */
int inherited_take(struct inherited *inherited, const struct listen_spec *spec);

/* inherited_check - none is left over: nobody would ever answer there. -EINVAL with remedy */
int inherited_check(const struct inherited *inherited, struct edl_error *error);
