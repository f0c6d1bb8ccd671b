/* SPDX-License-Identifier: Apache-2.0 */
/* owner_limits.c - the limits of a user or group in bodies and answers */
#include "scheduler/api/owner_limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/calls/body.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/plan/owner_room.h"
#include "shared/macro.h"

#define AMOUNT_MOST (UINT64_C(1) << 52) /* whole in every program that reads JSON */

static const struct row {
    const char *key;
    char letter;
    size_t at;
} rows[] = {
    { "max_cpu_millicores", 'c', offsetof(struct owner_limits, cpu_millicores) },
    { "max_gpus", 'g', offsetof(struct owner_limits, gpus) },
    { "max_jobs", 'j', offsetof(struct owner_limits, jobs) },
    { "max_time_us", 't', offsetof(struct owner_limits, time_us) },
};

static uint64_t *value_of(struct owner_limits *limits, const struct row *row)
{
    return (uint64_t *)(void *)((char *)limits + row->at); /* why: rows[] has members of it */
}

bool owner_limits_given(const struct body_field *field)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (body_has(field, rows[i].key))
            return true;
    return false;
}

int owner_limits_read(const struct body_field *field, struct owner_limits *limits,
                      struct edl_error *error)
{
    struct body_field may = { .object = field->object, .at = field->at };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(rows); i++)
        r = body_u64(&may, rows[i].key, AMOUNT_MOST, value_of(limits, &rows[i]), error);
    return r;
}

void owner_limits_show(json_t *to, const struct cluster *cluster, const char *name, bool is_group,
                       const struct owner_limits *limits)
{
    struct owner_limits copy = *limits;
    struct resources held;

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        (void)json_object_set_new(to, rows[i].key,
                                  json_integer((json_int_t)*value_of(&copy, &rows[i])));
    if (!cluster_owner_held(cluster, name, is_group, &held))
        return;
    (void)json_object_set_new(to, "held_cpu_millicores", json_integer(held.cpu_millicores));
    (void)json_object_set_new(to, "held_gpus", json_integer(held.gpus));
}

void owner_limits_tag(const struct owner_limits *limits, char *tag, size_t size)
{
    struct owner_limits copy = *limits;

    for (size_t i = 0; owner_limits_any(limits) && i < ELEMENTS(rows); i++) {
        size_t used = strlen(tag);

        (void)snprintf(tag + used, size - used, ".%c%" PRIu64, rows[i].letter,
                       *value_of(&copy, &rows[i]));
    }
}
