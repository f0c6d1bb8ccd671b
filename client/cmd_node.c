/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_node.c - `edl node`: how machines come into the cluster and leave it: the line that joins
 * one, the tokens behind such lines, and changes of those that are there */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/server_list.h"

struct node_options {
    struct common_options common;
    uint64_t ttl_us; /* 0: not given */
    bool foreground;
    bool gone;
};

static const struct option_row node_options[] = {
    { "ttl", "TIME", "add: how long the line is good (default 1h, at most 7d)", option_period,
      OPTION_FIELD(struct node_options, ttl_us) },
    { "foreground", NULL, "add: the line runs the agent itself, and no service", option_flag,
      OPTION_FIELD(struct node_options, foreground) },
    { "gone", NULL, "remove: its machine is off for good, and all that it kept", option_flag,
      OPTION_FIELD(struct node_options, gone) },
};

/* Where it is printed decides nothing: what is not for a person's eyes goes to stderr. */
static void print_line(const json_t *made, bool foreground)
{
    _cleanup_free_ char *servers = server_list_told(made);
    const char *pin = json_text(made, "ca_pin");
    const char *node = json_text(made, "node");
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    uint64_t end_us = json_u64(made, "expires_us");
    char left[32];

    (void)printf("edl-agent --join %s --token %s%s%s%s%s%s\n", servers, json_text(made, "token"),
                 *pin != '\0' ? " --ca-pin " : "", pin, *node != '\0' ? " --node " : "", node,
                 foreground ? "" : " --join-only && systemctl enable --now edl-agent");
    (void)fflush(stdout);
    report_note("run this %son the machine that is to join; it is good once, for %s (%s)",
                foreground ? "" : "as root ",
                text_duration(end_us > now_us ? end_us - now_us : 0, left, sizeof left),
                json_text(made, "id"));
    if (*pin == '\0')
        report_note("the scheduler listens on its own machine only: start it with --listen "
                    "0.0.0.0:7010 for others");
}

static int add_node(const struct invocation *invocation, struct server *server)
{
    const struct node_options *options = invocation->options;
    const struct option_words *given = &invocation->arguments;
    _cleanup_json_ json_t *body = json_object();
    _cleanup_json_ json_t *made = NULL;
    struct edl_error error = { 0 };
    int status;

    if (given->n_args > 1)
        (void)json_object_set_new(body, "node", json_string(given->args[1]));
    if (options->ttl_us > 0)
        (void)json_object_set_new(body, "ttl_us", json_integer((json_int_t)options->ttl_us));
    status = server_request(server, "POST", "/tokens/join", body, &made);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        json_print(made);
        return STATUS_OK;
    }
    if (*json_text(made, "server") != '\0') {
        print_line(made, options->foreground);
        return STATUS_OK;
    }
    (void)edl_error_set(&error, -ENOTCONN, "the scheduler listens on a Unix socket only");
    (void)edl_error_remedy(&error, "start it with --listen 0.0.0.0:7010 as well");
    return report_error(&error);
}

static void add_row(struct table *table, const json_t *token)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    uint64_t end_us = json_u64(token, "expires_us");
    const char *node = json_text(token, "node");
    const char *used_by = json_text(token, "used_by");
    char left[32];

    table_add(table, "%s", json_text(token, "id"));
    table_add(table, "%s", json_text(token, "state"));
    table_add(table, "%s", *node != '\0' ? node : "-");
    table_add(table, "%s", json_text(token, "made_by"));
    table_add(table, "%s",
              end_us > now_us ? text_duration(end_us - now_us, left, sizeof left) : "-");
    table_add(table, "%s", *used_by != '\0' ? used_by : "-");
}

static int list_tokens(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = { "TOKEN", "STATE",   "FOR", "MADE-BY",
                                           "LEFT",  "USED-BY", NULL };
    _cleanup_json_ json_t *answer = NULL;
    int status = server_get(server, &answer, "/tokens/join");

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0);
    size_t i;
    json_t *token;

    json_array_foreach(json_object_get(answer, "tokens"), i, token) add_row(table, token);
    table_print(table, stdout);
    return STATUS_OK;
}

