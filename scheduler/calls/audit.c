/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - see audit.h; a refused call changed nothing, and is in the log of auth.c only */
#include "scheduler/calls/audit.h"

#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/accounts/users.h"
#include "shared/clock.h"
#include "shared/http_server.h"
#include "shared/log.h"

void audit_take(struct scheduler *scheduler, struct held *held, unsigned status)
{
    struct audit_entry entry = { .status = status };
    struct caller caller;

    if (held->audited || held->request == NULL ||
        (http_request_route(held->request)->flags & ROUTE_PEOPLE) == 0 ||
        auth_caller(scheduler, held->request, &caller) == 0)
        return;
    held->audited = true;
    entry.wall_us = clock_instant().wall_us;
    entry.user = caller.user;
    entry.via = caller.via;
    entry.method = http_request_method(held->request);
    entry.target = http_request_target(held->request);
    entry.request_id = http_request_id(held->request);
    users_note(scheduler->users, &entry);
}

void audit_log(const struct account_change *changes, size_t n)
{
    log_hold();
    for (size_t i = 0; i < n; i++) {
        const struct account_change *change = &changes[i];

        if (change->kind == ACCOUNT_AUDIT)
            log_entry(LOG_LEVEL_INFO,
                      &(struct log_subject){ .message = MESSAGE_AUDIT,
                                             .user = change->name,
                                             .request = change->request_id },
                      "audit: %s %s %.400s: %u (%s, request %.80s)", change->name, change->method,
                      change->target, change->status, change->via, change->request_id);
    }
    log_release();
}
