/* SPDX-License-Identifier: Apache-2.0 */
/* search_space_read.c - a document to a search space: each key is checked before it is used */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "client/search_space_draft.h"
#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/yaml.h"

#define DOCUMENT_BYTES_MAX (256 * 1024)
#define DOCUMENT_VALUES_MAX 8192
#define DOCUMENT_TEXT_MAX 1024
#define CORE_HOURS_MAX 1e9
#define ELAPSED_US_MAX (INT64_C(10) * 366 * 86400 * 1000000)

#define AT(field) offsetof(struct space_draft, field)

int space_keep(struct document_reader *reader, const char *key, const json_t *value, void *target)
{
    (void)reader, (void)key;
    *(const json_t **)target = value;
    return 0;
}

static const struct document_rule budget_rules[] = {
    { .key = "trials",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(trials),
      .min = 1,
      .max = SEARCH_TRIALS_MAX,
      .remedy = "a search has at most 10000 trials" },
    { .key = "core-hours", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(core_hours) },
    { .key = "time",
      .kind = DOCUMENT_TIME,
      .offset = AT(elapsed_us),
      .max = ELAPSED_US_MAX,
      .remedy_of_none = "write a time like 8h, or leave the key out" },
};

static const struct document_rule metric_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(metric) },
    { .key = "direction", .kind = DOCUMENT_TEXT, .offset = AT(direction) },
    { .key = "take", .kind = DOCUMENT_TEXT, .offset = AT(take) },
};

static int read_metric_keys(struct document_reader *reader, const char *key, const json_t *value,
                            void *target)
{
    static const struct space_foreign foreign[] = {
        { "goal", "write direction: minimize, or direction: maximize" },
        { "mode", "write direction: minimize, or direction: maximize" },
        { "objective", "write direction: minimize, or direction: maximize" },
    };
    char remedy[160];

    (void)key;
    if (json_is_string(value)) { /* which direction is better is not guessed */
        (void)snprintf(remedy, sizeof remedy,
                       "write metric: {name: %.60s, direction: minimize}, or maximize",
                       json_string_value(value));
        return space_refuse(reader, NULL, remedy, "metric %.60s: its direction is missing",
                            json_string_value(value));
    }
    if (space_refuse_foreign(reader, value, foreign, ELEMENTS(foreign)) < 0)
        return EDL_EBADSPEC;
    return document_read(reader, value, metric_rules, ELEMENTS(metric_rules), target);
}

static const struct document_rule resource_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(resource) },
    { .key = "min",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(resource_min),
      .min = 1,
      .max = INT32_MAX },
    { .key = "max",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(resource_max),
      .min = 1,
      .max = INT32_MAX },
};

static const struct document_rule rules[] = {
    { .key = "parameters", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(parameters) },
    { .key = "metric", .kind = DOCUMENT_CALL, .call = read_metric_keys },
    { .key = "budget",
      .kind = DOCUMENT_NESTED,
      .nested = budget_rules,
      .n_nested = ELEMENTS(budget_rules) },
    { .key = "resource",
      .kind = DOCUMENT_NESTED,
      .nested = resource_rules,
      .n_nested = ELEMENTS(resource_rules) },
    { .key = "method", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(method) },
    { .key = "failures",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(failures),
      .min = 1,
      .max = SEARCH_TRIALS_MAX },
    { .key = "seed",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(seed),
      .min = 0,
      .max = INT64_C(1) << 53 },
};

int space_refuse(struct document_reader *reader, const char *key, const char *remedy,
                 const char *format, ...)
{
    char text[320];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (key != NULL)
        (void)document_enter(reader, key);
    (void)document_refuse(reader, "%s", text);
    return edl_error_remedy(reader->error, "%s", remedy);
}

int space_refuse_foreign(struct document_reader *reader, const json_t *object,
                         const struct space_foreign *known, size_t n_known)
{
    for (size_t i = 0; i < n_known; i++)
        if (json_object_get(object, known[i].key) != NULL)
            return space_refuse(reader, known[i].key, known[i].remedy, "unknown key \"%s\"",
                                known[i].key);
    return 0;
}

static int read_direction(struct document_reader *reader, const struct space_draft *draft,
                          struct search_space *space)
{
    static const struct {
        const char *word;
        bool is_maximised;
    } directions[] = { { "minimize", false }, { "maximize", true }, { "minimise", false },
                       { "maximise", true },  { "min", false },     { "max", true } };

