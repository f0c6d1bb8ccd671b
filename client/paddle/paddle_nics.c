/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_nics.c - see paddle_nics.h */
#include "client/paddle/paddle_nics.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/own_address.h"

static bool is_named(const struct ifaddrs *one, const char *name, size_t size)
{
    return strlen(one->ifa_name) == size && strncmp(one->ifa_name, name, size) == 0;
}

static bool take(const struct ifaddrs *one, int family, char ret[PADDLE_ADDRESS_SIZE])
{
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    return one->ifa_addr != NULL && one->ifa_addr->sa_family == family &&
           getnameinfo(one->ifa_addr, size, ret, PADDLE_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST) == 0;
}

static bool find(const struct ifaddrs *all, const char *name, size_t size,
                 char ret[PADDLE_ADDRESS_SIZE])
{
    static const int families[] = { AF_INET, AF_INET6 };

    for (size_t i = 0; i < ELEMENTS(families); i++)
        for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next)
            if (is_named(one, name, size) && take(one, families[i], ret))
                return true;
    return false;
}

static int none(const struct ifaddrs *all, const char *nics, struct edl_error *error)
{
    char names[160] = "";
    size_t used = 0;

    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next)
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET &&
            used + strlen(one->ifa_name) + 2 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s", one->ifa_name);
    (void)edl_error_set(error, -EINVAL, "no interface of --nics=%.60s has an address here", nics);
    return edl_error_remedy(error, "there are:%s", names);
}

static bool has_word(const char *list, const char *word)
{
    const size_t size = strlen(word);

    for (const char *at = list; *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");

        if (n == size && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static bool is_preferred(const char *nics, const char *preferred, const char *found)
{
    char name[IF_NAMESIZE];

    if (preferred == NULL || *preferred == '\0')
        return false;
    if (strncmp(preferred, "127.", 4) == 0)
        return strncmp(found, "127.", 4) == 0;
    return own_interface(preferred, name) && has_word(nics, name);
}

int paddle_nics_address(const char *nics, const char *preferred, char ret[PADDLE_ADDRESS_SIZE],
                        struct edl_error *error)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    int r = 0;

    (void)snprintf(ret, PADDLE_ADDRESS_SIZE, "127.0.0.1");
    if (*nics == '\0')
        return 0;
    if (getifaddrs(&all) == -1)
        return edl_error_errno(error, -errno, "cannot list the network interfaces");
    for (const char *word = nics; !found && *word != '\0';) {
        size_t size = strcspn(word, ",");

        found = find(all, word, size, ret);
        word += size;
        word += *word == ',';
    }
    if (!found)
        r = none(all, nics, error);
    else if (is_preferred(nics, preferred, ret))
        (void)snprintf(ret, PADDLE_ADDRESS_SIZE, "%s", preferred);
    freeifaddrs(all);
    return r;
}
