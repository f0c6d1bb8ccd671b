/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_main.c - edl-pserver: keeps one shard of a job's parameters */
#include <errno.h>
#include <limits.h>
#include <cblas.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "trainer/wire/host_port.h"
#include "trainer/server/lag_rule.h"
#include "trainer/run/options.h"
#include "trainer/server/pserver.h"
#include "trainer/server/pserver_report.h"
#include "trainer/exchange/secret_source.h"

/* sysexits.h's EX_TEMPFAIL: the port is taken, another try may work. */
#define EXIT_PORT_TAKEN 75

struct settings {
    struct pserver_config server;
    const char *index;
    const char *listen;  /* "host:port", NULL: from address and ports */
    const char *address; /* of this process */
    const char *ports;   /* comma list */
    const char *output;
    const char *checkpoint_dir;
    const char *period;
    const char *socket;      /* the agent's */
    const char *secret_file; /* by hand: in place of what the agent says */
    uint64_t trainers;
    uint64_t ports_num, ports_num_for_sparse;
    float lag_ratio;
};

static int parse_endpoint(const char *text, char *host, size_t host_size, uint16_t *ret_port,
                          struct edl_error *error)
{
    if (host_port_parse(text, strlen(text), host, host_size, ret_port) == 0)
        return 0;
    return edl_error_set(error, -EINVAL, "\"%s\" is not host:port", text);
}

static int endpoint(const struct settings *settings, char *host, size_t host_size,
                    uint16_t *ret_port, struct edl_error *error)
{
    char text[320];

    if (settings->listen != NULL)
        return parse_endpoint(settings->listen, host, host_size, ret_port, error);
    if (settings->ports == NULL || *settings->ports == '\0')
        return edl_error_set(error, -EINVAL, "no port: set EDL_PORTS or give --listen host:port");
    (void)snprintf(text, sizeof text, "%s:%.*s", settings->address,
                   (int)strcspn(settings->ports, ","), settings->ports);
    return parse_endpoint(text, host, host_size, ret_port, error);
}

/* Not signalfd: OpenBLAS has started threads before main() could block anything, and a blocked
 * signal goes to a thread that does not block it. A handler runs in whichever thread it comes to.
 */
static int told_fd = -1;

static void on_signal(int number)
{
    uint64_t one = 1;
    int saved = errno;

    (void)number;
    (void)!write(told_fd, &one, sizeof one);
    errno = saved;
}

static int on_told(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)fd;
    (void)revents;
    (void)userdata;
    log_info("told to stop");
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int catch_signals(sd_event *event)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (told_fd < 0)
        return -errno;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    return sd_event_add_io(event, NULL, told_fd, EPOLLIN, on_told, NULL);
}

static int serve(sd_event *event, const struct settings *settings, struct edl_error *error)
{
    const struct pserver_config *config = &settings->server;
    struct pserver_report *report = NULL;
    struct pserver *server;
    int r = pserver_new(event, config, &server, error);

    if (r < 0)
        return r;
    if (settings->socket != NULL &&
        pserver_report_new(event, settings->socket, server, config->lag_threshold > 0, &report,
                           error) < 0)
        (void)log_failure(error, "edl show will not tell of pushes and recoveries");
    r = catch_signals(event);
    if (r >= 0)
        r = sd_event_loop(event);
    if (r < 0)
        (void)edl_error_errno(error, r, "event loop");
    else
        r = pserver_checkpoint_now(server, error);
    if (r >= 0)
        log_info("stopped after %llu update%s", (unsigned long long)pserver_updates(server),
                 PLURAL(pserver_updates(server)));
    (void)pserver_report_free(report);
    (void)pserver_free(server);
    return r;
}

static int take_index(struct settings *settings, struct edl_error *error)
{
    uint64_t index;

    settings->server.index = PSERVER_ANY;
    if (streq(settings->index, "any"))
        return 0;
    if (parse_u64(settings->index, &index) < 0 || index >= 1024)
        return edl_error_set(error, -EINVAL,
                             "--index (EDL_INDEX) is \"%.40s\", not 0 to 1023 or any",
                             settings->index);
    settings->server.index = (uint32_t)index;
    return 0;
}

static int take_counts(struct settings *settings, struct edl_error *error)
{
    if (settings->trainers > UINT32_MAX || settings->ports_num > BLOCK_PLACEMENT_PORTS_MAX ||
        settings->ports_num_for_sparse > BLOCK_PLACEMENT_PORTS_MAX)
        return edl_error_set(error, -EINVAL,
                             "--trainers is below 4294967296, and --ports_num and "
                             "--ports_num_for_sparse are at most %d",
                             BLOCK_PLACEMENT_PORTS_MAX);
    settings->server.trainers = (uint32_t)settings->trainers;
    settings->server.placement = (struct block_placement){
        .dense_ports = (uint32_t)settings->ports_num,
        .sparse_ports = (uint32_t)settings->ports_num_for_sparse,
    };
    return 0;
}