    for (size_t i = 0; draft->direction != NULL && i < ELEMENTS(directions); i++)
        if (streq(draft->direction, directions[i].word)) {
            space->is_maximised = directions[i].is_maximised;
            return 0;
        }
    if (draft->direction == NULL)
        return space_refuse(reader, "direction",
                            "write direction: minimize, or direction: maximize",
                            "metric %.31s: direction is missing", draft->metric);
    return space_refuse(reader, "direction", "write minimize or maximize",
                        "direction: \"%.40s\" is none", draft->direction);
}

static bool is_metric_name(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= SEARCH_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == n;
}

static int read_metric(struct document_reader *reader, const struct space_draft *draft,
                       struct search_space *space)
{
    size_t length = document_enter(reader, "metric");

    if (draft->metric == NULL)
        return space_refuse(reader, "name", "write metric: {name: loss, direction: minimize}",
                            "the metric's name is missing");
    if (!is_metric_name(draft->metric))
        return space_refuse(reader, "name",
                            "use up to 31 letters, digits and the characters _ . / -",
                            "\"%.60s\" is no name of a metric", draft->metric);
    (void)snprintf(space->metric, sizeof space->metric, "%s", draft->metric);
    if (read_direction(reader, draft, space) < 0)
        return EDL_EBADSPEC;
    if (draft->take != NULL && !streq(draft->take, "last") && !streq(draft->take, "best"))
        return space_refuse(reader, "take", "write last or best",
                            "take: \"%.40s\" is neither the last value nor the best", draft->take);
    space->takes_best = draft->take != NULL && streq(draft->take, "best");
    document_leave(reader, length);
    return 0;
}

static int read_resource(struct document_reader *reader, const struct space_draft *draft,
                         struct search_space *space)
{
    size_t length = document_enter(reader, "resource");

    if (draft->resource == NULL && (draft->resource_min > 0 || draft->resource_max > 0))
        return space_refuse(reader, "name",
                            "name what the program tells with its metric: name: epoch",
                            "the resource's name is missing");
    if (draft->resource != NULL && !is_metric_name(draft->resource))
        return space_refuse(reader, "name",
                            "use up to 31 letters, digits and the characters _ . / -",
                            "\"%.60s\" is no name of a resource", draft->resource);
    if (draft->resource_max > 0 && draft->resource_max < draft->resource_min)
        return space_refuse(reader, "max", "write a max that is not below min",
                            "max %" PRId64 " is below min %" PRId64, draft->resource_max,
                            draft->resource_min);
    if (draft->resource != NULL)
        (void)snprintf(space->resource.name, sizeof space->resource.name, "%s", draft->resource);
    space->resource.min = (uint64_t)draft->resource_min;
    space->resource.max = (uint64_t)draft->resource_max;
    document_leave(reader, length);
    return 0;
}

int space_number(struct document_reader *reader, const json_t *value, const char *key, double min,
                 double max, double *ret)
{
    size_t length = document_enter(reader, key);
    double number = json_number_value(value);
    char expected[80];

    if (!json_is_number(value) || !(number >= min && number <= max)) {
        (void)snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
        (void)document_expected(reader, expected, value);
        if (json_is_string(value))
            (void)edl_error_remedy(reader->error, "write the number without quotes");
        return EDL_EBADSPEC;
    }
    *ret = number;
    document_leave(reader, length);
    return 0;
}

static int read_budget(struct document_reader *reader, const struct space_draft *draft,
                       struct search_space *space)
{
    size_t length = document_enter(reader, "budget");

    space->budget.trials = (unsigned int)draft->trials;
    space->budget.elapsed_us = draft->elapsed_us;
    if (draft->core_hours != NULL && json_number_value(draft->core_hours) == 0 &&
        json_is_number(draft->core_hours))
        return space_refuse(reader, "core-hours", "write more than 0, or leave the key out",
                            "core-hours is 0: no trial could run");
    if (draft->core_hours != NULL && space_number(reader, draft->core_hours, "core-hours", 1e-6,
                                                  CORE_HOURS_MAX, &space->budget.core_hours) < 0)
        return EDL_EBADSPEC;
    if (space->method != SEARCH_GRID && space->budget.trials == 0 &&
        space->budget.core_hours == 0 && space->budget.elapsed_us == 0)
        return space_refuse(reader, NULL, "write budget: {trials: 100}, or core-hours, or time",
                            "the budget is missing: the search would never end");
    document_leave(reader, length);
    return 0;
}

