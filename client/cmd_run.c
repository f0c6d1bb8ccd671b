/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - `edl run`: a command line of PaddlePaddle's paddle.py as one job on the hosts of a
 * list
 *
 * Also called as edl-paddle and paddle.py, which need not be given the verb. */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/interrupt.h"
#include "client/job_exit.h"
#include "client/job_input.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/run_job.h"
#include "client/server.h"
#include "client/ssh_alias.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/workspace_send.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define FOLDER_SIZE 128

/* All addresses that name services have for the host, in digits; NULL: none. */
static char *addresses_of(const char *name)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char *all = NULL;

    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return NULL;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        char digits[NI_MAXHOST];
        char *longer;

        if (getnameinfo(at->ai_addr, at->ai_addrlen, digits, sizeof digits, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        longer = text_format("%s%s%s", all != NULL ? all : "", all != NULL ? " " : "", digits);
        free(all);
        all = longer;
    }
    freeaddrinfo(found);
    return all;
}

/* Of an alias of ssh_config(5), by which edl deploy has reached it: the name behind it, too. */
static char *names_of(const char *name)
{
    _cleanup_free_ char *host = ssh_alias_host(name), *of_name = NULL, *of_host = NULL;

    of_name = addresses_of(name);
    if (host == NULL)
        return TAKE_PTR(of_name);
    of_host = addresses_of(host);
    return text_format("%s %s %s", host, of_host != NULL ? of_host : "",
                       of_name != NULL ? of_name : "");
}

/* Names are looked up only where they are not those of nodes. */
static int find_nodes(const struct host_list *list, const json_t *nodes, const json_t **ret,
                      struct edl_error *error)
{
    char **addresses = xcalloc(list->n_hosts, sizeof *addresses);
    struct edl_error ignored = { 0 };
    int r = run_find_nodes(list, nodes, NULL, ret, &ignored);

    for (size_t i = 0; i < list->n_hosts && r < 0; i++)
        addresses[i] = names_of(list->hosts[i].name);
    if (r < 0)
        r = run_find_nodes(list, nodes, addresses, ret, error);
    for (size_t i = 0; i < list->n_hosts; i++)
        free(addresses[i]);
    free(addresses);
    return r;
}

/* Before anything is asked or sent. */
static int check_package(const char *folder, struct edl_error *error)
{
    struct stat st;

    if (stat(folder, &st) == -1)
        (void)edl_error_errno(error, -errno, "--job_dispatch_package=%.120s", folder);
    else if (!S_ISDIR(st.st_mode))
        (void)edl_error_set(error, -ENOTDIR, "--job_dispatch_package=%.120s is no folder", folder);
    else if (access(folder, R_OK | X_OK) == -1)
        (void)edl_error_errno(error, -errno, "reading --job_dispatch_package=%.120s", folder);
    else
        return 0;
    return edl_error_remedy(error, "name a folder of this machine that you may read");
}

static const char *conf_file(const struct run_options *options)
{
    if (options->conf != NULL)
        return options->conf;
    return access("conf.py", F_OK) == 0 ? "conf.py" : NULL;
}

static bool is_taken(struct server *server, const char *name)
{
    _cleanup_free_ char *path = job_path(name, "");
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    bool taken = server_call(server, &call, &answer) == STATUS_OK;

    http_answer_clear(&answer);
    return taken;
}

#define NAMES_MAX 60 /* of one run: so many seconds may have runs already */

/* Name and folder of a run, for a second. With a name of the user's own the folder has that behind
 * it. */
static void name_job(struct run_job *job, time_t second, char folder[FOLDER_SIZE],
                     char name[FOLDER_SIZE])
{
    const char *own = job->options->name;
    char stamp[32];
    struct tm local;

    (void)localtime_r(&second, &local);
    (void)strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &local);
    (void)snprintf(name, FOLDER_SIZE, "job%s", stamp);
    (void)snprintf(folder, FOLDER_SIZE, "JOB%s%s%.63s", stamp, own != NULL ? "-" : "",
                   own != NULL ? own : "");
    job->folder = folder;
    job->name = own != NULL ? own : name;
}

/* Tells number, hosts and folder of the job before its output. */
static void tell(const struct run_job *job, const json_t *accepted)
{
    _cleanup_free_ char *folder = run_job_folder(job);

    report_note("job %s (%" PRIu64 ") on %zu host%s, in %s", job->name, json_u64(accepted, "id"),
                job->list->n_hosts, PLURAL(job->list->n_hosts),
                folder != NULL ? folder : "private folders (conf has no ROOT_DIR)");
    for (size_t i = 0; i < job->list->n_hosts; i++)
        report_note("  %s is node %s: parameter server and trainer %zu", job->list->hosts[i].text,
                    json_text(job->nodes[i], "name"), i);
    if (job->port != job->list->port)
        report_note("another run has port %u on one of them: this one has port %" PRIu32,
                    (unsigned)job->list->port, job->port);
    report_note("Ctrl-C kills it on all of them");
}

