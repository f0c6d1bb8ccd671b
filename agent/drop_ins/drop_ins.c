/* SPDX-License-Identifier: Apache-2.0 */
/* drop_ins.c - prolog and epilog of the jobs of this node, as the core decides
 *
 * The core knows which job is where (core/visits.h), this file which starts wait for a prolog, and
 * drop_in_runs.c runs them. A failed run sets the node aside: its reports say so until one was
 * taken. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/core/drop_in.h"
#include "agent/drop_ins/drop_in_folder.h"
#include "agent/drop_ins/drop_in_runs.h"
#include "agent/drop_ins/visit_record.h"
#include "agent/environment.h"
#include "agent/link/link.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"

/* A start that waits for the prolog of its job, or for the epilog before that. */
struct drop_in_wait {
    struct process_id id;
    json_t *order; /* ref */
    bool cancelled;
    struct drop_in_wait *prev, *next; /* utlist */
};

/* The run of a job: at most one at a time, by the core's rules. */
struct drop_in_visit {
    struct drop_ins *drop_ins; /* borrowed */
    uint64_t job_id;
    enum drop_in_kind kind;
    struct drop_in_errand *errand; /* borrowed; it ends us */
    struct drop_in_visit *prev, *next;
};

/* A folder as it was read last. */
struct drop_in_seen {
    char *path; /* owned; NULL: never */
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    bool any;
};

struct drop_ins {
    struct agent *agent; /* borrowed */
    struct drop_in_runs *runs;
    char *visits_dir, *failed_path; /* owned */
    struct drop_in_seen seen[DROP_IN_KINDS];
    struct drop_in_wait *waits;
    struct drop_in_visit *visits;
    char aside[DROP_IN_REASON_SIZE]; /* "": not */
    uint64_t aside_number;           /* another one for each failure */
    bool aside_sent;                 /* by the report that is under way */
};

/* ---- the folders ---- */

static const char *folder_of(const struct agent *a, enum drop_in_kind kind)
{
    return drop_in_folder_path(a->now, kind);
}

/* has_any - what lies in a folder is looked at again when that has changed; one that cannot be
 * read may have some: the run tells why not */
static bool has_any(struct drop_in_seen *seen, const char *path)
{
    struct drop_in_folder folder;
    struct stat st;

    if (path[0] == '\0')
        return false;
    if (stat(path, &st) == -1)
        return errno != ENOENT;
    if (seen->path != NULL && streq(seen->path, path) && seen->dev == st.st_dev &&
        seen->ino == st.st_ino && seen->changed.tv_sec == st.st_mtim.tv_sec &&
        seen->changed.tv_nsec == st.st_mtim.tv_nsec)
        return seen->any;
    seen->any = drop_in_folder_read(path, &folder, NULL) < 0 || folder.n > 0;
    drop_in_folder_done(&folder);
    free(seen->path);
    seen->path = xstrdup(path);
    seen->dev = st.st_dev;
    seen->ino = st.st_ino;
    seen->changed = st.st_mtim;
    return seen->any;
}

static bool has_drop_ins(struct drop_ins *d)
{
    bool prolog = has_any(&d->seen[DROP_IN_PROLOG], folder_of(d->agent, DROP_IN_PROLOG));

    return prolog || has_any(&d->seen[DROP_IN_EPILOG], folder_of(d->agent, DROP_IN_EPILOG));
}

/* ---- a node that is set aside ---- */

static void set_aside(struct drop_ins *d, const char *why)
{
    log_entry(LOG_LEVEL_ERROR, &(struct log_subject){ .message = MESSAGE_AGENT_SET_ASIDE },
              "%s: nothing is to start here until this node is set ready again: edl node uncordon"
              " %s",
              why, d->agent->layout.node);
    (void)snprintf(d->aside, sizeof d->aside, "%s", why);
    d->aside_number = clock_read_us(CLOCK_REALTIME);
    d->aside_sent = false;
    if (d->agent->link != NULL)
        link_changed(d->agent->link);
}

const char *agent_set_aside(struct agent *a, uint64_t *ret_number)
{
    if (a->drop_ins->aside[0] == '\0')
        return NULL;
    a->drop_ins->aside_sent = true;
    *ret_number = a->drop_ins->aside_number;
    return a->drop_ins->aside;
}

void agent_aside_told(struct agent *a)
{
    if (!a->drop_ins->aside_sent)
        return;
    a->drop_ins->aside_sent = false;
    a->drop_ins->aside[0] = '\0';
    (void)unlink(a->drop_ins->failed_path);
}

