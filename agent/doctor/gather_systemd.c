/* SPDX-License-Identifier: Apache-2.0 */
/* gather_systemd.c - the service manager, and the unit of the agent if it has one */
#include "agent/doctor/gather.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "agent/options.h"
#include "shared/cleanup.h"

#define SERVICE "org.freedesktop.systemd1"
#define BUS_PATIENCE_US UINT64_C(5000000)

static void read_property(sd_bus *bus, const char *object, const char *interface, const char *name,
                          char ret[FACT_SIZE])
{
    _cleanup_free_ char *value = NULL;

    if (sd_bus_get_property_string(bus, SERVICE, object, interface, name, NULL, &value) >= 0)
        (void)snprintf(ret, FACT_SIZE, "%s", value);
}

/* It is not asked for by LoadUnit, which would load one that is not. */
static void look_at_unit(sd_bus *bus, struct systemd_facts *ret)
{
    char state[FACT_SIZE] = "";
    _cleanup_free_ char *object = NULL;

    if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", "edl-agent.service", &object) < 0)
        return;
    read_property(bus, object, SERVICE ".Unit", "LoadState", state);
    ret->has_unit = strcmp(state, "loaded") == 0;
    if (ret->has_unit)
        read_property(bus, object, SERVICE ".Service", "KillMode", ret->kill_mode);
}

static void ask(sd_bus *bus, struct systemd_facts *ret)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    _cleanup_free_ char *version = NULL;
    int r;

    (void)sd_bus_set_method_call_timeout(bus, BUS_PATIENCE_US);
    r = sd_bus_get_property_string(bus, SERVICE, "/org/freedesktop/systemd1", SERVICE ".Manager",
                                   "Version", &error, &version);
    if (r < 0)
        (void)snprintf(ret->bus_fault, sizeof ret->bus_fault, "%s",
                       error.message != NULL ? error.message : strerror(-r));
    else
        (void)snprintf(ret->version, sizeof ret->version, "%s", version);
    sd_bus_error_free(&error);
    if (r >= 0)
        look_at_unit(bus, ret);
}

void gather_systemd(const struct doctor_context *context, struct doctor_facts *all)
{
    struct systemd_facts *ret = &all->systemd;
    sd_bus *bus = NULL;
    int r;

    ret->booted = sd_booted() > 0;
    ret->root = geteuid() == 0;
    ret->wanted = context->options->runtime == AGENT_RUNTIME_SYSTEMD  ? WANTED_SYSTEMD
                  : context->options->runtime == AGENT_RUNTIME_DIRECT ? WANTED_DIRECT
                                                                      : WANTED_AUTO;
    if (!ret->booted)
        return;
    r = sd_bus_open_system(&bus);
    if (r < 0)
        (void)snprintf(ret->bus_fault, sizeof ret->bus_fault, "%s", strerror(-r));
    else
        ask(bus, ret);
    sd_bus_flush_close_unref(bus);
}
