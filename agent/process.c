/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - the processes of this node
 *
 * Each follows unit_sm. The runtime says that something changed, process_refresh polls it and steps
 * the machine. An exited one stays in the table, and its folder on disk, until the scheduler no
 * longer lists it: its end is then on record there. */
#include "agent/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/environment.h"
#include "agent/layout.h"
#include "agent/process_dir.h"
#include "agent/process_id_json.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define DEFAULT_GRACE_US (30 * USEC_PER_SEC)

static const char *name_of(const struct process *p, char text[PROCESS_KEY_SIZE])
{
    return process_id_key(&p->id, text);
}

/* move - one step of the life cycle and its line in the log; false when nothing changed */
static bool move(struct process *p, enum unit_event event)
{
    enum unit_state next;
    struct edl_error error;
    char name[PROCESS_KEY_SIZE];

    if (unit_sm_step(p->state, event, &next, &error) < 0) {
        (void)log_failure(&error, "process %s", name_of(p, name));
        return false;
    }
    if (next == p->state)
        return false;
    p->state = next;
    if (next == UNIT_EXITED)
        log_info("process %s exited: code %d%s%s", name_of(p, name), p->exit_code,
                 p->reason[0] != '\0' ? ", " : "", p->reason);
    else
        log_info("process %s is %s", name_of(p, name), unit_state_name(next));
    return true;
}

static struct process *process_new(struct process_table *table, const struct process_id *id,
                                   uint64_t grace_us)
{
    struct process *p = xcalloc(1, sizeof *p);

    p->id = *id;
    p->grace_us = grace_us;
    p->table = table;
    DL_APPEND(table->list, p);
    table->n++;
    return p;
}

static void process_free(struct process *p)
{
    DL_DELETE(p->table->list, p);
    p->table->n--;
    (void)p->table->runtime->ops->release(p->handle);
    free(p->dir);
    free(p);
}

static void set_ended(struct process *p, int exit_code, const char *reason)
{
    p->exit_code = exit_code;
    (void)snprintf(p->reason, sizeof p->reason, "%s", reason);
    (void)move(p, UNIT_EVENT_GONE);
}

/* take_state - true when the state of the life cycle changed */
static bool take_state(struct process *p, const struct runtime_state *state)
{
    p->supervisor_pid = state->supervisor_pid;
    if (state->pid != 0)
        p->pid = state->pid;
    switch (state->phase) {
    case RUNTIME_STARTING:
        return false;
    case RUNTIME_RUNNING:
        return move(p, UNIT_EVENT_STARTED);
    case RUNTIME_EXITED:
        break;
    }
    p->exit_code = state->exit_code;
    p->exit_signal = state->exit_signal;
    p->cpu_used_us = MAX_OF(p->cpu_used_us, state->cpu_used_us);
    p->memory_used_bytes = 0;
    p->table->ended_cpu_us += p->cpu_used_us;
    (void)snprintf(p->reason, sizeof p->reason, "%s", state->reason);
    p->handle = p->table->runtime->ops->release(p->handle);
    return move(p, UNIT_EVENT_GONE);
}

void process_refresh(struct process *p)
{
    struct runtime_state state;

    if (p->handle == NULL)
        return;
    p->table->runtime->ops->poll(p->handle, &state);
    if (take_state(p, &state))
        p->table->changed(p, p->table->userdata);
}

static void on_runtime_changed(void *userdata)
{
    process_refresh(userdata);
}

struct process *process_find(const struct process_table *table, const struct process_id *id)
{
    struct process *p;

    DL_FOREACH(table->list, p)
    if (process_id_equal(&p->id, id))
        return p;
    return NULL;
}

void process_add_ended(struct process_table *table, const struct process_id *id, const char *reason)
{
    struct process *p = process_new(table, id, 0);

    p->exit_public = true; /* it wrote no log */
    p->tail_sent = true;
    set_ended(p, -1, reason);
    table->changed(p, table->userdata);
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
    json_decref(document);
    if (r < 0) {
        free(dir);
        return r;
    }
    p->dir = dir;
    return table->runtime->ops->start(table->runtime, dir, on_runtime_changed, p, &p->handle,
                                      error);
}

