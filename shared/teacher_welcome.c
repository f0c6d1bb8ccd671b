/* SPDX-License-Identifier: Apache-2.0 */
/* teacher_welcome.c - what a teacher says of itself in WELCOME */
#include "shared/teacher_welcome.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define SHAPE_TEXT 128

/* ---- encoding ---- */

static json_t *feed_to_json(const struct teacher_feed *feed)
{
    json_t *json = json_pack("{s:s}", "name", feed->name), *shape;

    if (feed->type < TEACHER_TYPES)
        (void)json_object_set_new(json, "type", json_string(teacher_type_to_string(feed->type)));
    if (feed->n_dimensions == TEACHER_DIMENSIONS_ANY)
        return json;
    shape = json_array();
    for (uint32_t i = 0; i < feed->n_dimensions; i++)
        (void)json_array_append_new(shape, feed->dimensions[i] == TEACHER_EXTENT_ANY
                                               ? json_null()
                                               : json_integer((json_int_t)feed->dimensions[i]));
    (void)json_object_set_new(json, "shape", shape);
    return json;
}

int teacher_welcome_encode(const struct teacher_welcome *welcome, char **ret, size_t *ret_size,
                           struct edl_error *error)
{
    json_t *feeds = json_array(), *fetches = json_array(), *json;
    char *text;

    for (uint32_t i = 0; i < welcome->n_feeds; i++)
        (void)json_array_append_new(feeds, feed_to_json(&welcome->feeds[i]));
    for (uint32_t i = 0; i < welcome->n_fetches; i++)
        (void)json_array_append_new(fetches, json_string(welcome->fetches[i].name));
    json =
        json_pack("{s:s, s:o, s:o, s:I, s:I}", "model", welcome->model, "feeds", feeds, "fetches",
                  fetches, "batch", (json_int_t)welcome->batch, "free", (json_int_t)welcome->free);
    text = json_to_text(json, ret_size);
    json_decref(json);
    if (text == NULL)
        return edl_error_set(error, -EINVAL, "a name of the model is no UTF-8");
    if (*ret_size > TEACHER_CONTROL_MAX) {
        free(text);
        return edl_error_set(error, -EMSGSIZE,
                             "the names of inputs and outputs take %zu bytes; %d are possible",
                             *ret_size, TEACHER_CONTROL_MAX);
    }
    *ret = text;
    return 0;
}

/* ---- decoding ---- */

static bool take_text(const json_t *json, char *ret)
{
    const char *text = json_string_value(json);

    if (text == NULL || json_string_length(json) > TEACHER_FIELD_MAX)
        return false;
    memcpy(ret, text, strlen(text) + 1);
    return true;
}

static bool take_count(const json_t *json, uint32_t *ret)
{
    const json_int_t n = json_integer_value(json); /* 0: there is none */

    *ret = (uint32_t)n;
    return json == NULL || (json_is_integer(json) && n >= 0 && n <= UINT32_MAX);
}

static bool take_extent(const json_t *json, uint64_t *ret)
{
    *ret = json_is_integer(json) ? (uint64_t)json_integer_value(json) : TEACHER_EXTENT_ANY;
    return json_is_null(json) || (json_is_integer(json) && json_integer_value(json) >= 0);
}

static bool take_feed(const json_t *json, struct teacher_feed *ret)
{
    const json_t *type = json_object_get(json, "type"), *shape = json_object_get(json, "shape");

    if (!take_text(json_object_get(json, "name"), ret->name))
        return false;
    ret->type = TEACHER_TYPES;
    if (type != NULL) {
        if (!json_is_string(type))
            return false;
        ret->type = teacher_type_of(json_string_value(type));
        if (ret->type == TEACHER_TYPES)
            return false;
    }
    ret->n_dimensions = TEACHER_DIMENSIONS_ANY;
    if (shape == NULL)
        return true;
    if (!json_is_array(shape) || json_array_size(shape) > TEACHER_DIMENSIONS_MAX)
        return false;
    ret->n_dimensions = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < ret->n_dimensions; i++)
        if (!take_extent(json_array_get(shape, i), &ret->dimensions[i]))
            return false;
    return true;
}

