/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - see gpus.h */
#include "agent/machine/gpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "agent/options.h"
#include "shared/label.h"
#include "shared/macro.h"

#define LOOKS_APART_US (UINT64_C(120) * 1000000) /* further apart they say nothing of between */
#define STRANGERS_MAX 16                         /* of one device that are told */

void gpus_init(struct gpus *gpus, const struct agent_options *options)
{
    *gpus = (struct gpus){ .most = options->gpus_given ? options->gpus : UINT64_MAX,
                           .n = options->gpus,
                           .numa_given = options->n_gpu_numa > 0 };
    (void)memcpy(gpus->numa, options->gpu_numa, sizeof gpus->numa);
}

void gpus_done(struct gpus *gpus)
{
    json_decref(gpus->devices);
    gpus->devices = NULL;
}

/* strangers_of - new array */
static json_t *strangers_of(const json_t *device, unsigned number, gpus_is_ours_fn is_ours,
                            void *userdata)
{
    json_t *strangers = json_array(), *process;
    size_t i;

    json_array_foreach(json_object_get(device, "processes"), i, process)
    {
        json_int_t pid = json_integer_value(json_object_get(process, "pid"));

        if (json_array_size(strangers) < STRANGERS_MAX && !is_ours((pid_t)pid, number, userdata))
            (void)json_array_append(strangers, process);
    }
    return strangers;
}

static uint64_t take_device(struct gpus *gpus, size_t i, const json_t *told,
                            gpus_is_ours_fn is_ours, void *userdata)
{
    json_t *device = json_copy((json_t *)(uintptr_t)told); /* why: only counted, not changed */
    json_t *strangers = strangers_of(device, (unsigned)i, is_ours, userdata);
    json_int_t numa = json_integer_value(json_object_get(device, "numa"));
    bool foreign = json_array_size(strangers) > 0;

    if (!gpus->numa_given)
        gpus->numa[i] = numa > 0 && numa < UINT8_MAX ? (uint8_t)numa : 0;
    (void)json_object_del(device, "processes");
    (void)json_object_del(device, "numa");
    (void)json_object_set_new(device, "strangers", strangers);
    (void)json_array_append_new(gpus->devices, device);
    return foreign ? UINT64_C(1) << i : 0;
}

static bool is_same_device(const json_t *a, const json_t *b)
{
    const char *a_uuid = json_string_value(json_object_get(a, "uuid"));
    const char *b_uuid = json_string_value(json_object_get(b, "uuid"));

    return a_uuid != NULL && b_uuid != NULL && strcmp(a_uuid, b_uuid) == 0;
}

/* What is measured is a moment's work, so that one look says little. */
static void take_use(struct gpus *gpus, size_t i, const json_t *told, uint64_t now_us)
{
    const json_t *utilisation = json_object_get(told, "utilisation_ppm");
    bool idle = json_is_integer(utilisation) && json_integer_value(utilisation) == 0;

    if (!idle)
        gpus->idle_since_us[i] = 0;
    else if (gpus->idle_since_us[i] == 0)
        gpus->idle_since_us[i] = now_us;
}

bool gpus_take(struct gpus *gpus, const json_t *answer, uint64_t now_us, gpus_is_ours_fn is_ours,
               void *userdata)
{
    const json_t *told = json_object_get(answer, "gpus");
    uint64_t n = MIN_OF(json_array_size(told), ELEMENTS(gpus->numa));
    uint64_t offered = gpus->n, foreign = gpus->foreign;
    bool lost = gpus->lost;
    json_t *before;

    if (!json_is_array(told) || now_us - gpus->looked_us > LOOKS_APART_US)
        (void)memset(gpus->idle_since_us, 0, sizeof gpus->idle_since_us);
    gpus->looked_us = now_us;
    gpus->lost = gpus->devices != NULL && !json_is_array(told);
    if (!json_is_array(told))
        return gpus->lost != lost;
    gpus->n = MIN_OF(n, gpus->most);
    gpus->foreign = 0;
    before = gpus->devices;
    gpus->devices = json_array();
    for (size_t i = 0; i < gpus->n; i++) {
        if (!is_same_device(json_array_get(before, i), json_array_get(told, i)))
            gpus->idle_since_us[i] = 0;
        gpus->foreign |= take_device(gpus, i, json_array_get(told, i), is_ours, userdata);
        take_use(gpus, i, json_array_get(told, i), now_us);
    }
    json_decref(before);
    return gpus->n != offered || gpus->foreign != foreign || gpus->lost != lost;
}

bool gpus_are_watched(const struct gpus *gpus)
{
    return gpus->devices != NULL;
}

static uint64_t all_of(const struct gpus *gpus)
{
    return gpus->n >= 64 ? UINT64_MAX : (UINT64_C(1) << gpus->n) - 1;
}

