/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_deploy.c - `edl deploy`: the hosts of a list become nodes, over ssh
 *
 * The program edl-deploy does it: its libraries would slow each start of `edl`. */
#include <stdio.h>

#include "client/deploy/deploy_options.h"
#include "client/program_beside.h"
#include "client/report.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

static int run(const struct invocation *invocation)
{
    const struct deploy_arguments *o = invocation->options;
    const struct option_words *hosts = &invocation->arguments;
    const struct {
        const char *name, *value;
    } texts[] = { { "--conf", o->conf },
                  { "--ssh", o->ssh },
                  { "--packages", o->packages },
                  { "--password-file", o->password_file },
                  { "--server", o->common.server },
                  { "--token-file", o->common.token_file },
                  { "--ca", o->common.ca } };
    const struct {
        const char *name;
        bool given;
    } flags[] = { { "--check", o->check },
                  { "--remove", o->remove },
                  { "--upgrade", o->upgrade },
                  { "--yes", o->yes },
                  { "--accept-new-keys", o->accept_new_keys },
                  { "--json", o->common.json } };
    _cleanup_free_ const char **argv =
        xcalloc(2 * ELEMENTS(texts) + ELEMENTS(flags) + hosts->n_args + 3, sizeof *argv);
    struct edl_error error = { 0 };
    size_t n = 0;

    argv[n++] = "edl-deploy";
    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (texts[i].value != NULL) {
            argv[n++] = texts[i].name;
            argv[n++] = texts[i].value;
        }
    for (size_t i = 0; i < ELEMENTS(flags); i++)
        if (flags[i].given)
            argv[n++] = flags[i].name;
    argv[n++] = "--";
    for (size_t i = 0; i < hosts->n_args; i++)
        argv[n++] = hosts->args[i];
    (void)program_become(argv, "edl-client", &error);
    return report_error(&error);
}

const struct verb verb_deploy = {
    .name = "deploy",
    .usage = "[--conf FILE] [--check | --upgrade | --remove] [HOST...]",
    .summary = "Make the machines of a list (conf.py) nodes of this cluster, over ssh",
    .details =
        "Connects to every host of HOSTS at once. Installs edl-agent (and edl-trainer, where there "
        "is "
        "one) from\nthe host's apt repository or from this machine. Gives each a join token of its "
        "own, starts the service,\nand tells what edl doctor says there. Doing it again changes "
        "nothing. A host that fails stops no other,\nand the table says why and what to type. "
        "After that ssh is not used any more.\n\n"
        "With HOST only these of the list. Keys come from ssh-agent and ~/.ssh, names and jumps "
        "from ~/.ssh/config.\nWhere an account is not root, sudo is used; its password is asked "
        "for "
        "once for all hosts.\n--json tells hosts[] with result, node, transport, text, remedy and "
        "findings.\nExit status: 0 every host is set up, 1 some are not, 2 wrong input, 3 no "
        "scheduler. edl-hosts.conf(5)",
    .options = &deploy_options,
    .options_size = sizeof(struct deploy_arguments),
    .max_args = SIZE_MAX,
    .run = run,
};
