/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - jobs: submit, show, stop, other bounds */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/api/forecast.h"
#include "scheduler/api/job_defaults.h"
#include "scheduler/api/job_ports.h"
#include "scheduler/api/precondition.h"
#include "scheduler/api/workspaces.h"
#include "scheduler/calls/account_numbers.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/admission.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/node_orders.h"
#include "scheduler/core/events/services.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/json/admission_json.h"
#include "scheduler/json/job_json.h"
#include "scheduler/nodes/serving.h"
#include "scheduler/notices/notices.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/workspaces/archive.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "shared/parse.h"

static json_t *build_job(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct job *job = cluster_job(scheduler->cluster, id); /* not archived in its turn */

    (void)key;
    return job != NULL ? job_to_json(job, scheduler->options.policy->name, false) : NULL;
}

static bool tag_job(struct scheduler *scheduler, const char *key, uint64_t id, char ret[ETAG_MAX])
{
    const struct job *job = cluster_job(scheduler->cluster, id); /* not archived in its turn */

    (void)key;
    if (job != NULL)
        etag_of_job(job, ret, ETAG_MAX);
    return job != NULL;
}

void api_point_into_flat(struct edl_error *error)
{
    static const struct {
        const char *wrapped, *flat;
    } prefixes[] = { { "/metadata/", "/" }, { "/spec/", "/" } };

    for (size_t i = 0; i < ELEMENTS(prefixes); i++) {
        size_t length = strlen(prefixes[i].wrapped);
        char rest[sizeof error->pointer];

        if (strncmp(error->pointer, prefixes[i].wrapped, length) != 0)
            continue;
        (void)snprintf(rest, sizeof rest, "%s", error->pointer + length);
        (void)snprintf(error->pointer, sizeof error->pointer, "%s%s", prefixes[i].flat, rest);
        return;
    }
}

/* What is to be known of a document beside its job. */
struct reading {
    bool flat; /* its keys stand at the top */
    struct job_defaults defaults;
};

static int read_spec(const struct scheduler *scheduler, struct http_request *request,
                     struct job_spec **ret_spec, json_t **ret_ignored, struct reading *ret,
                     struct edl_error *error)
{
    size_t size;
    const char *body = http_request_body(request, &size);
    json_t *document;
    int r;

    if (size == 0) {
        (void)edl_error_set(error, -EINVAL, "the body is empty");
        return edl_error_remedy(error, "send a TrainingJob document, JSON or YAML");
    }
    if (http_request_was_read(request))
        r = http_request_json(request, &document, error);
    else
        r = job_document_parse(body, size, &job_document_bounds, &document, error);
    if (r < 0)
        return r;
    r = job_spec_from_document(document, ret_spec, ret_ignored, error);
    ret->flat = r == 0 && json_object_get(document, "spec") == NULL;
    if (r == 0) {
        job_defaults_apply(scheduler, *ret_spec, &ret->defaults);
        (*ret_spec)->deadline_wall_us = clock_elapsed_us((*ret_spec)->deadline_wall_us);
    }
    json_decref(document);
    return r;
}

/* Whoever runs programs as somebody has all that is theirs, on every node that allows it. */
static int check_user(const struct job_spec *spec, const struct caller *caller,
                      struct edl_error *error)
{
    if (spec->user[0] == '\0' || caller->role >= USER_ADMIN || streq(spec->user, caller->user))
        return 0;
    (void)edl_error_at(error, -EACCES, "/spec/user", "a job of %s's cannot run as %s", caller->user,
                       spec->user);
    return edl_error_remedy(error, "leave user out: it runs as %s; an admin may name anybody",
                            caller->user);
}

/* Who goes before others is not for each to say: above 0, and above what it is, operators decide.
 */
