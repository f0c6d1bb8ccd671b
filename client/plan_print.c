/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.c - a forecast of the server's in words
 *
 * The sentence comes first and is enough for most; the rest are its parts. */
#include "client/plan_print.h"

#include <inttypes.h>
#include <stdbool.h>

#include "client/json_read.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define NAMED_MAX 4 /* victims that a row of the table names */

static const char *const units[] = { "process stops", "processes stop" };

static bool is_waiting(const char *verdict)
{
    return streq(verdict, "unknown") || streq(verdict, "never");
}

/* "in about 5s (at most 30s)"; "now" */
static void print_when(FILE *out, const json_t *plan)
{
    const json_t *wait = json_object_get(plan, "wait_us");
    const json_t *most = json_object_get(wait, "most");
    uint64_t least_us = json_u64(wait, "least");
    char text[32];

    if (streq(json_text(plan, "verdict"), "now")) {
        (void)fprintf(out, "now");
        return;
    }
    (void)fprintf(out, "in about %s", text_duration(least_us, text, sizeof(text)));
    if (json_is_integer(most) && json_u64(wait, "most") / USEC_PER_SEC > least_us / USEC_PER_SEC)
        (void)fprintf(out, " (at most %s)",
                      text_duration(json_u64(wait, "most"), text, sizeof(text)));
}

/* "on node-1 (2), node-2 (1)": each node once, in the order of the list; nothing without any */
static void print_nodes(FILE *out, const json_t *placements)
{
    size_t n = json_array_size(placements);
    const char *separator = " on ";

    for (size_t i = 0; i < n; i++) {
        const char *node = json_text(json_array_get(placements, i), "node");
        size_t before = 0;
        size_t all = 0;

        for (size_t j = 0; j < n; j++) {
            bool same = streq(json_text(json_array_get(placements, j), "node"), node);

            all += same;
            before += same && j < i;
        }
        if (before > 0)
            continue;
        (void)fprintf(out, "%s%s (%zu)", separator, node, all);
        separator = ", ";
    }
}

static void print_sentence(FILE *out, const struct plan_question *question, const json_t *plan)
{
    const json_t *reason = json_object_get(plan, "reason");
    const char *verdict = json_text(plan, "verdict");

    (void)fprintf(out, "%s%swould ", question->about, question->about[0] != '\0' ? " " : "");
    if (is_waiting(verdict)) {
        (void)fprintf(out, "%s %s: %s\n", streq(verdict, "never") ? "never" : "wait to",
                      question->does, json_text(reason, "text"));
        return;
    }
    (void)fprintf(out, "%s ", question->does);
    print_when(out, plan);
    print_nodes(out, json_object_get(plan, "placements"));
    (void)fprintf(out, ": %s\n", json_text(reason, "text"));
}

/* "array: 37 of 100 jobs start before any job ends, the first in about 5s" */
static void print_array(FILE *out, const json_t *array)
{
    const json_t *first = json_object_get(json_object_get(array, "first_us"), "least");
    uint64_t first_us = (uint64_t)json_integer_value(first);
    uint64_t n = json_u64(array, "played"), start = json_u64(array, "start");
    char text[32];

    if (array == NULL)
        return;
    (void)fprintf(out, "array: %" PRIu64 " of %" PRIu64 " job%s%s", start, n,
                  n == 1 ? " starts" : "s start", start < n ? " before any job ends" : "");
    if (json_is_integer(first) && first_us == 0)
        (void)fprintf(out, ", the first now");
    else if (json_is_integer(first))
        (void)fprintf(out, ", the first in about %s", text_duration(first_us, text, sizeof(text)));
    (void)fputc('\n', out);
}

static void print_growth(FILE *out, const json_t *roles)
{
    size_t i;
    json_t *role;

    json_array_foreach(roles, i, role)
    {
        uint64_t to = json_u64(role, "to");
        uint64_t later = json_u64(role, "later");

        if (to != later)
            (void)fprintf(out, "then from %" PRIu64 " to %" PRIu64 " %ss\n", to, later,
                          json_text(role, "role"));
    }
}

