/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.c - one process, from its order to its exit record
 *
 * Independent of the agent and of the spawn server from the fork on. Happy path: lock the folder,
 * read order.json, open the log, fork the program, write supervisor.json, let the program run. Then
 * wait, kill what it left behind, write exit.json, end. Ends early on SIGTERM (the agent's stop; an
 * attached value is the grace in ms) and when the node's lease runs out. A negative value says for
 * how long the program was silent in spite of its promise: it is killed. The others are graceful:
 * SIGTERM once to each process below us, SIGKILL to everything later; when, is decided in
 * core/fence.h. At the end of a lease it stands still instead if it can (standstill.h), until
 * SIGUSR1 with the lease's epoch attached. SIGUSR2: the person who types has ended the input. It
 * restarts nothing, talks to nobody, and looks at no other folder. If it is killed, the program
 * dies with it: a free lock without exit.json. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/processes/child.h"
#include "agent/core/fence.h"
#include "agent/machine/cpu_topology.h"
#include "agent/groups/grouping.h"
#include "agent/layout.h"
#include "agent/processes/hidden.h"
#include "agent/processes/job_shm.h"
#include "agent/supervisor/killtree.h"
#include "agent/link/lease.h"
#include "agent/supervisor/last_words.h"
#include "agent/supervisor/log_pump.h"
#include "agent/logs/log_file.h"
#include "agent/logs/log_times.h"
#include "agent/supervisor/notify.h"
#include "agent/processes/process_dir.h"
#include "agent/supervisor/program_input.h"
#include "agent/supervisor/standstill.h"
#include "agent/link/subject.h"
#include "agent/supervisor/supervise.h"
#include "agent/supervisor/view.h"
#include "agent/workspace/unpacker.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"

/* from its order on: no file system that works takes as long */
#define START_MAX_US (30 * USEC_PER_SEC)

#define LOG_EXTRA_PART 4 /* of its bound, beyond it: an agent would have shortened it before */

struct supervisor {
    const char *path, *key; /* borrowed: its folder, and the name of that */
    int dir_fd;
    int signal_fd; /* owned; what is blocked comes here */
    json_t *order; /* owned; argv and environment point into it */
    struct child_spec spec;
    struct account account; /* valid when spec.account is set */
    char **environment;     /* owned, with its strings */
    struct lease_map lease;
    struct fence fence;
    struct log_pump *pump; /* owned; of its log; NULL: it is not open */
    bool prints;           /* log_pump_run is due */
    struct program_input input;
    struct child child;
    struct killtree_main main_child;
    struct supervisor_record record;
    timer_t timer; /* valid when has_timer */
    bool has_timer;
    int nice;          /* as it was started */
    uint64_t armed_us; /* what it is set to; 0: nothing */
    int64_t silent_ms; /* it had promised to say something within that time; 0: it did */
    enum unfit unfit;  /* why this node cannot run it, once that is known */
    bool rest_told;    /* what was born since SIGTERM got its own */
    struct grouping grouping;
    struct standstill standstill;
    const char *hidden[HIDDEN_MAX + 1];
    struct job_shm shm;
};

static int load_argv(struct supervisor *s, struct edl_error *error)
{
    const json_t *argv = json_object_get(s->order, "argv");
    size_t n = json_array_size(argv);

    if (n == 0)
        return edl_error_set(error, EDL_EBADSPEC, "the order has no command");
    s->spec.argv = xcalloc(n + 1, sizeof *s->spec.argv);
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(argv, i));

        if (word == NULL)
            return edl_error_set(error, EDL_EBADSPEC, "argv[%zu] of the order is not text", i);
        s->spec.argv[i] = (char *)word; /* why: execvp's type; nothing writes to it */
    }
    return 0;
}

/* add_account - what the job did not say itself */
static void add_account(const struct supervisor *s, json_t *env)
{
    const struct account *a = s->spec.account;

    if (a == NULL)
        return;
    (void)json_object_update_missing_new(env,
                                         json_pack("{s:s,s:s,s:s,s:s}", "HOME", a->home, "USER",
                                                   a->name, "LOGNAME", a->name, "SHELL", a->shell));
}

