/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab_print.c - what came of traces under policies, for people */
#include <math.h>

#include "client/report.h"
#include "client/simulate_lab.h"
#include "client/table_print.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "simulator/trace/trace.h"

/* What a policy looks at of what the level offers. */
static const char *uses_text(const struct trace_policy *policy, const struct information *offered)
{
    static const char *const texts[] = { "nothing", "lengths", "speeds", "both" };
    unsigned uses = run_uses(policy, offered);

    if ((uses & (USES_LENGTHS | USES_HISTORY)) == USES_HISTORY)
        return (uses & USES_SPEEDS) != 0 ? "speeds, history" : "history";
    return texts[uses & (USES_LENGTHS | USES_SPEEDS)];
}

static void add_share(struct table *table, double share)
{
    if (isnan(share))
        table_add(table, "-");
    else
        table_add(table, "%.1f%%", 100 * share);
}

static void add_number(struct table *table, double value, int digits)
{
    if (isnan(value))
        table_add(table, "-");
    else
        table_add(table, "%.*f", digits, value);
}

static void print_figures(const struct lab_level *level)
{
    static const char *const headers[] = { "POLICY", "USES",   "AVG",      "P50",       "P90",
                                           "P99",    "WAIT",   "MAKESPAN", "ALLOCATED", "EFFECTIVE",
                                           "RHO",    "UNFAIR", "RESCALES", "COST",      NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x3ffc);

    for (size_t i = 0; i < level->n_rows; i++) {
        const struct figures *f = &level->rows[i].mean;

        table_add(table, "%s", level->rows[i].policy->name);
        table_add(table, "%s", uses_text(level->rows[i].policy, &level->information));
        add_number(table, f->completion_avg_s, 1);
        add_number(table, f->completion_p50_s, 0);
        add_number(table, f->completion_p90_s, 0);
        add_number(table, f->completion_p99_s, 0);
        add_number(table, f->waiting_avg_s, 0);
        add_number(table, f->makespan_s, 0);
        add_share(table, f->allocated);
        add_share(table, f->effective);
        add_number(table, f->rho_worst, 2);
        add_share(table, f->unfair);
        add_number(table, f->rescales, 2);
        add_number(table, f->rescale_cost_s, 0);
    }
    table_print(table, stdout);
}

static void print_waits(const struct lab_level *level)
{
    static const char *const headers[] = { "POLICY",          "WAIT-P50", "WAIT-P90", "WAIT-P99",
                                           "DECISION-P50-us", "P99",      "MAX",      NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x7e);

    for (size_t i = 0; i < level->n_rows; i++) {
        const struct figures *f = &level->rows[i].mean;

        table_add(table, "%s", level->rows[i].policy->name);
        add_number(table, f->waiting_p50_s, 0);
        add_number(table, f->waiting_p90_s, 0);
        add_number(table, f->waiting_p99_s, 0);
        add_number(table, 1e6 * f->decision_p50_s, 1);
        add_number(table, 1e6 * f->decision_p99_s, 1);
        add_number(table, 1e6 * f->decision_max_s, 1);
    }
    table_print(table, stdout);
}

/* print_traces - a row for each trace, a column for each policy, and the bounds */
static void print_traces(const struct lab *lab, const struct lab_level *level)
{
    const char **headers = xcalloc(level->n_rows + 5, sizeof(*headers));
    struct table *table;

    headers[0] = "AVG COMPLETION";
    for (size_t i = 0; i < level->n_rows; i++)
        headers[1 + i] = level->rows[i].policy->name;
    headers[1 + level->n_rows] = ">=ALONE";
    headers[2 + level->n_rows] = ">=SRPT";
    headers[3 + level->n_rows] = "MAKESPAN>=";
    table = table_new(headers, UINT32_MAX - 1);
    for (size_t t = 0; t < lab->n_traces; t++) {
        table_add(table, "%s", level->traces[t]->name);
        for (size_t i = 0; i < level->n_rows; i++)
            add_number(table, level->rows[i].figures[t].completion_avg_s, 1);
        add_number(table, level->bounds[t].shortest_avg_s, 1);
        add_number(table, level->bounds[t].srpt_avg_s, 1);
        add_number(table, level->bounds[t].makespan_s, 0);
    }
    table_print(table, stdout);
    (void)table_free(table);
    free(headers);
}

