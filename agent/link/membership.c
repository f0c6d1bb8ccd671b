/* SPDX-License-Identifier: Apache-2.0 */
/* membership.c - which cluster this node belongs to, and how it knows it */
#include "agent/link/membership.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/options.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/own_address.h"
#include "shared/whole_file.h"

#define DEFAULT_ADDRESS "127.0.0.1"
#define ASK_QUICKLY_US USEC_PER_SEC /* one of several, at first */

/* What is there before this start. */
struct kept {
    char *path;   /* member.json */
    json_t *json; /* NULL: not there */
    struct server_list servers;
    const char *node, *address;
    char *ca_path; /* of the state folder, whether it is there or not */
    bool has_ca;
    bool joined; /* there is a credential */
};

static void kept_done(struct kept *kept)
{
    json_decref(kept->json);
    server_list_clear(&kept->servers);
    free(kept->path);
    free(kept->ca_path);
}

static bool is_there(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);

    return access(path, F_OK) == 0;
}

/* An agent of a release before knows one, and writes that one alone. */
static void read_servers(const json_t *json, struct server_list *ret)
{
    const json_t *first = json_object_get(json, "server");

    server_list_read(json_object_get(json, "servers"), ret);
    if (ret->n == 0 && json_is_string(first))
        (void)server_list_add(ret, json_string_value(first), NULL);
}

static int read_kept(const char *state_dir, struct kept *ret, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    struct edl_error why = { 0 };
    int r;

    *ret = (struct kept){ .path = text_format("%s/member.json", state_dir),
                          .ca_path = text_format("%s/ca.pem", state_dir),
                          .has_ca = is_there(state_dir, "ca.pem"),
                          .joined = is_there(state_dir, "credential") };
    r = whole_file_read(ret->path, false, &text, &why);
    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        if (error != NULL)
            *error = why;
        return r;
    }
    ret->json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    read_servers(ret->json, &ret->servers);
    ret->node = json_string_value(json_object_get(ret->json, "node"));
    ret->address = json_string_value(json_object_get(ret->json, "address"));
    if (ret->servers.n > 0 && ret->node != NULL && ret->address != NULL)
        return 0;
    (void)edl_error_set(error, EDL_ECONFIG, "%s is damaged", ret->path);
    return edl_error_remedy(error, "remove it and give --join, or --scheduler and --node");
}

/* --- server and name --- */

static int choose_node(const struct agent_options *options, const struct kept *kept,
                       struct membership *m, struct edl_error *error)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (options->node != NULL || kept->node != NULL) {
        m->node = xstrdup(options->node != NULL ? options->node : kept->node);
        return 0;
    }
    if (gethostname(host, sizeof host - 1) == -1 || !agent_node_valid(host)) {
        (void)edl_error_set(error, EDL_ECONFIG, "the host's name \"%s\" cannot be a node's", host);
        return edl_error_remedy(error, "give --node NAME (letters, digits, - _ .)");
    }
    m->node = xstrdup(host);
    return 0;
}

static bool has_pin(const struct kept *kept, const char *pin)
{
    _cleanup_free_ char *ca = NULL;
    char found[CERTIFICATE_PIN_MAX];

    return pin != NULL && kept->has_ca && whole_file_read(kept->ca_path, false, &ca, NULL) == 0 &&
           certificate_pin(ca, found, NULL) == 0 && streq(found, pin);
}

/* A folder with a credential in it is one node's of one cluster; its processes are in there too.
 * The cluster is the same when it has the authority that the pin names, or an address in common.
 * Without one in common those of before are asked as well, behind the others. */
static int check_same(const struct agent_options *options, const struct kept *kept,
                      struct membership *m, struct edl_error *error)
{
    if (!kept->joined || kept->json == NULL)
        return 0;
    if (streq(m->node, kept->node) &&
        (options->join == NULL || server_list_meets(&m->servers, &kept->servers)))
        return 0;
    if (streq(m->node, kept->node) && has_pin(kept, options->ca_pin)) {
        for (size_t i = 0; i < kept->servers.n; i++)
            (void)server_list_add(&m->servers, kept->servers.urls[i], NULL);
        return 0;
    }
    (void)edl_error_set(error, EDL_ECONFIG, "the state folder belongs to node %s of %s", kept->node,
                        kept->servers.urls[0]);
    if (!streq(m->node, kept->node))
        return edl_error_remedy(error, "leave --node out, or give another --state-dir; or remove "
                                       "the folder when nothing runs any more");
    return edl_error_remedy(error,
                            "when the cluster moved there: --scheduler %.99s instead of --join (in "
                            "a file scheduler: instead of join:); else another --state-dir, or "
                            "remove the folder when nothing runs any more",
                            options->join);
}