static void load_environment(struct supervisor *s)
{
    json_t *env = json_object_get(s->order, "env");
    const char *name;
    json_t *value;
    size_t n = 0;

    add_account(s, env);
    s->environment = xcalloc(json_object_size(env) + 1, sizeof *s->environment);
    json_object_foreach(env, name, value)
    {
        if (json_is_string(value) &&
            asprintf(&s->environment[n], "%s=%s", name, json_string_value(value)) != -1)
            n++;
    }
    s->environment[n] = NULL;
    s->spec.environment = s->environment;
}

/* claim - this folder is ours, and nothing was ever started from it */
static int claim(struct supervisor *s, const char *path, struct edl_error *error)
{
    int r;

    s->dir_fd = process_dir_open(path, error);
    if (s->dir_fd < 0)
        return s->dir_fd;
    if (process_dir_lock(s->dir_fd) < 0)
        return edl_error_set(error, -EBUSY, "%s has a supervisor already", path);
    if (faccessat(s->dir_fd, "exit.json", F_OK, 0) == 0 ||
        faccessat(s->dir_fd, "supervisor.json", F_OK, 0) == 0)
        return edl_error_set(error, -EEXIST, "%s was started before; nothing is started twice",
                             path);
    r = process_dir_read_order(s->dir_fd, &s->order, error);
    if (r == 0)
        log_node(json_text(json_object_get(s->order, "env"), "EDL_NODE"));
    return r;
}

static int open_log(struct supervisor *s, struct edl_error *error)
{
    const char *path = json_text(s->order, "log_path");
    uint64_t bound = json_u64(s->order, "log_max");
    int fd = log_file_make(path);
    _cleanup_free_ char *times = log_times_name(path);

    if (fd < 0)
        return edl_error_errno(error, fd, "cannot open the log %s", path);
    s->pump = log_pump_new(fd, MAX_OF(log_file_make(times), -1), bound + bound / LOG_EXTRA_PART);
    return 0;
}

/* say - a line of ours in its log, if there is one */
static void say(const struct supervisor *s, const char *words)
{
    _cleanup_free_ char *line = text_format("edl-supervisor: %s\n", words);

    if (s->pump != NULL)
        log_pump_say(s->pump, line);
}

/* The log counts as its own; the folder around it does not. */
static int give(const struct supervisor *s, struct edl_error *error)
{
    const struct account *a = s->spec.account;
    size_t i;
    json_t *path;
    int r = 0;

    if (a->is_other &&
        (fchown(log_pump_log(s->pump), a->uid, a->gid) == -1 ||
         (log_pump_times(s->pump) >= 0 && fchown(log_pump_times(s->pump), a->uid, a->gid) == -1)))
        return edl_error_errno(error, -errno, "cannot give the log to %s", a->name);
    json_array_foreach(json_object_get(s->order, "folders"), i, path)
    {
        r = account_give(a, json_string_value(path), error);
        if (r < 0)
            break;
    }
    return r;
}

/* choose_account - an order without "account" runs as we do */
static int choose_account(struct supervisor *s, struct edl_error *error)
{
    const json_t *wanted = json_object_get(s->order, "account");
    int r;

    if (wanted == NULL)
        return 0;
    r = account_resolve(wanted, &s->account, error);
    s->unfit = account_unfit(r);
    if (r < 0)
        return r;
    s->spec.account = &s->account;
    s->record.uid = s->account.uid;
    return give(s, error);
}

/* keep_to_cpus - with all it starts; where a unit holds it to them anyway this changes nothing */
static void keep_to_cpus(const struct supervisor *s)
{
    struct cpu_mask cpus;
    int r;

    if (cpu_mask_parse(json_text(s->order, "cpus"), &cpus) < 0 || cpu_mask_count(&cpus) == 0)
        return;
    r = cpu_topology_keep_to(&cpus);
    if (r < 0)
        log_warning("cannot keep to CPUs %s: %s", json_text(s->order, "cpus"), strerror(-r));
}

/* be_prompt - a program is to stand still by the deadline of its lease, though it uses all that the
 * machine has, or all that is left over for a unit (edl.slice). After a standstill of the whole
 * machine the two wake together, and this one has to be the first. What it starts is as everything
 * else. Where the kernel refuses that (no root, a container, RT_GROUP_SCHED) it does without. */
static void be_prompt(struct supervisor *s)
{
    const struct sched_param least = { .sched_priority = 1 };

    s->nice = getpriority(PRIO_PROCESS, 0);
    (void)sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least);
}

