/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of edl-scheduler: one row each, see shared/options_table.h */
#include "scheduler/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/policy/policy.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/option_kinds.h"
#include "shared/options_reading.h"
#include "shared/parse.h"

#define DEFAULT_CONF "/etc/edl/scheduler.conf"
#define PACKAGED_STATE_DIR "/var/lib/edl/scheduler"    /* of edl-scheduler.service */
#define MAX_USER_DOCUMENTS_BYTES (UINT64_C(256) << 20) /* no options */
#define MAX_DOCUMENTS_BYTES (UINT64_C(1) << 30)

/* begin_list - what wins, wins as a whole */
static void begin_list(const struct option_value *value, size_t *n)
{
    if (!value->first)
        return;
    *n = 0;
    memset(value->field, 0, value->row->size);
}

static int add_listen(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    int r;

    begin_list(value, &options->n_listen);
    if (options->n_listen == LISTEN_MAX)
        return edl_error_set(error, -EINVAL, "it can be given at most %d times", LISTEN_MAX);
    r = listen_spec_parse(value->text, &options->listen[options->n_listen], error);
    if (r == 0)
        options->n_listen++;
    return r;
}

/* A name of the DNS or a numeric address: it ends up in a certificate and in URLs. */
static int add_server_name(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    const char *text = value->text;
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-.:");

    begin_list(value, &options->n_names);
    if (length == 0 || length >= SERVER_NAME_BYTES || text[length] != '\0') {
        (void)edl_error_set(error, -EINVAL, "%.100s is not a host name or an address", text);
        return edl_error_remedy(error, "for example --name cluster.example.org");
    }
    if (options->n_names == SERVER_NAMES_MAX)
        return edl_error_set(error, -EINVAL, "it can be given at most %d times", SERVER_NAMES_MAX);
    (void)snprintf(options->names[options->n_names++], SERVER_NAME_BYTES, "%s", text);
    return 0;
}

static int set_policy(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    const char *text = value->text;
    char names[120];

    options->policy = policy_find(text);
    if (options->policy != NULL)
        return 0;
    (void)edl_error_set(error, -EINVAL, "there is no policy \"%.80s\"", text);
    policy_names(names, sizeof names);
    return edl_error_remedy(error, "known: %s", names);
}

static int set_default_memory(const struct option_value *value, struct edl_error *error)
{
    uint64_t *bytes = value->field;
    int r = option_bytes(value, error);

    return r == 0 && *bytes > 0 && *bytes < (uint64_t)ROLE_MEMORY_BYTES_LEAST ? -EINVAL : r;
}

static int set_max_load(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    const char *text = value->text;
    uint64_t permille;

    /* A fraction in thousandths is read as a CPU quantity is. */
    if (parse_cpu(text, &permille) < 0 || permille < 1 || permille > 1000) {
        (void)edl_error_set(error, -EINVAL, "%.80s is not a fraction above 0 and up to 1", text);
        return edl_error_remedy(error, "for example --max-load 0.97");
    }
    options->max_load_permille = (uint32_t)permille;
    return 0;
}

static int set_order(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;

    options->first_come = streq(value->text, "first-come");
    if (options->first_come || streq(value->text, "fair"))
        return 0;
    (void)edl_error_set(error, -EINVAL, "%.80s is not one of fair, first-come", value->text);
    return edl_error_remedy(error, "for example --order fair");
}

