/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_run.c - see deploy_run.h
 *
 * One loop has all hosts: a session each (client/ssh), a state machine each (deploy_core.h). A
 * question is asked when every host that may come to the same question has come to it. */
#include "client/deploy/deploy_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/deploy/deploy_nodes.h"
#include "client/deploy/deploy_script.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/server_list.h"

static const char *const wait_texts[] = {
#define XX(name, text) text,
    WAIT_MAP(XX)
#undef XX
};

static struct screen_row *row_of(struct target *target)
{
    return &target->run->rows[target - target->run->targets];
}

void deploy_show(struct target *target)
{
    struct screen_row *row = row_of(target);

    row->waiting = wait_texts[target->wait];
    if (target->session != NULL)
        row->transport = ssh_transport_word(ssh_session_transport(target->session));
    if (target->session != NULL && target->why == NULL && ssh_session_why(target->session) != NULL)
        row->why = target->why = xstrdup(ssh_session_why(target->session));
    screen_row_changed(target->run->screen, (size_t)(target - target->run->targets));
}

static void end(struct target *target)
{
    struct run *run = target->run;

    if (target->ended)
        return;
    target->ended = true;
    target->wait = WAIT_NOTHING;
    row_of(target)->took_us = clock_read_us(CLOCK_MONOTONIC) - target->started_us;
    deploy_show(target);
    http_async_cancel(TAKE_PTR(target->call));
    ssh_session_free(TAKE_PTR(target->session));
    target->fd = safe_close(target->fd);
    if (++run->n_ended == run->n)
        (void)sd_event_exit(run->event, 0);
    else
        deploy_consider_questions(run);
}

void deploy_fail(struct target *target, const struct edl_error *error)
{
    deploy_core_fail(&target->core, error);
    end(target);
}

/* steps */

static void run_script(struct target *target, const struct deploy_join *join)
{
    struct run *run = target->run;
    _cleanup_free_ char *script = deploy_script(&run->plan, &target->core, join);
    const char *password = deploy_script_needs_password(&target->core) ? target->password : NULL;
    const char *token = join != NULL ? join->token : NULL;
    _cleanup_free_ char *bytes =
        text_format("%s%s%s%s", password != NULL ? password : "", password != NULL ? "\n" : "",
                    token != NULL ? token : "", token != NULL ? "\n" : "");
    struct ssh_input input = { .bytes = bytes, .n_bytes = strlen(bytes), .fd = target->fd };
    struct edl_error error = { 0 };
    int r = ssh_session_run(target->session, script, &input,
                            deploy_script_patience_s(target->core.step), &error);

    explicit_bzero(bytes, strlen(bytes));
    if (r < 0)
        deploy_fail(target, &error);
}

static void on_token(const struct http_answer *answer, void *userdata)
{
    struct target *target = userdata;
    struct edl_error error = { 0 };

    target->call = NULL;
    if (http_answer_error(answer, &error) < 0) {
        edl_error_prefix(&error, "its join token: ");
        deploy_fail(target, &error);
        return;
    }

    _cleanup_free_ char *servers = server_list_told(answer->json);
    const struct deploy_join join = { .server = servers,
                                      .ca_pin = json_text(answer->json, "ca_pin"),
                                      .token = json_text(answer->json, "token") };

    if (join.server[0] == '\0') {
        (void)edl_error_set(&error, -ENOTCONN, "the scheduler listens on a Unix socket only");
        (void)edl_error_remedy(&error, "start it with --listen 0.0.0.0:7010 as well");
        deploy_fail(target, &error);
        return;
    }
    run_script(target, &join);
}

static void get_token(struct target *target)
{
    struct run *run = target->run;
    _cleanup_json_ json_t *body = json_pack("{s:s}", "node", target->core.facts.hostname);
    const struct http_call call = {
        .method = "POST", .path = "/tokens/join", .bearer_token = run->server->token, .json = body
    };
    struct edl_error error = { 0 };

    if (http_async_start(run->http, &call, on_token, target, &target->call, &error) < 0)
        deploy_fail(target, &error);
}