static int check_priority(const struct caller *caller, int32_t priority, int32_t now,
                          const char *pointer, struct edl_error *error)
{
    if (priority <= 0 || priority <= now || caller->role >= USER_OPERATOR)
        return 0;
    (void)edl_error_at(error, -EACCES, pointer, "priority %d is above 0, and %s is %s", priority,
                       caller->user, user_role_to_string(caller->role));
    return edl_error_remedy(error, "give 0 or less, or leave it out; an operator may raise it: "
                                   "edl scale JOB --priority N");
}

/* As an object it tells of which array a job is: who could say so would be of anybody's. */
static int check_array_form(const struct job_spec *spec, struct edl_error *error)
{
    if (spec->array.name == NULL)
        return 0;
    (void)edl_error_at(error, EDL_EBADSPEC, "/spec/array",
                       "a job is of an array only when it is submitted with it");
    return edl_error_remedy(error, "write array: 0-99, or leave it out");
}

/* Whether there is room for what the caller asks for; a limit that is reached is counted. An admin
 * has no limit of its own: it gives them, and what everybody has together is bounded all the same.
 */
static int check_room(struct scheduler *scheduler, const struct job_spec *spec,
                      const struct caller *caller, struct edl_error *error)
{
    int r = cluster_check_submit(scheduler->cluster, spec,
                                 caller->role < USER_ADMIN ? caller->user : NULL,
                                 &scheduler->options.limits, error);

    scheduler->metrics.over_limit += r == -EDQUOT;
    return r;
}

/* What its owner should know before it is needed: parameter servers whose checkpoints no other node
 * can read, on more than one node. */
static json_t *notes_to_json(const struct scheduler *scheduler, const struct job_spec *spec)
{
    const struct node *first = cluster_nodes(scheduler->cluster);
    json_t *notes = json_array();

    if (job_spec_role(spec, "pserver") >= 0 && spec->checkpoint_path == NULL && first != NULL &&
        first->hh.next != NULL)
        (void)json_array_append_new(
            notes,
            json_string("parameter servers keep checkpoints on their own nodes: one that is "
                        "started on another node gets the values that trainers have, and "
                        "the optimizer's state begins anew; to keep both: checkpoint: {path: "
                        "DIR}, a folder that all nodes see"));
    notices_note(scheduler, spec, notes);
    return notes;
}

/* is_array: the job is the first of the array that was submitted, and not one of it alone */
static void reply_accepted(struct scheduler *scheduler, struct http_request *request,
                           const struct job *job, bool is_array, json_t *ignored,
                           const struct reading *reading, const struct admission *outlook)
{
    struct held *held = held_new(request);
    const struct job_array *array = &job->spec->array;
    bool made = is_array && array->n > 0;
    char tag[ETAG_MAX];
    char reason[JOB_REASON_SIZE] = "";
    bool never = cluster_never_fits(scheduler->cluster, job, reason, sizeof reason);
    json_t *answer =
        json_pack("{s:s,s:I,s:s,s:s,s:s,s:o,s:o}", "job",
                  made ? job_spec_array(job->spec) : job->spec->name, "id", (json_int_t)job->id,
                  "state", job_state_to_string(job->state), "reason_code",
                  never ? cause_to_string(CAUSE_NEVER_FITS) : "", "reason", reason, "ignored",
                  ignored != NULL ? json_incref(ignored) : json_array(), "outlook",
                  admission_to_json(outlook));

    (void)json_object_set_new(answer, "defaults",
                              job_defaults_to_json(job->spec, &reading->defaults));
    (void)json_object_set_new(answer, "notes", notes_to_json(scheduler, job->spec));
    if (made)
        (void)json_object_set_new(answer, "array",
                                  json_pack("{s:I,s:I,s:I}", "first", (json_int_t)array->first,
                                            "jobs", (json_int_t)array->n, "last_id",
                                            (json_int_t)(job->id + array->n - 1)));
    (void)snprintf(held->location, sizeof held->location, "/jobs/%" PRIu64, job->id);
    etag_of_job(job, tag, sizeof tag);
    held->etag = xstrdup(tag); /* of what was submitted, should somebody change it in this turn */
    held_after_commit(scheduler, held, 201, answer);
}

