/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_notebook.c - `edl notebook`: Jupyter in a job of its own, at a port of this machine
 *
 * Its token is made on the node and stands in the environment of its process alone, where the
 * owner's sessions read it: documents of jobs and logs are read by others. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "client/forward.h"
#include "client/job_exit.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/own_job.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define IDLE "2h"
#define RETRY_MS 200
#define TRIES 50
#define NOT_FOUND 127
#define END_WITHIN_US (20 * USEC_PER_SEC)
#define LOOK_US (2 * USEC_PER_SEC)

struct notebook_options {
    struct common_options common;
    uint64_t cpu_millicores, memory_bytes, gpus;
    const char *idle, *node, *workspace, *port;
};

#define AT(member) OPTION_FIELD(struct notebook_options, member)

static const struct option_row notebook_options[] = {
    { "cpu", "CORES", "cores: 4, 0.5", option_cores, AT(cpu_millicores) },
    { "memory", "BYTES", "memory: 8Gi", option_memory, AT(memory_bytes) },
    { "gpu", "N", "GPUs", option_number, AT(gpus) },
    { "gpus", "N", "the same", option_number, AT(gpus) },
    { "idle", "TIME", "it ends when its processes have done nothing for so long (" IDLE ")",
      option_text, AT(idle) },
    { "node", "NODE", "on that node", option_text, AT(node) },
    { "port", "PORT", "of this machine (any that is free)", option_text, AT(port) },
    { "workspace", "DIR", "folder to begin in (this one, where nodes have it)", option_text,
      AT(workspace), .letter = 'w' },
};

/* $1: the time; behind it a command, if one was given */
#define SCRIPT                                                                                     \
    "idle=$1; shift\n"                                                                             \
    "JUPYTER_TOKEN=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \\n'); export JUPYTER_TOKEN\n"        \
    "if [ $# = 0 ]; then\n"                                                                        \
    "  for way in jupyter-lab jupyter-notebook; do command -v $way >/dev/null && break; way=; "    \
    "done\n"                                                                                       \
    "  [ -n \"$way\" ] || { echo 'edl notebook: this node has no Jupyter: apt install "            \
    "jupyter-notebook, or pip install jupyterlab' >&2; exit 127; }\n"                              \
    "  set -- $way --no-browser --ip=127.0.0.1 --port=${EDL_PORTS%%,*} --port-retries=0\n"         \
    "  [ $(id -u) != 0 ] || set -- \"$@\" --allow-root\n"                                          \
    "fi\n"                                                                                         \
    "exec edl-idle --idle \"$idle\" -- \"$@\"\n"

struct notebook {
    struct server *server;
    const struct notebook_options *options;
    char *id, *shown; /* owned: of the job */
    char token[65];
    unsigned port; /* at the node */
    bool left;     /* the person did, and was told that the job goes on */
    sd_event *event;
    struct forward *forward; /* owned: it listens before the job is submitted */
    struct edl_error error;
    int status;
};

/* --- the job stays behind --- */

static char goes_on[200]; /* the sentence, for the handler */

static void on_leaving(int number)
{
    char text[sizeof goes_on + 8] = "edl: ";
    size_t n = 5;

    for (size_t i = 0; goes_on[i] != '\0'; i++)
        text[n++] = goes_on[i];
    text[n++] = '\n';
    (void)!write(STDERR_FILENO, text, n);
    _exit(SESSION_SIGNALLED + number);
}

/* watch_leaving - from now on nobody leaves without a word; sessions and loops say it themselves */
static void watch_leaving(const struct notebook *notebook)
{
    static const int numbers[] = { SIGINT, SIGTERM };

    (void)snprintf(goes_on, sizeof goes_on, "job %.60s goes on; edl kill %.60s ends it",
                   notebook->shown, notebook->shown);
    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        if (signal(numbers[i], on_leaving) == SIG_IGN)
            (void)signal(numbers[i], SIG_IGN);
}

/* tell_rest - after a failure: whether something is left to be ended */
static void tell_rest(struct notebook *notebook)
{
    _cleanup_free_ char *path = job_path(notebook->id, "");
    struct http_call call = { .method = "GET",
                              .path = path,
                              .bearer_token = notebook->server->token,
                              .timeout_us = LOOK_US };
    struct http_answer answer = { 0 };

    (void)http_client_call(notebook->server->http, &call, &answer);
    if (answer.failure != 0 || answer.status >= 400 || !job_is_final(answer.json))
        report_note("%s", goes_on);
    http_answer_clear(&answer);
}

