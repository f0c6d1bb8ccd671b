/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - command line, files and environment of edl-agent, every value checked
 *
 * A key of a file is what the option is called, and its value goes the same way. */
#include "agent/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/log_trim.h"
#include "agent/option_values.h"
#include "agent/options_help.h"
#include "agent/process_limits.h"
#include "shared/account_name.h"
#include "shared/cleanup.h"
#include "shared/conf.h"
#include "shared/credential.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define DEFAULT_CONF "/etc/edl/agent.conf"

enum option_key {
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_NODE,
    OPTION_JOIN,
    OPTION_TOKEN,
    OPTION_JOIN_ONLY,
    OPTION_CA_PIN,
    OPTION_CA,
    OPTION_SCHEDULER,
    OPTION_JOIN_TOKEN_FILE,
    OPTION_STATE_DIR,
    OPTION_RUNTIME_DIR,
    OPTION_OUTPUT_DIR,
    OPTION_ADDRESS,
    OPTION_CONF,
    OPTION_CPU,
    OPTION_MEMORY,
    OPTION_RESERVE_CPU,
    OPTION_RESERVE_MEMORY,
    OPTION_OVERCOMMIT,
    OPTION_GPUS,
    OPTION_GPU_NUMA,
    OPTION_GPU_IDLE,
    OPTION_LABEL,
    OPTION_PORTS,
    OPTION_HEARTBEAT,
    OPTION_ALLOW_USER,
    OPTION_ALLOW_GROUP,
    OPTION_DEFAULT_USER,
    OPTION_USER_RANGE,
    OPTION_ALLOW_ROOT,
    OPTION_STOP_PROCESSES_ON_EXIT,
    OPTION_NO_CONTROL_GROUPS,
    OPTION_NO_FOREIGN,
    OPTION_RUNTIME,
    OPTION_WORKSPACE_CACHE,
    OPTION_TASKS_MAX,
    OPTION_CUT_OFF_KILL,
    OPTION_PIN_CORES,
    OPTION_CPU_QUOTA,
    OPTION_CPU_IDLE,
    OPTION_LOG_MAX,
    OPTION_OLD_LOGS_MAX,
    OPTION_KEEP_OUTPUTS,
    OPTION_OUTPUTS_MAX,
    _OPTION_MAX
};
_Static_assert((int)_OPTION_MAX <= AGENT_SETTINGS_MAX, "each has its text");

static const struct option long_options[] = {
    { "help", no_argument, NULL, OPTION_HELP },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "node", required_argument, NULL, OPTION_NODE },
    { "join", required_argument, NULL, OPTION_JOIN },
    { "token", required_argument, NULL, OPTION_TOKEN },
    { "join-only", no_argument, NULL, OPTION_JOIN_ONLY },
    { "ca-pin", required_argument, NULL, OPTION_CA_PIN },
    { "ca", required_argument, NULL, OPTION_CA },
    { "scheduler", required_argument, NULL, OPTION_SCHEDULER },
    { "join-token-file", required_argument, NULL, OPTION_JOIN_TOKEN_FILE },
    { "state-dir", required_argument, NULL, OPTION_STATE_DIR },
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "output-dir", required_argument, NULL, OPTION_OUTPUT_DIR },
    { "address", required_argument, NULL, OPTION_ADDRESS },
    { "conf", required_argument, NULL, OPTION_CONF },
    { "reserve-cpu", required_argument, NULL, OPTION_RESERVE_CPU },
    { "reserve-memory", required_argument, NULL, OPTION_RESERVE_MEMORY },
    { "cpu", required_argument, NULL, OPTION_CPU },
    { "memory", required_argument, NULL, OPTION_MEMORY },
    { "overcommit", no_argument, NULL, OPTION_OVERCOMMIT },
    { "gpus", required_argument, NULL, OPTION_GPUS },
    { "gpu-numa", required_argument, NULL, OPTION_GPU_NUMA },
    { "gpu-idle", required_argument, NULL, OPTION_GPU_IDLE },
    { "label", required_argument, NULL, OPTION_LABEL },
    { "ports", required_argument, NULL, OPTION_PORTS },
    { "heartbeat", required_argument, NULL, OPTION_HEARTBEAT },
    { "allow-user", required_argument, NULL, OPTION_ALLOW_USER },
    { "allow-group", required_argument, NULL, OPTION_ALLOW_GROUP },
    { "default-user", required_argument, NULL, OPTION_DEFAULT_USER },
    { "user-range", required_argument, NULL, OPTION_USER_RANGE },
    { "allow-root", no_argument, NULL, OPTION_ALLOW_ROOT },
    { "stop-processes-on-exit", no_argument, NULL, OPTION_STOP_PROCESSES_ON_EXIT },
    { "no-control-groups", no_argument, NULL, OPTION_NO_CONTROL_GROUPS },
    { "no-foreign", no_argument, NULL, OPTION_NO_FOREIGN },
    { "runtime", required_argument, NULL, OPTION_RUNTIME },
    { "workspace-cache", required_argument, NULL, OPTION_WORKSPACE_CACHE },
    { "cut-off-kill", required_argument, NULL, OPTION_CUT_OFF_KILL },
    { "tasks-max", required_argument, NULL, OPTION_TASKS_MAX },
    { "pin-cores", no_argument, NULL, OPTION_PIN_CORES },
    { "cpu-quota", no_argument, NULL, OPTION_CPU_QUOTA },
    { "cpu-idle", no_argument, NULL, OPTION_CPU_IDLE },
    { "log-max", required_argument, NULL, OPTION_LOG_MAX },
    { "old-logs-max", required_argument, NULL, OPTION_OLD_LOGS_MAX },
    { "keep-outputs", required_argument, NULL, OPTION_KEEP_OUTPUTS },
    { "outputs-max", required_argument, NULL, OPTION_OUTPUTS_MAX },
    { NULL, 0, NULL, 0 },
};

