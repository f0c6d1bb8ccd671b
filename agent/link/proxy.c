/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c - calls of processes: answered here, or passed on to the scheduler
 *
 * The caller is known by its ancestry (caller.c), never by anything it says, and before anything of
 * a body is taken. Its words about itself (/processes/self/...) are the agent's; of the rest only
 * calls about its own job (/jobs/self/...), service look-ups and the version pass; everything else
 * is 403. The credential and the X-EDL-Process header are added here. While the scheduler cannot be
 * reached a call waits here, so that a restart of the scheduler is invisible to training code.
 * After 60 s it gets a 503.
 *
 * Anybody on this machine may connect. A caller that is no process of a job is a fresh connection
 * (shared/http_guard.h): few, and not for long. The bounds of jobs - connections, calls under way,
 * bytes of bodies - are shared fairly among them (shared/fair_share.h); beyond them it is 429. */
#include "agent/link/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/core/link_sm.h"
#include "agent/layout.h"
#include "agent/link/link.h"
#include "agent/processes/process.h"
#include "agent/link/proxy_body.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/fair_share.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/process_progress.h"
#include "shared/step_sums_json.h"

#define PATIENCE_US (60 * USEC_PER_SEC)
#define ANSWER_TIMEOUT_US (60 * USEC_PER_SEC) /* longer than any long poll */
#define BACKOFF_MOST_US (1 * USEC_PER_SEC)
#define DATASET_MAX_BYTES (16U << 20) /* its list of tasks */
#define LEASE_MAX_BYTES (256U << 10)  /* the tasks that are known */
#define BODY_MAX_BYTES (16U << 10)
#define FRESH_S 10 /* for a call of one of our processes to come */
#define SELF "/jobs/self/"

struct proxy_call {
    struct proxy *proxy;          /* borrowed */
    struct http_request *request; /* borrowed; valid until answered */
    uint64_t job_id;
    char *target; /* owned */
    char header[PROCESS_KEY_SIZE + 24];
    uint64_t deadline_us;
    unsigned tries;
    struct http_async_call *call;
    sd_event_source *timer;
    struct proxy_call *prev, *next;
};

struct proxy {
    struct proxy_config config;
    struct http_server *server; /* owned */
    struct proxy_call *calls;   /* owned; utlist */
    struct proxy_bodies bodies;
};

static void try_call(struct proxy_call *c);

static void call_free(struct proxy_call *c)
{
    DL_DELETE(c->proxy->calls, c);
    http_async_cancel(c->call);
    sd_event_source_disable_unref(c->timer);
    free(c->target);
    free(c);
}

static void on_request_gone(struct http_request *request, void *userdata)
{
    (void)request;
    call_free(userdata);
}

static void give_up(struct proxy_call *c, const char *why)
{
    struct http_request *request = c->request;
    struct edl_error error;

    (void)edl_error_set(&error, EDL_EUNREACHABLE, "the scheduler was not reached for 60 s: %s",
                        why);
    (void)edl_error_remedy(&error, "try again later");
    call_free(c);
    http_reply_error(request, &error);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    try_call(userdata);
    return 0;
}

static void retry(struct proxy_call *c, const char *why)
{
    uint64_t delay_us = link_backoff_us(c->tries++, BACKOFF_MOST_US, link_noise());

    if (clock_read_us(CLOCK_BOOTTIME) + delay_us > c->deadline_us) {
        give_up(c, why);
        return;
    }
    c->timer = sd_event_source_disable_unref(c->timer);
    if (sd_event_add_time_relative(c->proxy->config.event, &c->timer, CLOCK_BOOTTIME, delay_us,
                                   1000, on_retry, c) < 0)
        give_up(c, why);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct proxy_call *c = userdata;
    struct http_request *request = c->request;

    c->call = NULL;
    if (answer->failure == EDL_EUNREACHABLE || answer->failure == -ETIMEDOUT) {
        retry(c, answer->text);
        return;
    }
    if (answer->failure != 0) { /* and would be again */
        struct edl_error error = { 0 };

        (void)http_answer_error(answer, &error);
        call_free(c);
        http_reply_error(request, &error);
        return;
    }
    if (answer->status == 401) { /* our credential, not the caller's fault: the link joins again */
        retry(c, "this node has to join again");
        return;
    }
    call_free(c);
    http_reply_bytes(request, answer->status,
                     answer->status >= 400 ? "application/problem+json" : "application/json",
                     answer->body != NULL ? answer->body : "", answer->body_size);
}