/* --- its token --- */

/* ask - "TOKEN PORT" of the process's environment; STATUS_FAILED: not there, and told */
static int ask(struct notebook *notebook)
{
    static const char *const words[] = { "sh", "-c",
                                         "echo \"${JUPYTER_TOKEN:--} ${EDL_PORTS%%,*}\"" };
    const struct session_name name = { .job = notebook->id };
    _cleanup_close_ int fd = memfd_create("edl-notebook", MFD_CLOEXEC);
    _cleanup_json_ json_t *body = session_body("exec", (char *const *)words, ELEMENTS(words));
    char text[128] = "";
    int status;

    if (fd == -1)
        return STATUS_FAILED;
    status = session_run(&(struct session_run){ .server = notebook->server,
                                                .name = &name,
                                                .body = body,
                                                .out_fd = fd,
                                                .detaches = true,
                                                .left = goes_on,
                                                .ret_left = &notebook->left });
    if (notebook->left)
        return status;
    if (status != 0)
        return STATUS_FAILED;
    if (pread(fd, text, sizeof text - 1, 0) == -1 ||
        sscanf(text, "%64[0-9a-f-] %u", notebook->token, &notebook->port) != 2) /* NOLINT */
        notebook->token[0] = '\0';
    return STATUS_OK;
}

/* tell_end - of a notebook that is over already */
static int tell_end(struct notebook *notebook)
{
    _cleanup_json_ json_t *job = NULL;
    struct edl_error error = { 0 };
    int status = job_wait(notebook->server, notebook->id, END_WITHIN_US, &job);

    if (status != STATUS_OK) {
        report_note("%s", goes_on);
        return status;
    }
    status = job_exit_status(notebook->server, job);
    if (status != NOT_FOUND)
        return status;
    (void)edl_error_set(&error, -ENOENT, "the node has no Jupyter, or no edl-idle");
    (void)edl_error_remedy(&error,
                           "apt install jupyter-notebook on the nodes, or pip install jupyterlab "
                           "(edl logs %s says more)",
                           notebook->shown);
    (void)report_error(&error);
    return NOT_FOUND;
}

/* find_token - the environment is that of the process once it has become the notebook; an
 * end without it is told. Enum status, or that of the job */
static int find_token(struct notebook *notebook)
{
    struct edl_error error = { 0 };

    for (unsigned i = 0; i < TRIES; i++) {
        int status = ask(notebook);

        if (status != STATUS_OK)
            return notebook->left ? status : tell_end(notebook);
        if (strlen(notebook->token) > 1)
            return STATUS_OK;
        (void)poll(NULL, 0, RETRY_MS);
    }
    (void)edl_error_set(&error, -ETIME, "the notebook did not start in time");
    (void)edl_error_remedy(&error, "edl logs %s", notebook->shown);
    (void)report_error(&error);
    tell_rest(notebook);
    return STATUS_FAILED;
}

/* --- its port --- */