/* Whoever lists processes must not see it there: it is good until this node has joined. */
static int take_token(const char *text, struct agent_options *options, struct edl_error *error)
{
    if (options->again && text[0] == '\0')
        return 0; /* it was wiped when it was read first */
    if (text[0] == '\0' || strlen(text) >= sizeof options->token)
        return edl_error_set(error, -EINVAL, "this is not a join token");
    (void)snprintf(options->token, sizeof options->token, "%s", text);
    explicit_bzero((char *)(uintptr_t)text, strlen(text)); /* why: argv is ours to write to */
    return 0;
}

static int check_account(const char *name, struct edl_error *error)
{
    if (account_name_valid(name))
        return 0;
    return edl_error_set(error, -EINVAL, "'%.80s' cannot be the name of an account", name);
}

/* add_name - the first of a source begins anew: what wins, wins as a whole */
static int add_name(const struct agent_options *o, struct agent_names *names, const char *name,
                    struct edl_error *error)
{
    if (names->source != o->source)
        *names = (struct agent_names){ .source = o->source };
    if (names->n == AGENT_NAMES_MAX)
        return edl_error_set(error, -E2BIG, "at most %d can be given", AGENT_NAMES_MAX);
    names->list[names->n++] = name;
    return check_account(name, error);
}

/* parse_flag - NULL: on the command line it is there or not */
static int parse_flag(const char *value, bool *ret)
{
    if (value != NULL && !streq(value, "true") && !streq(value, "false"))
        return -EINVAL;
    *ret = value == NULL || streq(value, "true");
    return 0;
}

/* text_of - where an option goes that is kept as it is; NULL: it is another one */
static const char **text_of(struct agent_options *o, enum option_key key)
{
    const struct {
        enum option_key key;
        const char **to;
    } texts[] = {
        { OPTION_NODE, &o->node },
        { OPTION_JOIN, &o->join },
        { OPTION_CA_PIN, &o->ca_pin },
        { OPTION_CA, &o->ca },
        { OPTION_SCHEDULER, &o->scheduler },
        { OPTION_JOIN_TOKEN_FILE, &o->join_token_file },
        { OPTION_STATE_DIR, &o->state_dir },
        { OPTION_RUNTIME_DIR, &o->runtime_dir },
        { OPTION_OUTPUT_DIR, &o->output_dir },
        { OPTION_ADDRESS, &o->address },
    };

    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (texts[i].key == key)
            return texts[i].to;
    return NULL;
}

/* apply - an error only where the value alone does not show what is wrong with it */
static int apply(struct agent_options *o, enum option_key key, const char *value,
                 struct edl_error *error)
{
    const char **text = text_of(o, key);

