/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_reader.c - the body of PUT /jobs/{job}/dataset, read piece by piece as it comes
 *
 * Outermost it is taken apart here: {"digest": VALUE, "passes": VALUE, "tasks": [VALUE, ...]}. A
 * value is collected until its brackets are closed, and then jansson's, which checks it. */
#include "scheduler/workspaces/dataset_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/calls/body.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/core.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PATH_BYTES_MAX 4095
#define DIGEST_BYTES_MAX 64
#define OTHER_BYTES_MAX 4096 /* of a key, or of a value that is not a task */

/* What comes next. */
enum place {
    AT_START,
    AT_FIRST_KEY, /* or the end of an empty object */
    AT_KEY,
    AT_COLON,
    AT_VALUE,
    AT_FIRST_TASK, /* or the end of an empty array */
    AT_TASK,
    AT_TASK_END,  /* , or ] */
    AT_VALUE_END, /* , or } */
    AT_END,
};

/* A value that is being collected. */
struct value {
    char *data; /* owned */
    size_t size, room;
    unsigned depth;
    bool begun, in_text, escaped;
};

struct dataset_reader {
    struct task_queue *queue; /* owned; NULL: tasks are passed over */
    uint64_t tasks_max, n_tasks, n_bytes;
    enum place at;
    struct value value;
    char key[16]; /* of the member; cut: then it is none that is known */
    char digest[DIGEST_BYTES_MAX + 1];
    bool has_digest, has_passes, has_tasks, keeps;
};

struct dataset_reader *dataset_reader_new(const struct task_queue_config *config,
                                          uint64_t tasks_max)
{
    struct dataset_reader *reader = xcalloc(1, sizeof *reader);

    if (config != NULL)
        reader->queue = task_queue_new(config);
    reader->tasks_max = tasks_max;
    return reader;
}

struct dataset_reader *dataset_reader_free(struct dataset_reader *reader)
{
    if (reader == NULL)
        return NULL;
    (void)task_queue_free(reader->queue);
    free(reader->value.data);
    free(reader);
    return NULL;
}

/* --- a task --- */

static int read_chunk(const json_t *item, const char *at, struct task_chunk *ret,
                      struct edl_error *error)
{
    struct body_field must = { .object = item, .at = at, .required = true };
    struct body_field may = { .object = item, .at = at };
    uint64_t records;
    int r = body_string(&must, "path", PATH_BYTES_MAX, &ret->path, error);

    if (r == 0)
        r = body_u64(&must, "offset", INT64_MAX, &ret->offset_bytes, error);
    if (r == 0)
        r = body_u64(&must, "records", UINT32_MAX, &records, error);
    if (r == 0)
        r = body_u64(&may, "size", INT64_MAX, &ret->file_bytes, error);
    if (r == 0)
        r = body_u64(&may, "mtime_us", INT64_MAX, &ret->mtime_us, error);
    if (r == 0 && body_has(&may, "size") != body_has(&may, "mtime_us"))
        r = edl_error_at(error, -EINVAL, at, "%s has one of size and mtime_us without the other",
                         at);
    if (r < 0)
        return r;
    ret->n_records = (uint32_t)records;
    return 0;
}

static int read_task(struct dataset_reader *reader, const json_t *item, struct edl_error *error)
{
    char at[64];
    struct body_field must = { .object = item, .at = at, .required = true };
    _cleanup_free_ struct task_chunk *chunks = NULL;
    const json_t *array;
    size_t n;
    int r;

    (void)snprintf(at, sizeof at, "/tasks/%" PRIu64, reader->n_tasks);
    r = body_array(&must, "chunks", &array, error);
    if (r < 0)
        return r;
    n = json_array_size(array);
    if (n == 0)
        return edl_error_at(error, -EINVAL, at, "%s has no chunks", at);
    chunks = xcalloc(n, sizeof *chunks);
    for (size_t c = 0; r == 0 && c < n; c++) {
        (void)snprintf(at, sizeof at, "/tasks/%" PRIu64 "/chunks/%zu", reader->n_tasks, c);
        r = read_chunk(json_array_get(array, c), at, &chunks[c], error);
    }
    if (r == 0)
        (void)task_queue_add(reader->queue, chunks, (uint32_t)n);
    return r;
}

