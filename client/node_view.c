/* SPDX-License-Identifier: Apache-2.0 */
/* node_view.c - see node_view.h */
#include "client/node_view.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

static void print_load(const json_t *machine)
{
    const json_t *load = json_object_get(machine, "load_milli");
    const json_t *available = json_object_get(machine, "memory_available_bytes");
    char text[32];

    if (json_is_array(load)) {
        (void)printf("\nload       ");
        for (size_t i = 0; i < json_array_size(load); i++)
            (void)printf("%s%.2f", i > 0 ? ", " : "",
                         (double)json_integer_value(json_array_get(load, i)) / 1000);
        (void)printf(" (1, 5, 15 min)\n");
    }
    if (json_is_integer(available))
        (void)printf("available  %s of memory\n",
                     text_bytes((uint64_t)json_integer_value(available), text, sizeof text));
}

static void print_version(const json_t *machine)
{
    const char *version = json_text(machine, "version");

    if (*version != '\0')
        (void)printf("agent      %s\n", version);
}

/* As the kernel has it: percent of the last ten seconds. */
static void print_pressure(const json_t *pressure)
{
    static const char *const resources[] = { "cpu", "memory", "io" };
    const char *before = "pressure   ";

    for (size_t i = 0; i < ELEMENTS(resources); i++) {
        const json_t *one = json_object_get(pressure, resources[i]);

        if (one == NULL)
            continue;
        (void)printf("%s%s %.2f %%", before, resources[i],
                     (double)json_u64(one, "some_ppm") / 10000);
        before = ", ";
    }
    if (before[0] == ',')
        (void)fputc('\n', stdout);
}

/* What its processes cannot use more of than they were granted; absent: an older agent, or lost. */
static void print_limits(const json_t *limits)
{
    if (limits == NULL)
        return;
    (void)printf("limits     %s", json_array_size(limits) > 0 ? "" : "none are held");
    for (size_t i = 0; i < json_array_size(limits); i++)
        (void)printf("%s%s", i > 0 ? ", " : "", json_string_value(json_array_get(limits, i)));
    (void)fputc('\n', stdout);
}

/* What jobs were seen to do there. */
static void print_speed(const json_t *node)
{
    static const struct {
        const char *key, *jobs;
    } speeds[] = { { "speed", "without" }, { "gpu_speed", "with" } };

    for (size_t i = 0; i < ELEMENTS(speeds); i++) {
        const json_t *speed = json_object_get(node, speeds[i].key);

        if (json_is_number(speed))
            (void)printf("speed      jobs %s GPUs run %.2g times as fast as on other nodes\n",
                         speeds[i].jobs, json_number_value(speed));
    }
}

static void add_bytes(struct table *table, const json_t *object, const char *name)
{
    char text[32];

    table_add(table, "%s", text_bytes(json_u64(object, name), text, sizeof text));
}

static void print_disks(const json_t *disks)
{
    static const char *const headers[] = { "DISK", "SIZE", "FREE", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x6);
    const json_t *disk;
    size_t i;

    if (json_array_size(disks) == 0)
        return;
    json_array_foreach(disks, i, disk)
    {
        table_add(table, "%s", json_text(disk, "name"));
        add_bytes(table, disk, "size_bytes");
        add_bytes(table, disk, "free_bytes");
    }
    (void)fputc('\n', stdout);
    table_print(table, stdout);
}

static void print_nics(const json_t *nics)
{
    static const char *const headers[] = { "NETWORK", "MBIT/S", "RECEIVED", "SENT", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0xe);
    const json_t *nic;
    size_t i;

    if (json_array_size(nics) == 0)
        return;
    json_array_foreach(nics, i, nic)
    {
        uint64_t speed = json_u64(nic, "speed_mbit_per_s");

        table_add(table, "%s", json_text(nic, "name"));
        if (speed > 0)
            table_add(table, "%" PRIu64, speed);
        else
            table_add(table, "-");
        add_bytes(table, nic, "received_bytes");
        add_bytes(table, nic, "sent_bytes");
    }
    (void)fputc('\n', stdout);
    table_print(table, stdout);
}

static bool holds_number(const json_t *numbers, uint64_t number)
{
    for (size_t i = 0; i < json_array_size(numbers); i++)
        if ((uint64_t)json_integer_value(json_array_get(numbers, i)) == number)
            return true;
    return false;
}

/* Those of which nothing is known (the command line says how many there are) are not listed. */
static void print_gpus(const json_t *node)
{
    const json_t *devices = json_object_get(node, "devices");
    const json_t *idle = json_object_get(node, "gpus_idle");
    static const char *const headers[] = { "GPU",  "UUID", "BUS",    "MEMORY",
                                           "USED", "BUSY", "HOLDER", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x38);
    const json_t *device;
    size_t i;

    if (*json_text(json_array_get(devices, 0), "uuid") == '\0')
        return;
    json_array_foreach(devices, i, device)
    {
        const json_t *stranger = json_array_get(json_object_get(device, "strangers"), 0);

        table_add(table, "%" PRIu64, json_u64(device, "device"));
        table_add(table, "%s", json_text(device, "uuid"));
        table_add(table, "%s", json_text(device, "pci_bus_id"));
        add_bytes(table, device, "memory_total_bytes");
        add_bytes(table, device, "memory_used_bytes");
        table_add(table, "%.0f %%", (double)json_u64(device, "utilisation_ppm") / 10000);
        if (stranger != NULL)
            table_add(table, "pid %" PRIu64 " of %s", json_u64(stranger, "pid"),
                      json_text(stranger, "user"));
        else if (*json_text(device, "job") != '\0')
            table_add(table, "job %s%s", json_text(device, "job"),
                      holds_number(idle, i) ? ", idle" : "");
        else
            table_add(table, "-");
    }
    (void)fputc('\n', stdout);
    table_print(table, stdout);
}

void node_view_print(const json_t *node)
{
    const json_t *machine = json_object_get(node, "machine");

    print_load(machine);
    print_pressure(json_object_get(machine, "pressure"));
    print_limits(json_object_get(machine, "limits"));
    print_version(machine);
    print_speed(node);
    print_disks(json_object_get(machine, "disks"));
    print_nics(json_object_get(machine, "nics"));
    print_gpus(node);
}