static void on_end(void *userdata, const struct session_end *end)
{
    struct notebook *notebook = userdata;

    notebook->error = end->error;
    notebook->status = end->status == 0 ? STATUS_OK : STATUS_FAILED;
    (void)sd_event_exit(notebook->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct notebook *notebook = userdata;

    (void)source;
    notebook->status = SESSION_SIGNALLED + (int)info->ssi_signo;
    return sd_event_exit(notebook->event, 0);
}

static void tell_where(const struct notebook *notebook, uint16_t local)
{
    const char *idle = notebook->options->idle != NULL ? notebook->options->idle : IDLE;

    (void)printf("http://127.0.0.1:%u/?token=%s\n", local, notebook->token);
    (void)fflush(stdout);
    report_note("it answers within some seconds; it ends when its processes have done nothing for "
                "%s",
                idle);
    report_note("Ctrl-C leaves it running: edl port-forward %s %u:%u comes back, edl kill %s ends "
                "it",
                notebook->shown, local, notebook->port, notebook->shown);
}

/* listen_here - a port that is taken is known before anything waits for a GPU */
static int listen_here(struct notebook *notebook, const struct forward_port *port)
{
    struct edl_error error = { 0 };
    int r = sd_event_new(&notebook->event);

    if (r < 0) {
        (void)edl_error_errno(&error, r, "the event loop");
        return report_error(&error);
    }
    return forward_listen(&(struct forward_config){ .event = notebook->event,
                                                    .server = notebook->server,
                                                    .ports = port,
                                                    .n_ports = 1,
                                                    .on_end = on_end,
                                                    .userdata = notebook },
                          &notebook->forward);
}

static int forward(struct notebook *notebook)
{
    const struct session_name name = { .job = notebook->id };
    int status = STATUS_FAILED;

    notebook->status = STATUS_FAILED;
    if (session_verb_signals(notebook->event, on_signal, notebook) >= 0)
        status = forward_begin(notebook->forward, &name, (uint16_t)notebook->port);
    if (status == STATUS_OK) {
        tell_where(notebook, forward_local_port(notebook->forward, 0));
        (void)sd_event_loop(notebook->event);
        status = notebook->status;
    }
    if (notebook->error.code != 0)
        (void)report_error(&notebook->error);
    if (status >= SESSION_SIGNALLED)
        report_note("%s", goes_on);
    else if (status != STATUS_OK)
        tell_rest(notebook);
    return status;
}

static int start(struct notebook *notebook, const struct option_words *words)
{
    const struct notebook_options *options = notebook->options;
    _cleanup_free_ const char **command = xcalloc(words->n_rest + 6, sizeof *command);
    const struct own_job job = { .name = "notebook",
                                 .node = options->node,
                                 .workspace = options->workspace,
                                 .cpu_millicores = options->cpu_millicores,
                                 .memory_bytes = options->memory_bytes,
                                 .gpus = options->gpus,
                                 .command = command };

    command[0] = "sh";
    command[1] = "-c";
    command[2] = SCRIPT;
    command[3] = "edl-notebook";
    command[4] = options->idle != NULL ? options->idle : IDLE;
    for (size_t i = 0; i < words->n_rest; i++)
        command[5 + i] = words->rest[i];
    return own_job_start(notebook->server, &options->common, &job, &notebook->id, &notebook->shown);
}

static int run(const struct invocation *invocation)
{
    struct notebook notebook = { .options = invocation->options };
    struct forward_port port = { 0 };
    struct edl_error error = { 0 };
    struct server server;
    int status = session_verb_check(invocation);

    if (status == STATUS_OK && notebook.options->port != NULL &&
        forward_port_read(notebook.options->port, &port, &error) < 0)
        status = report_error(&error);
    if (status == STATUS_OK)
        status = server_open(invocation->common, &server);
    if (status != STATUS_OK)
        return status;
    notebook.server = &server;
    status = listen_here(&notebook, &port);
    if (status == STATUS_OK)
        status = start(&notebook, &invocation->arguments);
    if (status == STATUS_OK) {
        watch_leaving(&notebook);
        status = find_token(&notebook);
        if (strlen(notebook.token) > 1)
            status = forward(&notebook);
    }
    (void)forward_free(notebook.forward);
    (void)sd_event_unref(notebook.event);
    free(notebook.id);
    free(notebook.shown);
    server_clear(&server);
    return status;
}

const struct verb verb_notebook = {
    .name = "notebook",
    .usage = "[--gpu N] [--cpu N] [--memory M] [--idle TIME] [--node NODE] [-- COMMAND...]",
    .summary = "Start a Jupyter notebook in a job of its own, and reach it from here",
    .details =
        "A job is submitted and waited for; its URL, with a token that is made on the node, is\n"
        "printed. It ends by itself when its processes have used neither CPU nor GPU for --idle,\n"
        "whether a browser shows it or not. Ctrl-C leaves it running: edl port-forward comes "
        "back,\n"
        "and edl kill ends it. COMMAND runs in place of Jupyter: it finds its token in\n"
        "JUPYTER_TOKEN and has to listen at the first port of EDL_PORTS, at 127.0.0.1.\n"
        "The exit status is 127 where the node has no Jupyter.",
    VERB_OPTIONS(notebook_options, struct notebook_options),
    .takes_command = true,
    .run = run,
};
