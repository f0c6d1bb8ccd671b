/* SPDX-License-Identifier: Apache-2.0 */
/* dev_cluster.c - a scheduler and its agents as children of one process
 *
 *   STARTING_SCHEDULER --address and tokens written--> STARTING_NODES --all ready--> READY
 *          |                                                |                         |
 *          +-------------- signal, or it did not come up ---+-------------------------+
 *          v
 *   STOPPING_AGENTS --all gone--> STOPPING_SCHEDULER --gone--> the loop ends
 *
 * Agents stop first and finish their jobs' processes while there is still a scheduler to report to.
 * A child that dies outside of a stop is started again; the scheduler then at the same address. */
#include "client/dev_cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "client/dev_child.h"
#include "client/dev_ports.h"
#include "client/dev_reap.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/signal_again.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"

#define START_WITHIN_US (60 * USEC_PER_SEC)
#define AGENTS_WITHIN_US (40 * USEC_PER_SEC) /* a job's grace is 30 s */
#define SCHEDULER_WITHIN_US (10 * USEC_PER_SEC)
#define PROGRESS_US (5 * USEC_PER_SEC)
#define RETRY_US (200 * USEC_PER_MSEC)
#define START_FAILURES_MAX 5
#define EVENT_WAIT_S 5
#define TOKEN_MAX 4096

enum phase { STARTING_SCHEDULER, STARTING_NODES, READY, STOPPING_AGENTS, STOPPING_SCHEDULER };

struct cluster {
    const struct dev_config *config; /* borrowed */
    struct dev_reaper *reaper;       /* borrowed */
    sd_event *event;
    enum phase phase;
    uint64_t stop_asked_us;                  /* by a signal, the first time; 0: not yet */
    struct dev_child *scheduler;             /* owned */
    struct dev_child *agents[DEV_NODES_MAX]; /* owned, n_nodes */
    struct dev_ports ports[DEV_NODES_MAX];   /* owned claims */
    size_t n_agents, n_ports;
    char *base, *token_file, *token; /* owned, known when the scheduler is up */
    struct http_async *http;         /* owned, while nodes are starting */
    uint64_t revision;               /* newest event seen while starting */
    unsigned n_ready;
    sd_event_source *deadline, *progress, *retry, *watch; /* owned */
    struct edl_error error;                               /* why it did not come up */
};

/* ---- stopping ---- */

static unsigned running_agents(const struct cluster *cluster)
{
    unsigned n = 0;

    for (size_t i = 0; i < cluster->n_agents; i++)
        n += cluster->agents[i]->pid != 0;
    return n;
}

static void signal_agents(struct cluster *cluster, int number)
{
    for (size_t i = 0; i < cluster->n_agents; i++)
        dev_child_signal(cluster->agents[i], number);
}