/* --- values --- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int refuse(const struct dataset_reader *reader, const char *what, struct edl_error *error)
{
    return edl_error_set(error, -EINVAL, "the body is not a JSON object: %s, near byte %" PRIu64,
                         what, reader->n_bytes);
}

static int parse(const struct dataset_reader *reader, json_t **ret, struct edl_error *error)
{
    json_error_t where;

    *ret = json_loadb(reader->value.data, reader->value.size,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    return *ret != NULL ? 0 : refuse(reader, where.text, error);
}

static int end_key(struct dataset_reader *reader, const json_t *key, struct edl_error *error)
{
    if (!json_is_string(key))
        return refuse(reader, "a key is missing", error);
    (void)snprintf(reader->key, sizeof reader->key, "%s", json_string_value(key));
    reader->at = AT_COLON;
    return 0;
}

static int end_task(struct dataset_reader *reader, const json_t *task, struct edl_error *error)
{
    int r = task != NULL ? read_task(reader, task, error) : 0;

    if (r < 0)
        return r;
    reader->n_tasks++;
    reader->at = AT_TASK_END;
    if (reader->tasks_max == 0 || reader->n_tasks <= reader->tasks_max)
        return 0;
    (void)edl_error_at(error, EDL_EBADSPEC, "/tasks",
                       "a dataset of more than %" PRIu64 " tasks (max-job-tasks)",
                       reader->tasks_max);
    return edl_error_remedy(error, "put more chunks into each task, or larger pieces of files into "
                                   "each chunk (offset and records)");
}

static int read_digest(struct dataset_reader *reader, const struct body_field *field,
                       struct edl_error *error)
{
    const char *digest;
    int r = body_string(field, "digest", DIGEST_BYTES_MAX, &digest, error);

    if (r < 0)
        return r;
    (void)snprintf(reader->digest, sizeof reader->digest, "%s", digest);
    reader->has_digest = true;
    return 0;
}

static int read_passes(struct dataset_reader *reader, const struct body_field *field,
                       struct edl_error *error)
{
    uint64_t passes;
    int r = body_u64(field, "passes", JOB_PASSES_MAX, &passes, error);

    if (r < 0)
        return r;
    if (passes == 0)
        return edl_error_at(error, -EINVAL, "/passes", "/passes is 0, and 1 at least is needed");
    if (reader->queue != NULL)
        task_queue_wish_passes(reader->queue, (uint32_t)passes);
    reader->has_passes = true;
    return 0;
}

/* end_other - a member that is not the list of tasks; unknown ones are passed over */
static int end_other(struct dataset_reader *reader, const json_t *value, struct edl_error *error)
{
    const struct {
        const char *key, *twice;
        bool is_there;
        int (*read)(struct dataset_reader *reader, const struct body_field *field,
                    struct edl_error *error);
    } members[] = {
        { "digest", "\"digest\" is there twice", reader->has_digest, read_digest },
        { "passes", "\"passes\" is there twice", reader->has_passes, read_passes },
    };

    reader->at = AT_VALUE_END;
    if (streq(reader->key, "tasks"))
        return edl_error_at(error, -EINVAL, "/tasks", "/tasks is not an array");
    for (size_t i = 0; i < ELEMENTS(members); i++) {
        struct body_field field = { .at = "", .required = true };
        json_t *object;
        int r;

        if (!streq(reader->key, members[i].key))
            continue;
        if (members[i].is_there)
            return refuse(reader, members[i].twice, error);
        object = json_pack("{s:O}", members[i].key, value);
        field.object = object;
        r = members[i].read(reader, &field, error);
        json_decref(object);
        return r;
    }
    return 0;
}

static bool is_key(const struct dataset_reader *reader)
{
    return reader->at == AT_KEY || reader->at == AT_FIRST_KEY;
}

static bool is_task(const struct dataset_reader *reader)
{
    return reader->at == AT_TASK || reader->at == AT_FIRST_TASK;
}

static int end_value(struct dataset_reader *reader, struct edl_error *error)
{
    json_t *value = NULL;
    int r = reader->keeps ? parse(reader, &value, error) : 0;

    if (r == 0 && is_key(reader))
        r = end_key(reader, value, error);
    else if (r == 0 && is_task(reader))
        r = end_task(reader, value, error);
    else if (r == 0)
        r = end_other(reader, value, error);
    json_decref(value);
    reader->value.size = 0;
    reader->value.begun = false;
    return r;
}

/* More of the value that is being collected. */
static int keep(struct dataset_reader *reader, const char *data, size_t size,
                struct edl_error *error)
{
    struct value *value = &reader->value;
    size_t most = is_task(reader) ? DATASET_TASK_BYTES_MAX : OTHER_BYTES_MAX;

    if (value->size + size > most) {
        char at[40] = "";

        if (is_task(reader))
            (void)snprintf(at, sizeof at, "/tasks/%" PRIu64, reader->n_tasks);
        (void)edl_error_at(error, is_task(reader) ? EDL_EBADSPEC : -EINVAL, at,
                           "%s is longer than %zu bytes", is_task(reader) ? at : "a member", most);
        return edl_error_remedy(error, "divide its chunks among several tasks");
    }
    if (!reader->keeps) { /* counted only, and not read */
        value->size += size;
        return 0;
    }
    if (value->size + size > value->room) {
        value->room = MAX_OF(value->room * 2, value->size + size);
        value->data = xreallocarray(value->data, value->room, 1);
    }
    memcpy(value->data + value->size, data, size);
    value->size += size;
    return 0;
}

