/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_why.c - `edl why`: the one reason for the state a job is in, and the changes that would start
 * it */
#include <inttypes.h>

#include "client/job_array.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

static void add_amounts(struct table *table, const json_t *amounts)
{
    char buffer[32];

    table_add(table, "%s", text_cpu(json_u64(amounts, "cpu_millicores"), buffer, sizeof buffer));
    table_add(table, "%s", text_bytes(json_u64(amounts, "memory_bytes"), buffer, sizeof buffer));
    table_add(table, "%" PRIu64, json_u64(amounts, "gpus"));
    table_add(table, "%" PRIu64, json_u64(amounts, "ports"));
}

/* Why the node does not take one, in words. */
static void add_verdict(struct table *table, const json_t *node)
{
    static const struct {
        const char *verdict, *text;
    } texts[] = {
        { "foreign-load", "not enough beside other programs" },
        { "full", "not enough is free" },
        { "too-small", "too small even when empty" },
        { "unfit", "cannot run it" },
        { "labels", "other labels" },
        { "disk-full", "its disk is full" },
        { "unheard", "has not told yet what runs there" },
    };
    const char *verdict = json_text(node, "verdict");

    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (streq(texts[i].verdict, verdict)) {
            table_add(table, "%s", texts[i].text);
            return;
        }
    if (streq(verdict, "fits"))
        table_add(table, "takes %" PRIu64, json_u64(node, "fits"));
    else /* closed */
        table_add(table, "%s", json_text(node, "state"));
}

static void print_nodes(const json_t *answer)
{
    static const char *const headers[] = { "FREE ON", "CPU", "MEMORY", "GPUS", "PORTS", "", NULL };
    const json_t *nodes = json_object_get(answer, "nodes");
    const json_t *needs = json_object_get(answer, "needs");
    const char *verdict;
    size_t i;
    json_t *node, *n;

    if (!json_is_object(needs))
        return;

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x1e);

    json_array_foreach(nodes, i, node)
    {
        table_add(table, "%s", json_text(node, "node"));
        add_amounts(table, json_object_get(node, "free"));
        add_verdict(table, node);
    }
    table_add(table, "needed by %s", json_text(needs, "role"));
    add_amounts(table, json_object_get(needs, "each"));
    table_add(table, "each of %" PRIu64, json_u64(needs, "instances"));
    table_print(table, stdout);
    json_array_foreach(nodes, i, node)
    {
        if (*json_text(node, "note") != '\0')
            (void)printf("node %s: %s\n", json_text(node, "node"), json_text(node, "note"));
    }
    json_object_foreach(json_object_get(answer, "others"), verdict, n)(void)
        printf("and %" JSON_INTEGER_FORMAT " more node%s: %s\n", json_integer_value(n),
               PLURAL(json_integer_value(n)), verdict);
}

static void print_deadline(const json_t *deadline)
{
    uint64_t needed = json_u64(deadline, "needed");

    if (!json_is_object(deadline))
        return;
    (void)printf("its deadline is %s: ", json_text(deadline, "at"));
    if (needed > 0)
        (void)printf("%s, it is kept with %" PRIu64 " instance%s\n",
                     json_is_true(json_object_get(deadline, "in_time")) ? "in time" : "not in time",
                     needed, PLURAL(needed));
    else
        (void)printf("no number of instances that it may have keeps it; a larger max-instance "
                     "may, or a later deadline\n");
}

/* "trainer-0 stood still for 24.1 s: its node n2 was cut off" */
static void print_stood_still(const json_t *array)
{
    size_t i;
    const json_t *item;

    json_array_foreach(array, i, item)(void)
        printf("%s stood still for %.1f s: its node %s was cut off\n", json_text(item, "process"),
               (double)json_u64(item, "frozen_us") / USEC_PER_SEC, json_text(item, "node"));
}

static void print_outlook(const json_t *outlook)
{
    char left[32];

    if (!json_is_object(outlook))
        return;
    (void)printf("with its %" PRIu64 " instance%s it is over in %s, at %s%s\n",
                 json_u64(outlook, "instances"), PLURAL(json_u64(outlook, "instances")),
                 text_duration(json_u64(outlook, "seconds_left") * USEC_PER_SEC, left, sizeof left),
                 json_text(outlook, "ends"),
                 streq(json_text(outlook, "basis"), "family") ? ", as long as jobs like it took"
                                                              : "");
    print_deadline(json_object_get(outlook, "deadline"));
}

