/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - SIGHUP: files and command line are read again
 *
 * Options that are only looked at when something begins, or are told in each report, are taken
 * over. Options that the agent was built with need a restart, which disturbs no process, and are
 * told by name. Running processes are not touched: of a node that offers less than is granted the
 * scheduler waits for ends. */
#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "agent/agent_internal.h"
#include "agent/link/link.h"
#include "agent/logs/log_bound.h"
#include "agent/options.h"
#include "agent/workspace/workspaces.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"

struct inventory_offer agent_offer_of(const struct agent_options *o)
{
    return (struct inventory_offer){ .cpu_millicores = o->cpu_millicores,
                                     .memory_bytes = o->memory_bytes,
                                     .reserve_cpu_millicores = o->reserve_cpu_millicores,
                                     .reserve_memory_bytes = o->reserve_memory_bytes,
                                     .overcommit = o->overcommit };
}

static json_t *names_to_json(const struct agent_names *names)
{
    json_t *array = json_array();

    for (size_t i = 0; i < names->n; i++)
        (void)json_array_append_new(array, json_string(names->list[i]));
    return array;
}

json_t *agent_accounts_of(const struct agent_options *o)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:I, s:I, s:b}", "allow_users",
                     names_to_json(&o->allow_users), "allow_groups",
                     names_to_json(&o->allow_groups), "map_users", names_to_json(&o->map_users),
                     "default_user", o->default_user != NULL ? o->default_user : "", "user_first",
                     (json_int_t)o->user_range.first, "user_last", (json_int_t)o->user_range.last,
                     "allow_root", (int)o->allow_root);
}

static void tell(const struct option_change *change)
{
    const char *text = change->text != NULL ? change->text : "its default";

    if (change->taken)
        log_info("reload: %s is now %.200s", change->name, text);
    else
        log_entry(LOG_LEVEL_WARNING,
                  &(struct log_subject){ .message = MESSAGE_AGENT_RELOAD_NEEDS_RESTART },
                  "reload: %s is to be %.200s: this needs a restart, which disturbs no process",
                  change->name, text);
}

static void tell_all(const struct agent *a, const struct agent_options *newer)
{
    struct option_change changes[OPTIONS_MAX];
    size_t n = options_changes(a->options, a->now, newer, changes);

    for (size_t i = 0; i < n; i++)
        tell(&changes[i]);
    if (n == 0)
        log_info("reload: nothing has changed");
}

/* take - each place reads from now what it needs, but for these */
static void take(struct agent *a, struct agent_options *take_newer)
{
    agent_close_reload(a);
    a->now = a->reread = take_newer;
    json_decref(a->accounts);
    a->accounts = agent_accounts_of(a->now);
    log_bound_set(a->log_bound,
                  (struct log_bounds){ a->now->log_max_bytes, a->now->old_logs_max_bytes });
    workspaces_set_bounds(a->workspaces, a->now->workspace_cache_bytes, &a->now->kept);
    link_changed(a->link);
}

void agent_reload(struct agent *a)
{
    struct agent_options *newer = xcalloc(1, sizeof *newer);
    struct edl_error error = { 0 };
    int r;

    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_us(CLOCK_MONOTONIC));
    r = options_reread(a->options, newer, &error);
    if (r == 0) {
        const struct inventory_offer offer = agent_offer_of(newer);

        r = inventory_offer(&a->inventory, &offer, &error);
        if (r < 0)
            options_done(newer);
    }
    if (r == 0) {
        tell_all(a, newer);
        take(a, newer);
    } else {
        log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_AGENT_RELOAD_REFUSED },
                  "reload: nothing is changed: %s%s%s", error.text,
                  error.remedy[0] != '\0' ? "; " : "", error.remedy);
        free(newer);
    }
    (void)sd_notify(0, "READY=1");
}

void agent_close_reload(struct agent *a)
{
    if (a->reread != NULL)
        options_done(a->reread);
    free(a->reread);
    a->now = a->options;
    a->reread = NULL;
}
