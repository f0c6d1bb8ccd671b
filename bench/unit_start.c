/* SPDX-License-Identifier: Apache-2.0 */
/* unit_start.c - see unit_start.h */
#include "bench/unit_start.h"

#include <errno.h>
#include <systemd/sd-bus.h>

#include "agent/groups/unit_plan.h"
#include "bench/wire.h"
#include "shared/error.h"
#include "shared/macro.h"

#define MEMORY_BYTES 67108864
#define CPU_MILLICORES 250

/* Type: what is measured says of itself that it began, not to the manager. */
static int append_property(sd_bus_message *call, const struct unit_property *property)
{
    const char type[] = { (char)property->type, '\0' };

    if (streq(property->name, "Type"))
        return sd_bus_message_append(call, "(sv)", "Type", "s", "exec");
    if (property->type == UNIT_TEXT)
        return sd_bus_message_append(call, "(sv)", property->name, type, property->text);
    if (property->type == UNIT_NUMBER)
        return sd_bus_message_append(call, "(sv)", property->name, type,
                                     (uint64_t)property->number);
    return sd_bus_message_append(call, "(sv)", property->name, type, (int)property->number);
}

static bool is_limit(const char *name)
{
    static const char *const limits[] = { "MemoryMax", "CPUWeight", "TasksMax", "DevicePolicy" };

    for (size_t i = 0; i < ELEMENTS(limits); i++)
        if (streq(name, limits[i]))
            return true;
    return false;
}

static int append_command(sd_bus_message *call, const char *const *argv)
{
    int r = sd_bus_message_open_container(call, 'r', "sv");

    if (r >= 0)
        r = sd_bus_message_append(call, "s", "ExecStart");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'v', "a(sasb)");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'a', "(sasb)");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'r', "sasb");
    if (r >= 0)
        r = sd_bus_message_append(call, "s", argv[0]);
    if (r >= 0)
        r = sd_bus_message_append_strv(call, (char **)(uintptr_t)argv); /* why: it only reads */
    if (r >= 0)
        r = sd_bus_message_append(call, "b", 0);
    for (int depth = 0; r >= 0 && depth < 4; depth++)
        r = sd_bus_message_close_container(call);
    return r;
}

static int append(sd_bus_message *call, const struct unit_plan *plan, bool with_limits,
                  const char *const *argv)
{
    int r = sd_bus_message_append(call, "ss", plan->name, "replace");

    if (r >= 0)
        r = sd_bus_message_open_container(call, 'a', "(sv)");
    for (size_t i = 0; r >= 0 && i < plan->n_properties; i++)
        if (with_limits || !is_limit(plan->properties[i].name))
            r = append_property(call, &plan->properties[i]);
    if (r >= 0)
        r = append_command(call, argv);
    if (r >= 0)
        r = sd_bus_message_close_container(call);
    return r < 0 ? r : sd_bus_message_append(call, "a(sa(sv))", 0);
}

void unit_start(const char *key, bool with_limits, const char *const *argv)
{
    static sd_bus *bus; /* kept for the next one, as the agent keeps its own */
    static const char *const no_paths[] = { NULL };
    struct edl_error error = { 0 };
    sd_bus_message *call = NULL;
    struct unit_plan plan;
    json_t *order = json_pack("{s:i,s:i,s:I,s:s}", "memory_bytes", MEMORY_BYTES, "cpu_millicores",
                              CPU_MILLICORES, "grace_us", (json_int_t)1000000, "job", "bench");
    int r = unit_plan(key, order, no_paths, &plan, &error);

    json_decref(order);
    if (r == 0 && bus == NULL)
        r = sd_bus_open_system(&bus);
    if (r >= 0)
        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1",
                                           "/org/freedesktop/systemd1",
                                           "org.freedesktop.systemd1.Manager",
                                           "StartTransientUnit");
    if (r >= 0)
        r = append(call, &plan, with_limits, argv);
    if (r >= 0)
        r = sd_bus_call(bus, call, 0, NULL, NULL);
    sd_bus_message_unref(call);
    errno = -r;
    if (r < 0)
        wire_die("StartTransientUnit");
}
