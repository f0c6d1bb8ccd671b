/* SPDX-License-Identifier: Apache-2.0 */
/* webhook_guard.c - see webhook_guard.h */
#include "scheduler/notices/webhook_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define REMEDY "write public, none, or hosts and networks: public,10.1.0.0/16,hooks.lab.example"

struct net {
    uint8_t address[16], bits;
};

#define V4(a, b, c, d, n)                                                                          \
    {                                                                                              \
        { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (a), (b), (c), (d) }, 96 + (n)                 \
    }

/* what no router of the Internet knows: own, private, of a link, of tests, of many */
static const struct net inner[] = {
    V4(0, 0, 0, 0, 8),
    V4(10, 0, 0, 0, 8),
    V4(100, 64, 0, 0, 10),
    V4(127, 0, 0, 0, 8),
    V4(169, 254, 0, 0, 16),
    V4(172, 16, 0, 0, 12),
    V4(192, 0, 0, 0, 24),
    V4(192, 0, 2, 0, 24),
    V4(192, 88, 99, 0, 24),
    V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15),
    V4(198, 51, 100, 0, 24),
    V4(203, 0, 113, 0, 24),
    V4(224, 0, 0, 0, 4),
    V4(240, 0, 0, 0, 4),
    { { 0x20, 0x01, 0 }, 23 },          /* of protocols, Teredo among them */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* of documents */
    { { 0x3f, 0xff }, 20 },             /* the same */
};
static const struct net v4_mapped = V4(0, 0, 0, 0, 0);
static const struct net global_v6 = { { 0x20 }, 3 };
/* addresses of IPv6 that lead to one of IPv4, which stands in them from that byte on */
static const struct {
    struct net net;
    size_t at;
} tunnels[] = {
    { { { 0x00, 0x64, 0xff, 0x9b }, 96 }, 12 },
    { { { 0x20, 0x02 }, 16 }, 2 },
};

static bool is_in(const uint8_t address[16], const uint8_t net[16], uint8_t bits)
{
    size_t whole = bits / 8;
    uint8_t mask = (uint8_t)(0xff00U >> (bits % 8));

    return memcmp(address, net, whole) == 0 &&
           (bits % 8 == 0 || ((address[whole] ^ net[whole]) & mask) == 0);
}

static bool is_public(const uint8_t address[16])
{
    uint8_t inside[16] = { [10] = 0xff, [11] = 0xff };

    for (size_t i = 0; i < ELEMENTS(tunnels); i++)
        if (is_in(address, tunnels[i].net.address, tunnels[i].net.bits)) {
            memcpy(inside + 12, address + tunnels[i].at, 4);
            return is_public(inside);
        }
    for (size_t i = 0; i < ELEMENTS(inner); i++)
        if (is_in(address, inner[i].address, inner[i].bits))
            return false;
    return is_in(address, v4_mapped.address, v4_mapped.bits) ||
           is_in(address, global_v6.address, global_v6.bits);
}

static bool is_listed(const struct webhook_rules *rules, const uint8_t address[16])
{
    for (size_t i = 0; i < rules->n_nets; i++)
        if (is_in(address, rules->nets[i].address, rules->nets[i].bits))
            return true;
    return false;
}

static void map_v4(const struct in_addr *v4, uint8_t ret[16])
{
    memset(ret, 0, 10);
    ret[10] = ret[11] = 0xff;
    memcpy(ret + 12, v4, 4);
}

/* plain forms alone: of odd ones (0x7f.1) the look-up makes addresses, which are judged then */
static bool read_address(const char *text, uint8_t ret[16])
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1)
        map_v4(&v4, ret);
    else if (inet_pton(AF_INET6, text, &v6) == 1)
        memcpy(ret, &v6, 16);
    else
        return false;
    return true;
}

static bool is_host_listed(const struct webhook_rules *rules, const char *host)
{
    for (size_t i = 0; i < rules->n_hosts; i++)
        if (strcasecmp(rules->hosts[i], host) == 0)
            return true;
    return false;
}

