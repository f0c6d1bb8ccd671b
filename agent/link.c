/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - the connection to the scheduler
 *
 * States follow from two fields: without a credential the next thing to do is to join, with one it
 * is to report. The long poll for orders starts after the first report was taken, so that the
 * scheduler knows what runs here before it orders anything. A refused credential (401, 403, 404) is
 * dropped: the scheduler has forgotten this node, and joining again is all that can help. The lease
 * counts from the moment the report was sent, so that it can only be shorter than the scheduler
 * thinks, never longer. */
#include "agent/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/process_dir.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define SECRET_SIZE 256
#define BACKOFF_FIRST_US (100 * USEC_PER_MSEC)
#define BACKOFF_MOST_US (2 * USEC_PER_SEC)
#define CALL_TIMEOUT_US (5 * USEC_PER_SEC)
#define ORDERS_WAIT_S 25
#define ORDERS_TIMEOUT_US ((ORDERS_WAIT_S + 10) * USEC_PER_SEC)
#define TIMER_ACCURACY_US 1000

struct link {
    struct link_config config; /* text owned below */
    char *node;
    char *join_token_file;
    char *state_dir;
    sd_event *event;
    struct http_async *async;
    char *credential;                  /* owned; NULL: has to join */
    struct http_async_call *main_call; /* join or report */
    struct http_async_call *orders_call;
    sd_event_source *main_timer;
    sd_event_source *orders_timer;
    uint64_t sent_us;   /* boot time of the report in flight */
    uint64_t changes;   /* told so far */
    uint64_t reporting; /* changes in the report in flight */
    uint64_t reported;  /* changes the scheduler has */
    unsigned failures;
    unsigned orders_failures;
    unsigned orders_behind; /* reports that spoke of newer orders in a row */
    bool have_orders;
    json_int_t version;
};

static void act(struct link *l);
static void start_orders(struct link *l);

uint64_t backoff_us(unsigned n, uint64_t most_us)
{
    uint64_t delay_us = MIN_OF(BACKOFF_FIRST_US << MIN_OF(n, 10U), most_us);
    uint32_t noise = 0;

    (void)!getrandom(&noise, sizeof noise, GRND_NONBLOCK); /* without noise it is still correct */
    return delay_us / 2 + (delay_us / 2) * (noise % 1024) / 1024;
}

