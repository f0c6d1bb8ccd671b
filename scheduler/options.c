/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - edl-scheduler's command line */
#include "scheduler/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/policy.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define LEASE_MIN_US (2 * USEC_PER_SEC)
#define KEEP_MAX 100000000
#define KEEP_EVENTS 1000000
#define KEEP_JOBS 100000
#define KEEP_DAYS 90
#define KEEP_LOGS_BYTES (UINT64_C(4) << 30)
#define MAX_WORKSPACES_BYTES (UINT64_C(16) << 30)
#define MAX_USER_WORKSPACES_BYTES (UINT64_C(4) << 30)
#define MAX_USER_JOBS 10000
#define MAX_JOBS 100000
#define MAX_USER_INSTANCES 1000000
#define MAX_INSTANCES 4000000
#define MAX_USER_DOCUMENTS_BYTES (UINT64_C(256) << 20)
#define MAX_DOCUMENTS_BYTES (UINT64_C(1) << 30)
#define LEASE_MAX_US (24 * 3600 * USEC_PER_SEC)

static const char usage[] =
    "Usage: edl-scheduler --state-dir DIR [OPTION]...\n"
    "The cluster's scheduler: HTTP API, state, elastic allocation.\n"
    "\n"
    "  --state-dir DIR          database and tokens (made with mode 0700)\n"
    "  --listen ADDRESS:PORT    with TLS unless it is loopback; port 0 takes any\n"
    "  --listen unix:/PATH[,mode=0660]\n"
    "                           may be given more than once (default 127.0.0.1:7010)\n"
    "  --name NAME              host name or address that nodes use; may be given more than once\n"
    "  --port-file FILE         where to write the address of the first (default DIR/address)\n"
    "  --policy NAME            allocation policy (default fulfilment)\n"
    "  --max-load FRACTION      grow jobs up to this part of all cores (default 0.97)\n"
    "  --lease TIME             a node silent for so long is lost (default 20s)\n"
    "  --keep-events N          events that are kept (default 1000000; 0: all)\n"
    "  --keep-jobs N            jobs that are over and kept (default 100000; 0: all)\n"
    "  --keep-days N            both at most for so long (default 90; 0: for ever)\n"
    "  --keep-logs BYTES        of ends of processes' output (default 4Gi; 0: all)\n"
    "  --max-user-jobs N        jobs of one user that are not over (default 10000; 0: any)\n"
    "  --max-jobs N             the same of all users (default 100000)\n"
    "  --max-user-instances N   instances that one user's jobs may have (default 1000000)\n"
    "  --max-instances N        the same of all users (default 4000000)\n"
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

static int add_listen(const char *text, struct scheduler_options *options, struct edl_error *error)
{
    int r;

    if (options->n_listen == LISTEN_MAX)
        return edl_error_set(error, -EINVAL, "--listen can be given %d times", LISTEN_MAX);
    r = listen_spec_parse(text, &options->listen[options->n_listen], error);
    if (r == 0)
        options->n_listen++;
    return r;
}

/* A name of the DNS or a numeric address: it ends up in a certificate and in URLs. */
static int add_server_name(const char *text, struct scheduler_options *options,
                           struct edl_error *error)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-.:");

    if (length == 0 || length > 253 || text[length] != '\0') {
        (void)edl_error_set(error, -EINVAL, "--name %.100s is not a host name or an address", text);
        return edl_error_remedy(error, "for example --name cluster.example.org");
    }
    if (options->n_names == SERVER_NAMES_MAX)
        return edl_error_set(error, -EINVAL, "--name can be given %d times", SERVER_NAMES_MAX);
    options->names[options->n_names++] = text;
    return 0;
}

static int set_state_dir(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    if (text[0] == '\0' || strlen(text) >= sizeof options->state_dir)
        return edl_error_set(error, -EINVAL, "--state-dir is empty or too long");
    (void)snprintf(options->state_dir, sizeof options->state_dir, "%s", text);
    return 0;
}

static int set_port_file(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    if (text[0] == '\0' || strlen(text) >= sizeof options->port_file)
        return edl_error_set(error, -EINVAL, "--port-file is empty or too long");
    (void)snprintf(options->port_file, sizeof options->port_file, "%s", text);
    return 0;
}

