/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - `edl doctor`: whether this machine can be a node
 *
 * edl-doctor looks: it reads the files of edl-agent, and is linked with the libraries of that. */
#include "client/program_beside.h"
#include "client/verb.h"

struct doctor_options {
    struct common_options common;
    const char *state_dir, *conf, *scheduler, *node;
};

static const struct option_row doctor_options[] = {
    { "state-dir", "DIR", "that of the agent (default: as edl-agent has it)", option_text,
      OPTION_FIELD(struct doctor_options, state_dir) },
    { "conf", "FILE", "the agent's (default: as root /etc/edl/agent.conf)", option_text,
      OPTION_FIELD(struct doctor_options, conf) },
    { "scheduler", "URL", "to reach (default: the one that was joined)", option_text,
      OPTION_FIELD(struct doctor_options, scheduler) },
    { "node", "NAME", "of this node (default: as it joined, else the host's)", option_text,
      OPTION_FIELD(struct doctor_options, node) },
};

static int run(const struct invocation *invocation)
{
    return program_continue(invocation, "edl-doctor", NULL, "edl-agent");
}

const struct verb verb_doctor = {
    .name = "doctor",
    .usage = "[--state-dir DIR] [--conf FILE] [--scheduler URL] [--node NAME]",
    .summary = "Whether this machine can be a node, and what to do about it",
    .details = "A line for each thing that it looked at: ok, warning or problem, its name, and the "
               "command to type next.\nNothing is changed, and edl-agent need not run. Run it as "
               "root where "
               "the agent is root.\nExit status: 0 no problem, 1 a problem. `edl doctor | grep -v "
               "^ok` shows what matters.",
    VERB_OPTIONS(doctor_options, struct doctor_options),
    .local = true,
    .run = run,
};