/* umask_of - a scheduler of the version before says nothing */
static mode_t umask_of(const json_t *order)
{
    const json_t *value = json_object_get(order, "umask");

    return json_is_integer(value) ? (mode_t)json_integer_value(value) & 0777 : JOB_UMASK;
}

static int prepare(struct supervisor *s, struct edl_error *error)
{
    int r = open_log(s, error);

    if (r == 0)
        r = load_argv(s, error);
    if (r == 0)
        r = choose_account(s, error);
    if (r == 0 && fchmod(log_pump_log(s->pump), LOG_MODE_RUNS) == -1)
        r = edl_error_errno(error, -errno, "cannot mark the log");
    if (r < 0)
        return r;
    load_environment(s);
    view_choose_hidden(s->order, &s->spec, s->hidden);
    view_choose_shm(s->order, s->path, s->key, &s->spec, &s->account, &s->shm);
    keep_to_cpus(s);
    be_prompt(s);
    s->spec.workspace = json_text(s->order, "workspace");
    s->spec.umask = umask_of(s->order);
    fence_init(&s->fence, json_u64(s->order, "lease_us"), json_u64(s->order, "grace_us"));
    if (s->fence.lease_us > 0) {
        r = lease_map_open(json_text(s->order, "lease_path"), false, false, &s->lease, error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* announce - in the child, before its program runs */
static int announce(void *userdata, struct edl_error *error)
{
    struct supervisor *s = userdata;

    s->record.child_pid = getpid();
    s->record.started_us = clock_read_us(CLOCK_BOOTTIME);
    return process_dir_write_supervisor(s->dir_fd, &s->record, error);
}

/* confine - the same, behind all else. A niceness that its agent was given is the program's as
 * well: a child of a real-time process begins without. */
static int confine(bool in_group, void *userdata)
{
    const struct supervisor *s = userdata;

    if (s->nice > 0)
        (void)setpriority(PRIO_PROCESS, 0, s->nice);
    return grouping_enter(&s->grouping, s->order, in_group);
}

/* limit_start - a program that the node's lease has no time left for is not started */
static int limit_start(struct supervisor *s, struct edl_error *error)
{
    uint64_t kill_at_us = fence_kill_at(lease_map_read(&s->lease).deadline_us, s->fence.lease_us);
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    s->spec.start_by_us = MIN_OF(now_us + START_MAX_US, kill_at_us);
    return now_us < kill_at_us ? 0 : edl_error_set(error, -ECANCELED, "%s", fence_say(FENCE_LEASE));
}

static int start(struct supervisor *s, struct edl_error *error)
{
    struct procfs_stat self;
    int r = procfs_stat(getpid(), &self);

    if (r < 0)
        return edl_error_errno(error, r, "cannot read /proc");
    /* as its agent calls it, which looks for it here: where the machine is a container, the /proc
     * of a sandboxed service says something else than ours */
    (void)snprintf(s->record.boot_id, sizeof s->record.boot_id, "%s",
                   json_text(s->order, "boot_id"));
    grouping_choose(&s->grouping, s->order, s->key);
    s->record.cgroup = s->grouping.paths;
    if (s->spec.account == NULL)
        s->record.uid = geteuid();
    s->record.pid = getpid();
    s->record.start_ticks = self.start_ticks;
    r = limit_start(s, error);
    if (r < 0)
        return r;
    r = program_input_open(s->dir_fd, s->order, s->spec.account, &s->input, error);
    if (r == 0)
        r = log_pump_open(s->pump, s->spec.account, &s->spec.output_fd, error);
    if (r < 0)
        return r;
    s->spec.input_fd = s->input.program_fd;
    s->spec.group_fd = grouping_open(&s->grouping);
    s->spec.announce = announce;
    s->spec.confine = confine;
    s->spec.userdata = s;
    r = child_fork(&s->spec, &s->child, error);
    s->spec.group_fd = safe_close(s->spec.group_fd);
    s->spec.output_fd = safe_close(s->spec.output_fd);
    program_input_given(&s->input);
    s->main_child.pid = s->child.pid;
    s->record.child_pid = s->child.pid;
    if (r == 0)
        standstill_begin(&s->standstill, &s->fence, s->dir_fd, &s->record, s->grouping.program,
                         s->lease.has_epoch ? json_u64(s->order, "cut_off_kill_us") : 0);
    return r;
}

/* arm - a timer of the kernel that counts on while the machine sleeps, unlike sigtimedwait(2) */
static void arm(struct supervisor *s, uint64_t at_us)
{
    struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
    struct itimerspec when = { 0 };

    if (at_us == NEVER_US || at_us == s->armed_us)
        return;
    if (!s->has_timer)
        s->has_timer = timer_create(CLOCK_BOOTTIME, &by_signal, &s->timer) == 0;
    at_us = MAX_OF(at_us, 1); /* all zero would disarm */
    when.it_value.tv_sec = (time_t)(at_us / USEC_PER_SEC);
    when.it_value.tv_nsec = (long)(at_us % USEC_PER_SEC) * 1000;
    if (!s->has_timer || timer_settime(s->timer, TIMER_ABSTIME, &when, NULL) == -1)
        log_error("cannot set a timer: %s", strerror(errno));
    else
        s->armed_us = at_us;
}

/* look - true when everything is to be killed now */
static bool look(struct supervisor *s)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct fence_verdict verdict;

    standstill_verify(&s->standstill, &s->lease, now_us);
    verdict = standstill_judge(&s->standstill, &s->fence, &s->lease);
    if (verdict.freeze && standstill_freeze(&s->standstill, now_us) < 0)
        return true;
    if (!verdict.kill)
        standstill_thaw(&s->standstill);
    if (verdict.term)
        killtree_ask(&s->main_child, s->child.pidfd);
    verdict.look_at_us = MIN_OF(verdict.look_at_us, standstill_look_at(&s->standstill, now_us));
    arm(s, verdict.look_at_us);
    return verdict.kill;
}

static void on_stop(struct supervisor *s, const struct signalfd_siginfo *info, uint64_t now_us)
{
    uint64_t grace_us = s->fence.grace_us;

    if (info->ssi_code == SI_QUEUE && info->ssi_int < 0) {
        s->silent_ms = -(int64_t)info->ssi_int;
        fence_silent(&s->fence, now_us);
        return;
    }
    if (info->ssi_code == SI_QUEUE)
        grace_us = (uint64_t)info->ssi_int * USEC_PER_MSEC;
    fence_stop(&s->fence, grace_us, now_us);
}

static void on_thaw(struct supervisor *s, const struct signalfd_siginfo *info, uint64_t now_us)
{
    if (info->ssi_code == SI_QUEUE &&
        fence_thaw(&s->fence, (uint16_t)info->ssi_int, lease_map_read(&s->lease), now_us))
        standstill_goes_on(&s->standstill, now_us);
}

/* await - a child ended, the agent asks, the time has come, a freeze is complete or undone, or the
 * program writes for the first time */
static void await(struct supervisor *s)
{
    struct pollfd fds[] = { { .fd = s->signal_fd, .events = POLLIN },
                            { .fd = standstill_fd(&s->standstill), .events = POLLPRI },
                            { .fd = log_pump_fd(s->pump), .events = POLLIN } };
    struct signalfd_siginfo info;

    (void)poll(fds, ELEMENTS(fds), -1);
    while (read(s->signal_fd, &info, sizeof info) == sizeof info) {
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (info.ssi_signo == SIGTERM)
            on_stop(s, &info, now_us);
        else if (info.ssi_signo == SIGUSR1)
            on_thaw(s, &info, now_us);
        else if (info.ssi_signo == SIGUSR2)
            program_input_end(&s->input);
    }
    s->prints = fds[2].revents != 0;
}

/* run - until the program is over and nothing is left of it
 * A program that ends by itself takes everything with it at once. One that was asked to stop may
 * leave others behind. Those who were asked along with it have the rest of the grace; those who
 * were born since are asked now, and have it as well. */
static void run(struct supervisor *s)
{
    for (;;) {
        int left = killtree_reap(&s->main_child);

        if (left == 0 || (s->main_child.reaped && s->fence.cause == FENCE_NONE))
            break;
        if (s->prints) /* one that is over by now needs no thread */
            log_pump_run(s->pump);
        if (look(s))
            break;
        if (s->main_child.reaped && !s->rest_told) {
            s->rest_told = true;
            killtree_ask(&s->main_child, -1);
        }
        await(s);
    }
    grouping_kill(
        &s->grouping); /* one by one, those who fork faster than they are found would win */
    killtree_kill_all(&s->main_child);
    log_pump_end(s->pump);
}

/* unpack - the workspace, if it comes out of an archive
 * Until it is done the child is the one that is stopped, by the same rules as the program. */
static int unpack(struct supervisor *s, struct edl_error *error)
{
    int r = 0;

    if (json_object_get(s->order, "unpack") == NULL)
        return 0;
    r = unpacker_fork(s->order, s->spec.workspace, s->spec.account, &s->child, error);
    if (r < 0)
        return r;
    s->main_child.pid = s->child.pid;
    while (killtree_reap(&s->main_child) != 0 && !s->main_child.reaped) {
        if (look(s))
            break;
        await(s);
    }
    killtree_kill_all(&s->main_child);
    if (s->fence.cause != FENCE_NONE)
        r = edl_error_set(error, -ECANCELED, "%s while its workspace was unpacked",
                          fence_say(s->fence.cause));
    else
        r = unpacker_end(s->order, &s->child, s->main_child.status, error);
    if (r < 0)
        say(s, error->text);
    if (r == -ENOTDIR)
        s->unfit = UNFIT_NO_WORKSPACE;
    child_close(&s->child);
    killtree_done(&s->main_child);
    s->main_child = (struct killtree_main){ 0 };
    return r;
}

/* open_signals - those that await waits for */
static int open_signals(struct supervisor *s, struct edl_error *error)
{
    static const int awaited[] = { SIGTERM, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2 };
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ELEMENTS(awaited); i++)
        (void)sigaddset(&set, awaited[i]);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signal_fd == -1 ? edl_error_errno(error, -errno, "cannot wait for signals") : 0;
}

void supervise_block_signals(void)
{
    static const int blocked[] = { SIGTERM, SIGCHLD, SIGALRM, SIGUSR1,
                                   SIGUSR2, SIGINT,  SIGHUP,  SIGPIPE };
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ELEMENTS(blocked); i++)
        (void)sigaddset(&set, blocked[i]);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
}

