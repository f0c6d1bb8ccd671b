/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program_argv.c - the options of each ssh that runs */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/ssh/ssh_program.h"
#include "shared/macro.h"

#define CONNECT_S 10 /* ssh counts connection and banner together */

/* what no ssh_config may change, and what asks no person */
static const char *const always[] = {
    "-T",
    "-oLogLevel=ERROR",
    "-oClearAllForwardings=yes",
    "-oForwardAgent=no",
    "-oForwardX11=no",
    "-oPermitLocalCommand=no",
    "-oRemoteCommand=none",
    "-oControlPersist=no",
    "-oServerAliveInterval=10",
    "-oServerAliveCountMax=2",
};

static const struct {
    const char *options[6];
    bool strict;     /* only keys that the files of known_hosts have */
    bool own_socket; /* through the master, or is it */
} uses[] = {
    [SSH_PROGRAM_MASTER] = { { "-oControlMaster=yes", "-oBatchMode=yes" }, true, true },
    [SSH_PROGRAM_MASTER_PASSWORD] = { { "-oControlMaster=yes", "-oBatchMode=no",
                                        "-oNumberOfPasswordPrompts=1" },
                                      true,
                                      true },
    [SSH_PROGRAM_SCRIPT] = { { "-oControlMaster=no", "-oBatchMode=yes" }, true, true },
    [SSH_PROGRAM_SCAN] = { { "-oControlMaster=no", "-oControlPath=none", "-oBatchMode=yes",
                             "-oPreferredAuthentications=none",
                             "-oStrictHostKeyChecking=accept-new", "-oHashKnownHosts=no" },
                           false,
                           false },
};

static void add(struct ssh_program_argv *argv, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct ssh_program_argv *argv, const char *format, ...)
{
    va_list ap;

    if (argv->n == SSH_PROGRAM_ARGV_MAX - 1)
        abort(); /* the tables above have fewer */
    va_start(ap, format);
    if (vasprintf(&argv->items[argv->n++], format, ap) < 0)
        abort();
    va_end(ap);
}

static void add_known_hosts(const struct ssh_program *this, enum ssh_program_use use,
                            struct ssh_program_argv *argv)
{
    const char *file = this->session->options.known_hosts_file;

    if (uses[use].strict)
        add(argv, "-oStrictHostKeyChecking=yes");
    else
        add(argv, "-oUserKnownHostsFile=\"%s/new\"", this->dir);
    if (uses[use].strict && file != NULL)
        add(argv, "-oUserKnownHostsFile=\"%s\"", file);
    if (!uses[use].strict || file != NULL)
        add(argv, "-oGlobalKnownHostsFile=none");
}

void ssh_program_argv(const struct ssh_program *this, enum ssh_program_use use, const char *command,
                      struct ssh_program_argv *ret)
{
    const struct ssh_session *session = this->session;

    *ret = (struct ssh_program_argv){ 0 };
    add(ret, "ssh");
    for (size_t i = 0; i < ELEMENTS(always); i++)
        add(ret, "%s", always[i]);
    for (size_t i = 0; i < ELEMENTS(uses[use].options) && uses[use].options[i] != NULL; i++)
        add(ret, "%s", uses[use].options[i]);
    add(ret, "-oConnectTimeout=%.0f", ceil(CONNECT_S * session->options.patience));
    if (uses[use].own_socket)
        add(ret, "-oControlPath=\"%s/m\"", this->dir);
    add_known_hosts(this, use, ret);
    if (session->options.config_file != NULL)
        add(ret, "-F%s", session->options.config_file);
    if (session->target.user != NULL)
        add(ret, "-l%s", session->target.user);
    if (session->target.port != 0)
        add(ret, "-p%u", session->target.port);
    add(ret, "--");
    add(ret, "%s", session->target.host);
    add(ret, "%s", command != NULL ? command : "true");
}

void ssh_program_argv_clear(struct ssh_program_argv *argv)
{
    while (argv->n > 0)
        free(argv->items[--argv->n]);
}