    if (text != NULL) {
        *text = value;
        return 0;
    }
    switch (key) {
    case OPTION_TOKEN:
        return take_token(value, o, error);
    case OPTION_JOIN_ONLY:
        return parse_flag(value, &o->join_only);
    case OPTION_RESERVE_CPU:
        return parse_cpu(value, &o->reserve_cpu_millicores);
    case OPTION_RESERVE_MEMORY:
        return parse_bytes(value, &o->reserve_memory_bytes);
    case OPTION_CPU:
        return parse_cpu(value, &o->cpu_millicores);
    case OPTION_MEMORY:
        return parse_bytes(value, &o->memory_bytes);
    case OPTION_OVERCOMMIT:
        return parse_flag(value, &o->overcommit);
    case OPTION_GPUS:
        return option_gpus(value, o, error);
    case OPTION_GPU_NUMA:
        return option_gpu_numa(value, o);
    case OPTION_GPU_IDLE:
        return parse_seconds(value, &o->gpu_idle_us);
    case OPTION_LABEL:
        return labels_parse(&o->labels, value, error);
    case OPTION_PORTS:
        return option_ports(value, o);
    case OPTION_HEARTBEAT:
        return parse_seconds(value, &o->heartbeat_us);
    case OPTION_ALLOW_USER:
        return add_name(o, &o->allow_users, value, error);
    case OPTION_ALLOW_GROUP:
        return add_name(o, &o->allow_groups, value, error);
    case OPTION_DEFAULT_USER:
        o->default_user = value;
        return check_account(value, error);
    case OPTION_USER_RANGE:
        return option_user_range(value, o, error);
    case OPTION_ALLOW_ROOT:
        return parse_flag(value, &o->allow_root);
    case OPTION_STOP_PROCESSES_ON_EXIT:
        return parse_flag(value, &o->stop_processes_on_exit);
    case OPTION_NO_CONTROL_GROUPS:
        return parse_flag(value, &o->no_control_groups);
    case OPTION_NO_FOREIGN:
        return parse_flag(value, &o->no_foreign);
    case OPTION_RUNTIME:
        return option_runtime(value, o);
    case OPTION_CONF: /* read before all others */
        return 0;
    case OPTION_WORKSPACE_CACHE:
        return parse_bytes(value, &o->workspace_cache_bytes);
    case OPTION_CUT_OFF_KILL:
        return option_cut_off_kill(value, o, error);
    case OPTION_TASKS_MAX:
        return option_tasks_max(value, o, error);
    case OPTION_PIN_CORES:
        return parse_flag(value, &o->pin_cores);
    case OPTION_CPU_QUOTA:
        return parse_flag(value, &o->cpu_quota);
    case OPTION_CPU_IDLE:
        return parse_flag(value, &o->cpu_idle);
    case OPTION_LOG_MAX:
        return option_log_max(value, o, error);
    case OPTION_OLD_LOGS_MAX:
        return parse_bytes(value, &o->old_logs_max_bytes);
    case OPTION_KEEP_OUTPUTS:
        return parse_seconds(value, &o->kept.keep_us);
    case OPTION_OUTPUTS_MAX:
        return parse_bytes(value, &o->kept.max_bytes);
    case OPTION_NODE:
    case OPTION_JOIN:
    case OPTION_CA_PIN:
    case OPTION_CA:
    case OPTION_SCHEDULER:
    case OPTION_JOIN_TOKEN_FILE:
    case OPTION_STATE_DIR:
    case OPTION_RUNTIME_DIR:
    case OPTION_OUTPUT_DIR:
    case OPTION_ADDRESS:
    case OPTION_HELP:
    case OPTION_VERSION:
    case _OPTION_MAX:
        break;
    }
    return -EINVAL;
}

struct agent_text {
    struct agent_text *next;
    char text[];
};

/* What belongs into a command alone; a token is read from a file of its own. */
static bool is_for_files(enum option_key key)
{
    return key != OPTION_HELP && key != OPTION_VERSION && key != OPTION_CONF &&
           key != OPTION_TOKEN && key != OPTION_JOIN_ONLY;
}

