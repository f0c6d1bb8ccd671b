/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - members of a request's JSON body */
#include "scheduler/calls/body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/printable.h"

int body_object(struct http_request *request, json_t **ret, struct edl_error *error)
{
    size_t size;
    json_t *value;
    int r;

    (void)http_request_body(request, &size);
    if (size == 0) {
        *ret = json_object();
        return 0;
    }
    r = http_request_json(request, &value, error);
    if (r < 0)
        return r;
    if (!json_is_object(value)) {
        json_decref(value);
        return edl_error_set(error, -EINVAL, "the body is not a JSON object");
    }
    *ret = value;
    return 0;
}

static int wrong(const struct body_field *field, const char *key, struct edl_error *error,
                 const char *what)
{
    char pointer[160];

    (void)snprintf(pointer, sizeof pointer, "%s/%s", field->at, key);
    return edl_error_at(error, -EINVAL, pointer, "%s %s", pointer, what);
}

/* 1: it is there; 0: it is not and need not be */
static int look_up(const struct body_field *field, const char *key, const json_t **ret,
                   struct edl_error *error)
{
    const json_t *value = json_object_get(field->object, key);

    if (value == NULL || json_is_null(value))
        return field->required ? wrong(field, key, error, "is missing") : 0;
    *ret = value;
    return 1;
}

bool body_has(const struct body_field *field, const char *key)
{
    const json_t *value = json_object_get(field->object, key);

    return value != NULL && !json_is_null(value);
}

static bool is_one_of(const char *keys, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = keys; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && strncmp(at, key, length) == 0)
            return true;
    return false;
}

int body_known(const struct body_field *field, const char *keys, struct edl_error *error)
{
    const char *key;
    json_t *value;

    /* why: iterating wants one that is not const; nothing writes to it */
    json_object_foreach((json_t *)(uintptr_t)field->object, key, value)
    {
        char pointer[sizeof error->pointer];

        if (is_one_of(keys, key))
            continue;
        (void)snprintf(pointer, sizeof pointer, "%s/%.100s", field->at, key);
        (void)edl_error_at(error, -EINVAL, pointer, "%s is not known here", pointer);
        return edl_error_remedy(error, "known here: %s", keys);
    }
    return 0;
}

int body_i64(const struct body_field *field, const char *key, int64_t least, int64_t most,
             int64_t *ret, struct edl_error *error)
{
    const json_t *value = NULL;
    char text[100];
    int r = look_up(field, key, &value, error);

    if (r <= 0)
        return r;
    if (json_is_integer(value) && json_integer_value(value) >= least &&
        json_integer_value(value) <= most) {
        *ret = json_integer_value(value);
        return 0;
    }
    (void)snprintf(text, sizeof text, "is not a whole number from %" PRId64 " to %" PRId64, least,
                   most);
    return wrong(field, key, error, text);
}

int body_u64(const struct body_field *field, const char *key, uint64_t most, uint64_t *ret,
             struct edl_error *error)
{
    int64_t value = -1;
    int r = body_i64(field, key, 0, (int64_t)MIN_OF(most, (uint64_t)INT64_MAX), &value, error);

    if (r == 0 && value >= 0)
        *ret = (uint64_t)value;
    return r;
}

int body_bool(const struct body_field *field, const char *key, bool *ret, struct edl_error *error)
{
    const json_t *value = NULL;
    int r = look_up(field, key, &value, error);

    if (r <= 0)
        return r;
    if (!json_is_boolean(value))
        return wrong(field, key, error, "is neither true nor false");
    *ret = json_is_true(value);
    return 0;
}

int body_verbatim(const struct body_field *field, const char *key, size_t most, const char **ret,
                  struct edl_error *error)
{
    const json_t *value = NULL;
    char text[80];
    int r = look_up(field, key, &value, error);

    if (r <= 0)
        return r;
    if (json_is_string(value) && json_string_length(value) <= most &&
        strlen(json_string_value(value)) == json_string_length(value)) {
        *ret = json_string_value(value);
        return 0;
    }
    (void)snprintf(text, sizeof text, "is not a string of at most %zu bytes", most);
    return wrong(field, key, error, text);
}

int body_string(const struct body_field *field, const char *key, size_t most, const char **ret,
                struct edl_error *error)
{
    const char *text = NULL;
    int r = body_verbatim(field, key, most, &text, error);

    if (r < 0 || text == NULL)
        return r;
    if (!printable_is(text))
        return wrong(field, key, error, "has a control character (a line end, a tab, an escape)");
    *ret = text;
    return 0;
}

int body_reported(const struct body_field *field, const char *key, size_t most, const char **ret,
                  struct edl_error *error)
{
    const char *text = NULL;
    int r = body_verbatim(field, key, most, &text, error);

    if (r < 0 || text == NULL)
        return r;
    /* why: the request's own copy, which nobody else reads */
    printable_mask((char *)(uintptr_t)text, strlen(text), "");
    *ret = text;
    return 0;
}

int body_array(const struct body_field *field, const char *key, const json_t **ret,
               struct edl_error *error)
{
    const json_t *value = NULL;
    int r = look_up(field, key, &value, error);

    if (r <= 0)
        return r;
    if (!json_is_array(value))
        return wrong(field, key, error, "is not an array");
    *ret = value;
    return 0;
}
