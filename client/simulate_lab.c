/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab.c - traces under several policies: options, runs, comparisons */
#include "client/simulate_lab.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <time.h>

#include "client/report.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "simulator/trace/trace.h"

#define POLICIES_MAX 12 /* columns of a table */
#define PLACES_MAX 1000000
#define NODES_DEFAULT "16x4"
#define RESTART_DEFAULT_S 30.0
#define WINDOW_DEFAULT_S 1.0
#define KEPT_BYTES (32 << 20)

/* edl(1) says what each means */
static const struct level_name {
    const char *name;
    struct information information;
} levels[] = {
    { "fixed",
      { .lengths = true, .history = true, .speeds = SPEEDS_TRUE, .adaptive_batch = false } },
    { "fixed-history",
      { .lengths = false, .history = true, .speeds = SPEEDS_TRUE, .adaptive_batch = false } },
    { "fixed-no-lengths",
      { .lengths = false, .history = false, .speeds = SPEEDS_TRUE, .adaptive_batch = false } },
    { "adaptive",
      { .lengths = true, .history = true, .speeds = SPEEDS_TRUE, .adaptive_batch = true } },
    { "adaptive-history",
      { .lengths = false, .history = true, .speeds = SPEEDS_TRUE, .adaptive_batch = true } },
    { "adaptive-no-lengths",
      { .lengths = false, .history = false, .speeds = SPEEDS_TRUE, .adaptive_batch = true } },
    { "learnt",
      { .lengths = true, .history = true, .speeds = SPEEDS_LEARNT, .adaptive_batch = true } },
    { "learnt-history",
      { .lengths = false, .history = true, .speeds = SPEEDS_LEARNT, .adaptive_batch = true } },
    { "learnt-no-lengths",
      { .lengths = false, .history = false, .speeds = SPEEDS_LEARNT, .adaptive_batch = true } },
    { "family",
      { .lengths = true, .history = true, .speeds = SPEEDS_FAMILY, .adaptive_batch = true } },
    { "family-history",
      { .lengths = false, .history = true, .speeds = SPEEDS_FAMILY, .adaptive_batch = true } },
    { "family-no-lengths",
      { .lengths = false, .history = false, .speeds = SPEEDS_FAMILY, .adaptive_batch = true } },
};

/* What really happened, as far as a table is concerned. */
static const struct trace_policy recorded = {
    .name = LAB_RECORDED,
    .summary = "what really happened",
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Each decision needs the same megabyte or two for a moment. By default the C library gives it back
 * to the kernel each time, and fetching it again costs up to a tenth of a run. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* --- options --- */

int lab_nodes(const char *text, uint32_t *ret_nodes, uint32_t *ret_per_node,
              struct edl_error *error)
{
    const char *x = strchr(text, 'x');
    _cleanup_free_ char *nodes =
        text_format("%.*s", (int)(x != NULL ? x - text : (ptrdiff_t)strlen(text)), text);
    uint64_t n_nodes, per_node = 1;

    if (parse_u64(nodes, &n_nodes) < 0 || (x != NULL && parse_u64(x + 1, &per_node) < 0) ||
        n_nodes == 0 || per_node == 0 || n_nodes > PLACES_MAX || per_node > PLACES_MAX ||
        n_nodes * per_node > PLACES_MAX) {
        (void)edl_error_set(error, -EINVAL, "--nodes: \"%s\" is no cluster", text);
        return edl_error_remedy(error, "NODESxINSTANCES, such as %s; at most %d together",
                                NODES_DEFAULT, PLACES_MAX);
    }
    *ret_nodes = (uint32_t)n_nodes;
    *ret_per_node = (uint32_t)per_node;
    return 0;
}

/* set_time - text NULL: what it is otherwise */
static int set_time(const char *option, const char *text, double otherwise_s, double *ret_s,
                    struct edl_error *error)
{
    uint64_t us;

    *ret_s = otherwise_s;
    if (text == NULL)
        return 0;
    if (parse_seconds(text, &us) < 0) {
        (void)edl_error_set(error, -EINVAL, "--%s: \"%s\" is no time", option, text);
        return edl_error_remedy(error, "a time such as 0s, 500ms, 30s or 2m");
    }
    *ret_s = simulate_seconds(us);
    return 0;
}

/* next_name - splits a list at commas; NULL at its end */
static char *next_name(char **list)
{
    char *name = strsep(list, ",");

    while (name != NULL && *name == '\0')
        name = strsep(list, ",");
    return name;
}

static int no_policy(const char *name, struct edl_error *error)
{
    char names[200] = "";

    for (size_t i = 0; trace_policies[i] != NULL; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                       trace_policies[i]->name);
    }
    (void)edl_error_set(error, -EINVAL, "no policy for traces is called \"%s\"", name);
    return edl_error_remedy(error, "%s", names);
}