/* refuse_to_join - passed: whoever made this machine did so in order that it joins by itself */
static int refuse_to_join(const struct agent_options *options, const char *server,
                          struct edl_error *error)
{
    if (server == NULL && options->join_token_passed) {
        (void)edl_error_set(error, EDL_ECONFIG,
                            "there is the credential edl.join-token to join with, but nothing says "
                            "which cluster");
        return edl_error_remedy(error,
                                "write join: and ca-pin:, as the line of `edl node add` has "
                                "them, into a file of /etc/edl/agent.conf.d (edl-agent.conf(5)), "
                                "then systemctl restart edl-agent");
    }
    (void)edl_error_set(error, EDL_ECONFIG, "this node has not joined %s yet%s",
                        server != NULL ? server : "a cluster",
                        server != NULL ? ", and there is no token to join with" : "");
    return edl_error_remedy(error, "run the line that `edl node add` prints on the scheduler's "
                                   "host: edl-agent --join ...");
}

/* find_servers - none: nothing says it */
static int find_servers(const struct agent_options *options, const struct kept *kept,
                        struct membership *m, struct edl_error *error)
{
    const char *given = options->join != NULL ? options->join : options->scheduler;
    int r = 0;

    if (given != NULL)
        r = server_list_parse(given, &m->servers, error);
    for (size_t i = 0; given == NULL && i < kept->servers.n; i++)
        (void)server_list_add(&m->servers, kept->servers.urls[i], NULL);
    if (r < 0)
        edl_error_prefix(error, options->join != NULL ? "--join: " : "--scheduler: ");
    m->server = m->servers.n > 0 ? m->servers.urls[0] : NULL;
    return r;
}

static int choose_server(const struct agent_options *options, const struct kept *kept,
                         struct membership *m, struct edl_error *error)
{
    int r = find_servers(options, kept, m, error);

    if (r == 0 && (m->servers.n == 0 || (!kept->joined && options->token[0] == '\0' &&
                                         options->join_token_file == NULL)))
        return refuse_to_join(options, m->server, error);
    return r;
}

/* --- the authority --- */

static bool is_https(const char *url)
{
    return strncmp(url, "https://", 8) == 0;
}

static bool any_https(const struct server_list *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        if (is_https(servers->urls[i]))
            return true;
    return false;
}

/* ca_for_others - none of the schedulers needs it, and those that it learns of may. The caller's;
 * NULL: there is none yet, as on the machine of a scheduler that has no TLS. */
static char *ca_for_others(const struct agent_options *options, const struct kept *kept)
{
    const char *path = options->ca != NULL ? options->ca : kept->ca_path;

    return access(path, R_OK) == 0 ? xstrdup(path) : NULL;
}

/* ask_one - *ret: the certificate that the pin names; NULL where there is no pin */
static int ask_one(const char *url, const char *pin, uint64_t timeout_us, char **ret,
                   char address[HTTP_ADDRESS_MAX], struct edl_error *error)
{
    _cleanup_free_ char *chain = NULL;
    int r = http_peer_chain(url, timeout_us, &chain, address, error);

    if (r < 0 || pin == NULL)
        return r;
    r = certificate_pick(chain, pin, ret, error);
    if (r < 0)
        edl_error_prefix(error, "%.100s: ", url);
    return r;
}

/* ask_each - the first one that is believed: which of them leads does not matter. An error has the
 * fault of each. */
static int ask_each(const struct server_list *servers, const char *pin, uint64_t timeout_us,
                    char **ret, char address[HTTP_ADDRESS_MAX], struct edl_error *error)
{
    struct edl_error all = { .code = EDL_EUNREACHABLE };
    int r = EDL_EUNREACHABLE;

    for (size_t i = 0; r < 0 && i < servers->n; i++) {
        struct edl_error one = { 0 };

        if (!is_https(servers->urls[i]))
            continue;
        r = ask_one(servers->urls[i], pin, timeout_us, ret, address, &one);
        if (r == 0 && all.text[0] != '\0')
            log_warning("%s; another scheduler answered", all.text);
        if (all.text[0] != '\0')
            edl_error_prefix(&one, "%s; ", all.text);
        if (one.remedy[0] == '\0')
            (void)edl_error_remedy(&one, "%s", all.remedy);
        all = one;
    }
    if (r < 0 && error != NULL)
        *error = all;
    return r;
}

