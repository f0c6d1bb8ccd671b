/* SPDX-License-Identifier: Apache-2.0 */
/* schedulers.c - the schedulers of a cluster: the leader, the standbys, the copies of their
 * database; the line with which another one comes in
 *
 * A line has a token that is good once, as the line of a node has. It is kept as one of a node
 * whose name no node can have. It brings all that a scheduler holds besides the database:
 * the authority's key and the tokens of the state directory. */
#include "scheduler/api/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/join_tokens.h"
#include "scheduler/calls/body.h"
#include "scheduler/leadership/copy_wait.h"
#include "scheduler/leadership/watch.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define STANDBY_PREFIX "standby:"    /* no node has a colon in its name */
#define SILENT_US (5 * USEC_PER_SEC) /* each tells the database once a second */
#define STANDBY_TOKEN_US (900 * USEC_PER_SEC)

/* --- the list --- */

static json_t *peer_json(const struct scheduler_peer *peer, const char *role)
{
    json_t *json = json_pack("{s:s,s:s}", "name", peer->name, "role", role);

    if (peer->address[0] != '\0')
        (void)json_object_set_new(json, "address", json_string(peer->address));
    return json;
}

static json_t *self_json(const struct leadership *leadership)
{
    json_t *json =
        peer_json(&leadership->self, leadership_role_to_string(leadership_shown_role(leadership)));

    if (leadership->role == ROLE_ALONE)
        return json;
    (void)json_object_set_new(json, "term", json_integer((json_int_t)leadership->term));
    (void)json_object_set_new(json, "since_us",
                              json_integer((json_int_t)leadership->since_wall_us));
    return json;
}

static json_t *copies_json(const struct shared_facts *facts)
{
    json_t *copies = json_array();

    for (size_t i = 0; i < facts->n_copies; i++)
        (void)json_array_append_new(copies,
                                    json_pack("{s:s,s:s,s:I,s:I}", "name", facts->copies[i].name,
                                              "state", facts->copies[i].state, "behind_us",
                                              (json_int_t)facts->copies[i].lag_us, "behind_bytes",
                                              (json_int_t)facts->copies[i].lag_bytes));
    return copies;
}

static json_t *lines_json(const char *text)
{
    json_t *lines = json_array();

    while (*text != '\0') {
        size_t size = strcspn(text, "\n");

        (void)json_array_append_new(lines, json_stringn(text, size));
        text += size + (text[size] == '\n');
    }
    return lines;
}

static json_t *database_json(const struct leadership *leadership)
{
    const struct shared_facts *facts = &leadership->facts;
    struct edl_error error = { 0 };
    json_t *json = json_pack("{s:s,s:b,s:o,s:o}", "server", facts->server, "wants_copies",
                             facts->wanted_copies[0] != '\0', "copies", copies_json(facts),
                             "advice", lines_json(leadership->advice));

    if (copy_wait_error(facts, &error) < 0)
        (void)json_object_update_new(json, json_pack("{s:s,s:s}", "detail", error.text, "remedy",
                                                     error.remedy));
    return json;
}

void api_schedulers_list(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    const struct leadership *leadership = &scheduler->leadership;
    json_t *list = json_pack("[o]", self_json(leadership));
    json_t *answer;

    for (size_t i = 0; i < leadership->n_others; i++) {
        bool silent = leadership->others[i].seen_ago_us > SILENT_US;
        json_t *other = peer_json(&leadership->others[i], silent ? "silent" : "standby");

        (void)json_object_set_new(other, "seen_ago_us",
                                  json_integer((json_int_t)leadership->others[i].seen_ago_us));
        (void)json_array_append_new(list, other);
    }
    answer = json_pack("{s:o}", "schedulers", list);
    if (leadership->facts_us != 0)
        (void)json_object_set_new(answer, "database", database_json(leadership));
    http_reply_json(request, 200, answer);
}

