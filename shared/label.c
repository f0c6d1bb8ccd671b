/* SPDX-License-Identifier: Apache-2.0 */
/* label.c - name=value pairs that nodes carry and roles ask for */
#include "shared/label.h"

#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"

#define LOWER_AND_DIGITS "abcdefghijklmnopqrstuvwxyz0123456789"
#define NAME_CHARACTERS LOWER_AND_DIGITS "._/-"
#define VALUE_CHARACTERS LOWER_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

static int check(const char *name, const char *value, struct edl_error *error)
{
    size_t n = strspn(name, NAME_CHARACTERS);

    if (n == 0 || n > LABEL_NAME_MAX || name[n] != '\0' || strchr(LOWER_AND_DIGITS, *name) == NULL)
        return edl_error_set(error, -EINVAL,
                             "\"%s\" cannot be a label's name: 1 to %d of a-z, 0-9, '.', '_', '/', "
                             "'-', a letter or digit first",
                             name, LABEL_NAME_MAX);
    n = strspn(value, VALUE_CHARACTERS);
    if (n > LABEL_VALUE_MAX || value[n] != '\0')
        return edl_error_set(error, -EINVAL,
                             "\"%s\" cannot be the value of label %s: at most %d letters, digits, "
                             "'.', '_', '-'",
                             value, name, LABEL_VALUE_MAX);
    return 0;
}

int labels_set(struct labels *labels, const char *name, const char *value, struct edl_error *error)
{
    uint32_t at = 0;
    int r = check(name, value, error);

    if (r < 0)
        return r;
    while (at < labels->n && strcmp(labels->items[at].name, name) < 0)
        at++;
    if (at == labels->n || !streq(labels->items[at].name, name)) {
        if (labels->n == LABELS_MAX)
            return edl_error_set(error, -E2BIG, "more than %d labels", LABELS_MAX);
        memmove(&labels->items[at + 1], &labels->items[at],
                (labels->n - at) * sizeof labels->items[0]);
        labels->n++;
        memset(&labels->items[at], 0, sizeof labels->items[at]);
    }
    (void)snprintf(labels->items[at].name, sizeof labels->items[at].name, "%s", name);
    (void)snprintf(labels->items[at].value, sizeof labels->items[at].value, "%s", value);
    return 0;
}

int labels_parse(struct labels *labels, const char *text, struct edl_error *error)
{
    const char *equals = strchr(text, '=');
    char name[LABEL_NAME_MAX + 2];

    if (equals == NULL)
        return edl_error_set(error, -EINVAL, "\"%s\" is not a label: name=value is expected", text);
    (void)snprintf(name, sizeof name, "%.*s", (int)MIN_OF(equals - text, LABEL_NAME_MAX + 1), text);
    return labels_set(labels, name, equals + 1, error);
}

void labels_fill(struct labels *labels, const struct labels *more)
{
    for (uint32_t i = 0; i < more->n; i++)
        if (labels_get(labels, more->items[i].name) == NULL)
            (void)labels_set(labels, more->items[i].name, more->items[i].value, NULL);
}

const char *labels_get(const struct labels *labels, const char *name)
{
    for (uint32_t i = 0; i < labels->n; i++)
        if (streq(labels->items[i].name, name))
            return labels->items[i].value;
    return NULL;
}

bool labels_cover(const struct labels *labels, const struct labels *wanted)
{
    for (uint32_t i = 0; i < wanted->n; i++) {
        const char *value = labels_get(labels, wanted->items[i].name);

        if (value == NULL || !streq(value, wanted->items[i].value))
            return false;
    }
    return true;
}

bool labels_equal(const struct labels *a, const struct labels *b)
{
    return a->n == b->n && labels_cover(a, b);
}

char *labels_describe(const struct labels *labels, char *buffer, uint32_t size)
{
    size_t used = 0;

    *buffer = '\0';
    for (uint32_t i = 0; i < labels->n && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s=%s", i > 0 ? "," : "",
                                 labels->items[i].name, labels->items[i].value);
    return buffer;
}
