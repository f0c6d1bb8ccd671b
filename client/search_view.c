/* SPDX-License-Identifier: Apache-2.0 */
/* search_view.c - see search_view.h */
#include "client/search_view.h"

#include <inttypes.h>
#include <math.h>

#include "client/json_read.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_space.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

const char *search_view_state(const struct search_trials *trials, size_t i)
{
    static const char *const words[] = {
        [SEARCH_TRIAL_WAITS] = "waits",   [SEARCH_TRIAL_RUNS] = "runs",
        [SEARCH_TRIAL_PAUSED] = "paused", [SEARCH_TRIAL_DONE] = "done",
        [SEARCH_TRIAL_FAILED] = "failed",
    };

    return trials->jobs[i].is_stopped ? "stopped" : words[trials->trials[i].state];
}

static double result_of(const struct search_space *space, const struct search_trial *trial)
{
    return trial->state == SEARCH_TRIAL_FAILED ? NAN : search_result(space, trial);
}

/* goes_before - the better result; else who may have one, by number */
static bool goes_before(const struct search_space *space, const struct search_trial *a,
                        const struct search_trial *b)
{
    double left = result_of(space, a), right = result_of(space, b);

    if (isnan(left) != isnan(right))
        return isnan(right);
    if (!isnan(left) && left != right)
        return space->is_maximised ? left > right : left < right;
    if ((a->state == SEARCH_TRIAL_FAILED) != (b->state == SEARCH_TRIAL_FAILED))
        return b->state == SEARCH_TRIAL_FAILED;
    return a->number < b->number;
}

struct order {
    const struct search_space *space;
    const struct search_trials *trials;
};

static int compare(const void *a, const void *b, void *userdata)
{
    const struct order *order = userdata;
    const struct search_trial *left = &order->trials->trials[*(const size_t *)a];
    const struct search_trial *right = &order->trials->trials[*(const size_t *)b];

    if (goes_before(order->space, left, right))
        return -1;
    return goes_before(order->space, right, left) ? 1 : 0;
}

size_t *search_view_order(const struct search_space *space, const struct search_trials *trials)
{
    struct order order = { .space = space, .trials = trials };
    size_t *indexes = xcalloc(trials->n, sizeof *indexes);

    for (size_t i = 0; i < trials->n; i++)
        indexes[i] = i;
    qsort_r(indexes, trials->n, sizeof *indexes, compare, &order);
    return indexes;
}

char *search_view_values(const struct search_space *space, const double *values)
{
    char *text = xstrdup("");

    for (unsigned i = 0; i < space->n_parameters; i++) {
        _cleanup_free_ char *value = NULL;
        char *longer;

        if (!search_is_active(space, i, values))
            continue;
        value = search_value_text(&space->parameters[i], values[i]);
        longer = text_format("%s%s%s=%s", text, *text != '\0' ? " " : "", space->parameters[i].name,
                             value);
        free(text);
        text = longer;
    }
    return text;
}

char *search_view_command(const json_t *job)
{
    const json_t *roles = json_object_get(json_object_get(job, "spec"), "roles");
    const json_t *command = json_object_get(json_array_get(roles, 0), "command");
    char *text = xstrdup("");
    size_t i;
    json_t *word;

    json_array_foreach(command, i, word)
    {
        const char *plain = json_string_value(word) != NULL ? json_string_value(word) : "";
        _cleanup_free_ char *quoted = shell_word(plain);
        char *longer = text_format("%s%s%s", text, i > 0 ? " " : "", quoted);

        free(text);
        text = longer;
    }
    return text;
}

/* ---- table ---- */

static void add_result(struct table *table, double result)
{
    if (isnan(result))
        table_add(table, "-");
    else
        table_add(table, "%.6g", result);
}

static void add_row(struct table *table, const struct search_jobs *jobs,
                    const struct search_trials *trials, size_t i, bool rungs)
{
    const struct search_space *space = jobs->record.space;
    const struct search_trial *trial = &trials->trials[i];
    bool failed = trial->state == SEARCH_TRIAL_FAILED;
    char core_time[32];

    table_add(table, "%u", trial->number);
    table_add(table, "%s", search_view_state(trials, i));
    add_result(table, result_of(space, trial));
    for (unsigned p = 0; p < space->n_parameters; p++) {
        _cleanup_free_ char *value =
            search_is_active(space, p, trial->values)
                ? search_value_text(&space->parameters[p], trial->values[p])
                : xstrdup("-");

        table_add(table, "%s", value);
    }
    if (rungs)
        table_add(table, "%u", trial->rung);
    table_add(table, "%s",
              text_duration((uint64_t)(trial->core_s * (double)USEC_PER_SEC), core_time,
                            sizeof core_time));
    table_add(table, "%s", json_text(trials->jobs[i].newest.json, "name"));
    table_add(table, "%s", failed ? json_text(trials->jobs[i].newest.json, "reason") : "");
}