static int set_restore(const char *text, struct scheduler_options *options, struct edl_error *error)
{
    if (text[0] == '\0' || strlen(text) >= sizeof options->restore_file)
        return edl_error_set(error, -EINVAL, "--restore is empty or too long");
    (void)snprintf(options->restore_file, sizeof options->restore_file, "%s", text);
    return 0;
}

static int set_policy(const char *text, struct scheduler_options *options, struct edl_error *error)
{
    char names[120];

    options->policy = policy_find(text);
    if (options->policy != NULL)
        return 0;
    (void)edl_error_set(error, -EINVAL, "there is no policy \"%s\"", text);
    policy_names(names, sizeof names);
    return edl_error_remedy(error, "known: %s", names);
}

static int set_max_load(const char *text, struct scheduler_options *options,
                        struct edl_error *error)
{
    uint64_t permille;

    /* A fraction in thousandths is read as a CPU quantity is. */
    if (parse_cpu(text, &permille) < 0 || permille < 1 || permille > 1000) {
        (void)edl_error_set(error, -EINVAL, "--max-load %s is not a fraction above 0 and up to 1",
                            text);
        return edl_error_remedy(error, "for example --max-load 0.97");
    }
    options->max_load_permille = (uint32_t)permille;
    return 0;
}

static int set_lease(const char *text, struct scheduler_options *options, struct edl_error *error)
{
    uint64_t us;

    if (parse_seconds(text, &us) < 0 || us < LEASE_MIN_US || us > LEASE_MAX_US) {
        (void)edl_error_set(error, -EINVAL, "--lease %s is not a time from 2s to 24h", text);
        return edl_error_remedy(error, "for example --lease 20s");
    }
    options->lease_us = us;
    return 0;
}

static int read_count(const char *option, const char *text, uint64_t *ret, struct edl_error *error)
{
    if (parse_u64(text, ret) == 0 && *ret <= KEEP_MAX)
        return 0;
    (void)edl_error_set(error, -EINVAL, "--%s %s is not a whole number up to %d", option, text,
                        KEEP_MAX);
    return edl_error_remedy(error, "0 keeps all of it");
}

static int set_keep_events(const char *text, struct scheduler_options *options,
                           struct edl_error *error)
{
    return read_count("keep-events", text, &options->keep_events, error);
}

static int set_keep_jobs(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    return read_count("keep-jobs", text, &options->keep_jobs, error);
}

static int read_limit(const char *option, const char *text, uint64_t *ret, struct edl_error *error)
{
    if (read_count(option, text, ret, error) == 0)
        return 0;
    return edl_error_remedy(error, "0: any number");
}

static int set_max_user_jobs(const char *text, struct scheduler_options *options,
                             struct edl_error *error)
{
    return read_limit("max-user-jobs", text, &options->limits.user[HOLDING_JOBS], error);
}

static int set_max_jobs(const char *text, struct scheduler_options *options,
                        struct edl_error *error)
{
    return read_limit("max-jobs", text, &options->limits.all[HOLDING_JOBS], error);
}

static int set_max_user_instances(const char *text, struct scheduler_options *options,
                                  struct edl_error *error)
{
    return read_limit("max-user-instances", text, &options->limits.user[HOLDING_INSTANCES], error);
}

static int set_max_instances(const char *text, struct scheduler_options *options,
                             struct edl_error *error)
{
    return read_limit("max-instances", text, &options->limits.all[HOLDING_INSTANCES], error);
}

static int read_bytes(const char *option, const char *text, uint64_t *ret, struct edl_error *error)
{
    if (parse_bytes(text, ret) == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "--%s %s is not a number of bytes", option, text);
    return edl_error_remedy(error, "for example --%s 4Gi", option);
}

static int set_max_workspaces(const char *text, struct scheduler_options *options,
                              struct edl_error *error)
{
    return read_bytes("max-workspaces", text, &options->workspaces.max_bytes, error);
}

static int set_max_user_workspaces(const char *text, struct scheduler_options *options,
                                   struct edl_error *error)
{
    return read_bytes("max-user-workspaces", text, &options->workspaces.sender_bytes, error);
}

