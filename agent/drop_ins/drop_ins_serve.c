/* SPDX-License-Identifier: Apache-2.0 */
/* drop_ins_serve.c - see drop_ins_serve.h
 *
 * An earlier run may have been killed together with its agent. The run that gets the lock of the
 * visit behind it first ends all that it left, which a word of the environment tells. */
#include "agent/drop_ins/drop_ins_serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/drop_in.h"
#include "agent/drop_ins/drop_in_folder.h"
#include "agent/drop_ins/drop_in_run.h"
#include "agent/drop_ins/visit_record.h"
#include "agent/machine/account.h"
#include "agent/machine/identity.h"
#include "agent/processes/process_dir.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define ENVIRONMENT_MAX 20
#define PATH_OF_ROOT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SWEEP_WAIT_MS 5000 /* for one that was killed; more is a call that does not end */

struct run {
    const json_t *document; /* borrowed */
    enum drop_in_kind kind;
    uint64_t deadline_us;
    int agent_fd, visit_fd;
    struct visit_record record;
    char *environment[ENVIRONMENT_MAX + 1]; /* owned */
    size_t n_environment;
    char reason[DROP_IN_REASON_SIZE]; /* "": well so far */
    bool cut;
};

static void fail(struct run *run, const char *why)
{
    drop_in_say(run->kind, "", DROP_IN_REFUSED, 0, why, run->reason);
}

/* ---- what an earlier run left ---- */

/* end_one - the number is taken once more: while the pidfd is open it is nobody else's */
static bool end_one(pid_t pid, const char *word)
{
    _cleanup_close_ int pidfd = pidfd_open(pid, 0);
    struct pollfd gone = { .fd = pidfd, .events = POLLIN };

    if (pidfd == -1 || !identity_has_word(pid, word))
        return false;
    (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    (void)poll(&gone, 1, SWEEP_WAIT_MS);
    return true;
}

/* sweep - until a look finds nobody */
static void sweep(const char *visit_dir)
{
    _cleanup_free_ char *word = text_format("EDL_VISIT=%s", visit_dir);
    bool found = true;

    for (int rounds = 0; found && rounds < 20; rounds++) {
        _cleanup_closedir_ DIR *proc = opendir("/proc");
        const struct dirent *entry;

        found = false;
        while (proc != NULL && (entry = readdir(proc)) != NULL) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

            if (pid > 1 && pid != getpid() && identity_has_word(pid, word) && end_one(pid, word))
                found = true;
        }
    }
}

/* ---- what drop-ins are told ---- */

static void put(struct run *run, char *take_word)
{
    if (run->n_environment < ENVIRONMENT_MAX)
        run->environment[run->n_environment++] = take_word;
    else
        free(take_word);
}

static void make_environment(struct run *run)
{
    const struct visit_record *record = &run->record;
    const char *home = geteuid() == 0 ? "/root" : getenv("HOME");

    put(run, xstrdup("PATH=" PATH_OF_ROOT));
    put(run, xstrdup("LANG=C.UTF-8"));
    put(run, xstrdup("SHELL=/bin/sh"));
    put(run, text_format("HOME=%s", home != NULL ? home : "/"));
    put(run, text_format("EDL_DROP_IN=%s", drop_in_kind_name(run->kind)));
    put(run, text_format("EDL_VISIT=%s", json_text(run->document, "visit_dir")));
    put(run, text_format("EDL_NODE=%s", json_text(run->document, "node")));
    put(run, text_format("EDL_JOB_ID=%" PRIu64, record->job_id));
    put(run, text_format("EDL_JOB_NAME=%s", record->job));
    put(run, text_format("EDL_JOB_USER=%s", record->user));
    put(run, text_format("EDL_JOB_UID=%u", record->uid));
    put(run, text_format("EDL_JOB_GID=%u", record->gid));
    put(run, text_format("EDL_GPUS=%s", record->gpus));
}

/* ---- the visit ---- */

/* set_stage - before what it stands for begins */
static void set_stage(struct run *run, enum visit_stage stage)
{
    struct edl_error error = { 0 };

    run->record.stage = stage;
    if (visit_write(run->visit_fd, &run->record, &error) < 0)
        fail(run, error.text);
}

/* begin_prolog - false: there is none, as no account is there to run the job. Its supervisor
 * says so */
static bool begin_prolog(struct run *run, bool found)
{
    struct account account = { 0 };
    struct edl_error error = { 0 };
    int r = account_resolve(json_object_get(run->document, "account"), &account, &error);

    if (r < 0) {
        log_info("job %" PRIu64 ": no prolog: %s", json_u64(run->document, "job_id"), error.text);
        account_done(&account);
        return false;
    }
    if (found)
        sweep(json_text(run->document, "visit_dir"));
    visit_record_done(&run->record);
    run->record = (struct visit_record){ .job_id = json_u64(run->document, "job_id"),
                                         .job = xstrdup(json_text(run->document, "job")),
                                         .user = xstrdup(account.name),
                                         .uid = account.uid,
                                         .gid = account.gid,
                                         .gpus = xstrdup(json_text(run->document, "gpus")) };
    account_done(&account);
    set_stage(run, VISIT_STAGE_PROLOG);
    return true;
}

/* begin_epilog - false: nothing ever began, or it was done with */
static bool begin_epilog(struct run *run, bool found)
{
    const char *gpus = json_text(run->document, "gpus");

    if (!found)
        return false;
    if (run->record.stage != VISIT_STAGE_OPEN)
        sweep(json_text(run->document, "visit_dir"));
    if (gpus[0] != '\0') { /* of the process that ended last: they are its own until we are done */
        free(run->record.gpus);
        run->record.gpus = xstrdup(gpus);
    }
    set_stage(run, VISIT_STAGE_EPILOG);
    return true;
}