/* Whether its deadline can be kept is asked before it is one of those who have one. */
static int submit(struct scheduler *scheduler, struct job_spec *take_spec, const char *user,
                  const struct archived_jobs *archived, struct admission *ret_outlook,
                  struct job **ret_job, struct edl_error *error)
{
    struct instant now = clock_instant();

    uint32_t n = MAX_OF(take_spec->array.n, 1U);
    uid_t uid;
    int r;

    cluster_admission(scheduler->cluster, take_spec, user, now, ret_outlook);
    r = cluster_submit_array(scheduler->cluster, take_spec, user, archived, now, ret_job, error);
    if (r < 0)
        return r;
    api_secret_make(scheduler, *ret_job, n);
    /* asked for now, it is known when the first order goes out */
    (void)account_number(scheduler->account_numbers, job_account(*ret_job),
                         clock_read_us(CLOCK_BOOTTIME), &uid);
    return 0;
}

void api_jobs_submit(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;
    struct archived_jobs archived = { 0 };
    struct caller caller = { .user = "" };
    struct admission outlook;
    json_t *ignored = NULL;
    struct job *job = NULL;
    bool dry_run = false;
    bool is_array;
    struct reading reading = { .flat = false };
    int r = api_dry_run(request, &dry_run, &error);

    (void)auth_caller(scheduler, request, &caller);
    if (r == 0)
        r = read_spec(scheduler, request, &spec, &ignored, &reading, &error);
    is_array = r == 0 && spec->array.n > 0 && spec->array.name == NULL;
    if (r == 0)
        r = check_array_form(spec, &error);
    if (r == 0)
        r = check_user(spec, &caller, &error);
    if (r == 0)
        r = check_priority(&caller, spec->priority, 0, "/spec/priority", &error);
    if (r == 0)
        r = notices_check(scheduler, spec, &error);
    if (r == 0)
        r = check_room(scheduler, spec, &caller, &error);
    if (r == 0)
        r = api_workspaces_check(scheduler, spec, &caller, &error);
    if (r == 0)
        r = archive_after(scheduler, caller.user, spec, &archived, &error);
    if (r == 0)
        r = api_job_ports_check(request, scheduler->cluster, spec, &error);
    if (r == 0 && dry_run)
        r = api_forecast_submit(scheduler, request, spec, caller.user, &archived, ignored,
                                reading.flat, &error);
    else if (r == 0)
        r = submit(scheduler, spec, caller.user, &archived, &outlook, &job, &error);
    archive_after_done(&archived);
    if (r < 0 && reading.flat)
        api_point_into_flat(&error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else if (job != NULL)
        reply_accepted(scheduler, request, job, is_array, ignored, &reading, &outlook);
    if (job == NULL)
        (void)job_spec_free(spec);
    json_decref(ignored);
}

/* ?state=WORD against the two words that are known; the first is the default */
static int query_state(struct http_request *request, const char *first, const char *second,
                       bool *ret_second, struct edl_error *error)
{
    const char *state = http_request_query(request, "state");

    if (state == NULL || streq(state, first) || streq(state, second)) {
        *ret_second = state != NULL && streq(state, second);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "state=%s is not known", state);
    return edl_error_remedy(error, "state=%s or state=%s", first, second);
}

/* Why a job is killed; by_whom holds the answer when the body gives none. */
#define BY_WHOM_MAX (USER_NAME_MAX + 16)
static int read_kill(struct scheduler *scheduler, struct http_request *request,
                     char by_whom[BY_WHOM_MAX], json_t **ret_body, const char **ret_reason,
                     struct edl_error *error)
{
    struct body_field field = { .at = "" };
    struct caller caller = { .user = "" };
    int r = body_object(request, ret_body, error);

    (void)auth_caller(scheduler, request, &caller);
    (void)snprintf(by_whom, BY_WHOM_MAX, "killed by %s", caller.user);
    *ret_reason = by_whom;
    field.object = *ret_body;
    if (r == 0)
        r = body_known(&field, "reason", error);
    return r == 0 ? body_string(&field, "reason", 200, ret_reason, error) : r;
}

/* Whether the caller may change the job, and has seen it as it is. */
static int check_change(struct scheduler *scheduler, const struct http_request *request,
                        const struct job *job, struct edl_error *error)
{
    char tag[ETAG_MAX];
    int r = auth_owner(scheduler, request, job->user, error);

    etag_of_job(job, tag, sizeof tag);
    return r < 0 ? r : precondition_check(request, tag, error);
}

void api_job_show(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    char tag[ETAG_MAX];
    json_t *answer;

    if (job == NULL)
        return;
    etag_of_job(job, tag, sizeof tag);
    http_reply_header(request, "ETag", tag);
    answer = job_to_json(job, scheduler->options.policy->name, true);
    if (auth_owner(scheduler, request, job->user, NULL) < 0)
        job_json_mask(answer); /* keys and passwords come that way */
    http_reply_json(request, 200, answer);
}

/* 202: the rest follows when the policy has decided and processes have started or ended; "state"
 * and "roles" of the job tell how far that is. */
static void reply_changed(struct scheduler *scheduler, struct http_request *request,
                          const struct job *job)
{
    struct held *held = held_new(request);

    (void)snprintf(held->location, sizeof held->location, "/jobs/%" PRIu64, job->id);
    held->tag = tag_job;
    held_build_after_commit(scheduler, held, 202, build_job, NULL, job->id);
}

void api_job_kill(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    char by_whom[BY_WHOM_MAX];
    const char *reason;
    json_t *body = NULL;
    int r;

    if (job == NULL)
        return;
    r = check_change(scheduler, request, job, &error);
    if (r == 0)
        r = read_kill(scheduler, request, by_whom, &body, &reason, &error);
    if (r == 0)
        r = cluster_kill_job(scheduler->cluster, job, reason, clock_instant(), &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        reply_changed(scheduler, request, job);
    json_decref(body);
}

/* Whose array the caller means by name: their own, that of the only other user who has one that is
 * not over, or USER/NAME's. */
static int array_owner(const struct scheduler *scheduler, const struct job_ref *ref,
                       const char *caller, const char **ret, struct edl_error *error)
{
    const struct job *job, *other = NULL;
    const char *rival = NULL;

    *ret = ref->has_user ? ref->user : caller;
    DL_FOREACH2(cluster_active_jobs(scheduler->cluster), job, active_next)
    {
        if (ref->has_user || !streq(job_spec_array(job->spec), ref->name))
            continue;
        if (streq(job->user, caller))
            return 0;
        if (other != NULL && !streq(other->user, job->user))
            rival = job->user;
        other = job;
    }
    if (rival != NULL)
        return names_are_of_several("an array", ref->name, other->user, rival, error);
    if (other != NULL)
        *ret = other->user;
    return 0;
}

void api_array_kill(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *name = http_request_param(request, "array");
    struct edl_error error = { 0 };
    char by_whom[BY_WHOM_MAX];
    const char *reason;
    json_t *body = NULL;
    uint32_t n = 0;
    struct job_ref ref = job_ref_read(name);
    struct caller caller = { .user = "" };
    const char *owner;
    int archived = 0;
    int r;

    (void)auth_caller(scheduler, request, &caller);
    r = array_owner(scheduler, &ref, caller.user, &owner, &error);
    if (r == 0)
        r = archived = store_has_archived_array(scheduler->store, owner, ref.name, &error);
    if (r >= 0)
        r = auth_owner(scheduler, request, owner, &error);
    if (r == 0)
        r = read_kill(scheduler, request, by_whom, &body, &reason, &error);
    if (r == 0)
        r = cluster_kill_array(scheduler->cluster, ref.name, owner, archived == 1, reason,
                               clock_instant(), &n, &error);
    if (r == -ENOENT)
        (void)edl_error_remedy(&error, "`edl ps --all` lists every job; one that is no array is "
                                       "killed by DELETE /jobs/{job}");
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        held_after_commit(scheduler, held_new(request), 202,
                          json_pack("{s:s,s:I}", "array", name, "jobs", (json_int_t)n));
    json_decref(body);
}

#define LIMIT_TEXT_MAX 40 /* of a time */

/* A bound that is left out keeps its value. */
static int read_bounds(const struct job *job, const struct body_field *field,
                       struct job_change *change, struct edl_error *error)
{
    const char *role = "trainer";
    uint64_t min, max;
    int r = body_string(field, "role", ROLE_NAME_MAX, &role, error);
    int at = job_spec_role(job->spec, role);

    if (r < 0)
        return r;
    if (at < 0)
        return edl_error_at(error, -EINVAL, "/role", "job %s has no role \"%s\"", job->spec->name,
                            role);
    min = job->spec->roles[at].min;
    max = job->spec->roles[at].max;
    r = body_u64(field, "min", ROLE_INSTANCES_MAX, &min, error);
    if (r == 0)
        r = body_u64(field, "max", ROLE_INSTANCES_MAX, &max, error);
    if (r < 0)
        return r;
    change->scale = true;
    change->role = role;
    change->min = (uint32_t)min;
    change->max = (uint32_t)max;
    return 0;
}

/* As in a document; "0": none any more. */
static int read_limit(const struct body_field *field, struct job_change *change,
                      struct edl_error *error)
{
    const char *text = NULL;
    uint64_t us = 0;
    int r = body_string(field, "time_limit", LIMIT_TEXT_MAX, &text, error);

    if (r < 0 || text == NULL)
        return r;
    if (!streq(text, "0") && (parse_seconds(text, &us) < 0 || us < JOB_TIME_LIMIT_MIN_US ||
                              us > JOB_TIME_LIMIT_MAX_US)) {
        (void)edl_error_at(error, -EINVAL, "/time_limit", "\"%s\" is no time from 1s to 10 years",
                           text);
        return edl_error_remedy(error, "90m or 8h, or 0 for none");
    }
    change->limit = true;
    change->time_limit_us = us;
    return 0;
}

/* Who asks for less is served sooner, so more than that is not for each to take. */
static int check_limit(const struct caller *caller, const struct job *job, uint64_t limit_us,
                       struct edl_error *error)
{
    uint64_t now_us = job->spec->time_limit_us;

    if (now_us == 0 || (limit_us != 0 && limit_us <= now_us) || caller->role >= USER_ADMIN)
        return 0;
    (void)edl_error_at(error, -EACCES, "/time_limit",
                       "that is more than its time limit of %" PRIu64 " s, and %s is %s",
                       now_us / USEC_PER_SEC, caller->user, user_role_to_string(caller->role));
    return edl_error_remedy(error,
                            "less is yours to set; an admin may give more: edl scale %s "
                            "--time TIME",
                            job->spec->name);
}

static int read_change(const struct job *job, const json_t *body, struct job_change *ret,
                       struct edl_error *error)
{
    struct body_field field = { .object = body, .at = "" };
    struct job_change change = { .scale = false };
    int64_t priority = 0;
    uint64_t at_once = 0;
    int r = body_known(&field, "role min max priority time_limit at_once", error);

    if (r == 0 && (body_has(&field, "min") || body_has(&field, "max")))
        r = read_bounds(job, &field, &change, error);
    if (r == 0)
        r = body_i64(&field, "priority", -JOB_PRIORITY_MAX, JOB_PRIORITY_MAX, &priority, error);
    if (r == 0)
        r = read_limit(&field, &change, error);
    if (r == 0)
        r = body_u64(&field, "at_once", JOB_ARRAY_MAX, &at_once, error);
    if (r < 0)
        return r;
    change.prioritise = body_has(&field, "priority");
    change.priority = (int32_t)priority;
    change.bound = body_has(&field, "at_once");
    change.at_once = (uint32_t)at_once;
    if (!change.scale && !change.prioritise && !change.limit && !change.bound) {
        (void)edl_error_set(error, -EINVAL, "there is nothing to change");
        return edl_error_remedy(error, "give min, max, priority, time_limit or at_once");
    }
    *ret = change;
    return 0;
}

/* A user's own limit holds whoever makes its job larger, but an admin. */
static int check_larger(struct scheduler *scheduler, const struct http_request *request,
                        const struct job *job, const struct job_change *change,
                        struct edl_error *error)
{
    int role = change->scale ? job_spec_role(job->spec, change->role) : -ENOENT;
    struct caller caller = { .role = USER_NOBODY };
    int r = 0;

    (void)auth_caller(scheduler, request, &caller);
    if (role >= 0 && !job_state_is_final(job->state))
        r = cluster_check_scale(scheduler->cluster, job, (uint32_t)role, change->max,
                                caller.role < USER_ADMIN, &scheduler->options.limits, error);
    scheduler->metrics.over_limit += r < 0;
    return r;
}

void api_job_change(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct job *job = api_job(scheduler, request);
    struct caller caller = { .user = "" };
    struct edl_error error = { 0 };
    struct job_change change;
    json_t *body = NULL;
    bool dry_run = false;
    int r;

    if (job == NULL)
        return;
    (void)auth_caller(scheduler, request, &caller);
    r = check_change(scheduler, request, job, &error);
    if (r == 0)
        r = api_dry_run(request, &dry_run, &error);
    if (r == 0)
        r = body_object(request, &body, &error);
    if (r == 0)
        r = read_change(job, body, &change, &error);
    if (r == 0)
        r = check_larger(scheduler, request, job, &change, &error);
    if (r == 0 && change.prioritise)
        r = check_priority(&caller, change.priority, job->spec->priority, "/priority", &error);
    if (r == 0 && change.limit)
        r = check_limit(&caller, job, change.time_limit_us, &error);
    if (r == 0 && dry_run)
        r = api_forecast_change(scheduler, request, job, &change, &error);
    else if (r == 0)
        r = cluster_change_job(scheduler->cluster, job, &change, clock_instant(), &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else if (!dry_run)
        reply_changed(scheduler, request, job);
    json_decref(body);
}

static json_t *process_with_progress(const struct scheduler *scheduler,
                                     const struct process *process)
{
    json_t *json = process_to_json(process);
    json_t *progress = progresses_find(&scheduler->progresses, process);

    if (progress != NULL)
        (void)json_object_set(json, "progress", progress);
    return json;
}

/* null: it does not serve by itself, or none of those that serve has told */
static json_t *serving_of(const struct scheduler *scheduler, const struct job *job)
{
    _cleanup_free_ const struct process **processes = NULL;
    struct service service;
    size_t n;

    if (service_of(job, NULL, &service, NULL) < 0)
        return json_null();
    n = service_processes(&service, &processes);
    return serving_figures(&scheduler->progresses, &service, processes, n);
}

void api_job_processes(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    const struct process *process;
    json_t *processes;
    bool all = false;

    if (job == NULL)
        return;
    if (query_state(request, "live", "all", &all, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    processes = json_array();
    DL_FOREACH2(job->processes, process, job_next)
    if (all || !process_state_is_final(process->state))
        (void)json_array_append_new(processes, process_with_progress(scheduler, process));
    http_reply_json(request, 200,
                    json_pack("{s:o,s:o}", "processes", processes, "serving",
                              serving_of(scheduler, job)));
}
