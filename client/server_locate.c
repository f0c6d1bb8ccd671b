/* SPDX-License-Identifier: Apache-2.0 */
/* server_locate.c - the choice of scheduler and token
 *
 * Options and environment, the caller's running `edl dev`, the caller's own file, the scheduler of
 * this machine, the file of this machine: the first that is there. A token of a file goes to the
 * server of that file alone. */
#include "client/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "client/client_conf.h"
#include "client/dev_file.h"
#include "client/options.h"
#include "client/server_advice.h"
#include "client/server_several.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TOKEN_MAX 4096

/* The files of this machine. */
struct sources {
    json_t *dev; /* owned; NULL: no cluster of edl dev */
    struct client_conf own, system;
    bool has_own, has_system;
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* A token is one printable word; anything else would break out of its header line. */
static int token_check(char *token, const char *origin, struct edl_error *error)
{
    size_t size = strcspn(token, "\r\n");

    token[size] = '\0';
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return edl_error_set(error, -EINVAL, "%s does not hold a token", origin);
    if (size == 0)
        return edl_error_set(error, -EINVAL, "%s is empty", origin);
    return 0;
}

int server_token_read(const char *path, char **ret, struct edl_error *error)
{
    _cleanup_free_ char *token = xcalloc(1, TOKEN_MAX + 1);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd == -1)
        return edl_error_errno(error, -errno, "reading the token file %s", path);
    if (read(fd, token, TOKEN_MAX) == -1)
        return edl_error_errno(error, -errno, "reading the token file %s", path);
    int r = token_check(token, path, error);

    if (r == 0)
        *ret = TAKE_PTR(token);
    return r;
}

/* The token of options or environment; *ret stays NULL when neither names one. */
static int explicit_token(const struct common_options *options, char **ret, struct edl_error *error)
{
    const char *path =
        options->token_file != NULL ? options->token_file : environment("EDL_TOKEN_FILE");
    const char *text = options->token_file != NULL ? NULL : environment("EDL_TOKEN");

    if (path != NULL)
        return server_token_read(path, ret, error);
    if (text != NULL) {
        _cleanup_free_ char *token = xstrdup(text);
        int r = token_check(token, "EDL_TOKEN", error);

        if (r < 0)
            return r;
        *ret = TAKE_PTR(token);
    }
    return 0;
}

static const char *dev_text(const json_t *dev, const char *member)
{
    return json_string_value(json_object_get(dev, member));
}

static bool is_of(const struct client_conf *conf, bool is_there, const struct server *server)
{
    return is_there && server_several_covers(conf->server, server);
}

/* take_conf - authority and token of a file, where they are not given; only for its own server */
static int take_conf(const struct client_conf *conf, struct server *server, struct edl_error *error)
{
    int r;

    if (server->ca == NULL && conf->ca != NULL)
        server->ca = xstrdup(conf->ca);
    if (server->token != NULL || conf->token_file == NULL)
        return 0;
    r = server_token_read(conf->token_file, &server->token, error);
    if (r < 0)
        (void)edl_error_remedy(error, "edl login %.*s, or edl logout",
                               (int)strcspn(conf->server, ","), conf->server);
    return r;
}

/* complete - what belongs to the server that was chosen */
static int complete(const struct sources *sources, struct server *server, struct edl_error *error)
{
    const char *dev_base = dev_text(sources->dev, "server");
    const char *dev_token = dev_text(sources->dev, "token_file");
    const char *dev_env = dev_text(sources->dev, "virtual_env");

    if (dev_base != NULL && server->servers.n < 2 && streq(server->base, dev_base)) {
        if (dev_env != NULL && *dev_env != '\0')
            server->virtual_env = xstrdup(dev_env);
        return server->token == NULL && dev_token != NULL
                   ? server_token_read(dev_token, &server->token, error)
                   : 0;
    }
    if (is_of(&sources->own, sources->has_own, server))
        return take_conf(&sources->own, server, error);
    if (is_of(&sources->system, sources->has_system, server))
        return take_conf(&sources->system, server, error);
    return 0;
}

/* read_sources - when a server is given, a file that cannot be read is no hindrance */
static int read_sources(const char *root, bool given, struct sources *ret, struct edl_error *error)
{
    _cleanup_free_ char *system = text_format("%s" CLIENT_CONF_SYSTEM, root);
    struct edl_error why = { 0 };
    int r = dev_file_read(&ret->dev, &why);

    if (r == -ENOENT || given)
        r = client_conf_read_own(&ret->own, &why);
    else if (r == 0)
        return 0; /* it is the one that counts */
    ret->has_own = r == 0;
    if (r == -ENOENT || given)
        r = client_conf_read(system, &ret->system, &why);
    else if (r == 0)
        return 0;
    ret->has_system = r == 0;
    if (r == 0 || r == -ENOENT || given)
        return 0;
    if (error != NULL)
        *error = why;
    return r;
}

static void sources_clear(struct sources *sources)
{
    json_decref(sources->dev);
    client_conf_clear(&sources->own);
    client_conf_clear(&sources->system);
}

/* choose - base and other addresses of server; -errno with error */
static int choose(const char *root, const char *given, const struct sources *sources,
                  struct server *server, struct edl_error *error)
{
    _cleanup_free_ char *socket = text_format("%s" LOCAL_SOCKET, root);

    if (given == NULL)
        given = dev_text(sources->dev, "server");
    if (given == NULL && sources->has_own)
        given = sources->own.server;
    if (given == NULL && access(socket, F_OK) == 0) {
        server->base = text_format("unix:%s", socket);
        return 0;
    }
    if (given == NULL && sources->has_system)
        given = sources->system.server;
    if (given != NULL)
        return server_several_take(given, server, error);
    (void)server_advise_unknown(root, error);
    return error->code;
}

int server_locate_below(const char *root, const struct common_options *options, struct server *ret,
                        struct edl_error *error)
{
    struct server server = { 0 };
    struct sources sources = { 0 };
    const char *given = options->server != NULL ? options->server : environment("EDL_SERVER");
    const char *ca = options->ca != NULL ? options->ca : environment("EDL_CA");
    struct edl_error why = { 0 };
    int r = explicit_token(options, &server.token, &why);

    if (ca != NULL)
        server.ca = xstrdup(ca);
    if (r == 0)
        r = read_sources(root, given != NULL, &sources, &why);
    if (r == 0)
        r = choose(root, given, &sources, &server, &why);
    if (r == 0)
        r = complete(&sources, &server, &why);
    sources_clear(&sources);
    if (r < 0)
        server_clear(&server);
    else
        *ret = server;
    if (r < 0 && error != NULL)
        *error = why;
    return r;
}

int server_locate(const struct common_options *options, struct server *ret, struct edl_error *error)
{
    return server_locate_below("", options, ret, error);
}
