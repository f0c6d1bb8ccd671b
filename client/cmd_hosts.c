/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_hosts.c - `edl hosts`: where the processes of a job are, in the forms that other launchers
 * read
 *
 * Inside a job the agent is asked over EDL_SOCKET, which needs no token; outside the scheduler. The
 * name of a host is ROLE-INDEX: the next incarnation is the same host, as a launcher that keeps the
 * ranks of hosts wants it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

struct hosts_options {
    struct common_options common;
    bool discovery, hostfile, addresses;
};

static const struct option_row hosts_options[] = {
    { "discovery", NULL, "lines HOST:SLOTS, for horovodrun --host-discovery-script", option_flag,
      OPTION_FIELD(struct hosts_options, discovery) },
    { "hostfile", NULL, "lines HOST slots=SLOTS, for mpirun", option_flag,
      OPTION_FIELD(struct hosts_options, hostfile) },
    { "addresses", NULL, "the node's address as HOST; alone: a line for each process", option_flag,
      OPTION_FIELD(struct hosts_options, addresses) },
};

/* JOB[.ROLE] taken apart, or the caller's own job. */
struct wanted {
    const char *word; /* as it was typed; NULL: nothing was */
    char *job;        /* owned; NULL: the caller's own */
    const char *role; /* NULL: every role of the job */
};

/* The name of a job has no dot, that of its user may have one. */
static struct wanted read_word(const char *word)
{
    const char *slash = word != NULL ? strchr(word, '/') : NULL;
    const char *dot = word != NULL ? strchr(slash != NULL ? slash : word, '.') : NULL;
    struct wanted wanted = { .word = word, .role = dot != NULL ? dot + 1 : NULL };

    if (word != NULL)
        wanted.job =
            text_format("%.*s", (int)(dot != NULL ? (size_t)(dot - word) : strlen(word)), word);
    return wanted;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "";
}

static bool is_own(const struct wanted *wanted)
{
    return wanted->job == NULL || streq(wanted->job, variable("EDL_JOB")) ||
           streq(wanted->job, variable("EDL_JOB_ID"));
}

static int ask_agent(struct server *server, const struct wanted *wanted, json_t **ret)
{
    const char *role = wanted->role != NULL ? wanted->role : variable("EDL_ROLE");
    _cleanup_free_ char *segment = text_url_segment(is_own(wanted) ? role : wanted->word);

    return is_own(wanted) ? server_get(server, ret, "/jobs/self/hosts?role=%s", segment)
                          : server_get(server, ret, "/services/%s", segment);
}

/* A job whose role has no process now, and one that has no such role, have the same list. */
static int check_role(struct server *server, const struct wanted *wanted)
{
    _cleanup_free_ char *path = job_path(wanted->job, "");
    _cleanup_json_ json_t *job = NULL;
    struct edl_error error = { 0 };
    const char *names[64];
    size_t n = 0, i;
    const json_t *role;
    int status = server_request(server, "GET", path, NULL, &job);

    if (status != STATUS_OK)
        return status;
    json_array_foreach(json_object_get(job, "roles"), i, role)
    {
        if (streq(json_text(role, "role"), wanted->role))
            return STATUS_OK;
        if (n < ELEMENTS(names))
            names[n++] = json_text(role, "role");
    }
    (void)edl_error_set(&error, -ENOENT, "job %s has no role \"%s\"", wanted->job, wanted->role);
    if (n > 0) {
        const char *nearest = nearest_word(wanted->role, names, n);

        (void)edl_error_remedy(&error, "edl hosts %s.%s", wanted->job,
                               nearest != NULL ? nearest : names[0]);
    }
    return report_error(&error);
}

static int ask_scheduler(struct server *server, const struct wanted *wanted, json_t **ret)
{
    _cleanup_free_ char *path = job_path(wanted->job, "/processes");

    return server_request(server, "GET", path, NULL, ret);
}

/* The host as it is told: the process of the answer with its name and its slots. role: of all
 * processes of an answer that names it once. */
static json_t *host_of(const json_t *process, const char *role)
{
    static const char *const members[] = { "index", "incarnation", "node", "address",
                                           "ports", "gpus",        "state" };
    const char *own = json_text(process, "role");
    size_t gpus = json_array_size(json_object_get(process, "gpus"));
    json_t *host = json_object();

    if (*own == '\0')
        own = role;
    (void)json_object_set_new(host, "host",
                              json_sprintf("%s-%" PRIu64, own, json_u64(process, "index")));
    (void)json_object_set_new(host, "slots", json_integer((json_int_t)MAX_OF(gpus, (size_t)1)));
    (void)json_object_set_new(host, "role", json_string(own));
    for (size_t i = 0; i < ELEMENTS(members); i++)
        if (json_object_get(process, members[i]) != NULL)
            (void)json_object_set(host, members[i], json_object_get(process, members[i]));
    if (json_object_get(host, "state") == NULL) /* of a service only those are told that run */
        (void)json_object_set_new(host, "state", json_string("running"));
    return host;
}

static int compare(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int by_role = strcmp(json_text(x, "role"), json_text(y, "role"));

    return by_role != 0 ? by_role
                        : (json_u64(x, "index") > json_u64(y, "index")) -
                              (json_u64(x, "index") < json_u64(y, "index"));
}