static void print_type(const json_t *type)
{
    const char *name = json_text(type, "gpu_type");
    const json_t *speed = json_object_get(type, "speed");
    uint64_t n = json_u64(type, "instances");

    (void)printf("on GPUs of type %s: %" PRIu64 " instance%s", *name != '\0' ? name : "(other)", n,
                 n == 1 ? "" : "s");
    if (json_is_number(speed))
        (void)printf(", %.3g times as fast as on the slowest", json_number_value(speed));
    (void)fputc('\n', stdout);
}

static void print_types(const json_t *types)
{
    size_t i;
    json_t *type;

    json_array_foreach(types, i, type) print_type(type);
}

static void print_why(const char *job, const json_t *answer)
{
    const char *code = json_text(answer, "code");
    const char *reason = json_text(answer, "reason");
    const char *change = json_text(json_object_get(answer, "change"), "text");

    job_print_first_error(json_object_get(answer, "first_error"));
    (void)printf("job %s is %s", job, json_text(answer, "state"));
    if (reason[0] != '\0')
        (void)printf(": %s", reason);
    if (code[0] != '\0')
        (void)printf(" [%s]", code);
    (void)fputc('\n', stdout);
    if (change[0] != '\0')
        (void)printf("what would start it: %s\n", change);
    print_nodes(answer);
    if (*json_text(answer, "moved") != '\0')
        (void)printf("%s\n", json_text(answer, "moved"));
    if (*json_text(answer, "growth") != '\0')
        (void)printf("%s\n", json_text(answer, "growth"));
    if (*json_text(answer, "pservers") != '\0')
        (void)printf("%s; edl events tells why\n", json_text(answer, "pservers"));
    job_print_skipped("skipped:", json_u64(json_object_get(answer, "skipped"), "tasks"),
                      json_u64(json_object_get(answer, "skipped"), "records"));
    job_print_lost("skipped:", json_u64(json_object_get(answer, "skipped"), "chunks_lost"),
                   json_u64(json_object_get(answer, "skipped"), "records_lost"));
    print_stood_still(json_object_get(answer, "stood_still"));
    if (json_is_object(json_object_get(answer, "waits_for")))
        (void)printf("%s\n", json_text(json_object_get(answer, "waits_for"), "text"));
    print_types(json_object_get(answer, "gpu_types"));
    print_outlook(json_object_get(answer, "outlook"));
}

static int why_one(struct server *server, const char *job, bool json)
{
    _cleanup_free_ char *path = job_path(job, "/why");
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, "GET", path, NULL, &answer);

    if (status == STATUS_OK && json)
        json_print(answer);
    else if (status == STATUS_OK)
        print_why(job, answer);
    return status;
}

/* What holds for the first of a group now: a stored reason has the numbers of when it was told. */
static int freshen(struct server *server, json_t *group, json_t **ret_change)
{
    const json_t *first = json_array_get(json_object_get(group, "jobs"), 0);
    json_t *answer = NULL;
    int status = server_get(server, &answer, "/jobs/%" PRIu64 "/why", json_u64(first, "id"));

    if (status != STATUS_OK)
        return status;
    (void)json_object_set(group, "reason", json_object_get(answer, "reason"));
    *ret_change = json_incref(json_object_get(answer, "change"));
    json_decref(answer);
    return STATUS_OK;
}

static int why_array(struct server *server, const char *name, const json_t *jobs, bool json)
{
    _cleanup_json_ json_t *groups = array_groups(jobs);
    int status = STATUS_OK;

    if (!json)
        array_print_summary(name, jobs);
    for (size_t g = 0; g < json_array_size(groups) && status == STATUS_OK; g++) {
        json_t *group = json_array_get(groups, g);
        _cleanup_json_ json_t *change = NULL;

        if (!job_is_final(group))
            status = freshen(server, group, &change);
        if (json)
            continue;
        array_print_group(group);
        if (*json_text(change, "text") != '\0')
            (void)printf("  what would start them: %s\n", json_text(change, "text"));
    }
    if (status == STATUS_OK && json) {
        _cleanup_json_ json_t *answer = json_pack("{s:s,s:O}", "array", name, "groups", groups);

        json_print(answer);
    }
    return status;
}

static int run(const struct invocation *invocation)
{
    const char *job = invocation->arguments.args[0];
    bool json = invocation->common->json;
    _cleanup_json_ json_t *jobs = NULL;
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = array_find(&server, job, &jobs);
    if (status == STATUS_OK)
        status = jobs != NULL ? why_array(&server, job, jobs, json) : why_one(&server, job, json);
    server_clear(&server);
    return status;
}

const struct verb verb_why = {
    .name = "why",
    .usage = "JOB",
    .summary = "Tell why a job is in its state and what would change it",
    .details =
        "For a job that waits for room: the nodes that are nearest to taking its largest\n"
        "role, their free room, and the change that would start it now. JOB may name an array:\n"
        "then one line for all its jobs that have the same reason.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