/* fetch_ca - a scheduler that stands still costs a second where another one answers */
static int fetch_ca(const struct agent_options *options, const struct kept *kept,
                    const struct server_list *servers, char address[HTTP_ADDRESS_MAX],
                    struct edl_error *error)
{
    _cleanup_free_ char *ca = NULL;
    int r = -ETIMEDOUT;

    if (servers->n > 1)
        r = ask_each(servers, options->ca_pin, ASK_QUICKLY_US, &ca, address, NULL);
    if (r < 0)
        r = ask_each(servers, options->ca_pin, HTTP_CHAIN_TIMEOUT_US, &ca, address, error);
    if (r == 0 && ca != NULL)
        r = whole_file_write(kept->ca_path, ca, 0600, error);
    return r;
}

/* What was given with the join counts from then on, wherever its file goes. */
static int keep_ca(const struct kept *kept, const char *path, struct edl_error *error)
{
    _cleanup_free_ char *real = realpath(path, NULL); /* certificates are often behind links */
    _cleanup_free_ char *ca = NULL;
    char pin[CERTIFICATE_PIN_MAX];
    int r = whole_file_read(real != NULL ? real : path, false, &ca, error);

    if (r == 0)
        r = certificate_pin(ca, pin, error);
    if (r == 0)
        r = whole_file_write(kept->ca_path, ca, 0600, error);
    if (r == 0)
        return 0;
    edl_error_prefix(error, "--ca %s: ", path);
    (void)edl_error_remedy(error, "give the certificate of the scheduler's authority alone, or "
                                  "--ca-pin as the line of `edl node add` has it");
    return r;
}

static int check_pin(const struct kept *kept, const char *pin, struct edl_error *error)
{
    _cleanup_free_ char *ca = NULL;
    char found[CERTIFICATE_PIN_MAX];
    int r = whole_file_read(kept->ca_path, false, &ca, error);

    if (r == 0)
        r = certificate_pin(ca, found, error);
    if (r < 0 || streq(found, pin))
        return r;
    (void)edl_error_set(error, EDL_ECONFIG,
                        "the state folder belongs to the cluster with the pin %s", found);
    return edl_error_remedy(error, "give another --state-dir, or remove it when nothing runs any "
                                   "more");
}

/* address: of this machine, as the server sees it; "" when nobody was asked */
static int choose_ca(const struct agent_options *options, const struct kept *kept,
                     struct membership *m, char address[HTTP_ADDRESS_MAX], struct edl_error *error)
{
    int r = 0;

    address[0] = '\0';
    if (!any_https(&m->servers)) {
        m->ca_path = ca_for_others(options, kept);
        return 0;
    }
    if (options->ca_pin == NULL && options->ca == NULL && !kept->has_ca) {
        (void)edl_error_set(error, EDL_ECONFIG, "nothing says which server is the true one at %s",
                            m->server);
        return edl_error_remedy(error, "give --ca-pin as the line of `edl node add` has it, or "
                                       "--ca FILE with the ca.pem of the scheduler");
    }
    if (options->ca_pin != NULL)
        r = certificate_pin_valid(options->ca_pin, error);
    if (r == 0 && kept->joined && kept->has_ca && options->ca_pin != NULL)
        r = check_pin(kept, options->ca_pin, error);
    else if (r == 0 && options->join != NULL && !kept->joined)
        r = fetch_ca(options, kept, &m->servers, address, error);
    if (r == 0 && options->join != NULL && options->ca != NULL && !kept->joined)
        r = keep_ca(kept, options->ca, error);
    else if (r == 0 && options->join != NULL && options->ca != NULL)
        (void)keep_ca(kept, options->ca, NULL); /* of a file of settings, which says it again */
    if (r == 0)
        m->ca_path = xstrdup(options->ca != NULL ? options->ca : kept->ca_path);
    return r;
}