static const char *keep(struct agent_options *o, const char *text)
{
    size_t size = strlen(text) + 1;
    struct agent_text *kept = xcalloc(1, sizeof *kept + size);

    memcpy(kept->text, text, size);
    kept->next = o->texts;
    o->texts = kept;
    return kept->text;
}

/* note - for options_changes; of a list all that counts */
static void note(struct agent_options *o, enum option_key key, const char *value)
{
    bool same_source = o->given_source[key] == o->source;
    bool adds = key == OPTION_LABEL ||
                ((key == OPTION_ALLOW_USER || key == OPTION_ALLOW_GROUP) && same_source);
    const char *text = value != NULL ? value : "true";

    if (adds && o->given[key] != NULL) {
        _cleanup_free_ char *list = text_format("%s, %s", o->given[key], text);

        text = keep(o, list);
    }
    o->given[key] = text;
    o->given_source[key] = o->source;
}

static int set_option(struct agent_options *o, enum option_key key, const char *value,
                      struct edl_error *error)
{
    int r = apply(o, key, value, error);

    if (r >= 0 && is_for_files(key))
        note(o, key, value);
    return r;
}

/* set_checked - as apply; the error names the option */
static int set_checked(struct agent_options *o, const struct option *option, const char *value,
                       struct edl_error *error)
{
    struct edl_error why = { 0 };

    if (set_option(o, (enum option_key)option->val, value, &why) >= 0)
        return 0;
    if (why.text[0] != '\0')
        return edl_error_set(error, -EINVAL, "--%s: %s", option->name, why.text);
    return edl_error_set(error, -EINVAL, "--%s: '%s' is not a valid value", option->name,
                         value != NULL ? value : "");
}

/* ---- files ---- */

static int refuse_key(const char *key, struct edl_error *error)
{
    const char *known[ELEMENTS(long_options)] = { NULL };

    for (size_t i = 0; long_options[i].name != NULL; i++)
        if (is_for_files((enum option_key)long_options[i].val))
            known[i] = long_options[i].name;
    return conf_refuse_key(key, known, ELEMENTS(known), "edl-agent(8)", error);
}

static int take_setting(const char *key, const char *value, void *userdata, struct edl_error *error)
{
    struct agent_options *o = userdata;
    size_t i = 0;

    while (long_options[i].name != NULL && !streq(long_options[i].name, key))
        i++;
    if (long_options[i].name == NULL || !is_for_files((enum option_key)long_options[i].val))
        return refuse_key(key, error);
    if (set_option(o, (enum option_key)long_options[i].val, keep(o, value), error) >= 0)
        return 0;
    if (error->text[0] == '\0')
        (void)edl_error_set(error, -EINVAL, "'%.80s' is not a valid value", value);
    (void)edl_error_remedy(error, "edl-agent(8) says what --%s takes", key);
    return -EINVAL;
}

static void next_source(void *userdata)
{
    struct agent_options *o = userdata;

    o->source++;
}

static int read_files(struct agent_options *o, int argc, char **argv, struct edl_error *error)
{
    const struct conf_reader reader = { .setting = take_setting,
                                        .begin_file = next_source,
                                        .userdata = o };

    return conf_read_all(conf_argument(argc, argv, long_options, OPTION_CONF),
                         geteuid() == 0 ? DEFAULT_CONF : NULL, &reader, error);
}

void options_done(struct agent_options *o)
{
    while (o->texts != NULL) {
        struct agent_text *next = o->texts->next;

        free(o->texts);
        o->texts = next;
    }
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
    if (o->given_source[OPTION_SCHEDULER] == o->source &&
        o->given_source[OPTION_JOIN] != o->source && o->scheduler != NULL)
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
        return edl_error_set(error, -EINVAL, "--gpu-numa places %llu devices, --gpus offers %llu",
                             (unsigned long long)o->n_gpu_numa, (unsigned long long)o->gpus);
    if (o->heartbeat_us < 50 * USEC_PER_MSEC || o->heartbeat_us > 60 * USEC_PER_SEC)
        return edl_error_set(error, -EINVAL, "--heartbeat must lie between 50ms and 60s");
    return 0;
}

/* read_command_line - 1: help or version was printed */
static int read_command_line(struct agent_options *o, int argc, char **argv,
                             struct edl_error *error)
{
    int key, which, r;