static int on_progress(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct cluster *cluster = userdata;

    (void)usec;
    report_note("waiting for the jobs of %u of %zu node%s to stop (Ctrl-C: at once)",
                running_agents(cluster), cluster->n_agents, PLURAL(cluster->n_agents));
    (void)sd_event_source_set_time_relative(source, PROGRESS_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void set_deadline(struct cluster *cluster, uint64_t us, sd_event_time_handler_t handler)
{
    cluster->deadline = sd_event_source_disable_unref(cluster->deadline);
    (void)sd_event_add_time_relative(cluster->event, &cluster->deadline, CLOCK_BOOTTIME, us, 0,
                                     handler, cluster);
}

static int on_stop_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct cluster *cluster = userdata;

    (void)source;
    (void)usec;
    report_note("not stopped in time; killing what is left");
    signal_agents(cluster, SIGKILL);
    if (cluster->phase == STOPPING_SCHEDULER)
        dev_child_signal(cluster->scheduler, SIGKILL);
    return 0;
}

/* Takes the next step of a stop when the step before is done. */
static void stop_advance(struct cluster *cluster)
{
    if (cluster->phase == STOPPING_AGENTS && running_agents(cluster) == 0) {
        cluster->phase = STOPPING_SCHEDULER;
        cluster->progress = sd_event_source_disable_unref(cluster->progress);
        set_deadline(cluster, SCHEDULER_WITHIN_US, on_stop_deadline);
        dev_child_signal(cluster->scheduler, SIGTERM);
    }
    if (cluster->phase == STOPPING_SCHEDULER && cluster->scheduler->pid == 0)
        (void)sd_event_exit(cluster->event, 0);
}

static void stop_begin(struct cluster *cluster)
{
    if (cluster->phase >= STOPPING_AGENTS)
        return;
    cluster->phase = STOPPING_AGENTS;
    cluster->http = http_async_free(cluster->http);
    cluster->retry = sd_event_source_disable_unref(cluster->retry);
    cluster->watch = sd_event_source_disable_unref(cluster->watch);
    dev_child_cancel(cluster->scheduler);
    for (size_t i = 0; i < cluster->n_agents; i++)
        dev_child_cancel(cluster->agents[i]);
    signal_agents(cluster, SIGTERM);
    set_deadline(cluster, AGENTS_WITHIN_US, on_stop_deadline);
    (void)sd_event_add_time_relative(cluster->event, &cluster->progress, CLOCK_BOOTTIME,
                                     PROGRESS_US, 0, on_progress, cluster);
    stop_advance(cluster);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct cluster *cluster = userdata;

    (void)source;
    (void)info;
    if (cluster->phase < STOPPING_AGENTS) {
        (void)signal_again(&cluster->stop_asked_us);
        report_note("stopping");
        stop_begin(cluster);
        return 0;
    }
    if (cluster->stop_asked_us != 0 && !signal_again(&cluster->stop_asked_us))
        return 0;
    report_note("stopping at once");
    signal_agents(cluster, SIGKILL);
    dev_child_signal(cluster->scheduler, SIGKILL);
    return 0;
}

/* The cluster did not come up: error says why; child's log says more. */
static void give_up(struct cluster *cluster, const struct dev_child *child)
{
    if (child != NULL)
        dev_child_print_log(child);
    stop_begin(cluster);
}

static int on_start_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct cluster *cluster = userdata;
    const struct dev_child *child = cluster->n_agents > 0 ? cluster->agents[0] : cluster->scheduler;

    (void)source;
    (void)usec;
    (void)edl_error_set(&cluster->error, -ETIME,
                        "after %d s the nodes that are ready are %u of %" PRIu64,
                        (int)(START_WITHIN_US / USEC_PER_SEC), cluster->n_ready,
                        cluster->config->n_nodes);
    give_up(cluster, child);
    return 0;
}

/* ---- children that end ---- */

static void child_ended(struct cluster *cluster, struct dev_child *child, const siginfo_t *how)
{
    dev_child_ended(child, how, cluster->phase < STOPPING_AGENTS);
    if (cluster->phase >= STOPPING_AGENTS) {
        stop_advance(cluster);
        return;
    }
    /* A scheduler that cannot even start will not the second time; an agent may have been too
     * early. */
    bool hopeless = (cluster->phase == STARTING_SCHEDULER && child == cluster->scheduler) ||
                    (cluster->phase < READY && child->failures >= START_FAILURES_MAX);

    if (hopeless) {
        (void)edl_error_set(&cluster->error, -ECHILD, "%s does not start", child->name);
        give_up(cluster, child);
    }
}

static struct dev_child *find_child(struct cluster *cluster, pid_t pid)
{
    if (cluster->scheduler->pid == pid)
        return cluster->scheduler;
    for (size_t i = 0; i < cluster->n_agents; i++)
        if (cluster->agents[i]->pid == pid)
            return cluster->agents[i];
    return NULL;
}

