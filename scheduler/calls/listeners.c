/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.c - the servers of a scheduler: one for each --listen, all with the same routes */
#include "scheduler/calls/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scheduler/api/api.h"
#include "scheduler/accounts/auth.h"
#include "scheduler/calls/asking.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/own_address.h"
#include "shared/rfc3339.h"

/* Every agent keeps one long poll and one report open, every waiting process one call. */
#define MAX_CONNECTIONS 65536U /* at one address; agents keep two each */
#define FEW_CONNECTIONS 4096U  /* less is worth a word */
#define LEAST_CONNECTIONS 64U
#define OTHER_FILES 128 /* the database, the journal, sources of the loop */
#define FRESH_TIMEOUT_S 10
#define BODY_BYTES (UINT64_C(256) << 20) /* a data set's list of tasks is 32 MiB at most */
#define NAMES_MAX 64

/* --- the names of a certificate --- */

struct names {
    const char *list[NAMES_MAX];
    char texts[NAMES_MAX][INET6_ADDRSTRLEN + HOST_NAME_MAX];
    size_t n;
};

static void add_name(struct names *names, const char *name)
{
    if (name[0] == '\0' || names->n == NAMES_MAX || strlen(name) >= sizeof names->texts[0])
        return;
    for (size_t i = 0; i < names->n; i++)
        if (streq(names->list[i], name))
            return;
    (void)snprintf(names->texts[names->n], sizeof names->texts[0], "%s", name);
    names->list[names->n] = names->texts[names->n];
    names->n++;
}

