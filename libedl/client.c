/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - one call until it is answered, over any number of restarts; one wait until it has news
 */
#include "libedl/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "libedl/tasks.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_plain.h"
#include "shared/macro.h"
#include "shared/patience.h"

#define PATIENCE_US (300 * USEC_PER_SEC)
#define CALL_TIMEOUT_US (90 * USEC_PER_SEC)  /* longer than the agent bridges an outage */
#define WAIT_MAX_S 20U                       /* of one call; the scheduler waits no longer */
#define WAIT_STOP_S 2U                       /* so that a stop is seen in time */
#define WAIT_STOP_LATE_US (2 * USEC_PER_SEC) /* also of one that the agent holds meanwhile */
#define LATE_US (5 * USEC_PER_SEC) /* an answer may come so much after the end of a wait */
#define SLICE_MS 100U
#define PAUSE_FIRST_MS 50U
#define PAUSE_MOST_MS 2000U

int edl_client_new(const char *socket_path, struct edl_client **ret)
{
    const char *path = socket_path != NULL ? socket_path : getenv("EDL_SOCKET");
    _cleanup_free_ char *text = NULL;
    struct http_base base;
    struct edl_client *client;

    if (path == NULL || path[0] == '\0')
        return -ENOENT;
    if (path[0] != '/' || asprintf(&text, "unix:%s", path) == -1 ||
        http_base_parse(text, &base, NULL) < 0)
        return -EINVAL;
    client = xcalloc(1, sizeof *client);
    client->base = base;
    client->patience_us = PATIENCE_US;
    client->steps.fd = client->reader.fd = -1;
    *ret = client;
    return 0;
}

struct edl_client *edl_client_free(struct edl_client *client)
{
    if (client == NULL)
        return NULL;
    client_end_steps(client);
    tasks_free_all(client);
    one_reader_release(&client->reader);
    http_base_clear(&client->base);
    free(client->note);
    free(client);
    return NULL;
}

void edl_client_set_patience(struct edl_client *client, uint64_t patience_us)
{
    client->patience_us = patience_us;
}

void edl_client_set_stop(struct edl_client *client, const volatile sig_atomic_t *stop)
{
    client->stop = stop;
}

const char *edl_last_error(const struct edl_client *client)
{
    return client->text;
}

const char *edl_version(void)
{
    return EDL_VERSION;
}

/* ---- errors ---- */

/* What edl.h and edl(3) list; tests/lint/keys holds the three to each other. */
static const int promised[] = {
    -EINVAL, -EACCES, -ENOENT, -ESTALE, -ETIMEDOUT, -EHOSTUNREACH, -EINTR,
    -EPROTO, -E2BIG,  -EAGAIN, -ENOSPC, -EREMOTEIO, -EIO,
};

int client_outside_code(int code)
{
    static const struct {
        int code, outside;
    } map[] = {
        { EDL_ESTALE, -ESTALE },
        { -EEXIST, -ESTALE },
        { EDL_EBADSPEC, -EINVAL },
        { EDL_EUNAUTHENTICATED, -EACCES },
        { EDL_EUNREACHABLE, -EHOSTUNREACH },
        { EDL_ECORRUPT, -EPROTO },
        { EDL_ETOOMANY, -EAGAIN },
        { EDL_EPASSBEFORE, EDL_PASS_BEFORE },
        { EDL_EPASSAFTER, EDL_PASS_AFTER },
        { EDL_ENOMORETASK, EDL_NO_MORE_TASK },
        { EDL_EALLTASKSFAILED, EDL_ALL_TASKS_FAILED },
    };

    for (size_t i = 0; i < ELEMENTS(map); i++)
        if (map[i].code == code)
            return map[i].outside;
    for (size_t i = 0; i < ELEMENTS(promised); i++)
        if (promised[i] == code)
            return code;
    return -EREMOTEIO;
}

int client_result(struct edl_client *client, int code)
{
    const struct edl_error *error = &client->error;

    if (code >= 0)
        return code;
    (void)snprintf(client->text, sizeof client->text, "%s%s%s", error->text,
                   error->remedy[0] != '\0' ? ": " : "", error->remedy);
    client->error = (struct edl_error){ 0 };
    return client_outside_code(code);
}

int client_refuse(struct edl_client *client, int code, const char *what)
{
    return client_result(client, edl_error_set(&client->error, code, "%s", what));
}

