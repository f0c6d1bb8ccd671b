/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_config.c - what ssh's own configuration says of a host, as `ssh -G` prints it */
#include "client/ssh/ssh_config.h"

#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ssh/ssh_session.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define PATH_BYTES_MAX 1024

static const char *const default_identities[] = { "~/.ssh/id_rsa", "~/.ssh/id_ecdsa",
                                                  "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519",
                                                  "~/.ssh/id_ed25519_sk" };

/* One reading: what is known while it goes on. */
struct reading {
    struct ssh_config *config;
    const struct ssh_place *place;
};

static void set(char **field, const char *value)
{
    free(*field);
    *field = value != NULL ? xstrdup(value) : NULL;
}

/* sign - what "%c" stands for in a path; NULL: nothing that is known here */
static const char *sign(const struct reading *reading, char c, char port[8])
{
    (void)snprintf(port, 8, "%u", reading->config->port);
    switch (c) {
    case '%':
        return "%";
    case 'd':
        return reading->place->home;
    case 'u':
        return reading->place->local_user;
    case 'h':
        return reading->config->hostname;
    case 'r':
        return reading->config->user;
    case 'p':
        return port;
    default:
        return NULL;
    }
}

/* expand - "~/" and the signs of a path; false: too long, or a sign that is not known here */
static bool expand(const struct reading *reading, const char *path, char ret[PATH_BYTES_MAX])
{
    size_t used = 0;
    char one[2] = "", port[8];

    if (strncmp(path, "~/", 2) == 0) {
        used = (size_t)snprintf(ret, PATH_BYTES_MAX, "%s", reading->place->home);
        path++;
    }
    while (*path != '\0' && used < PATH_BYTES_MAX) {
        const char *piece = one;

        one[0] = *path++;
        if (one[0] == '%') {
            piece = *path != '\0' ? sign(reading, *path++, port) : NULL;
            if (piece == NULL)
                return false;
        }
        used += (size_t)snprintf(ret + used, PATH_BYTES_MAX - used, "%s", piece);
    }
    return used > 0 && used < PATH_BYTES_MAX;
}

static void add_path(const struct reading *reading, struct ssh_list *list, const char *path)
{
    char full[PATH_BYTES_MAX];

    if (list->n < SSH_CONFIG_LIST_MAX && !streq(path, "none") && expand(reading, path, full))
        list->items[list->n++] = xstrdup(full);
}

/* add_paths - ssh prints several in one line, without quotes */
static void add_paths(const struct reading *reading, struct ssh_list *list, char *paths)
{
    char *rest = paths;

    for (char *path = strsep(&rest, " "); path != NULL; path = strsep(&rest, " "))
        if (*path != '\0')
            add_path(reading, list, path);
}

static bool is_yes(const char *value)
{
    return streq(value, "yes") || streq(value, "true");
}

static void set_agent(const struct reading *reading, const char *value)
{
    char full[PATH_BYTES_MAX];

    if (streq(value, "none"))
        set(&reading->config->identity_agent, NULL);
    else if (streq(value, "SSH_AUTH_SOCK"))
        set(&reading->config->identity_agent, reading->place->agent_socket);
    else if (*value == '$')
        set(&reading->config->identity_agent, getenv(value + 1));
    else if (expand(reading, value, full))
        set(&reading->config->identity_agent, full);
}

static void set_strict(struct ssh_config *config, const char *value)
{
    static const struct {
        const char *word;
        enum ssh_strict strict;
    } words[] = { { "ask", SSH_STRICT_ASK },          { "yes", SSH_STRICT_YES },
                  { "true", SSH_STRICT_YES },         { "accept-new", SSH_STRICT_ACCEPT_NEW },
                  { "false", SSH_STRICT_ACCEPT_NEW }, { "no", SSH_STRICT_ACCEPT_NEW },
                  { "off", SSH_STRICT_ACCEPT_NEW } };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (streq(value, words[i].word))
            config->strict = words[i].strict;
}

/* read_scalar - what paths may refer to is read first */
static void read_scalar(const struct reading *reading, const char *key, const char *value)
{
    struct ssh_config *config = reading->config;
    const struct {
        const char *key;
        char **field;
    } texts[] = { { "hostname", &config->hostname },
                  { "user", &config->user },
                  { "hostkeyalias", &config->host_key_alias },
                  { "proxyjump", &config->proxy },
                  { "proxycommand", &config->proxy } };
    static const struct {
        const char *key, *name;
    } judges[] = { { "revokedhostkeys", "RevokedHostKeys" },
                   { "knownhostscommand", "KnownHostsCommand" } };
    uint64_t port;

    for (size_t i = 0; i < ELEMENTS(judges); i++)
        if (streq(key, judges[i].key) && !streq(value, "none"))
            config->key_judge = judges[i].name;
    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (streq(key, texts[i].key))
            set(texts[i].field,
                streq(value, "none") && texts[i].field == &config->proxy ? NULL : value);
    if (streq(key, "port") && parse_u64(value, &port) == 0 && port > 0 && port <= UINT16_MAX)
        config->port = (uint16_t)port;
    else if (streq(key, "identitiesonly"))
        config->identities_only = is_yes(value);
    else if (streq(key, "hashknownhosts"))
        config->hash_known_hosts = is_yes(value);
    else if (streq(key, "stricthostkeychecking"))
        set_strict(config, value);
}