/* keep - "server" is for agents of the release before, which know one */
static int keep(const struct kept *kept, const struct membership *m,
                const struct server_list *servers, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    json_t *json = json_pack("{s:s,s:o,s:s,s:s,s:b}", "server", servers->urls[0], "servers",
                             server_list_json(servers), "node", m->node, "address", m->address,
                             "address_given", (int)m->address_given);

    text = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    if (text == NULL)
        return edl_error_set(error, -EINVAL, "server, node or address is not text");
    return whole_file_write(kept->path, text, 0600, error);
}

/* choose_address - seen: by the server at a join over the network, "" when it was not asked
 * A server on a socket of this machine does not see it. Others may join that one as well, and their
 * processes have to reach those of this node. */
static char *choose_address(const struct agent_options *options, const struct kept *kept,
                            const char *server, const char *seen)
{
    char own[OWN_ADDRESS_MAX];

    if (options->address != NULL)
        return xstrdup(options->address);
    if (seen[0] != '\0')
        return xstrdup(seen);
    if (kept->address != NULL)
        return xstrdup(kept->address);
    return xstrdup(
        strncmp(server, "unix:", 5) == 0 && own_address(AF_UNSPEC, own) ? own : DEFAULT_ADDRESS);
}

static int open_membership(const struct agent_options *options, const struct kept *kept,
                           struct membership *m, struct edl_error *error)
{
    char seen[HTTP_ADDRESS_MAX];
    int r = choose_node(options, kept, m, error);

    if (r == 0)
        r = choose_server(options, kept, m, error);
    if (r == 0)
        r = check_same(options, kept, m, error);
    if (r == 0)
        r = choose_ca(options, kept, m, seen, error);
    if (r < 0)
        return r;
    m->address = choose_address(options, kept, m->server, seen);
    m->address_given =
        options->address != NULL || (seen[0] == '\0' && kept->json != NULL &&
                                     json_is_true(json_object_get(kept->json, "address_given")));
    return options->join != NULL ? keep(kept, m, &m->servers, error) : 0;
}

int membership_open(const struct agent_options *options, const char *state_dir,
                    struct membership *ret, struct edl_error *error)
{
    struct membership m = { 0 };
    struct kept kept;
    int r = read_kept(state_dir, &kept, error);

    if (r == 0)
        r = open_membership(options, &kept, &m, error);
    kept_done(&kept);
    if (r < 0)
        membership_done(&m);
    else
        *ret = m;
    return r;
}

void membership_move(struct membership *m, const char *state_dir, const char *address)
{
    struct edl_error error = { 0 };
    struct membership moved;
    struct kept kept;

    free(m->address);
    m->address = xstrdup(address);
    if (read_kept(state_dir, &kept, NULL) == 0 && kept.json != NULL) {
        moved = *m; /* options may say other servers for this run */
        moved.node = (char *)(kept.node != NULL ? kept.node : m->node);
        if (keep(&kept, &moved, kept.servers.n > 0 ? &kept.servers : &m->servers, &error) < 0)
            log_warning("%s", error.text);
    }
    kept_done(&kept);
}

static const char *host_name(char ret[HOST_NAME_MAX + 1])
{
    ret[HOST_NAME_MAX] = '\0';
    return gethostname(ret, HOST_NAME_MAX) == 0 && agent_node_valid(ret) ? ret : NULL;
}

static char *copy_of(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

int membership_look(const struct agent_options *options, const char *state_dir,
                    struct membership *ret, bool *ret_joined, struct edl_error *error)
{
    char host[HOST_NAME_MAX + 1];
    struct kept kept;
    int r = read_kept(state_dir, &kept, error);

    if (r == 0) {
        *ret = (struct membership){
            .node = copy_of(options->node != NULL ? options->node
                            : kept.node != NULL   ? kept.node
                                                  : host_name(host)),
        };
        *ret_joined = kept.joined;
        r = find_servers(options, &kept, ret, error);
        if (r == 0 && any_https(&ret->servers) && options->ca != NULL)
            ret->ca_path = xstrdup(options->ca); /* also one that is not there: that is a fault */
        else if (r == 0)
            ret->ca_path = ca_for_others(options, &kept);
        else
            membership_done(ret);
    }
    kept_done(&kept);
    return r;
}

void membership_done(struct membership *m)
{
    server_list_clear(&m->servers);
    free(m->node);
    free(m->address);
    free(m->ca_path);
    *m = (struct membership){ 0 };
}