    next_source(o);
    optind = 1;
    opterr = 0;
    while ((key = getopt_long(argc, argv, "", long_options, &which)) != -1) {
        if (key == '?')
            return edl_error_set(error, -EINVAL, "cannot understand '%s'", argv[optind - 1]);
        if (key == OPTION_HELP || key == OPTION_VERSION) {
            if (key == OPTION_HELP)
                (void)fputs(agent_options_help, stdout);
            else
                (void)printf("edl-agent %s\n", EDL_VERSION);
            return 1;
        }
        r = set_checked(o, &long_options[which], optarg, error);
        if (r < 0)
            return r;
    }
    if (optind < argc)
        return edl_error_set(error, -EINVAL, "unexpected argument '%s'", argv[optind]);
    return 0;
}

/* take_passed_token - what is said on the command line or in a file wins */
static void take_passed_token(struct agent_options *o)
{
    _cleanup_free_ char *path = credential_path("edl.join-token");

    if (path == NULL || o->join_token_file != NULL || o->token[0] != '\0')
        return;
    o->join_token_file = keep(o, path);
    o->join_token_passed = true;
}

static int parse_all(int argc, char **argv, bool again, struct agent_options *ret,
                     struct edl_error *error)
{
    struct agent_options o = { .again = again,
                               .argc = argc,
                               .argv = argv,
                               .port_first = 20000,
                               .port_last = 20999,
                               .heartbeat_us = 2 * USEC_PER_SEC,
                               .gpu_idle_us = 600 * USEC_PER_SEC,
                               .workspace_cache_bytes = UINT64_C(8) << 30,
                               .log_max_bytes = UINT64_C(1) << 30,
                               .tasks_max = PROCESS_TASKS_MAX,
                               .cut_off_kill_us = 900 * USEC_PER_SEC,
                               .old_logs_max_bytes = UINT64_C(8) << 30,
                               .kept = { .keep_us = 7 * 86400 * USEC_PER_SEC,
                                         .max_bytes = UINT64_C(32) << 30 } };
    int r = read_files(&o, argc, argv, error);

    if (r == 0)
        r = read_command_line(&o, argc, argv, error);
    if (r == 0)
        r = add_environment(&o, error);
    take_passed_token(&o);
    settle_server(&o);
    if (o.state_dir == NULL)
        o.state_dir = default_state_dir(&o);
    if (r == 0)
        r = check(&o, error);
    if (r != 0) {
        options_done(&o);
        return r;
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

/* What is only looked at when something begins, or is told in each report. */
static bool is_live(enum option_key key)
{
    static const enum option_key live[] = {
        OPTION_CPU,
        OPTION_MEMORY,
        OPTION_RESERVE_CPU,
        OPTION_RESERVE_MEMORY,
        OPTION_OVERCOMMIT,
        OPTION_LABEL,
        OPTION_PORTS,
        OPTION_ALLOW_USER,
        OPTION_ALLOW_GROUP,
        OPTION_ALLOW_ROOT,
        OPTION_DEFAULT_USER,
        OPTION_USER_RANGE,
        OPTION_WORKSPACE_CACHE,
        OPTION_LOG_MAX,
        OPTION_TASKS_MAX,
        OPTION_CUT_OFF_KILL,
        OPTION_CPU_QUOTA,
        OPTION_OLD_LOGS_MAX,
        OPTION_KEEP_OUTPUTS,
        OPTION_OUTPUTS_MAX,
        OPTION_STOP_PROCESSES_ON_EXIT,
    };

    for (size_t i = 0; i < ELEMENTS(live); i++)
        if (live[i] == key)
            return true;
    return false;
}

size_t options_changes(const struct agent_options *started, const struct agent_options *now,
                       const struct agent_options *newer,
                       struct agent_option_change ret[AGENT_SETTINGS_MAX])
{
    size_t n = 0;

    for (const struct option *option = long_options; option->name != NULL; option++) {
        enum option_key key = (enum option_key)option->val;
        bool live = is_live(key);
        const char *before = (live ? now : started)->given[key], *after = newer->given[key];

        if (before == after || (before != NULL && after != NULL && streq(before, after)))
            continue;
        ret[n++] =
            (struct agent_option_change){ .name = option->name, .text = after, .taken = live };
    }
    return n;
}