static bool is_allowed(const struct webhook_rules *rules, const char *host,
                       const uint8_t address[16], bool own)
{
    return (rules->open && !own && is_public(address)) || is_listed(rules, address) ||
           is_host_listed(rules, host);
}

bool webhook_address_allowed(const struct webhook_rules *rules, const char *host,
                             const struct sockaddr *address, bool own)
{
    uint8_t bytes[16];

    if (address->sa_family == AF_INET)
        map_v4(&((const struct sockaddr_in *)(const void *)address)->sin_addr, bytes);
    else if (address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else
        return false;
    return is_allowed(rules, host, bytes, own);
}

bool webhook_host_refused(const struct webhook_rules *rules, const char *host)
{
    uint8_t address[16];

    return webhook_rules_none(rules) ||
           (read_address(host, address) && !is_allowed(rules, host, address, false));
}

bool webhook_rules_none(const struct webhook_rules *rules)
{
    return !rules->open && rules->n_nets == 0 && rules->n_hosts == 0;
}

/* --- webhook-allow --- */

static int refuse(const char *item, const char *why, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "\"%.80s\" %s", item, why);
    return edl_error_remedy(error, REMEDY);
}

static int add_net(struct webhook_rules *rules, const char *item, struct edl_error *error)
{
    const char *slash = strchr(item, '/');
    struct webhook_net net;
    char address[INET6_ADDRSTRLEN] = "";
    uint64_t bits, most;

    (void)snprintf(address, sizeof address, "%.*s", (int)strcspn(item, "/"), item);
    if (!read_address(address, net.address))
        return refuse(item, "is no address", error);
    most = strchr(address, ':') != NULL ? 128 : 32;
    bits = most;
    if (slash != NULL && (parse_u64(slash + 1, &bits) < 0 || bits > most))
        return refuse(item, "has no number of bits behind its address", error);
    if (rules->n_nets == WEBHOOK_NETS_MAX)
        return refuse(item, "is one network more than the 16 that there may be", error);
    net.bits = (uint8_t)(128 - most + bits);
    rules->nets[rules->n_nets++] = net;
    return 0;
}

static bool is_host(const char *text)
{
    return text[0] != '\0' && text[0] != '-' && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
               strlen(text);
}

static int add_item(struct webhook_rules *rules, const char *item, bool *none,
                    struct edl_error *error)
{
    uint8_t address[16];

    if (streq(item, "none")) {
        *none = true;
    } else if (streq(item, "public")) {
        rules->open = true;
    } else if (strchr(item, '/') != NULL || read_address(item, address)) {
        return add_net(rules, item, error);
    } else if (!is_host(item)) {
        return refuse(item, "is no host, address or network", error);
    } else if (rules->n_hosts == WEBHOOK_HOSTS_MAX) {
        return refuse(item, "is one host more than the 16 that there may be", error);
    } else {
        (void)snprintf(rules->hosts[rules->n_hosts++], sizeof rules->hosts[0], "%s", item);
    }
    return 0;
}

int webhook_rules_parse(const char *text, struct webhook_rules *ret, struct edl_error *error)
{
    struct webhook_rules rules = { 0 };
    bool none = false;
    int r = 0;

    for (const char *at = text; r == 0;) {
        char item[WEBHOOK_ALLOWED_HOST_MAX + 1];
        size_t n;

        at += strspn(at, " ");
        n = strcspn(at, ", ");
        if (n >= sizeof item)
            return refuse(at, "is too long", error);
        (void)snprintf(item, sizeof item, "%.*s", (int)n, at);
        r = add_item(&rules, item, &none, error);
        at += n;
        at += strspn(at, " ");
        if (*at == '\0')
            break;
        if (*at != ',')
            return refuse(text, "is no list with commas", error);
        at++;
    }
    if (r == 0 && none && !webhook_rules_none(&rules))
        r = refuse(text, "allows none, and more", error);
    if (r == 0)
        *ret = rules;
    return r;
}