/* read_aside - of an epilog whose agent was gone before it could tell */
static void read_aside(struct drop_ins *d)
{
    _cleanup_close_ int fd = open(d->failed_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    ssize_t n = fd >= 0 ? read(fd, d->aside, sizeof d->aside - 1) : 0;

    d->aside[MAX_OF(n, 0)] = '\0';
    if (fd >= 0 && fstat(fd, &status) == 0)
        d->aside_number = (uint64_t)status.st_mtim.tv_sec * USEC_PER_SEC +
                          (uint64_t)status.st_mtim.tv_nsec / 1000;
}

/* ---- starts that wait ---- */

static void wait_free(struct drop_ins *d, struct drop_in_wait *wait)
{
    DL_DELETE(d->waits, wait);
    json_decref(wait->order);
    free(wait);
}

static void wait_end(struct drop_ins *d, struct drop_in_wait *wait, enum start_fault fault,
                     const char *why)
{
    const struct process_id id = wait->id;

    wait_free(d, wait);
    agent_core_start_failed(d->agent->core, &id, fault, why, clock_read_us(CLOCK_BOOTTIME));
}

static void begin_prolog(struct drop_ins *d, const struct process_id *id, const json_t *order);

/* enter - true: it waits (again) */
static bool enter(struct drop_ins *d, const struct process_id *id, const json_t *order)
{
    struct agent *a = d->agent;
    bool drop_ins = !agent_core_is_entered(a->core, id->job_id) && has_drop_ins(d);
    enum visit_entry entry = agent_core_enter(a->core, id, drop_ins);

    if (entry == VISIT_BEGIN)
        begin_prolog(d, id, order);
    return entry != VISIT_GO;
}

/* go_on - what waits for this job, now that a run has ended; why: it failed; NULL: it did not */
static void go_on(struct drop_ins *d, uint64_t job_id, const char *why)
{
    struct drop_in_wait *wait, *next;

    DL_FOREACH_SAFE(d->waits, wait, next)
    {
        if (wait->id.job_id != job_id)
            continue;
        if (wait->cancelled) {
            wait_end(d, wait, START_FAULT_NONE, "stopped before it started");
        } else if (why != NULL) {
            wait_end(d, wait, START_FAULT_NODE, why);
        } else if (!enter(d, &wait->id, wait->order)) {
            const struct process_id id = wait->id;
            json_t *order = json_incref(wait->order);

            wait_free(d, wait);
            agent_start_behind_prolog(d->agent, &id, order);
            json_decref(order);
        }
    }
    agent_decided(d->agent);
}

/* ---- runs ---- */

static struct drop_in_visit *find_visit(const struct drop_ins *d, uint64_t job_id)
{
    struct drop_in_visit *visit;

    DL_FOREACH(d->visits, visit)
    if (visit->job_id == job_id)
        return visit;
    return NULL;
}

/* on_ended - see drop_in_ended_fn */
static void on_ended(const char *reason, void *userdata)
{
    struct drop_in_visit *visit = userdata;
    struct drop_ins *d = visit->drop_ins;
    uint64_t job_id = visit->job_id;
    bool well = reason != NULL && reason[0] == '\0';
    bool failed = reason != NULL && !well;
    bool prolog = visit->kind == DROP_IN_PROLOG;

    log_entry(failed ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, &(struct log_subject){ .job = job_id },
              "job %" PRIu64 ": %s", job_id,
              failed   ? reason
              : prolog ? (well ? "its prolog ended well" : "its prolog was stopped")
                       : "its epilog ended well");
    DL_DELETE(d->visits, visit);
    free(visit);
    if (failed)
        set_aside(d, reason);
    if (prolog)
        agent_core_prolog_ended(d->agent->core, job_id, well);
    else
        agent_core_epilog_ended(d->agent->core, job_id, clock_read_us(CLOCK_BOOTTIME));
    go_on(d, job_id, failed ? reason : NULL);
}

static void begin(struct drop_ins *d, enum drop_in_kind kind, uint64_t job_id,
                  json_t *take_document)
{
    const struct agent_options *o = d->agent->now;
    uint64_t timeout_us = kind == DROP_IN_PROLOG ? o->prolog_timeout_us : o->epilog_timeout_us;
    struct drop_in_visit *visit = xcalloc(1, sizeof *visit);
    const char *path = folder_of(d->agent, kind);
    _cleanup_free_ char *folder = path[0] != '/' ? realpath(path, NULL) : NULL;

    (void)json_object_update_new(take_document,
                                 json_pack("{s:s, s:I, s:s, s:s, s:o, s:s, s:I}", "kind",
                                           drop_in_kind_name(kind), "job_id", (json_int_t)job_id,
                                           "node", d->agent->layout.node, "folder",
                                           folder != NULL ? folder : path, "visit_dir",
                                           json_sprintf("%s/%" PRIu64, d->visits_dir, job_id),
                                           "failed_path", d->failed_path, "timeout_us",
                                           (json_int_t)timeout_us));
    visit->drop_ins = d;
    visit->job_id = job_id;
    visit->kind = kind;
    visit->errand = drop_in_runs_add(d->runs, drop_in_kind_name(kind), job_id, take_document,
                                     timeout_us, on_ended, visit);
    DL_APPEND(d->visits, visit);
}

static void begin_prolog(struct drop_ins *d, const struct process_id *id, const json_t *order)
{
    const char *gpus = json_text(json_object_get(order, "env"), "EDL_GPUS");
    json_t *account = environment_account(&d->agent->layout, order, d->agent->accounts);

    begin(d, DROP_IN_PROLOG, id->job_id,
          json_pack("{s:s, s:s, s:o}", "job", json_text(order, "job"), "gpus", gpus, "account",
                    account));
}

/* say_gpus - "0,3" */
static void say_gpus(uint64_t mask, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < 64 && used < size; i++)
        if (mask & UINT64_C(1) << i)
            used += (size_t)snprintf(text + used, size - used, "%s%u", used > 0 ? "," : "", i);
}

