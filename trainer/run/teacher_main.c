/* SPDX-License-Identifier: Apache-2.0 */
/* teacher_main.c - edl-teacher: serves a saved model to students */
#include <cblas.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/teacher_wire.h"
#include "trainer/exchange/secret_source.h"
#include "trainer/run/options.h"
#include "trainer/server/pserver.h"
#include "trainer/teach/teach_report.h"
#include "trainer/teach/teach_server.h"
#include "trainer/teach/teach_worker.h"
#include "trainer/wire/host_port.h"

#define EXIT_PORT_TAKEN 75 /* sysexits.h's EX_TEMPFAIL: another try may work */
#define MAX_BATCH_MOST 65536
#define DESCRIPTORS 2048 /* TEACH_STUDENTS_MAX, strangers, and its own */
#define PATIENCE_US (2 * USEC_PER_SEC)
#define BATCH_WAIT_MOST_US (10 * USEC_PER_SEC)

struct settings {
    struct teach_model_config model;
    const char *listen, *address, *ports, *socket, *secret_file, *batch_wait;
    uint64_t max_batch, threads;
    struct teach_server_config server;
    char host[256];
    uint16_t port;
};

/* Not signalfd: OpenBLAS has started threads before main() could block anything. */
static int told_fd = -1;
static volatile sig_atomic_t told;

static void on_signal(int number)
{
    uint64_t one = 1;
    int saved = errno;

    (void)number;
    told = 1;
    (void)!write(told_fd, &one, sizeof one);
    errno = saved;
}

static int catch_signals(struct edl_error *error)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (told_fd < 0)
        return edl_error_errno(error, -errno, "cannot make an eventfd");
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    return 0;
}

static int on_told(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    uint64_t count;

    (void)source;
    (void)revents;
    (void)!read(fd, &count, sizeof count);
    log_info("told to stop: tasks that are here are answered");
    teach_server_leave(userdata);
    return 0;
}

/* ---- where it listens, and whom it lets in ---- */

static int find_endpoint(struct settings *s, struct edl_error *error)
{
    char text[320];
    const char *listen = s->listen;

    if (listen == NULL && s->socket != NULL) {
        if (s->ports == NULL || *s->ports == '\0') {
            (void)edl_error_set(error, -EINVAL, "this process of a job has no port");
            return edl_error_remedy(error, "give its role one (ports: 1), or --listen HOST:PORT");
        }
        (void)snprintf(text, sizeof text, "%s:%.*s", s->address, (int)strcspn(s->ports, ","),
                       s->ports);
        listen = text;
    }
    if (listen == NULL)
        listen = "127.0.0.1:9292";
    if (host_port_parse(listen, strlen(listen), s->host, sizeof s->host, &s->port) == 0)
        return 0;
    return edl_error_set(error, -EINVAL, "--listen is \"%.80s\", not HOST:PORT", listen);
}

static bool is_this_machine(const char *host)
{
    return streq(host, "localhost") || streq(host, "::1") || strncmp(host, "127.", 4) == 0;
}

/* find_secret - that of the service, which follows from the job's; or the file's as it is */
static int find_secret(struct settings *s, struct edl_error *error)
{
    uint8_t job[JOB_SECRET_BYTES];
    int r;

    if (s->secret_file != NULL)
        return secret_read(s->secret_file, NULL, s->server.secret, error);
    if (s->socket != NULL) {
        r = secret_read(NULL, s->socket, job, error);
        if (r >= 0)
            r = job_hmac(job, TEACHER_SERVICE_MESSAGE, strlen(TEACHER_SERVICE_MESSAGE),
                         s->server.secret, error);
        explicit_bzero(job, sizeof job);
        return r;
    }
    if (is_this_machine(s->host))
        return 0;
    (void)edl_error_set(error, -EINVAL, "anybody could ask a teacher at %s", s->host);
    return edl_error_remedy(error, "name a secret, the same for its students: (umask 077; openssl "
                                   "rand -hex 32 >FILE), --secret-file FILE");
}

static int check_numbers(struct settings *s, struct edl_error *error)
{
    if (s->max_batch == 0 || s->max_batch > MAX_BATCH_MOST)
        return edl_error_set(error, -EINVAL, "--max-batch is %llu; 1 to %d are possible",
                             (unsigned long long)s->max_batch, MAX_BATCH_MOST);
    if (parse_seconds(s->batch_wait, &s->server.batch_wait_us) < 0 ||
        s->server.batch_wait_us > BATCH_WAIT_MOST_US)
        return edl_error_set(error, -EINVAL,
                             "--batch-wait is \"%.40s\", not a time like 2ms, at most 10s",
                             s->batch_wait);
    if (s->threads == 0 || s->threads > 1024)
        return edl_error_set(error, -EINVAL, "--threads is %llu; 1 to 1024 are possible",
                             (unsigned long long)s->threads);
    if (s->model.config == NULL) {
        (void)edl_error_set(error, -EINVAL, "--config is missing");
        return edl_error_remedy(error, "name a network: --config=digits_mlp, or a file");
    }
    if (s->model.init_model == NULL) {
        (void)edl_error_set(error, -EINVAL, "--init_model_path is missing");
        return edl_error_remedy(error, "name a saved pass: --init_model_path=DIR/pass-00000");
    }
    s->server.max_batch = s->model.max_batch = (uint32_t)s->max_batch;
    return 0;
}

/* ---- serving ---- */

/* allow_descriptors - one for each student, where the account may have so many */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = MIN_OF(limit.rlim_max, (rlim_t)DESCRIPTORS);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int loop(sd_event *event, const struct settings *s, struct teach_server *server,
                struct edl_error *error)
{
    const char *model = teach_model_welcome(teach_worker_model(s->server.worker))->model;
    struct teach_report *report = NULL;
    struct teach_figures figures;
    int r = sd_event_add_io(event, NULL, told_fd, EPOLLIN, on_told, server);

