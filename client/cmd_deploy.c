/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_deploy.c - `edl deploy`: the hosts of a list become nodes, over ssh
 *
 * The program edl-deploy does it: its libraries would slow each start of `edl`. */
#include "client/deploy/deploy_options.h"
#include "client/program_beside.h"
#include "client/verb.h"

static int run(const struct invocation *invocation)
{
    return program_continue(invocation, "edl-deploy", NULL, "edl-client");
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
