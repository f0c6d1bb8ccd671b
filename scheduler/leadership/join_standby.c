/* SPDX-License-Identifier: Apache-2.0 */
/* join_standby.c - see join_standby.h
 *
 * Root does it for the account that the scheduler runs as: while it writes in the state directory
 * it is that account. A scheduler that a package started once has made an authority of its own,
 * which nobody has joined: a directory with jobs, users or several nodes is refused. */
#include "scheduler/leadership/join_standby.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/leadership/known_term.h"
#include "scheduler/migrate.h"
#include "scheduler/options.h"
#include "scheduler/state.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define SECRET_MODE 0600
#define LINE_REMEDY                                                                                \
    "make a new line with `edl admin standby add NAME` on the scheduler that leads, and run it "   \
    "whole"
#define CONF_FOLDER "/etc/edl/scheduler.conf.d"
#define CONF_FILE CONF_FOLDER "/50-standby.conf"

/* The files that come over, by their key in the answer. A token stands on a line of its own. */
static const struct {
    const char *key, *name, *end;
} files[] = {
    { "ca_key", "ca.key", "" }, /* the key first: tls_files.c makes a certificate for one */
    { "ca_certificate", "ca.pem", "" },   { "admin_token", "admin-token", "\n" },
    { "join_token", "join-token", "\n" }, { "term", KNOWN_TERM_FILE, "\n" },
    { "store", MIGRATE_MARK, "" }, /* without `store` no scheduler starts here; no password */
};
/* Of the cluster that was there. */
static const char *const former[] = { "ca.key",      "ca.pem",     "server.key",   "server.pem",
                                      "admin-token", "join-token", KNOWN_TERM_FILE };

/* --- the other scheduler --- */

/* fetch_ca - the authority that the pin names, in a file for the client; "" for plain HTTP, which
 * is spoken on one machine alone */
static int fetch_ca(const struct scheduler_options *options, const char *path,
                    struct edl_error *error)
{
    _cleanup_free_ char *chain = NULL;
    _cleanup_free_ char *ca = NULL;
    char address[HTTP_ADDRESS_MAX];
    int r = certificate_pin_valid(options->ca_pin, error);

    if (r == 0)
        r = http_peer_chain(options->join_standby, HTTP_CHAIN_TIMEOUT_US, &chain, address, error);
    if (r == 0 && certificate_pick(chain, options->ca_pin, &ca, error) < 0)
        r = edl_error_remedy(error, LINE_REMEDY "; if it says the same pin, somebody else answers"
                                                " at this address");
    return r == 0 ? whole_file_write(path, ca, SECRET_MODE, error) : r;
}

static int ask(const struct scheduler_options *options, const char *ca_path, json_t **ret,
               struct edl_error *error)
{
    const struct http_call call = { .method = "POST",
                                    .path = "/schedulers/join",
                                    .bearer_token = options->token };
    struct http_answer answer = { 0 };
    struct http_client *client;
    int r = http_client_new(options->join_standby, &client, error);

    if (r < 0)
        return r;
    if (ca_path != NULL)
        http_client_trust(client, ca_path);
    (void)http_client_call(client, &call, &answer);
    r = http_answer_error(&answer, error);
    if (answer.status == 0 && error->remedy[0] == '\0')
        (void)edl_error_remedy(error, "does the scheduler that leads listen there?");
    if (answer.status >= 400 && answer.status < 500)
        (void)edl_error_remedy(error, LINE_REMEDY);
    if (r == 0 && answer.json == NULL)
        r = edl_error_set(error, EDL_EHTTP, "%s gives no JSON", options->join_standby);
    if (r == 0)
        *ret = json_incref(answer.json);
    http_answer_clear(&answer);
    (void)http_client_free(client);
    return r;
}

static int fetch(const struct scheduler_options *options, json_t **ret, struct edl_error *error)
{
    bool secure = strncmp(options->join_standby, "https://", strlen("https://")) == 0;
    char ca_path[STATE_PATH_MAX];
    int r = 0;

    state_path(options, "standby-ca.pem", ca_path);
    if (secure && options->ca_pin[0] == '\0') {
        (void)edl_error_set(error, -EINVAL,
                            "--ca-pin is missing: nothing says which server is the "
                            "true one");
        return edl_error_remedy(error, "run the whole line that `edl admin standby add` printed");
    }
    if (secure)
        r = fetch_ca(options, ca_path, error);
    if (r == 0)
        r = ask(options, secure ? ca_path : NULL, ret, error);
    if (secure)
        (void)unlink(ca_path);
    return r;
}

/* --- the state directory --- */