/* hosts_of - those of the wanted role, by role and index; the caller's */
static json_t *hosts_of(const json_t *answer, const struct wanted *wanted)
{
    const json_t *list = json_object_get(answer, "processes");
    json_t *hosts = json_array();
    const json_t *process;
    size_t i, n = 0;

    if (list == NULL)
        list = json_object_get(answer, "hosts");

    _cleanup_free_ json_t **sorted = xcalloc(json_array_size(list) + 1, sizeof *sorted);

    json_array_foreach(list, i, process)
    {
        json_t *host = host_of(process, json_text(answer, "role"));

        if (wanted->role == NULL || streq(json_text(host, "role"), wanted->role))
            sorted[n++] = host;
        else
            json_decref(host);
    }
    qsort(sorted, n, sizeof *sorted, compare);
    for (i = 0; i < n; i++)
        (void)json_array_append_new(hosts, sorted[i]);
    return hosts;
}

static int ask(const struct invocation *invocation, const struct wanted *wanted, json_t **ret)
{
    const struct common_options *common = invocation->common;
    const char *socket = common->server == NULL ? variable("EDL_SOCKET") : "";
    bool inside = *socket != '\0';
    _cleanup_json_ json_t *answer = NULL;
    struct edl_error error = { 0 };
    struct server server;

    if (!inside && wanted->job == NULL) {
        (void)edl_error_set(&error, -EINVAL,
                            "edl hosts: of which job? Only a process of a job "
                            "leaves the name out");
        (void)edl_error_remedy(&error, "edl hosts JOB, or edl ps for the names");
        return report_error(&error);
    }

    int status =
        inside ? server_open_agent(socket, common->json, &server) : server_open(common, &server);

    if (status != STATUS_OK)
        return status;
    status = inside ? ask_agent(&server, wanted, &answer) : ask_scheduler(&server, wanted, &answer);
    if (status == STATUS_OK)
        *ret = hosts_of(answer, wanted);
    if (status == STATUS_OK && !inside && wanted->role != NULL && json_array_size(*ret) == 0)
        status = check_role(&server, wanted);
    server_clear(&server);
    return status;
}

static bool is_running(const json_t *host)
{
    return streq(json_text(host, "state"), "running");
}

/* Several processes behind one address are one host with the sum of their slots. */
static void print_slots(const json_t *hosts, const struct hosts_options *options)
{
    const char *form = options->discovery ? "%s:%" PRIu64 "\n" : "%s slots=%" PRIu64 "\n";
    const char *name = options->addresses ? "address" : "host";
    _cleanup_json_ json_t *slots = json_object(); /* keeps the order */
    const char *host;
    const json_t *item;
    size_t i;

    json_array_foreach(hosts, i, item)
    {
        host = json_text(item, name);
        if (is_running(item) && *host != '\0')
            (void)json_object_set_new(slots, host,
                                      json_integer(
                                          json_integer_value(json_object_get(slots, host)) +
                                          json_integer_value(json_object_get(item, "slots"))));
    }
    json_object_foreach(slots, host, item)
    {
        (void)printf(form, host, (uint64_t)json_integer_value(item));
    }
}

static void print_addresses(const json_t *hosts)
{
    const json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host)
    {
        if (is_running(host) && *json_text(host, "address") != '\0')
            (void)puts(json_text(host, "address"));
    }
}

static void print_table(const json_t *hosts)
{
    static const char *const headers[] = { "HOST",  "NODE",  "ADDRESS", "PORTS",
                                           "SLOTS", "STATE", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x10);
    const json_t *host, *port;
    size_t i, k;

    json_array_foreach(hosts, i, host)
    {
        char ports[1024] = "";
        size_t used = 0;

        json_array_foreach(json_object_get(host, "ports"), k, port) if (used < sizeof ports) used +=
            (size_t)snprintf(ports + used, sizeof ports - used, "%s%" PRIu64, k > 0 ? "," : "",
                             (uint64_t)json_integer_value(port));
        table_add(table, "%s", json_text(host, "host"));
        table_add(table, "%s", json_text(host, "node"));
        table_add(table, "%s", json_text(host, "address"));
        table_add(table, "%s", *ports != '\0' ? ports : "-");
        table_add(table, "%" PRIu64, json_u64(host, "slots"));
        table_add(table, "%s", json_text(host, "state"));
    }
    table_print(table, stdout);
}

static int check_forms(const struct hosts_options *options, struct edl_error *error)
{
    if (!options->discovery || !options->hostfile)
        return 0;
    (void)edl_error_set(error, -EINVAL, "--discovery and --hostfile are two forms of one list");
    return edl_error_remedy(error, "give one of them; --addresses goes with both");
}

static int run(const struct invocation *invocation)
{
    const struct hosts_options *options = invocation->options;
    const struct option_words *given = &invocation->arguments;
    struct edl_error error = { 0 };
    _cleanup_json_ json_t *hosts = NULL;

    if (check_forms(options, &error) < 0)
        return report_error(&error);

    struct wanted wanted = read_word(given->n_args > 0 ? given->args[0] : NULL);
    int status = ask(invocation, &wanted, &hosts);

    free(wanted.job);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        _cleanup_json_ json_t *answer = json_pack("{s:O}", "hosts", hosts);

        json_print(answer);
    } else if (options->discovery || options->hostfile) {
        print_slots(hosts, options);
    } else if (options->addresses) {
        print_addresses(hosts);
    } else {
        print_table(hosts);
    }
    return STATUS_OK;
}

const struct verb verb_hosts = {
    .name = "hosts",
    .usage = "[JOB[.ROLE]] [--discovery|--hostfile] [--addresses]",
    .summary = "Tell where the processes of a job are, as Horovod and MPI want to read it",
    .details = "A process of a job leaves JOB out: then it is its own role. A host is called\n"
               "ROLE-INDEX, and so is the process that replaces it. It has as many slots as GPUs, "
               "else\none. The lines of the options name those that run; no line means that none "
               "does now.",
    VERB_OPTIONS(hosts_options, struct hosts_options),
    .max_args = 1,
    .run = run,
};
