/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c - processes under edl-supervisor, with any launcher
 *
 * Start: the launcher is asked for a supervisor (launcher.h), which may come with a pidfd. The
 * folder is watched, where supervisor.json appears once the program may run. End: the pidfd becomes
 * readable; exit.json says how it was. Adopt: the folder's lock tells whether a supervisor lives
 * (process_dir.h). If so, supervisor.json is verified (boot id, start time, pidfd) and watched. If
 * not, and there is no exit.json, we write one while we hold the lock: nobody saw the end, and no
 * number in the record is signalled. */
#include "agent/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>

#include "agent/groups/cgroup_watch.h"
#include "agent/processes/launcher.h"
#include "agent/processes/process_dir.h"
#include "agent/processes/process_group.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define RETRY_US USEC_PER_SEC
#define REASON_VANISHED "its supervisor vanished"
#define REASON_RESTARTED "the machine was restarted"

struct runtime {
    sd_event *event;           /* ref */
    struct launcher *launcher; /* owned */
    char boot_id[BOOT_ID_SIZE];
};

struct runtime_process {
    struct runtime *runtime; /* borrowed */
    int dir_fd;
    struct launch *launch; /* its supervisor is ordered; NULL once that is answered */
    int pidfd;             /* of the supervisor; -1 while it is not verified or when it is gone */
    pid_t supervisor_pid;
    bool exited;
    bool announced;   /* there is a record of it, or may be: until then nothing is looked for */
    bool stop_wanted; /* before the supervisor was known */
    uint64_t stop_grace_us;
    sd_event_source *gone_source;   /* owned */
    sd_event_source *folder_source; /* owned */
    sd_event_source *retry;         /* owned; NULL unless a look failed */
    struct cgroup_watch *rest;      /* NULL unless its supervisor left others behind */
    runtime_changed_fn changed;
    void *userdata;
};

struct runtime_process *runtime_release(struct runtime_process *p)
{
    if (p == NULL)
        return NULL;
    (void)launcher_cancel(p->runtime->launcher, p->launch);
    sd_event_source_disable_unref(p->gone_source);
    sd_event_source_disable_unref(p->folder_source);
    (void)cgroup_watch_free(p->rest);
    sd_event_source_disable_unref(p->retry);
    (void)safe_close(p->pidfd);
    (void)safe_close(p->dir_fd);
    free(p);
    return NULL;
}

static void releasep(struct runtime_process **p)
{
    (void)runtime_release(*p);
}

/* say_unseen - why nobody saw the end: a folder of another boot, or else */
static void say_unseen(const struct runtime_process *p, const json_t *order,
                       struct exit_record *ret)
{
    const char *boot_id = json_string_value(json_object_get(order, "boot_id"));
    bool restarted = boot_id != NULL && !streq(boot_id, p->runtime->boot_id);

    ret->cause = restarted ? EXIT_CAUSE_REBOOTED : EXIT_CAUSE_UNSEEN;
    (void)snprintf(ret->reason, sizeof ret->reason, "%s",
                   restarted ? REASON_RESTARTED : REASON_VANISHED);
}

static void on_rest(void *userdata)
{
    struct runtime_process *p = userdata;

    p->changed(p->userdata);
}

/* find_rest - the control group that it may have left; of a unit the service manager kills what is
 * left there, of its own we do */
static int find_rest(struct runtime_process *p)
{
    struct supervisor_record record;
    int r;

    if (process_dir_read_supervisor(p->dir_fd, &record, NULL) < 0 ||
        record.cgroup.unified[0] == '\0' || !streq(record.boot_id, p->runtime->boot_id))
        return -ENOENT;
    r = cgroup_watch_new(p->runtime->event, record.cgroup.unified, on_rest, p, &p->rest);
    if (r != -ENOENT && !cgroup_is_unit(record.cgroup.unified))
        (void)cgroup_kill(record.cgroup.unified);
    return r;
}

static int on_retry(sd_event_source *source, uint64_t now_us, void *userdata)
{
    (void)source;
    (void)now_us;
    on_rest(userdata);
    return 0;
}

