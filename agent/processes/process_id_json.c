/* SPDX-License-Identifier: Apache-2.0 */
/* process_id_json.c - identity of a process in the bodies of calls */
#include "agent/processes/process_id_json.h"

#include <errno.h>
#include <stdio.h>

#include "shared/error.h"

static int get_u64(const json_t *object, const char *key, uint64_t most, uint64_t *ret,
                   struct edl_error *error)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return edl_error_set(error, -EINVAL, "'%s' is not a number in range", key);
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

int process_id_from_json(const json_t *object, struct process_id *ret, struct edl_error *error)
{
    const char *role = json_string_value(json_object_get(object, "role"));
    struct process_id id = { 0 };
    uint64_t index;
    int r;

    if (role == NULL || !process_role_valid(role))
        return edl_error_set(error, -EINVAL, "'role' is missing or not a role name");
    r = get_u64(object, "job_id", INT64_MAX, &id.job_id, error);
    if (r == 0)
        r = get_u64(object, "index", UINT32_MAX, &index, error);
    if (r == 0)
        r = get_u64(object, "incarnation", INT64_MAX, &id.incarnation, error);
    if (r < 0)
        return r;
    id.index = (uint32_t)index;
    (void)snprintf(id.role, sizeof id.role, "%s", role);
    *ret = id;
    return 0;
}

json_t *process_id_json(const struct process_id *id)
{
    return json_pack("{s:I, s:s, s:I, s:I}", "job_id", (json_int_t)id->job_id, "role", id->role,
                     "index", (json_int_t)id->index, "incarnation", (json_int_t)id->incarnation);
}
