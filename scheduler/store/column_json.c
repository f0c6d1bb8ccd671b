/* SPDX-License-Identifier: Apache-2.0 */
/* column_json.c - members of records that are a text of JSON in the database */
#include <string.h>

#include "scheduler/store/store_columns.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

static const void *column_member(const struct column *column, const void *record)
{
    return (const char *)record + column->at;
}

/* --- lists --- */

static size_t most_elements(const struct column *column)
{
    return column->most != 0 ? column->most : column->size / column->list->element_size;
}

static bool is_all_0(const char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static json_t *member_to_json(const struct column *member, const void *element)
{
    const void *value = column_member(member, element);

    if (member->kind == COLUMN_BORROWED)
        return json_string(*(const char *const *)value); /* NULL of NULL */
    return member->kind == COLUMN_BOOL
               ? json_boolean(*(const bool *)value)
               : json_integer((json_int_t)column_number(value, member->size));
}

static json_t *element_to_json(const struct column_list *list, const void *element)
{
    json_t *array;

    if (list->n == 1)
        return member_to_json(list->members, element);
    array = json_array();
    for (size_t i = 0; i < list->n; i++) /* which takes no NULL */
        (void)json_array_append_new(array, member_to_json(&list->members[i], element));
    return array;
}

static json_t *list_to_json(const struct column *column, const void *record)
{
    const struct column_list *list = column->list;
    const char *elements = column_member(column, record);
    size_t n = most_elements(column);
    json_t *array = json_array();

    if (list->length_size != 0)
        n = MIN_OF(n, column_number((const char *)record + list->length, list->length_size));
    else if (is_all_0(elements, column->size))
        n = 0;
    if (column->most != 0)
        elements = *(const char *const *)elements;
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array,
                                    element_to_json(list, elements + i * list->element_size));
    return array;
}

static void read_member(struct row *row, int at, const struct column *member, const json_t *value,
                        char *element)
{
    void *to = element + member->at;
    bool is_text = json_is_string(value);

    if (member->kind == COLUMN_NUMBER) {
        column_set_number(to, member->size, row_element(row, at, value, column_most(member)));
    } else if (member->kind == COLUMN_BOOL) {
        if (!json_is_boolean(value))
            (void)row_damaged(row, at, "has an element that cannot be");
        *(bool *)to = json_is_true(value);
    } else {
        if (value != NULL && !is_text)
            (void)row_damaged(row, at, "has a note that is no text");
        *(char **)to = is_text ? xstrdup(json_string_value(value)) : NULL;
    }
}

static void read_list(struct row *row, int at, const struct column *column, void *record)
{
    const struct column_list *list = column->list;
    char *elements = (char *)record + column->at;
    char *length = (char *)record + list->length;
    json_t *array = row_array(row, at, most_elements(column));
    size_t n = json_array_size(array), i;
    json_t *value;

    if (column->most != 0)
        elements = *(char **)elements = xcalloc(n, list->element_size);
    json_array_foreach(array, i, value)
    {
        char *element = elements + i * list->element_size;

        for (size_t m = 0; m < list->n; m++)
            read_member(row, at, &list->members[m], list->n == 1 ? value : json_array_get(value, m),
                        element);
    }
    if (list->length_told && column_number(length, list->length_size) != n)
        (void)row_damaged(row, at, "has not one element for each");
    else if (list->length_size != 0)
        column_set_number(length, list->length_size, n);
    json_decref(array);
}

/* --- others --- */

static json_t *labels_to_json(const struct column *column, const void *record)
{
    const struct labels *labels = column_member(column, record);
    json_t *object = json_object();

    for (uint32_t i = 0; i < labels->n; i++)
        (void)json_object_set_new(object, labels->items[i].name,
                                  json_string(labels->items[i].value));
    return object;
}

static json_t *devices_to_json(const struct column *column, const void *record)
{
    const uint64_t *mask = column_member(column, record);
    json_t *array = json_array();

    for (int i = 0; i < NODE_GPUS_MAX; i++)
        if (*mask & UINT64_C(1) << i)
            (void)json_array_append_new(array, json_integer(i));
    return array;
}

static json_t *spec_to_json(const struct column *column, const void *record)
{
    return job_spec_to_document(*(struct job_spec *const *)column_member(column, record));
}

static void read_labels(struct row *row, int at, const struct column *column, void *record)
{
    struct labels *labels = (void *)((char *)record + column->at);
    json_t *object = row_object(row, at);
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        const char *text = json_string_value(value);

        if (text == NULL || labels_set(labels, name, text, NULL) < 0)
            (void)row_damaged(row, at, "has a label that cannot be");
    }
    json_decref(object);
}

static void read_devices(struct row *row, int at, const struct column *column, void *record)
{
    uint64_t *mask = (void *)((char *)record + column->at);
    json_t *array = row_array(row, at, NODE_GPUS_MAX);
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value) *mask |= UINT64_C(1)
                                                 << row_element(row, at, value, NODE_GPUS_MAX - 1);
    json_decref(array);
}

/* A document that is shared (store_documents.c) has no name, and index 0: the row has both, the
 * index behind the columns of the record. */
static void fill_in(struct row *row, int at, json_t *document)
{
    const char *name = json_string_value(json_object_get(document, "name"));
    json_t *array = json_object_get(document, "array");
    int first = at - store_place(&job_table, "spec");
    int index = first + store_columns_n(&job_table);

    if (name == NULL || name[0] != '\0')
        return;
    name = store_column_text(row->statement, first + store_place(&job_table, "name"));
    (void)json_object_set_new(document, "name", json_string(name));
    if (array != NULL)
        (void)json_object_set_new(array, "index",
                                  json_integer(store_column_i64(row->statement, index)));
}

static void read_spec(struct row *row, int at, const struct column *column, void *record)
{
    struct edl_error why = { 0 };
    struct job_spec *spec = NULL;
    json_t *document = row_object(row, at);

    if (document != NULL)
        fill_in(row, at, document);
    if (document != NULL && job_spec_from_stored(document, &spec, &why) < 0)
        (void)row_damaged(row, at, why.text);
    json_decref(document);
    *(struct job_spec **)((char *)record + column->at) = spec;
}

static const struct {
    json_t *(*to_json)(const struct column *column, const void *record);
    void (*read)(struct row *row, int at, const struct column *column, void *record);
} kinds[_COLUMN_KINDS] = {
    [COLUMN_LIST] = { list_to_json, read_list },
    [COLUMN_LABELS] = { labels_to_json, read_labels },
    [COLUMN_DEVICES] = { devices_to_json, read_devices },
    [COLUMN_SPEC] = { spec_to_json, read_spec },
};

char *column_json_text(const struct column *column, const void *record)
{
    return store_json_text(kinds[column->kind].to_json(column, record));
}

void column_read_json(struct row *row, int at, const struct column *column, void *record)
{
    kinds[column->kind].read(row, at, column, record);
}
