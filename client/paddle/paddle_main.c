/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_main.c - edl-paddle: the command lines of PaddlePaddle
 *
 * `train` and `pserver` become edl-trainer and edl-pserver (one process for each port). A command
 * line that does not begin with a subcommand is one of paddle.py, and goes to `edl run`. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/paddle/paddle_flags.h"
#include "client/paddle/paddle_nics.h"
#include "client/paddle/paddle_program.h"
#include "client/paddle/paddle_secret.h"
#include "client/program_beside.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define EXIT_BAD_USAGE 2
#define EXIT_NOT_STARTED 127
#define TRAINER_PACKAGE "edl-trainer"

static const char usage[] =
    "Usage: edl-paddle train --config=NETWORK [--FLAG=VALUE]...\n"
    "       edl-paddle pserver [--FLAG=VALUE]...\n"
    "       edl-paddle version\n"
    "       edl-paddle --job_dispatch_package=DIR [--FLAG=VALUE]...    as edl run\n\n"
    "The command lines of PaddlePaddle. PADDLE_INIT_FLAG in the environment gives a flag as "
    "well.\n";

/* ---- what is said at the start ---- */

static void print_flags(bool of_train)
{
    const struct paddle_flag_row *row;

    printf("\nFlags:\n");
    for (size_t i = 0; (row = paddle_flag_row(i)) != NULL; i++)
        if (row->help != NULL && (of_train ? row->of_train : row->of_pserver))
            printf("  --%-33s %s%s%s%s\n", row->name, row->help, *row->fallback != '\0' ? " (" : "",
                   row->fallback, *row->fallback != '\0' ? ")" : "");
    printf("\nTaken without effect:\n ");
    for (size_t i = 0; (row = paddle_flag_row(i)) != NULL; i++)
        if (row->help == NULL)
            printf(" --%s", row->name);
    printf("\n");
}

static void tell_idle_one(const char *name, size_t *n)
{
    fprintf(stderr, "%s --%s", (*n)++ == 0 ? "edl-paddle: without effect here:" : "", name);
}

static void tell_idle(const struct paddle_flags *flags, enum paddle_way way)
{
    size_t n = 0;

    for (enum paddle_flag flag = 0; flag < PADDLE_FLAGS_USED; flag++)
        if (paddle_is_idle(flags, way, getenv("EDL_SOCKET"), flag))
            tell_idle_one(paddle_flag_row(flag)->name, &n);
    for (size_t i = 0; i < flags->n_idle; i++)
        tell_idle_one(flags->idle[i], &n);
    if (n > 0)
        fprintf(stderr, "\n");
}

static void tell_commandline(int argc, char *const *argv)
{
    fprintf(stderr, "commandline: edl-paddle");
    for (int i = 1; i < argc; i++)
        fprintf(stderr, " %s", argv[i]);
    fprintf(stderr, "\n");
}

static const char *environment(const char *name)
{
    return getenv(name);
}

/* secret_of - NULL in *ret where an agent tells the job's, or a flag names a file */
static int secret_of(const struct paddle_flags *flags, const char *socket, char **ret,
                     struct edl_error *error)
{
    *ret = NULL;
    return socket != NULL || flags->given[FLAG_SECRET_FILE] ? 0 : paddle_secret_file(ret, error);
}

/* ---- train ---- */

/* has_queue - a trainer of a job with a data set, which named neither servers nor data of its own
 */
static bool has_queue(const struct paddle_flags *flags)
{
    return getenv("EDL_SOCKET") != NULL && getenv("EDL_DATASET") != NULL &&
           streq(flags->values[FLAG_JOB], "train") && !flags->typed[FLAG_PSERVERS] &&
           !flags->typed[FLAG_LOCAL] && !flags->typed[FLAG_DATA];
}

static enum paddle_way way_of_train(const struct paddle_flags *flags)
{
    if (has_queue(flags))
        return PADDLE_TRAINER_OF_JOB;
    if (!streq(flags->values[FLAG_JOB], "train"))
        return PADDLE_TEST;
    return paddle_flag_is(flags, FLAG_LOCAL) ? PADDLE_ALONE : PADDLE_WITH_SERVERS;
}

/* too_many - the list is told of up to PADDLE_SERVERS_MAX */
static int too_many(const char *n, struct edl_error *error)
{
    (void)edl_error_set(error, -E2BIG,
                        "the job has %.20s parameter servers, and PADDLE_INIT_PSERVERS tells where "
                        "they are of at most %d",
                        n, PADDLE_SERVERS_MAX);
    return edl_error_remedy(error,
                            "ask for at most %d servers: pserver: min-instance; --local=1 trains "
                            "without servers",
                            PADDLE_SERVERS_MAX);
}