/* record_failure - so that an agent that adopts the folder tells the same story */
static void record_failure(const struct process *p, const char *reason)
{
    struct exit_record record = { .exit_code = -1, .ended_wall_us = clock_read_us(CLOCK_REALTIME) };
    _cleanup_close_ int dir_fd = p->dir != NULL ? process_dir_open(p->dir, NULL) : -1;

    (void)snprintf(record.reason, sizeof record.reason, "%s", reason);
    if (dir_fd >= 0)
        (void)process_dir_write_exit(dir_fd, &record, NULL);
}

void process_start(struct process_table *table, const struct process_id *id, uint64_t grace_us,
                   const json_t *order, const struct environment_facts *facts)
{
    struct process *p = process_new(table, id, grace_us);
    struct edl_error error = { 0 };
    char reason[RUNTIME_REASON_SIZE];

    if (make_and_start(p, order, facts, &error) < 0) {
        p->exit_public = true;
        p->tail_sent = true;
        (void)snprintf(reason, sizeof reason, "cannot start: %.240s", error.text);
        record_failure(p, reason);
        set_ended(p, -1, reason);
    } else {
        process_refresh(p); /* its supervisor's number: the program may call at once */
    }
    table->changed(p, table->userdata);
}

void process_stop(struct process *p, uint64_t grace_us)
{
    struct edl_error error = { 0 };
    char name[PROCESS_KEY_SIZE];

    if (p->handle == NULL)
        return;
    if (p->table->runtime->ops->stop(p->handle, grace_us, &error) < 0)
        (void)log_failure(&error, "process %s", name_of(p, name));
    if (move(p, UNIT_EVENT_STOP))
        p->table->changed(p, p->table->userdata);
}

void process_forget(struct process *p)
{
    struct edl_error error = { 0 };
    char name[PROCESS_KEY_SIZE];

    if (p->dir != NULL && process_dir_remove(p->dir, &error) < 0)
        (void)log_failure(&error, "process %s", name_of(p, name));
    process_free(p);
}

/* adopt_one - a folder without order.json was being made when the agent died: nothing ran */
static int adopt_one(struct process_table *table, const struct process_id *id, const char *dir,
                     struct edl_error *error)
{
    _cleanup_close_ int dir_fd = process_dir_open(dir, error);
    struct runtime_state state;
    struct process *p;
    json_t *order = NULL;
    json_int_t grace_us;
    char name[PROCESS_KEY_SIZE];
    int r;

    if (dir_fd < 0)
        return dir_fd;
    r = process_dir_read_order(dir_fd, &order, error);
    if (r == -ENOENT)
        return process_dir_remove(dir, error);
    grace_us = json_integer_value(json_object_get(order, "grace_us"));
    json_decref(order);
    p = process_new(table, id, grace_us > 0 ? (uint64_t)grace_us : DEFAULT_GRACE_US);
    p->dir = xstrdup(dir);
    r = table->runtime->ops->adopt(table->runtime, dir, on_runtime_changed, p, &p->handle, error);
    if (r < 0) {
        process_free(p);
        return r;
    }
    log_info("process %s adopted", name_of(p, name));
    table->runtime->ops->poll(p->handle, &state);
    (void)take_state(p, &state);
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
}

json_t *process_json(const struct process *p)
{
    /* An end is told after the last log lines. Until then nothing new is said: "preparing" is never
     * news, whereas "stopping" would mean that we end it, and its own end would not count. */
    bool exited = p->state == UNIT_EXITED && p->exit_public;
    enum unit_state state = p->state == UNIT_EXITED && !exited ? UNIT_PREPARING : p->state;
    json_t *json = process_id_json(&p->id);
    json_t *reason = json_string(exited ? p->reason : "");

    (void)json_object_set_new(json, "state", json_string(unit_state_name(state)));
    (void)json_object_set_new(json, "pid", json_integer(p->pid));
    (void)json_object_set_new(json, "exit_code", json_integer(exited ? p->exit_code : 0));
    (void)json_object_set_new(json, "exit_signal", json_integer(exited ? p->exit_signal : 0));
    (void)json_object_set_new(json, "reason", reason != NULL ? reason : json_string("?"));
    (void)json_object_set_new(json, "cpu_used_us", json_integer((json_int_t)p->cpu_used_us));
    (void)json_object_set_new(json, "memory_used_bytes",
                              json_integer((json_int_t)p->memory_used_bytes));
    return json;
}