static int set_keep_logs(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    return read_bytes("keep-logs", text, &options->keep_logs_bytes, error);
}

static int set_keep_free(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    return read_bytes("keep-free", text, &options->workspaces.reserve_bytes, error);
}

static int set_keep_days(const char *text, struct scheduler_options *options,
                         struct edl_error *error)
{
    uint64_t days;
    int r = read_count("keep-days", text, &days, error);

    if (r == 0)
        options->keep_us = days * 24 * 3600 * USEC_PER_SEC;
    return r;
}

static int set_socket_role(const char *text, struct scheduler_options *options,
                           struct edl_error *error)
{
    int role = user_role_from_string(text);

    if (role >= 0 && role <= USER_USER) {
        options->socket_role = (enum user_role)role;
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "--socket-role %s is not one of user, viewer, none", text);
    return edl_error_remedy(error, "more is given to accounts by name: edl user add NAME --role"
                                   " ROLE");
}

static const struct {
    const char *name;
    int (*set)(const char *text, struct scheduler_options *options, struct edl_error *error);
} settings[] = {
    { "state-dir", set_state_dir },
    { "listen", add_listen },
    { "name", add_server_name },
    { "port-file", set_port_file },
    { "policy", set_policy },
    { "max-load", set_max_load },
    { "lease", set_lease },
    { "restore", set_restore },
    { "keep-events", set_keep_events },
    { "keep-jobs", set_keep_jobs },
    { "keep-days", set_keep_days },
    { "keep-logs", set_keep_logs },
    { "max-user-jobs", set_max_user_jobs },
    { "max-jobs", set_max_jobs },
    { "max-user-instances", set_max_user_instances },
    { "max-instances", set_max_instances },
    { "max-workspaces", set_max_workspaces },
    { "socket-role", set_socket_role },
    { "max-user-workspaces", set_max_user_workspaces },
    { "keep-free", set_keep_free },
};

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
    struct option longs[ELEMENTS(settings) + 3] = { 0 };
    struct scheduler_options options = {
        .policy = &policy_fulfilment,
        .max_load_permille = 970,
        .lease_us = 20 * USEC_PER_SEC,
        .keep_events = KEEP_EVENTS,
        .keep_jobs = KEEP_JOBS,
        .keep_logs_bytes = KEEP_LOGS_BYTES,
        .limits = { .user = { MAX_USER_JOBS, MAX_USER_INSTANCES, MAX_USER_DOCUMENTS_BYTES },
                    .all = { MAX_JOBS, MAX_INSTANCES, MAX_DOCUMENTS_BYTES } },
        .socket_role = USER_USER,
        .workspaces = { .max_bytes = MAX_WORKSPACES_BYTES,
                        .reserve_bytes = WORKSPACE_RESERVE_AUTO,
                        .sender_bytes = MAX_USER_WORKSPACES_BYTES },
        .keep_us = (uint64_t)KEEP_DAYS * 24 * 3600 * USEC_PER_SEC,
    };
    int c;

    for (size_t i = 0; i < ELEMENTS(settings); i++)
        longs[i] = (struct option){ settings[i].name, required_argument, NULL, (int)i };
    longs[ELEMENTS(settings)] = (struct option){ "help", no_argument, NULL, 'h' };
    longs[ELEMENTS(settings) + 1] = (struct option){ "version", no_argument, NULL, 'V' };
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        int r;

        if (c == 'h' || c == 'V') {
            (void)fputs(c == 'h' ? usage : "edl-scheduler " EDL_VERSION "\n", stdout);
            *ret_done = true;
            return 0;
        }
        if (c == ':' || c == '?') {
            (void)edl_error_set(error, -EINVAL, c == ':' ? "%s wants a value" : "unknown option %s",
                                argv[optind - 1]);
            return edl_error_remedy(error, "see edl-scheduler --help");
        }
        r = settings[c].set(optarg, &options, error);
        if (r < 0)
            return r;
    }
    if (optind < argc) {
        (void)edl_error_set(error, -EINVAL, "unexpected argument \"%s\"", argv[optind]);
        return edl_error_remedy(error, "see edl-scheduler --help");
    }
    if (finish(&options, error) < 0)
        return -EINVAL;
    *ret = options;
    *ret_done = false;
    return 0;
}
