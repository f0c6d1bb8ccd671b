/* SPDX-License-Identifier: Apache-2.0 */
/* listen_spec.c - where to listen, as --listen says it */
#include "scheduler/calls/listen_spec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define UNIX_MODE 0660 /* the scheduler's account and group */

static bool is_numeric(const char *address)
{
    struct in6_addr any;

    return inet_pton(AF_INET, address, &any) == 1 || inet_pton(AF_INET6, address, &any) == 1;
}

static bool is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool listen_spec_is_wildcard(const struct listen_spec *spec)
{
    struct in6_addr v6;

    if (spec->is_unix)
        return false;
    return streq(spec->address, "0.0.0.0") ||
           (inet_pton(AF_INET6, spec->address, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6));
}

static int malformed(const char *text, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%.100s is not ADDRESS:PORT or unix:/PATH", text);
    return edl_error_remedy(error, "for example --listen 127.0.0.1:7010 (this machine only), "
                                   "--listen 0.0.0.0:7010 (all machines, with TLS)");
}

static int parse_unix(const char *text, const char *path, struct listen_spec *ret,
                      struct edl_error *error)
{
    const char *comma = strchr(path, ',');
    size_t length = comma != NULL ? (size_t)(comma - path) : strlen(path);
    struct listen_spec spec = { .is_unix = true, .mode = UNIX_MODE };

    if (path[0] != '/' || length >= sizeof spec.address)
        return malformed(text, error);
    if (comma != NULL) {
        const char *digits = comma + strlen(",mode=");

        if (strncmp(comma, ",mode=", strlen(",mode=")) != 0 || *digits == '\0' ||
            strlen(digits) > 4 || strspn(digits, "01234567") != strlen(digits) ||
            strtoul(digits, NULL, 8) > 0777) {
            (void)edl_error_set(error, -EINVAL, "%.100s: the mode is not valid", text);
            return edl_error_remedy(error, "for example --listen unix:/run/edl/scheduler.sock"
                                           ",mode=0666");
        }
        spec.mode = (uint16_t)strtoul(digits, NULL, 8);
    }
    (void)snprintf(spec.address, sizeof spec.address, "%.*s", (int)length, path);
    *ret = spec;
    return 0;
}

static int refuse_plain(const char *text, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL,
                        "%.100s: other machines are spoken to with TLS only: tokens and "
                        "orders would be readable on the way",
                        text);
    return edl_error_remedy(error, "leave out http://; the certificate is made by itself");
}

static int parse_tcp(const char *text, const char *at, struct listen_spec *ret,
                     struct edl_error *error)
{
    const char *colon = strrchr(at, ':');
    size_t length = colon != NULL ? (size_t)(colon - at) : 0;
    struct listen_spec spec = { 0 };
    uint64_t port;

    if (colon == NULL || parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)
        return malformed(text, error);
    if (length >= 2 && at[0] == '[' && at[length - 1] == ']') {
        at++;
        length -= 2;
    }
    if (length < sizeof spec.address)
        (void)snprintf(spec.address, sizeof spec.address, "%.*s", (int)length, at);
    if (streq(spec.address, "localhost"))
        (void)snprintf(spec.address, sizeof spec.address, "127.0.0.1");
    if (!is_numeric(spec.address)) {
        (void)edl_error_set(error, -EINVAL,
                            "%.100s: the address is not a numeric one of this machine", text);
        return edl_error_remedy(error, "for example --listen 0.0.0.0:7010; a name to be reached by "
                                       "is given with --name");
    }
    spec.port = (uint16_t)port;
    spec.tls = !is_loopback(spec.address);
    *ret = spec;
    return 0;
}

int listen_spec_parse(const char *text, struct listen_spec *ret, struct edl_error *error)
{
    bool http = strncmp(text, "http://", 7) == 0;
    bool https = strncmp(text, "https://", 8) == 0;
    struct listen_spec spec;
    int r;

    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(text, text + 5, ret, error);
    r = parse_tcp(text, text + (https ? 8 : http ? 7 : 0), &spec, error);
    if (r < 0)
        return r;
    if (http && spec.tls)
        return refuse_plain(text, error);
    spec.tls = spec.tls || https;
    *ret = spec;
    return 0;
}

void listen_spec_url(const struct listen_spec *spec, const char *host, char *ret, unsigned size)
{
    const char *shown = host != NULL ? host : spec->address;
    bool v6 = strchr(shown, ':') != NULL;

    if (spec->is_unix)
        (void)snprintf(ret, size, "unix:%s", spec->address);
    else
        (void)snprintf(ret, size, "http%s://%s%s%s:%u", spec->tls ? "s" : "", v6 ? "[" : "", shown,
                       v6 ? "]" : "", spec->port);
}