    if (r >= 0 && s->socket != NULL &&
        teach_report_new(event, s->socket, server, model, &report, error) < 0)
        (void)log_failure(error, "edl show will not tell of this teacher");
    if (r >= 0)
        r = sd_event_loop(event);
    (void)teach_report_free(report);
    if (r < 0) {
        if (teach_server_failure(server)->code < 0)
            *error = *teach_server_failure(server);
        else
            (void)edl_error_errno(error, r, "event loop");
        return r;
    }
    teach_server_figures(server, &figures);
    log_info("left: %llu task%s of %llu sample%s in %llu batch%s, %llu failed",
             (unsigned long long)figures.tasks, PLURAL(figures.tasks),
             (unsigned long long)figures.samples, PLURAL(figures.samples),
             (unsigned long long)figures.batches, PLURAL_ES(figures.batches),
             (unsigned long long)figures.failed);
    return 0;
}

static int serve(struct settings *s, struct edl_error *error)
{
    struct teach_server *server = NULL;
    sd_event *event = NULL;
    int r = sd_event_new(&event);

    if (r < 0)
        return edl_error_errno(error, r, "cannot make an event loop");
    s->server.listen_fd = pserver_listen(s->host, s->port, &s->port, error);
    r = s->server.listen_fd < 0 ? s->server.listen_fd
                                : teach_server_new(event, &s->server, &server, error);
    if (r >= 0) {
        log_info("listening on %s:%u, batches of at most %u sample%s", s->host, s->port,
                 s->server.max_batch, PLURAL(s->server.max_batch));
        r = loop(event, s, server, error);
    }
    (void)teach_server_free(server);
    (void)sd_event_unref(event);
    return r;
}

static int run(struct settings *s, struct edl_error *error)
{
    int r = check_numbers(s, error);

    if (r >= 0)
        r = find_endpoint(s, error);
    if (r >= 0)
        r = find_secret(s, error);
    if (r >= 0)
        r = catch_signals(error);
    if (r < 0)
        return r;
    openblas_set_num_threads((int)s->threads);
    allow_descriptors();
    s->model.stop = &told;
    r = teach_worker_new(&s->model, &s->server.worker, error);
    if (r < 0)
        return r;
    r = serve(s, error);
    s->server.worker = teach_worker_free(s->server.worker);
    return r;
}

int main(int argc, char **argv)
{
    struct settings settings = { .server = { .patience_us = PATIENCE_US } };
    const struct option_row rows[] = {
        { .name = "config",
          .text = &settings.model.config,
          .help = "name or file of the network, or a trainer_config.py" },
        { .name = "config_args",
          .text = &settings.model.arguments,
          .help = "NAME=NUMBER,... of its arguments" },
        { .name = "init_model_path",
          .text = &settings.model.init_model,
          .help = "a saved pass, its folder or its tar" },
        { .name = "outputs",
          .text = &settings.model.outputs,
          .help = "[NAME=]LAYER,... that students may ask for; the network's own without it" },
        { .name = "model-name",
          .text = &settings.model.name,
          .help = "how students and edl services name the model" },
        { .name = "listen",
          .text = &settings.listen,
          .help = "HOST:PORT; in a job its own, else 127.0.0.1:9292; port 0: any" },
        { .name = "max-batch",
          .fallback = "64",
          .u64 = &settings.max_batch,
          .help = "samples that are computed together at most" },
        { .name = "batch-wait",
          .fallback = "2ms",
          .text = &settings.batch_wait,
          .help = "how long a task waits for others to fill its batch" },
        { .name = "threads",
          .environment = "OPENBLAS_NUM_THREADS",
          .fallback = "1",
          .u64 = &settings.threads,
          .help = "of dense products on the CPU" },
        { .name = "device",
          .fallback = "auto",
          .text = &settings.model.device,
          .help = "cpu, cuda, or auto: the GPU that was granted" },
        { .name = "secret-file",
          .environment = "EDL_TEACHER_SECRET_FILE",
          .text = &settings.secret_file,
          .help = "64 hex digits that students know; only its owner may read it" },
        { .name = "address",
          .environment = "EDL_ADDRESS",
          .fallback = "127.0.0.1",
          .text = &settings.address,
          .help = "of this process of a job" },
        { .name = "ports",
          .environment = "EDL_PORTS",
          .text = &settings.ports,
          .help = "of this process of a job; the first is used" },
        { .name = "socket",
          .environment = "EDL_SOCKET",
          .text = &settings.socket,
          .help = "the agent's socket, which tells the job's secret" },
    };
    struct edl_error error = { 0 };
    int r;

    log_init("edl-teacher");
    r = options_parse(argc, argv, "edl-teacher",
                      "Usage: edl-teacher --config=NETWORK --init_model_path=DIR [OPTION "
                      "VALUE]...\n\n"
                      "Serves a saved model: students send samples and get its outputs.\n\n"
                      "Options:\n",
                      rows, ELEMENTS(rows), NULL, &error);
    if (r == OPTIONS_HELP || r == OPTIONS_VERSION)
        return 0;
    if (r < 0) {
        (void)log_failure(&error, "command line");
        return options_bad_usage();
    }
    r = run(&settings, &error);
    if (r < 0)
        (void)log_failure(&error, "teacher");
    if (r == -EADDRINUSE)
        return EXIT_PORT_TAKEN;
    return r == -EINVAL ? options_bad_usage() : r < 0 ? EXIT_FAILURE : 0;
}
