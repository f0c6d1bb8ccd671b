/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - the connection to the scheduler
 *
 * A thin shell around link_sm: carries out its actions as calls of HTTP and timers, and tells it
 * how they went. The lease counts from the moment the report was sent, so that it can only be
 * shorter than the scheduler thinks, never longer. */
#include "agent/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/core/link_sm.h"
#include "agent/layout.h"
#include "agent/link/link_bases.h"
#include "agent/link/link_told.h"
#include "shared/agent_wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define SECRET_SIZE 256
#define CREDENTIAL_BYTES 32
#define TIMER_ACCURACY_US 1000
#define RENEW_PART_OF_LEASE 8

struct link {
    struct link_config config; /* text owned below */
    char *node;
    char *join_token;      /* NULL: none */
    char *join_token_file; /* NULL: none, or it did its work */
    char *state_dir;
    sd_event *event;
    struct link_bases *bases; /* owned; the schedulers */
    unsigned asked;           /* the one that joins and reports go to */
    unsigned leader;          /* the last one that took one: orders and calls of others go there */
    uint64_t leader_term;     /* of that answer; UINT64_MAX: none was taken yet */
    struct link_told told;    /* their terms and addresses */
    struct edl_error rejection; /* of the token, by one of several, in this round; code 0: none */
    char *credential;           /* owned; NULL: has to join */
    char *refused;              /* owned; the last one that was */
    char *joining;              /* owned; the one that it asks to join with */
    struct link_sm sm;
    struct http_async_call *main_call; /* join or report */
    struct http_async_call *orders_call;
    uint64_t main_number; /* of these calls, as link_sm counts them */
    uint64_t orders_number;
    sd_event_source *main_timer;
    sd_event_source *orders_timer;
    sd_event_source *away_timer;
    bool complained; /* that the scheduler cannot be reached; until it is */
};

static void carry_out(struct link *l, const struct link_actions *actions);

/* async: NULL: error tells why there is none */
static int call_with_credential(struct link *l, struct http_async *async,
                                const struct http_call *call, http_answer_fn on_answer,
                                void *userdata, struct http_async_call **ret_call,
                                struct edl_error *error)
{
    struct http_call with_credential = *call;

    if (async == NULL)
        return error->code;
    if (l->credential == NULL)
        return edl_error_set(error, -ENOTCONN, "this node has not joined the cluster yet");
    with_credential.bearer_token = l->credential;
    return http_async_start(async, &with_credential, on_answer, userdata, ret_call, error);
}

uint32_t link_noise(void)
{
    uint32_t noise = 0;

    (void)!getrandom(&noise, sizeof noise, GRND_NONBLOCK); /* without noise it is still correct */
    return noise;
}

