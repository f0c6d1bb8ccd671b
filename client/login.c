/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - see login.h */
#include "client/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client_conf.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/server_several.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/server_list.h"
#include "shared/whole_file.h"

#define MADE_TOKEN "token"
#define GIVEN_TOKEN "given-token"
#define FORBIDDEN 403 /* a token was sent, and no code */

void login_clear(struct login *login)
{
    free(login->url);
    free(login->servers);
    free(login->ca);
    free(login->token);
    json_decref(login->caller);
    *login = (struct login){ 0 };
}

/* --- addresses --- */

int login_address(const char *given, char **ret, struct edl_error *error)
{
    char *url = strstr(given, "://") != NULL || strncmp(given, "unix:", 5) == 0
                    ? xstrdup(given)
                    : text_format("https://%s", given);
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        url[--length] = '\0';
    if ((strncmp(url, "https://", 8) == 0 && url[8] != '\0' && strpbrk(url, "\" \\\n") == NULL) ||
        (strncmp(url, "http://", 7) == 0 && http_host_is_this_machine(url + 7))) {
        *ret = url;
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.200s is no address to log in at", url);
    (void)edl_error_remedy(
        error,
        strncmp(url, "unix:", 5) == 0
            ? "at a socket of this machine you come in without: edl --server %.80s whoami"
            : "give https://HOST:PORT, as `edl user add` prints it on the scheduler's machine",
        url);
    free(url);
    return -EINVAL;
}

/* --- calls --- */

/* An authority that is in no file yet: libcurl reads it from a path. */
static int ca_file(const char *ca, int *ret_fd, char **ret_path, struct edl_error *error)
{
    _cleanup_close_ int fd = memfd_create("edl-ca", MFD_CLOEXEC);
    size_t size = strlen(ca);

    if (fd == -1 || write(fd, ca, size) != (ssize_t)size)
        return edl_error_errno(error, -errno, "keeping the authority in memory");
    *ret_path = text_format("/proc/self/fd/%d", fd);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* call - once: a code is used up by the first. Returns the status with *ret, or a negative code */
static int call(const char *url, const char *ca_path, const char *token, const char *method,
                const char *path, const json_t *body, json_t **ret, struct edl_error *error)
{
    const struct http_call what = {
        .method = method, .path = path, .json = body, .bearer_token = token
    };
    struct http_answer answer = { 0 };
    struct http_client *http;
    int r = http_client_new_quick(url, &http, error);

    if (r < 0)
        return r;
    if (ca_path != NULL)
        http_client_trust(http, ca_path);
    (void)http_client_call(http, &what, &answer);
    r = http_answer_error(&answer, error);
    if (answer.failure == 0 && answer.leader[0] != '\0')
        (void)edl_error_remedy(error,
                               "another one leads: edl login %.200s, and the rest of your "
                               "line as it is",
                               answer.leader);
    if (answer.failure == 0)
        r = (int)answer.status;
    *ret = json_incref(answer.json);
    http_answer_clear(&answer);
    (void)http_client_free(http);
    return r;
}

/* try_code - 1: it was one, 0: it may be a token */
static int try_code(struct login *login, const char *ca_path, const char *code, bool may_be_token,
                    struct edl_error *error)
{
    _cleanup_json_ json_t *body = json_object();
    _cleanup_json_ json_t *answer = NULL;
    int status = call(login->url, ca_path, code, "POST", "/login", body, &answer, error);
    const char *token = json_text(answer, "token");

    if (status == FORBIDDEN && may_be_token)
        return 0;
    if (status < 0 || status >= 300)
        return error->code;
    if (*token == '\0')
        return edl_error_set(error, EDL_EHTTP, "%s gave no token", login->url);
    login->token = xstrdup(token);
    login->is_made = true;
    return 1;
}

/* all_addresses - the one that was given, and those that its scheduler tells; as client.conf can
 * have them */
static char *all_addresses(const char *url, const json_t *caller)
{
    struct server_list told, all = { 0 };
    char *text;

    server_list_read(json_object_get(caller, "servers"), &told);
    (void)server_list_add(&all, url, NULL);
    for (size_t i = 0; i < told.n; i++)
        if (strpbrk(told.urls[i], "\"\\,") == NULL)
            (void)server_list_add(&all, told.urls[i], NULL);
    text = server_list_text(&all);
    server_list_clear(&told);
    server_list_clear(&all);
    return text;
}

int login_come_in(struct login *login, enum login_secret kind, const char *secret,
                  struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    _cleanup_free_ char *ca_path = NULL;
    int r = login->ca != NULL ? ca_file(login->ca, &fd, &ca_path, error) : 0;

    if (r == 0 && kind != LOGIN_TOKEN)
        r = try_code(login, ca_path, secret, kind == LOGIN_EITHER, error);
    if (r < 0)
        return r;
    if (r == 0)
        login->token = xstrdup(secret);
    r = call(login->url, ca_path, login->token, "GET", "/whoami", NULL, &login->caller, error);
    if (r < 200 || r >= 300)
        return error->code;
    login->servers = all_addresses(login->url, login->caller);
    return 0;
}

/* open_kept - the schedulers of an earlier login, any of which may lead now */
static int open_kept(const struct client_conf *conf, struct server *ret, struct edl_error *error)
{
    struct server server = { .ca = conf->ca != NULL ? xstrdup(conf->ca) : NULL };
    int r = server_token_read(conf->token_file, &server.token, error);

    if (r == 0)
        r = server_several_take(conf->server, &server, error);
    if (r == 0)
        r = http_client_new_quick(server.base, &server.http, error);
    if (r < 0) {
        server_clear(&server);
        return r;
    }
    if (server.ca != NULL)
        http_client_trust(server.http, server.ca);
    *ret = server;
    return 0;
}

/* ask - returns the status with *ret, or a negative code */
static int ask(struct server *server, const char *method, const char *path, json_t **ret,
               struct edl_error *error)
{
    struct http_call what = { .method = method, .path = path };
    struct http_answer answer = { 0 };
    int r;

    (void)server_call(server, &what, &answer);
    r = http_answer_error(&answer, error);
    if (answer.failure == 0)
        r = (int)answer.status;
    *ret = json_incref(answer.json);
    http_answer_clear(&answer);
    return r;
}

static int take_back(struct server *server, struct edl_error *error)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_json_ json_t *caller = NULL;
    _cleanup_json_ json_t *answer = NULL;
    int r = ask(server, "GET", "/whoami", &caller, error);
    const char *via = json_text(caller, "via");
    uint64_t id;

    if (r < 0 || r >= 300)
        return r == 401 ? 0 : error->code;
    if (strncmp(via, "token ", 6) != 0 || parse_u64(via + 6, &id) < 0)
        return 0;
    path = text_format("/tokens/%s", via + 6);
    r = ask(server, "DELETE", path, &answer, error);
    return r >= 200 && r < 300 ? 0 : error->code;
}

int login_take_back(const struct client_conf *conf, struct edl_error *error)
{
    const char *name = conf->token_file != NULL ? strrchr(conf->token_file, '/') : NULL;
    struct server server;
    int r;

    if (name == NULL || !streq(name + 1, MADE_TOKEN) || open_kept(conf, &server, NULL) < 0)
        return 0;
    r = take_back(&server, error);
    server_clear(&server);
    return r;
}

/* --- files --- */

/* make_folders - each of the path that is not there, for the caller alone */
static int make_folders(char *path, struct edl_error *error)
{
    for (char *at = path + 1; at != NULL; at++) {
        at = strchr(at, '/');
        if (at != NULL)
            *at = '\0';
        if (mkdir(path, 0700) == -1 && errno != EEXIST)
            return edl_error_errno(error, -errno, "making the folder %s", path);
        if (at == NULL)
            break;
        *at = '/';
    }
    return 0;
}

int login_folder(char **ret, struct edl_error *error)
{
    _cleanup_free_ char *folder = client_conf_folder();
    struct stat st;
    int r;

    if (folder == NULL) {
        (void)edl_error_set(error, -ENOENT, "nothing says where your files are");
        return edl_error_remedy(error, "export HOME=FOLDER, or XDG_CONFIG_HOME=FOLDER");
    }
    r = make_folders(folder, error);
    if (r == 0 && stat(folder, &st) == -1)
        r = edl_error_errno(error, -errno, "looking at %s", folder);
    if (r == 0 && st.st_uid != geteuid())
        r = edl_error_set(error, -EPERM, "the folder %s is not yours", folder);
    if (r == 0 && (st.st_mode & 077) != 0 && chmod(folder, 0700) == -1)
        r = edl_error_errno(error, -errno, "chmod 700 %s", folder);
    if (r == 0)
        *ret = TAKE_PTR(folder);
    return r;
}

static int write_one(const char *folder, const char *name, const char *text,
                     struct edl_error *error)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);

    if (text != NULL)
        return whole_file_write(path, text, 0600, error);
    (void)unlink(path);
    return 0;
}

