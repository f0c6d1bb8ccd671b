/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - sessions of people in processes: who may, what is asked for, which there are */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/api/session_wish.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/core/core.h"
#include "scheduler/nodes/sessions.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/rfc3339.h"

#define LISTED_MAX 12 /* processes that an answer names */

/* --- whether there is what is asked for --- */

static int refuse_waiting(const struct scheduler *scheduler, const struct job *job,
                          struct edl_error *error)
{
    char since[RFC3339_MAX], now[JOB_REASON_SIZE];

    (void)cluster_explain(scheduler->cluster, job, now, sizeof now);
    (void)edl_error_set(
        error, EDL_EBADTRANSITION, "job %s waits since %s: %.250s", job->spec->name,
        rfc3339_format(clock_shown_us(job->submitted_wall_us) / USEC_PER_SEC * USEC_PER_SEC, since),
        now[0] != '\0' ? now : job->reason);
    return edl_error_remedy(error, "`edl why %s` tells what would start it", job->spec->name);
}

static int refuse_ended(const struct job *job, struct edl_error *error)
{
    char since[RFC3339_MAX];

    (void)edl_error_set(
        error, EDL_EBADTRANSITION, "job %s has ended: it %s%s at %s", job->spec->name,
        job->state == JOB_KILLED ? "was " : "", job_state_to_string(job->state),
        rfc3339_format(clock_shown_us(job->ended_wall_us) / USEC_PER_SEC * USEC_PER_SEC, since));
    return edl_error_remedy(error, "`edl logs %s` has its output", job->spec->name);
}

/* list_running - "trainer-0, trainer-1 and 7 more" */
static void list_running(const struct job *job, char *text, size_t size)
{
    const struct process *process;
    size_t used = 0;
    unsigned n = 0;

    text[0] = '\0';
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->state != PROCESS_RUNNING)
            continue;
        if (n < LISTED_MAX && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s-%u", n > 0 ? ", " : "",
                                     job->spec->roles[process->role].name, process->index);
        n++;
    }
    if (n > LISTED_MAX && used < size)
        (void)snprintf(text + used, size - used, " and %u more", n - LISTED_MAX);
    else if (n == 0)
        (void)snprintf(text, size, "none runs at the moment");
}

static int refuse_process(const struct job *job, const char *name, struct edl_error *error)
{
    char running[300];

    list_running(job, running, sizeof running);
    (void)edl_error_at(error, -ENOENT, "/process", "job %s has no process %.60s", job->spec->name,
                       name);
    return edl_error_remedy(error, "those that run: %s", running);
}

/* working_role - whose process is meant when none is named */
static uint32_t working_role(const struct job *job)
{
    int role = job_spec_role(job->spec, "trainer");

    return role >= 0 ? (uint32_t)role : 0;
}

/* first_running - NULL: none runs */
static const struct process *first_running(const struct job *job)
{
    const struct process *process, *first = NULL;
    uint32_t role = working_role(job);

    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role == role && process->state == PROCESS_RUNNING &&
            (first == NULL || process->index < first->index))
            first = process;
    }
    return first;
}

static int refuse_not_running(const struct job *job, const struct process *process,
                              const char *name, struct edl_error *error)
{
    char running[300];

    list_running(job, running, sizeof running);
    if (process == NULL)
        (void)edl_error_set(error, EDL_EBADTRANSITION, "%.60s of job %s does not run now", name,
                            job->spec->name);
    else
        (void)edl_error_set(error, EDL_EBADTRANSITION, "%.60s of job %s is %s, and does not run%s",
                            name, job->spec->name, process_state_to_string(process->state),
                            process->state < PROCESS_RUNNING ? " yet" : "");
    return edl_error_remedy(error, "ask again in a moment; those that run: %s", running);
}

static const struct process *newest_of(const struct job *job, uint32_t role, uint32_t index)
{
    return index < job->n_slots[role] ? job->slots[role][index].newest : NULL;
}

static int find_named(const struct job *job, const char *name, const struct process **ret,
                      struct edl_error *error)
{
    char role_name[ROLE_NAME_MAX + 1];
    const char *dash = strrchr(name, '-');
    const struct process *process;
    uint64_t index;
    int role;

    if (dash == NULL || dash - name > ROLE_NAME_MAX || parse_u64(dash + 1, &index) < 0 ||
        index > UINT32_MAX)
        return refuse_process(job, name, error);
    (void)snprintf(role_name, sizeof role_name, "%.*s", (int)(dash - name), name);
    role = job_spec_role(job->spec, role_name);
    if (role < 0)
        return refuse_process(job, name, error);
    process = newest_of(job, (uint32_t)role, (uint32_t)index);
    if (process == NULL)
        return refuse_process(job, name, error);
    if (process->state != PROCESS_RUNNING && process->state != PROCESS_STOPPING)
        return refuse_not_running(job, process, name, error);
    *ret = process;
    return 0;
}

