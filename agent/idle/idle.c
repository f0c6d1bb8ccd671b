/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - program edl-idle: runs a command, and ends it when its control group has been idle
 *
 * A notebook would hold its GPU for ever: its person closes the tab, which ends nothing, and a
 * connection says nothing of work. So the CPU and the GPUs say. Without a command it only holds the
 * place of its process. People come in by sessions, and it ends when nobody has been there for a
 * while. Neither scheduler nor client has to live for that.
 *
 * A timer wakes it; nothing else does but signals. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "agent/idle/gpu_use.h"
#include "agent/idle/group_use.h"
#include "agent/idle/idle_rule.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/option_kinds.h"
#include "shared/options_table.h"

#define EXIT_CANNOT_EXECUTE 126
#define EXIT_NOT_FOUND 127
#define EXIT_FAILED 1
#define EXIT_BAD_USAGE 2
#define ACCURACY_US USEC_PER_MSEC /* of timers; 0 would be a quarter of a second */

struct idle_options {
    uint64_t idle_us, sessions_us, grace_us;
};

struct idle {
    struct idle_options options;
    struct idle_rule rule;
    struct group_use group;
    struct gpu_use gpus;
    sd_event *event;        /* owned */
    sd_event_source *timer; /* owned */
    pid_t command;          /* 0: there is none, or it has ended */
    int command_fd;         /* owned; its pidfd */
    bool was_idle;          /* it was told to end, and we end well */
};

static const char usage[] =
    "Usage: edl-idle --idle TIME [--grace TIME] -- COMMAND...\n"
    "       edl-idle [--idle TIME] [--sessions TIME]\n"
    "Runs a command and ends it when it is idle, or holds the place of its process until nobody "
    "uses it.\n";

#define OPTION(member) OPTION_FIELD(struct idle_options, member)
static const struct option_row rows[] = {
    { "idle", "TIME", "end when CPU and GPUs have done nothing for so long: 2h, 30m",
      .kind = option_time, OPTION(idle_us), .least = "1s", .most = "8760h" },
    { "sessions", "TIME", "without a command: end when no other process has been here for so long",
      .kind = option_time, OPTION(sessions_us), .least = "1s", .most = "8760h" },
    { "grace", "TIME", "from SIGTERM of an idle command to SIGKILL ({})", .kind = option_time,
      OPTION(grace_us), .fallback = "10s", .least = "0s", .most = "24h" },
};

/* ---- what it says ---- */

/* say_time - "2 h", "1 h 48 min", "12 min", "9.5 s" */
static const char *say_time(uint64_t us, char text[static 40])
{
    uint64_t s = us / USEC_PER_SEC, min = (s + 30) / 60;

    if (s < 120)
        (void)snprintf(text, 40, "%.3g s", (double)us / (double)USEC_PER_SEC);
    else if (min < 120)
        (void)snprintf(text, 40, "%" PRIu64 " min", min);
    else if (min % 60 == 0)
        (void)snprintf(text, 40, "%" PRIu64 " h", min / 60);
    else
        (void)snprintf(text, 40, "%" PRIu64 " h %" PRIu64 " min", min / 60, min % 60);
    return text;
}

static const struct {
    const char *quiet, *unless, *over;
} words[IDLE_KINDS] = {
    [IDLE_WORK] = { "nothing has worked for", "something works", "something works again" },
    [IDLE_COMPANY] = { "nobody has been here for", "somebody comes", "somebody is here again" },
};

static void say(enum idle_kind kind, const struct idle_verdict *verdict)
{
    char quiet[40], left[40];

    if (verdict->is_over)
        log_info("%s", words[kind].over);
    if (verdict->tells)
        log_info("%s %s: this ends in %s unless %s", words[kind].quiet,
                 say_time(verdict->quiet_us, quiet), say_time(verdict->left_us, left),
                 words[kind].unless);
    if (verdict->ends)
        log_info("%s %s: this ends now", words[kind].quiet, say_time(verdict->quiet_us, quiet));
}

/* ---- the command ---- */

/* signal_command - and what it started, where our process group is that of the two alone: a
 * supervisor made us its leader */