/* retry_soon - no descriptor is left for a look: who may be there is not taken for gone */
static void retry_soon(struct runtime_process *p, int why)
{
    uint64_t at_us = clock_read_us(CLOCK_BOOTTIME) + RETRY_US;

    log_warning("cannot see what is left in a control group: %s; looking again", strerror(-why));
    p->retry = sd_event_source_disable_unref(p->retry);
    (void)sd_event_add_time(p->runtime->event, &p->retry, CLOCK_BOOTTIME, at_us, 0, on_retry, p);
}

/* remove_group - its own one, which is empty and was its supervisor's to remove */
static void remove_group(const struct runtime_process *p)
{
    struct supervisor_record record;

    if (process_dir_read_supervisor(p->dir_fd, &record, NULL) == 0 &&
        !cgroup_is_unit(record.cgroup.unified))
        process_group_remove(&record.cgroup);
}

/* is_rest_there - its supervisor is gone, but not all that ran in its control group: until that is
 * dead, the slot is not free */
static bool is_rest_there(struct runtime_process *p)
{
    int r = p->rest == NULL ? find_rest(p) : 0;

    if (r == -EMFILE || r == -ENFILE || r == -ENOMEM) {
        retry_soon(p, r);
        return true;
    }
    if (r < 0) /* it is gone, or there are none here */
        return false;
    if (cgroup_watch_is_populated(p->rest))
        return true;
    p->rest = cgroup_watch_free(p->rest);
    remove_group(p);
    return false;
}

/* fault_unseen - a supervisor that vanished before its program was to run never ran it */
static enum start_fault fault_unseen(const struct runtime_process *p)
{
    return faccessat(p->dir_fd, "supervisor.json", F_OK, 0) == 0 ? START_FAULT_NONE
                                                                 : START_FAULT_NODE;
}

/* settle - there is no supervisor (any more); makes sure that exit.json exists
 * reason: why it never came to be, of that code; NULL: it did, and nobody saw its end. Returns
 * false when somebody holds the lock: there is one; or when others are left in its control group.
 */
static bool settle(struct runtime_process *p, const char *reason, int code)
{
    _cleanup_close_ int lock_fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct exit_record record = { .exit_code = -1, .ended_wall_us = clock_read_us(CLOCK_REALTIME) };
    json_t *order = NULL;

    /* why: a descriptor of its own, so that the lock is dropped when it is closed */
    if (lock_fd == -1 || process_dir_lock(lock_fd) < 0)
        return false;
    /* its supervisor wrote it when nothing was left. Who looks at a control group that is made or
     * removed waits for all that are. */
    if (faccessat(p->dir_fd, "exit.json", F_OK, 0) == 0)
        return true;
    if (is_rest_there(p))
        return false;
    (void)process_dir_read_order(p->dir_fd, &order, NULL);
    if (reason != NULL)
        (void)snprintf(record.reason, sizeof record.reason, "%s", reason);
    else
        say_unseen(p, order, &record);
    record.fault = reason != NULL ? start_fault_of_error(code) : fault_unseen(p);
    (void)process_dir_write_exit(p->dir_fd, &record, NULL); /* failing: poll says the same */
    json_decref(order);
    return true;
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct runtime_process *p = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    p->gone_source = sd_event_source_disable_unref(p->gone_source);
    p->pidfd = safe_close(p->pidfd);
    p->supervisor_pid = 0;
    p->exited = settle(p, NULL, 0);
    p->changed(p->userdata);
    return 0;
}

/* queue - a signal with a number */
static int queue(const struct runtime_process *p, int signal_number, int value,
                 struct edl_error *error)
{
    siginfo_t info = { .si_signo = signal_number, .si_code = SI_QUEUE };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    if (pidfd_send_signal(p->pidfd, signal_number, &info, 0) == -1 && errno != ESRCH)
        return edl_error_errno(error, -errno, "cannot signal the supervisor");
    return 0;
}

