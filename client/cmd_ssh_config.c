/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ssh_config.c - `edl ssh-config`: lines of ~/.ssh/config for `ssh JOB.edl` */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/report.h"
#include "client/server.h"
#include "client/session_verb.h"
#include "client/ssh_key.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

struct ssh_config_options {
    struct common_options common;
    const char *user;
};

static const struct option_row ssh_config_options[] = {
    { "user", "ACCOUNT", "the account of the jobs, where it is not yours", option_text,
      OPTION_FIELD(struct ssh_config_options, user) },
};

/* percent_twice - ssh takes %n and the like for something of its own; new string */
static char *percent_twice(const char *text)
{
    char *twice = xcalloc(2 * strlen(text) + 1, 1), *to = twice;

    for (; *text != '\0'; text++) {
        *to++ = *text;
        if (*text == '%')
            *to++ = '%';
    }
    return twice;
}

/* from_root - the path of a file wherever ssh is started; new string */
static char *from_root(const char *path)
{
    _cleanup_free_ char *here = *path == '/' ? NULL : getcwd(NULL, 0);

    return here == NULL ? xstrdup(path) : text_format("%s/%s", here, path);
}

/* proxy_command - with what the caller gave: an editor that starts ssh has none of the environment
 */
static char *proxy_command(const struct common_options *common)
{
    const struct {
        const char *option, *value, *variable;
        bool is_path;
    } rows[] = {
        { "--server", common->server, "EDL_SERVER", false },
        { "--token-file", common->token_file, "EDL_TOKEN_FILE", true },
        { "--ca", common->ca, "EDL_CA", true },
    };
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *line;

    self[MAX_OF(n, (ssize_t)0)] = '\0';
    line = shell_word(n > 0 ? self : "edl");
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *value = rows[i].value != NULL ? rows[i].value : getenv(rows[i].variable);
        _cleanup_free_ char *path = NULL, *word = NULL;
        char *longer;

        if (value == NULL || *value == '\0')
            continue;
        path = rows[i].is_path ? from_root(value) : xstrdup(value);
        word = shell_word(path);
        longer = text_format("%s %s %s", line, rows[i].option, word);
        free(line);
        line = longer;
    }
    return line;
}

static void print(const char *command, const char *key, const char *user)
{
    _cleanup_free_ char *shown_command = percent_twice(command), *shown_key = percent_twice(key);

    (void)
        printf("\n# EDL: `ssh JOB.edl` and `ssh JOB.ROLE-N.edl`, made by `edl ssh-config`.\n"
               "# There is no port: edl connect carries ssh's bytes to an sshd that is made for\n"
               "# one session, its host key with it. So no host key is asked for or kept; who\n"
               "# is at the other end is known by the scheduler's certificate and by your token.\n"
               "Host *.edl\n"
               "    ProxyCommand %s connect '%%n'\n"
               "    IdentityFile \"%s\"\n"
               "    IdentitiesOnly yes\n"
               "    StrictHostKeyChecking no\n"
               "    UserKnownHostsFile /dev/null\n"
               "    GlobalKnownHostsFile /dev/null\n"
               "    LogLevel ERROR\n",
               shown_command, shown_key);
    if (user != NULL)
        (void)printf("    User %s\n", user);
}

static int run(const struct invocation *invocation)
{
    const struct ssh_config_options *options = invocation->options;
    _cleanup_free_ char *command = NULL, *key = NULL;
    struct edl_error error = { 0 };
    int status = session_verb_check(invocation);

    if (status != STATUS_OK)
        return status;
    if (ssh_key_make(&key, &error) < 0)
        return report_error(&error);
    command = proxy_command(&options->common);
    print(command, key, options->user);
    return STATUS_OK;
}

const struct verb verb_ssh_config = {
    .name = "ssh-config",
    .usage = "[--user ACCOUNT] >> ~/.ssh/config",
    .summary = "Print what ssh needs for `ssh JOB.edl`, editors, scp and rsync",
    .details =
        "Once: edl ssh-config >> ~/.ssh/config. Then ssh JOB.edl, scp, rsync, and the remote\n"
        "modes of editors reach a process of a running job; -L forwards ports. It makes a key in\n"
        "~/.config/edl/ssh/, with ssh-keygen, which enters nothing but sessions of your own.\n"
        "The node needs openssh-server; nothing has to listen there. ssh logs in as your account\n"
        "here; --user names that of your jobs where it is another one.",
    VERB_OPTIONS(ssh_config_options, struct ssh_config_options),
    .run = run,
};
