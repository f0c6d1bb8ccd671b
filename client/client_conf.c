/* SPDX-License-Identifier: Apache-2.0 */
/* client_conf.c - see client_conf.h */
#include "client/client_conf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/conf.h"
#include "shared/error.h"
#include "shared/macro.h"

char *client_conf_folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    if (config != NULL && config[0] == '/')
        return text_format("%s/edl", config);
    return home != NULL && home[0] == '/' ? text_format("%s/.config/edl", home) : NULL;
}

static int take(const char *key, const char *value, void *userdata, struct edl_error *error)
{
    static const char *const names[] = { "server", "ca", "token-file" };
    struct client_conf *conf = userdata;
    char **places[] = { &conf->server, &conf->ca, &conf->token_file };

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        if (!streq(key, names[i]))
            continue;
        if (*value == '\0' || (i > 0 && *value != '/'))
            return edl_error_set(error, -EINVAL, "\"%.80s\" is not %s", value,
                                 i == 0 ? "an address" : "a path that begins with /");
        free(*places[i]);
        *places[i] = xstrdup(value);
        return 0;
    }
    return conf_refuse_key(key, names, ELEMENTS(names), "edl(1)", error);
}

int client_conf_read(const char *path, struct client_conf *ret, struct edl_error *error)
{
    struct client_conf conf = { 0 };
    const struct conf_reader reader = { .setting = take, .userdata = &conf };
    int r;

    if (access(path, F_OK) == -1 && errno == ENOENT)
        return -ENOENT;
    r = conf_read(path, &reader, error);
    if (r == 0 && conf.server == NULL) {
        r = edl_error_set(error, -EINVAL, "%s names no server", path);
        (void)edl_error_remedy(error, "write \"server: URL\", or remove the file");
    }
    if (r < 0)
        client_conf_clear(&conf);
    else
        *ret = conf;
    return r;
}

int client_conf_read_own(struct client_conf *ret, struct edl_error *error)
{
    _cleanup_free_ char *folder = client_conf_folder();
    _cleanup_free_ char *path = folder != NULL ? text_format("%s/client.conf", folder) : NULL;
    struct stat st;

    if (path == NULL || stat(path, &st) == -1 || st.st_uid != geteuid())
        return -ENOENT;
    return client_conf_read(path, ret, error);
}

void client_conf_clear(struct client_conf *conf)
{
    free(conf->server);
    free(conf->ca);
    free(conf->token_file);
    *conf = (struct client_conf){ 0 };
}