uint64_t gpus_missing(const struct gpus *gpus, uint64_t mask)
{
    return mask & ~all_of(gpus);
}

uint64_t gpus_foreign(const struct gpus *gpus, bool known)
{
    return gpus_are_watched(gpus) && (gpus->lost || !known) ? all_of(gpus) : gpus->foreign;
}

uint64_t gpus_idle(const struct gpus *gpus, bool known, uint64_t since_us)
{
    uint64_t mask = 0;

    for (size_t i = 0; known && !gpus->lost && i < gpus->n; i++)
        if (gpus->idle_since_us[i] != 0 && gpus->idle_since_us[i] <= since_us)
            mask |= UINT64_C(1) << i;
    return mask;
}

uint64_t gpus_of_order(const json_t *order)
{
    const char *at = json_string_value(json_object_get(json_object_get(order, "env"), "EDL_GPUS"));
    uint64_t mask = 0;
    unsigned number;
    int n;

    while (at != NULL && sscanf(at, "%2u%n", &number, &n) == 1 && number < 64) {
        mask |= UINT64_C(1) << number;
        at += at[n] == ',' ? n + 1 : n;
    }
    return mask;
}

static const char *name_of(const struct gpus *gpus, size_t i)
{
    return json_string_value(json_object_get(json_array_get(gpus->devices, i), "name"));
}

/* What cannot be in a label's value becomes one '-' between what can. */
static void as_label(const char *name, char value[LABEL_VALUE_MAX + 1])
{
    size_t n = 0;
    bool gap = false;

    for (; *name != '\0' && n + 1 < LABEL_VALUE_MAX; name++) {
        bool fits = isalnum((unsigned char)*name) || strchr("._-", *name) != NULL;

        if (fits && gap && n > 0)
            value[n++] = '-';
        if (fits)
            value[n++] = *name;
        gap = !fits;
    }
    value[n] = '\0';
}

void gpus_label(const struct gpus *gpus, struct labels *labels)
{
    bool told = labels_get(labels, LABEL_GPU_TYPE) != NULL;
    const char *name = gpus->n > 0 && !told ? name_of(gpus, 0) : NULL;
    char value[LABEL_VALUE_MAX + 1];

    for (size_t i = 1; name != NULL && i < gpus->n; i++)
        if (name_of(gpus, i) == NULL || !streq(name_of(gpus, i), name))
            return;
    if (name == NULL)
        return;
    as_label(name, value);
    if (value[0] != '\0')
        (void)labels_set(labels, LABEL_GPU_TYPE, value, NULL);
}

json_t *gpus_name(const struct gpus *gpus, json_t *order)
{
    uint64_t mask = gpus_of_order(order);
    char text[64 * 96] = "";
    size_t used = 0;
    json_t *named, *minors;

    if (mask == 0 || !gpus_are_watched(gpus))
        return json_incref(order);
    named = json_deep_copy(order);
    minors = json_array();
    for (size_t i = 0; i < gpus->n; i++) {
        const json_t *device = json_array_get(gpus->devices, i);

        if (!(mask & UINT64_C(1) << i))
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.94s", used > 0 ? "," : "",
                                 json_string_value(json_object_get(device, "uuid")));
        (void)json_array_append(minors, json_object_get(device, "minor"));
    }
    (void)json_object_set_new(json_object_get(named, "env"), "CUDA_VISIBLE_DEVICES",
                              json_string(text));
    (void)json_object_set_new(named, "gpu_minors", minors);
    return named;
}

bool gpus_are_alive(const struct gpus *gpus, uint64_t mask)
{
    for (size_t i = 0; i < gpus->n; i++) {
        const json_t *device = json_array_get(gpus->devices, i), *stranger;
        size_t k;

        if (!(mask & UINT64_C(1) << i))
            continue;
        json_array_foreach(json_object_get(device, "strangers"), k, stranger)
        {
            const char *user = json_string_value(json_object_get(stranger, "user"));

            if (user != NULL && user[0] != '\0')
                return true;
        }
    }
    return false;
}

void gpus_say(const struct gpus *gpus, uint64_t mask, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < gpus->n; i++) {
        const json_t *device = json_array_get(gpus->devices, i);
        const json_t *stranger = json_array_get(json_object_get(device, "strangers"), 0);
        const char *user = json_string_value(json_object_get(stranger, "user"));

        if (!(mask & UINT64_C(1) << i) || stranger == NULL)
            continue;
        (void)snprintf(text, size, "GPU %zu is held by pid %lld of %s", i,
                       (long long)json_integer_value(json_object_get(stranger, "pid")),
                       user != NULL && user[0] != '\0' ? user : "nobody that is known");
        return;
    }
}