/* lost_traces - where the row did worse than the one it is compared with */
static void lost_traces(const struct lab *lab, const struct lab_level *level,
                        const struct lab_row *row, char *text, size_t bytes)
{
    const struct lab_row *other = NULL;

    text[0] = '\0';
    for (size_t i = 0; i < level->n_rows; i++)
        if (level->rows[i].policy == lab->against)
            other = &level->rows[i];
    for (size_t t = 0; other != NULL && lab->n_traces > 1 && t < lab->n_traces; t++) {
        size_t used = strlen(text);

        if (row->figures[t].completion_avg_s > other->figures[t].completion_avg_s)
            (void)snprintf(text + used, bytes - used, "%s%s", used > 0 ? " " : "",
                           level->traces[t]->name);
    }
}

static bool has_pairs(const struct lab_level *level)
{
    for (size_t i = 0; i < level->n_rows; i++)
        if (level->rows[i].is_paired)
            return true;
    return false;
}

static void print_paired(const struct lab *lab, const struct lab_level *level)
{
    static const char *const headers[] = { "DIFFERENCE", "MEAN", "LOW",        "HIGH", "PERCENT",
                                           "CASES",      "LOST", "LOST CASES", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x7e);

    for (size_t i = 0; i < level->n_rows; i++) {
        const struct lab_row *row = &level->rows[i];
        char lost[400];

        if (!row->is_paired)
            continue;
        lost_traces(lab, level, row, lost, sizeof(lost));
        table_add(table, "%s - %s", row->policy->name, lab->against->name);
        table_add(table, "%+.1f", row->paired.mean);
        table_add(table, "%+.1f", row->paired.low);
        table_add(table, "%+.1f", row->paired.high);
        table_add(table, "%+.1f%%", 100 * row->paired.relative);
        table_add(table, "%zu", row->paired.n);
        table_add(table, "%zu", row->paired.lost);
        table_add(table, "%s", lost[0] != '\0' ? lost : "-");
    }
    (void)printf("\nSeconds of average completion, 95 %% interval by bootstrap over the %s:\n",
                 lab->n_traces > 1 ? "traces" : "jobs");
    table_print(table, stdout);
}

static void print_level(const struct lab *lab, const struct lab_level *level)
{
    (void)printf("level %s: %s batch, speeds %s, lengths %s\n\n", level->name,
                 level->information.adaptive_batch ? "adaptive" : "fixed",
                 trace_speeds_name(level->information.speeds),
                 level->information.lengths   ? "known"
                 : level->information.history ? "unknown, but of others that ended"
                                              : "unknown");
    print_figures(level);
    (void)putchar('\n');
    print_waits(level);
    (void)putchar('\n');
    print_traces(lab, level);
    if (has_pairs(level))
        print_paired(lab, level);
}

void lab_print_tables(const struct lab *lab)
{
    size_t jobs = 0;

    if (lab->record != NULL)
        lab->record->print(lab->record->userdata);
    for (size_t t = 0; lab->n_levels > 0 && t < lab->n_traces; t++)
        jobs += lab->levels[0].traces[t]->n;
    (void)printf("%zu trace%s, %zu job%s, %u node%s with %u place%s, restart %g s, ", lab->n_traces,
                 PLURAL(lab->n_traces), jobs, PLURAL(jobs), lab->config.n_nodes,
                 PLURAL(lab->config.n_nodes), lab->config.per_node, PLURAL(lab->config.per_node),
                 lab->config.restart_s);
    if (lab->config.round_s > 0)
        (void)printf("rounds of %g s\n", lab->config.round_s);
    else
        (void)printf("decisions %g s after the first event\n", lab->config.window_s);
    for (size_t i = 0; i < lab->n_levels; i++) {
        (void)putchar('\n');
        print_level(lab, &lab->levels[i]);
    }
}
