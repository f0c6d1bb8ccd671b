/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - command line and files of edl-scheduler, every value checked
 *
 * A key of a file is what the option is called, and its value goes the same way. */
#include "scheduler/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/core/events/away.h"
#include "scheduler/core/policy/policy.h"
#include "shared/conf.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define DEFAULT_CONF "/etc/edl/scheduler.conf"
#define LEASE_US (5 * USEC_PER_SEC)
#define LEASE_MIN_US (2 * USEC_PER_SEC)
#define KEEP_MAX 100000000
#define KEEP_EVENTS 1000000
#define KEEP_JOBS 100000
#define KEEP_JOBS_BYTES (UINT64_C(1) << 30)
#define KEEP_DAYS 90
#define KEEP_AUDIT 1000000
#define KEEP_AUDIT_DAYS 365
#define KEEP_LOGS_BYTES (UINT64_C(4) << 30)
#define MAX_WORKSPACES_BYTES (UINT64_C(16) << 30)
#define MAX_USER_WORKSPACES_BYTES (UINT64_C(4) << 30)
#define MAX_USER_JOBS 10000
#define MAX_JOBS 100000
#define MAX_USER_INSTANCES 1000000
#define MAX_INSTANCES 4000000
#define MAX_USER_DOCUMENTS_BYTES (UINT64_C(256) << 20)
#define MAX_DOCUMENTS_BYTES (UINT64_C(1) << 30)
#define MAX_JOB_TASKS 100000
#define MAX_USER_TASKS 500000
#define MAX_TASKS 2000000
#define MAX_JOB_DATASET_BYTES (UINT64_C(16) << 20)
#define MAX_USER_TASK_BYTES (UINT64_C(256) << 20)
#define MAX_TASK_BYTES (UINT64_C(1) << 30)
#define AWAY_US (60 * USEC_PER_SEC)
#define AWAY_REBOOT_US (300 * USEC_PER_SEC)
#define LEASE_MAX_US (24 * 3600 * USEC_PER_SEC)

static const char usage[] =
    "Usage: edl-scheduler --state-dir DIR [OPTION]...\n"
    "The cluster's scheduler: HTTP API, state, elastic allocation.\n"
    "\n"
    "  --conf FILE              and FILE.d/*.conf: these options, one a line as NAME: VALUE\n"
    "                           (default: as root /etc/edl/scheduler.conf; \"\": none)\n"
    "  --state-dir DIR          database and tokens (made with mode 0700)\n"
    "  --listen ADDRESS:PORT    with TLS unless it is loopback; port 0 takes any\n"
    "  --listen unix:/PATH[,mode=0660]\n"
    "                           may be given more than once (default 127.0.0.1:7010)\n"
    "  --name NAME              host name or address that nodes use; may be given more than once\n"
    "  --port-file FILE         where to write the address of the first (default DIR/address)\n"
    "  --policy NAME            allocation policy (default goodput)\n"
    "  --max-load FRACTION      grow jobs up to this part of all cores (default 0.97)\n"
    "  --lease TIME             a node silent for so long is lost (default 5s)\n"
    "  --away STOP,REBOOT       nodes may go on alone for so long after an orderly stop, and after "
    "a\n"
    "                           shutdown of this machine (default 60s,5m; 0: told nothing)\n"
    "  --keep-events N          events that are kept (default 1000000; 0: all)\n"
    "  --keep-jobs N            jobs that are over and kept (default 100000; 0: all)\n"
    "  --keep-jobs-size BYTES   what they may take in the database (default 1Gi; 0: any)\n"
    "  --keep-days N            events and jobs at most for so long (default 90; 0: for ever)\n"
    "  --keep-logs BYTES        of ends of processes' output (default 4Gi; 0: all)\n"
    "  --keep-audit N           lines of the audit log (default 1000000; 0: all)\n"
    "  --keep-audit-days N      and at most for so long (default 365; 0: for ever)\n"
    "  --max-user-jobs N        jobs of one user that are not over (default 10000; 0: any)\n"
    "  --max-jobs N             the same of all users (default 100000)\n"
    "  --max-user-instances N   instances that one user's jobs may have (default 1000000)\n"
    "  --max-instances N        the same of all users (default 4000000)\n"
    "  --max-job-tasks N        tasks of one job's dataset (default 100000; 0: any)\n"
    "  --max-job-dataset BYTES  what such a dataset takes as it is sent (default 16Mi; 32Mi at "
    "most)\n"
    "  --max-user-tasks N       tasks of one user's jobs that are not over (default 500000)\n"
    "  --max-tasks N            the same of all users (default 2000000)\n"
    "  --max-user-datasets BYTES\n"
    "                           of memory for the tasks of one user (default 256Mi; 0: any)\n"
    "  --max-datasets BYTES     the same of all users (default 1Gi)\n"
    "  --max-workspaces BYTES   room for workspaces that were sent (default 16Gi)\n"
    "  --socket-role ROLE       user (default), viewer or none: what accounts of this machine may\n"
    "                           over a Unix socket that nobody has given a role\n"
    "  --max-user-workspaces BYTES\n"
    "                           of one user, that no job needs (default 4Gi; 0: any)\n"
    "  --keep-free BYTES        that workspaces leave free on the disk of DIR\n"
    "  --restore FILE           put a backup in the place of the database, and end\n"
    "  --help, --version\n"
    "\n"
    "See edl-scheduler(8).\n";

