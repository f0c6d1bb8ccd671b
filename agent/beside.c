/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c - `edl-agent --join-only` where an agent runs already: it joins in that one's stead
 *
 * A node that was removed has an agent that still runs, and asks again and again. It lacks
 * the credential alone: the program of the join line fetches one into the state folder, and the
 * agent finds it there at its next try. So no process is touched, and nothing has to be stopped. */
#include "agent/beside.h"

#include "agent/agent.h"
#include "agent/agent_internal.h"
#include "agent/link/link.h"
#include "agent/link/membership.h"
#include "agent/machine/inventory.h"
#include "agent/machine/machine_id.h"
#include "agent/options.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

static void on_joined(void *userdata)
{
    struct agent *a = userdata;

    (void)sd_event_exit(a->event, 0);
}

static int open_link(struct agent *a, struct edl_error *error)
{
    const struct link_config config = {
        .servers = &a->member.servers,
        .node = a->layout.node,
        .ca_path = a->member.ca_path,
        .join_token = a->options->token,
        .state_dir = a->layout.state_dir,
        .heartbeat_us = a->options->heartbeat_us,
        .join_body = agent_join_body,
        .on_joined = on_joined,
        .on_rejected = agent_on_rejected,
        .userdata = a,
    };

    return link_new(a->event, &config, &a->link, error);
}

/* What a join tells of the machine; the agent that runs tells the rest with its next report. */
static int look_around(struct agent *a, struct edl_error *error)
{
    const struct inventory_offer offer = agent_offer_of(a->options);
    int r = clock_boot_id(a->boot_id, sizeof a->boot_id);

    machine_id(a->machine_id);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read the boot id");
    return inventory_init(&a->inventory, &offer, true, error);
}

static int join(struct agent *a, struct edl_error *error)
{
    int r = sd_event_default(&a->event);

    if (r < 0)
        return edl_error_errno(error, r, "cannot make an event loop");
    r = open_link(a, error);
    if (r < 0)
        return r;
    r = sd_event_loop(a->event);
    if (r < 0)
        return edl_error_errno(error, r, "the event loop failed");
    if (a->rejection.code == 0)
        log_info("the agent that runs here goes on as node %s", a->layout.node);
    *error = a->rejection;
    return error->code;
}

int agent_join_beside(const struct agent_options *options, struct edl_error *error)
{
    struct agent *a = xcalloc(1, sizeof *a);
    int r;

    a->options = a->now = options;
    a->lock_fd = a->runtime_fd = -1;
    r = layout_init(options, &a->layout, error);
    if (r == 0)
        r = membership_open(options, a->layout.state_dir, &a->member, error);
    if (r == 0) {
        a->layout.node = xstrdup(a->member.node);
        r = look_around(a, error);
    }
    if (r == 0)
        r = join(a, error);
    (void)agent_free(a);
    return r;
}