int client_answer_bad(const char *what, struct edl_error *error)
{
    return edl_error_set(error, EDL_ECORRUPT, "%.100s: the answer is not as expected", what);
}

/* ---- one call ---- */

bool client_is_stopped(const struct edl_client *client)
{
    return client->stop != NULL && *client->stop != 0;
}

/* pause_for - how much time it spent; shorter when told to stop, in slices as a signal may come
 * just before poll() */
static uint64_t pause_for(const struct edl_client *client, unsigned ms)
{
    uint64_t whole_us = ms * USEC_PER_MSEC;
    struct patience patience = patience_of(whole_us);

    while (!patience_is_over(&patience) && !client_is_stopped(client)) {
        uint64_t slice_us =
            patience_plan(&patience, SLICE_MS * USEC_PER_MSEC, clock_read_us(CLOCK_BOOTTIME));

        (void)poll(NULL, 0, (int)((slice_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC));
        patience_spend(&patience, clock_read_us(CLOCK_BOOTTIME));
    }
    return whole_us - patience.left_us;
}

bool client_worth_retrying(const struct http_answer *answer)
{
    return (answer->failure != 0 && answer->failure != -E2BIG) || answer->status == 429 ||
           answer->status == 502 || answer->status == 503 || answer->status == 504 ||
           answer->status == CLIENT_NOTHING_STORED;
}

/* try_once - how much time it spent */
static uint64_t try_once(const struct edl_client *client, const struct http_call *call,
                         struct http_answer *ret)
{
    uint64_t spent_us = 0;

    if (!http_plain_call(&client->base, call, &spent_us, ret))
        http_answer_fail(ret, &client->base, EDL_EUNREACHABLE, "nobody answers there", "");
    return spent_us;
}

/* How long a call is tried. */
struct effort {
    uint64_t wait_us; /* it may be answered so much later, as it waits */
    uint64_t late_us; /* and so much beyond that; 0: as long as an agent bridges an outage */
    struct patience patience; /* of the client */
    struct patience limit;    /* of the user; of NEVER_US: only the client's patience ends it */
};

static void effort_spend(struct effort *effort, uint64_t us)
{
    patience_use(&effort->patience, us);
    patience_use(&effort->limit, us);
}

static uint64_t call_timeout_us(const struct effort *effort)
{
    uint64_t left_us = MIN_OF(effort->limit.left_us, effort->patience.left_us);
    uint64_t most_us = effort->late_us != 0 ? effort->late_us : CALL_TIMEOUT_US;

    return effort->wait_us + MIN_OF(MAX_OF(left_us, USEC_PER_SEC), most_us);
}

/* client_call - 0 with *ret_answer, of any status (clear it), or negative. Something that ends a
 * thing (a task that is returned, say) is said even while stopping, but then not repeated. */
static int client_call(struct edl_client *client, struct http_call *call, struct effort *effort,
                       struct http_answer *ret_answer)
{
    struct edl_error *error = &client->error;
    unsigned pause_ms = PAUSE_FIRST_MS;

    effort->patience = patience_of(client->patience_us);
    for (;;) {
        unsigned status;
        int r;

        call->timeout_us = call_timeout_us(effort);
        effort_spend(effort, try_once(client, call, ret_answer));
        if (!client_worth_retrying(ret_answer))
            return 0;
        r = http_answer_error(ret_answer, error);
        status = ret_answer->status;
        http_answer_clear(ret_answer);
        if (status == CLIENT_NOTHING_STORED) /* so do we: however long, nothing is wrong with us */
            effort->patience = patience_of(client->patience_us);
        if (patience_is_over(&effort->patience) || patience_is_over(&effort->limit)) {
            edl_error_prefix(error, "%s %.100s: ", call->method, call->path);
            if (!patience_is_over(&effort->patience))
                return -ETIMEDOUT;
            return r == EDL_ETOOMANY ? r : EDL_EUNREACHABLE;
        }
        effort_spend(effort, pause_for(client, pause_ms));
        if (client_is_stopped(client))
            return edl_error_set(error, -EINTR, "%s %.100s: stopped", call->method, call->path);
        pause_ms = MIN_OF(pause_ms * 2, PAUSE_MOST_MS);
    }
}

/* check - before anything is sent, as http_plain_call only says that it did nothing */
static int check(struct edl_client *client, const struct http_call *call)
{
    return http_call_check(&client->base, call, &client->error);
}

int client_read_answer(struct edl_client *client, struct http_answer *answer, const char *path,
                       json_t **ret)
{
    int r = http_answer_error(answer, &client->error);

    if (r == 0 && answer->failure == 0 && answer->status < 200)
        r = client_answer_bad(path, &client->error);
    if (r == 0 && ret != NULL) {
        if (json_is_object(answer->json))
            *ret = TAKE_PTR(answer->json);
        else
            r = client_answer_bad(path, &client->error);
    }
    http_answer_clear(answer);
    return r;
}

int client_ask(struct edl_client *client, const char *method, const char *path, const json_t *body,
               json_t **ret)
{
    struct http_call call = { .method = method, .path = path, .json = body };
    struct effort effort = { .limit = patience_of(NEVER_US) };
    struct http_answer answer = { 0 };
    int r = check(client, &call);

    if (r == 0)
        r = client_call(client, &call, &effort, &answer);
    return r < 0 ? r : client_read_answer(client, &answer, path, ret);
}

int client_tell(struct edl_client *client, const char *path, const json_t *body,
                uint64_t timeout_us)
{
    struct http_call call = {
        .method = "POST", .path = path, .json = body, .timeout_us = timeout_us
    };
    struct http_answer answer = { 0 };
    int r = check(client, &call);

    if (r < 0)
        return r;
    (void)try_once(client, &call, &answer);
    return client_read_answer(client, &answer, path, NULL);
}

/* ---- a wait ---- */

/* look - one call that waits for wait_s at most, and its answer; it spends *limit */
static int look(struct edl_client *client, const struct client_wait *wait, unsigned wait_s,
                struct patience *limit)
{
    struct http_call call = { .method = wait->method, .path = wait->path, .json = wait->body };
    struct effort effort = { .wait_us = wait_s * USEC_PER_SEC,
                             .late_us = client->stop != NULL ? WAIT_STOP_LATE_US : 0,
                             .limit = *limit };
    _cleanup_free_ char *path = NULL;
    struct http_answer answer = { 0 };
    json_t *json = NULL;
    int r;

    if (wait->body != NULL)
        (void)json_object_set_new(wait->body, "wait", json_integer(wait_s));
    else if (asprintf(&path, "%swait=%u", wait->path, wait_s) == -1)
        abort();
    if (path != NULL)
        call.path = path;
    r = check(client, &call);
    if (r == 0)
        r = client_call(client, &call, &effort, &answer);
    *limit = effort.limit;
    if (r == 0)
        r = client_read_answer(client, &answer, wait->path, &json);
    if (r == 0)
        r = wait->read(json, wait->userdata, &client->error);
    json_decref(json);
    return r;
}

/* The call waited as long as it may, and another may bring more. */
static bool may_come(int code)
{
    return code == CLIENT_NO_NEWS || code == EDL_EPASSAFTER || code == EDL_ENOMORETASK;
}

/* what the user has left, to whole seconds as the scheduler counts them */
static unsigned wait_seconds(const struct patience *limit, unsigned most_s)
{
    uint64_t left_us = limit->left_us - MIN_OF(limit->left_us, LATE_US);
    uint64_t left_s = left_us / USEC_PER_SEC + (left_us % USEC_PER_SEC > 0);

    return (unsigned)MIN_OF(left_s, (uint64_t)most_s);
}

int client_await(struct edl_client *client, const struct client_wait *wait)
{
    struct patience limit =
        patience_of(LATE_US + MIN_OF(wait->timeout_us, (uint64_t)NEVER_US - LATE_US));
    unsigned most_s = client->stop != NULL ? WAIT_STOP_S : WAIT_MAX_S;

    for (;;) {
        uint64_t before_us = limit.left_us;
        int r;

        if (client_is_stopped(client))
            return edl_error_set(&client->error, -EINTR, "%s: stopped", wait->path);
        r = look(client, wait, wait_seconds(&limit, most_s), &limit);
        if (!may_come(r))
            return r;
        if (limit.left_us <= LATE_US)
            return r != CLIENT_NO_NEWS ? r
                                       : edl_error_set(&client->error, -ETIMEDOUT,
                                                       "%s: no news in time", wait->path);
        /* a scheduler that ends answers early */
        if (before_us - limit.left_us < SLICE_MS * USEC_PER_MSEC)
            patience_use(&limit, pause_for(client, SLICE_MS));
    }
}
