/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - traces in the project's own form, CSV or JSON */
#include "simulator/trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/pollux.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_draft.h"

#define NUMBER_BYTES 40

static void free_trace(struct trace **trace)
{
    (void)trace_free(*trace);
}

static void free_shelves(struct trace_shelves **shelves)
{
    (void)trace_shelves_free(*shelves);
}

static int finish(struct trace **trace, struct trace **ret)
{
    trace_sort(*trace);
    *ret = TAKE_PTR(*trace);
    return 0;
}

/* --- CSV --- */

static int find_fields(const struct csv *csv, enum trace_field *fields, struct edl_error *error)
{
    char place[300];

    (void)snprintf(place, sizeof(place), "%.250s line 1", csv->name);
    for (size_t c = 0; c < csv->n_columns; c++) {
        fields[c] = trace_field_find(csv->columns[c]);
        if (fields[c] == _FIELDS)
            return trace_field_unknown(place, csv->columns[c], error);
    }
    return 0;
}

static int take_csv(const struct csv *csv, bool adaptive, struct trace **ret,
                    struct edl_error *error)
{
    _cleanup_(free_shelves) struct trace_shelves *shelves = trace_shelves_new(adaptive);
    _cleanup_(free_trace) struct trace *trace = trace_new(csv->name);
    enum trace_field fields[CSV_MAX_COLUMNS];
    int r = find_fields(csv, fields, error);

    for (size_t i = 0; r == 0 && i < csv->n_rows; i++) {
        struct trace_draft draft = { .place = "" };

        (void)snprintf(draft.place, sizeof(draft.place), "%.250s line %" PRIu64, csv->name,
                       csv->lines[i]);
        for (size_t c = 0; c < csv->n_columns; c++)
            draft.text[fields[c]] = csv_cell(csv, i, c);
        r = trace_draft_add(&draft, shelves, trace, error);
    }
    return r < 0 ? r : finish(&trace, ret);
}

int trace_parse_csv(const char *name, char *text, size_t n, bool adaptive, struct trace **ret,
                    struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    int r = csv_parse(name, text, n, &csv, error);

    return r < 0 ? r : take_csv(csv, adaptive, ret, error);
}

/* --- JSON --- */

/* text_of - of a string or a number; room keeps the latter */
static const char *text_of(const json_t *value, char room[NUMBER_BYTES])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        (void)snprintf(room, NUMBER_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(room, NUMBER_BYTES, "%.17g", json_real_value(value));
    else
        return NULL;
    return room;
}

static int take_object(json_t *object, struct trace_draft *draft, struct trace_shelves *shelves,
                       struct trace *trace, struct edl_error *error)
{
    char rooms[_FIELDS][NUMBER_BYTES];
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return edl_error_set(error, -EINVAL, "%s: a job is expected to be an object", draft->place);
    json_object_foreach(object, key, value)
    {
        enum trace_field field = trace_field_find(key);

        if (field == _FIELDS)
            return trace_field_unknown(draft->place, key, error);
        draft->text[field] = text_of(value, rooms[field]);
        if (draft->text[field] != NULL || json_is_null(value))
            continue;
        (void)edl_error_set(error, -EINVAL, "%s, %s: a number or text is expected", draft->place,
                            key);
        return edl_error_remedy(error, "neither an array nor an object nor true or false");
    }
    return trace_draft_add(draft, shelves, trace, error);
}

static int take_json(const char *name, const json_t *root, bool adaptive, struct trace **ret,
                     struct edl_error *error)
{
    _cleanup_(free_shelves) struct trace_shelves *shelves = trace_shelves_new(adaptive);
    _cleanup_(free_trace) struct trace *trace = trace_new(name);
    const json_t *jobs = json_object_get(root, "jobs");
    int r = 0;

    if (!json_is_array(jobs) || json_object_size(root) != 1) {
        (void)edl_error_set(error, -EINVAL, "%s: {\"jobs\": [...]} is expected", name);
        return edl_error_remedy(error, "edl-trace(5)");
    }
    for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
        struct trace_draft draft = { .place = "" };

        (void)snprintf(draft.place, sizeof(draft.place), "%.250s jobs[%zu]", name, i);
        r = take_object(json_array_get(jobs, i), &draft, shelves, trace, error);
    }
    return r < 0 ? r : finish(&trace, ret);
}

int trace_parse_json(const char *name, const char *text, size_t n, bool adaptive,
                     struct trace **ret, struct edl_error *error)
{
    json_error_t wrong;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &wrong);
    int r;

    if (root == NULL) {
        (void)edl_error_set(error, -EINVAL, "%s line %d: %s", name, wrong.line, wrong.text);
        return edl_error_remedy(error, "{\"jobs\": [...]}: edl-trace(5)");
    }
    r = take_json(name, root, adaptive, ret, error);
    json_decref(root);
    return r;
}

