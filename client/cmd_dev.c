/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dev.c - `edl dev`: a whole cluster on this machine, until Ctrl-C
 *
 * Real daemons as children, each node offering its share of the machine. Nothing of it is left at
 * the end: no process, no port claim, and no file unless asked for. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client/dev_cluster.h"
#include "client/dev_file.h"
#include "client/dev_reap.h"
#include "client/dev_state.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define NODES_DEFAULT 4
#define KILL_WITHIN_US (10 * USEC_PER_SEC)
#define PORT_MAX 65535

struct dev_options {
    struct common_options common;
    uint64_t nodes, cpu_millicores, memory_bytes, port, lease_us;
    double max_load;
    const char *state_dir, *policy, *default_cpu, *parking, *keep_outputs;
    bool keep_state;
};

#define AT(member) OPTION_FIELD(struct dev_options, member)

static const struct option_row dev_options[] = {
    { "nodes", "N", "nodes to run (4)", option_positive, AT(nodes) },
    { "cpu", "TOTAL", "cores that all nodes offer together (the machine's)", option_cores,
      AT(cpu_millicores) },
    { "memory", "TOTAL", "memory that all nodes offer together (the machine's)", option_amount,
      AT(memory_bytes) },
    { "max-load", "SHARE", "of the cores that may be granted", option_share, AT(max_load) },
    { "policy", "NAME", "allocation policy", option_text, AT(policy) },
    { "default-cpu", "CORES", "of each process of a job that does not say (1)", option_text,
      AT(default_cpu) },
    { "parking", "TIME", "in which a job is parked once at most (1h; 0: never)", option_text,
      AT(parking) },
    { "keep-outputs", "TIME", "for which nodes keep files of ended processes (7d)", option_text,
      AT(keep_outputs) },
    { "lease", "S", "after which a silent node is lost", option_period, AT(lease_us) },
    { "port", "PORT", "of the scheduler on 127.0.0.1 (0: any)", option_number, AT(port) },
    { "state-dir", "DIR", "keep the state here and go on from it the next time", option_text,
      AT(state_dir) },
    { "keep-state", NULL, "do not remove the temporary state folder", option_flag, AT(keep_state) },
};

struct dev {
    const struct dev_options *options;
    struct dev_state state;
    int lock_fd; /* held while we are the default cluster, else -1 */
    uint64_t n_nodes;
};

static uint64_t machine_millicores(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == -1)
        return 1000;
    return (uint64_t)CPU_COUNT(&set) * 1000;
}

static uint64_t machine_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Folder of the running program; the daemons lie beside it. */
static int program_folder(char **ret, struct edl_error *error)
{
    static const char *const needed[] = { "edl-scheduler", "edl-agent" };
    _cleanup_free_ char *path = xcalloc(1, 4096);
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    char *slash = n > 0 ? strrchr(path, '/') : NULL;

    if (slash == NULL)
        return edl_error_errno(error, -errno, "reading /proc/self/exe");
    *slash = '\0';
    for (size_t i = 0; i < ELEMENTS(needed); i++) {
        _cleanup_free_ char *program = text_format("%s/%s", path, needed[i]);

        if (access(program, X_OK) == -1) {
            (void)edl_error_set(error, -ENOENT, "%s is not there", program);
            return edl_error_remedy(error, "build or install it beside edl");
        }
    }
    *ret = TAKE_PTR(path);
    return 0;
}

static void print_ready(const struct dev *dev, const char *base, const char *token_file)
{
    const char *state = dev->state.path;

    if (dev->options->common.json) {
        _cleanup_json_ json_t *object =
            json_pack("{s:s, s:s, s:i, s:s, s:I, s:b}", "server", base, "token_file", token_file,
                      "pid", (int)getpid(), "state_dir", state, "nodes", (json_int_t)dev->n_nodes,
                      "default", dev->lock_fd >= 0);

        json_print_line(object);
        return;
    }
    (void)printf("%" PRIu64 " node%s ready, the scheduler is at %s\n", dev->n_nodes,
                 dev->n_nodes == 1 ? " is" : "s are", base);
    if (dev->lock_fd >= 0)
        (void)printf("this cluster is your default: `edl submit FILE`, `edl top` find it\n");
    (void)printf("elsewhere:  export EDL_SERVER=%s EDL_TOKEN_FILE=%s\n", base, token_file);
    (void)printf("to look at: %s/ in a browser, with the token in that file\n", base);
    (void)printf("state:      %s%s\n", state,
                 dev->state.temporary && !dev->options->keep_state ? " (removed at the end)" : "");
    (void)printf("Ctrl-C stops the cluster and its jobs\n");
}

/* All nodes are ready: others may find us now. */
static void on_ready(const char *base, const char *token_file, void *userdata)
{
    struct dev *dev = userdata;
    struct edl_error error = { 0 };
    int r = dev_file_claim(&dev->lock_fd, &error);

    if (r == 0) {
        _cleanup_json_ json_t *document =
            json_pack("{s:s, s:s, s:i, s:s, s:s}", "server", base, "token_file", token_file, "pid",
                      (int)getpid(), "state_dir", dev->state.path, "virtual_env",
                      getenv("VIRTUAL_ENV") != NULL ? getenv("VIRTUAL_ENV") : "");

        r = dev_file_write(document, &error);
    }
    if (r < 0) {
        report_note("this cluster does not become your default: %s", error.text);
        dev->lock_fd = safe_close(dev->lock_fd);
    }
    print_ready(dev, base, token_file);
}

/* A cluster that is larger than its machine is a means to try things out; nobody measures on it
 * unawares. */