static int set_policies(struct lab *lab, struct edl_error *error)
{
    _cleanup_free_ char *text = lab->options->policy != NULL ? xstrdup(lab->options->policy) : NULL;
    char *list = text, *name;

    lab->policies = xcalloc(POLICIES_MAX, sizeof(*lab->policies));
    for (size_t i = 0; text == NULL && trace_policies[i] != NULL; i++)
        lab->policies[lab->n_policies++] = trace_policies[i];
    while (text != NULL && (name = next_name(&list)) != NULL) {
        const struct trace_policy *policy = trace_policy_find(name);

        if (policy == NULL)
            return no_policy(name, error);
        if (lab->n_policies == POLICIES_MAX)
            return edl_error_set(error, -EINVAL, "--policy names more than %d", POLICIES_MAX);
        lab->policies[lab->n_policies++] = policy;
    }
    return 0;
}

static int set_against(struct lab *lab, struct edl_error *error)
{
    if (lab->options->against == NULL)
        return 0;
    if (lab->record != NULL && streq(lab->options->against, LAB_RECORDED)) {
        lab->against = &recorded;
        return 0;
    }
    lab->against = trace_policy_find(lab->options->against);
    if (lab->against == NULL)
        return no_policy(lab->options->against, error);
    for (size_t i = 0; i < lab->n_policies; i++)
        if (lab->policies[i] == lab->against)
            return 0;
    (void)edl_error_set(error, -EINVAL, "--against %s is not among the policies that run",
                        lab->against->name);
    return edl_error_remedy(error, "--policy %s,%s", lab->options->policy, lab->against->name);
}

static int no_level(const char *name, struct edl_error *error)
{
    char names[300] = "";

    for (size_t i = 0; i < ELEMENTS(levels); i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                       levels[i].name);
    }
    (void)edl_error_set(error, -EINVAL, "--level: \"%s\" is none", name);
    return edl_error_remedy(error, "%s", names);
}

static int set_levels(struct lab *lab, struct edl_error *error)
{
    _cleanup_free_ char *text =
        xstrdup(lab->options->level != NULL ? lab->options->level : levels[0].name);
    char *list = text, *name;

    lab->levels = xcalloc(ELEMENTS(levels), sizeof(*lab->levels));
    while ((name = next_name(&list)) != NULL) {
        size_t i = 0;

        while (i < ELEMENTS(levels) && !streq(levels[i].name, name))
            i++;
        if (i == ELEMENTS(levels) || lab->n_levels == ELEMENTS(levels)) {
            return no_level(name, error);
        }
        lab->levels[lab->n_levels].name = levels[i].name;
        lab->levels[lab->n_levels++].information = levels[i].information;
    }
    return 0;
}

static int set_options(struct lab *lab, struct edl_error *error)
{
    const struct simulate_options *options = lab->options;
    int r = lab_nodes(options->nodes != NULL ? options->nodes : NODES_DEFAULT, &lab->config.n_nodes,
                      &lab->config.per_node, error);

    if (r == 0)
        r = set_time("round", options->round, 0, &lab->config.round_s, error);
    if (r == 0)
        r = set_time("restart", options->restart, RESTART_DEFAULT_S, &lab->config.restart_s, error);
    if (r == 0)
        r = set_time("window", options->window, WINDOW_DEFAULT_S, &lab->config.window_s, error);
    if (r == 0)
        r = set_policies(lab, error);
    if (r == 0)
        r = set_against(lab, error);
    if (r == 0)
        r = set_levels(lab, error);
    lab->config.clock_ns = clock_ns;
    return r;
}

/* --- runs --- */

static bool offers(const struct information *information, const struct trace_policy *policy)
{
    return (information->lengths || (policy->uses & USES_LENGTHS) == 0) &&
           (information->speeds != SPEEDS_HIDDEN || (policy->uses & USES_SPEEDS) == 0);
}

