/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - output of processes: pushed by agents, read by people
 *
 * A read notes its interest, which changes the orders of the job's nodes, which makes their agents
 * push. Without follow=1 it waits a moment for them; with it it waits for news. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/scheduler.h"
#include "scheduler/workspaces/archive.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define READ_WAIT_US (2 * USEC_PER_SEC)
#define READ_BYTES (8 * 1024 * 1024)
#define FOLLOW_BYTES (1024 * 1024)
#define PUSH_TEXT_BYTES (1024 * 1024)
#define LOG_FILE_BYTES 1024 /* its name */

struct poll_logs {
    struct log_read read;
    char role[ROLE_NAME_MAX + 1];
    bool follow;
};

static void reply_entries(struct held *held, const struct poll_logs *poll, json_t *take_entries,
                          bool ended)
{
    char cursor[24];

    (void)snprintf(cursor, sizeof cursor, "%" PRIu64, poll->read.cursor);
    held_reply_json(held, 200,
                    json_pack("{s:o,s:s,s:b,s:b,s:b}", "entries", take_entries, "cursor", cursor,
                              "end", (int)(ended && !poll->read.more), "more", (int)poll->read.more,
                              "truncated", (int)poll->read.truncated));
}

static bool poll_logs(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    struct poll_logs *poll = data;
    struct instant now = clock_instant();
    struct edl_error error = { 0 };
    struct job *job;
    json_t *entries;
    bool ended;
    int r = archive_job(scheduler, poll->read.filter.job_id, &job, &error);

    if (r <= 0) {
        if (r == 0) /* it was over for so long that it is forgotten */
            (void)edl_error_set(&error, -ENOENT, HELD_REMOVED_TEXT);
        held_reply_error(held, &error);
        return true;
    }
    if (!poll->follow && !last &&
        !log_hub_is_fresh(scheduler->logs, job, &poll->read.filter, now.now_us))
        return false;
    /* That a job has ended is told once it is on disk: at a deadline a turn may be under way. */
    poll->read.job = job;
    poll->read.now_us = now.now_us;
    ended = !scheduler->turn_wanted && log_hub_is_ended(scheduler->logs, job, now.wall_us);
    if (log_hub_read(scheduler->logs, &poll->read, &entries, &error) < 0) {
        held_reply_error(held, &error);
        return true;
    }
    if (poll->follow && !last && !ended && json_array_size(entries) == 0) {
        json_decref(entries);
        return false;
    }
    reply_entries(held, poll, entries, ended);
    return true;
}

/* The nodes where something of the job lives get new orders. */
static void wake_nodes(struct scheduler *scheduler, const struct job *job)
{
    const struct process *process;

    if (job == NULL)
        return;
    DL_FOREACH2(job->processes, process, job_next)
    {
        char topic[TOPIC_MAX];

        if (process_state_is_final(process->state) || process->node == NULL)
            continue;
        process->node->orders_version++;
        (void)snprintf(topic, sizeof topic, "orders/%s", process->node->name);
        scheduler_notify(scheduler, topic);
    }
}

static void on_reader_gone(uint64_t job_id, void *userdata)
{
    struct scheduler *scheduler = userdata;

    wake_nodes(scheduler, cluster_job(scheduler->cluster, job_id));
}

static int on_hub_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;
    uint64_t next_us =
        log_hub_expire(scheduler->logs, clock_read_us(CLOCK_BOOTTIME), on_reader_gone, scheduler);

    (void)usec;
    if (next_us == NEVER_US)
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    (void)sd_event_source_set_time(source, next_us);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* One timer for all readers, made with the first. */
static void arm_hub_timer(struct scheduler *scheduler)
{
    uint64_t soon_us = clock_read_us(CLOCK_BOOTTIME) + LOG_INTEREST_US;
    int enabled = SD_EVENT_OFF;

    if (scheduler->hub_timer == NULL) {
        (void)sd_event_add_time(scheduler->event, &scheduler->hub_timer, CLOCK_BOOTTIME, soon_us,
                                100 * USEC_PER_MSEC, on_hub_timer, scheduler);
        return;
    }
    (void)sd_event_source_get_enabled(scheduler->hub_timer, &enabled);
    if (enabled != SD_EVENT_OFF)
        return; /* it is armed for an earlier instant, and looks again then */
    (void)sd_event_source_set_time(scheduler->hub_timer, soon_us);
    (void)sd_event_source_set_enabled(scheduler->hub_timer, SD_EVENT_ONESHOT);
}