/* Each takes a text to where it belongs; its errors do not name the option. */
typedef int (*setting_fn)(const char *text, struct scheduler_options *options, void *field,
                          struct edl_error *error);

/* The first of a source begins anew: what wins, wins as a whole. */
static void begin_list(const struct scheduler_options *options, unsigned *source, size_t *n,
                       void *list, size_t size)
{
    if (*source == options->source)
        return;
    *source = options->source;
    *n = 0;
    memset(list, 0, size);
}

static int add_listen(const char *text, struct scheduler_options *options, void *field,
                      struct edl_error *error)
{
    int r;

    begin_list(options, &options->listen_source, &options->n_listen, field, sizeof options->listen);
    if (options->n_listen == LISTEN_MAX)
        return edl_error_set(error, -EINVAL, "it can be given %d times", LISTEN_MAX);
    r = listen_spec_parse(text, &options->listen[options->n_listen], error);
    if (r == 0)
        options->n_listen++;
    return r;
}

/* A name of the DNS or a numeric address: it ends up in a certificate and in URLs. */
static int add_server_name(const char *text, struct scheduler_options *options, void *field,
                           struct edl_error *error)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-.:");

    begin_list(options, &options->names_source, &options->n_names, field, sizeof options->names);
    if (length == 0 || length >= SERVER_NAME_BYTES || text[length] != '\0') {
        (void)edl_error_set(error, -EINVAL, "%.100s is not a host name or an address", text);
        return edl_error_remedy(error, "for example --name cluster.example.org");
    }
    if (options->n_names == SERVER_NAMES_MAX)
        return edl_error_set(error, -EINVAL, "it can be given %d times", SERVER_NAMES_MAX);
    (void)snprintf(options->names[options->n_names++], SERVER_NAME_BYTES, "%s", text);
    return 0;
}

static int set_path(const char *text, char *ret, size_t size, struct edl_error *error)
{
    if (text[0] == '\0' || strlen(text) >= size)
        return edl_error_set(error, -EINVAL, "the path is empty or too long");
    (void)snprintf(ret, size, "%s", text);
    return 0;
}

static int set_state_dir(const char *text, struct scheduler_options *options, void *field,
                         struct edl_error *error)
{
    return set_path(text, field, sizeof options->state_dir, error);
}

static int set_file(const char *text, struct scheduler_options *options, void *field,
                    struct edl_error *error)
{
    return set_path(text, field, sizeof options->port_file, error);
}

/* An option of an earlier version: nothing comes of its value, and it is told of. */
static int set_gone(const char *text, struct scheduler_options *options, void *field,
                    struct edl_error *error)
{
    bool *given = field;

    (void)text;
    (void)options;
    (void)error;
    *given = true;
    return 0;
}

static int set_policy(const char *text, struct scheduler_options *options, void *field,
                      struct edl_error *error)
{
    char names[120];

    (void)field;
    options->policy = policy_find(text);
    if (options->policy != NULL)
        return 0;
    (void)edl_error_set(error, -EINVAL, "there is no policy \"%.80s\"", text);
    policy_names(names, sizeof names);
    return edl_error_remedy(error, "known: %s", names);
}

static int set_max_load(const char *text, struct scheduler_options *options, void *field,
                        struct edl_error *error)
{
    uint64_t permille;

    (void)field;
    /* A fraction in thousandths is read as a CPU quantity is. */
    if (parse_cpu(text, &permille) < 0 || permille < 1 || permille > 1000) {
        (void)edl_error_set(error, -EINVAL, "%.80s is not a fraction above 0 and up to 1", text);
        return edl_error_remedy(error, "for example --max-load 0.97");
    }
    options->max_load_permille = (uint32_t)permille;
    return 0;
}