/* Of the interfaces that are up; link-local ones are good for nobody. */
static void add_own_addresses(struct names *names)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) == -1)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        const struct sockaddr_in *v4 = (const void *)at->ifa_addr;
        const struct sockaddr_in6 *v6 = (const void *)at->ifa_addr;
        char text[INET6_ADDRSTRLEN] = "";

        if (at->ifa_addr == NULL || (at->ifa_flags & IFF_UP) == 0)
            continue;
        if (at->ifa_addr->sa_family == AF_INET)
            (void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        else if (at->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            (void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        add_name(names, text);
    }
    freeifaddrs(all);
}

static void host_name(char ret[HOST_NAME_MAX + 1])
{
    if (gethostname(ret, HOST_NAME_MAX + 1) == -1)
        ret[0] = '\0';
    ret[HOST_NAME_MAX] = '\0';
}

static void collect_names(const struct scheduler_options *options, struct names *names)
{
    static const char *const local[] = { "localhost", "127.0.0.1", "::1" };
    char host[HOST_NAME_MAX + 1];

    for (size_t i = 0; i < options->n_names; i++)
        add_name(names, options->names[i]);
    for (size_t i = 0; i < options->n_listen; i++) {
        if (listen_spec_is_wildcard(&options->listen[i]))
            add_own_addresses(names);
        else if (options->listen[i].tls)
            add_name(names, options->listen[i].address);
    }
    host_name(host);
    add_name(names, host);
    for (size_t i = 0; i < ELEMENTS(local); i++)
        add_name(names, local[i]);
}

static int open_files(const struct scheduler *scheduler, struct tls_files *ret,
                      struct edl_error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    struct names names = { .n = 0 };

    collect_names(options, &names);
    return tls_files_open(options->state_dir, names.list, names.n,
                          clock_read_us(CLOCK_REALTIME) / USEC_PER_SEC, ret, error);
}

static int open_tls(struct scheduler *scheduler, struct edl_error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    bool wanted = false;

    for (size_t i = 0; i < options->n_listen; i++)
        wanted = wanted || options->listen[i].tls;
    return wanted ? open_files(scheduler, &scheduler->listeners.tls, error) : 0;
}

static int show(struct listeners *listeners, const struct tls_files *files, struct edl_error *error)
{
    int r = 0;

    if (!streq(files->pin, listeners->tls.pin)) {
        (void)edl_error_set(error, -EINVAL, "the authority in the state directory is another one");
        return edl_error_remedy(error, "restore ca.pem and ca.key from a backup; or restart, and "
                                       "every node has to join anew");
    }
    for (size_t i = 0; r == 0 && i < listeners->n; i++)
        if (listeners->specs[i].tls)
            r = http_server_replace_certificate(listeners->servers[i], files->server.certificate,
                                                files->server.key, error);
    return r;
}

int listeners_renew(struct scheduler *scheduler, struct edl_error *error)
{
    struct listeners *listeners = &scheduler->listeners;
    struct tls_files files = { 0 };
    int r = open_files(scheduler, &files, error);

    if (r == 0 && !streq(files.server.certificate, listeners->tls.server.certificate))
        r = show(listeners, &files, error);
    if (r == 0) {
        struct tls_files old = listeners->tls;

        listeners->tls = files;
        files = old;
    }
    tls_files_clear(&files);
    return r;
}

/* --- opening --- */

/* How many connections each server takes: there is always a descriptor for one more, so nobody who
 * opens many makes accept() fail for the others. */
static unsigned connections_each(size_t n_servers)
{
    struct rlimit files;
    rlim_t each;

    if (getrlimit(RLIMIT_NOFILE, &files) == -1)
        return LEAST_CONNECTIONS;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    each = (files.rlim_cur > OTHER_FILES ? files.rlim_cur - OTHER_FILES : 0) / n_servers;
    if (each >= MAX_CONNECTIONS)
        return MAX_CONNECTIONS;
    if (each >= FEW_CONNECTIONS)
        return (unsigned)each;
    log_warning("only %llu connections fit the limit of open files (ulimit -n %llu)",
                (unsigned long long)MAX_OF(each, LEAST_CONNECTIONS),
                (unsigned long long)files.rlim_cur);
    return MAX_OF((unsigned)each, LEAST_CONNECTIONS);
}

static int open_one(struct scheduler *scheduler, const struct listen_spec *wanted,
                    unsigned max_connections, struct edl_error *error)
{
    struct listeners *listeners = &scheduler->listeners;
    struct listen_spec *spec = &listeners->specs[listeners->n];
    struct http_server_config config = {
        .userdata = scheduler,
        .authorise = auth_check,
        .refused = auth_note_refusal,
        .dispatch = dispatch,
        .postpone = asking_postpone,
        .max_connections = max_connections,
        .fresh_timeout_s = FRESH_TIMEOUT_S,
        .body_bytes = BODY_BYTES,
    };
    int r;

    *spec = *wanted;
    if (spec->tls) {
        config.tls_certificates = listeners->tls.server.certificate;
        config.tls_key = listeners->tls.server.key;
    }
    config.listen_fd = inherited_take(&listeners->inherited, spec);
    listeners->kept[listeners->n] = config.listen_fd >= 0;
    if (config.listen_fd < 0)
        config.listen_fd = spec->is_unix
                               ? http_listen_unix(spec->address, spec->mode, error)
                               : http_listen_tcp(spec->address, spec->port, &spec->port, error);
    if (config.listen_fd < 0)
        return config.listen_fd;
    config.routes = routes(&config.n_routes);
    r = http_server_new(scheduler->event, &config, &listeners->servers[listeners->n], error);
    if (r == 0)
        listeners->n++;
    return r;
}

/* One that other machines reach goes before one that they do not; --name before addresses, an
 * address before the host's name, which the nodes may not know. */
static void choose_url(const struct scheduler *scheduler, char ret[LISTEN_URL_MAX])
{
    const struct listeners *listeners = &scheduler->listeners;
    const struct scheduler_options *options = &scheduler->options;
    const struct listen_spec *chosen = NULL;
    char host[HOST_NAME_MAX + 1], own[OWN_ADDRESS_MAX];
    const char *name = NULL;

    ret[0] = '\0';
    for (size_t i = 0; i < listeners->n; i++) {
        const struct listen_spec *spec = &listeners->specs[i];

        if (!spec->is_unix && (chosen == NULL || (spec->tls && !chosen->tls)))
            chosen = spec;
    }
    if (chosen == NULL)
        return;
    host_name(host);
    if (chosen->tls && options->n_names > 0)
        name = options->names[0];
    else if (listen_spec_is_wildcard(chosen))
        name = own_address(strchr(chosen->address, ':') != NULL ? AF_INET6 : AF_INET, own) ? own
                                                                                           : host;
    listen_spec_url(chosen, name, ret, LISTEN_URL_MAX);
}

int listeners_look(struct scheduler *scheduler, const char **ret_url, struct edl_error *error)
{
    struct listeners *listeners = &scheduler->listeners;
    char url[LISTEN_URL_MAX];
    int r = 0;

    choose_url(scheduler, url);
    if (!streq(url, listeners->url) && listeners->tls.server.certificate != NULL)
        r = listeners_renew(scheduler, error);
    if (r < 0)
        return r;
    (void)snprintf(listeners->url, sizeof listeners->url, "%s", url);
    *ret_url = listeners->url;
    return 0;
}

void listeners_log(const struct listeners *listeners)
{
    char end[RFC3339_MAX];

    for (size_t i = 0; i < listeners->n; i++) {
        char url[LISTEN_URL_MAX];

        listen_spec_url(&listeners->specs[i], NULL, url, sizeof url);
        if (listeners->specs[i].tls)
            log_info("listening on %s, authority %s, certificate until %s", url, listeners->tls.pin,
                     rfc3339_format(listeners->tls.server_end_s * USEC_PER_SEC, end));
        else
            log_info("listening on %s", url);
    }
}

int listeners_open(struct scheduler *scheduler, struct edl_error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    unsigned each = connections_each(options->n_listen);
    int r = inherited_find(&scheduler->listeners.inherited, error);

    if (r == 0)
        r = open_tls(scheduler, error);
    for (size_t i = 0; r == 0 && i < options->n_listen; i++)
        r = open_one(scheduler, &options->listen[i], each, error);
    if (r == 0)
        r = inherited_check(&scheduler->listeners.inherited, error);
    if (r < 0)
        return r;
    choose_url(scheduler, scheduler->listeners.url);
    return 0;
}

void listeners_close(struct listeners *listeners)
{
    for (size_t i = 0; i < listeners->n; i++) {
        (void)http_server_free(listeners->servers[i]);
        if (listeners->specs[i].is_unix && !listeners->kept[i])
            (void)unlink(listeners->specs[i].address);
    }
    listeners->renewal = sd_event_source_disable_unref(listeners->renewal);
    tls_files_clear(&listeners->tls);
    listeners->n = 0;
}

/* --- figures --- */

uint64_t listeners_connections(const struct listeners *listeners)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listeners->n; i++)
        sum += http_server_connections(listeners->servers[i]);
    return sum;
}

uint64_t listeners_waiting(const struct listeners *listeners)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listeners->n; i++)
        sum += http_server_waiting(listeners->servers[i]);
    return sum;
}

uint64_t listeners_cut_off(const struct listeners *listeners)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listeners->n; i++)
        sum += http_server_cut_off(listeners->servers[i]);
    return sum;
}

uint64_t listeners_shut_out(const struct listeners *listeners)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listeners->n; i++)
        sum += http_server_shut_out(listeners->servers[i]);
    return sum;
}

uint64_t listeners_answers(const struct listeners *listeners, size_t route, unsigned status_class)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listeners->n; i++)
        sum += http_server_answers(listeners->servers[i], route, status_class);
    return sum;
}