static int revoke_token(const struct invocation *invocation, struct server *server)
{
    _cleanup_free_ char *id = text_url_segment(invocation->arguments.args[1]);
    _cleanup_free_ char *path = text_format("/tokens/join/%s", id);
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, "DELETE", path, NULL, &answer);

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json)
        json_print(answer);
    else
        (void)printf("%s: %s\n", json_text(answer, "id"), json_text(answer, "state"));
    return STATUS_OK;
}

/* change_one - state: what it is to be; NULL: forgotten */
static int change_one(struct server *server, const char *state, const char *name,
                      const struct node_options *options)
{
    bool is_gone = state == NULL && options->gone;
    _cleanup_free_ char *segment = text_url_segment(name);
    _cleanup_free_ char *path = text_format("/nodes/%s%s", segment, is_gone ? "?gone=1" : "");
    _cleanup_json_ json_t *body = state != NULL ? json_pack("{s:s}", "state", state) : NULL;
    _cleanup_json_ json_t *answer = NULL;
    const char *reason;
    int status = server_request(server, state != NULL ? "PATCH" : "DELETE", path, body, &answer);

    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        json_print(answer);
        return STATUS_OK;
    }
    reason = json_text(answer, "reason");
    (void)printf("%s: %s%s%s\n", name, json_text(answer, "state"), *reason != '\0' ? ", " : "",
                 reason);
    return STATUS_OK;
}

/* change - each node is asked for although another was refused */
static int change(struct server *server, const struct invocation *invocation, const char *state)
{
    const struct option_words *given = &invocation->arguments;
    int worst = STATUS_OK;

    for (size_t i = 1; i < given->n_args && worst != STATUS_NO_SERVER; i++) {
        int status = change_one(server, state, given->args[i], invocation->options);

        worst = MAX_OF(worst, status);
    }
    return worst;
}

static int cordon(const struct invocation *invocation, struct server *server)
{
    return change(server, invocation, "cordoned");
}

static int uncordon(const struct invocation *invocation, struct server *server)
{
    return change(server, invocation, "ready");
}

static int drain(const struct invocation *invocation, struct server *server)
{
    return change(server, invocation, "draining");
}

static int take_away(const struct invocation *invocation, struct server *server)
{
    return change(server, invocation, NULL);
}

static const struct action actions[] = {
    { .name = "add", .run = add_node, .more_args = 1 },
    { .name = "tokens", .run = list_tokens },
    { .name = "revoke", .n_args = 1, .run = revoke_token },
    { .name = "cordon", .n_args = 1, .run = cordon, .more_args = SIZE_MAX },
    { .name = "uncordon", .n_args = 1, .run = uncordon, .more_args = SIZE_MAX },
    { .name = "drain", .n_args = 1, .run = drain, .more_args = SIZE_MAX },
    { .name = "remove", .n_args = 1, .run = take_away, .more_args = SIZE_MAX },
};

static int run(const struct invocation *invocation)
{
    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_node = {
    .name = "node",
    .usage = "add [NAME] [--ttl TIME] [--foreground] | tokens | revoke TOKEN | cordon NAME... | "
             "uncordon NAME... |"
             " drain NAME... | remove [--gone] NAME...",
    .summary = "Take machines into the cluster and out of it",
    .details =
        "`edl node add` prints one line to run as root on the machine that is to join, where the "
        "package edl-agent\nis installed: it joins and starts the service. With --foreground the "
        "line runs an agent until it is ended,\nfor machines without systemd. It has a token "
        "that is good once\nand for a limited time, and the pin by which that machine knows "
        "the scheduler.\nOf several schedulers it has the addresses of all. With NAME only\na node "
        "of that name joins with it, also one that was "
        "there before; without, one of a new name. `edl node tokens` lists such tokens, `edl node "
        "revoke` ends one.\n\n"
        "cordon: nothing new starts there. drain: processes there move away as well, and nothing "
        "is killed\n(`edl plan --drain NAME` tells the effects before). uncordon: it is as "
        "others again, also after a\nquarantine. remove: the cluster forgets it; it must be empty. "
        "A process of a job with on_disconnect: keep on a node that is cut off is given up "
        "with\n--gone only: "
        "say that when\nthe machine is off for good, or the process runs twice.",
    VERB_OPTIONS(node_options, struct node_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
};