/* Two machines of one name would push each other out. */
static bool has_twin(struct target *target)
{
    struct run *run = target->run;
    struct edl_error error = { 0 };

    for (size_t i = 0; i < run->n; i++) {
        const struct target *other = &run->targets[i];

        if (other == target || other->core.step < DEPLOY_JOIN ||
            other->core.step == DEPLOY_FAILED ||
            !streq(other->core.facts.hostname, target->core.facts.hostname))
            continue;
        (void)edl_error_set(&error, -EEXIST, "it calls itself %s, as %s does",
                            target->core.facts.hostname, other->host->text);
        (void)edl_error_remedy(&error,
                               "give one another name: hostnamectl set-hostname NAME; or take one "
                               "out of HOSTS");
        deploy_fail(target, &error);
        return true;
    }
    return false;
}

static void upload(struct target *target)
{
    const struct deploy_package *package = deploy_core_package(&target->run->plan, &target->core);
    struct screen_row *row = row_of(target);
    struct edl_error error = { 0 };

    target->fd = open(package->path, O_RDONLY | O_CLOEXEC);
    if (target->fd == -1) {
        (void)edl_error_errno(&error, -errno, "cannot open %s", package->path);
        deploy_fail(target, &error);
        return;
    }
    row->sent_bytes = 0;
    row->to_send_bytes = package->bytes;
    run_script(target, NULL);
}

void deploy_begin_step(struct target *target)
{
    static const struct deploy_join no_token = { 0 };

    deploy_show(target);
    /* the look compares versions, and decides where packages come from */
    if (target->core.step == DEPLOY_LOOK && !target->run->packages_known) {
        deploy_set_wait(target, WAIT_PACKAGES);
        return;
    }
    if (deploy_script_needs_password(&target->core) && target->core.step == DEPLOY_LOOK &&
        target->password == NULL)
        deploy_need_password(target, WAIT_SUDO);
    else if (target->core.step == DEPLOY_UPLOAD)
        upload(target);
    else if (target->core.step != DEPLOY_JOIN)
        run_script(target, NULL);
    else if (has_twin(target))
        return;
    else if (deploy_core_needs_token(&target->run->plan, &target->core))
        get_token(target);
    else
        run_script(target, &no_token);
}

static void advance(struct target *target, int status)
{
    struct run *run = target->run;
    enum deploy_step step;

    target->fd = safe_close(target->fd);
    step = deploy_core_next(&run->plan, &target->core, status);
    if (step == DEPLOY_DONE || step == DEPLOY_FAILED) {
        end(target);
    } else if (target->core.password_refused) {
        deploy_need_password(target, WAIT_SUDO);
    } else {
        if (step == DEPLOY_LOOK && target->password == NULL) /* else that of its login */
            deploy_keep_password(target, WAIT_SUDO);
        if (step == DEPLOY_LOOK)
            target->tried = target->password != NULL ? 1 : 0;
        deploy_begin_step(target);
    }
    deploy_consider_questions(run);
}

/* what a session tells */

static void on_opened(struct ssh_session *session, void *userdata)
{
    (void)session;
    advance(userdata, 0);
}

static void on_unknown_key(struct ssh_session *session, const struct ssh_host_key *key,
                           void *userdata)
{
    struct target *target = userdata;

    (void)session;
    free(target->key);
    target->key = text_format("%s %s", key->type, key->fingerprint);
    deploy_set_wait(target, WAIT_KEY);
}

static void on_want_password(struct ssh_session *session, unsigned int tried, void *userdata)
{
    struct target *target = userdata;

    (void)session;
    target->tried = tried;
    deploy_need_password(target, WAIT_LOGIN);
}

static void on_line(struct ssh_session *session, const char *line, void *userdata)
{
    struct target *target = userdata;

    (void)session;
    deploy_core_line(&target->core, line);
}

static void on_sent(struct ssh_session *session, uint64_t sent_bytes, void *userdata)
{
    struct target *target = userdata;
    struct screen_row *row = row_of(target);
    uint64_t percent = row->to_send_bytes > 0 ? 100 * row->sent_bytes / row->to_send_bytes : 0;

    (void)session;
    row->sent_bytes = MIN_OF(sent_bytes, row->to_send_bytes);
    if (row->to_send_bytes > 0 && 100 * row->sent_bytes / row->to_send_bytes != percent)
        deploy_show(target);
}

static void on_ended(struct ssh_session *session, int status, void *userdata)
{
    (void)session;
    advance(userdata, status);
}