static uint64_t now(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

static void arm(sd_event_source *timer, uint64_t at_us)
{
    if (at_us != NEVER_US) /* what is due is due at once, not within the accuracy */
        (void)sd_event_source_set_time(timer, at_us > now() ? at_us : 0);
    (void)sd_event_source_set_enabled(timer, at_us != NEVER_US ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
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

/* Made here and kept before it is first sent: a join whose answer was lost is asked for again with
 * the same one, also by the next agent, and the scheduler knows it again. */
static int make_credential(struct link *l, struct edl_error *error)
{
    _cleanup_free_ char *path = text_format("%s/credential.joining", l->state_dir);
    unsigned char random[CREDENTIAL_BYTES];
    char text[2 * CREDENTIAL_BYTES + 1];

    if (l->joining == NULL)
        l->joining = read_secret(l->state_dir, "credential.joining");
    if (l->joining != NULL)
        return 0;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return edl_error_errno(error, -errno, "cannot get random bytes");
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", random[i]);
    if (whole_file_write(path, text, 0600, error) < 0)
        return error->code;
    l->joining = xstrdup(text);
    return 0;
}

static void keep_credential(struct link *l)
{
    _cleanup_free_ char *from = text_format("%s/credential.joining", l->state_dir);
    _cleanup_free_ char *to = text_format("%s/credential", l->state_dir);

    free(l->credential);
    l->credential = TAKE_PTR(l->joining);
    if (rename(from, to) == -1 || name_sync(to, NULL) < 0)
        log_error("%s: %s; the node will have to join again after a restart", to, strerror(errno));
}

/* complain - only the first of a row; link_sm tries again */
static void complain(struct link *l, const char *what, const struct edl_error *error)
{
    if (!l->complained)
        (void)log_failure_of(&(struct log_subject){ .message =
                                                        MESSAGE_AGENT_SCHEDULER_UNREACHABLE },
                             error, "%s (trying again)", what);
    l->complained = true;
}

/* result_of - and the words of the answer about the schedulers
 * The address of another one counts when it is one of ours: one that does not lead may not send the
 * credential anywhere. */
static enum link_result result_of(struct link *l, const struct http_answer *answer,
                                  struct edl_error *error)
{
    int found;

    if (http_answer_error(answer, error) == 0)
        return link_told_term(&l->told, answer->json, error) < 0 ? LINK_ELSEWHERE : LINK_TAKEN;
    if (answer->failure != 0)
        return LINK_FAILED;
    if (answer->status == 401 || answer->status == 403 || answer->status == 404)
        return LINK_REFUSED;
    found = answer->status == 503 ? link_bases_find(l->bases, answer->leader) : -1;
    if (found >= 0)
        link_sm_hint(&l->sm, (unsigned)found);
    return LINK_ELSEWHERE;
}

/* understood_result_of - of an answer that says which versions the scheduler speaks */
static enum link_result understood_result_of(struct link *l, const struct http_answer *answer,
                                             struct edl_error *error)
{
    const struct agent_wire own = agent_wire_own();
    enum link_result result = result_of(l, answer, error);

    if (result == LINK_TAKEN &&
        agent_wire_check(answer->json, &own, WIRE_PEER_SCHEDULER, error) < 0)
        result = LINK_ELSEWHERE;
    return result;
}

/* take_leader - it took a join or a report: all calls go there from now on
 * A term has one leader, which may have several addresses. */
static void take_leader(struct link *l, const struct http_answer *answer)
{
    bool is_new;

    if (!json_is_false(json_object_get(answer->json, "stored")))
        link_told_ends(&l->told, answer->json);
    if (link_told_servers(&l->told, answer->json))
        link_sm_servers(&l->sm, link_bases_learn(l->bases, &l->told.servers));
    is_new = l->leader_term != l->told.term;
    l->leader_term = l->told.term;
    if (l->leader == l->asked)
        return;
    if (is_new)
        log_info("the scheduler at %s leads now, in term %llu", link_bases_url(l->bases, l->asked),
                 (unsigned long long)l->told.term);
    l->leader = l->asked;
    link_bases_leave(l->bases, l->leader);
}

/* ---- join ---- */

static void joined(struct link *l, enum link_result result, const struct edl_error *error)
{
    struct link_actions actions;

    link_sm_join_answered(&l->sm, l->main_number, result, now(), link_noise(), &actions);
    if (result != LINK_TAKEN && l->sm.failures > 0) /* none of them takes it */
        complain(l, "cannot join the cluster", error);
    carry_out(l, &actions);
}

static bool has_credential(const struct link *l)
{
    _cleanup_free_ char *kept = read_secret(l->state_dir, "credential");

    return kept != NULL;
}

/* weigh_refusal - of a token, by one of several: it counts when each was asked */
static enum link_result weigh_refusal(struct link *l, enum link_result result,
                                      struct edl_error *error)
{
    if (result == LINK_REFUSED)
        l->rejection = *error;
    if (!server_round_is_last(&l->sm.round))
        return result == LINK_REFUSED ? LINK_ELSEWHERE : result;
    if (result != LINK_TAKEN && l->rejection.code != 0) {
        *error = l->rejection;
        result = LINK_REFUSED;
    }
    l->rejection = (struct edl_error){ 0 };
    return result;
}

static void on_joined(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    struct edl_error error = { 0 };
    enum link_result result = weigh_refusal(l, understood_result_of(l, answer, &error), &error);

    l->main_call = NULL;
    if (result == LINK_TAKEN) {
        take_leader(l, answer);
        keep_credential(l);
        if (l->config.join_token_once)
            free(TAKE_PTR(l->join_token_file));
        log_info("joined as %s", l->node);
    }
    if (result == LINK_TAKEN && l->config.on_joined != NULL) {
        l->config.on_joined(l->config.userdata);
        return;
    }
    if (result == LINK_REFUSED && l->config.on_joined == NULL && l->join_token != NULL &&
        has_credential(l)) {
        free(TAKE_PTR(l->join_token)); /* it did its work long ago; see take_old_credential */
    } else if (result == LINK_REFUSED && l->join_token != NULL) {
        l->config.on_rejected(&error, l->config.userdata);
        return;
    }
    joined(l, result, &error);
}

/* What there is to join with; NULL when the one-time token did its work long ago. */
static char *join_token(const struct link *l)
{
    if (l->join_token != NULL)
        return xstrdup(l->join_token);
    return l->join_token_file != NULL ? read_secret(NULL, l->join_token_file) : NULL;
}

/* Without a token: what was refused may be taken again, when the scheduler was only set back. */
static bool take_old_credential(struct link *l)
{
    if (l->join_token_file != NULL)
        return false;
    l->credential = read_secret(l->state_dir, "credential");
    return l->credential != NULL;
}

/* With one: somebody has joined beside this agent, with another token. */
static bool take_new_credential(struct link *l)
{
    char *kept = read_secret(l->state_dir, "credential");

    if (kept == NULL || l->refused == NULL || streq(kept, l->refused)) {
        free(kept);
        return false;
    }
    l->credential = kept;
    return true;
}

static int start_join(struct link *l, const char *token, struct edl_error *error)
{
    struct http_async *async = link_bases_own(l->bases, l->asked, error);
    json_t *body;
    int r = async != NULL ? make_credential(l, error) : error->code;

    if (r < 0)
        return r;
    body = l->config.join_body(l->config.userdata);
    (void)json_object_set_new(body, "credential", json_string(l->joining));
    r = http_async_start(async,
                         &(struct http_call){ .method = "POST",
                                              .path = "/nodes/join",
                                              .bearer_token = token,
                                              .json = body,
                                              .timeout_us = link_sm_timeout_us(&l->sm, now()) },
                         on_joined, l, &l->main_call, error);
    json_decref(body);
    return r;
}

static void join(struct link *l)
{
    _cleanup_free_ char *token = join_token(l);
    struct edl_error error = { 0 };

    if (take_new_credential(l) || (token == NULL && take_old_credential(l))) {
        joined(l, LINK_TAKEN, NULL);
        return;
    }
    if (token == NULL)
        (void)edl_error_set(&error, -ENOENT, "cannot read the join token in %s",
                            l->join_token_file != NULL ? l->join_token_file : "--join-token-file");
    if (token == NULL || start_join(l, token, &error) < 0)
        joined(l, LINK_FAILED, &error);
}

/* ---- report ---- */

static void reported(struct link *l, const struct link_report_answer *answer,
                     const struct edl_error *error)
{
    struct link_actions actions;
    uint64_t now_us = now();

    link_sm_report_answered(&l->sm, l->main_number, answer, now_us, link_noise(), &actions);
    if (answer->result == LINK_TAKEN) {
        if (l->complained)
            log_entry(LOG_LEVEL_INFO,
                      &(struct log_subject){ .message = MESSAGE_AGENT_SCHEDULER_BACK },
                      "the scheduler is reached again");
        l->complained = false;
    } else if (answer->session != 0) { /* after each restart, of either side */
        log_debug("the scheduler asks for one more report, with session %llu",
                  (unsigned long long)answer->session);
    } else if (l->sm.failures > 0) { /* none of them takes it */
        complain(l, "cannot report to the scheduler", error);
    }
    carry_out(l, &actions);
    if (answer->result == LINK_TAKEN)
        l->config.on_reported(l->sm.sent_us, answer->lease_us, link_sm_all_told(&l->sm), now_us,
                              l->config.userdata);
}

static void on_reported(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    struct edl_error error = { 0 };
    enum link_result result = understood_result_of(l, answer, &error);
    const json_t *version = json_object_get(answer->json, "orders_version");
    json_int_t lease_us = json_integer_value(json_object_get(answer->json, "lease_us"));
    json_int_t next_us = json_integer_value(json_object_get(answer->json, "next_report_us"));
    json_int_t session = json_integer_value(json_object_get(answer->json, "session"));

    l->main_call = NULL;
    if (result == LINK_TAKEN)
        take_leader(l, answer);
    if (answer->failure == 0 && answer->local[0] != '\0')
        l->config.on_address(answer->local, l->config.userdata);
    reported(l,
             &(struct link_report_answer){
                 .result = result,
                 .lease_us = lease_us > 0 ? (uint64_t)lease_us : 0,
                 .next_us = next_us > 0 ? (uint64_t)next_us : 0,
                 .session = session > 0 ? (uint64_t)session : 0,
                 .not_stored = json_is_false(json_object_get(answer->json, "stored")),
                 .has_version = json_is_integer(version),
                 .version = (uint64_t)json_integer_value(version) },
             &error);
}

static void report(struct link *l)
{
    _cleanup_free_ char *path = text_format("/nodes/%s/report", l->node);
    struct edl_error error = { 0 };
    json_t *body = l->config.report_body(l->sm.sent_us, l->sm.session, l->config.userdata);
    int r;

    if (l->told.term > 0)
        (void)json_object_set_new(body, "term", json_integer((json_int_t)l->told.term));
    link_sm_reports(&l->sm, json_array_size(json_object_get(body, "processes")));
    r = call_with_credential(l, link_bases_own(l->bases, l->asked, &error),
                             &(struct http_call){ .method = "POST",
                                                  .path = path,
                                                  .json = body,
                                                  .timeout_us = link_sm_timeout_us(&l->sm, now()) },
                             on_reported, l, &l->main_call, &error);

    json_decref(body);
    if (r < 0)
        reported(l, &(struct link_report_answer){ .result = LINK_FAILED }, &error);
}

/* ---- orders ---- */

static void ordered(struct link *l, enum link_result result, uint64_t version, uint64_t now_us)
{
    struct link_actions actions;

    link_sm_orders_answered(&l->sm, l->orders_number, result, version, now_us, link_noise(),
                            &actions);
    carry_out(l, &actions);
}

/* go_on - the lease, while the scheduler is away and keeps what is ours */
static void go_on(struct link *l, uint64_t now_us)
{
    uint64_t sent_us;

    if (!link_sm_renew_away(&l->sm, now_us, &sent_us))
        return;
    link_sm_renewed(&l->sm, sent_us, l->sm.lease_us, now_us);
    l->config.on_renewed(sent_us, l->sm.lease_us, now_us, l->config.userdata);
    arm(l->away_timer, now_us + l->sm.lease_us / RENEW_PART_OF_LEASE);
}

static int on_away_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    go_on(userdata, now());
    return 0;
}

static void take_away(struct link *l, const struct http_answer *answer, uint64_t now_us)
{
    json_int_t away_us = json_integer_value(json_object_get(answer->json, "lease_us"));
    bool is_new = l->sm.away_until_us == 0;

    if (away_us <= 0)
        return;
    link_sm_away(&l->sm, (uint64_t)away_us, now_us);
    if (is_new && l->sm.away_until_us > now_us)
        log_info("the scheduler leaves: processes here go on for %.0f s",
                 (double)(l->sm.away_until_us - now_us) / (double)USEC_PER_SEC);
    go_on(l, now_us);
}

static void on_orders(const struct http_answer *answer, void *userdata)
{
    struct link *l = userdata;
    const json_t *version = json_object_get(answer->json, "version");
    struct edl_error error = { 0 };
    enum link_result result = result_of(l, answer, &error);
    uint64_t now_us = now();

    l->orders_call = NULL;
    if (result == LINK_TAKEN &&
        (!json_is_integer(version) ||
         !l->config.on_orders(answer->json, l->sm.asked_us, now_us, l->config.userdata)))
        result = LINK_UNREADABLE;
    if (result == LINK_TAKEN)
        take_away(l, answer, now_us);
    if (result == LINK_TAKEN)
        link_sm_is_ordered(&l->sm, json_array_size(json_object_get(answer->json, "processes")));
    ordered(l, result, (uint64_t)json_integer_value(version), now_us);
}

static void poll_orders(struct link *l, const struct link_action *action)
{
    _cleanup_free_ char *path = text_format("/nodes/%s/orders?after=%llu&wait=%u", l->node,
                                            (unsigned long long)action->after, action->wait_s);
    struct edl_error error = { 0 };

    if (call_with_credential(l, link_bases_own(l->bases, l->leader, &error),
                             &(struct http_call){ .method = "GET",
                                                  .path = path,
                                                  .timeout_us = LINK_ORDERS_TIMEOUT_US },
                             on_orders, l, &l->orders_call, &error) < 0)
        ordered(l, LINK_FAILED, 0, now());
}

/* ---- actions and timers ---- */

static void drop_credential(struct link *l)
{
    free(l->refused);
    l->refused = l->credential;
    l->credential = NULL;
    l->config.on_refused(l->config.userdata);
}

/* A call comes last in any list of actions: one that cannot be started is answered from inside. */
static void carry_out(struct link *l, const struct link_actions *actions)
{
    for (size_t i = 0; i < actions->n; i++) {
        const struct link_action *action = &actions->list[i];

        switch (action->kind) {
        case LINK_JOIN:
            l->main_number = action->call;
            join(l);
            break;
        case LINK_REPORT:
            l->main_number = action->call;
            report(l);
            break;
        case LINK_POLL_ORDERS:
            l->orders_number = action->call;
            poll_orders(l, action);
            break;
        case LINK_CANCEL_POLL:
            http_async_cancel(l->orders_call);
            l->orders_call = NULL;
            break;
        case LINK_CANCEL_MAIN:
            http_async_cancel(l->main_call);
            l->main_call = NULL;
            break;
        case LINK_NEXT:
            log_debug("asking the scheduler at %s", link_bases_url(l->bases, action->server));
            l->asked = action->server;
            break;
        case LINK_DROP_CREDENTIAL:
            drop_credential(l);
            break;
        case LINK_ARM_MAIN:
            arm(l->main_timer, action->at_us);
            break;
        case LINK_ARM_ORDERS:
            arm(l->orders_timer, action->at_us);
            break;
        }
    }
}

static int on_main_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct link *l = userdata;
    struct link_actions actions;

    (void)source;
    (void)usec;
    link_sm_main_timer(&l->sm, now(), link_noise(), &actions);
    carry_out(l, &actions);
    return 0;
}

static int on_orders_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct link *l = userdata;
    struct link_actions actions;

    (void)source;
    (void)usec;
    link_sm_orders_timer(&l->sm, now(), &actions);
    carry_out(l, &actions);
    return 0;
}

