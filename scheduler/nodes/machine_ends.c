/* SPDX-License-Identifier: Apache-2.0 */
/* machine_ends.c - see machine_ends.h
 *
 * The state of the system is "stopping" from the moment on in which a job to shut it down is there.
 * That is before any service is told to stop. */
#include "scheduler/nodes/machine_ends.h"

#include <stdlib.h>
#include <systemd/sd-bus.h>

#include "shared/macro.h"

#define ANSWER_US USEC_PER_SEC

struct machine_ends {
    sd_bus *bus;       /* owned */
    sd_bus_slot *slot; /* owned */
    machine_ends_fn fn;
    void *userdata;
};

static int on_state(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct machine_ends *asked = userdata;
    const char *state = "";

    (void)error;
    if (sd_bus_message_is_method_error(message, NULL) > 0 ||
        sd_bus_message_read(message, "v", "s", &state) < 0)
        state = "";
    asked->fn(streq(state, "stopping"), asked->userdata);
    return 0;
}

static int ask(struct machine_ends *asked, sd_event *event)
{
    int r = sd_bus_open_system(&asked->bus);

    if (r >= 0)
        r = sd_bus_set_method_call_timeout(asked->bus, ANSWER_US);
    if (r >= 0)
        r = sd_bus_attach_event(asked->bus, event, SD_EVENT_PRIORITY_IMPORTANT);
    if (r >= 0)
        r = sd_bus_call_method_async(asked->bus, &asked->slot, "org.freedesktop.systemd1",
                                     "/org/freedesktop/systemd1", "org.freedesktop.DBus.Properties",
                                     "Get", on_state, asked, "ss",
                                     "org.freedesktop.systemd1.Manager", "SystemState");
    return r;
}

void machine_ends_ask(sd_event *event, machine_ends_fn fn, void *userdata,
                      struct machine_ends **ret)
{
    struct machine_ends *asked = xcalloc(1, sizeof *asked);

    asked->fn = fn;
    asked->userdata = userdata;
    *ret = asked;
    if (ask(asked, event) >= 0)
        return;
    *ret = machine_ends_free(asked);
    fn(false, userdata);
}

struct machine_ends *machine_ends_free(struct machine_ends *asked)
{
    if (asked == NULL)
        return NULL;
    (void)sd_bus_slot_unref(asked->slot);
    if (asked->bus != NULL)
        (void)sd_bus_detach_event(asked->bus);
    (void)sd_bus_close_unref(asked->bus);
    free(asked);
    return NULL;
}
