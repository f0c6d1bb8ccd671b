/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - nodes: join, report, and the questions and changes of people; for orders see
 * api/orders.c */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/connection_owner.h"
#include "scheduler/accounts/join_tokens.h"
#include "scheduler/api/api.h"
#include "scheduler/api/forecast.h"
#include "scheduler/api/node_report.h"
#include "scheduler/api/page.h"
#include "scheduler/api/precondition.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/json/node_json.h"
#include "scheduler/scheduler.h"
#include "shared/agent_wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* The id of a report that waits for its turn: its node was in the cluster already, in the same
 * boot. A node that is back, or was started again, gets no lease before that is stored. */
#define WAS_KNOWN 1

/* --- an agent's report --- */

int api_check_node_name(const char *name, struct edl_error *error)
{
    bool good = isalnum((unsigned char)name[0]) != 0;

    for (const char *p = name; *p != '\0'; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '-' || *p == '.' || *p == '_');
    /* "join" would be shadowed by POST /nodes/join; ".." has no place in a path */
    if (good && !streq(name, "join"))
        return 0;
    (void)edl_error_at(error, -EINVAL, "/node", "\"%s\" cannot be a node's name", name);
    return edl_error_remedy(error, "letters, digits, '-', '.' and '_', a letter or digit first");
}

/* The node that joins, and its credentials. */
struct join {
    const char *name;                 /* borrowed from the body, as the next two */
    const char *machine_id, *boot_id; /* NULL: not told */
    struct node_offer offer;
    char credential[TOKEN_HEX + 1], hash[65];
    bool made_here;                   /* the credential: it goes out with the answer */
    const struct stored_token *token; /* one-time; NULL: another credential of the caller */
    bool again;                       /* the answer to the same join was lost */
    struct node *node;
};

/* An agent makes its credential itself and keeps it before it asks: then it can ask again. */
static int read_credential(const json_t *body, struct join *join, struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const char *given = NULL;
    int r = body_string(&may, "credential", TOKEN_HEX, &given, error);

    if (r < 0)
        return r;
    join->made_here = given == NULL;
    if (given == NULL)
        return auth_make_token(join->credential, error);
    if (strlen(given) != TOKEN_HEX || strspn(given, "0123456789abcdef") != TOKEN_HEX)
        return edl_error_at(error, -EINVAL, "/credential",
                            "a credential is %d hex digits, 32 random bytes", TOKEN_HEX);
    (void)snprintf(join->credential, sizeof join->credential, "%s", given);
    return 0;
}

static int read_join(const json_t *body, struct join *join, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    int r = body_string(&must, "node", NODE_NAME_MAX, &join->name, error);

    if (r == 0)
        r = api_check_node_name(join->name, error);
    if (r == 0)
        r = node_report_machine_id(body, &join->machine_id, error);
    if (r == 0)
        r = body_string(&may, "boot_id", 39, &join->boot_id, error);
    if (r == 0)
        r = node_offer_from_json(body, &join->offer, error);
    if (r == 0)
        r = read_credential(body, join, error);
    return r == 0 ? auth_hash(join->credential, join->hash, error) : r;
}

static int check_token(struct scheduler *scheduler, struct join *join, struct edl_error *error)
{
    const struct join_wish wish = { .node = join->name,
                                    .credential_hash = join->hash,
                                    .machine_id = join->machine_id };
    int r = join_tokens_check(scheduler, join->token, &wish, clock_instant().wall_us, error);

    join->node = cluster_node(scheduler->cluster, join->name);
    join->again = r == 1;
    if (r == 1 && (join->node == NULL || !streq(join->node->credential_hash, join->hash)))
        r = edl_error_set(error, EDL_EUNAUTHENTICATED,
                          "the join token was used already, and node %s removed since", join->name);
    return r < 0 ? r : 0;
}

/* 403, not 409: the obstacle does not go by itself, and the person who typed the join line is
 * there */
static int check_machine(struct scheduler *scheduler, const struct http_request *request,
                         const struct join *join, struct edl_error *error)
{
    int r = cluster_check_machine(scheduler->cluster, join->name, join->machine_id, join->boot_id,
                                  error);

    if (r == 0)
        return 0;
    denials_note(&scheduler->denials, request, error);
    error->code = -EACCES;
    return error->code;
}