static int read_query(struct http_request *request, const struct job *job, struct poll_logs *poll,
                      uint64_t *ret_deadline_us, struct edl_error *error)
{
    const char *role = http_request_query(request, "role");
    const char *after = http_request_query(request, "after");
    uint64_t index, follow;
    int r = http_request_query_u64(request, "index", UINT32_MAX, &index, error);

    if (r == 0)
        r = http_request_query_u64(request, "follow", 0, &follow, error);
    if (r == 0)
        r = api_wait_us(request, 20, ret_deadline_us, error);
    if (r < 0)
        return r;
    if (role != NULL && role[0] != '\0' && job_spec_role(job->spec, role) < 0)
        return edl_error_set(error, -EINVAL, "job %s has no role \"%s\"", job->spec->name, role);
    if (after != NULL && after[0] != '\0' && parse_u64(after, &poll->read.cursor) < 0)
        return edl_error_set(error, -EINVAL, "after=%s is not a cursor of an earlier answer",
                             after);
    (void)snprintf(poll->role, sizeof poll->role, "%s", role != NULL ? role : "");
    poll->follow = follow != 0;
    poll->read.max_bytes = poll->follow ? FOLLOW_BYTES : READ_BYTES;
    poll->read.filter = (struct log_filter){
        .job_id = job->id,
        .role = poll->role[0] != '\0' ? poll->role : NULL,
        .index = (uint32_t)MIN_OF(index, (uint64_t)UINT32_MAX),
    };
    return 0;
}

/* check_reader - what a program writes is its submitter's, as its files are */
static int check_reader(struct scheduler *scheduler, const struct http_request *request,
                        const struct job *job, struct edl_error *error)
{
    enum user_role least = scheduler->options.log_role;
    struct caller caller = { .role = USER_NOBODY };

    (void)auth_caller(scheduler, request, &caller);
    if (caller.role >= least || streq(caller.user, job->user))
        return 0;
    (void)edl_error_set(error, -EACCES, "the output of job %s belongs to %s, and you are %s",
                        job->spec->name, job->user, caller.user);
    return edl_error_remedy(error, "ask %s, or somebody with role %s", job->user,
                            user_role_to_string(least));
}

void api_job_logs(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    struct poll_logs *poll;
    uint64_t deadline_us, now_us;
    char topic[TOPIC_MAX];

    if (job == NULL)
        return;
    poll = xcalloc(1, sizeof *poll);
    if (check_reader(scheduler, request, job, &error) < 0 ||
        read_query(request, job, poll, &deadline_us, &error) < 0) {
        free(poll);
        http_reply_error(request, &error);
        return;
    }
    now_us = clock_read_us(CLOCK_BOOTTIME);
    if (!poll->follow)
        deadline_us = now_us + READ_WAIT_US;
    if (!job_state_is_final(job->state)) {
        if (log_hub_want(scheduler->logs, &poll->read.filter, now_us,
                         deadline_us + LOG_INTEREST_US))
            wake_nodes(scheduler, job);
        arm_hub_timer(scheduler);
    }
    (void)snprintf(topic, sizeof topic, "logs/%" PRIu64, job->id);
    waiters_add(scheduler, held_new(request), topic, deadline_us, poll_logs, poll);
}

/* --- pushes --- */

struct push_body {
    uint64_t job_id, index, incarnation;
    const char *role;
    struct log_push push;
    bool keep; /* nobody asked for it */
    struct log_mark marks[LOG_MARKS_MAX];
};

/* Absent: none. Only rising offsets make sense; times are the agent's word. */
static int read_marks(const json_t *body, struct push_body *ret, struct edl_error *error)
{
    const json_t *array = json_object_get(body, "marks");
    size_t n = json_array_size(array);

    if (array != NULL && (!json_is_array(array) || n > LOG_MARKS_MAX))
        return edl_error_at(error, -EINVAL, "/marks", "/marks is not a list of at most %d",
                            LOG_MARKS_MAX);
    for (size_t i = 0; i < n; i++) {
        json_int_t offset = json_integer_value(json_array_get(json_array_get(array, i), 0));
        json_int_t wall_us = json_integer_value(json_array_get(json_array_get(array, i), 1));

        if (offset <= 0 || wall_us <= 0 || (i > 0 && (uint64_t)offset <= ret->marks[i - 1].offset))
            return edl_error_at(error, -EINVAL, "/marks", "/marks/%zu is no [offset, time]", i);
        ret->marks[i] = (struct log_mark){ (uint64_t)offset, (uint64_t)wall_us };
    }
    ret->push.marks = ret->marks;
    ret->push.n_marks = n;
    return 0;
}