static void arm(sd_event_source *timer, uint64_t delay_us)
{
    (void)sd_event_source_set_time_relative(timer, delay_us);
    (void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static char *read_secret(const char *folder, const char *name)
{
    _cleanup_free_ char *path = folder != NULL ? text_format("%s/%s", folder, name) : xstrdup(name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[SECRET_SIZE];
    ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof text - 1);

    if (n <= 0)
        return NULL;
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    return text[0] != '\0' ? xstrdup(text) : NULL;
}

static void keep_credential(struct link *l, const char *credential)
{
    _cleanup_close_ int dir_fd = open(l->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct edl_error error = { 0 };

    free(l->credential);
    l->credential = xstrdup(credential);
    if (file_write_atomic(dir_fd, "credential", credential, strlen(credential), 0600, &error) < 0)
        (void)log_failure(&error, "the node will have to join again after a restart");
}

/* fail - logs the first of a row and tries again later */
static void fail(struct link *l, const char *what, const struct edl_error *error)
{
    if (l->failures == 0)
        (void)log_failure(error, "%s (trying again)", what);
    arm(l->main_timer, backoff_us(l->failures++, BACKOFF_MOST_US));
}

static bool refused(const struct http_answer *answer)
{
    return answer->failure == 0 &&
           (answer->status == 401 || answer->status == 403 || answer->status == 404);
}

static void on_joined(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    struct edl_error error = { 0 };
    const char *credential = json_string_value(json_object_get(answer->json, "credential"));

    l->main_call = NULL;
    if (http_answer_error(answer, &error) < 0) {
        fail(l, "cannot join the cluster", &error);
        return;
    }
    if (credential == NULL || strlen(credential) >= SECRET_SIZE) {
        (void)edl_error_set(&error, -EPROTO, "the answer has no credential");
        fail(l, "cannot join the cluster", &error);
        return;
    }
    keep_credential(l, credential);
    log_info("joined as %s", l->node);
    act(l);
}

static void join(struct link *l)
{
    _cleanup_free_ char *token = read_secret(NULL, l->join_token_file);
    struct edl_error error = { 0 };
    json_t *body;
    int r;

    if (token == NULL) {
        (void)edl_error_set(&error, -ENOENT, "cannot read the join token in %s",
                            l->join_token_file);
        fail(l, "cannot join the cluster", &error);
        return;
    }
    body = l->config.join_body(l->config.userdata);
    r = http_async_start(l->async,
                         &(struct http_call){ .method = "POST",
                                              .path = "/nodes/join",
                                              .bearer_token = token,
                                              .json = body,
                                              .timeout_us = CALL_TIMEOUT_US },
                         on_joined, l, &l->main_call, &error);
    json_decref(body);
    if (r < 0)
        fail(l, "cannot join the cluster", &error);
}

/* notice_version - a long poll that does not bring what a report spoke of is dead: ask anew */
static void notice_version(struct link *l, const json_t *version)
{
    if (!l->have_orders || !json_is_integer(version) || json_integer_value(version) == l->version) {
        l->orders_behind = 0;
    } else if (++l->orders_behind >= 3 && l->orders_call != NULL) {
        l->orders_behind = 0;
        http_async_cancel(l->orders_call);
        l->orders_call = NULL;
    }
    start_orders(l);
}

static void on_reported(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    struct edl_error error = { 0 };
    json_int_t lease_us = json_integer_value(json_object_get(answer->json, "lease_us"));

    l->main_call = NULL;
    if (http_answer_error(answer, &error) < 0) {
        if (refused(answer)) {
            free(l->credential);
            l->credential = NULL;
        }
        fail(l, "cannot report to the scheduler", &error);
        return;
    }
    if (l->failures > 0)
        log_info("the scheduler is reached again");
    l->failures = 0;
    l->reported = l->reporting;
    arm(l->main_timer, l->reported == l->changes ? l->config.heartbeat_us : 0);
    notice_version(l, json_object_get(answer->json, "orders_version"));
    if (lease_us > 0)
        l->config.on_reported(l->sent_us + (uint64_t)lease_us, (uint64_t)lease_us,
                              l->config.userdata);
}

static void report(struct link *l)
{
    _cleanup_free_ char *path = text_format("/nodes/%s/report", l->node);
    struct edl_error error = { 0 };
    json_t *body = l->config.report_body(l->config.userdata);

    l->reporting = l->changes;
    l->sent_us = clock_read_us(CLOCK_BOOTTIME);
    if (link_call(l,
                  &(struct http_call){
                      .method = "POST", .path = path, .json = body, .timeout_us = CALL_TIMEOUT_US },
                  on_reported, l, &l->main_call, &error) < 0)
        fail(l, "cannot report to the scheduler", &error);
    json_decref(body);
}

/* act - the next step, unless one is under way */
static void act(struct link *l)
{
    if (l->main_call != NULL)
        return;
    if (l->credential == NULL)
        join(l);
    else
        report(l);
}

static int on_main_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    act(userdata);
    return 0;
}

static void on_orders(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    struct edl_error error = { 0 };
    const json_t *version = json_object_get(answer->json, "version");
    bool news;

    l->orders_call = NULL;
    if (http_answer_error(answer, &error) < 0 || !json_is_integer(version)) {
        /* reports run into the same trouble and tell it */
        arm(l->orders_timer, backoff_us(l->orders_failures++, BACKOFF_MOST_US));
        return;
    }
    news = !l->have_orders || json_integer_value(version) != l->version;
    if (!l->config.on_orders(answer->json, l->config.userdata)) {
        arm(l->orders_timer, BACKOFF_MOST_US);
        return;
    }
    l->have_orders = true;
    l->version = json_integer_value(version);
    l->orders_failures = 0;
    if (news)
        start_orders(l);
    else
        arm(l->orders_timer, BACKOFF_FIRST_US); /* never a tight circle, whatever the server does */
}

static void start_orders(struct link *l)
{
    _cleanup_free_ char *path =
        text_format("/nodes/%s/orders?after=%lld&wait=%d", l->node, (long long)l->version,
                    l->have_orders ? ORDERS_WAIT_S : 0);
    struct edl_error error = { 0 };

    if (l->orders_call != NULL || l->credential == NULL)
        return;
    (void)sd_event_source_set_enabled(l->orders_timer, SD_EVENT_OFF);
    if (link_call(l,
                  &(struct http_call){
                      .method = "GET", .path = path, .timeout_us = ORDERS_TIMEOUT_US },
                  on_orders, l, &l->orders_call, &error) < 0)
        arm(l->orders_timer, backoff_us(l->orders_failures++, BACKOFF_MOST_US));
}

static int on_orders_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    start_orders(userdata);
    return 0;
}

int link_new(sd_event *event, const struct link_config *config, struct link **ret,
             struct edl_error *error)
{
    struct link *l = xcalloc(1, sizeof *l);
    int r = http_async_new(event, config->scheduler, &l->async, error);

    if (r < 0) {
        free(l);
        return r;
    }
    l->config = *config;
    l->event = sd_event_ref(event);
    l->node = xstrdup(config->node);
    l->join_token_file = xstrdup(config->join_token_file);
    l->state_dir = xstrdup(config->state_dir);
    l->credential = read_secret(config->state_dir, "credential");
    l->changes = 1; /* the first report */
    r = sd_event_add_time_relative(event, &l->main_timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                                   on_main_timer, l);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &l->orders_timer, CLOCK_BOOTTIME, 0,
                                       TIMER_ACCURACY_US, on_orders_timer, l);
    if (r < 0) {
        (void)link_free(l);
        return edl_error_errno(error, r, "cannot make a timer");
    }
    (void)sd_event_source_set_enabled(l->orders_timer, SD_EVENT_OFF);
    *ret = l;
    return 0;
}

struct link *link_free(struct link *l)
{
    if (l == NULL)
        return NULL;
    sd_event_source_disable_unref(l->main_timer);
    sd_event_source_disable_unref(l->orders_timer);
    (void)http_async_free(l->async);
    sd_event_unref(l->event);
    free(l->credential);
    free(l->node);
    free(l->join_token_file);
    free(l->state_dir);
    free(l);
    return NULL;
}

void link_changed(struct link *l)
{
    l->changes++;
    if (l->main_call == NULL && l->failures == 0)
        arm(l->main_timer, 0); /* after everything else of this turn of the loop */
}

bool link_reported(const struct link *l)
{
    return l->reported == l->changes;
}

const char *link_node(const struct link *l)
{
    return l->node;
}

int link_call(struct link *l, const struct http_call *call, http_answer_fn on_answer,
              void *userdata, struct http_async_call **ret_call, struct edl_error *error)
{
    struct http_call with_credential = *call;

    if (l->credential == NULL)
        return edl_error_set(error, -ENOTCONN, "this node has not joined the cluster yet");
    with_credential.bearer_token = l->credential;
    return http_async_start(l->async, &with_credential, on_answer, userdata, ret_call, error);
}