/* One time for both, or two. */
static int set_away(const char *text, struct scheduler_options *options, void *field,
                    struct edl_error *error)
{
    const char *comma = strchr(text, ',');
    char first[24] = "";
    uint64_t us[2];

    (void)field;
    (void)snprintf(first, sizeof first, "%.*s", (int)MIN_OF(strcspn(text, ","), sizeof first - 1),
                   text);
    if (parse_seconds(first, &us[0]) < 0 ||
        parse_seconds(comma != NULL ? comma + 1 : first, &us[1]) < 0 ||
        MAX_OF(us[0], us[1]) > CLUSTER_AWAY_MOST_US) {
        (void)edl_error_set(error, -EINVAL, "%.80s is not one or two times up to 15m", text);
        return edl_error_remedy(error, "for example --away 60s,5m");
    }
    memcpy(options->away_us, us, sizeof us);
    return 0;
}

static int set_lease(const char *text, struct scheduler_options *options, void *field,
                     struct edl_error *error)
{
    uint64_t us;

    (void)field;
    if (parse_seconds(text, &us) < 0 || us < LEASE_MIN_US || us > LEASE_MAX_US) {
        (void)edl_error_set(error, -EINVAL, "%.80s is not a time from 2s to 24h", text);
        return edl_error_remedy(error, "for example --lease 5s");
    }
    options->lease_us = us;
    return 0;
}

static int set_count(const char *text, uint64_t *ret, struct edl_error *error)
{
    if (parse_u64(text, ret) == 0 && *ret <= KEEP_MAX)
        return 0;
    return edl_error_set(error, -EINVAL, "%.80s is not a whole number up to %d", text, KEEP_MAX);
}

static int set_keep(const char *text, struct scheduler_options *options, void *field,
                    struct edl_error *error)
{
    (void)options;
    if (set_count(text, field, error) == 0)
        return 0;
    return edl_error_remedy(error, "0 keeps all of it");
}

static int set_keep_days(const char *text, struct scheduler_options *options, void *field,
                         struct edl_error *error)
{
    uint64_t days;
    int r = set_keep(text, options, &days, error);

    if (r == 0)
        *(uint64_t *)field = days * 24 * 3600 * USEC_PER_SEC;
    return r;
}

static int set_limit(const char *text, struct scheduler_options *options, void *field,
                     struct edl_error *error)
{
    (void)options;
    if (set_count(text, field, error) == 0)
        return 0;
    return edl_error_remedy(error, "0: any number");
}

static int set_bytes(const char *text, struct scheduler_options *options, void *field,
                     struct edl_error *error)
{
    (void)options;
    if (parse_bytes(text, field) == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "%.80s is not a number of bytes", text);
    return edl_error_remedy(error, "for example 4Gi");
}

static int set_socket_role(const char *text, struct scheduler_options *options, void *field,
                           struct edl_error *error)
{
    int role = user_role_from_string(text);

