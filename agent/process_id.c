/* SPDX-License-Identifier: Apache-2.0 */
/* process_id.c - identity of a process, its key and its JSON form */
#include "agent/process_id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

static bool role_valid(const char *role)
{
    size_t length = strspn(role, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    return length > 0 && role[length] == '\0' && length < PROCESS_ROLE_SIZE && role[0] != '-';
}

char *process_id_key(const struct process_id *id, char key[PROCESS_KEY_SIZE])
{
    (void)snprintf(key, PROCESS_KEY_SIZE, "%llu.%s.%lu.%llu", (unsigned long long)id->job_id,
                   id->role, (unsigned long)id->index, (unsigned long long)id->incarnation);
    return key;
}

int process_id_parse(const char *key, struct process_id *ret)
{
    struct process_id id = { 0 };
    char text[PROCESS_KEY_SIZE];
    char back[PROCESS_KEY_SIZE];
    char *part[4];
    char *rest = text;
    uint64_t index;

    if (strlen(key) >= sizeof text)
        return -EINVAL;
    (void)snprintf(text, sizeof text, "%s", key);
    for (size_t i = 0; i < ELEMENTS(part); i++) {
        part[i] = strsep(&rest, ".");
        if (part[i] == NULL)
            return -EINVAL;
    }
    if (rest != NULL || !role_valid(part[1]) || parse_u64(part[0], &id.job_id) < 0 ||
        parse_u64(part[2], &index) < 0 || index > UINT32_MAX ||
        parse_u64(part[3], &id.incarnation) < 0)
        return -EINVAL;
    id.index = (uint32_t)index;
    (void)snprintf(id.role, sizeof id.role, "%s", part[1]);
    if (!streq(process_id_key(&id, back), key)) /* leading zeros: two names for one thing */
        return -EINVAL;
    *ret = id;
    return 0;
}

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

    if (role == NULL || !role_valid(role))
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

bool process_id_same_slot(const struct process_id *a, const struct process_id *b)
{
    return a->job_id == b->job_id && a->index == b->index && streq(a->role, b->role);
}

bool process_id_equal(const struct process_id *a, const struct process_id *b)
{
    return a->incarnation == b->incarnation && process_id_same_slot(a, b);
}
