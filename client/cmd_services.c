/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_services.c - `edl services`: which jobs and roles serve others; with a name, the processes
 * that serve now and where */
#include <inttypes.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* "10.0.0.1:20000,10.0.0.1:20001", or the address alone */
static void add_where(struct table *table, const json_t *process)
{
    const json_t *ports = json_object_get(process, "ports");
    const char *address = json_text(process, "address");
    char text[1024];
    size_t used = 0;
    size_t i;
    const json_t *port;

    (void)snprintf(text, sizeof text, "%s", address);
    json_array_foreach(ports, i, port) if (used < sizeof text) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s:%" PRIu64, i > 0 ? "," : "",
                         address, (uint64_t)json_integer_value(port));
    table_add(table, "%s", text);
}

/* What one that serves tells of its queue, or all of a service. */
static const struct {
    const char *name;
    double times;
    int decimals;
    const char *unit;
} figures[] = {
    { "students", 1, 0, "" },
    { "queue_tasks", 1, 1, "" },
    { "tasks_per_s", 1, 1, "" },
    { "busy_share", 100, 0, "%" },
};

/* Of services that tell nothing these columns would be empty. */
static bool any_figures(const json_t *items)
{
    const json_t *item;
    size_t i;

    json_array_foreach(items, i,
                       item) if (json_is_object(json_object_get(item, "figures"))) return true;
    return false;
}

static void add_figures(struct table *table, const json_t *of, bool shown)
{
    for (size_t i = 0; shown && i < ELEMENTS(figures); i++) {
        const json_t *value = json_object_get(of, figures[i].name);

        if (json_is_number(value))
            table_add(table, "%.*f%s", figures[i].decimals,
                      figures[i].times * json_number_value(value), figures[i].unit);
        else
            table_add(table, "-");
    }
}

static struct table *table_of_processes(const json_t *answer)
{
    static const char *const headers[] = { "PROCESS", "NODE",    "WHERE", "SINCE", "STUDENTS",
                                           "QUEUE",   "TASKS/S", "BUSY",  NULL };
    static const char *const plain[] = { "PROCESS", "NODE", "WHERE", "SINCE", NULL };
    const json_t *processes = json_object_get(answer, "processes");
    const bool told = any_figures(processes);
    struct table *table = table_new(told ? headers : plain, 0xf0);
    const json_t *process;
    char text[32];
    size_t i;

    json_array_foreach(processes, i, process)
    {
        table_add(table, "%s-%" PRIu64, json_text(process, "role"), json_u64(process, "index"));
        table_add(table, "%s", json_text(process, "node"));
        add_where(table, process);
        table_add(table, "%s", text_time(json_u64(process, "started_us"), text, sizeof text));
        add_figures(table, json_object_get(process, "figures"), told);
    }
    return table;
}

static struct table *table_of_services(const json_t *answer)
{
    static const char *const headers[] = { "SERVICE", "USER",    "SERVING", "WANT", "STUDENTS",
                                           "QUEUE",   "TASKS/S", "BUSY",    NULL };
    static const char *const plain[] = { "SERVICE", "USER", "SERVING", "WANT", NULL };
    const json_t *services = json_object_get(answer, "services");
    const bool told = any_figures(services);
    struct table *table = table_new(told ? headers : plain, 0xfc);
    const json_t *service;
    size_t i;

    json_array_foreach(services, i, service)
    {
        table_add(table, "%s", json_text(service, "service"));
        table_add(table, "%s", json_text(service, "user"));
        table_add(table, "%" PRIu64, json_u64(service, "serving"));
        table_add(table, "%" PRIu64, json_u64(service, "want"));
        add_figures(table, json_object_get(service, "figures"), told);
    }
    return table;
}

static int fetch(const struct invocation *invocation, json_t **ret)
{
    const struct option_words *given = &invocation->arguments;
    _cleanup_free_ char *name = given->n_args == 1 ? text_url_segment(given->args[0]) : NULL;
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = name != NULL ? server_get(&server, ret, "/services/%s", name)
                          : server_get(&server, ret, "/services");
    server_clear(&server);
    return status;
}

static int run(const struct invocation *invocation)
{
    _cleanup_json_ json_t *answer = NULL;
    int status = fetch(invocation, &answer);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table =
        invocation->arguments.n_args == 1 ? table_of_processes(answer) : table_of_services(answer);

    table_print(table, stdout);
    return STATUS_OK;
}

const struct verb verb_services = {
    .name = "services",
    .usage = "[NAME]",
    .summary = "List the jobs and roles that serve others; the processes that serve by one name, "
               "and where",
    .details =
        "QUEUE: tasks that wait for each that serves, as a mean; a student offers a task to each "
        "of its\nteachers. STUDENTS: the most that one of them has. BUSY: the part of its time in "
        "which each\ncomputes. A service that tells none of them has \"-\".\n\n"
        "NAME is JOB (a job in mode service, or one with a role \"teacher\") or JOB.ROLE, any role "
        "of\na job. Listed without NAME are jobs in mode service and roles \"teacher\".",
    .max_args = 1,
    .run = run,
};
