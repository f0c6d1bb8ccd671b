/* SPDX-License-Identifier: Apache-2.0 */
/* node_json.c - nodes as agents report them and as the API shows them */
#include "scheduler/json/node_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/json/job_json.h"
#include "scheduler/nodes/machine.h"
#include "shared/agent_wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/document_reader.h"
#include "shared/error.h"
#include "shared/macro.h"

/* --- an agent's report --- */

/* member - NULL when it is absent; null counts as absent, as everywhere */
static const json_t *member(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);

    return json_is_null(value) ? NULL : value;
}

static int read_labels(const json_t *body, struct labels *ret, struct edl_error *error)
{
    const json_t *object = member(body, "labels");
    const char *name;
    json_t *value;

    if (object != NULL && !json_is_object(object))
        return edl_error_at(error, -EINVAL, "/labels", "/labels is not an object of strings");
    /* why: iterating wants one that is not const; nothing writes to it */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct document_reader at = { .pointer = "/labels" };
        const char *text = json_string_value(value);
        struct edl_error why = { 0 };

        (void)document_enter(&at, name);
        if (text == NULL || strlen(text) != json_string_length(value))
            return edl_error_at(error, -EINVAL, at.pointer, "%s is not a string", at.pointer);
        if (labels_set(ret, name, text, &why) < 0)
            return edl_error_at(error, -EINVAL, at.pointer, "%s", why.text);
    }
    return 0;
}

/* read_gpu_numa - after gpus and numa_nodes, which bound it; devices that it leaves out are on node
 * 0 */
static int read_gpu_numa(const json_t *body, struct node_offer *ret, struct edl_error *error)
{
    const json_t *array = member(body, "gpu_numa");
    unsigned numa_nodes = MAX_OF(ret->numa_nodes, 1U);

    if (array != NULL && (!json_is_array(array) || json_array_size(array) > ret->gpus))
        return edl_error_at(error, -EINVAL, "/gpu_numa",
                            "/gpu_numa is not a list of at most %u NUMA nodes, one for each GPU",
                            ret->gpus);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        char at[32];

        (void)snprintf(at, sizeof at, "/gpu_numa/%zu", i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) >= numa_nodes)
            return edl_error_at(error, -EINVAL, at, "%s is not a NUMA node from 0 to %u", at,
                                numa_nodes - 1);
        ret->gpu_numa[i] = (uint8_t)json_integer_value(value);
    }
    return 0;
}

int node_offer_from_json(const json_t *body, struct node_offer *ret, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    struct node_offer offer = { 0 };
    const char *address;
    uint64_t gpus, first, last;
    uint64_t numa_nodes = 0;
    int r = body_reported(&must, "address", sizeof offer.address - 1, &address, error);

    if (r == 0)
        r = body_u64(&must, "cpu_millicores", INT64_MAX / 2, &offer.cpu_millicores, error);
    if (r == 0)
        r = body_u64(&must, "memory_bytes", INT64_MAX / 2, &offer.memory_bytes, error);
    if (r == 0)
        r = body_u64(&must, "gpus", NODE_GPUS_MAX, &gpus, error);
    if (r == 0)
        r = body_u64(&must, "port_first", UINT16_MAX, &first, error);
    if (r == 0)
        r = body_u64(&must, "port_last", UINT16_MAX, &last, error);
    if (r == 0)
        r = body_u64(&may, "numa_nodes", UINT8_MAX, &numa_nodes, error);
    if (r < 0)
        return r;
    if (first > last)
        return edl_error_at(error, -EINVAL, "/port_last", "port_last is below port_first");
    (void)snprintf(offer.address, sizeof offer.address, "%s", address);
    offer.gpus = (uint32_t)gpus;
    offer.port_first = (uint16_t)first;
    offer.port_last = (uint16_t)last;
    offer.numa_nodes = (uint8_t)numa_nodes;
    r = read_gpu_numa(body, &offer, error);
    if (r == 0)
        r = read_labels(body, &offer.labels, error);
    if (r == 0)
        *ret = offer;
    return r;
}

static int read_mask(const json_t *body, const char *key, uint64_t *ret_mask,
                     struct edl_error *error)
{
    const struct body_field may = { .object = body, .at = "" };
    const json_t *array = NULL;
    int r = body_array(&may, key, &array, error);

    *ret_mask = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        char at[40];

        (void)snprintf(at, sizeof at, "/%s/%zu", key, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) >= NODE_GPUS_MAX)
            return edl_error_at(error, -EINVAL, at, "%s is not the number of a GPU", at);
        *ret_mask |= UINT64_C(1) << json_integer_value(value);
    }
    return r;
}

int gpus_foreign_from_json(const json_t *body, uint64_t *ret_mask, struct edl_error *error)
{
    return read_mask(body, "gpus_foreign", ret_mask, error);
}

int gpus_idle_from_json(const json_t *body, uint64_t *ret_mask, struct edl_error *error)
{
    return read_mask(body, "gpus_idle", ret_mask, error);
}

int ports_foreign_from_json(const json_t *body, uint16_t **ret, size_t *ret_n,
                            struct edl_error *error)
{
    const struct body_field may = { .object = body, .at = "" };
    _cleanup_free_ uint16_t *ports = NULL;
    const json_t *array = NULL;
    json_int_t last = 0;
    int r = body_array(&may, "ports_foreign", &array, error);
    size_t n = 0;