    (void)field;
    if (role >= 0 && role <= USER_USER) {
        options->socket_role = (enum user_role)role;
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.80s is not one of user, viewer, none", text);
    return edl_error_remedy(error, "more is given to accounts by name: edl user add NAME --role"
                                   " ROLE");
}

enum setting_use {
    USE_AT_START, /* a change needs a restart, which disturbs no process */
    USE_LIVE,     /* a scheduler that runs can be told */
    USE_ONCE,     /* is no setting: of a command line only */
    USE_GONE      /* of an earlier version: accepted, and nothing comes of it (options_gone) */
};

#define AT(member)                                                                                 \
    offsetof(struct scheduler_options, member), sizeof(((struct scheduler_options *)NULL)->member)

static const struct setting {
    const char *name;
    setting_fn set;
    size_t offset, size; /* the field; two that are equal in it do not differ */
    enum setting_use use;
} settings[] = {
    { "state-dir", set_state_dir, AT(state_dir), USE_AT_START },
    { "listen", add_listen, AT(listen), USE_AT_START },
    { "name", add_server_name, AT(names), USE_AT_START },
    { "port-file", set_file, AT(port_file), USE_AT_START },
    { "policy", set_policy, AT(policy), USE_AT_START },
    { "max-load", set_max_load, AT(max_load_permille), USE_AT_START },
    { "lease", set_lease, AT(lease_us), USE_AT_START },
    { "away", set_away, AT(away_us), USE_LIVE },
    { "lease-keeper", set_gone, AT(lease_keeper_given), USE_GONE },
    { "restore", set_file, AT(restore_file), USE_ONCE },
    { "keep-events", set_keep, AT(keep_events), USE_LIVE },
    { "keep-jobs", set_keep, AT(keep_jobs), USE_LIVE },
    { "keep-jobs-size", set_bytes, AT(keep_jobs_bytes), USE_LIVE },
    { "keep-days", set_keep_days, AT(keep_us), USE_LIVE },
    { "keep-audit", set_keep, AT(keep_audit), USE_LIVE },
    { "keep-audit-days", set_keep_days, AT(keep_audit_us), USE_LIVE },
    { "keep-logs", set_bytes, AT(keep_logs_bytes), USE_LIVE },
    { "max-user-jobs", set_limit, AT(limits.user[HOLDING_JOBS]), USE_LIVE },
    { "max-jobs", set_limit, AT(limits.all[HOLDING_JOBS]), USE_LIVE },
    { "max-user-instances", set_limit, AT(limits.user[HOLDING_INSTANCES]), USE_LIVE },
    { "max-instances", set_limit, AT(limits.all[HOLDING_INSTANCES]), USE_LIVE },
    { "max-job-tasks", set_limit, AT(dataset.tasks), USE_LIVE },
    { "max-job-dataset", set_bytes, AT(dataset.bytes), USE_LIVE },
    { "max-user-tasks", set_limit, AT(limits.user[HOLDING_TASKS]), USE_LIVE },
    { "max-tasks", set_limit, AT(limits.all[HOLDING_TASKS]), USE_LIVE },
    { "max-user-datasets", set_bytes, AT(limits.user[HOLDING_TASK_BYTES]), USE_LIVE },
    { "max-datasets", set_bytes, AT(limits.all[HOLDING_TASK_BYTES]), USE_LIVE },
    { "max-workspaces", set_bytes, AT(workspaces.max_bytes), USE_LIVE },
    { "socket-role", set_socket_role, AT(socket_role), USE_LIVE },
    { "max-user-workspaces", set_bytes, AT(workspaces.sender_bytes), USE_LIVE },
    { "keep-free", set_bytes, AT(workspaces.reserve_bytes), USE_LIVE },
};

_Static_assert(ELEMENTS(settings) <= SETTINGS_MAX, "each has its text in scheduler_options");
_Static_assert(sizeof((struct scheduler_options *)NULL)->port_file ==
                   sizeof((struct scheduler_options *)NULL)->restore_file,
               "set_file is for both");

static void *field_of(struct scheduler_options *options, const struct setting *setting)
{
    return (char *)options + setting->offset;
}

static const void *const_field_of(const struct scheduler_options *options,
                                  const struct setting *setting)
{
    return (const char *)options + setting->offset;
}

static int set(struct scheduler_options *options, size_t i, const char *text,
               struct edl_error *error)
{
    int r = settings[i].set(text, options, field_of(options, &settings[i]), error);

    if (r == 0)
        (void)snprintf(options->given[i], sizeof options->given[i], "%s", text);
    return r;
}

/* --- files --- */

static int refuse_key(const char *key, struct edl_error *error)
{
    const char *known[ELEMENTS(settings)] = { NULL };

    for (size_t i = 0; i < ELEMENTS(settings); i++)
        if (settings[i].use < USE_ONCE)
            known[i] = settings[i].name;
    return conf_refuse_key(key, known, ELEMENTS(known), "edl-scheduler(8)", error);
}

static int take_setting(const char *key, const char *value, void *userdata, struct edl_error *error)
{
    size_t i = 0;

    while (i < ELEMENTS(settings) && !streq(settings[i].name, key))
        i++;
    if (i == ELEMENTS(settings) || settings[i].use == USE_ONCE)
        return refuse_key(key, error);
    return set(userdata, i, value, error);
}

static void next_source(void *userdata)
{
    struct scheduler_options *options = userdata;

    options->source++;
}

/* --- the command line --- */

static int read_command_line(struct scheduler_options *options, const struct option *longs,
                             bool *ret_done, struct edl_error *error)
{
    int c;

    next_source(options);
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(options->argc, options->argv, ":", longs, NULL)) != -1) {
        if (c == 'h' || c == 'V') {
            (void)fputs(c == 'h' ? usage : "edl-scheduler " EDL_VERSION "\n", stdout);
            *ret_done = true;
            return 0;
        }
        if (c == ':' || c == '?') {
            (void)edl_error_set(error, -EINVAL, c == ':' ? "%s wants a value" : "unknown option %s",
                                options->argv[optind - 1]);
            return edl_error_remedy(error, "see edl-scheduler --help");
        }
        if (c == 'c')
            continue; /* read before all others */
        if (set(options, (size_t)c, optarg, error) < 0) {
            edl_error_prefix(error, "--%s: ", settings[c].name);
            return -EINVAL;
        }
    }
    if (optind < options->argc) {
        (void)edl_error_set(error, -EINVAL, "unexpected argument \"%s\"", options->argv[optind]);
        return edl_error_remedy(error, "see edl-scheduler --help");
    }
    return 0;
}

