/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - what lies behind the units of this node
 *
 * The runtime says that something changed, process_refresh polls it and tells what it saw. The core
 * says what that means. The folder stays on disk until the core forgets the unit: its end is then
 * on record with the scheduler. */
#include "agent/processes/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/environment.h"
#include "agent/machine/gpus.h"
#include "agent/groups/job_weights.h"
#include "agent/layout.h"
#include "agent/logs/log_names.h"
#include "agent/processes/folder_remover.h"
#include "agent/processes/process_dir.h"
#include "agent/processes/start_mark.h"
#include "agent/supervisor/process_limits.h"
#include "agent/machine/procfs.h"
#include "agent/runtime.h"
#include "agent/link/subject.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"

#define DYING_US (5 * USEC_PER_SEC) /* from SIGKILL on; who takes longer is told of */
#define DEFAULT_GRACE_US (30 * USEC_PER_SEC)

static struct process *process_new(struct process_table *table, const struct process_id *id)
{
    struct process *p = xcalloc(1, sizeof *p);

    p->id = *id;
    p->key = process_id_bytes(id);
    p->table = table;
    DL_APPEND(table->list, p);
    HASH_ADD(hh, table->by_key, key, sizeof p->key, p);
    table->n++;
    return p;
}

static void process_free(struct process *p)
{
    HASH_DEL(p->table->by_key, p);
    DL_DELETE(p->table->list, p);
    p->table->n--;
    (void)runtime_release(p->handle);
    json_decref(p->progress);
    free(p->cgroup);
    free(p->stuck);
    free(p->error);
    free(p->dir);
    free(p);
}

static void weigh(struct process *p, uint64_t cpu_weight)
{
    uint64_t sum = job_weights_change(&p->table->weights, p->id.job_id, p->cpu_weight, cpu_weight);

    p->cpu_weight = cpu_weight;
    runtime_weigh(p->table->runtime, p->id.job_id, sum);
}

static enum agent_phase phase_of(enum runtime_phase phase)
{
    static const enum agent_phase phases[] = { [RUNTIME_STARTING] = AGENT_STARTING,
                                               [RUNTIME_RUNNING] = AGENT_RUNNING,
                                               [RUNTIME_EXITED] = AGENT_GONE };

    return phases[phase];
}

/* take_state - facts borrow the reason from state */
static struct agent_facts take_state(struct process *p, const struct runtime_state *state)
{
    p->supervisor_pid = state->supervisor_pid;
    if (state->pid != 0 && state->phase == RUNTIME_RUNNING) {
        if (p->started_us == 0)
            p->started_us =
                state->started_us != 0 ? state->started_us : procfs_started_us(state->pid);
        p->uid = state->uid;
        p->has_uid = true;
    }
    if (state->pid != 0)
        p->pid = state->pid;
    p->frozen_since_us = state->frozen_since_us;
    p->frozen_us = MAX_OF(p->frozen_us, state->frozen_us);
    if (p->cgroup == NULL && state->cgroup.unified[0] != '\0') {
        p->cgroup = xcalloc(1, sizeof *p->cgroup);
        *p->cgroup = state->cgroup;
    }
    if (state->phase == RUNTIME_EXITED) {
        p->cpu_used_us = MAX_OF(p->cpu_used_us, state->cpu_used_us);
        p->memory_used_bytes = 0;
        p->tasks = 0;
        p->orphans_reaped = state->orphans_reaped;
        p->error_before_us = state->error_before_us;
        free(p->error);
        p->error = state->error[0] != '\0' ? xstrdup(state->error) : NULL;
        p->table->ended_cpu_us += p->cpu_used_us;
        p->handle = runtime_release(p->handle);
        weigh(p, 0);
    }
    return (struct agent_facts){ .phase = phase_of(state->phase),
                                 .found = state->supervisor_pid > 0,
                                 .frozen = state->frozen_since_us > 0,
                                 .exit_code = state->exit_code,
                                 .exit_signal = state->exit_signal,
                                 .cause = state->cause,
                                 .unfit = state->unfit,
                                 .fault = state->fault,
                                 .reason = state->reason };
}

void process_refresh(struct process *p)
{
    struct runtime_state state;
    struct agent_facts facts;

    if (p->handle == NULL)
        return;
    runtime_poll(p->handle, &state);
    facts = take_state(p, &state);
    p->table->observed(p, &facts, p->table->userdata);
}

static void on_runtime_changed(void *userdata)
{
    process_refresh(userdata);
}

struct process *process_find(const struct process_table *table, const struct process_id *id)
{
    const struct process_bytes key = process_id_bytes(id);
    struct process *p;

    HASH_FIND(hh, table->by_key, &key, sizeof key, p);
    return p;
}

/* link_archive - so that it is there to be unpacked whatever becomes of the one that is cached
 * After the process folder: what belongs to none is swept. */