static int read_push(const json_t *body, struct push_body *ret, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    int r = body_u64(&must, "job_id", INT64_MAX, &ret->job_id, error);

    if (r == 0)
        r = body_string(&must, "role", ROLE_NAME_MAX, &ret->role, error);
    if (r == 0)
        r = body_u64(&must, "index", UINT32_MAX, &ret->index, error);
    if (r == 0)
        r = body_u64(&must, "incarnation", INT64_MAX, &ret->incarnation, error);
    if (r == 0)
        r = body_u64(&must, "offset", INT64_MAX, &ret->push.offset, error);
    if (r == 0)
        r = body_u64(&must, "next_offset", INT64_MAX, &ret->push.next_offset, error);
    if (r == 0)
        r = body_verbatim(&must, "text", PUSH_TEXT_BYTES, &ret->push.text, error);
    if (r == 0)
        r = body_u64(&may, "dropped_bytes", INT64_MAX, &ret->push.dropped_bytes, error);
    if (r == 0)
        r = body_reported(&may, "file", LOG_FILE_BYTES, &ret->push.file, error);
    if (r == 0)
        r = body_bool(&may, "end", &ret->push.end, error);
    if (r == 0)
        r = body_bool(&may, "keep", &ret->keep, error);
    if (r == 0)
        r = read_marks(body, ret, error);
    if (r == 0 && ret->push.next_offset < ret->push.offset)
        r = edl_error_at(error, -EINVAL, "/next_offset", "next_offset is before offset");
    return r;
}

/* find_process - one of the job that lives or lived on this node, or NULL; job may be NULL */
static const struct process *find_process(const struct job *job, const struct node *node,
                                          const char *role_name, uint32_t index,
                                          uint64_t incarnation)
{
    int role = job != NULL ? job_spec_role(job->spec, role_name) : -ENOENT;
    const struct process *process =
        role >= 0 ? job_find_process(job, (uint32_t)role, index, incarnation) : NULL;

    return process != NULL && streq(process->node_name, node->name) ? process : NULL;
}

static int find_pushed(struct scheduler *scheduler, const struct node *node, struct push_body *body,
                       struct edl_error *error)
{
    struct job *job = NULL;
    int r = archive_job(scheduler, body->job_id, &job, error); /* a node may come back late */

    if (r < 0)
        return r;
    body->push.process =
        find_process(job, node, body->role, (uint32_t)body->index, body->incarnation);
    if (body->push.process == NULL)
        return edl_error_set(error, -ENOENT, "no such process of node %s", node->name);
    return 0;
}

void api_logs_note_silence(struct scheduler *scheduler, const struct node *node,
                           const struct process_report *report)
{
    /* why: nobody waits for the rest of the output of a job that the core has let go of */
    const struct job *job = cluster_job(scheduler->cluster, report->job_id);
    const struct process *process =
        find_process(job, node, report->role, report->index, report->incarnation);
    char topic[TOPIC_MAX];

    if (process == NULL)
        return;
    log_hub_push_silence(scheduler->logs, process, clock_read_us(CLOCK_BOOTTIME));
    arm_hub_timer(scheduler);
    (void)snprintf(topic, sizeof topic, "logs/%" PRIu64, report->job_id);
    scheduler_notify(scheduler, topic);
}

void api_node_logs(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    struct push_body push = { 0 };
    json_t *body = NULL;
    char topic[TOPIC_MAX];
    uint64_t now_us;
    int r;

    if (node == NULL)
        return;
    r = body_object(request, &body, &error);
    if (r == 0)
        r = read_push(body, &push, &error);
    if (r == 0)
        r = find_pushed(scheduler, node, &push, &error);
    if (r == 0 && push.push.end && scheduler->degraded.on) /* readers wait; a tail is stored */
        r = degraded_error(scheduler, &error);
    if (r < 0) {
        http_reply_error(request, &error);
        json_decref(body);
        return;
    }
    now_us = clock_read_us(CLOCK_BOOTTIME);
    push.push.wall_us = clock_read_us(CLOCK_REALTIME);
    if (push.keep && !push.push.end) {
        if (log_hub_keep(scheduler->logs, &push.push, now_us))
            scheduler_touch(scheduler);
        http_reply_json(request, 204, NULL);
        json_decref(body);
        return;
    }
    log_hub_push(scheduler->logs, &push.push, now_us);
    arm_hub_timer(scheduler);
    (void)snprintf(topic, sizeof topic, "logs/%" PRIu64, push.job_id);
    scheduler_notify(scheduler, topic);
    if (push.push.end) /* the agent may forget it once it is stored */
        held_after_commit(scheduler, held_new(request), 204, NULL);
    else
        http_reply_json(request, 204, NULL);
    json_decref(body);
}
