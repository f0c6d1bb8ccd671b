/* SPDX-License-Identifier: Apache-2.0 */
/* network_servers.c - see network_servers.h */
#include "trainer/exchange/network_servers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/wire/host_port.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/secret_source.h"
#include "trainer/exchange/servers_wait.h"

#define SERVERS_MAX 1024

struct network_servers {
    struct network_servers_config config;
    struct ps_host *hosts; /* owned */
    uint32_t n;
    struct ps_client *client; /* owned */
};

/* A word of the list. */
static int parse_host(const char *word, size_t size, struct ps_host *ret, struct edl_error *error)
{
    *ret = (struct ps_host){ 0 };
    if (host_port_parse(word, size, ret->address, sizeof ret->address, &ret->port) == 0 &&
        ret->port > 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "\"%.*s\" in --servers is not host:port",
                        (int)MIN_OF(size, (size_t)80), word);
    return edl_error_remedy(error, "write --servers=10.0.0.1:7164,10.0.0.2:7164");
}

static int parse_list(struct network_servers *servers, const char *list, struct edl_error *error)
{
    int r = 0;

    servers->hosts = xcalloc(SERVERS_MAX, sizeof *servers->hosts);
    for (const char *word = list; r == 0; word++) {
        size_t size = strcspn(word, ",");

        if (servers->n == SERVERS_MAX)
            return edl_error_set(error, -EINVAL, "--servers names more than %d", SERVERS_MAX);
        r = parse_host(word, size, &servers->hosts[servers->n], error);
        servers->n += r == 0;
        word += size;
        if (*word == '\0')
            break;
    }
    return r;
}

bool network_servers_may_come_back(int code)
{
    return code == EDL_EUNREACHABLE || code == -ETIMEDOUT;
}

/* strange - at an address that a person has given, what has another secret is no passing guest */
static int strange(struct edl_error *error)
{
    const struct edl_error why = *error;

    (void)edl_error_set(error, -EACCES, "%s: its secret is another one", why.text);
    return edl_error_remedy(error,
                            "copy ~/.config/edl/paddle-secret from its machine to this one, or "
                            "give both the same --secret_file");
}

/* check_kept - a server that began again would bring the others' training to nothing */
static int check_kept(const struct network_servers *servers, struct edl_error *error)
{
    const char *name = ps_client_lost(servers->client);

    if (name == NULL)
        return 0;
    (void)edl_error_set(error, EDL_ESTALE, "%s was started again and has lost its parameters",
                        name);
    return edl_error_remedy(error,
                            "restart all servers and trainers: from the beginning, or behind the "
                            "last saved pass: --start_pass");
}

static int connect_once(void *userdata, struct edl_error *error)
{
    struct network_servers *servers = userdata;
    int r = ps_client_connect(servers->client, servers->hosts, error);

    return r < 0 && ps_client_unproved(servers->client) ? strange(error) : r;
}

static int too_late(const struct network_servers *servers, struct edl_error *error)
{
    edl_error_prefix(error,
                     "connection refused by pserver, maybe pserver failed! (waited %" PRIu64 " s) ",
                     servers->config.wait_us / USEC_PER_SEC);
    return edl_error_remedy(error, "look whether it runs and listens there: ss -ltnp; on another "
                                   "machine it needs --nics, and no firewall between");
}

int network_servers_again(struct network_servers *servers, struct edl_error *error)
{
    char what[64];
    const struct servers_wait wait = { .attempt = connect_once,
                                       .may_come = network_servers_may_come_back,
                                       .userdata = servers,
                                       .what = what,
                                       .wait_us = servers->config.wait_us,
                                       .stop = servers->config.stop };
    bool late;
    int r;

    (void)snprintf(what, sizeof what, "%u parameter server%s", servers->n, PLURAL(servers->n));
    r = servers_wait(&wait, &late, error);
    if (late)
        return too_late(servers, error);
    if (r == EDL_ESTALE)
        return edl_error_remedy(error, "give all trainers the same --pservers and ports, and each "
                                       "a --trainer_id of its own");
    if (r >= 0)
        r = check_kept(servers, error);
    if (r >= 0)
        log_info("connected to %u parameter server%s (%" PRIu64 " update%s so far)", servers->n,
                 PLURAL(servers->n), ps_client_updates(servers->client),
                 PLURAL(ps_client_updates(servers->client)));
    return r;
}

int network_servers_open(const struct network_servers_config *config,
                         const struct declaration *declaration, struct network_servers **ret,
                         struct edl_error *error)
{
    struct network_servers *servers = xcalloc(1, sizeof *servers);
    struct ps_client_config client = { .job_id = config->job_id,
                                       .trainer = config->trainer,
                                       .incarnation = clock_read_us(CLOCK_REALTIME),
                                       .declaration = *declaration,
                                       .wait.stop = config->stop,
                                       .agreement = config->agreement };
    int r;

    servers->config = *config;
    client.declaration.placement = config->placement;
    r = parse_list(servers, config->list, error);
    client.n_servers = servers->n;
    if (r >= 0)
        r = secret_read(config->secret_file, config->socket, client.secret, error);
    if (r >= 0)
        r = ps_client_new(&client, &servers->client, error);
    explicit_bzero(client.secret, sizeof client.secret);
    if (r >= 0)
        r = network_servers_again(servers, error);
    if (r >= 0 && ps_client_updates(servers->client) > 0)
        log_warning("goes on with %" PRIu64 " update%s of the servers; restart them for "
                    "another training",
                    ps_client_updates(servers->client), PLURAL(ps_client_updates(servers->client)));
    if (r < 0) {
        (void)network_servers_free(servers);
        return r;
    }
    *ret = servers;
    return 0;
}

struct network_servers *network_servers_free(struct network_servers *servers)
{
    if (servers == NULL)
        return NULL;
    if (servers->client != NULL)
        (void)ps_client_free(servers->client);
    free(servers->hosts);
    free(servers);
    return NULL;
}

struct ps_client *network_servers_client(const struct network_servers *servers)
{
    return servers->client;
}