static bool take_welcome(const json_t *json, struct teacher_welcome *ret)
{
    const json_t *feeds = json_object_get(json, "feeds");
    const json_t *fetches = json_object_get(json, "fetches");

    if (!take_text(json_object_get(json, "model"), ret->model) || !json_is_array(feeds) ||
        !json_is_array(fetches) || json_array_size(feeds) > TEACHER_TENSORS_MAX ||
        json_array_size(fetches) > TEACHER_TENSORS_MAX ||
        !take_count(json_object_get(json, "batch"), &ret->batch) ||
        !take_count(json_object_get(json, "free"), &ret->free))
        return false;
    ret->n_feeds = (uint32_t)json_array_size(feeds);
    ret->n_fetches = (uint32_t)json_array_size(fetches);
    ret->feeds = xcalloc(ret->n_feeds, sizeof *ret->feeds);
    ret->fetches = xcalloc(ret->n_fetches, sizeof *ret->fetches);
    for (uint32_t i = 0; i < ret->n_feeds; i++)
        if (!take_feed(json_array_get(feeds, i), &ret->feeds[i]))
            return false;
    for (uint32_t i = 0; i < ret->n_fetches; i++)
        if (!take_text(json_array_get(fetches, i), ret->fetches[i].name))
            return false;
    return true;
}

int teacher_welcome_decode(const uint8_t *body, size_t size, struct teacher_welcome *ret,
                           struct edl_error *error)
{
    struct teacher_welcome welcome = { .model = "" };
    json_t *json = json_loadb((const char *)body, size, 0, NULL);
    const bool good = json != NULL && take_welcome(json, &welcome);

    json_decref(json);
    if (!good) {
        teacher_welcome_clear(&welcome);
        return edl_error_set(error, -EPROTO, "WELCOME is not as expected");
    }
    *ret = welcome;
    return 0;
}

void teacher_welcome_clear(struct teacher_welcome *welcome)
{
    free(welcome->feeds);
    free(welcome->fetches);
    *welcome = (struct teacher_welcome){ .model = "" };
}

/* ---- what fits ---- */

void teacher_shape_write(const uint64_t *dimensions, uint32_t n, char *ret, size_t size)
{
    size_t used = (size_t)snprintf(ret, size, "(");

    for (uint32_t i = 0; i < n && used < size; i++) {
        const char *between = i == 0 ? "" : ", ";

        if (dimensions[i] == TEACHER_EXTENT_ANY)
            used += (size_t)snprintf(ret + used, size - used, "%sany", between);
        else
            used += (size_t)snprintf(ret + used, size - used, "%s%llu", between,
                                     (unsigned long long)dimensions[i]);
    }
    if (used < size)
        (void)snprintf(ret + used, size - used, ")");
}

static bool shape_fits(const struct teacher_feed *feed, const struct teacher_tensor *tensor)
{
    if (feed->n_dimensions == TEACHER_DIMENSIONS_ANY)
        return true;
    if (feed->n_dimensions + 1 != tensor->n_dimensions)
        return false;
    for (uint32_t i = 0; i < feed->n_dimensions; i++)
        if (feed->dimensions[i] != TEACHER_EXTENT_ANY &&
            feed->dimensions[i] != tensor->dimensions[i + 1])
            return false;
    return true;
}

int teacher_feed_fits(const struct teacher_feed *feed, const struct teacher_tensor *tensor,
                      struct edl_error *error)
{
    char name[64], given[SHAPE_TEXT], wanted[SHAPE_TEXT];

    (void)printable_escape(feed->name, name, sizeof name);
    if (tensor->n_dimensions == 0 || tensor->dimensions[0] == 0)
        return edl_error_set(error, -EINVAL, "%s has no samples", name);
    if (!shape_fits(feed, tensor)) {
        teacher_shape_write(tensor->dimensions + 1, tensor->n_dimensions - 1, given, sizeof given);
        teacher_shape_write(feed->dimensions, feed->n_dimensions, wanted, sizeof wanted);
        return edl_error_set(error, -EINVAL,
                             "%s has the shape %s for each sample, and this teacher wants %s", name,
                             given, wanted);
    }
    if (feed->type < TEACHER_TYPES && feed->type != tensor->type)
        return edl_error_set(error, -EINVAL, "%s has the type %s, and this teacher wants %s", name,
                             teacher_type_to_string(tensor->type),
                             teacher_type_to_string(feed->type));
    return 0;
}