static void note_overcommit(const struct dev_config *config)
{
    uint64_t cpu = config->cpu_millicores * config->n_nodes;

    if (cpu > machine_millicores())
        report_note("the nodes offer %" PRIu64 "m of CPU together, this machine has %" PRIu64
                    "m: jobs share what there is",
                    cpu, machine_millicores());
    if (config->memory_bytes > machine_memory() / config->n_nodes)
        report_note("the nodes offer more memory together than this machine has: jobs that use "
                    "what they are granted may be killed");
}

static int check(struct dev *dev, struct dev_config *config, struct edl_error *error)
{
    const struct dev_options *options = dev->options;
    uint64_t cpu = options->cpu_millicores != 0 ? options->cpu_millicores : machine_millicores();
    uint64_t memory = options->memory_bytes != 0 ? options->memory_bytes : machine_memory();

    dev->n_nodes = options->nodes != 0 ? options->nodes : NODES_DEFAULT;
    if (dev->n_nodes > DEV_NODES_MAX)
        return edl_error_set(error, -ERANGE, "--nodes is at most %d", DEV_NODES_MAX);
    if (options->port > PORT_MAX)
        return edl_error_set(error, -ERANGE, "--port is at most %d", PORT_MAX);
    if (cpu < dev->n_nodes)
        return edl_error_set(error, -ERANGE, "--cpu is too little for %" PRIu64 " node%s",
                             dev->n_nodes, PLURAL(dev->n_nodes));
    config->n_nodes = dev->n_nodes;
    config->cpu_millicores = cpu / dev->n_nodes;
    config->memory_bytes = memory / dev->n_nodes;
    config->policy = options->policy;
    config->default_cpu = options->default_cpu;
    config->parking = options->parking;
    config->keep_outputs = options->keep_outputs;
    config->max_load = options->max_load;
    config->lease_us = options->lease_us;
    config->port = options->port;
    config->allow_root = geteuid() == 0;
    return 0;
}

static int prepare_process(struct dev_reaper *reaper, struct edl_error *error)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
    /* Ours alone: no daemon and no job of theirs has any business with them. */
    static const char *const private[] = { "EDL_TOKEN", "EDL_TOKEN_FILE", "EDL_SERVER",
                                           "NOTIFY_SOCKET" };
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        (void)sigaddset(&set, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, nobody could be waited for */
    (void)signal(SIGPIPE, SIG_IGN); /* a closed terminal must not keep us from cleaning up */
    for (size_t i = 0; i < ELEMENTS(private); i++)
        (void)unsetenv(private[i]);
    int r = dev_reaper_init(reaper);

    return r < 0 ? edl_error_errno(error, r, "becoming a subreaper") : 0;
}

/* tell_python - in a checkout the module edl is where no interpreter looks: the agents pass it on
 */
static void tell_python(const char *programs)
{
    const char *given = getenv("PYTHONPATH");
    bool more = given != NULL && given[0] != '\0';
    _cleanup_free_ char *module = text_format("%s/python/edl/__init__.py", programs);
    _cleanup_free_ char *path =
        text_format("%s/python%s%s", programs, more ? ":" : "", more ? given : "");

    if (access(module, R_OK) == 0)
        (void)setenv("PYTHONPATH", path, 1);
}

/* No process first, then no file: nobody may find an address that has no server. */
static void finish(struct dev *dev, struct dev_reaper *reaper)
{
    int killed = dev_reaper_kill_all(reaper, KILL_WITHIN_US);

    if (killed > 0)
        report_note("killed %d process%s left", killed, killed == 1 ? " that was" : "es that were");
    else if (killed < 0)
        report_note("some processes could not be killed; see `ps --ppid %d`", (int)getpid());
    if (dev->lock_fd >= 0)
        dev_file_remove();
    dev->lock_fd = safe_close(dev->lock_fd);
    if (dev->state.temporary && dev->options->keep_state)
        report_note("the state is kept in %s", dev->state.path);
    dev_state_close(&dev->state, dev->options->keep_state);
}

static int run(const struct invocation *invocation)
{
    struct dev dev = { .options = invocation->options, .lock_fd = -1 };
    _cleanup_free_ char *programs = NULL;
    struct dev_config config = { .on_ready = on_ready, .userdata = &dev };
    struct dev_reaper reaper = { 0 };
    struct edl_error error = { 0 };
    int r = check(&dev, &config, &error);

    if (r == 0)
        r = program_folder(&programs, &error);
    if (r == 0)
        r = prepare_process(&reaper, &error);
    if (r == 0)
        r = dev_state_open(dev.options->state_dir, &dev.state, &error);
    if (r < 0)
        return report_error(&error);
    tell_python(programs);
    note_overcommit(&config);
    if (config.allow_root)
        report_note("you are root, so the jobs of this cluster run as root");
    config.programs = programs;
    config.state_dir = dev.state.path;
    r = dev_cluster_run(&config, &reaper, &error);

    int status = r < 0 ? report_error(&error) : STATUS_OK;

    finish(&dev, &reaper);
    return status;
}

const struct verb verb_dev = {
    .name = "dev",
    .usage = "[--nodes N] [OPTION]...",
    .summary = "Run a whole cluster on this machine, until Ctrl-C",
    .details =
        "Starts a scheduler and N agents as children, each agent offering its share of the "
        "machine.\n"
        "While it runs, the other verbs find it without any option. A second Ctrl-C does not wait\n"
        "for the jobs' grace time.",
    VERB_OPTIONS(dev_options, struct dev_options),
    .local = true,
    .run = run,
};