int runtime_thaw(struct runtime_process *p, uint16_t epoch, struct edl_error *error)
{
    return p->exited || p->pidfd < 0 ? 0 : queue(p, SIGUSR1, epoch, error);
}

int runtime_end_silent(struct runtime_process *p, uint64_t within_us, struct edl_error *error)
{
    uint64_t ms = MIN_OF(within_us / USEC_PER_MSEC, (uint64_t)INT32_MAX);

    return p->exited || p->pidfd < 0 ? 0 : queue(p, SIGTERM, -(int)MAX_OF(ms, 1U), error);
}

int runtime_stop(struct runtime_process *p, uint64_t grace_us, struct edl_error *error)
{
    uint64_t grace_ms = MIN_OF(grace_us / USEC_PER_MSEC, (uint64_t)INT32_MAX);

    if (p->exited)
        return 0;
    p->stop_wanted = true;
    p->stop_grace_us = grace_us;
    if (p->pidfd < 0)
        return 0; /* given once it is known, see found */
    return queue(p, SIGTERM, (int)grace_ms, error);
}

/* found - the supervisor is known, and told what came before that
 * Without a watch on it, it has to be found through its record, like one of an earlier agent. */
static void found(struct runtime_process *p, pid_t pid, int take_pidfd)
{
    p->supervisor_pid = pid;
    p->pidfd = take_pidfd;
    if (take_pidfd >= 0 &&
        sd_event_add_io(p->runtime->event, &p->gone_source, take_pidfd, EPOLLIN, on_gone, p) < 0)
        p->pidfd = safe_close(take_pidfd);
    if (p->pidfd >= 0 && p->stop_wanted)
        (void)runtime_stop(p, p->stop_grace_us, NULL);
}

/* verify - finds the living supervisor through its record; -ENOENT while there is none */
static int verify(struct runtime_process *p, const struct supervisor_record *record)
{
    int fd;

    if (!streq(record->boot_id, p->runtime->boot_id))
        return -ESRCH;
    fd = procfs_open_verified(record->pid, record->start_ticks);
    if (fd < 0)
        return fd;
    found(p, record->pid, fd);
    return 0;
}

static void poll_exited(struct runtime_process *p, struct runtime_state *ret)
{
    struct supervisor_record supervisor;
    struct exit_record record;

    if (process_dir_read_supervisor(p->dir_fd, &supervisor, NULL) == 0)
        ret->pid =
            supervisor.child_pid; /* for people: a short one may never have been seen running */
    ret->phase = RUNTIME_EXITED;
    ret->exit_code = -1;
    ret->fault = fault_unseen(p);
    ret->cause = EXIT_CAUSE_UNSEEN;
    (void)snprintf(ret->reason, sizeof ret->reason, "%s", REASON_VANISHED);
    if (process_dir_read_exit(p->dir_fd, &record, NULL) < 0)
        return;
    ret->exit_code = record.exit_code;
    ret->exit_signal = record.exit_signal;
    ret->cause = record.cause;
    ret->unfit = record.unfit;
    ret->fault = record.fault;
    ret->cpu_used_us = record.cpu_used_us;
    ret->frozen_us = record.frozen_us;
    ret->orphans_reaped = record.orphans_reaped;
    ret->error_before_us = record.error_before_us;
    (void)snprintf(ret->reason, sizeof ret->reason, "%s", record.reason);
    (void)snprintf(ret->error, sizeof ret->error, "%s", record.error);
}

void runtime_poll(struct runtime_process *p, struct runtime_state *ret)
{
    struct supervisor_record record;

    (void)memset(ret, 0, sizeof *ret);
    if (p->launch != NULL)
        return; /* starting */
    if (!p->exited && p->pidfd < 0)
        p->exited = settle(p, NULL, 0);
    if (p->exited) {
        poll_exited(p, ret);
        return;
    }
    if (p->announced && process_dir_read_supervisor(p->dir_fd, &record, NULL) == 0) {
        ret->phase = RUNTIME_RUNNING;
        ret->pid = record.child_pid;
        ret->uid = record.uid;
        ret->started_us = record.started_us;
        ret->cgroup = record.cgroup;
        ret->frozen_since_us = record.frozen_since_us;
        ret->frozen_us = record.frozen_us;
        /* why again: what held the lock a moment ago ended before it could be watched */
        if (p->pidfd < 0 && verify(p, &record) < 0)
            p->exited = settle(p, NULL, 0);
        if (p->exited)
            poll_exited(p, ret);
    }
    ret->supervisor_pid = p->supervisor_pid;
}