static void try_call(struct proxy_call *c)
{
    struct http_call call = { .method = http_request_method(c->request),
                              .path = c->target,
                              .headers = { c->header },
                              .timeout_us = ANSWER_TIMEOUT_US };
    const struct proxy_body *large = http_request_data(c->request);
    struct http_request *request = c->request;
    struct edl_error error = { 0 };
    size_t size = 0;
    const char *body = http_request_body(request, &size);
    int r;

    call.content_type = http_request_header(request, "Content-Type");
    if (large != NULL) {
        call.send = large->file;
    } else if (size > 0) {
        call.body = body;
        call.body_size = size;
    }
    r = link_call(c->proxy->config.link, &call, on_answer, c, &c->call, &error);
    if (r == -EINVAL) { /* the caller's fault, and the same the next time */
        call_free(c);
        http_reply_error(request, &error);
    } else if (r < 0) {
        retry(c, error.text);
    }
}

/* has_dots - could "." or ".." segments lead out of the allowed paths? %2e counts as a dot */
static bool has_dots(const char *path)
{
    static const char *const bad[] = { "/.", "/%2e", "/%2E" };

    for (size_t i = 0; i < ELEMENTS(bad); i++)
        if (strstr(path, bad[i]) != NULL)
            return true;
    return false;
}

/* target_for - where a call of this process goes; NULL: not allowed */
static char *target_for(const struct process *caller, const char *method, const char *path,
                        const char *target)
{
    if (has_dots(path))
        return NULL;
    if (strncmp(path, SELF, strlen(SELF)) == 0 && path[strlen(SELF)] != '\0')
        return text_format("/jobs/%llu/%s", (unsigned long long)caller->id.job_id,
                           target + strlen(SELF));
    if (streq(method, "GET") && (streq(path, "/version") || strncmp(path, "/services/", 10) == 0))
        return xstrdup(target);
    return NULL;
}

/* ---- what the agent answers itself ---- */

/* The body says nothing so far: what was saved, the program knows. */
static void checkpoint_done(struct proxy *proxy, struct process *caller,
                            struct http_request *request)
{
    bool stopping = proxy->config.checkpoint_done(caller, proxy->config.userdata);

    http_reply_json(request, 200, json_pack("{s:b}", "stopping", (int)stopping));
}

#define WITHIN_MOST_S 86400

static int read_within(struct http_request *request, uint64_t *ret_us, struct edl_error *error)
{
    json_t *body = NULL;
    const json_t *within;
    double s;
    int r = http_request_json(request, &body, error);

    if (r < 0)
        return r;
    within = json_object_get(body, "within_s");
    s = json_number_value(within);
    if (!json_is_number(within) || !(s == 0 || (s >= 1 && s <= WITHIN_MOST_S))) {
        r = json_is_number(within)
                ? edl_error_at(error, -EINVAL, "/within_s", "within_s is %g", s)
                : edl_error_at(error, -EINVAL, "/within_s", "within_s is no number");
        (void)edl_error_remedy(error, "1 to %d seconds; 0 takes the promise back", WITHIN_MOST_S);
    } else {
        *ret_us = (uint64_t)(s * USEC_PER_SEC);
    }
    json_decref(body);
    return r;
}