static void add_victims(struct table *table, const json_t *role)
{
    const json_t *victims = json_object_get(role, "victims");
    size_t n = json_array_size(victims);
    _cleanup_free_ char *text =
        text_format("%s", json_is_true(json_object_get(role, "ends")) ? "its job ends" : "");

    for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
        const json_t *victim = json_array_get(victims, i);
        char *longer = text_format("%s%s%s on %s", text, text[0] != '\0' ? ", " : "",
                                   json_text(victim, "process"), json_text(victim, "node"));

        free(text);
        text = longer;
    }
    if (n > NAMED_MAX)
        table_add(table, "%s and %zu more", text, n - NAMED_MAX);
    else
        table_add(table, "%s", text[0] != '\0' ? text : "-");
}

static void add_roles(struct table *table, const json_t *roles)
{
    size_t i;
    json_t *role;

    json_array_foreach(roles, i, role)
    {
        table_add(table, "%s", json_text(role, "job"));
        table_add(table, "%s", json_text(role, "role"));
        table_add(table, "%" PRIu64, json_u64(role, "from"));
        table_add(table, "%" PRIu64, json_u64(role, "to"));
        table_add(table, "%" PRIu64, json_u64(role, "later"));
        add_victims(table, role);
    }
}

static void print_jobs(FILE *out, const json_t *jobs)
{
    static const char *const headers[] = { "JOB", "ROLE", "NOW", "THEN", "LATER", "STOPS", NULL };
    struct table *table;

    if (json_array_size(jobs) == 0)
        return;
    table = table_new(headers, 1U << 2 | 1U << 3 | 1U << 4);
    add_roles(table, jobs);
    (void)fputc('\n', out);
    table_print(table, out);
    (void)fputc('\n', out);
    (void)table_free(table);
}

static void print_cost(FILE *out, const json_t *plan)
{
    const json_t *cost = json_object_get(plan, "cost");
    const json_t *utilisation = json_object_get(plan, "utilisation_ppm");
    uint64_t stopped = json_u64(cost, "stopped");
    uint64_t resizes = json_u64(cost, "resizes");
    char text[32];

    if (stopped == 0 && resizes == 0)
        (void)fprintf(out, "cost: nothing has to stop\n");
    else
        (void)fprintf(out,
                      "cost: %" PRIu64 " %s, %s of work on tasks is done again, %" PRIu64
                      " resize%s of other jobs\n",
                      stopped, units[stopped != 1],
                      text_duration(json_u64(cost, "lost_task_us"), text, sizeof(text)), resizes,
                      resizes == 1 ? "" : "s");
    (void)fprintf(out, "utilisation: %.1f%%, then %.1f%%\n",
                  (double)json_u64(utilisation, "before") / 1e4,
                  (double)json_u64(utilisation, "after") / 1e4);
}

/* Of a submission: whether its deadline can be kept, or how long it takes, as far as is known */
static void print_outlook(FILE *out, const json_t *outlook)
{
    bool has_deadline = json_is_string(json_object_get(outlook, "deadline"));
    const json_t *others = json_object_get(outlook, "others_late");

    if (outlook != NULL && (has_deadline || json_u64(outlook, "jobs_known") > 0 ||
                            json_u64(others, "count") > 0 || json_u64(others, "not_looked_at") > 0))
        (void)fprintf(out, "%s: %s\n", has_deadline ? "deadline" : "length",
                      json_text(outlook, "text"));
}

void plan_print(FILE *out, const struct plan_question *question, const json_t *plan)
{
    print_sentence(out, question, plan);
    print_array(out, json_object_get(plan, "array"));
    print_outlook(out, json_object_get(plan, "outlook"));
    if (!is_waiting(json_text(plan, "verdict")) && json_object_get(plan, "array") == NULL)
        print_growth(out, json_object_get(plan, "roles"));
    print_jobs(out, json_object_get(plan, "jobs"));
    if (!streq(json_text(plan, "verdict"), "never"))
        print_cost(out, plan);
}