    if (r < 0)
        return r;
    if (json_array_size(array) > 0)
        ports =
            xcalloc(MIN_OF(json_array_size(array), (size_t)AGENT_PORTS_FOREIGN_MAX), sizeof *ports);
    for (size_t i = 0; i < json_array_size(array) && n < AGENT_PORTS_FOREIGN_MAX; i++) {
        json_int_t port = json_integer_value(json_array_get(array, i));

        if (port <= last || port > UINT16_MAX)
            continue;
        last = port;
        ports[n++] = (uint16_t)port;
    }
    *ret = TAKE_PTR(ports);
    *ret_n = n;
    return 0;
}

static json_t *ports_foreign_to_json(const struct node *node)
{
    json_t *array = json_array();

    for (size_t i = 0; i < node->n_ports_foreign; i++)
        (void)json_array_append_new(array, json_integer(node->ports_foreign[i]));
    return array;
}

/* --- answers for people --- */

static json_t *labels_to_json(const struct labels *labels)
{
    json_t *object = json_object();

    for (uint32_t i = 0; i < labels->n; i++)
        (void)json_object_set_new(object, labels->items[i].name,
                                  json_string(labels->items[i].value));
    return object;
}

static json_t *device_to_json(const struct node *node, const struct machine *machine,
                              uint32_t device)
{
    json_t *object =
        json_pack("{s:i,s:i}", "device", (int)device, "numa", node->offer.gpu_numa[device]);
    json_t *told = machine != NULL ? json_array_get(machine->gpus, device) : NULL;
    const struct process *process;

    (void)json_object_update(object, told);
    DL_FOREACH2(node->processes, process, node_next)
    {
        const struct job_spec *spec = process->job->spec;

        if (!(process->gpu_mask & UINT64_C(1) << device))
            continue;
        (void)json_object_update_new(object, json_pack("{s:s,s:s,s:I}", "job", spec->name, "role",
                                                       spec->roles[process->role].name, "index",
                                                       (json_int_t)process->index));
        break;
    }
    return object;
}

static json_t *devices_to_json(const struct node *node, const struct machine *machine)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < node->offer.gpus; i++)
        (void)json_array_append_new(array, device_to_json(node, machine, i));
    return array;
}

/* null: nobody knows */
static json_t *speed_to_json(const struct node *node, enum speed_kind kind)
{
    const struct node_speed *speed = &node->speeds[kind];

    return speed->rounds > 0 ? json_real(round(1000 * exp(speed->log)) / 1000) : json_null();
}

/* longest_standstill_us - of its live processes, in all and so far */
static uint64_t longest_standstill_us(const struct node *node)
{
    const struct process *process;
    uint64_t us = 0;

    DL_FOREACH2(node->processes, process, node_next)
    us = MAX_OF(us, process->frozen_us);
    return us;
}

json_t *node_to_json(const struct node *node, const struct machine *machine)
{
    const struct process *process;
    json_t *json;
    uint64_t n = 0;
    uint64_t frozen_us = longest_standstill_us(node);
    char foreign[256];

    DL_FOREACH2(node->processes, process, node_next)
    n++;
    (void)machine_say_gpus(machine, node, foreign, sizeof foreign);
    json =
        json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:s,s:o,s:o}", "name",
                  node->name, "state", node_state_to_string(node->state), "address",
                  node->offer.address, "cpu_millicores", (json_int_t)node->offer.cpu_millicores,
                  "cpu_granted_millicores", (json_int_t)node->cpu_granted_millicores,
                  "memory_bytes", (json_int_t)node->offer.memory_bytes, "memory_granted_bytes",
                  (json_int_t)node->memory_granted_bytes, "gpus", (json_int_t)node->offer.gpus,
                  "gpus_granted", (json_int_t)node->gpus_granted, "foreign_cpu_millicores",
                  (json_int_t)node->foreign_cpu_millicores, "processes", (json_int_t)n,
                  "last_report_us", (json_int_t)clock_shown_us(node->last_report_wall_us),
                  "numa_nodes", (int)node->offer.numa_nodes, "reason",
                  *node_reason(node) != '\0' ? node_reason(node) : foreign, "labels",
                  labels_to_json(&node->offer.labels), "devices", devices_to_json(node, machine));
    (void)json_object_set_new(json, "foreign_memory_bytes",
                              json_integer((json_int_t)node->foreign_memory_bytes));
    (void)json_object_set_new(json, "gpus_foreign", gpus_to_json(node->gpus_foreign));
    (void)json_object_set_new(json, "gpus_idle", gpus_to_json(node->gpus_idle));
    (void)json_object_set_new(json, "ports_foreign", ports_foreign_to_json(node));
    (void)json_object_set_new(json, "speed", speed_to_json(node, SPEED_CPU));
    (void)json_object_set_new(json, "gpu_speed", speed_to_json(node, SPEED_GPU));
    if (frozen_us > 0)
        (void)json_object_set_new(json, "frozen_us", json_integer((json_int_t)frozen_us));
    if (machine != NULL)
        (void)json_object_set_new(json, "machine", machine_to_json(machine));
    return json;
}
