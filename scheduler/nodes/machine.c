/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - see machine.h */
#include "scheduler/nodes/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LOADS 3
#define LIMITS_MAX 16

static const char *const pressures[] = {
    [PRESSURE_CPU] = "cpu", [PRESSURE_MEMORY] = "memory", [PRESSURE_IO] = "io"
};

const char *machine_word_of_pressure(unsigned pressure)
{
    return pressures[pressure];
}

/* --- as an agent tells it --- */

/* sub_object - a member that is an object; NULL when it is absent or null */
static int sub_object(const struct body_field *field, const char *key, const json_t **ret,
                      struct edl_error *error)
{
    const json_t *value = json_object_get(field->object, key);
    char at[80];

    *ret = json_is_object(value) ? value : NULL;
    if (value == NULL || json_is_null(value) || *ret != NULL)
        return 0;
    (void)snprintf(at, sizeof at, "%.40s/%.30s", field->at, key);
    return edl_error_at(error, -EINVAL, at, "%s is not an object", at);
}

static int sub_array(const struct body_field *field, const char *key, size_t most,
                     const json_t **ret, struct edl_error *error)
{
    char at[80];
    int r = body_array(field, key, ret, error);

    if (r < 0 || json_array_size(*ret) <= most)
        return r;
    (void)snprintf(at, sizeof at, "%.40s/%.30s", field->at, key);
    return edl_error_at(error, -EINVAL, at, "%s has more than %zu entries", at, most);
}

static int read_word(const struct body_field *must, char ret[MACHINE_WORD_MAX + 1],
                     struct edl_error *error)
{
    const char *word;
    int r = body_reported(must, "name", MACHINE_WORD_MAX, &word, error);

    if (r == 0)
        (void)snprintf(ret, MACHINE_WORD_MAX + 1, "%s", word);
    return r;
}

static int read_loads(const struct body_field *may, struct machine *ret, struct edl_error *error)
{
    const json_t *array = NULL;
    int r = sub_array(may, "load_milli", LOADS, &array, error);

    for (size_t i = 0; r == 0 && i < LOADS && array != NULL; i++) {
        const json_t *value = json_array_get(array, i);

        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > INT32_MAX)
            return edl_error_at(error, -EINVAL, "/machine/load_milli",
                                "/machine/load_milli is not three whole numbers from 0 on");
        ret->load_milli[i] = (uint64_t)json_integer_value(value);
    }
    return r;
}

static int read_pressures(const struct body_field *may, struct machine *ret,
                          struct edl_error *error)
{
    const json_t *all;
    int r = sub_object(may, "pressure", &all, error);

    for (size_t i = 0; r == 0 && i < PRESSURES && all != NULL; i++) {
        struct body_field at = { .object = all, .at = "/machine/pressure" };
        char text[48];
        const json_t *one;

        r = sub_object(&at, pressures[i], &one, error);
        if (r < 0 || one == NULL)
            continue;
        (void)snprintf(text, sizeof text, "%s/%s", at.at, pressures[i]);
        at = (struct body_field){ .object = one, .at = text };
        r = body_u64(&at, "some_ppm", 1000000, &ret->pressure[i].some_ppm, error);
        if (r == 0)
            r = body_u64(&at, "full_ppm", 1000000, &ret->pressure[i].full_ppm, error);
    }
    return r;
}

static int read_disks(const struct body_field *may, struct machine *ret, struct edl_error *error)
{
    const json_t *array = NULL;
    int r = sub_array(may, "disks", MACHINE_DISKS_MAX, &array, error);

    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        struct disk *disk = &ret->disks[i];
        char text[40];
        struct body_field at = { .object = json_array_get(array, i), .at = text, .required = true };

        (void)snprintf(text, sizeof text, "/machine/disks/%zu", i);
        r = read_word(&at, disk->name, error);
        if (r == 0)
            r = body_u64(&at, "free_bytes", INT64_MAX, &disk->free_bytes, error);
        if (r == 0)
            r = body_u64(&at, "size_bytes", INT64_MAX, &disk->size_bytes, error);
        ret->n_disks = i + 1;
    }
    return r;
}