void agent_run_epilog(struct agent *a, const struct process_id *id)
{
    const struct process *process = process_find(&a->table, id);
    char gpus[200]; /* of 64 numbers */

    say_gpus(process != NULL ? process->gpus : 0, gpus, sizeof gpus);
    begin(a->drop_ins, DROP_IN_EPILOG, id->job_id, json_pack("{s:s}", "gpus", gpus));
}

/* ---- what the agent asks ---- */

bool agent_await_prolog(struct agent *a, const struct process_id *id, json_t *order)
{
    struct drop_in_wait *wait;

    if (!enter(a->drop_ins, id, order))
        return false;
    wait = xcalloc(1, sizeof *wait);
    wait->id = *id;
    wait->order = json_incref(order);
    DL_APPEND(a->drop_ins->waits, wait);
    return true;
}

static bool is_wanted(const struct drop_ins *d, uint64_t job_id)
{
    const struct drop_in_wait *wait;

    DL_FOREACH(d->waits, wait)
    if (wait->id.job_id == job_id && !wait->cancelled)
        return true;
    return false;
}

bool agent_cancel_prolog(struct agent *a, const struct process_id *id)
{
    struct drop_ins *d = a->drop_ins;
    const struct drop_in_visit *visit = find_visit(d, id->job_id);
    struct drop_in_wait *wait;

    DL_FOREACH(d->waits, wait)
    if (process_id_equal(&wait->id, id))
        break;
    if (wait == NULL)
        return false;
    wait->cancelled = true;
    if (visit != NULL && visit->kind == DROP_IN_PROLOG && !is_wanted(d, id->job_id))
        drop_in_errand_stop(visit->errand);
    return true;
}

/* ---- start and end of the agent ---- */

/* adopt - the visits that an earlier agent left */
static void adopt(struct drop_ins *d)
{
    _cleanup_closedir_ DIR *folder = opendir(d->visits_dir);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        _cleanup_close_ int fd =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        struct visit_record record;
        struct edl_error error = { 0 };
        int r;

        if (entry->d_name[0] == '.' || fd < 0)
            continue;
        r = visit_read(fd, &record, &error);
        if (r == 0)
            agent_core_adopt_visit(d->agent->core, record.job_id,
                                   record.stage != VISIT_STAGE_PROLOG);
        else if (r != -ENOENT)
            (void)log_failure(&error, "the epilog of job %s will not run", entry->d_name);
        visit_record_done(&record);
    }
}

void agent_open_drop_ins(struct agent *a)
{
    _cleanup_free_ char *program = text_format("%s/edl-supervisor", a->layout.program_dir);
    struct drop_ins *d = a->drop_ins = xcalloc(1, sizeof *d);

    d->agent = a;
    d->visits_dir = text_format("%s/visits", a->layout.state_dir);
    d->failed_path = text_format("%s/set-aside", a->layout.state_dir);
    d->runs = drop_in_runs_new(a->event, program, a->by_systemd);
    read_aside(d);
    adopt(d);
}

void agent_close_drop_ins(struct agent *a)
{
    struct drop_ins *d = a->drop_ins;
    struct drop_in_visit *visit, *next;

    if (d == NULL)
        return;
    (void)drop_in_runs_free(d->runs);
    while (d->waits != NULL)
        wait_free(d, d->waits);
    DL_FOREACH_SAFE(d->visits, visit, next)
    free(visit);
    for (size_t i = 0; i < DROP_IN_KINDS; i++)
        free(d->seen[i].path);
    free(d->visits_dir);
    free(d->failed_path);
    free(d);
    a->drop_ins = NULL;
}