/* A grid has a point for each trial of its own. */
static int check_grid(struct document_reader *reader, const struct search_space *space)
{
    _cleanup_free_ double *values = xcalloc(space->n_parameters, sizeof *values);
    unsigned int n = 1;

    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (space->parameters[i].n_levels == 0) {
            (void)document_enter(reader, "parameters");
            (void)document_enter(reader, space->parameters[i].name);
            return space_refuse(reader, "steps", "write steps: 5, for five values",
                                "%.31s: a grid needs to know how many values a float has",
                                space->parameters[i].name);
        }
    if (space->budget.trials > 0)
        return 0;
    search_point_first(space, values);
    while (n <= SEARCH_TRIALS_MAX && search_point_next(space, values))
        n++;
    if (n > SEARCH_TRIALS_MAX)
        return space_refuse(reader, "parameters", "write fewer steps or values, or another method",
                            "the grid has more than %d points", SEARCH_TRIALS_MAX);
    return 0;
}

static int check_asha(struct document_reader *reader, const struct search_space *space)
{
    if (space->resource.max > 0 && space->resource.min > 0)
        return 0;
    return space_refuse(reader, "resource", "write resource: {name: epoch, min: 1, max: 27}",
                        "asha needs to know what a trial reaches on its rungs");
}

static int check_method(struct document_reader *reader, const struct search_space *space)
{
    if (space->method == SEARCH_GRID)
        return check_grid(reader, space);
    return space->method == SEARCH_ASHA ? check_asha(reader, space) : 0;
}

static int read_space(struct document_reader *reader, const json_t *document,
                      struct search_space *space)
{
    struct space_draft draft = { .failures = 4, .seed = 1 };
    int r = document_read(reader, document, rules, ELEMENTS(rules), &draft);

    if (r == 0)
        r = space_read_parameters(reader, draft.parameters, space);
    if (r == 0)
        r = read_metric(reader, &draft, space);
    if (r == 0)
        r = read_resource(reader, &draft, space);
    if (r == 0)
        r = space_read_method(reader, draft.method, space);
    if (r == 0)
        r = read_budget(reader, &draft, space);
    if (r < 0)
        return r;
    space->failures = (unsigned int)draft.failures;
    space->seed = (uint64_t)draft.seed;
    space_settle_method(space);
    return check_method(reader, space);
}

int search_space_from_json(const json_t *document, struct search_space **ret,
                           struct edl_error *error)
{
    struct edl_error unused = { 0 };
    struct document_reader reader = { .error = error != NULL ? error : &unused };
    struct search_space *space = xcalloc(1, sizeof *space);
    int r = read_space(&reader, document, space);

    if (r < 0) {
        (void)search_space_free(space);
        return r;
    }
    *ret = space;
    return 0;
}

int search_space_parse(const char *text, size_t size, struct search_space **ret,
                       struct edl_error *error)
{
    static const struct document_bounds bounds = { .bytes = DOCUMENT_BYTES_MAX,
                                                   .values = DOCUMENT_VALUES_MAX,
                                                   .text_bytes = DOCUMENT_TEXT_MAX };
    json_t *document = NULL;
    int r;

    if (size > bounds.bytes) {
        (void)edl_error_set(error, -E2BIG, "the space has %zu bytes, more than the %zu allowed",
                            size, bounds.bytes);
        return edl_error_remedy(error, "name a file that holds nothing but the space");
    }
    r = yaml_to_json(text, size, &bounds, &document, error);
    if (r < 0)
        return r;
    if (json_is_null(document)) {
        (void)edl_error_set(error, EDL_EBADSPEC, "the space is empty");
        r = edl_error_remedy(error, "edl-search-space(5) has examples");
    } else {
        r = search_space_from_json(document, ret, error);
    }
    json_decref(document);
    return r;
}

struct search_space *search_space_free(struct search_space *space)
{
    for (unsigned int i = 0; space != NULL && i < space->n_parameters; i++) {
        struct search_parameter *parameter = &space->parameters[i];

        for (unsigned int l = 0; parameter->levels != NULL && l < parameter->n_levels; l++)
            json_decref(parameter->levels[l]);
        free(parameter->levels);
    }
    if (space != NULL)
        free(space->parameters);
    free(space);
    return NULL;
}