/* For a person who looks for it: nothing reads it. */
static void keep_aside(const struct scheduler_options *options)
{
    char path[STATE_PATH_MAX], aside[STATE_PATH_MAX + 8];

    for (size_t i = 0; i < ELEMENTS(former); i++) {
        state_path(options, former[i], path);
        (void)snprintf(aside, sizeof aside, "%s.former", path);
        if (rename(path, aside) == 0)
            (void)printf("%s is kept as %s\n", path, aside);
    }
}

static int write_files(const struct scheduler_options *options, const json_t *answer,
                       struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(files); i++) {
        const char *text = json_string_value(json_object_get(answer, files[i].key));
        _cleanup_free_ char *line = NULL;

        if (text == NULL)
            continue;
        if (asprintf(&line, "%s%s", text, files[i].end) == -1)
            abort();
        state_path(options, files[i].name, path);
        r = whole_file_write(path, line, SECRET_MODE, error);
    }
    return r;
}

/* become_owner - of the directory, where it is another one than root */
static int become_owner(const struct scheduler_options *options, struct edl_error *error)
{
    struct stat dir;

    if (geteuid() != 0)
        return 0;
    if (mkdir(options->state_dir, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making %s", options->state_dir);
    if (stat(options->state_dir, &dir) == -1)
        return edl_error_errno(error, -errno, "looking at %s", options->state_dir);
    if (setegid(dir.st_gid) == -1 || seteuid(dir.st_uid) == -1)
        return edl_error_errno(error, -errno, "becoming the owner of %s", options->state_dir);
    return 0;
}

static int check_answer(const struct scheduler_options *options, const json_t *answer,
                        struct edl_error *error)
{
    const char *store = json_string_value(json_object_get(answer, "store"));
    const char *name = json_string_value(json_object_get(answer, "name"));

    if (store != NULL && name != NULL && store_url_is_known(store) &&
        strpbrk(store, "\n'\"") == NULL && options_scheduler_name_valid(name))
        return 0;
    return edl_error_set(error, EDL_EHTTP, "%s does not say which database it uses",
                         options->join_standby);
}

static int fill(const struct scheduler_options *options, json_t **ret, struct edl_error *error)
{
    _cleanup_close_ int lock_fd = -1;
    int r = become_owner(options, error);

    if (r == 0)
        lock_fd = r = state_lock(options, error);
    if (r >= 0)
        r = migrate_check_empty(options, error);
    if (r == 0)
        r = fetch(options, ret, error);
    if (r == 0)
        r = check_answer(options, *ret, error);
    if (r == 0) {
        keep_aside(options);
        r = write_files(options, *ret, error);
    }
    return r;
}

/* --- the next step --- */

static int write_conf(const char *store, const char *name, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;

    if (asprintf(&text,
                 "# written by edl-scheduler --join-standby\nstore: %s\nscheduler-name: %s\n",
                 store, name) == -1)
        abort();
    if (mkdir(CONF_FOLDER, 0755) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making " CONF_FOLDER);
    return whole_file_write(CONF_FILE, text, 0644, error);
}

/* The packages' scheduler reads that folder; any other one is started with options. */
static int tell(const struct scheduler_options *options, const json_t *answer, bool is_root,
                struct edl_error *error)
{
    const char *store = json_string_value(json_object_get(answer, "store"));
    const char *name = json_string_value(json_object_get(answer, "name"));
    int r = 0;

    (void)printf("%s is the state directory of a standby now\n", options->state_dir);
    if (is_root)
        r = write_conf(store, name, error);
    if (r < 0)
        return r;
    if (json_is_true(json_object_get(answer, "password")))
        (void)printf("the database wants a password: put it into ~/.pgpass of the scheduler's "
                     "account, mode 0600\n");
    if (is_root)
        (void)printf("wrote " CONF_FILE "; next: systemctl restart edl-scheduler\n");
    else
        (void)printf("next: edl-scheduler --state-dir %s --store '%s' --scheduler-name %s "
                     "--listen ...\n",
                     options->state_dir, store, name);
    return 0;
}

static bool has_conf(const struct scheduler_options *options)
{
    for (int i = 1; i < options->argc; i++)
        if (strncmp(options->argv[i], "--conf", strlen("--conf")) == 0)
            return true;
    return false;
}

int join_standby(const struct scheduler_options *options, struct edl_error *error)
{
    bool is_root = geteuid() == 0;
    json_t *answer = NULL;
    int r = fill(options, &answer, error);

    if (is_root && (seteuid(0) == -1 || setegid(0) == -1) && r == 0)
        r = edl_error_errno(error, -errno, "becoming root again");
    if (r == 0)
        r = tell(options, answer, is_root && !has_conf(options), error);
    json_decref(answer);
    return r;
}
