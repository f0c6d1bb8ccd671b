/* SPDX-License-Identifier: Apache-2.0 */
/* search_record.c - see search_record.h */
#include "client/search_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/search_command.h"
#include "client/search_core.h"
#include "client/search_space.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define RECORD_VERSION 1
/* Two searches write the same text; in ASCII, as what steers a terminal is masked when it is read
 */
#define TEXT_FLAGS (JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII)

static const json_t *command_of(const json_t *job)
{
    const json_t *roles = json_object_get(json_object_get(job, "spec"), "roles");

    return json_object_get(json_array_get(roles, 0), "command");
}

static int borrow(struct search_record *record, struct edl_error *error)
{
    const char *name = json_text(record->json, "search");

    record->job = json_object_get(record->json, "job");
    record->n_words = json_u64(record->json, "words");
    record->checkpoint = json_string_value(json_object_get(record->json, "checkpoint"));
    if (json_u64(record->json, "version") != RECORD_VERSION || *name == '\0' ||
        strlen(name) >= sizeof record->name || record->n_words == 0 ||
        record->n_words > json_array_size(command_of(record->job))) {
        (void)edl_error_set(error, EDL_EBADSPEC, "%s of the search's jobs cannot be read",
                            SEARCH_RECORD_VARIABLE);
        return edl_error_remedy(error, "take the release of EDL that began the search");
    }
    (void)snprintf(record->name, sizeof record->name, "%s", name);
    return 0;
}

static int read_json(json_t *take_json, struct search_record *ret, struct edl_error *error)
{
    struct search_record record = { .json = take_json };
    int r = borrow(&record, error);

    if (r == 0)
        r = search_space_from_json(json_object_get(take_json, "space"), &record.space, error);
    if (r < 0)
        search_record_clear(&record);
    else
        *ret = record;
    return r;
}

int search_record_parse(const char *text, struct search_record *ret, struct edl_error *error)
{
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    if (json != NULL)
        return read_json(json, ret, error);
    return edl_error_set(error, EDL_EBADSPEC, "%s of the search's jobs is no JSON",
                         SEARCH_RECORD_VARIABLE);
}

int search_record_make(const char *name, const struct search_space *space, const json_t *job,
                       size_t n_words, const char *checkpoint, struct search_record *ret,
                       struct edl_error *error)
{
    json_t *json =
        json_pack("{s:i, s:s, s:o, s:O, s:I}", "version", RECORD_VERSION, "search", name, "space",
                  search_space_to_json(space), "job", job, "words", (json_int_t)n_words);
    _cleanup_free_ char *text = NULL;

    if (checkpoint != NULL)
        (void)json_object_set_new(json, "checkpoint", json_string(checkpoint));
    text = json_dumps(json, TEXT_FLAGS);
    if (text == NULL || strlen(text) > SEARCH_RECORD_BYTES_MAX) {
        json_decref(json);
        (void)edl_error_set(error, -E2BIG,
                            "the space and the command have more than %d bytes together",
                            SEARCH_RECORD_BYTES_MAX);
        return edl_error_remedy(error, "let the program read long values from a file");
    }
    json_decref(json);
    return search_record_parse(text, ret, error); /* as whoever reads it from a job has it */
}

void search_record_clear(struct search_record *record)
{
    (void)search_space_free(record->space);
    json_decref(record->json);
    *record = (struct search_record){ .json = NULL };
}

char **search_record_words(const struct search_record *record)
{
    const json_t *command = command_of(record->job);
    size_t first = json_array_size(command) - record->n_words;
    char **words = xcalloc(record->n_words + 1, sizeof *words);

    for (size_t i = 0; i < record->n_words; i++) {
        const char *word = json_string_value(json_array_get(command, first + i));

        words[i] = (char *)(uintptr_t)(word != NULL ? word : ""); /* why: nobody writes to it */
    }
    return words;
}

char *search_job_name(const struct search_record *record, unsigned trial, unsigned rung)
{
    return rung == 0 ? text_format("%s-%u", record->name, trial)
                     : text_format("%s-%u-r%u", record->name, trial, rung);
}

char *search_job_key(const struct search_record *record, unsigned trial, unsigned rung,
                     unsigned attempt)
{
    return text_format("edl-search/%s/%" PRIu64 "/%u/%u/%u", record->name, record->space->seed,
                       trial, rung, attempt);
}

static json_t *trial_told(const struct search_record *record, const struct search_action *action,
                          unsigned attempt, const double *values)
{
    const struct search_space *space = record->space;
    json_t *told = json_pack("{s:s, s:I, s:I, s:I, s:s, s:o}", "search", record->name, "trial",
                             (json_int_t)action->number, "rung", (json_int_t)action->rung,
                             "attempt", (json_int_t)attempt, "metric", space->metric, "parameters",
                             search_values_to_json(space, values));

    (void)json_object_set_new(told, "direction",
                              json_string(space->is_maximised ? "maximize" : "minimize"));
    if (space->resource.name[0] != '\0')
        (void)json_object_set_new(told, "resource", json_string(space->resource.name));
    if (action->resource > 0)
        (void)json_object_set_new(told, "until", json_integer((json_int_t)action->resource));
    return told;
}

static void set_variable(json_t *env, const char *name, const json_t *value)
{
    _cleanup_free_ char *text = json_dumps(value, TEXT_FLAGS);

    (void)json_object_set_new(env, name, json_string(text));
}

static void set_environment(json_t *spec, const struct search_record *record,
                            const struct search_action *action, unsigned attempt,
                            const double *values)
{
    json_t *told = trial_told(record, action, attempt, values), *env;

    if (json_object_get(spec, "env") == NULL)
        (void)json_object_set_new(spec, "env", json_object());
    env = json_object_get(spec, "env");
    set_variable(env, SEARCH_TRIAL_VARIABLE, told);
    set_variable(env, SEARCH_RECORD_VARIABLE, record->json);
    if (record->checkpoint != NULL) /* not of the document: its folder would be each job's own */
        (void)json_object_set_new(env, "EDL_CHECKPOINT_DIR",
                                  json_sprintf("%s/%s/%u", record->checkpoint, record->name,
                                               action->number));
    json_decref(told);
}

static void set_command(json_t *command, const struct search_record *record,
                        const struct search_action *action, const double *values)
{
    _cleanup_free_ char **words = search_record_words(record);
    char **made = search_command(record->space, words, action, values);

    for (size_t i = 0; i < record->n_words; i++)
        (void)json_array_remove(command, json_array_size(command) - 1);
    for (size_t i = 0; made[i] != NULL; i++)
        (void)json_array_append_new(command, json_string(made[i]));
    (void)search_command_free(made);
}

char *search_job_document(const struct search_record *record, const struct search_action *action,
                          unsigned attempt, const double *values)
{
    _cleanup_json_ json_t *document = json_deep_copy(record->job);
    json_t *spec = json_object_get(document, "spec");
    json_t *role = json_array_get(json_object_get(spec, "roles"), 0);
    _cleanup_free_ char *name = search_job_name(record, action->number, action->rung);

    (void)json_object_set_new(json_object_get(document, "metadata"), "name", json_string(name));
    set_command(json_object_get(role, "command"), record, action, values);
    set_environment(spec, record, action, attempt, values);
    return json_dumps(document, TEXT_FLAGS);
}