static int on_folder(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
    struct runtime_process *p = userdata;

    (void)source;
    if ((event->len > 0 && streq(event->name, "supervisor.json")) ||
        (event->mask & IN_Q_OVERFLOW) != 0) {
        p->announced = true;
        p->changed(p->userdata);
    }
    return 0;
}

static int process_new(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                       void *userdata, struct runtime_process **ret, struct edl_error *error)
{
    _cleanup_(releasep) struct runtime_process *p = xcalloc(1, sizeof *p);
    int r;

    p->runtime = runtime;
    p->pidfd = -1;
    p->changed = changed;
    p->userdata = userdata;
    p->dir_fd = process_dir_open(dir, error);
    if (p->dir_fd < 0)
        return p->dir_fd;
    r = sd_event_add_inotify(p->runtime->event, &p->folder_source, dir, IN_MOVED_TO, on_folder, p);
    if (r < 0)
        return edl_error_errno(error, r, "cannot watch %s", dir);
    *ret = TAKE_PTR(p);
    return 0;
}

/* on_launched - a folder that nobody locks after a failure has no supervisor, and gets none */
static void on_launched(pid_t pid, int take_pidfd, const struct edl_error *why, void *userdata)
{
    struct runtime_process *p = userdata;
    char reason[RUNTIME_REASON_SIZE];

    p->launch = NULL;
    if (pid > 0) {
        found(p, pid, take_pidfd);
        p->announced = p->announced || p->pidfd < 0; /* who is not watched is found by its record */
    } else if (why != NULL) {
        (void)snprintf(reason, sizeof reason, "cannot start: %.240s", why->text);
        p->exited = settle(p, reason, why->code);
    }
    p->changed(p->userdata);
}

void runtime_weigh(struct runtime *runtime, uint64_t job_id, uint64_t cpu_weight)
{
    launcher_weigh(runtime->launcher, job_id, cpu_weight);
}

int runtime_start(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                  void *userdata, struct runtime_process **ret, struct edl_error *error)
{
    _cleanup_(releasep) struct runtime_process *p = NULL;
    int r = process_new(runtime, dir, changed, userdata, &p, error);

    if (r == 0)
        r = launcher_start(p->runtime->launcher, dir, on_launched, p, &p->launch, error);
    if (r == 0)
        *ret = TAKE_PTR(p);
    return r;
}

int runtime_adopt(struct runtime *runtime, const char *dir, runtime_changed_fn changed,
                  void *userdata, struct runtime_process **ret, struct edl_error *error)
{
    int r = process_new(runtime, dir, changed, userdata, ret, error);

    if (r == 0)
        (*ret)->announced = true;
    return r; /* the rest: runtime_poll */
}

int runtime_new(sd_event *event, struct launcher *take_launcher, struct runtime **ret,
                struct edl_error *error)
{
    struct runtime *runtime = xcalloc(1, sizeof *runtime);
    int r = clock_boot_id(runtime->boot_id, sizeof runtime->boot_id);

    runtime->event = sd_event_ref(event);
    runtime->launcher = take_launcher;
    if (r < 0) {
        (void)runtime_free(runtime);
        return edl_error_errno(error, r, "cannot read the boot id");
    }
    *ret = runtime;
    return 0;
}

struct runtime *runtime_free(struct runtime *runtime)
{
    if (runtime == NULL)
        return NULL;
    (void)launcher_free(runtime->launcher);
    sd_event_unref(runtime->event);
    free(runtime);
    return NULL;
}