static void signal_command(const struct idle *idle, int number)
{
    if (idle->command == 0)
        return;
    if (getpgrp() == getpid() && number != SIGKILL)
        (void)kill(0, number); /* ours is blocked; on_end takes no second one */
    else
        (void)pidfd_send_signal(idle->command_fd, number, NULL, 0);
}

static int on_grace(sd_event_source *source, uint64_t now_us, void *userdata)
{
    const struct idle *idle = userdata;

    (void)source;
    (void)now_us;
    log_info("the command goes on in spite of SIGTERM: SIGKILL");
    signal_command(idle, SIGKILL);
    return 0;
}

/* end_idle - SIGTERM, and later SIGKILL; without a command that is all */
static void end_idle(struct idle *idle)
{
    idle->was_idle = true;
    (void)sd_event_source_set_enabled(idle->timer, SD_EVENT_OFF);
    if (idle->command == 0) {
        (void)sd_event_exit(idle->event, 0);
        return;
    }
    signal_command(idle, SIGTERM);
    if (sd_event_add_time_relative(idle->event, NULL, CLOCK_BOOTTIME, idle->options.grace_us,
                                   ACCURACY_US, on_grace, idle) < 0)
        signal_command(idle, SIGKILL);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* on_child - also what was orphaned, which comes to us where we look at each process */
static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct idle *idle = userdata;
    int status;
    pid_t pid;

    (void)source;
    (void)info;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == idle->command) {
            idle->command = 0;
            (void)sd_event_exit(idle->event, idle->was_idle ? 0 : status_of(status));
        }
    return 0;
}

/* is_told_already - a supervisor tells each of its processes, a terminal all of its group */
static bool is_told_already(const struct signalfd_siginfo *info)
{
    return info->ssi_code == SI_KERNEL ||
           (info->ssi_pid == (uint32_t)getppid() && group_use_is_supervised());
}

/* on_end - of the whole process: SIGTERM, SIGINT, SIGHUP. Without a command it ends at once. */
static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct idle *idle = userdata;

    (void)source;
    if (info->ssi_pid == (uint32_t)getpid()) /* from signal_command */
        return 0;
    if (idle->command == 0)
        return sd_event_exit(idle->event, 128 + (int)info->ssi_signo);
    if (!is_told_already(info))
        signal_command(idle, (int)info->ssi_signo);
    return 0;
}

_Noreturn static void execute(char **argv, pid_t parent, const sigset_t *mask)
{
    int error;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_CANNOT_EXECUTE);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(argv[0], argv);
    error = errno;
    log_error("cannot execute %s: %s", argv[0], strerror(error));
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

static int start(struct idle *idle, char **argv, const sigset_t *mask, struct edl_error *error)
{
    pid_t parent = getpid();

    idle->command = fork();
    if (idle->command == 0)
        execute(argv, parent, mask);
    if (idle->command > 0)
        idle->command_fd = pidfd_open(idle->command, 0);
    if (idle->command == -1 || idle->command_fd == -1)
        return edl_error_errno(error, -errno, "cannot start %s", argv[0]);
    return 0;
}

/* ---- the looks ---- */

static void look(struct idle *idle)
{
    struct idle_look look = { .now_us = clock_read_us(CLOCK_BOOTTIME),
                              .gpu_works = gpu_use_look(&idle->gpus) };
    struct idle_verdict verdicts[IDLE_KINDS];
    bool ends = false;

    look.used_is_unknown = !group_use_look(&idle->group, idle->gpus.pid, idle->gpus.used_us,
                                           &look.used_us, &look.has_company);
    look.has_company = look.has_company || look.used_is_unknown;
    idle_rule_look(&idle->rule, &look, verdicts);
    for (size_t i = 0; i < IDLE_KINDS && !ends; i++) {
        say((enum idle_kind)i, &verdicts[i]);
        ends = verdicts[i].ends;
    }
    if (ends)
        end_idle(idle);
}

static int on_timer(sd_event_source *source, uint64_t due_us, void *userdata)
{
    struct idle *idle = userdata;
    int r;

    (void)due_us;
    r = sd_event_source_set_time_relative(source, idle_rule_every(&idle->rule));
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    look(idle);
    return r;
}

