/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_login.c - `edl login`, `edl logout`: the scheduler of another machine becomes the usual one
 *
 * The server is known before anything is sent to it: by the pin, by a file of its authority, or by
 * the eyes of a person. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "client/client_conf.h"
#include "client/json_read.h"
#include "client/login.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define ANSWER_MAX 4096

struct login_options {
    struct common_options common;
    const char *ca_pin, *code;
};

static const struct option_row login_options[] = {
    { "ca-pin", "PIN", "the authority that the server must be of: sha256:...", option_text,
      OPTION_FIELD(struct login_options, ca_pin) },
    { "code", "CODE", "what to come in with, once (default: it is asked for)", option_text,
      OPTION_FIELD(struct login_options, code) },
};

/* --- a person at a terminal --- */

/* ask - a line, without echo when it is a secret; -ENOTTY with error when nobody is there */
static int ask(const char *question, bool is_secret, const char *instead, char ret[ANSWER_MAX],
               struct edl_error *error)
{
    struct termios usual;
    struct termios quiet;
    bool told;

    if (isatty(STDIN_FILENO) != 1 || tcgetattr(STDIN_FILENO, &usual) == -1) {
        (void)edl_error_set(error, -ENOTTY, "there is no terminal to ask at: %s", question);
        return edl_error_remedy(error, "%s", instead);
    }
    quiet = usual;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    if (is_secret)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet); /* throws away what was typed before */
    (void)fprintf(stderr, "%s ", question);
    told = fgets(ret, ANSWER_MAX, stdin) != NULL;
    if (is_secret) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual);
        (void)fputc('\n', stderr);
    }
    if (!told)
        return edl_error_set(error, -ECANCELED, "nothing was answered");
    ret[strcspn(ret, "\r\n")] = '\0';
    return 0;
}

static int confirm(const char *url, const char *pin, struct edl_error *error)
{
    char answer[ANSWER_MAX];
    int r;

    if (isatty(STDIN_FILENO) == 1)
        (void)fprintf(stderr,
                      "%s shows this authority, which is not known here:\n  %s\n"
                      "Compare it with the line that `edl user add` printed on the scheduler's "
                      "machine.\n",
                      url, pin);
    r = ask("Is it the same? [yes/no]", false,
            "give --ca-pin PIN, of the line that `edl user add` prints on the scheduler's machine",
            answer, error);
    if (r == 0 && !streq(answer, "yes") && !streq(answer, "y"))
        r = edl_error_set(error, -ECANCELED, "nothing was sent, and nothing is kept");
    return r;
}

/* --- the authority of the server --- */

static int read_ca(const char *path, char **ret, struct edl_error *error)
{
    _cleanup_free_ char *real = realpath(path, NULL); /* certificates are often behind links */

    return whole_file_read(real != NULL ? real : path, false, ret, error);
}

static bool has_server(const struct client_conf *conf, const char *url)
{
    struct server_list list;
    bool has =
        server_list_parse(conf->server, &list, NULL) == 0 && server_list_find(&list, url) < list.n;

    server_list_clear(&list);
    return has;
}

/* known_ca - the file of this machine or an earlier login for that server; NULL: none */
static char *known_ca(const char *url)
{
    struct client_conf conf = { 0 };
    char *path = NULL;

    for (int own = 1; path == NULL && own >= 0; own--) {
        int r = own ? client_conf_read_own(&conf, NULL)
                    : client_conf_read(CLIENT_CONF_SYSTEM, &conf, NULL);

        if (r < 0)
            continue;
        if (has_server(&conf, url))
            path = TAKE_PTR(conf.ca);
        client_conf_clear(&conf);
    }
    return path;
}

/* pick_shown - by the pin, or by the word of a person. A server that shows no authority
 * is of one that the system knows, or of none that is believed. */
static int pick_shown(const char *url, const char *pin, char **ret, struct edl_error *error)
{
    char address[HTTP_ADDRESS_MAX], shown[CERTIFICATE_PIN_MAX];
    _cleanup_free_ char *chain = NULL;
    int r = pin != NULL ? certificate_pin_valid(pin, error) : 0;

    if (r == 0)
        r = http_peer_chain(url, HTTP_CHAIN_TIMEOUT_US, &chain, address, error);
    if (r < 0)
        return r;
    if (pin == NULL) {
        if (certificate_shown(chain, shown, NULL) < 0)
            return 0;
        r = confirm(url, shown, error);
        pin = shown;
    }
    return r == 0 ? certificate_pick(chain, pin, ret, error) : r;
}

static int choose_ca(const struct login_options *options, struct login *login,
                     struct edl_error *error)
{
    const char *environment = getenv("EDL_CA");
    const char *given = options->common.ca != NULL                      ? options->common.ca
                        : environment != NULL && environment[0] != '\0' ? environment
                                                                        : NULL;
    _cleanup_free_ char *known = NULL;

    if (strncmp(login->url, "https://", 8) != 0)
        return 0;
    if (options->ca_pin != NULL)
        return pick_shown(login->url, options->ca_pin, &login->ca, error);
    known = given != NULL ? xstrdup(given) : known_ca(login->url);
    return known != NULL ? read_ca(known, &login->ca, error)
                         : pick_shown(login->url, NULL, &login->ca, error);
}