/* scan - how much of data belongs to the value; *ret_whole: that is its end */
static size_t scan(struct value *value, const char *data, size_t size, bool *ret_whole)
{
    *ret_whole = true;
    for (size_t i = 0; i < size; i++) {
        char c = data[i];

        if (value->in_text) {
            if (value->escaped)
                value->escaped = false;
            else if (c == '\\')
                value->escaped = true;
            else if (c == '"')
                value->in_text = false;
            if (!value->in_text && value->depth == 0)
                return i + 1;
        } else if (c == '"') {
            value->in_text = true;
        } else if (c == '{' || c == '[') {
            value->depth++;
        } else if (c == '}' || c == ']') {
            if (value->depth == 0) /* the end of what a number or a word stands in */
                return i;
            if (--value->depth == 0)
                return i + 1;
        } else if (value->depth == 0 && (c == ',' || c == ':' || is_space(c))) {
            return i;
        }
    }
    *ret_whole = false;
    return size;
}

/* --- the outermost --- */

static int begin_tasks(struct dataset_reader *reader, struct edl_error *error)
{
    if (reader->has_tasks)
        return refuse(reader, "\"tasks\" is there twice", error);
    reader->has_tasks = true;
    reader->at = AT_FIRST_TASK;
    return 0;
}

/* One byte between values: 1 when it is none of them but the beginning of a value. */
static int step(struct dataset_reader *reader, char c, struct edl_error *error)
{
    static const struct {
        enum place at;
        char c;
        enum place then;
    } steps[] = {
        { AT_START, '{', AT_FIRST_KEY }, { AT_FIRST_KEY, '}', AT_END },
        { AT_COLON, ':', AT_VALUE },     { AT_FIRST_TASK, ']', AT_VALUE_END },
        { AT_TASK_END, ',', AT_TASK },   { AT_TASK_END, ']', AT_VALUE_END },
        { AT_VALUE_END, ',', AT_KEY },   { AT_VALUE_END, '}', AT_END },
    };

    if (is_space(c))
        return 0;
    if (reader->at == AT_VALUE && c == '[' && streq(reader->key, "tasks"))
        return begin_tasks(reader, error);
    for (size_t i = 0; i < ELEMENTS(steps); i++)
        if (steps[i].at == reader->at && steps[i].c == c) {
            reader->at = steps[i].then;
            return 0;
        }
    if (is_key(reader) || is_task(reader) || reader->at == AT_VALUE)
        return strchr(",:]}", c) == NULL ? 1 : refuse(reader, "a value is missing", error);
    return refuse(reader, "a comma, a colon or a bracket is missing", error);
}

int dataset_reader_add(struct dataset_reader *reader, const char *data, size_t size,
                       struct edl_error *error)
{
    int r = 0;

    while (r == 0 && size > 0) {
        size_t n = 1;
        bool whole = false;

        if (!reader->value.begun) {
            r = step(reader, *data, error);
            if (r == 1) {
                reader->value.begun = true;
                reader->keeps = !is_task(reader) || reader->queue != NULL;
                n = r = 0;
            }
        } else {
            n = scan(&reader->value, data, size, &whole);
            r = keep(reader, data, n, error);
            if (r == 0 && whole)
                r = end_value(reader, error);
        }
        reader->n_bytes += n;
        data += n;
        size -= n;
    }
    return r;
}

int dataset_reader_end(struct dataset_reader *reader, struct edl_error *error)
{
    if (reader->at == AT_START)
        return edl_error_set(error, -EINVAL, "the body is empty; JSON is expected");
    if (reader->at != AT_END)
        return refuse(reader, "it ends too early", error);
    if (!reader->has_digest)
        return edl_error_at(error, -EINVAL, "/digest", "/digest is missing");
    if (!reader->has_tasks)
        return edl_error_at(error, -EINVAL, "/tasks", "/tasks is missing");
    if (reader->n_tasks == 0)
        return edl_error_at(error, -EINVAL, "/tasks", "a dataset without tasks");
    return 0;
}

const char *dataset_reader_digest(const struct dataset_reader *reader)
{
    return reader->digest;
}

const struct task_queue *dataset_reader_queue(const struct dataset_reader *reader)
{
    return reader->queue;
}

struct task_queue *dataset_reader_take_queue(struct dataset_reader *reader)
{
    return TAKE_PTR(reader->queue);
}