/* check_told - a trainer of a job with servers that are nowhere now: it would train alone */
static int check_told(const struct paddle_flags *flags, enum paddle_way way,
                      struct edl_error *error)
{
    const char *n = getenv("PSERVERS");
    uint64_t servers = 0;

    if (way != PADDLE_ALONE || flags->given[FLAG_LOCAL] || getenv("EDL_SOCKET") == NULL ||
        n == NULL || *n == '\0' || streq(n, "0"))
        return 0;
    if (parse_u64(n, &servers) >= 0 && servers > PADDLE_SERVERS_MAX)
        return too_many(n, error);
    (void)edl_error_set(error, EDL_EUNREACHABLE,
                        "the job has %.20s parameter servers, and PADDLE_INIT_PSERVERS does not "
                        "tell where they are: one waits to be placed again",
                        n);
    return edl_error_remedy(error, "edl why tells its reason; --local=1 trains without servers");
}

static int train(const struct paddle_flags *flags, struct edl_error *error)
{
    const enum paddle_way way = way_of_train(flags);
    const char *socket = getenv("EDL_SOCKET");
    struct paddle_command command = { 0 };
    _cleanup_free_ char *secret = NULL;
    int r;

    tell_idle(flags, way);
    r = check_told(flags, way, error);
    if (r < 0)
        return r;
    r = way == PADDLE_WITH_SERVERS ? secret_of(flags, socket, &secret, error) : 0;
    if (r >= 0)
        r = way == PADDLE_TRAINER_OF_JOB ? paddle_trainer_of_job(flags, &command, error)
                                         : paddle_train(flags, socket, secret, &command, error);
    if (r >= 0)
        r = program_become((const char *const *)command.argv, TRAINER_PACKAGE, error);
    paddle_command_done(&command);
    return r;
}

/* ---- pserver ---- */

static pid_t start(const struct paddle_command *command)
{
    const pid_t parent = getpid();
    struct edl_error error = { 0 };
    sigset_t none;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_NOT_STARTED);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)program_become((const char *const *)command->argv, TRAINER_PACKAGE, &error);
    (void)log_failure(&error, "pserver");
    _exit(EXIT_NOT_STARTED);
}

static void tell_all(const pid_t *pids, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (pids[i] > 0)
            (void)kill(pids[i], SIGTERM);
}

/* exit_code - of a server; told: to end. A server that is told before it has a handler of its own
 * dies of the signal, which is no failure. */
static int exit_code(int status, bool told)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return told && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT)
               ? 0
               : 128 + WTERMSIG(status);
}

/* reap - those that have ended; *status: of the first that failed */
static unsigned reap(pid_t *pids, unsigned n, bool told, int *status)
{
    unsigned left = 0;
    int one;

    for (unsigned i = 0; i < n; i++) {
        if (pids[i] > 0 && waitpid(pids[i], &one, WNOHANG) == pids[i]) {
            pids[i] = 0;
            if (*status == 0)
                *status = exit_code(one, told);
        }
        left += pids[i] > 0;
    }
    return left;
}

/* watch - until all have ended: one that ends takes the others with it, and so does a signal to end
 * told: they have been told already */
static int watch(pid_t *pids, unsigned n, bool told, const sigset_t *signals)
{
    unsigned left = n;
    int status = 0;

    while (left > 0) {
        int signal = sigwaitinfo(signals, NULL); /* -1 with EINTR after a stop and SIGCONT */
        bool asked = signal == SIGTERM || signal == SIGINT;
        unsigned now = reap(pids, n, told || asked, &status);

        if (asked || now < left) {
            tell_all(pids, n);
            told = true;
        }
        left = now;
    }
    return status;
}

/* block - those that watch() waits for */
static void block(sigset_t *signals)
{
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGCHLD);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, signals, NULL);
}

static int serve_ports(const struct paddle_flags *flags, const char *address, unsigned n,
                       struct edl_error *error)
{
    const char *socket = getenv("EDL_SOCKET");
    _cleanup_free_ char *secret = NULL;
    pid_t pids[PADDLE_PORTS_MAX];
    sigset_t signals;
    int r;