static int link_archive(struct process *p, const json_t *document, struct edl_error *error)
{
    const json_t *unpack = json_object_get(document, "unpack");
    const char *archive = json_string_value(json_object_get(unpack, "archive"));
    const char *cached = json_string_value(json_object_get(unpack, "cached"));
    int r;

    if (unpack == NULL)
        return 0;
    p->has_copy = true;
    r = folder_make_passable(p->table->layout->copies_dir, error);
    if (r == 0 && link(cached, archive) == -1)
        r = edl_error_errno(error, -errno, "cannot take the archive of its workspace");
    return r;
}

/* make_tmp - after the process folder as well, and gone before it; a job with a TMPDIR of its own
 * has none */
static int make_tmp(const struct process *p, const json_t *document, struct edl_error *error)
{
    _cleanup_free_ char *path = layout_tmp_dir(p->table->layout, &p->id);

    return streq(json_text(json_object_get(document, "env"), "TMPDIR"), path)
               ? folder_make(path, 0700, error)
               : 0;
}

static void take_ports(struct process *p, const json_t *ports)
{
    size_t i;
    json_t *port;

    json_array_foreach(ports, i, port)
    {
        json_int_t number = json_integer_value(port);

        if (number > 0 && number <= UINT16_MAX && p->n_ports < PROCESS_PORTS_MAX)
            p->ports[p->n_ports++] = (uint16_t)number;
    }
}

/* take_grants - what it holds of the node's as long as it lives; order: of its folder */
static void take_grants(struct process *p, const json_t *order)
{
    const char *cpus = json_string_value(json_object_get(order, "cpus"));

    p->gpus = gpus_of_order(order);
    take_ports(p, json_object_get(order, "ports"));
    (void)cpu_mask_parse(cpus != NULL ? cpus : "", &p->cpus);
    weigh(p, process_limits_of(order).cpu_weight);
}

static int make_and_start(struct process *p, const json_t *order,
                          const struct environment_facts *facts, struct edl_error *error)
{
    struct process_table *table = p->table;
    char *dir = layout_process_dir(table->layout, &p->id);
    json_t *document = NULL;
    int r = environment_complete(table->layout, &p->id, order, facts, &document, error);

    if (r == 0)
        r = process_dir_create(dir, document, error);
    if (r < 0) {
        json_decref(document);
        free(dir);
        return r;
    }
    p->dir = dir;
    take_grants(p, document);
    log_names_point(table->layout, &p->id, document);
    r = link_archive(p, document, error);
    if (r == 0)
        r = make_tmp(p, document, error);
    json_decref(document);
    start_mark_write(table->layout, &p->id);
    if (r < 0)
        return r;
    return runtime_start(table->runtime, dir, on_runtime_changed, p, &p->handle, error);
}

static void record_failure(const struct process *p, enum start_fault fault, const char *reason)
{
    struct exit_record record = { .exit_code = -1,
                                  .fault = fault,
                                  .ended_wall_us = clock_read_us(CLOCK_REALTIME) };
    _cleanup_close_ int dir_fd = p->dir != NULL ? process_dir_open(p->dir, NULL) : -1;

    (void)snprintf(record.reason, sizeof record.reason, "%s", reason);
    if (dir_fd >= 0)
        (void)process_dir_write_exit(dir_fd, &record, NULL);
}

int process_start(struct process_table *table, const struct process_id *id, const json_t *order,
                  const struct environment_facts *facts, char reason[AGENT_REASON_SIZE])
{
    struct process *p = process_new(table, id);
    struct edl_error error = { 0 };
    int r = make_and_start(p, order, facts, &error);

    if (r < 0) {
        (void)snprintf(reason, AGENT_REASON_SIZE, "cannot start: %.240s", error.text);
        record_failure(p, start_fault_of_error(r), reason);
        weigh(p, 0);
        return r;
    }
    return 0; /* its supervisor's number follows before its program can call */
}

uid_t process_uid(struct process *p)
{
    _cleanup_close_ int dir_fd = -1;
    struct supervisor_record record;

    if (p->has_uid || p->dir == NULL)
        return p->has_uid ? p->uid : (uid_t)-1;
    dir_fd = process_dir_open(p->dir, NULL);
    if (dir_fd < 0 || process_dir_read_supervisor(dir_fd, &record, NULL) < 0)
        return (uid_t)-1;
    p->has_uid = true;
    p->uid = record.uid;
    return p->uid;
}

void process_stop(struct process *p, uint64_t grace_us)
{
    struct edl_error error = { 0 };
    struct log_subject subject;
    char name[PROCESS_KEY_SIZE];

    p->gone_by_us = clock_read_us(CLOCK_BOOTTIME) + grace_us + DYING_US;
    if (p->handle != NULL && runtime_stop(p->handle, grace_us, &error) < 0) {
        subject = subject_of(&p->id, MESSAGE_NONE);
        (void)log_failure_of(&subject, &error, "process %s", process_id_key(&p->id, name));
    }
}