int link_new(sd_event *event, const struct link_config *config, struct link **ret,
             struct edl_error *error)
{
    struct link *l = xcalloc(1, sizeof *l);
    struct link_actions actions;
    int r = link_bases_new(event, config->servers, config->ca_path, &l->bases, error);

    if (r < 0) {
        free(l);
        return r;
    }
    link_told_open(config->state_dir, config->servers, &l->told);
    l->leader_term = UINT64_MAX;
    l->config = *config;
    l->event = sd_event_ref(event);
    l->node = xstrdup(config->node);
    l->join_token = config->join_token != NULL ? xstrdup(config->join_token) : NULL;
    if (config->join_token_file != NULL && !(config->join_token_once && has_credential(l)))
        l->join_token_file = xstrdup(config->join_token_file);
    l->state_dir = xstrdup(config->state_dir);
    if (config->on_joined == NULL)
        l->credential = read_secret(config->state_dir, "credential");
    r = sd_event_add_time_relative(event, &l->main_timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                                   on_main_timer, l);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &l->orders_timer, CLOCK_BOOTTIME, 0,
                                       TIMER_ACCURACY_US, on_orders_timer, l);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &l->away_timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                                       on_away_timer, l);
    if (r < 0) {
        (void)link_free(l);
        return edl_error_errno(error, r, "cannot make a timer");
    }
    (void)sd_event_source_set_enabled(l->away_timer, SD_EVENT_OFF);
    (void)sd_event_source_set_priority(l->away_timer, SD_EVENT_PRIORITY_IMPORTANT);
    (void)sd_event_source_set_priority(l->main_timer, SD_EVENT_PRIORITY_IMPORTANT);
    (void)sd_event_source_set_priority(l->orders_timer, SD_EVENT_PRIORITY_IMPORTANT);
    (void)sd_event_source_set_enabled(l->orders_timer, SD_EVENT_OFF);
    link_sm_init(&l->sm, config->heartbeat_us, l->credential != NULL, now(), &actions);
    link_sm_servers(&l->sm, link_bases_learn(l->bases, &l->told.servers));
    carry_out(l, &actions);
    *ret = l;
    return 0;
}

