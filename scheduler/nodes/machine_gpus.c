/* SPDX-License-Identifier: Apache-2.0 */
/* machine_gpus.c - the GPUs of a node as its agent tells them, and the processes on them */
#include "scheduler/nodes/machine.h"

#include <errno.h>
#include <stdio.h>

#include "scheduler/calls/body.h"
#include "shared/account_name.h"
#include "shared/error.h"

#define STRANGERS_MAX 16
#define TEXT_MAX 95

/* Each is read as what it must be, and only that is kept. */
struct member {
    const char *key;
    uint64_t most; /* of a text: bytes */
    bool required, is_text;
};

static const struct member device_members[] = {
    { "uuid", TEXT_MAX, .required = true, .is_text = true },
    { "pci_bus_id", TEXT_MAX, .required = true, .is_text = true },
    { "name", TEXT_MAX, .is_text = true },
    { "memory_total_bytes", .most = INT64_MAX },
    { "memory_used_bytes", .most = INT64_MAX },
    { "utilisation_ppm", .most = 1000000 },
};
static const struct member stranger_members[] = {
    { "pid", INT32_MAX, .required = true },
    { "user", ACCOUNT_NAME_MAX, .required = true, .is_text = true },
    { "memory_bytes", .most = INT64_MAX },
};

/* copy_members - new object with those that are there, each checked */
static int copy_members(const json_t *from, const char *at, const struct member *members, size_t n,
                        json_t **ret, struct edl_error *error)
{
    json_t *to = json_object();
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct body_field field = { .object = from, .at = at, .required = members[i].required };
        const char *text = NULL;
        uint64_t number;

        if (!field.required && !body_has(&field, members[i].key))
            continue;
        r = members[i].is_text ? body_string(&field, members[i].key, members[i].most, &text, error)
                               : body_u64(&field, members[i].key, members[i].most, &number, error);
        if (r == 0)
            (void)json_object_set_new(to, members[i].key,
                                      text != NULL ? json_string(text)
                                                   : json_integer((json_int_t)number));
    }
    *ret = to;
    return r;
}

static int copy_strangers(const json_t *device, const char *at, json_t *to, struct edl_error *error)
{
    const struct body_field may = { .object = device, .at = at };
    json_t *strangers = json_array();
    const json_t *array = NULL;
    int r = body_array(&may, "strangers", &array, error);

    (void)json_object_set_new(to, "strangers", strangers);
    if (r == 0 && json_array_size(array) > STRANGERS_MAX)
        return edl_error_at(error, -EINVAL, at, "%s/strangers has more than %d entries", at,
                            STRANGERS_MAX);
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        char where[80];
        json_t *stranger;

        (void)snprintf(where, sizeof where, "%.50s/strangers/%zu", at, i);
        r = copy_members(json_array_get(array, i), where, stranger_members,
                         ELEMENTS(stranger_members), &stranger, error);
        (void)json_array_append_new(strangers, stranger);
    }
    return r;
}

int machine_read_gpus(const json_t *array, json_t **ret, struct edl_error *error)
{
    json_t *gpus = json_array();
    int r = 0;

    if (json_array_size(array) > NODE_GPUS_MAX)
        r = edl_error_at(error, -EINVAL, "/machine/gpus", "/machine/gpus has more than %d entries",
                         NODE_GPUS_MAX);
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *device = json_array_get(array, i);
        char at[40];
        json_t *copy;

        (void)snprintf(at, sizeof at, "/machine/gpus/%zu", i);
        r = copy_members(device, at, device_members, ELEMENTS(device_members), &copy, error);
        (void)json_array_append_new(gpus, copy);
        if (r == 0)
            r = copy_strangers(device, at, copy, error);
    }
    *ret = r == 0 ? gpus : NULL;
    if (r < 0)
        json_decref(gpus);
    return r;
}

char *machine_say_gpus(const struct machine *machine, const struct node *node, char *text,
                       size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < node->offer.gpus && used < size; i++) {
        const json_t *device = machine != NULL ? json_array_get(machine->gpus, i) : NULL;
        const json_t *who = json_array_get(json_object_get(device, "strangers"), 0);
        const char *user = json_string_value(json_object_get(who, "user"));

        if (!(node->gpus_foreign & UINT64_C(1) << i))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%sGPU %u ", used > 0 ? ", " : "", i);
        if (used < size && who == NULL)
            used += (size_t)snprintf(text + used, size - used, "cannot be looked at");
        else if (used < size)
            used += (size_t)snprintf(text + used, size - used, "is held by pid %lld of %s",
                                     (long long)json_integer_value(json_object_get(who, "pid")),
                                     user != NULL && *user != '\0' ? user : "a user not known");
    }
    return text;
}