/* Reaps everybody: as a subreaper we also get the supervisors of agents that died. */
static int on_child(sd_event_source *source, const struct signalfd_siginfo *signal_info,
                    void *userdata)
{
    struct cluster *cluster = userdata;

    (void)source;
    (void)signal_info;
    for (;;) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == -1 || info.si_pid == 0)
            return 0;
        struct dev_child *child = find_child(cluster, info.si_pid);

        dev_reaper_forget(cluster->reaper, info.si_pid);
        if (child != NULL)
            child_ended(cluster, child, &info);
    }
}

/* ---- nodes become ready ---- */

static void ask_nodes(struct cluster *cluster);

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    ask_nodes(userdata);
    return 0;
}

static void ask_later(struct cluster *cluster)
{
    cluster->retry = sd_event_source_disable_unref(cluster->retry);
    (void)sd_event_add_time_relative(cluster->event, &cluster->retry, CLOCK_BOOTTIME, RETRY_US, 0,
                                     on_retry, cluster);
}

static void on_events(const struct http_answer *answer, void *userdata)
{
    struct cluster *cluster = userdata;
    size_t i;
    json_t *event;

    if (answer->failure != 0 || answer->status != 200) {
        ask_later(cluster);
        return;
    }
    json_array_foreach(json_object_get(answer->json, "events"), i, event) cluster->revision =
        MAX_OF(cluster->revision, json_u64(event, "revision"));
    ask_nodes(cluster);
}

static void call_server(struct cluster *cluster, const char *path, http_answer_fn on_answer)
{
    struct http_call call = { .method = "GET", .path = path, .bearer_token = cluster->token };

    if (http_async_start(cluster->http, &call, on_answer, cluster, NULL, NULL) < 0)
        ask_later(cluster);
}

/* Only nodes of this run count: a kept state folder may know others. */
static bool is_ours(const struct cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->n_agents; i++)
        if (streq(cluster->agents[i]->name, name))
            return true;
    return false;
}

static void become_ready(struct cluster *cluster)
{
    cluster->phase = READY;
    cluster->deadline = sd_event_source_disable_unref(cluster->deadline);
    cluster->retry = sd_event_source_disable_unref(cluster->retry);
    cluster->config->on_ready(cluster->base, cluster->token_file, cluster->config->userdata);
}

static void on_nodes(const struct http_answer *answer, void *userdata)
{
    struct cluster *cluster = userdata;
    unsigned n = 0;
    size_t i;
    json_t *node;

    if (answer->failure != 0 || answer->status != 200) {
        ask_later(cluster);
        return;
    }
    json_array_foreach(json_object_get(answer->json, "nodes"), i, node) n +=
        is_ours(cluster, json_text(node, "name")) && streq(json_text(node, "state"), "ready");
    cluster->n_ready = n;
    if (n == cluster->n_agents) {
        become_ready(cluster);
        return;
    }
    _cleanup_free_ char *path =
        text_format("/events?after=%" PRIu64 "&wait=%d", cluster->revision, EVENT_WAIT_S);

    call_server(cluster, path, on_events);
}

static void ask_nodes(struct cluster *cluster)
{
    call_server(cluster, "/nodes", on_nodes);
}

/* ---- starting ---- */