struct link *link_free(struct link *l)
{
    if (l == NULL)
        return NULL;
    sd_event_source_disable_unref(l->main_timer);
    sd_event_source_disable_unref(l->orders_timer);
    sd_event_source_disable_unref(l->away_timer);
    (void)link_bases_free(l->bases);
    link_told_close(&l->told);
    sd_event_unref(l->event);
    free(l->refused);
    free(l->credential);
    free(l->joining);
    free(l->node);
    free(l->join_token);
    free(l->join_token_file);
    free(l->state_dir);
    free(l);
    return NULL;
}

void link_moved(struct link *l)
{
    link_bases_renew(l->bases);
}

void link_changed(struct link *l)
{
    struct link_actions actions;

    link_sm_changed(&l->sm, now(), &actions);
    carry_out(l, &actions);
}

void link_eager(struct link *l, bool eager)
{
    struct link_actions actions;

    link_sm_eager(&l->sm, eager, now(), link_noise(), &actions);
    carry_out(l, &actions);
}

const char *link_node(const struct link *l)
{
    return l->node;
}

const char *link_credential(const struct link *l)
{
    return l->credential;
}

const char *link_server(const struct link *l)
{
    return link_bases_url(l->bases, l->leader);
}

int link_call(struct link *l, const struct http_call *call, http_answer_fn on_answer,
              void *userdata, struct http_async_call **ret_call, struct edl_error *error)
{
    struct edl_error why = { 0 };
    struct http_async *async = link_bases_others(l->bases, l->leader, &why);
    int r = call_with_credential(l, async, call, on_answer, userdata, ret_call, &why);

    if (r < 0 && error != NULL)
        *error = why;
    return r;
}