static void on_failed(struct ssh_session *session, enum ssh_fault fault,
                      const struct edl_error *error, void *userdata)
{
    struct target *target = userdata;
    struct edl_error told = *error;
    size_t n = strlen(target->host->name);

    (void)session;
    (void)fault;
    /* the host stands in front of the line already */
    if (strncmp(told.text, target->host->name, n) == 0 && strncmp(told.text + n, ": ", 2) == 0)
        memmove(told.text, told.text + n + 2, strlen(told.text + n + 2) + 1);
    deploy_fail(target, &told);
}

static void on_packages(const struct edl_error *error, void *userdata)
{
    struct run *run = userdata;

    run->packages_known = true;
    if (error == NULL)
        run->plan.packages = deploy_packages_list(run->packages, &run->plan.n_packages);
    for (size_t i = 0; i < run->n; i++) {
        struct target *target = &run->targets[i];

        if (error != NULL && !target->ended) {
            deploy_fail(target, error);
        } else if (target->wait == WAIT_PACKAGES) {
            target->wait = WAIT_NOTHING;
            deploy_begin_step(target);
        }
    }
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct run *run = userdata;

    (void)info;
    run->stopped = true;
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

/* from the first connection to the summary */

bool deploy_is_node(const char *name, void *userdata)
{
    const struct run *run = userdata;
    size_t i;
    json_t *node;

    json_array_foreach(run->nodes, i, node) if (streq(json_text(node, "name"), name)) return true;
    return false;
}

static void name_target(struct run *run, size_t i, const struct host *host)
{
    struct target *target = &run->targets[i];

    target->run = run;
    target->host = host;
    target->fd = -1;
    target->core.name = host->name;
    target->core.user = host->user != NULL ? host->user : "";
    target->started_us = clock_read_us(CLOCK_MONOTONIC);
    run->rows[i] = (struct screen_row){
        .host = host->text, .transport = "", .why = "", .core = &target->core, .waiting = ""
    };
}

/* begin_target - a host that cannot be begun fails alone */
static void begin_target(struct target *target)
{
    static const struct ssh_handlers handlers = { .opened = on_opened,
                                                  .unknown_key = on_unknown_key,
                                                  .want_password = on_want_password,
                                                  .line = on_line,
                                                  .sent = on_sent,
                                                  .ended = on_ended,
                                                  .failed = on_failed };
    const struct host *host = target->host;
    const struct ssh_target to = { .host = host->name, .user = host->user, .port = host->port };
    struct run *run = target->run;
    struct edl_error error = { 0 };
    int r = ssh_session_new(run->event, &to, &run->options->ssh, &handlers, target,
                            &target->session, &error);

    if (r == -EMFILE || r == -ENFILE)
        (void)edl_error_remedy(&error, "raise `ulimit -n`, or name fewer hosts at a time");
    if (r < 0)
        deploy_fail(target, &error);
    else
        deploy_show(target);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* What comes after the loop waits for the scheduler only: Ctrl-C ends that as it ends any program.
 */
static void release_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ELEMENTS(signals); i++)
        (void)sigaddset(&set, signals[i]);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int prepare(struct run *run, struct edl_error *error)
{
    sigset_t blocked;
    int r;

    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGCHLD);
    for (size_t i = 0; i < ELEMENTS(signals); i++)
        (void)sigaddset(&blocked, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    r = sd_event_default(&run->event);
    for (size_t i = 0; i < ELEMENTS(signals) && r >= 0; i++)
        r = sd_event_add_signal(run->event, NULL, signals[i], on_signal, run);
    if (r < 0)
        return edl_error_errno(error, r, "making an event loop");
    r = ask_new(run->event, &run->ask, error);
    if (r >= 0)
        r = http_async_new(run->event, run->server->base, &run->http, error);
    if (r >= 0 && run->server->ca != NULL)
        http_async_trust(run->http, run->server->ca);
    if (r >= 0 && run->options->mode != DEPLOY_CHECK_ONLY && run->options->mode != DEPLOY_REMOVAL)
        return deploy_packages_start(run->event, run->options->packages, on_packages, run,
                                     &run->packages, error);
    run->packages_known = true;
    return r;
}

static int confirm_removal(struct run *run, const struct host_list *hosts)
{
    struct edl_error error = { 0 };
    char answer[8] = "";

    if (run->options->mode != DEPLOY_REMOVAL || run->options->yes)
        return STATUS_OK;
    if (isatty(STDIN_FILENO)) {
        (void)fprintf(stderr,
                      "This takes edl-agent off %zu host%s, ends what runs there, and removes the "
                      "outputs of jobs in /var/lib/edl/agent/output.\nGo on? (yes, no) ",
                      hosts->n_hosts, PLURAL(hosts->n_hosts));
        if (fgets(answer, sizeof answer, stdin) != NULL && streq(answer, "yes\n"))
            return STATUS_OK;
    }
    (void)edl_error_set(&error, -EINVAL, "nothing was removed");
    (void)edl_error_remedy(&error, "answer yes, or say it with --yes");
    return report_error(&error);
}

static void clear(struct run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        http_async_cancel(run->targets[i].call);
        ssh_session_free(run->targets[i].session);
        (void)safe_close(run->targets[i].fd);
        free(run->targets[i].key);
        free(run->targets[i].why);
        deploy_wipe(&run->targets[i].password);
        deploy_host_clear(&run->targets[i].core);
    }
    (void)screen_free(run->screen);
    (void)deploy_packages_free(run->packages);
    (void)http_async_free(run->http);
    (void)ask_free(run->ask);
    deploy_wipe(&run->common[WAIT_LOGIN]);
    deploy_wipe(&run->common[WAIT_SUDO]);
    free(run->targets);
    free(run->rows);
    json_decref(run->nodes);
    (void)sd_event_unref(run->event);
}