static int finish(struct scheduler_options *options, struct edl_error *error)
{
    if (options->state_dir[0] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--state-dir is missing");
        return edl_error_remedy(error, "for example --state-dir /var/lib/edl/scheduler");
    }
    if (options->n_listen == 0)
        options->listen[options->n_listen++] =
            (struct listen_spec){ .address = "127.0.0.1", .port = 7010 };
    if (options->port_file[0] == '\0')
        (void)snprintf(options->port_file, sizeof options->port_file, "%s/address",
                       options->state_dir);
    return 0;
}

int options_parse(int argc, char **argv, struct scheduler_options *ret, bool *ret_done,
                  struct edl_error *error)
{
    struct option longs[ELEMENTS(settings) + 4] = { 0 };
    struct scheduler_options options = {
        .policy = policy_default,
        .max_load_permille = 970,
        .lease_us = LEASE_US,
        .away_us = { AWAY_US, AWAY_REBOOT_US },
        .keep_events = KEEP_EVENTS,
        .keep_jobs = KEEP_JOBS,
        .keep_jobs_bytes = KEEP_JOBS_BYTES,
        .keep_logs_bytes = KEEP_LOGS_BYTES,
        .keep_audit = KEEP_AUDIT,
        .keep_audit_us = (uint64_t)KEEP_AUDIT_DAYS * 24 * 3600 * USEC_PER_SEC,
        .limits = { .user = { MAX_USER_JOBS, MAX_USER_INSTANCES, MAX_USER_DOCUMENTS_BYTES,
                              MAX_USER_TASKS, MAX_USER_TASK_BYTES },
                    .all = { MAX_JOBS, MAX_INSTANCES, MAX_DOCUMENTS_BYTES, MAX_TASKS,
                             MAX_TASK_BYTES } },
        .dataset = { .tasks = MAX_JOB_TASKS, .bytes = MAX_JOB_DATASET_BYTES },
        .socket_role = USER_USER,
        .workspaces = { .max_bytes = MAX_WORKSPACES_BYTES,
                        .reserve_bytes = WORKSPACE_RESERVE_AUTO,
                        .sender_bytes = MAX_USER_WORKSPACES_BYTES },
        .keep_us = (uint64_t)KEEP_DAYS * 24 * 3600 * USEC_PER_SEC,
        .argc = argc,
        .argv = argv,
    };
    const struct conf_reader reader = { .setting = take_setting,
                                        .begin_file = next_source,
                                        .userdata = &options };
    int r;

    for (size_t i = 0; i < ELEMENTS(settings); i++)
        longs[i] = (struct option){ settings[i].name, required_argument, NULL, (int)i };
    longs[ELEMENTS(settings)] = (struct option){ "help", no_argument, NULL, 'h' };
    longs[ELEMENTS(settings) + 1] = (struct option){ "version", no_argument, NULL, 'V' };
    longs[ELEMENTS(settings) + 2] = (struct option){ "conf", required_argument, NULL, 'c' };
    *ret_done = false;
    r = conf_read_all(conf_argument(argc, argv, longs, 'c'), geteuid() == 0 ? DEFAULT_CONF : NULL,
                      &reader, error);
    if (r == 0)
        r = read_command_line(&options, longs, ret_done, error);
    if (r == 0 && !*ret_done)
        r = finish(&options, error);
    if (r == 0 && !*ret_done)
        *ret = options;
    return r;
}

const char *options_gone(const struct scheduler_options *options)
{
    for (size_t i = 0; i < ELEMENTS(settings); i++)
        if (settings[i].use == USE_GONE && *(const bool *)const_field_of(options, &settings[i]))
            return settings[i].name;
    return NULL;
}

size_t options_take(struct scheduler_options *options, const struct scheduler_options *newer,
                    struct setting_change ret[SETTINGS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(settings); i++) {
        const struct setting *setting = &settings[i];
        void *field = field_of(options, setting);
        const void *new_field = const_field_of(newer, setting);

        if (setting->use >= USE_ONCE || memcmp(field, new_field, setting->size) == 0)
            continue;
        ret[n++] = (struct setting_change){ .name = setting->name,
                                            .text = newer->given[i],
                                            .taken = setting->use == USE_LIVE };
        if (setting->use != USE_LIVE)
            continue;
        memcpy(field, new_field, setting->size);
        memcpy(options->given[i], newer->given[i], sizeof options->given[i]);
    }
    return n;
}