static int start_agent(struct cluster *cluster, size_t i, struct edl_error *error)
{
    const struct dev_config *config = cluster->config;
    _cleanup_free_ char *name = text_format("node-%zu", i + 1);
    _cleanup_free_ char *program = text_format("%s/edl-agent", config->programs);
    _cleanup_free_ char *state = text_format("%s/nodes/%s", config->state_dir, name);
    _cleanup_free_ char *output = text_format("%s/output", config->state_dir);
    _cleanup_free_ char *join = text_format("%s/scheduler/join-token", config->state_dir);
    _cleanup_free_ char *cpu = text_format("%" PRIu64 "m", config->cpu_millicores);
    _cleanup_free_ char *memory = text_format("%" PRIu64, config->memory_bytes);
    _cleanup_free_ char *log = text_format("%s/%s.log", config->state_dir, name);
    int r = dev_ports_claim(&cluster->ports[cluster->n_ports], error);

    if (r < 0)
        return r;
    const struct dev_ports *claimed = &cluster->ports[cluster->n_ports++];
    _cleanup_free_ char *ports = text_format("%u-%u", claimed->first, claimed->last);
    const char *argv[] = { program,
                           "--node",
                           name,
                           "--scheduler",
                           cluster->base,
                           "--runtime",
                           "direct",
                           "--join-token-file",
                           join,
                           "--state-dir",
                           state,
                           "--address",
                           "127.0.0.1",
                           "--cpu",
                           cpu,
                           "--memory",
                           memory,
                           "--ports",
                           ports,
                           "--output-dir",
                           output,
                           "--stop-processes-on-exit",
                           "--no-foreign",
                           "--overcommit",
                           "--conf",
                           "",
                           NULL,
                           NULL,
                           NULL,
                           NULL };
    size_t n = ELEMENTS(argv) - 4; /* the four that are NULL */

    if (config->allow_root)
        argv[n++] = "--allow-root";
    if (config->keep_outputs != NULL) {
        argv[n++] = "--keep-outputs";
        argv[n++] = config->keep_outputs;
    }

    if (mkdir(state, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making the folder %s", state);
    cluster->agents[cluster->n_agents] = dev_child_new(cluster->event, name, argv, log);
    return dev_child_start(cluster->agents[cluster->n_agents++], error);
}

static int start_nodes(struct cluster *cluster, struct edl_error *error)
{
    int r = http_async_new(cluster->event, cluster->base, &cluster->http, error);

    for (size_t i = 0; r == 0 && i < cluster->config->n_nodes; i++)
        r = start_agent(cluster, i, error);
    if (r == 0)
        ask_nodes(cluster);
    return r;
}

/* First line of a small file, new string; NULL while it is not complete. */
static char *read_line(const char *path)
{
    char text[TOKEN_MAX];
    _cleanup_fclose_ FILE *file = fopen(path, "re");

    if (file == NULL || fgets(text, sizeof(text), file) == NULL || strchr(text, '\n') == NULL)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    return text[0] != '\0' ? xstrdup(text) : NULL;
}

/* True when the scheduler has written where it listens and the tokens. */
static bool scheduler_is_up(struct cluster *cluster)
{
    const char *state = cluster->config->state_dir;
    _cleanup_free_ char *address_file = text_format("%s/scheduler/address", state);
    _cleanup_free_ char *join_file = text_format("%s/scheduler/join-token", state);
    _cleanup_free_ char *admin_file = text_format("%s/scheduler/admin-token", state);
    _cleanup_free_ char *address = read_line(address_file);
    _cleanup_free_ char *token = read_line(admin_file);

    if (address == NULL || token == NULL || access(join_file, R_OK) == -1)
        return false;
    cluster->base = text_format("http://%s", address);
    cluster->token_file = TAKE_PTR(admin_file);
    cluster->token = TAKE_PTR(token);
    /* Should it die, it comes back where agents and clients look for it. */
    dev_child_set(cluster->scheduler, "--listen", address);
    return true;
}

static int on_file(sd_event_source *source, const struct inotify_event *file, void *userdata)
{
    struct cluster *cluster = userdata;

    (void)source;
    (void)file;
    if (cluster->phase != STARTING_SCHEDULER || !scheduler_is_up(cluster))
        return 0;
    cluster->watch = sd_event_source_disable_unref(cluster->watch);
    cluster->phase = STARTING_NODES;
    if (start_nodes(cluster, &cluster->error) < 0)
        give_up(cluster, NULL);
    return 0;
}

static int start_scheduler(struct cluster *cluster, struct edl_error *error)
{
    const struct dev_config *config = cluster->config;
    _cleanup_free_ char *program = text_format("%s/edl-scheduler", config->programs);
    _cleanup_free_ char *state = text_format("%s/scheduler", config->state_dir);
    _cleanup_free_ char *address = text_format("%s/address", state);
    _cleanup_free_ char *log = text_format("%s/scheduler.log", config->state_dir);
    _cleanup_free_ char *listen = text_format("127.0.0.1:%" PRIu64, config->port);
    _cleanup_free_ char *load = text_format("%.6g", config->max_load);
    _cleanup_free_ char *lease = text_format("%" PRIu64 "ms", config->lease_us / USEC_PER_MSEC);
    const char *argv[22] = { program, "--conf",      "",     "--state-dir", state, "--listen",
                             listen,  "--port-file", address };
    size_t n = 9;
    const struct {
        bool given;
        const char *option, *value;
    } optional[] = { { config->policy != NULL, "--policy", config->policy },
                     { config->default_cpu != NULL, "--default-cpu", config->default_cpu },
                     { config->parking != NULL, "--parking", config->parking },
                     { config->max_load > 0.0, "--max-load", load },
                     { config->lease_us != 0, "--lease", lease } };

    for (size_t i = 0; i < ELEMENTS(optional); i++) {
        if (optional[i].given) {
            argv[n++] = optional[i].option;
            argv[n++] = optional[i].value;
        }
    }
    (void)unlink(address); /* that of an earlier run */
    if (sd_event_add_inotify(cluster->event, &cluster->watch, state,
                             IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE, on_file, cluster) < 0)
        return edl_error_set(error, -EIO, "%s cannot be watched", state);
    cluster->scheduler = dev_child_new(cluster->event, "scheduler", argv, log);
    return dev_child_start(cluster->scheduler, error);
}

static int prepare(struct cluster *cluster, struct edl_error *error)
{
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
    int r = sd_event_new(&cluster->event);

    if (r >= 0)
        r = sd_event_add_signal(cluster->event, NULL, SIGCHLD, on_child, cluster);
    for (size_t i = 0; r >= 0 && i < ELEMENTS(stops); i++)
        r = sd_event_add_signal(cluster->event, NULL, stops[i], on_signal, cluster);
    if (r < 0)
        return edl_error_errno(error, r, "preparing the event loop");
    set_deadline(cluster, START_WITHIN_US, on_start_deadline);
    return 0;
}

static void cluster_done(struct cluster *cluster)
{
    sd_event_source **const sources[] = { &cluster->deadline, &cluster->progress, &cluster->retry,
                                          &cluster->watch };

    cluster->http = http_async_free(cluster->http);
    for (size_t i = 0; i < ELEMENTS(sources); i++)
        *sources[i] = sd_event_source_disable_unref(*sources[i]);
    for (size_t i = 0; i < cluster->n_agents; i++)
        cluster->agents[i] = dev_child_free(cluster->agents[i]);
    cluster->scheduler = dev_child_free(cluster->scheduler);
    for (size_t i = 0; i < cluster->n_ports; i++)
        cluster->ports[i].fd = safe_close(cluster->ports[i].fd);
    cluster->event = sd_event_unref(cluster->event);
    free(cluster->base);
    free(cluster->token_file);
    free(cluster->token);
}

int dev_cluster_run(const struct dev_config *config, struct dev_reaper *reaper,
                    struct edl_error *error)
{
    struct cluster cluster = { .config = config, .reaper = reaper };
    int r = prepare(&cluster, error);

    if (r == 0)
        r = start_scheduler(&cluster, error);
    if (r == 0) {
        r = sd_event_loop(cluster.event);
        if (r < 0)
            (void)edl_error_errno(error, r, "running the event loop");
    }
    if (r == 0 && cluster.error.code != 0) {
        r = cluster.error.code;
        if (error != NULL)
            *error = cluster.error;
    }
    cluster_done(&cluster);
    return r;
}
