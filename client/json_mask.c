/* SPDX-License-Identifier: Apache-2.0 */
/* json_mask.c - answers of the server made fit for a terminal
 *
 * Done once, where answers come in: no verb can forget it. */
#include "client/json_mask.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/printable.h"

/* rename_member - under its masked name; of two that become alike the latter stays */
static void rename_member(json_t *object, const char *name)
{
    _cleanup_free_ char *old = xstrdup(name);
    _cleanup_free_ char *masked = xstrdup(name);
    json_t *value = json_incref(json_object_get(object, old));

    printable_mask(masked, strlen(masked), "");
    (void)json_object_del(object, old);
    (void)json_object_set_new(object, masked, value);
}

static void mask_object(json_t *object)
{
    const char *name;
    json_t *value;
    void *next;

    json_object_foreach(object, name, value)
    {
        json_mask(value);
    }
    json_object_foreach_safe(object, next, name, value)
    {
        if (!printable_is(name))
            rename_member(object, name);
    }
}

void json_mask(json_t *value)
{
    size_t i;
    json_t *item;

    if (json_is_object(value))
        mask_object(value);
    json_array_foreach(value, i, item)
    {
        json_mask(item);
    }
    /* why: the text belongs to the value, which is ours to change */
    if (json_is_string(value))
        printable_mask((char *)(uintptr_t)json_string_value(value), json_string_length(value), "");
}