/* is_given - its workspace is a folder of the machine, neither private nor unpacked here */
static bool is_given(const struct supervisor *s)
{
    size_t i;
    json_t *path;

    json_array_foreach(json_object_get(s->order, "folders"), i,
                       path) if (streq(json_string_value(path), s->spec.workspace)) return false;
    return json_object_get(s->order, "unpack") == NULL;
}

static bool is_lease_over(const struct supervisor *s)
{
    return clock_read_us(CLOCK_BOOTTIME) >=
           fence_kill_at(lease_map_read(&s->lease).deadline_us, s->fence.lease_us);
}

/* describe_words - what its program said of a bad end; its log has the remedy as well */
static void describe_words(const struct supervisor *s, struct exit_record *ret)
{
    const json_t *env = json_object_get(s->order, "env");
    const char *remedy = last_words_record(s->pump, json_object_get(env, "RANK") != NULL, ret);

    if (remedy != NULL)
        say(s, remedy);
}

/* describe - how it ended, in the words that users read; its exit code and its signal are told
 * anyway */
static void describe(struct supervisor *s, struct exit_record *ret)
{
    struct edl_error failure = { 0 };
    int status = s->main_child.status;
    struct rusage usage;

    if (WIFSIGNALED(status)) {
        ret->exit_signal = WTERMSIG(status);
        ret->exit_code = 128 + ret->exit_signal;
        (void)snprintf(ret->reason, sizeof ret->reason, "SIG%s",
                       sigabbrev_np(ret->exit_signal) ?: "?");
    } else {
        ret->exit_code = WEXITSTATUS(status);
    }
    if (ret->exit_code != 0)
        describe_words(s, ret);
    if (ret->exit_code != 0 && s->grouping.paths.unified[0] != '\0' &&
        cgroup_oom_kills(&s->grouping.paths) > process_dir_read_ooms(s->dir_fd))
        cgroup_describe_oom(json_u64(s->order, "memory_bytes"), ret->reason, sizeof ret->reason);
    ret->orphans_reaped = s->main_child.orphans;
    if (child_failure(&s->child, &s->spec, &failure) < 0) {
        (void)snprintf(ret->reason, sizeof ret->reason, "%.255s", failure.text);
        say(s, failure.text);
        if (s->child.late && is_lease_over(s))
            ret->fault = START_FAULT_PLACE;
        else if (s->child.no_workspace && is_given(s))
            ret->unfit = UNFIT_NO_WORKSPACE;
        else
            ret->fault = s->child.fault;
    } else {
        ret->cause = fence_exit_cause(s->fence.cause, EXIT_CAUSE_PROGRAM);
        if (s->fence.cause == FENCE_SILENT)
            (void)snprintf(ret->reason, sizeof ret->reason, "%s; it said nothing for %.3g s",
                           fence_say(FENCE_SILENT), (double)s->silent_ms / 1000);
        else if (s->fence.cause != FENCE_NONE)
            (void)snprintf(ret->reason, sizeof ret->reason, "%s", fence_say(s->fence.cause));
    }
    log_pump_tell_lost(s->pump, ret->reason, sizeof ret->reason);
    ret->frozen_us = standstill_us(&s->standstill);
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
        ret->cpu_used_us =
            (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * USEC_PER_SEC +
            (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* refuse - nothing ran */
static void refuse(const struct supervisor *s, const struct edl_error *why, struct exit_record *ret)
{
    ret->exit_code = 127;
    if (why->code == -ECANCELED)
        ret->cause = fence_exit_cause(s->fence.cause, EXIT_CAUSE_LEASE);
    ret->unfit = s->unfit;
    ret->fault = s->unfit == UNFIT_NOT ? start_fault_of_error(why->code) : START_FAULT_NONE;
    (void)snprintf(ret->reason, sizeof ret->reason, "%.150s%s%.100s", why->text,
                   why->remedy[0] != '\0' ? "; " : "", why->remedy);
    say(s, ret->reason);
}

static int supervise(struct supervisor *s, struct edl_error *error)
{
    struct exit_record record = { 0 };
    int r = prepare(s, error);

    if (r == 0)
        r = unpack(s, error);
    if (r == 0)
        r = start(s, error);
    if (r == 0) {
        run(s);
        describe(s, &record);
    } else {
        killtree_kill_all(&s->main_child);
        refuse(s, error, &record);
    }
    grouping_end(&s->grouping);
    job_shm_leave(&s->shm);
    record.ended_wall_us = clock_read_us(CLOCK_REALTIME);
    return process_dir_write_exit(s->dir_fd, &record, error);
}

static void supervisor_done(struct supervisor *s)
{
    child_close(&s->child);
    killtree_done(&s->main_child);
    account_done(&s->account);
    standstill_end(&s->standstill);
    program_input_close(&s->input);
    (void)safe_close(s->signal_fd);
    lease_map_close(&s->lease);
    for (size_t i = 0; s->environment != NULL && s->environment[i] != NULL; i++)
        free(s->environment[i]);
    free(s->environment);
    free(s->spec.argv);
    json_decref(s->order);
    (void)log_pump_free(s->pump);
    (void)safe_close(s->dir_fd);
}

int supervise_folder(const char *path)
{
    const char *name = strrchr(path, '/');
    struct supervisor s = { .path = path,
                            .key = name != NULL ? name + 1 : path,
                            .dir_fd = -1,
                            .signal_fd = -1,
                            .standstill = STANDSTILL_NONE,
                            .spec.input_fd = -1,
                            .spec.output_fd = -1,
                            .input = PROGRAM_INPUT_NONE,
                            .child = { .pidfd = -1, .status_fd = -1 } };
    struct edl_error error = { 0 };
    struct process_id id;
    struct log_subject subject;
    int r;

    if (process_id_parse(s.key, &id) == 0) {
        subject = subject_of(&id, MESSAGE_NONE);
        log_about(&subject);
    }

    supervise_block_signals();
    (void)signal(SIGCHLD, SIG_DFL); /* ignored by the spawn server: we want to be told */
    (void)umask(0027);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
        r = edl_error_errno(&error, -errno, "cannot become a subreaper");
    else
        r = open_signals(&s, &error);
    if (r == 0)
        r = claim(&s, path, &error);
    if (r == 0) {
        notify_ready();
        r = supervise(&s, &error);
    }
    supervisor_done(&s);
    if (r < 0)
        (void)log_failure(&error, "%s", path);
    log_about(NULL);
    return r;
}