static int take_node(struct scheduler *scheduler, struct join *join, struct edl_error *error)
{
    bool known = cluster_node(scheduler->cluster, join->name) != NULL;
    int r = cluster_join_node(scheduler->cluster, join->name, join->hash, &join->offer,
                              clock_instant(), &join->node, error);

    if (r < 0)
        return r;
    cluster_note_machine(scheduler->cluster, join->node, join->machine_id);
    if (!known) /* never a version that an earlier node of this name had */
        join->node->orders_version = scheduler->orders_base + (++scheduler->n_joins << 20);
    if (join->token != NULL)
        join_tokens_use(scheduler, join->token, join->name, join->hash, clock_instant().wall_us);
    return 0;
}

/* check_wire - before anything else of a body, which another version may have meant otherwise */
static int check_wire(const json_t *body, struct edl_error *error)
{
    const struct agent_wire own = agent_wire_own();

    return agent_wire_check(body, &own, WIRE_PEER_AGENT, error);
}

void api_node_join(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct join join = { .token = auth_join_token(scheduler, request) };
    struct edl_error error = { 0 };
    json_t *body = NULL, *answer;
    int r = body_object(request, &body, &error);

    if (r == 0)
        r = check_wire(body, &error);
    if (r == 0)
        r = read_join(body, &join, &error);
    if (r == 0 && join.token != NULL)
        r = check_token(scheduler, &join, &error);
    if (r == 0 && !join.again)
        r = check_machine(scheduler, request, &join, &error);
    if (r == 0 && !join.again)
        r = take_node(scheduler, &join, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
    } else {
        connection_owner_joined(request, join.node->name);
        answer = agent_wire_add(json_pack("{s:s,s:I}", "node", join.node->name, "lease_us",
                                          (json_int_t)scheduler->options.lease_us));
        answer = leadership_add(scheduler, answer);
        if (join.made_here)
            (void)json_object_set_new(answer, "credential", json_string(join.credential));
        if (join.again)
            tell_after_commit(scheduler, request, 201, answer);
        else
            held_after_commit(scheduler, held_new(request), 201, answer);
    }
    json_decref(body);
}

static json_t *build_report(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct node *node = cluster_node(scheduler->cluster, key);
    json_t *answer;

    (void)id;
    if (node == NULL)
        return NULL;
    answer = json_pack("{s:I,s:I,s:I}", "lease_us", (json_int_t)scheduler->options.lease_us,
                       "next_report_us", (json_int_t)cluster_next_report_us(scheduler->cluster),
                       "orders_version", (json_int_t)node->orders_version);
    if (node->start_session != 0) /* until it repeats it, who knows whether it hears us */
        (void)json_object_set_new(answer, "session", json_integer((json_int_t)node->start_session));
    return leadership_add(scheduler, agent_wire_add(answer));
}

/* A report of another boot is to come once more, with a number that only the node that runs now can
 * hear. */
static void refuse_report(struct http_request *request, const struct node *node,
                          const struct edl_error *error)
{
    if (error->code != EDL_ESTALE || node->session == 0)
        http_reply_error(request, error);
    else
        http_reply_json(request, (unsigned)error_code_http_status(error->code),
                        json_pack("{s:s,s:s,s:I}", "title", error_code_text(error->code), "detail",
                                  error->text, "session", (json_int_t)node->session));
}

/* note_silence - of those that say with their end that no log will follow */
static void note_silence(struct scheduler *scheduler, const struct node *node, const json_t *body,
                         const struct node_report *report)
{
    const json_t *array = json_object_get(body, "processes");

    for (size_t i = 0; i < report->n_processes; i++)
        if (report->processes[i].state == PROCESS_EXITED &&
            json_is_true(json_object_get(json_array_get(array, i), "silent")))
            api_logs_note_silence(scheduler, node, &report->processes[i]);
}

/* At once, when the report changed nothing that is to be stored. */
static void reply_report(struct scheduler *scheduler, struct http_request *request,
                         const struct node *node, bool was_known)
{
    if (scheduler_skip_turn(scheduler))
        http_reply_json(request, 200, build_report(scheduler, node->name, 0));
    else
        held_build_after_commit(scheduler, held_new(request), 200, build_report, node->name,
                                was_known ? WAS_KNOWN : 0);
}

/* answer_late - a report whose turn is late gets its lease, as one that came later does. false: it
 * has to wait for the turn */
static bool answer_late(struct scheduler *scheduler, struct held *held)
{
    const struct node *node = cluster_node(scheduler->cluster, held->key);

    if (held->build != build_report || held->id != WAS_KNOWN || held->request == NULL ||
        node == NULL || !leadership_may_lease(scheduler))
        return false;
    DL_DELETE(scheduler->answers, held);
    held_reply_json(held, 200, degraded_lease(scheduler));
    return true;
}