static void read_path(const struct reading *reading, const char *key, char *value)
{
    struct ssh_config *config = reading->config;

    if (streq(key, "identityfile"))
        add_path(reading, &config->identity_files, value);
    else if (streq(key, "certificatefile"))
        add_path(reading, &config->certificate_files, value);
    else if (streq(key, "userknownhostsfile"))
        add_paths(reading, &config->user_known_hosts, value);
    else if (streq(key, "globalknownhostsfile"))
        add_paths(reading, &config->global_known_hosts, value);
    else if (streq(key, "identityagent"))
        set_agent(reading, value);
}

/* begin - what holds when nothing is said */
static void begin(const struct ssh_target *target, const struct ssh_place *place,
                  struct ssh_config *config)
{
    *config = (struct ssh_config){
        .hostname = xstrdup(target->host),
        .user = xstrdup(target->user != NULL ? target->user : place->local_user),
        .identity_agent = place->agent_socket != NULL ? xstrdup(place->agent_socket) : NULL,
        .port = target->port != 0 ? target->port : 22,
    };
}

void ssh_config_default(const struct ssh_target *target, const struct ssh_place *place,
                        struct ssh_config *ret)
{
    struct reading reading = { .config = ret, .place = place };

    begin(target, place, ret);
    for (size_t i = 0; i < ELEMENTS(default_identities); i++)
        add_path(&reading, &ret->identity_files, default_identities[i]);
    add_path(&reading, &ret->user_known_hosts, "~/.ssh/known_hosts");
    add_path(&reading, &ret->user_known_hosts, "~/.ssh/known_hosts2");
    add_path(&reading, &ret->global_known_hosts, "/etc/ssh/ssh_known_hosts");
    add_path(&reading, &ret->global_known_hosts, "/etc/ssh/ssh_known_hosts2");
}

void ssh_config_parse(const char *text, const struct ssh_target *target,
                      const struct ssh_place *place, struct ssh_config *ret)
{
    struct reading reading = { .config = ret, .place = place };

    begin(target, place, ret);
    for (unsigned int pass = 0; pass < 2; pass++) {
        _cleanup_free_ char *copy = xstrdup(text);
        char *rest = copy;

        for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
            char *value = strchr(line, ' ');

            if (value == NULL || value[1] == '\0')
                continue;
            *value++ = '\0';
            if (pass == 0)
                read_scalar(&reading, line, value);
            else
                read_path(&reading, line, value);
        }
    }
}

static void clear_list(struct ssh_list *list)
{
    while (list->n > 0)
        free(list->items[--list->n]);
}

void ssh_config_known_hosts(struct ssh_config *config, const char *file)
{
    if (file == NULL)
        return;
    clear_list(&config->user_known_hosts);
    clear_list(&config->global_known_hosts);
    config->user_known_hosts.items[config->user_known_hosts.n++] = xstrdup(file);
}

void ssh_config_clear(struct ssh_config *config)
{
    free(config->hostname);
    free(config->user);
    free(config->host_key_alias);
    free(config->identity_agent);
    free(config->proxy);
    clear_list(&config->identity_files);
    clear_list(&config->certificate_files);
    clear_list(&config->user_known_hosts);
    clear_list(&config->global_known_hosts);
    *config = (struct ssh_config){ 0 };
}

struct ssh_place ssh_config_place(void)
{
    /* as ssh: the account's folder, not $HOME */
    const struct passwd *account = getpwuid(getuid());
    const char *home = getenv("HOME"), *agent = getenv("SSH_AUTH_SOCK");

    if (account != NULL)
        return (struct ssh_place){ account->pw_dir, account->pw_name, agent };
    return (struct ssh_place){ home != NULL ? home : "/", "root", agent };
}

void ssh_config_argv(const struct ssh_target *target, const char *config_file, char storage[8],
                     const char *ret[SSH_CONFIG_ARGV_MAX])
{
    size_t n = 0;

    ret[n++] = "ssh";
    ret[n++] = "-TG";
    if (config_file != NULL) {
        ret[n++] = "-F";
        ret[n++] = config_file;
    }
    if (target->user != NULL) {
        ret[n++] = "-l";
        ret[n++] = target->user;
    }
    if (target->port != 0) {
        (void)snprintf(storage, 8, "%u", target->port);
        ret[n++] = "-p";
        ret[n++] = storage;
    }
    ret[n++] = "--";
    ret[n++] = target->host;
    ret[n] = NULL;
}