void search_view_table(const struct search_jobs *jobs, const struct search_trials *trials,
                       FILE *out)
{
    const struct search_space *space = jobs->record.space;
    const char *headers[SEARCH_PARAMETERS_MAX + 8] = { "TRIAL", "STATE", space->metric };
    _cleanup_free_ size_t *order = search_view_order(space, trials);
    bool rungs = search_rungs(space) > 1;
    struct table *table;
    unsigned n = 3;

    for (unsigned p = 0; p < space->n_parameters; p++)
        headers[n++] = space->parameters[p].name;
    if (rungs)
        headers[n++] = "RUNG";
    headers[n++] = "CORE-TIME";
    headers[n++] = "JOB";
    headers[n++] = "ERROR";
    table = table_new(headers, 1U << 0 | 1U << 2);
    for (size_t i = 0; i < trials->n; i++)
        add_row(table, jobs, trials, order[i], rungs);
    table_print(table, out);
    (void)table_free(table);
}

/* ---- CSV ---- */

/* csv_cell - quoted where it must be (RFC 4180); a cell that a spreadsheet would calculate is text
 */
static void csv_cell(const char *text, FILE *out)
{
    bool calculates = strchr("=+@", text[0]) != NULL && text[0] != '\0';

    if (text[strcspn(text, ",\"\n\r")] == '\0' && !calculates) {
        (void)fputs(text, out);
        return;
    }
    (void)fputs(calculates ? "\"'" : "\"", out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"')
            (void)fputc('"', out);
        (void)fputc(*c, out);
    }
    (void)fputc('"', out);
}

void search_view_csv(const struct search_jobs *jobs, const struct search_trials *trials, FILE *out)
{
    const struct search_space *space = jobs->record.space;
    _cleanup_free_ size_t *order = search_view_order(space, trials);

    (void)fputs("trial,state,", out);
    csv_cell(space->metric, out);
    for (unsigned p = 0; p < space->n_parameters; p++) {
        (void)fputc(',', out);
        csv_cell(space->parameters[p].name, out);
    }
    (void)fputs(",rung,core_seconds,job,error\n", out);
    for (size_t k = 0; k < trials->n; k++) {
        const struct search_trial *trial = &trials->trials[order[k]];
        const json_t *job = trials->jobs[order[k]].newest.json;
        double result = result_of(space, trial);

        (void)fprintf(out, "%u,%s,", trial->number, search_view_state(trials, order[k]));
        if (!isnan(result))
            (void)fprintf(out, "%.17g", result);
        for (unsigned p = 0; p < space->n_parameters; p++) {
            _cleanup_free_ char *value = search_value_text(&space->parameters[p], trial->values[p]);

            (void)fputc(',', out);
            csv_cell(value, out);
        }
        (void)fprintf(out, ",%u,%.3f,%s,", trial->rung, trial->core_s, json_text(job, "name"));
        csv_cell(trial->state == SEARCH_TRIAL_FAILED ? json_text(job, "reason") : "", out);
        (void)fputc('\n', out);
    }
}

/* ---- the rest ---- */

void search_view_best(const struct search_jobs *jobs, const struct search_trials *trials,
                      unsigned number, FILE *out)
{
    const struct search_space *space = jobs->record.space;

    for (size_t i = 0; i < trials->n; i++) {
        const struct search_trial *trial = &trials->trials[i];
        _cleanup_free_ char *values = NULL;

        if (trial->number != number)
            continue;
        values = search_view_values(space, trial->values);
        (void)fprintf(out, "best: trial %u, %s %.6g: %s\n", number, space->metric,
                      search_result(space, trial), values);
    }
}

static json_t *points_to_json(const struct search_trial *trial)
{
    json_t *points = json_array();

    for (size_t i = 0; i < trial->n_points; i++) {
        const struct search_point *point = &trial->points[i];

        (void)json_array_append_new(
            points,
            json_pack("{s:I, s:o, s:o}", "rung", (json_int_t)point->rung, "resource",
                      isfinite(point->resource) ? json_real(point->resource) : json_null(), "value",
                      isfinite(point->value) ? json_real(point->value) : json_null()));
    }
    return points;
}

json_t *search_view_json(const struct search_jobs *jobs, const struct search_trials *trials)
{
    const struct search_space *space = jobs->record.space;
    struct search_history history = search_trials_history(trials, 0);
    _cleanup_free_ size_t *order = search_view_order(space, trials);
    unsigned best = search_best(space, &history);
    json_t *list = json_array();

    for (size_t k = 0; k < trials->n; k++) {
        const struct search_trial *trial = &trials->trials[order[k]];
        const json_t *job = trials->jobs[order[k]].newest.json;
        double result = result_of(space, trial);
        bool failed = trial->state == SEARCH_TRIAL_FAILED;

        (void)json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:o, s:o, s:I, s:f, s:s, s:I, s:s, s:o}", "trial",
                      (json_int_t)trial->number, "state", search_view_state(trials, order[k]),
                      "result", isfinite(result) ? json_real(result) : json_null(), "parameters",
                      search_values_to_json(space, trial->values), "rung", (json_int_t)trial->rung,
                      "core_seconds", trial->core_s, "job", json_text(job, "name"), "job_id",
                      (json_int_t)json_u64(job, "id"), "error",
                      failed ? json_text(job, "reason") : "", "points", points_to_json(trial)));
    }
    return json_pack("{s:s, s:O, s:s, s:o, s:o}", "search", jobs->name, "space",
                     json_object_get(jobs->record.json, "space"), "metric", space->metric, "best",
                     best != 0 ? json_integer((json_int_t)best) : json_null(), "trials", list);
}