static int check_shared(const struct scheduler *scheduler, struct edl_error *error)
{
    if (scheduler->leadership.role != ROLE_ALONE)
        return 0;
    (void)edl_error_set(error, EDL_EBADTRANSITION,
                        "the state of this scheduler is in its state directory, which one alone "
                        "can use");
    return edl_error_remedy(error, "move it to a database that several share: edl admin migrate "
                                   "--to postgresql://...");
}

/* --- another one --- */

static int read_wish(const json_t *body, const char **ret_name, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    int r = body_known(&must, "name", error);

    if (r == 0)
        r = body_string(&must, "name", NODE_NAME_MAX, ret_name, error);
    if (r < 0 || (options_scheduler_name_valid(*ret_name) &&
                  strlen(*ret_name) + strlen(STANDBY_PREFIX) <= NODE_NAME_MAX))
        return r;
    return edl_error_at(error, -EINVAL, "/name",
                        "%.80s is no name of up to %d letters, digits, -, _ and .", *ret_name,
                        NODE_NAME_MAX - (int)strlen(STANDBY_PREFIX));
}

static int check_name(const struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    const struct leadership *leadership = &scheduler->leadership;
    bool is_known = streq(name, leadership->self.name);

    for (size_t i = 0; i < leadership->n_others; i++)
        is_known = is_known || streq(name, leadership->others[i].name);
    if (!is_known)
        return 0;
    (void)edl_error_set(error, -EEXIST, "there is a scheduler %s", name);
    return edl_error_remedy(error,
                            "give another name; one that is no more is forgotten by `edl "
                            "admin standby remove %s`",
                            name);
}

