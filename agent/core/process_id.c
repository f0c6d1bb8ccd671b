/* SPDX-License-Identifier: Apache-2.0 */
/* process_id.c - identity of a process and its key */
#include "agent/core/process_id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/parse.h"

bool process_role_valid(const char *role)
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
    if (rest != NULL || !process_role_valid(part[1]) || parse_u64(part[0], &id.job_id) < 0 ||
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

struct process_bytes process_id_slot_bytes(const struct process_id *id)
{
    struct process_bytes bytes = { .job_id = id->job_id, .index = id->index };

    (void)memcpy(bytes.role, id->role, strnlen(id->role, sizeof bytes.role));
    return bytes;
}

struct process_bytes process_id_bytes(const struct process_id *id)
{
    struct process_bytes bytes = process_id_slot_bytes(id);

    bytes.incarnation = id->incarnation;
    return bytes;
}

bool process_id_same_slot(const struct process_id *a, const struct process_id *b)
{
    return a->job_id == b->job_id && a->index == b->index && streq(a->role, b->role);
}

bool process_id_equal(const struct process_id *a, const struct process_id *b)
{
    return a->incarnation == b->incarnation && process_id_same_slot(a, b);
}
