/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - what edl-agent is told: the options of option_rows.c, and their meaning together */
#include "agent/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/option_rows.h"
#include "shared/cleanup.h"
#include "shared/credential.h"
#include "shared/error.h"
#include "shared/macro.h"

void options_done(struct agent_options *o)
{
    options_given_done(&o->given);
}

/* add_environment - EDL_LABELS=NAME=VALUE,NAME=VALUE...; command line and files win */
static int add_environment(struct agent_options *o, struct edl_error *error)
{
    const char *list = getenv("EDL_LABELS");
    _cleanup_free_ char *copy = xstrdup(list != NULL ? list : "");
    struct labels given = o->labels;
    char *rest = copy, *item;

    while ((item = strsep(&rest, ",")) != NULL) {
        int r = *item != '\0' ? labels_parse(&o->labels, item, error) : 0;

        if (r < 0) {
            edl_error_prefix(error, "EDL_LABELS: ");
            return r;
        }
    }
    for (uint32_t i = 0; i < given.n; i++)
        (void)labels_set(&o->labels, given.items[i].name, given.items[i].value, NULL);
    return 0;
}

/* The name is part of paths in URLs. */
bool agent_node_valid(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

    return n > 0 && n < 64 && name[n] == '\0' && name[0] != '.' && name[0] != '-';
}

/* Where it is looked for without --state-dir; NULL: there is no such place. */
static const char *default_state_dir(struct agent_options *o)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = -1;

    if (geteuid() == 0)
        return "/var/lib/edl/agent";
    if (state != NULL && state[0] == '/')
        n = snprintf(o->default_state_dir, sizeof o->default_state_dir, "%s/edl/agent", state);
    else if (home != NULL && home[0] == '/')
        n = snprintf(o->default_state_dir, sizeof o->default_state_dir, "%s/.local/state/edl/agent",
                     home);
    return n > 0 && (size_t)n < sizeof o->default_state_dir ? o->default_state_dir : NULL;
}

/* Files say where it was joined; whoever says on the command line where the scheduler is now knows
 * it better. The other way round both stay and are refused: the service reads the files alone. */
static void settle_server(struct agent_options *o)
{
    if (options_on_command_line(&agent_options_table, &o->given, "scheduler") &&
        !options_on_command_line(&agent_options_table, &o->given, "join"))
        o->join = NULL;
}

static int check(const struct agent_options *o, struct edl_error *error)
{
    if (o->state_dir == NULL || o->state_dir[0] == '\0')
        return edl_error_set(error, -EINVAL, "--state-dir is missing");
    if (o->join != NULL && o->scheduler != NULL) {
        (void)edl_error_set(error, -EINVAL, "--join and --scheduler both say where it is");
        return edl_error_remedy(error, "to join, leave scheduler out; when the cluster moved, leave"
                                       " join out: a node that has joined needs it no more");
    }
    if (o->join_only && o->join == NULL)
        return edl_error_set(error, -EINVAL, "--join-only without --join: there is nothing to do");
    if (o->join_only && geteuid() != 0 && o->state_dir == o->default_state_dir) {
        (void)edl_error_set(error, -EPERM,
                            "--join-only joins for root's service: you are not root");
        return edl_error_remedy(error, "sudo -i, and the same line: its token is still good");
    }
    if (o->node != NULL && !agent_node_valid(o->node))
        return edl_error_set(error, -EINVAL, "'%s' cannot be a node name (letters, digits, - _ .)",
                             o->node);
    if (o->n_gpu_numa > 0 && o->n_gpu_numa != o->gpus)
        return edl_error_set(error, -EINVAL, "--gpu-numa places %llu device%s, --gpus offers %llu",
                             (unsigned long long)o->n_gpu_numa, PLURAL(o->n_gpu_numa),
                             (unsigned long long)o->gpus);
    return 0;
}

/* take_passed_token - what is said on the command line or in a file wins */
static void take_passed_token(struct agent_options *o)
{
    _cleanup_free_ char *path = credential_path("edl.join-token");

    if (path == NULL || o->join_token_file != NULL || o->token[0] != '\0')
        return;
    o->join_token_file = options_keep(&o->given, path);
    o->join_token_passed = true;
}

static int parse_all(int argc, char **argv, bool again, struct agent_options *ret,
                     struct edl_error *error)
{
    struct agent_options o = { .again = again, .argc = argc, .argv = argv };
    int r = options_read(&agent_options_table, argc, argv, &o, &o.given, error);

    if (r == OPTIONS_RUN)
        r = add_environment(&o, error);
    take_passed_token(&o);
    settle_server(&o);
    if (o.state_dir == NULL)
        o.state_dir = default_state_dir(&o);
    if (r == 0)
        r = check(&o, error);
    if (r != 0) {
        options_done(&o);
        return r; /* OPTIONS_HELP or OPTIONS_VERSION too */
    }
    *ret = o;
    if (o.state_dir == o.default_state_dir)
        ret->state_dir = ret->default_state_dir;
    return 0;
}

int options_parse(int argc, char **argv, struct agent_options *ret, struct edl_error *error)
{
    return parse_all(argc, argv, false, ret, error);
}

int options_reread(const struct agent_options *before, struct agent_options *ret,
                   struct edl_error *error)
{
    return parse_all(before->argc, before->argv, true, ret, error);
}

size_t options_changes(const struct agent_options *started, const struct agent_options *now,
                       const struct agent_options *newer, struct option_change ret[OPTIONS_MAX])
{
    return options_differ(&agent_options_table, &started->given, &now->given, &newer->given, ret);
}