/* A host of the list cannot run it: as its hosts are these, it would wait for ever. */
static int give_up(struct server *server, const struct run_job *job, const char *id)
{
    _cleanup_free_ char *path = job_path(id, "");
    _cleanup_json_ json_t *body = json_pack("{s:s}", "reason", "one of its hosts cannot run it");
    int status = server_request(server, "DELETE", path, body, NULL);

    if (status == STATUS_OK)
        report_note("job %s is killed, as one of its hosts cannot run it", job->name);
    else
        report_note("job %s waits for that host: edl kill %s", job->name, job->name);
    return STATUS_FAILED;
}

static int follow(struct server *server, const struct run_job *job, const json_t *accepted)
{
    const struct common_options *common = &job->options->common;
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(accepted, "id"));
    _cleanup_free_ const char **nodes = xcalloc(job->list->n_hosts, sizeof *nodes);
    bool gave_up = false;
    struct log_request request = { .job = id,
                                   .follow = true,
                                   .json = common->json,
                                   .nodes = nodes,
                                   .n_nodes = job->list->n_hosts,
                                   .gives_up_at = "node-cannot-run-it",
                                   .gave_up = &gave_up };
    struct interrupt interrupt = { 0 };
    struct edl_error error = { 0 };
    _cleanup_json_ json_t *ended = NULL;
    int status;

    for (size_t i = 0; i < job->list->n_hosts; i++)
        nodes[i] = json_text(job->nodes[i], "name");
    if (interrupt_start(&interrupt, common, json_u64(accepted, "id"), job->name, &error) < 0)
        return report_error(&error);
    status = job_logs(server, &request, accepted);
    if (status == STATUS_OK)
        status = job_wait(server, id, NEVER_US, &ended);
    (void)interrupt_end(&interrupt);
    if (gave_up)
        return give_up(server, job, id);
    if (status != STATUS_OK)
        return status;
    if (common->json)
        json_print_line(ended);
    else
        job_print_line(ended);
    return job_exit_status(server, ended);
}

/* Another job has this: the error is one of that key. A full quota is a 409 as well. */
static bool is_refused(const struct http_answer *answer, const char *pointer)
{
    const json_t *first = json_array_get(json_object_get(answer->json, "errors"), 0);

    return answer->failure == 0 && answer->status == 409 &&
           streq(json_text(first, "pointer"), pointer);
}

/* Another run has these ports on one of the hosts: this one takes those behind them, then goes
 * twice as far each time, as one may have many. false: there are none */
static bool take_next_ports(struct run_job *job)
{
    const struct host_list *list = job->list;
    uint32_t width = MAX_OF(list->ports_num + list->ports_num_for_sparse, 1U);

    uint32_t next = 2 * job->port - list->port + width;

    if (next + width > UINT16_MAX)
        return false;
    job->port = next;
    return true;
}

/* Prints a failure. *again: whether another name may follow; then, whether this one was refused, of
 * which nothing is printed. *ret: new reference on STATUS_OK */