static int run(struct settings *settings, struct edl_error *error)
{
    char host[256], checkpoint[PATH_MAX];
    sigset_t mask;
    sd_event *event = NULL;
    uint16_t port;
    int r;

    r = endpoint(settings, host, sizeof host, &port, error);
    if (r >= 0 && parse_seconds(settings->period, &settings->server.checkpoint_period_us) < 0)
        r = edl_error_set(error, -EINVAL,
                          "--checkpoint-period (EDL_CHECKPOINT_PERIOD) is \"%.40s\", not a time "
                          "like 10s or 500ms",
                          settings->period);
    if (r >= 0)
        r = secret_read(settings->secret_file, settings->socket, settings->server.secret, error);
    if (r < 0)
        return r;
    r = take_index(settings, error);
    if (r < 0)
        return r;
    r = take_counts(settings, error);
    if (r < 0)
        return r;
    settings->server.lag_threshold =
        settings->lag_ratio > 0 ? lag_threshold(settings->trainers, settings->lag_ratio) : 0;
    if (settings->server.index != PSERVER_ANY &&
        (settings->output != NULL || settings->checkpoint_dir != NULL)) {
        const char *dir = settings->checkpoint_dir;

        if ((size_t)snprintf(checkpoint, sizeof checkpoint, "%s%s/pserver-%u.ckpt",
                             dir != NULL ? dir : settings->output, dir != NULL ? "" : "/checkpoint",
                             settings->server.index) >= sizeof checkpoint)
            return edl_error_set(error, -ENAMETOOLONG, "the folder's path is too long");
        settings->server.checkpoint_path = checkpoint;
    }
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD); /* sd_event_add_child asks for it */
    sigprocmask(SIG_BLOCK, &mask, NULL);
    settings->server.listen_fd = pserver_listen(host, port, &port, error);
    if (settings->server.listen_fd < 0)
        return settings->server.listen_fd;
    r = sd_event_new(&event);
    if (r < 0)
        return edl_error_errno(error, r, "cannot make an event loop");
    log_info("server %s of job %llu listens on %s port %u", settings->index,
             (unsigned long long)settings->server.job_id, host, port);
    r = serve(event, settings, error);
    (void)sd_event_unref(event);
    return r;
}

int main(int argc, char **argv)
{
    struct settings settings = { .server = { .incarnation = 1 } };
    const struct option_row rows[] = {
        { .name = "listen", .text = &settings.listen, .help = "host:port; port 0 = any" },
        { .name = "address",
          .environment = "EDL_ADDRESS",
          .fallback = "127.0.0.1",
          .text = &settings.address,
          .help = "address to listen on" },
        { .name = "ports",
          .environment = "EDL_PORTS",
          .text = &settings.ports,
          .help = "ports of this process; the first is used" },
        { .name = "job-id",
          .environment = "EDL_JOB_ID",
          .u64 = &settings.server.job_id,
          .fallback = "0",
          .help = "the job whose trainers are let in" },
        { .name = "index",
          .environment = "EDL_INDEX",
          .fallback = "0",
          .text = &settings.index,
          .help = "number of this server, = its shard; any: as its first trainer says, without "
                  "checkpoints" },
        { .name = "incarnation",
          .environment = "EDL_INCARNATION",
          .fallback = "1",
          .u64 = &settings.server.incarnation,
          .help = "life of this index" },
        { .name = "output-dir",
          .environment = "EDL_OUTPUT_DIR",
          .text = &settings.output,
          .help = "folder of checkpoint/pserver-N.ckpt; none: no checkpoints" },
        { .name = "checkpoint-dir",
          .environment = "EDL_CHECKPOINT_DIR",
          .text = &settings.checkpoint_dir,
          .help = "another folder, of pserver-N.ckpt: one that all nodes see" },
        { .name = "checkpoint-period",
          .environment = "EDL_CHECKPOINT_PERIOD",
          .fallback = "10s",
          .text = &settings.period,
          .help = "time between checkpoints" },
        { .name = "socket",
          .environment = "EDL_SOCKET",
          .text = &settings.socket,
          .help = "the agent's socket, which tells the job's secret" },
        { .name = "secret-file",
          .text = &settings.secret_file,
          .help = "64 hex digits in place of the agent's; only its owner may read it" },
        { .name = "trainers",
          .fallback = "0",
          .u64 = &settings.trainers,
          .help = "trainers there are: for --lag-ratio, and one that says another number is "
                  "refused; 0: not said" },
        { .name = "ports_num",
          .fallback = "0",
          .u64 = &settings.ports_num,
          .help = "servers of each host for blocks of dense parameters, as trainers are to say it; "
                  "0: as the first one says" },
        { .name = "ports_num_for_sparse",
          .fallback = "0",
          .u64 = &settings.ports_num_for_sparse,
          .help = "those behind them, for rows of sparse parameters" },
        { .name = "lag-ratio",
          .fallback = "0",
          .real = &settings.lag_ratio,
          .help = "a push is dropped when others pushed that often times --trainers since the "
                  "trainer's last one; 0: none is" },
    };
    struct edl_error error = { 0 };
    int r;

    log_init("edl-pserver");
    openblas_set_num_threads(1);
    r = options_parse(argc, argv, "edl-pserver",
                      "Usage: edl-pserver [OPTION VALUE]...\n\n"
                      "Keeps one shard of a job's parameters.\n\nOptions:\n",
                      rows, ELEMENTS(rows), NULL, &error);
    if (r == OPTIONS_HELP || r == OPTIONS_VERSION)
        return 0;
    if (r < 0) {
        (void)log_failure(&error, "command line");
        return options_bad_usage();
    }
    r = run(&settings, &error);
    if (r < 0)
        (void)log_failure(&error, "server %s", settings.index);
    if (r == -EADDRINUSE)
        return EXIT_PORT_TAKEN;
    return r == -EINVAL ? options_bad_usage() : r < 0 ? EXIT_FAILURE : 0;
}