int login_keep(const struct login *login, const char *folder, struct edl_error *error)
{
    const char *name = login->is_made ? MADE_TOKEN : GIVEN_TOKEN;
    const char *other = login->is_made ? GIVEN_TOKEN : MADE_TOKEN;
    _cleanup_free_ char *token = text_format("%s\n", login->token);
    _cleanup_free_ char *ca = login->ca != NULL ? text_format("ca: \"%s/ca.pem\"\n", folder) : NULL;
    _cleanup_free_ char *conf = text_format("# by edl login; edl logout removes it\n"
                                            "server: \"%s\"\n%stoken-file: \"%s/%s\"\n",
                                            login->servers, ca != NULL ? ca : "", folder, name);
    int r = write_one(folder, "client.conf", NULL, error); /* until the others fit it */

    if (r == 0)
        r = write_one(folder, "ca.pem", login->ca, error);
    if (r == 0)
        r = write_one(folder, other, NULL, error);
    if (r == 0)
        r = write_one(folder, name, token, error);
    return r == 0 ? write_one(folder, "client.conf", conf, error) : r;
}

int login_forget(const char *folder, struct edl_error *error)
{
    static const char *const names[] = { "client.conf", MADE_TOKEN, GIVEN_TOKEN, "ca.pem" };
    bool any = false;

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", folder, names[i]);

        if (unlink(path) == 0)
            any = true;
        else if (errno != ENOENT)
            return edl_error_errno(error, -errno, "removing %s", path);
    }
    return any ? 0 : -ENOENT;
}