void process_end_silent(struct process *p, uint64_t within_us)
{
    struct edl_error error = { 0 };
    struct log_subject subject = subject_of(&p->id, MESSAGE_NONE);
    char name[PROCESS_KEY_SIZE];

    (void)process_id_key(&p->id, name);
    if (!p->silence_told)
        log_entry(LOG_LEVEL_WARNING, &subject,
                  "process %s said nothing for %.3g s, though it had promised to", name,
                  (double)within_us / USEC_PER_SEC);
    p->silence_told = true; /* the agent says it again until the end of the process */
    if (p->handle != NULL && runtime_end_silent(p->handle, within_us, &error) < 0)
        (void)log_failure_of(&subject, &error, "process %s", name);
}

/* Once for each promise, and not each time that it is kept. */
void process_promise(struct process *p, uint64_t within_us)
{
    _cleanup_close_ int dir_fd = -1;
    struct log_subject subject;
    char name[PROCESS_KEY_SIZE];
    int r;

    p->silence_told = false;
    if (p->promised_us == within_us || p->dir == NULL)
        return;
    p->promised_us = within_us;
    dir_fd = process_dir_open(p->dir, NULL);
    r = dir_fd < 0 ? dir_fd : process_dir_write_promise(dir_fd, within_us);
    if (r == 0)
        return;
    subject = subject_of(&p->id, MESSAGE_NONE);
    log_entry(LOG_LEVEL_WARNING, &subject,
              "the promise of process %s is not kept for the next agent: %s",
              process_id_key(&p->id, name), strerror(-r));
}

void process_thaw(struct process *p, uint16_t epoch)
{
    struct edl_error error = { 0 };
    struct log_subject subject;
    char name[PROCESS_KEY_SIZE];

    if (p->handle != NULL && p->frozen_since_us > 0 && runtime_thaw(p->handle, epoch, &error) < 0) {
        subject = subject_of(&p->id, MESSAGE_NONE);
        (void)log_failure_of(&subject, &error, "process %s", process_id_key(&p->id, name));
    }
}

void process_forget(struct process *p)
{
    struct folder_remover *remover = p->table->remover;
    char *dir = TAKE_PTR(p->dir);
    bool has_copy = p->has_copy;

    process_free(p);
    if (dir != NULL)
        folder_remover_add(remover, dir, has_copy);
}

/* adopt_one - a folder of which nothing ran was being made, or its supervisor asked for, when the
 * agent died. It is not known then, rather than over: that is no failure of its job. Orders bring
 * it again, or another in its place. */
static int adopt_one(struct process_table *table, const struct process_id *id, const char *dir,
                     struct edl_error *error)
{
    _cleanup_close_ int dir_fd = process_dir_open(dir, error);
    struct runtime_state state;
    struct agent_facts facts;
    struct process *p;
    json_t *order = NULL;
    struct log_subject subject = subject_of(id, MESSAGE_NONE);
    json_int_t grace_us;
    char name[PROCESS_KEY_SIZE];
    int r;

    if (dir_fd < 0) /* the last agent's remover was at it */
        return dir_fd == -ENOENT ? 0 : dir_fd;
    r = process_dir_forget_unstarted(dir, error);
    if (r != 0) {
        log_entry(LOG_LEVEL_INFO, &subject, "process %s was never started",
                  process_id_key(id, name));
        return MIN_OF(r, 0);
    }
    r = process_dir_read_order(dir_fd, &order, error);
    if (r == -ENOENT)
        return process_dir_remove(dir, error);
    grace_us = json_integer_value(json_object_get(order, "grace_us"));
    p = process_new(table, id);
    take_grants(p, order);
    p->has_copy = json_object_get(order, "unpack") != NULL;
    p->promised_us = process_dir_read_promise(dir_fd);
    json_decref(order);
    p->dir = xstrdup(dir);
    r = runtime_adopt(table->runtime, dir, on_runtime_changed, p, &p->handle, error);
    if (r < 0) {
        weigh(p, 0);
        process_free(p);
        return r;
    }
    subject.message = MESSAGE_AGENT_PROCESS_ADOPTED;
    log_entry(LOG_LEVEL_INFO, &subject, "process %s adopted", process_id_key(&p->id, name));
    runtime_poll(p->handle, &state);
    facts = take_state(p, &state);
    table->adopted(p, grace_us > 0 ? (uint64_t)grace_us : DEFAULT_GRACE_US, &facts,
                   table->userdata);
    return 0;
}

int process_table_adopt(struct process_table *table, struct edl_error *error)
{
    _cleanup_closedir_ DIR *folders = opendir(table->layout->processes_dir);
    const struct dirent *entry;

    if (folders == NULL)
        return edl_error_errno(error, -errno, "cannot read %s", table->layout->processes_dir);
    while ((entry = readdir(folders)) != NULL) {
        _cleanup_free_ char *dir = NULL;
        struct process_id id;
        int r;

        if (process_id_parse(entry->d_name, &id) < 0)
            continue;
        dir = layout_process_dir(table->layout, &id);
        r = adopt_one(table, &id, dir, error);
        if (r < 0)
            return r;
    }
    return 0;
}

void process_table_done(struct process_table *table)
{
    struct process *p, *next;

    DL_FOREACH_SAFE(table->list, p, next)
    process_free(p);
    job_weights_free(&table->weights);
}