static int send_once(struct server *server, struct run_job *job, bool *again, json_t **ret)
{
    _cleanup_json_ json_t *document = run_job_document(job);
    _cleanup_free_ char *text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
    struct http_call call = { .method = "POST", .path = "/jobs?ports=own", .body = text };
    struct http_answer answer = { 0 };
    struct edl_error error = { 0 };
    int status;

    if (text == NULL) {
        *again = false;
        (void)edl_error_set(&error, -EINVAL, "%s holds what is no UTF-8", job->list->file);
        (void)edl_error_remedy(&error, "write it in UTF-8");
        return report_error(&error);
    }
    call.body_size = strlen(text);
    call.content_type = "application/json";
    status = server_call(server, &call, &answer);
    if (status != STATUS_OK && is_refused(&answer, "/spec/port") && take_next_ports(job)) {
        http_answer_clear(&answer);
        return send_once(server, job, again, ret);
    }
    *again = *again && status != STATUS_OK && is_refused(&answer, "/metadata/name");
    if (status == STATUS_OK)
        *ret = answer.json != NULL ? json_incref(answer.json) : json_object();
    else if (!*again)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

/* Of two runs in one second the other one takes the next second's name and folder, as no two may
 * share a folder. A job that has ended lets go of its name, though not of its folder, so the name
 * is looked up; one that comes between the look and the submission is refused, and the next second
 * is tried. A name of the user's own stays. */
static int send_named(struct server *server, struct run_job *job, char folder[FOLDER_SIZE],
                      char name[FOLDER_SIZE], json_t **ret)
{
    bool own = job->options->name != NULL, again = true;
    time_t second = time(NULL);
    int status = STATUS_OK;

    for (int i = 0; i < NAMES_MAX && again; i++) {
        again = !own && i + 1 < NAMES_MAX;
        name_job(job, second + i, folder, name);
        if (!again || !is_taken(server, name))
            status = send_once(server, job, &again, ret);
    }
    return status;
}

static int submit(struct server *server, struct run_job *job)
{
    _cleanup_json_ json_t *accepted = NULL;
    char folder[FOLDER_SIZE], name[FOLDER_SIZE]; /* job borrows them */
    int status;

    interrupt_hold();
    status = send_named(server, job, folder, name, &accepted);
    if (status != STATUS_OK) {
        interrupt_release();
        return status;
    }
    if (!job->options->common.json)
        tell(job, accepted);
    return follow(server, job, accepted);
}

static int run_on(struct server *server, struct run_job *job)
{
    _cleanup_json_ json_t *answer = NULL;
    _cleanup_free_ const json_t **nodes = xcalloc(job->list->n_hosts, sizeof *nodes);
    char sent[WORKSPACE_NAME_MAX + 1];
    struct edl_error error = { 0 };
    int status = server_list(server, "/nodes?limit=1000", "nodes", &answer);

    if (status != STATUS_OK)
        return status;
    if (find_nodes(job->list, json_object_get(answer, "nodes"), nodes, &error) < 0)
        return report_error(&error);
    job->nodes = nodes;
    job->port = job->list->port;
    job->workspace = job->options->workspace;
    if (job->options->package != NULL) {
        status = workspace_send(server, job->options->package, sent);
        job->workspace = sent;
    }
    return status == STATUS_OK ? submit(server, job) : status;
}

/* The folder is elsewhere on the hosts: absolute paths into it are those of the copy. *ret: strings
 * that flags have now, n_flags of them or NULL. */
static void flags_of_copy(const char *package, char **flags, size_t n_flags, char **ret)
{
    _cleanup_free_ char *real = realpath(package, NULL);
    const char *const folders[] = { package, real };

    for (size_t i = 0; i < n_flags; i++)
        for (size_t k = 0; k < ELEMENTS(folders) && ret[i] == NULL; k++) {
            if (folders[k] == NULL || folders[k][0] != '/')
                continue;
            ret[i] = run_flag_in_copy(flags[i], folders[k]);
            if (ret[i] == NULL)
                continue;
            report_note("%s is %s of the copy", flags[i], ret[i]);
            flags[i] = ret[i];
        }
}

static int run_parsed(const struct run_options *options, char **flags, size_t n_flags)
{
    struct host_list list = { 0 };
    struct edl_error error = { 0 };
    struct server server;
    struct run_job job = { .options = options, .list = &list, .flags = flags, .n_flags = n_flags };
    _cleanup_free_ char **of_copy = xcalloc(n_flags + 1, sizeof *of_copy);
    int status = STATUS_OK;

    if (run_check(options, &error) < 0 || run_check_text(options, flags, n_flags, &error) < 0 ||
        (options->package != NULL && check_package(options->package, &error) < 0) ||
        host_list_load(conf_file(options), &list, &error) < 0)
        status = report_error(&error);
    if (status == STATUS_OK && options->package != NULL)
        flags_of_copy(options->package, flags, n_flags, of_copy);
    if (status == STATUS_OK)
        status = server_open(&options->common, &server);
    if (status == STATUS_OK) {
        status = run_on(&server, &job);
        server_clear(&server);
    }
    for (size_t i = 0; i < n_flags; i++)
        free(of_copy[i]);
    host_list_clear(&list);
    return status;
}

static int run_words(const struct verb *verb, int argc, char **argv)
{
    _cleanup_free_ char **own = xcalloc((size_t)argc + 2, sizeof *own);
    _cleanup_free_ char **flags = xcalloc((size_t)argc + 1, sizeof *flags);
    struct run_options options = { 0 };
    struct verb_options read;
    struct option_words arguments = { 0 };
    struct edl_error error = { 0 };
    size_t n_flags = 0;
    int n_own = 0, status;

    own[0] = (char *)(uintptr_t)verb->name;
    status = run_split(argc, argv, own + 1, &n_own, flags, &n_flags, &error);
    if (status == 0)
        status = options_parse(&run_options, &options, n_own + 1, own, &read, &arguments, &error);
    if (status < 0)
        return report_error(&error);
    if (status == OPTIONS_HELP) {
        verb_print_help(verb, stdout);
        status = STATUS_OK;
    } else {
        status = run_parsed(&options, flags, n_flags);
    }
    option_words_clear(&arguments);
    return status;
}

const struct verb verb_run = {
    .name = "run",
    .usage = "[--conf FILE] --job_dispatch_package=DIR|--job_workspace=DIR [--FLAG=VALUE]...",
    .summary = "Train on all hosts of a conf.py, as PaddlePaddle's paddle.py did",
    .details =
        "One job: a parameter server and a trainer on every host of HOSTS, in the folder "
        "ROOT_DIR/JOB%Y%m%d%H%M%S\nof each. Its files are log/train.log, log/server.log, "
        "paddle_trainer.INFO, paddle_pserver2.INFO and nodefile.\nThe output of all is printed, "
        "each line behind its node and process. Every FLAG that is not listed here\ngoes to the "
        "trainer as it stands.\n\n"
        "Ctrl-C kills the job on all hosts; a second one lets go of it. Exit status: 0 it "
        "succeeded, "
        "1 it did not,\n2 wrong input, 3 no scheduler. edl fetch JOB gets its files; "
        "edl-hosts.conf(5) "
        "is the list.",
    .options = &run_options,
    .options_size = sizeof(struct run_options),
    .max_args = SIZE_MAX,
    .run_words = run_words,
};
