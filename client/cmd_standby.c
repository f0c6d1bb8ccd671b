/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_standby.c - see cmd_standby.h */
#include "client/cmd_standby.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

/* --- lines below the nodes --- */

static void print_scheduler(const json_t *scheduler)
{
    const char *role = json_text(scheduler, "role");
    uint64_t since_us = json_u64(scheduler, "since_us") / USEC_PER_SEC * USEC_PER_SEC;
    char text[RFC3339_MAX];

    (void)printf("  %s %s", json_text(scheduler, "name"), role);
    if (streq(role, "leader"))
        (void)printf(" since %s (term %" PRIu64 ")", rfc3339_format(since_us, text),
                     json_u64(scheduler, "term"));
    else
        (void)printf(", seen %s ago",
                     text_duration(json_u64(scheduler, "seen_ago_us"), text, sizeof text));
}

static void print_advice(const json_t *database)
{
    const json_t *line;
    size_t i;

    json_array_foreach(json_object_get(database, "advice"), i, line)
        report_note("%s", json_string_value(line) != NULL ? json_string_value(line) : "");
}

static void print_database(const json_t *database)
{
    json_t *copies = json_object_get(database, "copies");
    bool is_safe = !json_is_true(json_object_get(database, "wants_copies"));
    const json_t *copy;
    size_t i;

    (void)printf("database    %s", json_text(database, "server"));
    json_array_foreach(copies, i, copy)
    {
        const char *state = json_text(copy, "state");

        bool is_known = !streq(state, "unknown");

        is_safe = is_safe || !is_known || streq(state, "sync") || streq(state, "quorum");
        (void)printf("  %s %s", json_text(copy, "name"), is_known ? state : "not known");
        if (is_known)
            (void)printf(", %.1f s behind",
                         (double)json_u64(copy, "behind_us") / (double)USEC_PER_SEC);
    }
    if (json_array_size(copies) == 0)
        (void)printf("  without a copy");
    (void)printf("\n");
    if (*json_text(database, "detail") != '\0')
        report_note("%s: %s", json_text(database, "detail"), json_text(database, "remedy"));
    if (!is_safe)
        report_note("no commit is on a second machine now: its loss loses what was last accepted");
}

void schedulers_print(struct server *server)
{
    struct http_call call = { .method = "GET", .path = "/schedulers" };
    struct http_answer answer = { 0 };
    json_t *list, *one, *database;
    size_t i;

    (void)server_call(server, &call, &answer);
    list = json_object_get(answer.json, "schedulers");
    database = json_object_get(answer.json, "database");
    if (json_object_get(json_array_get(list, 0), "term") != NULL) { /* else it is alone */
        (void)printf("schedulers");
        json_array_foreach(list, i, one) print_scheduler(one);
        (void)printf("\n");
    }
    if (database != NULL) { /* else the one that leads does not know it yet */
        print_database(database);
        print_advice(database);
    }
    http_answer_clear(&answer);
}

/* --- edl admin standby --- */

#define RUNS_US (10 * USEC_PER_SEC) /* each tells the database once a second */

static void print_line(const json_t *made)
{
    const char *pin = json_text(made, "ca_pin");
    uint64_t now_us = clock_read_us(CLOCK_REALTIME), end_us = json_u64(made, "expires_us");
    char left[32];

    (void)printf("edl-scheduler --join-standby %s --token %s%s%s\n", json_text(made, "server"),
                 json_text(made, "token"), *pin != '\0' ? " --ca-pin " : "", pin);
    (void)fflush(stdout);
    report_note("run this as root on the machine of %s, behind `apt install "
                "edl-scheduler-postgresql` and `systemctl stop edl-scheduler`; it is good once, "
                "for %s",
                json_text(made, "name"),
                text_duration(end_us > now_us ? end_us - now_us : 0, left, sizeof left));
    if (*pin == '\0')
        report_note("the scheduler listens on its own machine only: start it with --listen "
                    "0.0.0.0:7010 for others");
}

static int add(struct server *server, const struct invocation *invocation, const char *name)
{
    _cleanup_json_ json_t *body = json_pack("{s:s}", "name", name);
    _cleanup_json_ json_t *made = NULL;
    int status = server_request(server, "POST", "/schedulers", body, &made);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json)
        json_print(made);
    else
        print_line(made);
    return STATUS_OK;
}

/* The database forgets a name, and nothing on that machine. */
static void print_removed(const json_t *answer)
{
    const char *name = json_text(answer, "name");
    uint64_t lines = json_u64(answer, "lines");
    char text[32];

    (void)printf("%s: %s\n", name, json_text(answer, "state"));
    (void)fflush(stdout);
    if (lines > 0)
        report_note("a line for it that nobody had used is good no more");
    if (json_object_get(answer, "seen_ago_us") == NULL)
        return;
    if (json_u64(answer, "seen_ago_us") < RUNS_US)
        report_note("%s was there %s ago: if it runs it comes back, so stop it there: systemctl "
                    "disable --now edl-scheduler.socket edl-scheduler",
                    name, text_duration(json_u64(answer, "seen_ago_us"), text, sizeof text));
    report_note("its machine has the key of the cluster's authority, the admin token and the "
                "password of the database still: remove its state directory there");
}

static int take_away(struct server *server, const struct invocation *invocation, const char *name)
{
    _cleanup_free_ char *segment = text_url_segment(name);
    _cleanup_free_ char *path = text_format("/schedulers/%s", segment);
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, "DELETE", path, NULL, &answer);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json)
        json_print(answer);
    else
        print_removed(answer);
    return STATUS_OK;
}

static int list(struct server *server, const struct invocation *invocation, const char *name)
{
    static const char *const headers[] = { "SCHEDULER", "ROLE", "ADDRESS", "SEEN", NULL };
    _cleanup_json_ json_t *answer = NULL;
    int status = server_get(server, &answer, "/schedulers");
    char text[32];

    (void)name;
    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0);
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(answer, "schedulers"), i, one)
    {
        const char *address = json_text(one, "address");
        bool seen = json_object_get(one, "seen_ago_us") != NULL;

        table_add(table, "%s", json_text(one, "name"));
        table_add(table, "%s", json_text(one, "role"));
        table_add(table, "%s", *address != '\0' ? address : "-");
        table_add(table, "%s%s",
                  seen ? text_duration(json_u64(one, "seen_ago_us"), text, sizeof text) : "now",
                  seen ? " ago" : "");
    }
    table_print(table, stdout);
    return STATUS_OK;
}

int standby_run(const struct invocation *invocation)
{
    static const struct {
        const char *name;
        size_t n_args;
        int (*run)(struct server *server, const struct invocation *invocation, const char *name);
    } actions[] = { { "add", 3, add }, { "remove", 3, take_away }, { "list", 2, list } };
    char *const *args = invocation->arguments.args;
    size_t n_args = invocation->arguments.n_args;
    struct edl_error error = { 0 };
    struct server server;
    int status;

    for (size_t i = 0; i < ELEMENTS(actions); i++)
        if (streq(args[1], actions[i].name) && n_args == actions[i].n_args) {
            status = server_open(invocation->common, &server);
            if (status != STATUS_OK)
                return status;
            status = actions[i].run(&server, invocation, n_args == 3 ? args[2] : NULL);
            server_clear(&server);
            return status;
        }
    (void)edl_error_set(&error, -EINVAL, "this is no `edl admin standby`");
    (void)edl_error_remedy(&error, "edl admin standby add NAME, remove NAME, or list");
    return report_error(&error);
}