static bool is_cut(const struct run *run)
{
    struct pollfd agent = { .fd = run->agent_fd, .events = POLLIN | POLLRDHUP };

    return poll(&agent, 1, 0) != 0;
}

static void run_one(struct run *run, const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    const struct drop_in_run one = { .kind = run->kind,
                                     .path = path,
                                     .name = name,
                                     .environment = run->environment,
                                     .job_id = run->record.job_id,
                                     .deadline_us = run->deadline_us,
                                     .agent_fd = run->agent_fd };
    struct drop_in_result result = { .end = DROP_IN_REFUSED };
    struct edl_error error = { 0 };

    if (!drop_in_is_program(path))
        return;
    if (geteuid() == 0 && drop_in_check_trust(path, &error) < 0) {
        (void)snprintf(result.last_line, sizeof result.last_line, "%.127s", error.text);
        log_error("%s", error.remedy);
    } else {
        drop_in_run(&one, &result);
    }
    run->cut = result.cut;
    if (result.end == DROP_IN_TIMEOUT)
        result.number = (int)(json_u64(run->document, "timeout_us") / USEC_PER_SEC);
    if (result.end != DROP_IN_DONE)
        drop_in_say(run->kind, name, result.end, result.number, result.last_line, run->reason);
}

/* run_all - a prolog until one fails; an epilog to its end, as each undoes its own */
static void run_all(struct run *run)
{
    const char *path = json_text(run->document, "folder");
    struct drop_in_folder folder;
    struct edl_error error = { 0 };

    make_environment(run);
    if (drop_in_folder_read(path, &folder, &error) < 0)
        fail(run, error.text);
    for (size_t i = 0; i < folder.n && !run->cut; i++)
        if (run->reason[0] == '\0' || run->kind == DROP_IN_EPILOG)
            run_one(run, path, folder.names[i]);
    drop_in_folder_done(&folder);
}

/* keep_failure - for the agent, or the next one, to tell */
static void keep_failure(const struct run *run)
{
    const char *path = json_text(run->document, "failed_path");
    _cleanup_free_ char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    _cleanup_close_ int fd = -1;

    if (slash == NULL)
        return;
    *slash = '\0';
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)file_write_atomic(fd, slash + 1, run->reason, strlen(run->reason), 0600, NULL);
}

static void end_visit(struct run *run)
{
    if (run->kind == DROP_IN_PROLOG && run->reason[0] == '\0')
        set_stage(run, VISIT_STAGE_OPEN);
    if (run->kind == DROP_IN_PROLOG)
        return;
    if (run->reason[0] != '\0')
        keep_failure(run);
    visit_remove(run->visit_fd, json_text(run->document, "visit_dir"));
}

static void visit(struct run *run)
{
    const char *path = json_text(run->document, "visit_dir");
    struct edl_error error = { 0 };
    bool found, begins;
    int r = visit_open(path, &run->visit_fd, &error);

    if (r < 0) {
        fail(run, r == -EINTR ? "an earlier run for this job does not end" : error.text);
        return;
    }
    (void)alarm(0);
    found = visit_read(run->visit_fd, &run->record, &error) == 0;
    if (is_cut(run)) {
        run->cut = true;
        return;
    }
    begins = run->kind == DROP_IN_PROLOG ? begin_prolog(run, found) : begin_epilog(run, found);
    if (begins && run->reason[0] == '\0')
        run_all(run);
    if (begins && !run->cut)
        end_visit(run);
    else if (!begins && !found)
        visit_remove(run->visit_fd, path);
}

/* ---- the talk with the agent ---- */

static json_t *take_document(int fd)
{
    _cleanup_free_ char *text = xcalloc(1, DROP_INS_DOCUMENT_MAX);
    ssize_t n = recv(fd, text, DROP_INS_DOCUMENT_MAX, 0);

    return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

static void answer(const struct run *run)
{
    json_t *json = json_pack("{s:s}", "reason", run->reason);
    _cleanup_free_ char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;

    json_decref(json);
    if (text != NULL)
        (void)send(run->agent_fd, text, strlen(text), MSG_NOSIGNAL);
}

static void on_alarm(int number)
{
    (void)number;
}

int drop_ins_serve(int fd)
{
    json_t *document = take_document(fd);
    struct run run = { .document = document, .agent_fd = fd, .visit_fd = -1 };
    const struct sigaction interrupt = { .sa_handler = on_alarm }; /* ends the wait for a lock */
    uint64_t timeout_us = json_u64(document, "timeout_us");

    if (document == NULL) {
        log_error("edl-agent did not say which drop-ins to run");
        return 1;
    }
    log_node(json_text(document, "node"));
    run.kind = streq(json_text(document, "kind"), drop_in_kind_name(DROP_IN_EPILOG))
                   ? DROP_IN_EPILOG
                   : DROP_IN_PROLOG;
    run.deadline_us = clock_read_us(CLOCK_BOOTTIME) + timeout_us;
    (void)sigaction(SIGALRM, &interrupt, NULL);
    (void)alarm((unsigned)(timeout_us / USEC_PER_SEC) + 1);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
        log_error("cannot become a subreaper: %s", strerror(errno));
    visit(&run);
    if (!run.cut)
        answer(&run);
    for (size_t i = 0; i < run.n_environment; i++)
        free(run.environment[i]);
    visit_record_done(&run.record);
    (void)safe_close(run.visit_fd);
    json_decref(document);
    return 0;
}