static int read_nics(const struct body_field *may, struct machine *ret, struct edl_error *error)
{
    const json_t *array = NULL;
    int r = sub_array(may, "nics", MACHINE_NICS_MAX, &array, error);

    if (r < 0 || array == NULL)
        return r;
    ret->n_nics = json_array_size(array);
    ret->nics = xcalloc(ret->n_nics, sizeof *ret->nics);
    for (size_t i = 0; r == 0 && i < ret->n_nics; i++) {
        struct nic *nic = &ret->nics[i];
        char text[40];
        struct body_field at = { .object = json_array_get(array, i), .at = text, .required = true };

        (void)snprintf(text, sizeof text, "/machine/nics/%zu", i);
        r = read_word(&at, nic->name, error);
        if (r == 0)
            r = body_u64(&at, "received_bytes", INT64_MAX, &nic->received_bytes, error);
        if (r == 0)
            r = body_u64(&at, "sent_bytes", INT64_MAX, &nic->sent_bytes, error);
        at.required = false;
        if (r == 0)
            r = body_u64(&at, "speed_mbit_per_s", INT64_MAX, &nic->speed_mbit_per_s, error);
    }
    return r;
}

static int read_limits(const struct body_field *may, struct machine *ret, struct edl_error *error)
{
    const json_t *array = NULL;
    int r = sub_array(may, "limits", LIMITS_MAX, &array, error);

    if (r < 0 || array == NULL)
        return r;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *word = json_string_value(json_array_get(array, i));

        if (word == NULL || strlen(word) > MACHINE_WORD_MAX ||
            word[strspn(word, "abcdefghijklmnopqrstuvwxyz_")] != '\0')
            return edl_error_at(error, -EINVAL, "/machine/limits",
                                "/machine/limits is not a list of words");
    }
    ret->limits = json_deep_copy(array);
    return 0;
}