void api_reports_are_late(struct scheduler *scheduler)
{
    struct held *held, *next;

    DL_FOREACH_SAFE(scheduler->answers, held, next)
    (void)answer_late(scheduler, held);
}

/* read_term - the highest that its agent knows; 0: none */
static int read_term(const json_t *body, uint64_t *ret, struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };

    return body_u64(&may, "term", INT64_MAX, ret, error);
}

static bool takes_lease_only(const struct scheduler *scheduler)
{
    return scheduler->degraded.on || scheduler->flight != NULL || !leadership_is_fresh(scheduler);
}

/* note_told - the core took the report, which says more */
static void note_told(struct scheduler *scheduler, struct node *node, const json_t *body,
                      const struct node_report *report)
{
    note_silence(scheduler, node, body, report);
    progresses_take(&scheduler->progresses, node->name, json_object_get(body, "processes"),
                    clock_instant().now_us);
    job_series_report(scheduler, report);
}

/* note_heard - its orders may be told from now on, if they were not before */
static void note_heard(struct scheduler *scheduler, const struct node *node, bool heard)
{
    char topic[TOPIC_MAX];

    if (heard || !node->heard)
        return;
    (void)snprintf(topic, sizeof topic, "orders/%s", node->name);
    scheduler_notify(scheduler, topic);
}

static bool is_known(const struct node *node, const struct node_report *report)
{
    return node->state != NODE_LOST && streq(node->boot_id, report->boot_id);
}

/* Its machine's figures, and its agent's term, were taken when it came. */
void api_late_report(void *userdata, const char *name, const json_t *body)
{
    struct scheduler *scheduler = userdata;
    struct node *node = cluster_node(scheduler->cluster, name);
    struct node_report report = { .complete = true };
    _cleanup_free_ struct process_report *list = NULL;
    _cleanup_free_ uint16_t *ports = NULL;
    struct edl_error error = { 0 };
    bool heard = node != NULL && node->heard;

    if (node == NULL || node_report_read(body, &report, &list, &ports, &error) < 0 ||
        !is_known(node, &report) ||
        cluster_report(scheduler->cluster, node, &report, clock_instant(), &error) < 0)
        return;
    note_told(scheduler, node, body, &report);
    if (!scheduler_skip_turn(scheduler))
        scheduler_touch(scheduler);
    note_heard(scheduler, node, heard);
}

/* lease_only - the answer says that nothing of the report is stored. Its news are taken all the
 * same: now, or behind the turn in flight. A leader in doubt stores them or hears that it is none
 */
static void lease_only(struct scheduler *scheduler, struct http_request *request,
                       const struct node *node, json_t *body, const struct node_report *report)
{
    bool takes = !scheduler->degraded.on && is_known(node, report);

    degraded_report(scheduler, request, node, report);
    if (takes)
        late_reports_keep(&scheduler->late_reports, node->name, report->sent_us, body);
    if (scheduler->flight == NULL)
        late_reports_take(&scheduler->late_reports, api_late_report, scheduler);
}

void api_node_report(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    struct node_report report = { .complete = true };
    _cleanup_free_ struct process_report *list = NULL;
    _cleanup_free_ uint16_t *ports = NULL;
    struct machine *machine = NULL;
    uint64_t term = 0;
    json_t *body = NULL;
    bool heard, was_known = false;
    int r;

    if (node == NULL)
        return;
    heard = node->heard;
    r = body_object(request, &body, &error);
    if (r == 0)
        r = check_wire(body, &error);
    if (r == 0)
        r = read_term(body, &term, &error);
    if (r == 0 && !leadership_hear(scheduler, request, node->name, term)) {
        json_decref(body);
        return;
    }
    if (r == 0)
        r = node_report_read(body, &report, &list, &ports, &error);
    if (r == 0)
        r = machine_from_json(body, &machine, &error);
    if (r == 0)
        was_known = is_known(node, &report);
    if (r == 0 && !takes_lease_only(scheduler))
        r = cluster_report(scheduler->cluster, node, &report, clock_instant(), &error);
    if (r == 0 && machine != NULL)
        machines_take(&scheduler->machines, node->name, TAKE_PTR(machine));
    (void)machine_free(machine);
    if (r == -EEXIST)
        denials_note(&scheduler->denials, request, &error);
    if (r < 0) {
        refuse_report(request, node, &error);
    } else if (takes_lease_only(scheduler)) {
        lease_only(scheduler, request, node, body, &report);
    } else {
        note_told(scheduler, node, body, &report);
        reply_report(scheduler, request, node, was_known);
    }
    if (r == 0)
        note_heard(scheduler, node, heard);
    json_decref(body);
}