/* Nobody but the agent hears of it, until the promise is broken. */
static void alive(struct proxy *proxy, struct process *caller, struct http_request *request)
{
    struct edl_error error = { 0 };
    uint64_t within_us = 0;

    if (read_within(request, &within_us, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    proxy->config.alive(caller, within_us, proxy->config.userdata);
    http_reply_json(request, 204, NULL);
}

/* Told with the next report: a program may say it as often as it likes. */
static void progress(struct proxy *proxy, struct process *caller, struct http_request *request)
{
    struct edl_error error = { 0 };
    json_t *told = NULL;
    size_t size = 0;
    int r = 0;

    (void)proxy;
    (void)http_request_body(request, &size);
    if (size > PROGRESS_BODY_BYTES)
        r = edl_error_set(&error, -E2BIG, "progress has %zu bytes, %d at most", size,
                          PROGRESS_BODY_BYTES);
    if (r == 0)
        r = http_request_json(request, &told, &error);
    if (r == 0)
        r = progress_check(told, &error);
    if (r < 0) {
        json_decref(told);
        http_reply_error(request, &error);
        return;
    }
    progress_keep_pushes(told, caller->progress);
    json_decref(caller->progress);
    caller->progress = told;
    caller->progress_us = clock_read_us(CLOCK_BOOTTIME);
    http_reply_json(request, 204, NULL);
}

/* Summed, and told with the next report. A program adds up what it does in a second and says it
 * once (libedl/step.c), so this is no call of its every step. */
static void steps(struct proxy *proxy, struct process *caller, struct http_request *request)
{
    struct edl_error error = { 0 };
    struct step_sums told;
    json_t *body = NULL;
    int r = http_request_json(request, &body, &error);

    (void)proxy;
    if (r == 0)
        r = step_sums_from_json(body, &told, &error);
    json_decref(body);
    if (r < 0) {
        http_reply_error(request, &error);
        return;
    }
    step_sums_add(&caller->steps, &told);
    caller->steps_told_us = clock_read_us(CLOCK_BOOTTIME);
    http_reply_json(request, 204, NULL);
}

static const struct own_call {
    const char *method, *path;
    void (*answer)(struct proxy *proxy, struct process *caller, struct http_request *request);
} own_calls[] = {
    { "POST", "/processes/self/alive", alive },
    { "POST", "/processes/self/checkpoint-done", checkpoint_done },
    { "POST", "/processes/self/progress", progress },
    { "POST", "/processes/self/steps", steps },
};

static const struct own_call *find_own(const char *method, const char *path)
{
    for (size_t i = 0; i < ELEMENTS(own_calls); i++)
        if (streq(own_calls[i].method, method) && streq(own_calls[i].path, path))
            return &own_calls[i];
    return NULL;
}

/* ---- who asks, and for what ---- */

struct asked {
    struct process *caller; /* borrowed, for this turn */
    const struct own_call *own;
    char *target; /* when it is not ours: where to pass it on to; the receiver's */
};

static int look(const struct proxy *proxy, const struct http_request *request, struct asked *ret,
                struct edl_error *error)
{
    const char *method = http_request_method(request), *path = http_request_path(request);
    void *found = NULL;
    int r = caller_identify(http_request_peer_fd(request), proxy->config.lookup,
                            proxy->config.by_group, proxy->config.userdata, &found, error);

    if (r < 0)
        return r;
    *ret = (struct asked){ .caller = found, .own = find_own(method, path) };
    if (ret->own == NULL)
        ret->target = target_for(ret->caller, method, path, http_request_target(request));
    if (ret->own != NULL || ret->target != NULL)
        return 0;
    (void)edl_error_set(error, -EACCES, "processes may not call %s %s", method, path);
    return edl_error_remedy(error, "/jobs/self/..., POST /processes/self/alive, "
                                   "/processes/self/progress, /processes/self/steps and "
                                   "/processes/self/checkpoint-done, GET /services/... and GET "
                                   "/version are allowed");
}

static int authorise(struct http_request *request, const struct http_route *route, void *userdata,
                     struct edl_error *error)
{
    struct asked asked;
    char owner[32];
    int r = look(userdata, request, &asked, error);

    (void)route;
    if (r < 0)
        return r;
    free(asked.target);
    (void)snprintf(owner, sizeof owner, "job %llu", (unsigned long long)asked.caller->id.job_id);
    if (http_request_proven(request, &(struct http_owner){ .name = owner }))
        return 0;
    (void)edl_error_set(error, EDL_ETOOMANY, "%s has too many connections to this socket", owner);
    return edl_error_remedy(error, "close what is not used, and try again");
}

static bool has_room(const struct proxy *proxy, uint64_t job_id)
{
    const struct proxy_call *c;
    unsigned mine = 0, held = 0;

    DL_FOREACH(proxy->calls, c)
    {
        held++;
        mine += c->job_id == job_id;
    }
    return fair_share_has_room(mine, held, proxy->config.limits.calls);
}

static void pass_on(struct proxy *proxy, struct http_request *request, const struct process *caller,
                    char *take_target)
{
    struct proxy_call *c = xcalloc(1, sizeof *c);
    char key[PROCESS_KEY_SIZE];

    c->proxy = proxy;
    c->request = request;
    c->job_id = caller->id.job_id;
    c->target = take_target;
    c->deadline_us = clock_read_us(CLOCK_BOOTTIME) + PATIENCE_US;
    (void)snprintf(c->header, sizeof c->header, "X-EDL-Process: %s",
                   process_id_key(&caller->id, key));
    DL_APPEND(proxy->calls, c);
    http_request_defer(request, on_request_gone, c);
    http_request_watch(request);
    try_call(c);
}

/* Once more who it is: while its body came it may have ended. */
static void handle(struct http_request *request, void *userdata)
{
    struct proxy *proxy = userdata;
    struct edl_error error = { 0 };
    struct asked asked;

    if (look(proxy, request, &asked, &error) < 0) {
        http_reply_error(request, &error);
    } else if (asked.own != NULL) {
        asked.own->answer(proxy, asked.caller, request);
    } else if (has_room(proxy, asked.caller->id.job_id)) {
        pass_on(proxy, request, asked.caller, asked.target);
    } else {
        free(asked.target);
        (void)edl_error_set(&error, EDL_ETOOMANY,
                            "job %llu has as many calls under way from this node as it may",
                            (unsigned long long)asked.caller->id.job_id);
        (void)edl_error_remedy(&error, "wait for their answers, and try again");
        http_reply_error(request, &error);
    }
}

/* ---- larger bodies ---- */

static int body_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct proxy *proxy = userdata;
    struct proxy_body *body = NULL;
    struct asked asked;
    int r = look(proxy, request, &asked, error);

    if (r < 0)
        return r;
    free(asked.target);
    r = proxy_body_new(&proxy->bodies, asked.caller->id.job_id, &body, error);
    http_request_set_data(request, body);
    return r;
}

static int body_take(struct http_request *request, const void *data, size_t size, void *userdata,
                     struct edl_error *error)
{
    struct proxy *proxy = userdata;

    return proxy_body_take(&proxy->bodies, http_request_data(request), data, size, error);
}

static void body_end(struct http_request *request, void *userdata)
{
    struct proxy *proxy = userdata;

    proxy_body_free(&proxy->bodies, http_request_data(request));
}

static const struct http_sink sink = { body_begin, body_take, body_end };

#define ROUTE(method_, path_)                                                                      \
    {                                                                                              \
        .method = method_, .path = path_, .handler = handle, .max_body_bytes = BODY_MAX_BYTES,     \
        .query = HTTP_QUERY_ANY                                                                    \
    }
#define ROUTES(path_)                                                                              \
    ROUTE("GET", path_), ROUTE("POST", path_), ROUTE("PUT", path_), ROUTE("PATCH", path_),         \
        ROUTE("DELETE", path_)
#define ROUTE_LARGE(method_, path_, size_)                                                         \
    {                                                                                              \
        .method = method_, .path = path_, .handler = handle, .max_body_bytes = size_,              \
        .sink = &sink, .query = HTTP_QUERY_ANY                                                     \
    }

/* every path of up to five segments comes to handle, which decides: a refusal is 403, not 404 */
static const struct http_route routes[] = {
    ROUTE_LARGE("PUT", "/jobs/self/dataset", DATASET_MAX_BYTES),
    ROUTE_LARGE("POST", "/jobs/self/tasks/lease", LEASE_MAX_BYTES),
    ROUTES("/{a}"),
    ROUTES("/{a}/{b}"),
    ROUTES("/{a}/{b}/{c}"),
    ROUTES("/{a}/{b}/{c}/{d}"),
    ROUTES("/{a}/{b}/{c}/{d}/{e}"),
};

int proxy_new(const struct proxy_config *config, struct proxy **ret, struct edl_error *error)
{
    struct proxy *proxy = xcalloc(1, sizeof *proxy);
    /* processes of a root agent run as others; who calls is looked at by each call */
    int fd = http_listen_unix(config->socket_path, geteuid() == 0 ? 0666 : 0600, error);
    int r = fd;

    proxy->config = *config;
    if (fd >= 0)
        r = http_server_new(config->event,
                            &(struct http_server_config){ .listen_fd = fd,
                                                          .routes = routes,
                                                          .n_routes = ELEMENTS(routes),
                                                          .userdata = proxy,
                                                          .authorise = authorise,
                                                          .max_connections =
                                                              config->limits.connections,
                                                          .fresh_timeout_s = FRESH_S },
                            &proxy->server, error);
    if (r < 0) {
        free(proxy);
        return r;
    }
    *ret = proxy;
    return 0;
}

struct proxy *proxy_free(struct proxy *proxy)
{
    if (proxy == NULL)
        return NULL;
    (void)http_server_free(
        proxy->server); /* deferred requests end: on_request_gone frees the calls */
    free(proxy);
    return NULL;
}
