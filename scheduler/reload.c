/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - SIGHUP: files and command line are read again
 *
 * An option that only bounds inputs or histories is taken over. One that the state was built with
 * needs a restart, which disturbs no process, and is told by name. */
#include "scheduler/reload.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"

static void tell(const struct option_change *change)
{
    const char *text = change->text[0] != '\0' ? change->text : "its default";

    if (change->taken)
        log_info("reload: %s is now %s", change->name, text);
    else
        log_entry(LOG_LEVEL_WARNING,
                  &(struct log_subject){ .message = MESSAGE_RELOAD_NEEDS_RESTART },
                  "reload: %s is to be %s: this needs a restart, which disturbs no process",
                  change->name, text);
}

static void take(struct scheduler *scheduler, const struct scheduler_options *newer)
{
    struct option_change changes[OPTIONS_MAX];
    size_t n = options_take(&scheduler->options, newer, changes);

    for (size_t i = 0; i < n; i++)
        tell(&changes[i]);
    if (n == 0)
        log_info("reload: nothing has changed");
    scheduler->workspaces.limits = scheduler->options.workspaces;
    state_tell_kept(scheduler);
}

void scheduler_reload(struct scheduler *scheduler)
{
    const struct scheduler_options *options = &scheduler->options;
    struct scheduler_options newer;
    struct edl_error error = { 0 };
    bool done;

    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_us(CLOCK_MONOTONIC));
    if (options_parse(options->argc, options->argv, &newer, &done, &error) < 0)
        log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_RELOAD_REFUSED },
                  "reload: nothing is changed: %s%s%s", error.text,
                  error.remedy[0] != '\0' ? "; " : "", error.remedy);
    else
        take(scheduler, &newer);
    (void)sd_notify(0, "READY=1");
}