/* --- code or token --- */

static int come_in(const struct login_options *options, struct login *login,
                   struct edl_error *error)
{
    _cleanup_free_ char *token = NULL;
    char answer[ANSWER_MAX];
    int r;

    if (options->code != NULL)
        return login_come_in(login, LOGIN_CODE, options->code, error);
    if (options->common.token_file != NULL) {
        r = server_token_read(options->common.token_file, &token, error);
        return r == 0 ? login_come_in(login, LOGIN_TOKEN, token, error) : r;
    }
    r = ask("Code, or token:", true,
            "give --code CODE of the line that `edl user add` prints, or --token-file FILE", answer,
            error);
    if (r == 0 && answer[0] == '\0')
        r = edl_error_set(error, -ECANCELED, "nothing was answered");
    if (r == 0)
        r = login_come_in(login, LOGIN_EITHER, answer, error);
    explicit_bzero(answer, sizeof answer);
    return r;
}

static int log_in(const struct login_options *options, const char *given, struct login *login,
                  struct edl_error *error)
{
    _cleanup_free_ char *folder = NULL;
    struct client_conf before = { 0 };
    struct edl_error why = { 0 };
    int r = 0;

    if (options->common.server != NULL) {
        (void)edl_error_set(error, -EINVAL, "edl login takes the address as its argument");
        return edl_error_remedy(error, "edl login %.200s", options->common.server);
    }
    if (options->code != NULL && options->common.token_file != NULL)
        return edl_error_set(error, -EINVAL, "--code and --token-file are both given");
    r = login_address(given, &login->url, error);
    if (r == 0)
        r = choose_ca(options, login, error);
    if (r == 0)
        r = login_folder(&folder, error);
    if (r == 0)
        r = come_in(options, login, error);
    if (r < 0)
        return r;
    if (client_conf_read_own(&before, NULL) == 0 && login_take_back(&before, &why) < 0)
        report_note("the token of the login before stays good at %s: %s", before.server, why.text);
    client_conf_clear(&before);
    return login_keep(login, folder, error);
}

static int run_login(const struct invocation *invocation)
{
    const struct login_options *options = invocation->options;
    struct login login = { 0 };
    struct edl_error error = { 0 };
    int status = STATUS_OK;

    if (log_in(options, invocation->arguments.args[0], &login, &error) < 0)
        status = report_error(&error);
    else if (options->common.json) {
        (void)json_object_set_new(login.caller, "server", json_string(login.url));
        json_print(login.caller);
    } else {
        (void)printf("logged in at %s: %s, %s\n", login.url, json_text(login.caller, "user"),
                     json_text(login.caller, "role"));
    }
    login_clear(&login);
    return status;
}

static int run_logout(const struct invocation *invocation)
{
    _cleanup_free_ char *folder = client_conf_folder();
    struct client_conf conf = { 0 };
    struct edl_error error = { 0 };
    struct edl_error why = { 0 };
    _cleanup_json_ json_t *answer = NULL;
    bool known = client_conf_read_own(&conf, &why) == 0;
    int r;

    if (known && login_take_back(&conf, &why) < 0)
        report_note("the token stays good at %s: %s; `edl token list` there shows it", conf.server,
                    why.text);
    r = folder != NULL ? login_forget(folder, &error) : -ENOENT;
    if (r == -ENOENT) {
        (void)edl_error_set(&error, r, "you are not logged in");
        (void)edl_error_remedy(&error, "edl whoami tells which scheduler you ask, and as whom");
    } else if (r == 0 && invocation->common->json) {
        answer = json_pack("{s:s,s:s}", "server", known ? conf.server : "", "state", "out");
        json_print(answer);
    } else if (r == 0) {
        (void)printf("logged out%s%s\n", known ? " of " : "", known ? conf.server : "");
    }
    client_conf_clear(&conf);
    return r < 0 ? report_error(&error) : STATUS_OK;
}

const struct verb verb_login = {
    .name = "login",
    .usage = "URL [--ca-pin PIN] [--code CODE | --token-file FILE]",
    .summary = "Come in from this machine, from now on",
    .details =
        "`edl user add NAME`, or `edl token create --login`, prints the whole line on the "
        "scheduler's machine.\nThe server has to be of the authority that the pin names; without "
        "--ca-pin you compare the pin\nthat it shows. A code is good once: the scheduler gives a "
        "token for it. Address, authority and token\ngo to ~/.config/edl, and every verb uses "
        "them. `edl logout` takes all of it back.",
    VERB_OPTIONS(login_options, struct login_options),
    .min_args = 1,
    .max_args = 1,
    .run = run_login,
};

const struct verb verb_logout = {
    .name = "logout",
    .usage = "",
    .summary = "The end of edl login: the token and the files go",
    .details = "The token is good no longer, when the scheduler can be reached. One that you gave "
               "with --token-file\nstays good: its copy goes.",
    .local = true,
    .run = run_logout,
};