void api_standby_add(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct stored_token *made = NULL;
    struct edl_error error = { 0 };
    struct caller caller = { .user = "" };
    char token[TOKEN_HEX + 1], node[NODE_NAME_MAX + 1];
    const char *name = "", *url = "";
    json_t *body = NULL, *answer;
    int r = body_object(request, &body, &error);

    (void)auth_caller(scheduler, request, &caller);
    if (r == 0)
        r = check_shared(scheduler, &error);
    if (r == 0)
        r = read_wish(body, &name, &error);
    if (r == 0)
        r = check_name(scheduler, name, &error);
    if (r == 0)
        r = listeners_look(scheduler, &url, &error);
    (void)snprintf(node, sizeof node, STANDBY_PREFIX "%.*s",
                   NODE_NAME_MAX - (int)strlen(STANDBY_PREFIX), name);
    if (r == 0)
        r = join_tokens_make(scheduler, node,
                             &(struct join_token_maker){ caller.user, true, caller.token_id },
                             clock_instant().wall_us, STANDBY_TOKEN_US, token, &made, &error);
    if (r < 0) {
        json_decref(body);
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    log_info("the token %s for a scheduler %s was made", made->id, name);
    answer = json_pack("{s:s,s:s,s:s,s:I}", "name", name, "id", made->id, "token", token,
                       "expires_us", (json_int_t)clock_shown_us(made->expires_wall_us));
    if (scheduler->leadership.self.address[0] != '\0' || url[0] != '\0')
        (void)json_object_set_new(answer, "server",
                                  json_string(scheduler->leadership.self.address[0] != '\0'
                                                  ? scheduler->leadership.self.address
                                                  : url));
    if (scheduler->listeners.tls.pin[0] != '\0')
        (void)json_object_set_new(answer, "ca_pin", json_string(scheduler->listeners.tls.pin));
    held_after_commit(scheduler, held_new(request), 201, answer);
    json_decref(body);
}

static int check_token(const struct stored_token *token, struct edl_error *error)
{
    bool is_one =
        token != NULL && strncmp(token->node, STANDBY_PREFIX, strlen(STANDBY_PREFIX)) == 0;

    if (is_one && token->used_wall_us == 0)
        return 0;
    if (is_one)
        (void)edl_error_set(error, EDL_EUNAUTHENTICATED, "the token was used already");
    else
        (void)edl_error_set(error, EDL_EUNAUTHENTICATED, "this is no token for a scheduler");
    return edl_error_remedy(error, "run the line that `edl admin standby add NAME` prints");
}

/* A scheduler that listens on its own machine alone has no authority. */
static int add_authority(const struct scheduler *scheduler, json_t *answer, struct edl_error *error)
{
    struct certificate_pair ca = { 0 };
    int r = tls_files_authority(scheduler->options.state_dir, &ca, error);

    if (r == 0 && ca.certificate != NULL) {
        (void)json_object_set_new(answer, "ca_certificate", json_string(ca.certificate));
        (void)json_object_set_new(answer, "ca_key", json_string(ca.key));
    }
    certificate_pair_clear(&ca);
    return r;
}

/* The database's password stays where it is: it goes into no answer. */
void api_standby_join(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct stored_token *token = auth_join_token(scheduler, request);
    const char *url = scheduler->options.store;
    char name[NODE_NAME_MAX + 1], shown[STORE_URL_MAX], term[24];
    struct edl_error error = { 0 };
    json_t *answer;
    int r = check_token(token, &error);

    if (r == 0)
        r = check_shared(scheduler, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    (void)snprintf(name, sizeof name, "%s", token->node + strlen(STANDBY_PREFIX));
    store_url_without_password(url, shown);
    (void)snprintf(term, sizeof term, "%" PRIu64, scheduler->leadership.term);
    answer = json_pack("{s:s,s:s,s:b,s:s,s:s,s:s}", "name", name, "store", shown, "password",
                       store_url_has_password(url), "admin_token", scheduler->admin_token,
                       "join_token", scheduler->join_token, "term", term);
    if (add_authority(scheduler, answer, &error) < 0) {
        json_decref(answer);
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    join_tokens_use(scheduler, token, token->node, "", clock_instant().wall_us);
    log_info("scheduler %s takes over the authority and the tokens of this one", name);
    held_after_commit(scheduler, held_new(request), 200, answer);
}

/* --- one that is no more --- */

static int check_other(const struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    int r = check_shared(scheduler, error);

    if (r < 0 || !streq(name, scheduler->leadership.self.name))
        return r;
    (void)edl_error_set(error, EDL_EBADTRANSITION, "the scheduler %s leads", name);
    return edl_error_remedy(error, "stop it: another one takes over, and forgets it then");
}

/* forget_peer - true: it was known; adds when it was last seen */
static bool forget_peer(struct leadership *leadership, const char *name, json_t *answer)
{
    size_t i = 0;

    while (i < leadership->n_others && !streq(leadership->others[i].name, name))
        i++;
    if (i == leadership->n_others)
        return false;
    (void)json_object_set_new(answer, "seen_ago_us",
                              json_integer((json_int_t)leadership->others[i].seen_ago_us));
    leadership->others[i] = leadership->others[--leadership->n_others];
    if (leadership->watch != NULL)
        watch_forget(leadership->watch, name);
    log_info("scheduler %s is no longer told to nodes", name);
    return true;
}

/* A line for it that nobody has used is good no more: who takes a scheduler away wants none. */
void api_standby_remove(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *name = http_request_param(request, "scheduler");
    struct edl_error error = { 0 };
    char node[NODE_NAME_MAX + 1];
    json_t *answer;
    unsigned n;

    if (check_other(scheduler, name, &error) < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    (void)snprintf(node, sizeof node, STANDBY_PREFIX "%.*s",
                   NODE_NAME_MAX - (int)strlen(STANDBY_PREFIX), name);
    n = join_tokens_revoke_unused(scheduler, node, clock_instant().wall_us);
    answer = json_pack("{s:s,s:s,s:I}", "name", name, "state", "removed", "lines", (json_int_t)n);
    if (!forget_peer(&scheduler->leadership, name, answer) && n == 0) {
        json_decref(answer);
        (void)edl_error_set(&error, -ENOENT, "there is no standby %.80s, and no line for one",
                            name);
        (void)edl_error_remedy(&error, "`edl admin standby list` has all of them");
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    held_after_commit(scheduler, held_new(request), 200, answer);
}