/* read_version - of the report itself. What is none is left out, and is no reason to lose a node */
static void read_version(const json_t *body, struct machine *ret)
{
    const char *text = json_string_value(json_object_get(body, "version"));

    if (text != NULL && strlen(text) <= MACHINE_WORD_MAX &&
        text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz.+~-")] == '\0')
        (void)snprintf(ret->version, sizeof ret->version, "%s", text);
}

static struct machine *machine_new(void)
{
    struct machine *machine = xcalloc(1, sizeof *machine);

    machine->memory_available_bytes = NEVER_US;
    for (size_t i = 0; i < LOADS; i++)
        machine->load_milli[i] = NEVER_US;
    for (size_t i = 0; i < PRESSURES; i++)
        machine->pressure[i] = (struct pressure){ NEVER_US, NEVER_US };
    return machine;
}

int machine_from_json(const json_t *body, struct machine **ret, struct edl_error *error)
{
    const struct body_field report = { .object = body, .at = "" };
    struct body_field may = { .at = "/machine" };
    const json_t *gpus = NULL;
    struct machine *machine;
    int r = sub_object(&report, "machine", &may.object, error);

    *ret = NULL;
    if (r < 0 || may.object == NULL)
        return r;
    machine = machine_new();
    read_version(body, machine);
    r = read_loads(&may, machine, error);
    if (r == 0)
        r = body_u64(&may, "memory_available_bytes", INT64_MAX / 2,
                     &machine->memory_available_bytes, error);
    if (r == 0)
        r = read_pressures(&may, machine, error);
    if (r == 0)
        r = read_disks(&may, machine, error);
    if (r == 0)
        r = read_nics(&may, machine, error);
    if (r == 0)
        r = read_limits(&may, machine, error);
    if (r == 0)
        r = body_bool(&may, "reads_files", &machine->reads_files, error);
    if (r == 0)
        r = body_bool(&may, "sessions", &machine->opens_sessions, error);
    if (r == 0)
        r = body_array(&may, "gpus", &gpus, error);
    if (r == 0 && gpus != NULL)
        r = machine_read_gpus(gpus, &machine->gpus, error);
    if (r == 0)
        *ret = machine;
    else
        (void)machine_free(machine);
    return r;
}

struct machine *machine_free(struct machine *machine)
{
    if (machine != NULL) {
        free(machine->nics);
        json_decref(machine->gpus);
        json_decref(machine->limits);
    }
    free(machine);
    return NULL;
}

/* --- as people see it --- */

static void set(json_t *object, const char *key, uint64_t value)
{
    if (value != NEVER_US)
        (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *pressure_to_json(const struct machine *machine)
{
    json_t *all = json_object();

    for (size_t i = 0; i < PRESSURES; i++) {
        json_t *one = json_object();

        set(one, "some_ppm", machine->pressure[i].some_ppm);
        set(one, "full_ppm", machine->pressure[i].full_ppm);
        if (json_object_size(one) > 0)
            (void)json_object_set(all, pressures[i], one);
        json_decref(one);
    }
    return all;
}

static json_t *nics_to_json(const struct machine *machine)
{
    json_t *array = json_array();

    for (size_t i = 0; i < machine->n_nics; i++) {
        const struct nic *nic = &machine->nics[i];
        json_t *json =
            json_pack("{s:s,s:I,s:I}", "name", nic->name, "received_bytes",
                      (json_int_t)nic->received_bytes, "sent_bytes", (json_int_t)nic->sent_bytes);

        set(json, "speed_mbit_per_s", nic->speed_mbit_per_s > 0 ? nic->speed_mbit_per_s : NEVER_US);
        (void)json_array_append_new(array, json);
    }
    return array;
}

json_t *machine_to_json(const struct machine *machine)
{
    json_t *json = json_object(), *disks = json_array();

    if (machine->version[0] != '\0')
        (void)json_object_set_new(json, "version", json_string(machine->version));
    if (machine->load_milli[0] != NEVER_US)
        (void)json_object_set_new(json, "load_milli",
                                  json_pack("[I,I,I]", (json_int_t)machine->load_milli[0],
                                            (json_int_t)machine->load_milli[1],
                                            (json_int_t)machine->load_milli[2]));
    set(json, "memory_available_bytes", machine->memory_available_bytes);
    for (size_t i = 0; i < machine->n_disks; i++)
        (void)json_array_append_new(disks, json_pack("{s:s,s:I,s:I}", "name",
                                                     machine->disks[i].name, "free_bytes",
                                                     (json_int_t)machine->disks[i].free_bytes,
                                                     "size_bytes",
                                                     (json_int_t)machine->disks[i].size_bytes));
    (void)json_object_set_new(json, "pressure", pressure_to_json(machine));
    (void)json_object_set_new(json, "disks", disks);
    (void)json_object_set_new(json, "nics", nics_to_json(machine));
    if (machine->limits != NULL)
        (void)json_object_set(json, "limits", machine->limits);
    return json;
}

/* --- all of them --- */

/* Counters of an interface begin anew when its machine or driver is started again. */
static uint64_t growth(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

static void count_traffic(struct machines *machines, const struct machine *before,
                          const struct machine *now)
{
    for (size_t i = 0; i < now->n_nics; i++)
        for (size_t k = 0; k < before->n_nics; k++) {
            const struct nic *a = &before->nics[k], *b = &now->nics[i];

            if (!streq(a->name, b->name))
                continue;
            machines->received_bytes += growth(a->received_bytes, b->received_bytes);
            machines->sent_bytes += growth(a->sent_bytes, b->sent_bytes);
        }
}

void machines_take(struct machines *machines, const char *node, struct machine *take_machine)
{
    const struct machine *before = machines_find(machines, node);

    if (before != NULL)
        count_traffic(machines, before, take_machine);
    machines_forget(machines, node);
    (void)snprintf(take_machine->node, sizeof take_machine->node, "%s", node);
    HASH_ADD_STR(machines->by_node, node, take_machine);
}

const struct machine *machines_find(const struct machines *machines, const char *node)
{
    struct machine *machine;

    HASH_FIND_STR(machines->by_node, node, machine);
    return machine;
}

void machines_forget(struct machines *machines, const char *node)
{
    struct machine *machine;

    HASH_FIND_STR(machines->by_node, node, machine);
    if (machine == NULL)
        return;
    HASH_DEL(machines->by_node, machine);
    (void)machine_free(machine);
}

void machines_done(struct machines *machines)
{
    struct machine *machine, *next;

    HASH_ITER(hh, machines->by_node, machine, next)
    {
        HASH_DEL(machines->by_node, machine);
        (void)machine_free(machine);
    }
}

static uint64_t told(uint64_t value)
{
    return value != NEVER_US ? value : 0;
}

struct machine_sums machines_sum(const struct machines *machines, const struct cluster *cluster)
{
    struct machine_sums sums = { .disk_free_least_bytes = NEVER_US };

    for (const struct machine *m = machines->by_node; m != NULL; m = m->hh.next) {
        const struct node *node = cluster_node(cluster, m->node);

        if (node == NULL || node->state == NODE_LOST)
            continue;
        sums.memory_available_bytes += told(m->memory_available_bytes);
        sums.load_milli += told(m->load_milli[0]);
        for (size_t i = 0; i < m->n_disks; i++)
            sums.disk_free_least_bytes = MIN_OF(sums.disk_free_least_bytes, m->disks[i].free_bytes);
        for (size_t i = 0; i < PRESSURES; i++)
            sums.pressure_most_ppm[i] =
                MAX_OF(sums.pressure_most_ppm[i], told(m->pressure[i].some_ppm));
    }
    sums.disk_free_least_bytes = told(sums.disk_free_least_bytes);
    return sums;
}