static int watch(struct idle *idle, struct edl_error *error)
{
    static const int ends[] = { SIGTERM, SIGINT, SIGHUP };
    int r = sd_event_new(&idle->event);

    for (size_t i = 0; i < ELEMENTS(ends) && r >= 0; i++)
        r = sd_event_add_signal(idle->event, NULL, ends[i], on_end, idle);
    if (r >= 0)
        r = sd_event_add_signal(idle->event, NULL, SIGCHLD, on_child, idle);
    if (r >= 0)
        r = sd_event_add_time_relative(idle->event, &idle->timer, CLOCK_BOOTTIME, 0, ACCURACY_US,
                                       on_timer, idle);
    return r < 0 ? edl_error_errno(error, r, "cannot wait for events") : 0;
}

static int check(const struct idle_options *options, const char *command, struct edl_error *error)
{
    if (command != NULL && options->sessions_us > 0) {
        (void)edl_error_set(error, -EINVAL,
                            "--sessions is of a place without a command, and %s is given", command);
        return edl_error_remedy(error, "a command ends by --idle");
    }
    if (options->idle_us == 0 && options->sessions_us == 0) {
        (void)edl_error_set(error, -EINVAL, "nothing says when it ends");
        return edl_error_remedy(error, command != NULL ? "give --idle 2h"
                                                       : "give --idle 2h or --sessions 60s");
    }
    return 0;
}

static int run(struct idle *idle, char **argv, struct edl_error *error)
{
    sigset_t mask, before;
    int r;

    group_use_begin(&idle->group);
    gpu_use_begin(&idle->gpus);
    idle_rule_begin(&idle->rule, idle->options.idle_us, idle->options.sessions_us);
    if (!group_use_is_ours(&idle->group))
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that all of it stays below us */
    (void)sigemptyset(&mask);
    for (size_t i = 0; i < 4; i++)
        (void)sigaddset(&mask, (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGCHLD }[i]);
    (void)sigprocmask(SIG_BLOCK, &mask, &before);
    r = watch(idle, error);
    if (r == 0 && argv[0] != NULL)
        r = start(idle, argv, &before, error);
    if (r == 0) {
        r = sd_event_loop(idle->event);
        if (r < 0)
            (void)edl_error_errno(error, r, "cannot wait for events");
    }
    return r;
}

static void idle_done(struct idle *idle)
{
    idle->timer = sd_event_source_unref(idle->timer);
    idle->event = sd_event_unref(idle->event);
    idle->command_fd = safe_close(idle->command_fd);
    gpu_use_end(&idle->gpus);
    group_use_done(&idle->group);
}

static const struct options_table table = {
    .program = "edl-idle",
    .page = "edl-idle(1)",
    .usage = usage,
    .ending = "  --help            this text\n"
              "  --version         print the version\n",
    .column = 20,
    .rows = rows,
    .n_rows = ELEMENTS(rows),
};

/* own_words - so many of argv are ours; what stands behind them is the command, with its options */
static int own_words(int argc, char **argv)
{
    bool apart = false;
    int n = 1;

    while (n < argc && argv[n][0] == '-' && !streq(argv[n], "--")) {
        n += options_row_of(&table, argv[n], &apart) != NULL && apart ? 2 : 1;
        apart = false;
    }
    return MIN_OF(n, argc);
}

int main(int argc, char **argv)
{
    struct idle idle = { .command_fd = -1, .gpus.fd = -1 };
    struct options_given given = { .now = 0 };
    struct edl_error error = { 0 };
    const int n = own_words(argc, argv);
    char **command = argv + n + (n < argc && streq(argv[n], "--"));
    int r;

    log_init("edl-idle");
    r = options_read(&table, n, argv, &idle.options, &given, &error);
    options_given_done(&given);
    if (r > 0)
        return 0;
    if (r == OPTIONS_RUN)
        r = check(&idle.options, command[0], &error);
    if (r < 0) {
        (void)log_failure(&error, "bad command line");
        return EXIT_BAD_USAGE;
    }
    r = run(&idle, command, &error);
    if (r < 0) {
        (void)log_failure(&error, "it does not run");
        r = EXIT_FAILED;
    }
    idle_done(&idle);
    return r;
}