static int take_result(const struct lab *lab, struct lab_row *row, size_t t,
                       const struct trace *trace, const struct run_result *result,
                       struct edl_error *error)
{
    int r = figures_of(trace, &lab->config, result, &row->figures[t], error);

    row->completions_s[t] = xcalloc(trace->n, sizeof(double));
    for (size_t i = 0; i < trace->n; i++)
        row->completions_s[t][i] = result->jobs[i].done_s - result->jobs[i].submit_s;
    return r;
}

static int run_one(struct lab *lab, struct lab_level *level, struct lab_row *row, size_t t,
                   struct edl_error *error)
{
    const struct trace *trace = level->traces[t];
    struct run_result result;
    int r;

    if (row->policy == &recorded)
        return take_result(lab, row, t, trace, lab->record->result, error);
    lab->config.information = level->information;
    r = run_trace(trace, row->policy, &lab->config, &result, error);
    if (r < 0)
        return r;
    r = take_result(lab, row, t, trace, &result, error);
    level->n_cut[t] = result.n_cut;
    run_result_done(&result);
    return r;
}

static void free_row(const struct lab *lab, struct lab_row *row)
{
    for (size_t t = 0; t < lab->n_traces; t++)
        free(row->completions_s[t]);
    free(row->completions_s);
    free(row->figures);
}

static int run_row(struct lab *lab, struct lab_level *level, const struct trace_policy *policy,
                   struct edl_error *error)
{
    struct lab_row *row = &level->rows[level->n_rows++];
    int r = 0;

    row->policy = policy;
    row->figures = xcalloc(lab->n_traces, sizeof(*row->figures));
    row->completions_s = xcalloc(lab->n_traces, sizeof(*row->completions_s));
    for (size_t t = 0; r == 0 && t < lab->n_traces; t++)
        r = run_one(lab, level, row, t, error);
    if (r == 0) {
        figures_mean(row->figures, lab->n_traces, &row->mean);
    } else {
        free_row(lab, row);
        level->n_rows--;
    }
    return r;
}

/* run_policy - one that fails says so, and has no row */
static void run_policy(struct lab *lab, struct lab_level *level, const struct trace_policy *policy)
{
    struct lab_failure *failure = &level->failures[level->n_failures];

    if (!offers(&level->information, policy)) {
        report_note("%s uses what the level %s does not offer: left out", policy->name,
                    level->name);
        return;
    }
    if (run_row(lab, level, policy, &failure->error) < 0) {
        failure->policy = policy;
        level->n_failures++;
    }
}

/* compare - over the traces where there are several, else over the jobs of the only one */
static void compare(const struct lab *lab, struct lab_level *level)
{
    const struct lab_row *other = NULL;
    size_t n = lab->n_traces > 1 ? lab->n_traces : level->traces[0]->n;
    double *a = xcalloc(n, sizeof(*a)), *b = xcalloc(n, sizeof(*b));

    for (size_t i = 0; i < level->n_rows; i++)
        if (level->rows[i].policy == lab->against)
            other = &level->rows[i];
    for (size_t i = 0; other != NULL && i < level->n_rows; i++) {
        struct lab_row *row = &level->rows[i];

        for (size_t c = 0; c < n; c++) {
            a[c] = lab->n_traces > 1 ? row->figures[c].completion_avg_s : row->completions_s[0][c];
            b[c] =
                lab->n_traces > 1 ? other->figures[c].completion_avg_s : other->completions_s[0][c];
        }
        row->is_paired = row != other;
        if (row->is_paired)
            paired_of(a, b, n, lab->options->seed, &row->paired);
    }
    free(a);
    free(b);
}

/* no_rows - nobody ran: that is told instead of a table */
static int no_rows(const struct lab_level *level, struct edl_error *error)
{
    if (level->n_failures > 0) {
        *error = level->failures[0].error;
        return error->code;
    }
    (void)edl_error_set(error, -EINVAL, "no policy that was named can run at level %s",
                        level->name);
    return edl_error_remedy(error, "another --level or --policy");
}