static int find_process(const struct scheduler *scheduler, const struct job *job, const char *name,
                        const struct process **ret, struct edl_error *error)
{
    if (job_state_is_final(job->state))
        return refuse_ended(job, error);
    if (job->state == JOB_QUEUED)
        return refuse_waiting(scheduler, job, error);
    if (name != NULL)
        return find_named(job, name, ret, error);
    *ret = first_running(job);
    return *ret != NULL
               ? 0
               : refuse_not_running(job, NULL, job->spec->roles[working_role(job)].name, error);
}

/* check_node - whether its agent can be asked now */
static int check_node(const struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    const struct node *node = cluster_node(scheduler->cluster, name);
    const struct machine *machine = machines_find(&scheduler->machines, name);

    if (node == NULL || node->state == NODE_LOST || node->disconnected || !node->heard ||
        machine == NULL) {
        (void)edl_error_set(error, EDL_EHTTP, "node %s cannot be reached now", name);
        return edl_error_remedy(error, "`edl nodes %s` tells why; ask again later", name);
    }
    if (machine->opens_sessions)
        return 0;
    (void)edl_error_set(error, EDL_EWIRE,
                        "the agent of node %s does not say that it opens sessions", name);
    return edl_error_remedy(error, "upgrade edl-agent on %s; its processes run on meanwhile", name);
}

/* --- calls --- */

static int check_owner(struct scheduler *scheduler, const struct http_request *request,
                       const struct job *job, bool ends_job, struct edl_error *error)
{
    struct caller caller = { .role = USER_NOBODY };

    (void)auth_caller(scheduler, request, &caller);
    if (streq(caller.user, job->user))
        return 0;
    if (caller.role >= USER_OPERATOR && !ends_job)
        return 0;
    (void)edl_error_set(error, -EACCES, "job %s belongs to %s, and you are %s", job->spec->name,
                        job->user, caller.user);
    return edl_error_remedy(error,
                            ends_job ? "leave out ends_job: nobody but %s says that"
                                     : "ask %s, or an operator",
                            job->user);
}

static int open_session(struct scheduler *scheduler, struct http_request *request,
                        const struct job *job, const json_t *body, struct session **ret,
                        struct edl_error *error)
{
    struct session_wish wish = { .members = json_object() };
    const char *name = NULL;
    int r = session_wish_read(body, &wish, &name, error);

    if (r == 0)
        r = check_owner(scheduler, request, job, wish.ends_job, error);
    if (r == 0)
        r = find_process(scheduler, job, name, &wish.process, error);
    if (r == 0)
        r = check_node(scheduler, wish.process->node_name, error);
    if (r == 0)
        r = session_begin(scheduler, request, &wish, ret, error);
    json_decref(wish.members);
    return r;
}

void api_session_open(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    struct session *session;
    json_t *body = NULL;
    struct held *held;
    int r;

    if (job == NULL)
        return;
    r = check_owner(scheduler, request, job, false, &error);
    if (r == 0)
        r = body_object(request, &body, &error);
    if (r == 0)
        r = open_session(scheduler, request, job, body, &session, &error);
    json_decref(body);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held = held_new(request);
    held->audited = true; /* with its command, which the call's own line does not have */
    held_after_commit(scheduler, held, 201, session_made_to_json(scheduler, session));
}

static bool may_see(const struct session *session, const struct caller *caller)
{
    return caller->role >= USER_OPERATOR || session_is_of(session, caller->user);
}

void api_sessions_list(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct caller caller = { .role = USER_NOBODY };
    json_t *list = json_array();

    (void)auth_caller(scheduler, request, &caller);
    for (const struct session *session = sessions_first(scheduler); session != NULL;
         session = session_next(session))
        if (!session_is_over(session) && may_see(session, &caller))
            (void)json_array_append_new(list, session_to_json(session));
    http_reply_json(request, 200, json_pack("{s:o}", "sessions", list));
}

/* find_session - NULL with the request answered */
static struct session *find_session(struct scheduler *scheduler, struct http_request *request)
{
    struct session *session = sessions_find(scheduler, http_request_param(request, "session"));
    struct caller caller = { .role = USER_NOBODY };
    struct edl_error error = { 0 };

    (void)auth_caller(scheduler, request, &caller);
    if (session != NULL && may_see(session, &caller))
        return session;
    (void)edl_error_set(&error, -ENOENT, "there is no such session of yours");
    (void)edl_error_remedy(&error, "one is forgotten a minute after its end, or when the scheduler "
                                   "is restarted");
    http_reply_error(request, &error);
    return NULL;
}

void api_session_show(struct http_request *request, void *userdata)
{
    const struct session *session = find_session(userdata, request);

    if (session != NULL)
        http_reply_json(request, 200, session_state_to_json(session));
}

void api_session_end(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct session *session = find_session(scheduler, request);
    struct caller caller = { .role = USER_NOBODY };

    if (session == NULL)
        return;
    (void)auth_caller(scheduler, request, &caller);
    session_kill(session, caller.user);
    held_after_commit(scheduler, held_new(request), 200, session_state_to_json(session));
}
