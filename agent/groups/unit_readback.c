/* SPDX-License-Identifier: Apache-2.0 */
/* unit_readback.c - see unit_readback.h
 *
 * One question for each: all properties of a service are some hundreds, which cost the manager half
 * a millisecond, one of these a fifth of that. A unit that has ended meanwhile answers with an
 * error, of which nothing follows, or with defaults (on_load_state). */
#include "agent/groups/unit_readback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/cpu_mask.h"
#include "agent/groups/unit_plan.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

struct question {
    char unit[UNIT_NAME_SIZE];
    struct unit_property asked; /* a number or a text that is static */
    uint8_t cpus[UNIT_CPU_BYTES];
    size_t n_cpu_bytes; /* not 0: AllowedCPUs, and nothing else of this */
};

/* ---- what differs ---- */

/* Of a unit that has ended and is forgotten systemd tells the defaults: then there is nothing to
 * complain of. */
static int on_load_state(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    const char *state;

    (void)unused;
    if (sd_bus_message_is_method_error(reply, NULL) <= 0 &&
        sd_bus_message_read(reply, "v", "s", &state) >= 0 && streq(state, "loaded"))
        log_error("%s", (const char *)userdata);
    return 0;
}

static void get(sd_bus *bus, const char *object, const char *interface, const char *name,
                sd_bus_message_handler_t on_answer, void *take_userdata)
{
    sd_bus_slot *slot = NULL;
    int r = sd_bus_call_method_async(bus, &slot, "org.freedesktop.systemd1", object,
                                     "org.freedesktop.DBus.Properties", "Get", on_answer,
                                     take_userdata, "ss", interface, name);

    if (r < 0) {
        free(take_userdata);
        return;
    }
    (void)sd_bus_slot_set_destroy_callback(slot, free);
    (void)sd_bus_slot_set_floating(slot, true);
    sd_bus_slot_unref(slot);
}

static void complain(sd_bus_message *reply, const struct question *q, const char *name,
                     const char *is, const char *asked)
{
    _cleanup_free_ char *object = NULL;
    char *text;

    if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", q->unit, &object) < 0 ||
        asprintf(&text, "systemd keeps %s of %s at %s, %s was asked for: see systemctl cat %s",
                 name, q->unit, is, asked, q->unit) == -1)
        return;
    get(sd_bus_message_get_bus(reply), object, "org.freedesktop.systemd1.Unit", "LoadState",
        on_load_state, text);
}

/* ---- answers ---- */

static void compare_text(const struct question *q, sd_bus_message *reply)
{
    const char *is;

    if (sd_bus_message_read(reply, "v", "s", &is) >= 0 && !streq(is, q->asked.text))
        complain(reply, q, q->asked.name, is, q->asked.text);
}

static void compare_number(const struct question *q, sd_bus_message *reply)
{
    char is_text[24], asked_text[24];
    uint64_t is;

    if (sd_bus_message_read(reply, "v", "t", &is) < 0 || is == (uint64_t)q->asked.number)
        return;
    (void)snprintf(is_text, sizeof is_text, "%" PRIu64, is);
    (void)snprintf(asked_text, sizeof asked_text, "%" PRId64, q->asked.number);
    complain(reply, q, q->asked.name, is == UINT64_MAX ? "infinity" : is_text, asked_text);
}

static struct cpu_mask mask_of(const uint8_t *bytes, size_t n)
{
    struct cpu_mask mask = { 0 };

    for (unsigned cpu = 0; cpu < 8 * n; cpu++)
        if (bytes[cpu / 8] >> cpu % 8 & 1)
            cpu_mask_set(&mask, cpu);
    return mask;
}

static void compare_cpus(const struct question *q, sd_bus_message *reply)
{
    struct cpu_mask asked = mask_of(q->cpus, q->n_cpu_bytes), is;
    _cleanup_free_ char *is_text = xcalloc(2, CPU_LIST_SIZE);
    char *asked_text = is_text + CPU_LIST_SIZE;
    const void *bytes;
    size_t n;

    if (sd_bus_message_enter_container(reply, 'v', "ay") < 0 ||
        sd_bus_message_read_array(reply, 'y', &bytes, &n) < 0)
        return;
    is = mask_of(bytes, MIN_OF(n, (size_t)UNIT_CPU_BYTES));
    if (memcmp(&is, &asked, sizeof is) != 0)
        complain(reply, q, "AllowedCPUs", cpu_mask_format(&is, is_text),
                 cpu_mask_format(&asked, asked_text));
}

static int on_value(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    const struct question *q = userdata;

    (void)unused;
    if (sd_bus_message_is_method_error(reply, NULL) > 0)
        return 0;
    if (q->n_cpu_bytes > 0)
        compare_cpus(q, reply);
    else if (q->asked.type == UNIT_TEXT)
        compare_text(q, reply);
    else
        compare_number(q, reply);
    return 0;
}

/* ---- questions ---- */

/* ask - take_question is freed with the answer, or with the connection */
static void ask(sd_bus *bus, const char *object, const char *name, struct question *take_question)
{
    get(bus, object, "org.freedesktop.systemd1.Service", name, on_value, take_question);
}

static struct question *question_new(const char *unit)
{
    struct question *q = xcalloc(1, sizeof *q);

    (void)snprintf(q->unit, sizeof q->unit, "%s", unit);
    return q;
}

void unit_readback(sd_bus *bus, const char *unit, const struct unit_plan *plan)
{
    _cleanup_free_ char *object = NULL;
    struct question *q;

    if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object) < 0)
        return;
    for (size_t i = 0; i < plan->n_properties; i++) {
        if (!unit_property_limits(&plan->properties[i]))
            continue;
        q = question_new(unit);
        q->asked = plan->properties[i];
        ask(bus, object, q->asked.name, q);
    }
    if (plan->n_cpu_bytes == 0)
        return;
    q = question_new(unit);
    memcpy(q->cpus, plan->cpus, sizeof q->cpus);
    q->n_cpu_bytes = plan->n_cpu_bytes;
    ask(bus, object, "AllowedCPUs", q);
}
