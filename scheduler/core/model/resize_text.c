/* SPDX-License-Identifier: Apache-2.0 */
/* resize_text.c - a change of a job's size as its event tells it, and back */
#include "scheduler/core/model/resize_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *resize_describe(const char *role, uint32_t from, uint32_t to, const char *why, char *buffer,
                      size_t size)
{
    (void)snprintf(buffer, size, "%s: %u -> %u%s%s%s", role, from, to, *why != '\0' ? " (" : "",
                   why, *why != '\0' ? ")" : "");
    return buffer;
}

/* Copies what comes before `end`, or NULL when that does not come or there is no room. */
static const char *copy_until(const char *text, const char *end, char *ret, size_t size)
{
    const char *at = strstr(text, end);

    if (at == NULL || (size_t)(at - text) >= size)
        return NULL;
    memcpy(ret, text, (size_t)(at - text));
    ret[at - text] = '\0';
    return at + strlen(end);
}

static const char *read_count(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long number;

    if (*text < '0' || *text > '9')
        return NULL;
    number = strtoul(text, &end, 10);
    *ret = (uint32_t)number;
    return number <= ROLE_INSTANCES_MAX ? end : NULL;
}

int resize_parse(const char *text, struct resize *ret)
{
    struct resize found = { .from = 0 };
    size_t length;

    text = copy_until(text, ": ", found.role, sizeof found.role);
    if (text != NULL)
        text = read_count(text, &found.from);
    if (text == NULL || strncmp(text, " -> ", 4) != 0)
        return -EINVAL;
    text = read_count(text + 4, &found.to);
    if (text == NULL || (*text != '\0' && strncmp(text, " (", 2) != 0))
        return -EINVAL;
    if (*text != '\0') {
        const char *why = copy_until(text + 2, ": ", found.code, sizeof found.code);

        if (why != NULL)
            (void)snprintf(found.reason, sizeof found.reason, "%s", why);
    }
    length = strlen(found.reason);
    if (length > 0 && found.reason[length - 1] == ')')
        found.reason[length - 1] = '\0';
    *ret = found;
    return 0;
}