/* --- people --- */

static json_t *show_node(const struct scheduler *scheduler, const struct node *node)
{
    return node_to_json(node, machines_find(&scheduler->machines, node->name));
}

static json_t *build_node(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct node *node = cluster_node(scheduler->cluster, key);

    (void)id;
    return node != NULL ? show_node(scheduler, node) : NULL;
}

static bool tag_node(struct scheduler *scheduler, const char *key, uint64_t id, char ret[ETAG_MAX])
{
    const struct node *node = cluster_node(scheduler->cluster, key);

    (void)id;
    if (node != NULL)
        etag_of_node(node, ret, ETAG_MAX);
    return node != NULL;
}

static void reply_changed(struct scheduler *scheduler, struct http_request *request,
                          const struct node *node)
{
    struct held *held = held_new(request);

    held->tag = tag_node;
    held_build_after_commit(scheduler, held, 200, build_node, node->name, 0);
}

void api_nodes_list(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct page page;
    json_t *nodes, *next;

    if (page_open(request, &page, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    for (const struct node *node = cluster_nodes(scheduler->cluster); node != NULL;
         node = node->hh.next)
        page_offer(&page, node->name, node);
    next = page_fill(&page);
    nodes = json_array();
    for (size_t i = 0; i < page.n; i++)
        (void)json_array_append_new(nodes, show_node(scheduler, page.items[i].item));
    page_close(&page);
    http_reply_json(request, 200, json_pack("{s:o,s:o}", "nodes", nodes, "next", next));
}

void api_node_show(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    char tag[ETAG_MAX];

    if (node == NULL)
        return;
    etag_of_node(node, tag, sizeof tag);
    http_reply_header(request, "ETag", tag);
    http_reply_json(request, 200, show_node(scheduler, node));
}

static int read_state(const json_t *body, enum node_state *ret, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    const char *word;
    int state;
    int r = body_known(&must, "state", error);

    if (r == 0)
        r = body_string(&must, "state", 32, &word, error);
    if (r < 0)
        return r;
    state = node_state_from_string(word);
    if (state != NODE_READY && state != NODE_CORDONED && state != NODE_DRAINING)
        return edl_error_at(error, -EINVAL, "/state",
                            "\"%s\" is not one of ready, cordoned, draining", word);
    *ret = (enum node_state)state;
    return 0;
}

void api_node_set(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    enum node_state state = NODE_READY;
    json_t *body = NULL;
    char tag[ETAG_MAX];
    bool dry_run = false;
    int r;

    if (node == NULL)
        return;
    etag_of_node(node, tag, sizeof tag);
    r = precondition_check(request, tag, &error);
    if (r == 0)
        r = api_dry_run(request, &dry_run, &error);
    if (r == 0)
        r = body_object(request, &body, &error);
    if (r == 0)
        r = read_state(body, &state, &error);
    if (r == 0 && dry_run)
        r = api_forecast_node(scheduler, request, node, state, &error);
    else if (r == 0)
        r = cluster_set_node_state(scheduler->cluster, node, state, clock_instant(), &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else if (!dry_run)
        reply_changed(scheduler, request, node);
    json_decref(body);
}

/* ?gone=1: somebody knows that the machine is off for good */
static int read_gone(const struct http_request *request, bool *ret, struct edl_error *error)
{
    const char *given = http_request_query(request, "gone");

    *ret = given != NULL && streq(given, "1");
    if (given == NULL || *ret || streq(given, "0"))
        return 0;
    return edl_error_set(error, -EINVAL, "gone=%.20s is neither 1 nor 0", given);
}

void api_node_remove(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    char tag[ETAG_MAX];
    char topic[TOPIC_MAX];
    bool gone = false;
    int r;

    if (node == NULL)
        return;
    (void)snprintf(topic, sizeof topic, "orders/%s", node->name);
    etag_of_node(node, tag, sizeof tag);
    r = precondition_check(request, tag, &error);
    if (r == 0)
        r = read_gone(request, &gone, &error);
    if (r == 0 && gone)
        r = cluster_give_up_node(scheduler->cluster, node, clock_instant(), &error);
    if (r == 0)
        r = cluster_remove_node(scheduler->cluster, node, clock_instant(), &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    machines_forget(&scheduler->machines, http_request_param(request, "node"));
    progresses_forget(&scheduler->progresses, http_request_param(request, "node"));
    held_after_commit(scheduler, held_new(request), 200,
                      json_pack("{s:s,s:s}", "node", http_request_param(request, "node"), "state",
                                "removed"));
    scheduler_notify(scheduler, topic);
}
