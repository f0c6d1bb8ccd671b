/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - members of an object, with a harmless value for a member that is missing */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* json_text - "" for a member that is no text; borrowed from object */
static inline const char *json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* json_u64 - 0 for a member that is no number, or a negative one */
static inline uint64_t json_u64(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value > 0 ? (uint64_t)value : 0;
}
