/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_main.c - program edl-deploy, which `edl deploy` starts: it alone is linked with libssh2 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/deploy/deploy_options.h"
#include "client/deploy/deploy_run.h"
#include "client/report.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

static int transport_of(const char *word, enum ssh_transport *ret, struct edl_error *error)
{
    static const struct {
        const char *word;
        enum ssh_transport transport;
    } words[] = {
#define XX(name, word) { word, name },
        SSH_TRANSPORT_MAP(XX)
#undef XX
    };

    *ret = SSH_AUTO;
    if (word == NULL)
        return 0;
    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (streq(words[i].word, word)) {
            *ret = words[i].transport;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "--ssh %s: there is no such way to connect", word);
    return edl_error_remedy(error, "--ssh auto, libssh2 or openssh");
}

static int mode_of(const struct deploy_arguments *given, enum deploy_mode *ret,
                   struct edl_error *error)
{
    if (given->check + given->remove + given->upgrade > 1) {
        (void)edl_error_set(error, -EINVAL, "--check, --upgrade and --remove exclude one another");
        return edl_error_remedy(error, "give one of them, or none");
    }
    *ret = given->check     ? DEPLOY_CHECK_ONLY
           : given->remove  ? DEPLOY_REMOVAL
           : given->upgrade ? DEPLOY_UPGRADE
                            : DEPLOY_TO;
    return 0;
}

/* The first line; such a file is nobody else's to read. */
static int read_password(const char *path, char **ret, struct edl_error *error)
{
    int r = path != NULL ? whole_file_read(path, true, ret, error) : 0;

    if (path == NULL || r < 0)
        return r;
    (*ret)[strcspn(*ret, "\r\n")] = '\0';
    if ((*ret)[0] != '\0')
        return 0;
    return edl_error_set(error, -EINVAL, "%s has no password in its first line", path);
}

/* How patient every deadline is: for slow lines, and for tests. */
static double patience(void)
{
    const char *text = getenv("EDL_DEPLOY_PATIENCE");
    double factor = text != NULL ? strtod(text, NULL) : 1;

    return factor > 0 && factor <= 1000 ? factor : 1;
}

/* Hosts of the command line: those of the list, or, without one, hosts themselves. */
static int choose(struct host_list *list, const struct option_words *arguments,
                  struct edl_error *error)
{
    size_t n = 0;

    for (size_t a = 0; a < arguments->n_args; a++) {
        size_t i = n;

        while (i < list->n_hosts && !streq(list->hosts[i].name, arguments->args[a]) &&
               !streq(list->hosts[i].text, arguments->args[a]))
            i++;
        if (i == list->n_hosts) {
            (void)edl_error_set(error, -EINVAL, "%s is not in HOSTS of %s", arguments->args[a],
                                list->file);
            return edl_error_remedy(error, "add it there, or leave it out");
        }

        struct host chosen = list->hosts[i];

        list->hosts[i] = list->hosts[n];
        list->hosts[n++] = chosen;
    }
    while (arguments->n_args > 0 && list->n_hosts > n)
        host_clear(&list->hosts[--list->n_hosts]);
    return 0;
}

static int run(const struct invocation *invocation)
{
    const struct deploy_arguments *given = invocation->options;
    struct deploy_options options = { .ssh.patience = patience(),
                                      .accept_new_keys = given->accept_new_keys,
                                      .yes = given->yes,
                                      .json = given->common.json,
                                      .packages = given->packages };
    struct host_list list = { 0 };
    struct edl_error error = { 0 };
    struct server server;
    char *password = NULL;
    int status = STATUS_OK;

    if (mode_of(given, &options.mode, &error) < 0 ||
        transport_of(given->ssh, &options.ssh.transport, &error) < 0 ||
        host_list_load(given->conf, &list, &error) < 0 ||
        choose(&list, &invocation->arguments, &error) < 0 ||
        read_password(given->password_file, &password, &error) < 0)
        status = report_error(&error);
    if (status == STATUS_OK)
        status = server_open(&given->common, &server);
    if (status == STATUS_OK) {
        options.password = password;
        status = deploy_run(&list, &options, &server);
        server_clear(&server);
    }
    if (password != NULL)
        explicit_bzero(password, strlen(password));
    free(password);
    host_list_clear(&list);
    return status;
}

int main(int argc, char **argv)
{
    struct deploy_arguments given = { 0 };
    struct edl_error error = { 0 };
    struct invocation invocation = { .options = &given, .common = &given.common };
    int status;

    (void)signal(SIGPIPE, SIG_IGN); /* a host that hangs up is no end of this */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    log_init("edl");
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-deploy %s\n", EDL_VERSION);
        return STATUS_OK;
    }
    argv[0] = (char[]){ "deploy" }; /* as its user typed it */
    status = options_parse(&deploy_options, &given, argc, argv, &invocation.read,
                           &invocation.arguments, &error);
    if (status < 0)
        return report_error(&error);
    if (status == OPTIONS_HELP) {
        option_words_clear(&invocation.arguments);
        (void)puts("edl-deploy is started by edl deploy: see edl deploy --help");
        return STATUS_OK;
    }
    option_words_join(&invocation.arguments);
    status = run(&invocation);
    option_words_clear(&invocation.arguments);
    return status;
}