    block(&signals);
    r = secret_of(flags, socket, &secret, error);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++) {
        struct paddle_command command = { 0 };

        paddle_pserver(flags, address, i, socket, secret, &command);
        pids[i] = start(&command);
        paddle_command_done(&command);
        if (pids[i] == -1) {
            r = edl_error_errno(error, -errno, "cannot start a server");
            tell_all(pids, i);
            (void)watch(pids, i, true, &signals);
            return r;
        }
    }
    return watch(pids, n, false, &signals);
}

/* serve_job - on the port that the job gave this process */
static int serve_job(const struct paddle_flags *flags, struct edl_error *error)
{
    struct paddle_command command = { 0 };
    int r;

    paddle_pserver_of_job(flags, getenv("EDL_SOCKET"), &command);
    r = program_become((const char *const *)command.argv, TRAINER_PACKAGE, error);
    paddle_command_done(&command);
    return r;
}

static int pserver(const struct paddle_flags *flags, struct edl_error *error)
{
    const char *ports = getenv("EDL_PORTS");
    const bool of_job =
        getenv("EDL_SOCKET") != NULL && ports != NULL && *ports != '\0' && !flags->typed[FLAG_PORT];
    char address[PADDLE_ADDRESS_SIZE];
    int n, r;

    tell_idle(flags, of_job ? PADDLE_PSERVER_OF_JOB : PADDLE_PSERVER);
    if (of_job)
        return serve_job(flags, error);
    n = paddle_pserver_check(flags, error);
    r = n < 0
            ? n
            : paddle_nics_address(flags->values[FLAG_NICS], getenv("EDL_ADDRESS"), address, error);
    return r < 0 ? r : serve_ports(flags, address, (unsigned)n, error);
}

/* ---- the rest ---- */

static int version(void)
{
    printf("PaddlePaddle (EDL " EDL_VERSION "), compiled with\n"
           "    with_avx: ON\n    with_gpu: OFF\n    with_double: OFF\n    with_python: ON\n"
           "    with_rdma: OFF\n    with_timer: OFF\n");
    return 0;
}

static int run_edl(char *const *argv, struct edl_error *error)
{
    const char *words[1024] = { "edl", "run" };
    size_t n = 2;

    for (; *argv != NULL && n + 1 < ELEMENTS(words); argv++)
        words[n++] = *argv;
    if (*argv != NULL)
        return edl_error_set(error, -E2BIG, "more than %zu words", ELEMENTS(words) - 3);
    return program_become(words, "edl-client", error);
}

static int run_program(int argc, char **argv, struct edl_error *error)
{
    const bool of_train = streq(argv[1], "train");
    struct paddle_flags flags;
    int r = paddle_flags_parse(argc - 2, argv + 2, environment, &flags, error);

    if (r < 0)
        return r;
    if (flags.help) {
        printf("%s", usage);
        print_flags(of_train);
        return 0;
    }
    tell_commandline(argc, argv);
    return of_train ? train(&flags, error) : pserver(&flags, error);
}

static int dispatch(int argc, char **argv, struct edl_error *error)
{
    static const char *const missing[] = { "merge_model", "dump_config", "make_diagram", "master" };

    if (argc == 1 || streq(argv[1], "help") || streq(argv[1], "--help") || streq(argv[1], "-h")) {
        printf("%s\nedl-paddle train --help and edl-paddle pserver --help list the flags.\n",
               usage);
        return 0;
    }
    if (streq(argv[1], "train") || streq(argv[1], "pserver"))
        return run_program(argc, argv, error);
    if (streq(argv[1], "version"))
        return version();
    if (streq(argv[1], "--version")) {
        printf("edl-paddle " EDL_VERSION "\n");
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS(missing); i++)
        if (streq(argv[1], missing[i])) {
            (void)edl_error_set(error, -EINVAL, "there is no edl-paddle %s", argv[1]);
            return edl_error_remedy(error, "train, pserver and version there are");
        }
    return run_edl(argv + 1, error);
}

int main(int argc, char **argv)
{
    struct edl_error error = { 0 };
    int r;

    log_init("edl-paddle");
    r = dispatch(argc, argv, &error);
    if (r < 0)
        (void)log_failure(&error, "%s", argc > 1 ? argv[1] : "command line");
    if (r == -EINVAL) /* in a job another try is of no use: see edl-job(5), restart */
        return getenv("EDL_SOCKET") != NULL ? EX_CONFIG : EXIT_BAD_USAGE;
    return r < 0 ? EXIT_FAILURE : r;
}