/* raise_files - each host takes several descriptors, and the soft limit is often 1024 */
static void raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == -1)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

static int go(struct run *run, const struct host_list *hosts, struct edl_error *error)
{
    int r;

    raise_files();
    r = prepare(run, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < run->n; i++)
        name_target(run, i, &hosts->hosts[i]);
    run->screen = screen_new(&run->plan, run->rows, run->n, run->options->json);
    for (size_t i = 0; i < run->n; i++)
        begin_target(&run->targets[i]);
    r = sd_event_loop(run->event);
    release_signals();
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int outcome(struct run *run)
{
    int status = run->stopped ? STATUS_FAILED : STATUS_OK;

    for (size_t i = 0; i < run->n; i++)
        if (run->targets[i].core.step != DEPLOY_DONE)
            status = STATUS_FAILED;
    if (!run->stopped && run->options->mode == DEPLOY_REMOVAL)
        deploy_nodes_forget(run);
    else if (!run->stopped && run->options->mode != DEPLOY_CHECK_ONLY)
        deploy_nodes_await_ready(run);
    if (run->options->json)
        screen_json(run->screen);
    else
        screen_end(run->screen);
    if (run->stopped)
        report_note("stopped; say it again to go on: finished steps are not done twice");
    return status;
}

int deploy_run(const struct host_list *hosts, const struct deploy_options *options,
               struct server *server)
{
    struct run run = { .options = options,
                       .server = server,
                       .n = hosts->n_hosts,
                       .plan = { .mode = options->mode,
                                 .root_dir = hosts->root_dir,
                                 .nic = hosts->nic,
                                 .prefer_packages = options->packages != NULL,
                                 .is_node = deploy_is_node,
                                 .userdata = &run } };
    _cleanup_json_ json_t *answer = NULL;
    struct edl_error error = { 0 };
    int status = confirm_removal(&run, hosts);

    if (status == STATUS_OK)
        status = server_list(server, "/nodes?limit=1000", "nodes", &answer);
    if (status != STATUS_OK)
        return status;
    run.nodes = json_incref(json_object_get(answer, "nodes"));
    for (enum wait about = WAIT_LOGIN; about <= WAIT_SUDO; about++)
        run.common[about] = options->password != NULL ? xstrdup(options->password) : NULL;
    run.targets = xcalloc(run.n, sizeof *run.targets);
    run.rows = xcalloc(run.n, sizeof *run.rows);
    for (size_t i = 0; i < run.n; i++)
        run.targets[i].fd = -1;
    status = go(&run, hosts, &error) < 0 ? report_error(&error) : outcome(&run);
    clear(&run);
    return status;
}