static int run_level(struct lab *lab, struct lab_level *level, struct edl_error *error)
{
    int r = 0;

    level->n_cut = xcalloc(lab->n_traces, sizeof(*level->n_cut));
    level->failures = xcalloc(lab->n_policies, sizeof(*level->failures));
    level->rows = xcalloc(lab->n_policies + 1, sizeof(*level->rows));
    level->bounds = xcalloc(lab->n_traces, sizeof(*level->bounds));
    for (size_t t = 0; r == 0 && t < lab->n_traces; t++)
        r = bounds_of(level->traces[t], &lab->config, &level->bounds[t], error);
    if (r == 0 && lab->record != NULL)
        r = run_row(lab, level, &recorded, error);
    for (size_t i = 0; r == 0 && i < lab->n_policies; i++)
        run_policy(lab, level, lab->policies[i]);
    if (r == 0 && level->n_rows == 0)
        r = no_rows(level, error);
    if (r == 0 && lab->against != NULL && lab->n_traces > 0)
        compare(lab, level);
    for (size_t t = 0; r == 0 && t < lab->n_traces; t++)
        if (level->n_cut[t] > 0)
            report_note("%s: jobs that ask for more than was measured on nodes with %u place%s: "
                        "%zu of %zu; they ask for the most that was",
                        level->traces[t]->name, lab->config.per_node, PLURAL(lab->config.per_node),
                        level->n_cut[t], level->traces[t]->n);
    return r;
}

static int take_traces(struct lab *lab, struct lab_level *level,
                       const struct option_words *arguments, struct edl_error *error)
{
    if (lab->record == NULL)
        return lab_traces(lab->options, arguments, level->information.adaptive_batch,
                          &level->traces, &lab->n_traces, error);
    level->traces = xcalloc(1, sizeof(struct trace *));
    level->traces[0] = lab->record->trace;
    lab->n_traces = 1;
    return 0;
}

static int run_all(struct lab *lab, const struct option_words *arguments, struct edl_error *error)
{
    int r = set_options(lab, error);

    for (size_t i = 0; r == 0 && i < lab->n_levels; i++) {
        struct lab_level *level = &lab->levels[i];

        r = take_traces(lab, level, arguments, error);
        if (r == 0)
            r = run_level(lab, level, error);
    }
    return r;
}

static void free_level(const struct lab *lab, struct lab_level *level)
{
    for (size_t i = 0; i < level->n_rows; i++)
        free_row(lab, &level->rows[i]);
    for (size_t t = 0; level->traces != NULL && lab->record == NULL && t < lab->n_traces; t++)
        (void)trace_free(level->traces[t]);
    free(level->traces);
    free(level->bounds);
    free(level->rows);
    free(level->failures);
    free(level->n_cut);
}

/* report_failures - behind the tables: who is not in them, and why; status: what is known yet */
static int report_failures(const struct lab_level *level, int status)
{
    for (size_t i = 0; i < level->n_failures; i++) {
        report_note("%s has no row at level %s:", level->failures[i].policy->name, level->name);
        status = report_error(&level->failures[i].error);
    }
    return status;
}

/* run_lab - and tells what came of it; the lab is done for */
static int run_lab(struct lab *lab, const struct option_words *arguments)
{
    struct edl_error error = { 0 };
    int r, status = STATUS_OK;

    keep_memory();
    r = run_all(lab, arguments, &error);

    if (r == 0 && lab->options->plot != NULL)
        r = lab_plot(lab, lab->options->plot, &error);
    if (r == 0 && lab->options->common.json)
        lab_print_json(lab);
    else if (r == 0)
        lab_print_tables(lab);
    for (size_t i = 0; i < lab->n_levels; i++) {
        if (r == 0)
            status = report_failures(&lab->levels[i], status);
        free_level(lab, &lab->levels[i]);
    }
    free(lab->levels);
    free(lab->policies);
    return r < 0 ? report_error(&error) : status;
}

int simulate_lab(const struct simulate_options *options, const struct option_words *arguments)
{
    struct lab lab = { .options = options };
    struct edl_error error = { 0 };

    if (options->export_to == NULL)
        return run_lab(&lab, arguments);
    return lab_export(options, arguments, &error) < 0 ? report_error(&error) : STATUS_OK;
}

int simulate_lab_record(const struct simulate_options *options, const struct lab_record *record)
{
    struct lab lab = { .options = options, .record = record };

    return run_lab(&lab, NULL);
}