static int read_json(const char *path, bool adaptive, struct trace **ret, struct edl_error *error)
{
    json_error_t wrong;
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    json_t *root;
    int r;

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s", path);
    root = json_loadf(file, JSON_REJECT_DUPLICATES, &wrong);
    if (root == NULL) {
        (void)edl_error_set(error, -EINVAL, "%s line %d: %s", path, wrong.line, wrong.text);
        return edl_error_remedy(error, "{\"jobs\": [...]}: edl-trace(5)");
    }
    r = take_json(path, root, adaptive, ret, error);
    json_decref(root);
    return r;
}

int trace_read(const char *path, bool adaptive, struct trace **ret, struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    size_t n = strlen(path);
    int r;

    if (n > 5 && streq(path + n - 5, ".json"))
        return read_json(path, adaptive, ret, error);
    r = csv_read(path, &csv, error);
    return r < 0 ? r : take_csv(csv, adaptive, ret, error);
}

/* --- writing --- */

static void add_text(json_t *object, enum trace_field field, const char *text)
{
    if (text != NULL && text[0] != '\0')
        (void)json_object_set_new(object, trace_fields[field], json_string(text));
}

static void add_number(json_t *object, enum trace_field field, double value)
{
    (void)json_object_set_new(object, trace_fields[field], json_real(value));
}

static void add_count(json_t *object, enum trace_field field, uint32_t value)
{
    (void)json_object_set_new(object, trace_fields[field], json_integer((json_int_t)value));
}

static void add_speed(json_t *object, const struct trace_job *job)
{
    size_t n;
    const char *dir = pollux_profile_dir(job->profile, &n);
    char *text = dir == NULL ? profile_text(job->profile) : NULL;

    if (dir != NULL)
        (void)json_object_set_new(object, trace_fields[FIELD_SPEED],
                                  json_sprintf("pollux:%.*s", (int)n, dir));
    else
        add_text(object, FIELD_SPEED, text);
    free(text);
}

static json_t *object_of(const struct trace_job *job)
{
    json_t *object = json_object();

    add_text(object, FIELD_JOB, job->name);
    add_number(object, FIELD_SUBMIT, job->submit_s);
    add_text(object, FIELD_MODEL, job->profile->name);
    add_speed(object, job);
    if (job->profile->bounds == NULL)
        add_number(object, FIELD_WORK, job->work_steps);
    add_count(object, FIELD_INSTANCES, job->requested);
    add_count(object, FIELD_MIN, job->min);
    add_count(object, FIELD_MAX, MIN_OF(job->max, 1000000U));
    if (job->batch > 0)
        add_count(object, FIELD_BATCH, job->batch);
    add_text(object, FIELD_FAMILY, job->family);
    add_text(object, FIELD_USER, job->user);
    if (job->weight != 1)
        add_number(object, FIELD_WEIGHT, job->weight);
    if (job->deadline_s > 0)
        add_number(object, FIELD_DEADLINE, job->deadline_s);
    return object;
}

static void write_cell(const char *text, FILE *file)
{
    if (text == NULL || strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text != NULL ? text : "", file);
        return;
    }
    (void)putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            (void)putc('"', file);
        (void)putc(*text, file);
    }
    (void)putc('"', file);
}

static void write_row(const struct trace_job *job, FILE *file)
{
    json_t *object = object_of(job);

    for (size_t i = 0; i < _FIELDS; i++) {
        char room[NUMBER_BYTES];

        if (i == FIELD_DURATION)
            continue; /* what is written has its work */
        if (i > 0)
            (void)putc(',', file);
        write_cell(text_of(json_object_get(object, trace_fields[i]), room), file);
    }
    (void)putc('\n', file);
    json_decref(object);
}

static void write_csv(const struct trace *trace, FILE *file)
{
    for (size_t i = 0; i < _FIELDS; i++)
        if (i != FIELD_DURATION)
            (void)fprintf(file, "%s%s", i > 0 ? "," : "", trace_fields[i]);
    (void)putc('\n', file);
    for (size_t i = 0; i < trace->n; i++)
        write_row(&trace->jobs[i], file);
}

static void write_json(const struct trace *trace, FILE *file)
{
    json_t *jobs = json_array(), *root = json_pack("{s:o}", "jobs", jobs);

    for (size_t i = 0; i < trace->n; i++)
        (void)json_array_append_new(jobs, object_of(&trace->jobs[i]));
    (void)json_dumpf(root, file, JSON_INDENT(1));
    (void)putc('\n', file);
    json_decref(root);
}

int trace_write(const struct trace *trace, bool json, FILE *file, struct edl_error *error)
{
    if (json)
        write_json(trace, file);
    else
        write_csv(trace, file);
    if (fflush(file) == 0 && !ferror(file))
        return 0;
    return edl_error_errno(error, -EIO, "the trace cannot be written");
}
