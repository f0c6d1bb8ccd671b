/* SPDX-License-Identifier: Apache-2.0 */
/* unit_helper.c - see unit_helper.h */
#include "agent/groups/unit_helper.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define MANAGER                                                                                    \
    "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
#define STOP_US (15 * USEC_PER_SEC)

struct unit_helpers {
    sd_event *event; /* ref */
    sd_bus *bus;     /* owned; NULL: not connected */
};

static void drop_bus(struct unit_helpers *helpers)
{
    helpers->bus = sd_bus_flush_close_unref(helpers->bus);
}

/* connect_bus - one that was lost is dropped when it is needed again */
static int connect_bus(struct unit_helpers *helpers, struct edl_error *error)
{
    int r;

    if (helpers->bus != NULL && sd_bus_is_open(helpers->bus) > 0)
        return 0;
    drop_bus(helpers);
    r = sd_bus_open_system(&helpers->bus);
    if (r >= 0)
        r = sd_bus_attach_event(helpers->bus, helpers->event, SD_EVENT_PRIORITY_NORMAL);
    if (r >= 0)
        return 0;
    drop_bus(helpers);
    (void)edl_error_errno(error, r, "cannot reach systemd over the system bus");
    return edl_error_remedy(error, "is it there? systemctl status dbus");
}

/* ---- the question ---- */

static int append_command(sd_bus_message *call, const char *property, const char *const *argv)
{
    int r = sd_bus_message_open_container(call, 'r', "sv");

    if (r >= 0)
        r = sd_bus_message_append(call, "s", property);
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'v', "a(sasb)");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'a', "(sasb)");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'r', "sasb");
    if (r >= 0)
        r = sd_bus_message_append(call, "s", argv[0]);
    if (r >= 0) /* why the cast: it writes to none of them */
        r = sd_bus_message_append_strv(call, (char **)(uintptr_t)argv);
    if (r >= 0)
        r = sd_bus_message_append(call, "b", 0);
    for (int i = 0; r >= 0 && i < 4; i++)
        r = sd_bus_message_close_container(call);
    return r;
}

static int append(sd_bus_message *call, const struct unit_helper_plan *plan)
{
    int r = sd_bus_message_append(call, "ss", plan->name, "fail");

    if (r >= 0)
        r = sd_bus_message_open_container(call, 'a', "(sv)");
    if (r >= 0)
        r = sd_bus_message_append(call, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                  plan->description, "CollectMode", "s", "inactive-or-failed",
                                  "TimeoutStopUSec", "t", (uint64_t)STOP_US,
                                  "StandardInputFileDescriptor", "h", plan->stdin_fd,
                                  "StandardOutput", "s", "null", "StandardError", "s", "journal",
                                  "OOMPolicy", "s", "continue");
    if (r >= 0)
        r = append_command(call, "ExecStart", plan->argv);
    if (r >= 0 && plan->after != NULL)
        r = append_command(call, "ExecStopPost", plan->after);
    if (r >= 0)
        r = sd_bus_message_close_container(call);
    return r < 0 ? r : sd_bus_message_append(call, "a(sa(sv))", 0);
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    const sd_bus_error *error = sd_bus_message_get_error(reply);

    (void)userdata;
    (void)unused;
    if (error != NULL)
        log_error("systemd refused a unit beside the agent: %s",
                  error->message != NULL ? error->message : error->name);
    return 0;
}

int unit_helper_start(struct unit_helpers *helpers, const struct unit_helper_plan *plan,
                      struct edl_error *error)
{
    sd_bus_message *call = NULL;
    int r = connect_bus(helpers, error);

    if (r < 0)
        return r;
    r = sd_bus_message_new_method_call(helpers->bus, &call, MANAGER, "StartTransientUnit");
    if (r >= 0)
        r = append(call, plan);
    if (r >= 0)
        r = sd_bus_call_async(helpers->bus, NULL, call, on_answer, helpers, 0);
    sd_bus_message_unref(call);
    return r < 0 ? edl_error_errno(error, r, "cannot ask systemd for %s", plan->name) : 0;
}

static int on_stopped(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    (void)reply;
    (void)userdata;
    (void)unused;
    return 0;
}

void unit_helper_stop(struct unit_helpers *helpers, const char *name)
{
    if (connect_bus(helpers, NULL) == 0)
        (void)sd_bus_call_method_async(helpers->bus, NULL, MANAGER, "StopUnit", on_stopped, helpers,
                                       "ss", name, "replace");
}

struct unit_helpers *unit_helpers_new(sd_event *event)
{
    struct unit_helpers *helpers = xcalloc(1, sizeof *helpers);

    helpers->event = sd_event_ref(event);
    return helpers;
}

struct unit_helpers *unit_helpers_free(struct unit_helpers *helpers)
{
    if (helpers == NULL)
        return NULL;
    drop_bus(helpers);
    sd_event_unref(helpers->event);
    free(helpers);
    return NULL;
}