/* A program, or a server of mail: its port is the usual one where none is said. */
static int set_mailer(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text, *host = text + strlen("smtp://");
    bool smtp = strncmp(text, "smtp://", strlen("smtp://")) == 0;
    char url[MAILER_MAX + 8];

    (void)snprintf(url, sizeof url, "http://%s", smtp ? host : "");
    if (strlen(text) < MAILER_MAX &&
        (text[0] == '/' || streq(text, "none") ||
         (smtp && strpbrk(host, "/?") == NULL && webhook_url_read(url, NULL, NULL) == 0))) {
        (void)snprintf(value->field, MAILER_MAX, "%s", text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.100s is no path and no smtp://HOST[:PORT]", text);
    return edl_error_remedy(error, "for example mailer: /usr/sbin/sendmail, or none");
}

static int set_mail_from(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text;

    if (text[0] == '\0' || (strchr(text, '@') != NULL && mail_address_valid(text))) {
        (void)snprintf(value->field, value->row->size, "%s", text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.100s is not an address", text);
    return edl_error_remedy(error, "for example mail-from: edl@lab.example");
}

static int set_mail_domain(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text;
    char address[MAIL_ADDRESS_MAX + 8];

    (void)snprintf(address, sizeof address, "a@%.250s", text);
    if (text[0] == '\0' || (strlen(text) <= MAIL_ADDRESS_MAX - 65 && mail_address_valid(address))) {
        (void)snprintf(value->field, value->row->size, "%s", text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.100s is not a domain", text);
    return edl_error_remedy(error, "for example mail-domain: lab.example");
}

static int set_webhook_allow(const struct option_value *value, struct edl_error *error)
{
    return webhook_rules_parse(value->text, value->field, error);
}

/* One time for both, or two. */
static int set_away(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    const char *text = value->text;
    const char *comma = strchr(text, ',');
    char first[24] = "";
    uint64_t us[2];

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

static int set_socket_role(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    const char *text = value->text;
    int role = user_role_from_string(text);

    if (role >= 0 && role <= USER_USER) {
        options->socket_role = (enum user_role)role;
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.80s is not one of user, viewer, none", text);
    return edl_error_remedy(error, "more is given to accounts by name: edl user add NAME --role"
                                   " ROLE");
}

static int set_log_role(const struct option_value *value, struct edl_error *error)
{
    struct scheduler_options *options = value->options;
    int role = user_role_from_string(value->text);

    if (role >= USER_VIEWER) {
        options->log_role = (enum user_role)role;
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.80s is not one of viewer, user, operator, admin",
                        value->text);
    return edl_error_remedy(error, "for example --log-role viewer: everybody reads all output");
}

/* store_text_check - a line break or a blank got in by mistake: a URL has %20 for one */
static int store_text_check(const char *text, struct edl_error *error)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == 127) {
            (void)edl_error_set(error, -EINVAL, "it has a blank or a line break in it");
            return edl_error_remedy(error, "write it as one word; %%20 stands for a blank");
        }
    return 0;
}

/* The URL is in no error: a password may stand in it. */
static int set_store(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text;

    if (store_url_is_known(text) && store_text_check(text, error) < 0)
        return error->code;
    if (streq(text, "sqlite") || (store_url_is_known(text) && strlen(text) < STORE_URL_MAX)) {
        (void)snprintf(value->field, STORE_URL_MAX, "%s", streq(text, "sqlite") ? "" : text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL,
                        "it is neither sqlite nor the URL of a PostgreSQL database");
    return edl_error_remedy(error, "for example --store postgresql://edl@db.example/edl");
}

/* The URL of a database, or sqlite:DIR. */
static int set_migrate(const struct option_value *value, struct edl_error *error)
{
    if (store_url_is_known(value->text) && store_text_check(value->text, error) < 0)
        return error->code;
    return option_path(value, error);
}

/* It stands in tables, answers and lines to type. */
bool options_scheduler_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_.");

    return length > 0 && length <= SCHEDULER_NAME_MAX && name[length] == '\0' && name[0] != '-';
}

static int set_scheduler_name(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text;

    if (options_scheduler_name_valid(text)) {
        (void)snprintf(value->field, SCHEDULER_NAME_MAX + 1, "%s", text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.100s is no name of up to %d letters, digits, -, _ and .",
                        text, SCHEDULER_NAME_MAX);
    return edl_error_remedy(error, "for example --scheduler-name n2");
}

static int set_text(const struct option_value *value, struct edl_error *error)
{
    if (strlen(value->text) >= value->row->size)
        return edl_error_set(error, -EINVAL, "it is too long");
    (void)snprintf(value->field, value->row->size, "%s", value->text);
    return 0;
}

static int set_address(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text;
    bool secure = strncmp(text, "https://", strlen("https://")) == 0;
    const char *host = text + strlen(secure ? "https://" : "http://");

    if ((secure || strncmp(text, "http://", strlen("http://")) == 0) && *host != '\0' &&
        strlen(text) < SCHEDULER_ADDRESS_MAX &&
        strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]") ==
            strlen(host)) {
        (void)snprintf(value->field, SCHEDULER_ADDRESS_MAX, "%s", text);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "%.100s is no address such as https://HOST:PORT", text);
    return edl_error_remedy(error, "for example --address https://n2.example.org:7010");
}

/* An option of an earlier version: nothing comes of its value, and the log tells of it. */
static int set_gone(const struct option_value *value, struct edl_error *error)
{
    (void)error;
    *(bool *)value->field = true;
    return 0;
}

#define AT(member) OPTION_FIELD(struct scheduler_options, member)
#define COUNT .most = "100000000", .wrong = "is not a whole number up to 100000000"
#define KEPT COUNT, .remedy = "0 keeps all of it"
#define BOUND COUNT, .remedy = "0: any number"
#define BYTES .wrong = "is not a number of bytes", .remedy = "for example 4Gi"

static const struct option_row rows[] = {
    { "conf", "FILE",
      "and FILE.d/*.conf: these options, one a line as NAME: VALUE\n"
      "(default: as root " DEFAULT_CONF "; \"\": none)",
      .use = OPTION_ONCE },
    { "state-dir", "DIR", "database and tokens (made with mode 0700)", option_path, OPTION_AT_START,
      AT(state_dir) },
    { "store", "URL",
      "where the state is kept: postgresql://... of a database that several\n"
      "schedulers share (default sqlite: in DIR)",
      set_store, OPTION_AT_START, AT(store) },
    { "scheduler-name", "NAME", "of this scheduler among those (default: the host's name)",
      set_scheduler_name, OPTION_AT_START, AT(scheduler_name) },
    { "address", "URL", "how others reach this scheduler (default: as it listens)", set_address,
      OPTION_AT_START, AT(address) },
    { "listen", "ADDRESS:PORT", "with TLS unless it is loopback; port 0 takes any", add_listen,
      OPTION_AT_START, AT(listen), .count = OPTION_LIST },
    { "listen", "unix:/PATH[,mode=0660]", "may be given more than once (default 127.0.0.1:7010)",
      .use = OPTION_ONCE },
    { "name", "NAME", "host name or address that nodes use; may be given more than once",
      add_server_name, OPTION_AT_START, AT(names), .count = OPTION_LIST },
    { "port-file", "FILE", "where to write the address of the first (default DIR/address)",
      option_path, OPTION_AT_START, AT(port_file) },
    { "policy", "NAME", "allocation policy (default {})", set_policy, OPTION_AT_START, AT(policy),
      .fallback = "goodput" },
    { "max-load", "FRACTION", "grow jobs up to this part of all cores (default {})", set_max_load,
      OPTION_AT_START, AT(max_load_permille), .fallback = "0.97" },
    { "order", "NAME",
      "of waiting jobs of one priority: fair between users, or first-come\n"
      "(default {})",
      set_order, OPTION_AT_START, AT(first_come), .fallback = "fair" },
    { "default-cpu", "CORES", "of each process of a job that does not say (default {})", option_cpu,
      OPTION_LIVE, AT(role_defaults.cpu_millicores), .fallback = "1", .least = "1m", .most = "1024",
      .wrong = "is no amount of CPU from 1m to 1024", .remedy = "for example 500m: half a core" },
    { "default-memory", "BYTES",
      "for each core or GPU of a process of a job that does not say\n"
      "(default {}: its cores' part of a node's memory)",
      set_default_memory, OPTION_LIVE, AT(role_defaults.memory_bytes), .fallback = "0",
      .wrong = "is neither 0 nor an amount of memory of 4Mi or more", .remedy = "for example 2Gi" },
    { "parking", "TIME",
      "a job that can go on later goes back to the queue for another one at\n"
      "most once in this time (default {}; 0: never)",
      option_time, OPTION_AT_START, AT(parking_us), .fallback = "1h", .most = "24h",
      .wrong = "is not a time up to 24h", .remedy = "for example --parking 1h" },
    { "lease", "TIME", "a node silent for so long is lost (default {})", option_time,
      OPTION_AT_START, AT(lease_us), .fallback = "5s", .least = "2s", .most = "24h",
      .wrong = "is not a time from 2s to 24h", .remedy = "for example --lease 5s" },
    { "away", "STOP,REBOOT",
      "nodes may go on alone for so long after an orderly stop, and after a\n"
      "shutdown of this machine (default {}; 0: told nothing)",
      set_away, OPTION_LIVE, AT(away_us), .fallback = "60s,5m" },
    { "lease-keeper", .kind = set_gone, .use = OPTION_GONE, AT(lease_keeper_given) },
    { "keep-events", "N", "events that are kept (default {}; 0: all)", option_u64, OPTION_LIVE,
      AT(keep_events), KEPT, .fallback = "1000000" },
    { "keep-jobs", "N", "jobs that are over and kept (default {}; 0: all)", option_u64, OPTION_LIVE,
      AT(keep_jobs), KEPT, .fallback = "100000" },
    { "keep-jobs-size", "BYTES", "room for them in the database (default {}; 0: any)", option_bytes,
      OPTION_LIVE, AT(keep_jobs_bytes), BYTES, .fallback = "1Gi" },
    { "keep-days", "N", "events and jobs at most for so long (default {}; 0: for ever)",
      option_days, OPTION_LIVE, AT(keep_us), KEPT, .fallback = "90" },
    { "keep-logs", "BYTES", "of ends of processes' output (default {}; 0: all)", option_bytes,
      OPTION_LIVE, AT(keep_logs_bytes), BYTES, .fallback = "4Gi" },
    { "keep-audit", "N", "lines of the audit log (default {}; 0: all)", option_u64, OPTION_LIVE,
      AT(keep_audit), KEPT, .fallback = "1000000" },
    { "keep-audit-days", "N", "and at most for so long (default {}; 0: for ever)", option_days,
      OPTION_LIVE, AT(keep_audit_us), KEPT, .fallback = "365" },
    { "max-user-jobs", "N", "jobs of one user that are not over (default {}; 0: any)", option_u64,
      OPTION_LIVE, AT(limits.user[HOLDING_JOBS]), BOUND, .fallback = "10000" },
    { "max-jobs", "N", "the same of all users (default {})", option_u64, OPTION_LIVE,
      AT(limits.all[HOLDING_JOBS]), BOUND, .fallback = "100000" },
    { "max-user-instances", "N", "instances that one user's jobs may have (default {})", option_u64,
      OPTION_LIVE, AT(limits.user[HOLDING_INSTANCES]), BOUND, .fallback = "1000000" },
    { "max-instances", "N", "the same of all users (default {})", option_u64, OPTION_LIVE,
      AT(limits.all[HOLDING_INSTANCES]), BOUND, .fallback = "4000000" },
    { "max-job-tasks", "N", "tasks of one job's dataset (default {}; 0: any)", option_u64,
      OPTION_LIVE, AT(dataset.tasks), BOUND, .fallback = "100000" },
    { "max-job-dataset", "BYTES",
      "bytes of such a dataset as it is sent (default {}; 32Mi at most)", option_bytes, OPTION_LIVE,
      AT(dataset.bytes), BYTES, .fallback = "16Mi" },
    { "max-user-tasks", "N", "tasks of one user's jobs that are not over (default {})", option_u64,
      OPTION_LIVE, AT(limits.user[HOLDING_TASKS]), BOUND, .fallback = "500000" },
    { "max-tasks", "N", "the same of all users (default {})", option_u64, OPTION_LIVE,
      AT(limits.all[HOLDING_TASKS]), BOUND, .fallback = "2000000" },
    { "max-user-datasets", "BYTES", "of memory for the tasks of one user (default {}; 0: any)",
      option_bytes, OPTION_LIVE, AT(limits.user[HOLDING_TASK_BYTES]), BYTES, .fallback = "256Mi" },
    { "max-datasets", "BYTES", "the same of all users (default {})", option_bytes, OPTION_LIVE,
      AT(limits.all[HOLDING_TASK_BYTES]), BYTES, .fallback = "1Gi" },
    { "max-workspaces", "BYTES", "room for workspaces that were sent (default {})", option_bytes,
      OPTION_LIVE, AT(workspaces.max_bytes), BYTES, .fallback = "16Gi" },
    { "session-idle", "TIME",
      "a session in a process that moves nothing for so long ends\n(default {})", option_time,
      OPTION_LIVE, AT(sessions.idle_us), .fallback = "8h", .least = "1s", .most = "365d",
      .wrong = "is not a time from 1s to 365d", .remedy = "for example session-idle: 8h" },
    { "sessions-user", "N", "such sessions of one user at once (default {}; 0: any)", option_u64,
      OPTION_LIVE, AT(sessions.user), BOUND, .fallback = "32" },
    { "sessions-max", "N", "the same of all users (default {})", option_u64, OPTION_LIVE,
      AT(sessions.all), BOUND, .fallback = "512" },
    { "mailer", "PATH|smtp://HOST",
      "how owners of jobs get mail: a program like sendmail, or a server;\nnone (default {})",
      set_mailer, OPTION_LIVE, AT(notices.mailer), .fallback = "/usr/sbin/sendmail" },
    { "mail-from", "ADDRESS", "its sender (default: edl@ this machine)", set_mail_from, OPTION_LIVE,
      AT(notices.mail_from), .fallback = "" },
    { "mail-domain", "DOMAIN", "of receivers that are names of accounts (default: none)",
      set_mail_domain, OPTION_LIVE, AT(notices.mail_domain), .fallback = "" },
    { "webhook-allow", "LIST",
      "which webhooks of jobs are called: {} addresses (default), none,\n"
      "hosts and networks, with commas between",
      set_webhook_allow, OPTION_LIVE, AT(notices.webhooks), .fallback = "public" },
    { "notify-timeout", "TIME", "of one try to send a mail or call a webhook (default {})",
      option_time, OPTION_LIVE, AT(notices.timeout_us), .fallback = "30s", .least = "1s",
      .most = "10m", .wrong = "is not a time from 1s to 10m",
      .remedy = "for example notify-timeout: 30s" },
    { "notify-tries", "N", "tries of a message before it is given up (default {})", option_u64,
      OPTION_LIVE, AT(notify_tries), .fallback = "8", .least = "1", .most = "100",
      .wrong = "is not a number from 1 to 100", .remedy = "for example notify-tries: 8" },
    { "notify-rate", "N",
      "messages of one user in an hour; what is more gathers in one\n(default {}; 0: any)",
      option_u64, OPTION_LIVE, AT(notify_rate), .fallback = "60", .most = "100000",
      .wrong = "is not a number up to 100000", .remedy = "for example notify-rate: 60" },
    { "socket-role", "ROLE",
      "{} (default), viewer or none: the role of accounts of this machine\n"
      "over a Unix socket that nobody has given a role",
      set_socket_role, OPTION_LIVE, AT(socket_role), .fallback = "user" },
    { "log-role", "ROLE",
      "{} (default), admin, user or viewer: the least role that may read\n"
      "the output of others' jobs",
      set_log_role, OPTION_LIVE, AT(log_role), .fallback = "operator" },
    { "max-user-workspaces", "BYTES", "of one user, that no job needs (default {}; 0: any)",
      option_bytes, OPTION_LIVE, AT(workspaces.sender_bytes), BYTES, .fallback = "4Gi" },
    { "keep-free", "BYTES", "that workspaces leave free on the disk of DIR", option_bytes,
      OPTION_LIVE, AT(workspaces.reserve_bytes), BYTES },
    { "join-standby", "URL",
      "with --token and --ca-pin: make DIR that of a standby, and end\n(edl admin standby add)",
      set_address, OPTION_ONCE, AT(join_standby) },
    { "token", NULL, NULL, set_text, OPTION_ONCE, AT(token) },
    { "ca-pin", NULL, NULL, set_text, OPTION_ONCE, AT(ca_pin) },
    { "restore", "FILE", "put a backup in the place of the database, and end", option_path,
      OPTION_ONCE, AT(restore_file) },
    { "migrate", "TO", "copy the state to postgresql://... or back to sqlite:DIR, and end",
      set_migrate, OPTION_ONCE, AT(migrate_to) },
    { "begin-epoch", NULL,
      "after the database was put back to an earlier moment: numbers go on,\nand end", option_flag,
      OPTION_ONCE, AT(begin_epoch) },
    { "former", "FILE", "of --restore, --begin-epoch: a later backup, for rights revoked since",
      option_path, OPTION_ONCE, AT(former) },
    { "json", .kind = option_flag, .use = OPTION_ONCE, AT(json) }, /* of --migrate, for `edl` */
};
_Static_assert(ELEMENTS(rows) <= SETTINGS_MAX, "each has its text in scheduler_options");

static const struct options_table table = {
    .program = "edl-scheduler",
    .page = "edl-scheduler(8)",
    .usage = "Usage: edl-scheduler --state-dir DIR [OPTION]...\n"
             "The cluster's scheduler: HTTP API, state, elastic allocation.\n\n",
    .ending = "  --help, --version\n\nSee edl-scheduler(8).\n",
    .column = 27,
    .files = DEFAULT_CONF,
    .read_files = options_read_files,
    .rows = rows,
    .n_rows = ELEMENTS(rows),
};

static int finish(struct scheduler_options *options, struct edl_error *error)
{
    if (options->state_dir[0] == '\0' && options->join_standby[0] != '\0' && geteuid() == 0)
        (void)snprintf(options->state_dir, sizeof options->state_dir, "%s", PACKAGED_STATE_DIR);
    if (options->state_dir[0] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--state-dir is missing");
        return edl_error_remedy(error, "for example --state-dir /var/lib/edl/scheduler");
    }
    if (options->begin_epoch && options->store[0] == '\0' && options->restore_file[0] == '\0')
        (void)snprintf(options->restore_file, sizeof options->restore_file, "%s/edl.db",
                       options->state_dir);
    if (options->n_listen == 0)
        options->listen[options->n_listen++] =
            (struct listen_spec){ .address = "127.0.0.1", .port = 7010 };
    if (options->port_file[0] == '\0')
        (void)snprintf(options->port_file, sizeof options->port_file, "%s/address",
                       options->state_dir);
    return 0;
}

/* keep_text - what a log may say of a setting */
static void keep_text(struct scheduler_options *options, size_t i, const char *text)
{
    char shown[STORE_URL_MAX];

    if (rows[i].kind == set_store || rows[i].kind == set_migrate) {
        store_url_without_password(text, shown);
        text = shown;
    }
    (void)snprintf(options->given[i], sizeof options->given[i], "%.*s", SETTING_TEXT_BYTES - 1,
                   text);
}

int options_parse(int argc, char **argv, struct scheduler_options *ret, bool *ret_done,
                  struct edl_error *error)
{
    struct scheduler_options options = {
        .limits = { .user = { [HOLDING_BYTES] = MAX_USER_DOCUMENTS_BYTES },
                    .all = { [HOLDING_BYTES] = MAX_DOCUMENTS_BYTES } },
        .workspaces = { .reserve_bytes = WORKSPACE_RESERVE_AUTO },
        .argc = argc,
        .argv = argv,
    };
    struct options_given given = { .now = 0 };
    int r = options_read(&table, argc, argv, &options, &given, error);

    *ret_done = r == OPTIONS_HELP || r == OPTIONS_VERSION;
    if (r == OPTIONS_RUN)
        r = finish(&options, error);
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (given.text[i] != NULL)
            keep_text(&options, i, given.text[i]);
    options_given_done(&given);
    if (r == 0)
        *ret = options;
    return MIN_OF(r, 0);
}

const char *options_gone(const struct scheduler_options *options)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (rows[i].use == OPTION_GONE && *(const bool *)((const char *)options + rows[i].offset))
            return rows[i].name;
    return NULL;
}

size_t options_take(struct scheduler_options *options, const struct scheduler_options *newer,
                    struct option_change ret[OPTIONS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const struct option_row *row = &rows[i];
        char *field = (char *)options + row->offset;
        const char *new_field = (const char *)newer + row->offset;

        if (row->use >= OPTION_ONCE || memcmp(field, new_field, row->size) == 0)
            continue;
        ret[n++] = (struct option_change){ row->name, newer->given[i], row->use == OPTION_LIVE };
        if (row->use != OPTION_LIVE)
            continue;
        memcpy(field, new_field, row->size);
        memcpy(options->given[i], newer->given[i], sizeof options->given[i]);
    }
    return n;
}
