/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab_json.c - what came of traces under policies, for programs */
#include <math.h>

#include "client/json_read.h"
#include "client/simulate_lab.h"
#include "shared/macro.h"
#include "simulator/trace/trace.h"

/* Keys of struct figures, in its order. */
static const char *const keys[] = {
    "completion_avg_s", "completion_p50_s", "completion_p90_s", "completion_p99_s",
    "waiting_avg_s",    "waiting_p50_s",    "waiting_p90_s",    "waiting_p99_s",
    "makespan_s",       "allocated",        "effective",        "rho_worst",
    "unfair",           "rescales",         "rescale_cost_s",   "decision_p50_s",
    "decision_p99_s",   "decision_max_s",
};
_Static_assert(ELEMENTS(keys) == FIGURES, "a key for each figure");

static json_t *json_figure(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_figures(const struct figures *figures)
{
    json_t *object = json_object();
    double values[FIGURES];

    memcpy(values, figures, sizeof(values));
    for (size_t i = 0; i < FIGURES; i++)
        (void)json_object_set_new(object, keys[i], json_figure(values[i]));
    return object;
}

static json_t *json_paired(const struct lab *lab, const struct lab_row *row)
{
    if (!row->is_paired)
        return json_null();
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:s}", "against", lab->against->name,
                     "mean_s", row->paired.mean, "low_s", row->paired.low, "high_s",
                     row->paired.high, "relative", row->paired.relative, "cases",
                     (json_int_t)row->paired.n, "lost", (json_int_t)row->paired.lost, "over",
                     lab->n_traces > 1 ? "traces" : "jobs");
}

static json_t *json_row(const struct lab *lab, const struct lab_level *level,
                        const struct lab_row *row)
{
    json_t *traces = json_array(), *uses = json_array();

    for (size_t t = 0; t < lab->n_traces; t++)
        (void)json_array_append_new(traces, json_figures(&row->figures[t]));
    if ((run_uses(row->policy, &level->information) & USES_LENGTHS) != 0)
        (void)json_array_append_new(uses, json_string("lengths"));
    if ((run_uses(row->policy, &level->information) & USES_SPEEDS) != 0)
        (void)json_array_append_new(uses, json_string("speeds"));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "policy", row->policy->name, "uses", uses, "mean",
                     json_figures(&row->mean), "traces", traces, "paired", json_paired(lab, row));
}

static json_t *json_failures(const struct lab_level *level)
{
    json_t *array = json_array();

    for (size_t i = 0; i < level->n_failures; i++) {
        const struct lab_failure *failure = &level->failures[i];

        (void)json_array_append_new(array,
                                    json_pack("{s:s, s:s, s:s}", "policy", failure->policy->name,
                                              "error", failure->error.text, "remedy",
                                              failure->error.remedy));
    }
    return array;
}

static json_t *json_level(const struct lab *lab, const struct lab_level *level)
{
    json_t *traces = json_array(), *policies = json_array();

    for (size_t t = 0; t < lab->n_traces; t++)
        (void)json_array_append_new(
            traces,
            json_pack("{s:s, s:I, s:I, s:{s:f, s:f, s:f}}", "name", level->traces[t]->name, "jobs",
                      (json_int_t)level->traces[t]->n, "requests_cut", (json_int_t)level->n_cut[t],
                      "bounds", "completion_alone_avg_s", level->bounds[t].shortest_avg_s,
                      "completion_srpt_avg_s", level->bounds[t].srpt_avg_s, "makespan_s",
                      level->bounds[t].makespan_s));
    for (size_t i = 0; i < level->n_rows; i++)
        (void)json_array_append_new(policies, json_row(lab, level, &level->rows[i]));
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "level", level->name, "batch",
                     level->information.adaptive_batch ? "adaptive" : "fixed", "speeds",
                     trace_speeds_name(level->information.speeds), "lengths_known",
                     level->information.lengths, "history", level->information.history, "traces",
                     traces, "policies", policies, "failed", json_failures(level));
}

void lab_print_json(const struct lab *lab)
{
    json_t *levels = json_array();

    for (size_t i = 0; i < lab->n_levels; i++)
        (void)json_array_append_new(levels, json_level(lab, &lab->levels[i]));

    _cleanup_json_ json_t *object =
        json_pack("{s:I, s:I, s:f, s:f, s:f, s:o}", "nodes", (json_int_t)lab->config.n_nodes,
                  "places_per_node", (json_int_t)lab->config.per_node, "round_s",
                  lab->config.round_s, "window_s", lab->config.window_s, "restart_s",
                  lab->config.restart_s, "levels", levels);

    if (lab->record != NULL)
        (void)json_object_set(object, "record", lab->record->about);
    json_print(object);
}
