/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_admin.c - `edl admin backup`, `restore` and `migrate`: the scheduler's database
 *
 * A backup comes over the API and is kept where the command runs. The others are done on the
 * scheduler's own machine by its program, which alone knows its database. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cmd_standby.h"
#include "client/json_read.h"
#include "client/program_beside.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define BACKUP_TIMEOUT_US (3600 * USEC_PER_SEC)

#define DEFAULT_STATE_DIR "/var/lib/edl/scheduler"

struct admin_options {
    struct common_options common;
    const char *state_dir, *to, *from, *former;
};

static const struct option_row admin_options[] = {
    { "state-dir", "DIR", "restore, migrate, begin-epoch: the scheduler's folder", option_text,
      OPTION_FIELD(struct admin_options, state_dir) },
    { "to", "URL", "migrate: postgresql://[USER@][HOST]/DATABASE, or sqlite:DIR", option_text,
      OPTION_FIELD(struct admin_options, to) },
    { "from", "URL", "migrate to sqlite: the database now (default: store of scheduler.conf)",
      option_text, OPTION_FIELD(struct admin_options, from) },
    { "former", "FILE", "restore, begin-epoch: a later backup, for rights revoked since",
      option_text, OPTION_FIELD(struct admin_options, former) },
};

/* --- backup --- */

static const char *unfinished; /* what a signal that ends this program removes */

static void remove_and_end(int signal)
{
    if (unfinished != NULL)
        (void)unlink(unfinished);
    (void)raise(signal); /* SA_RESETHAND: it ends the program now */
}

static void remove_at_end(const char *coming)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGXFSZ };
    const struct sigaction action = { .sa_handler = remove_and_end, .sa_flags = SA_RESETHAND };
    struct sigaction is;

    unfinished = coming;
    for (size_t i = 0; i < ELEMENTS(signals); i++)
        if (sigaction(signals[i], NULL, &is) == 0 && is.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
}

static int is_taken(const char *path, struct edl_error *error)
{
    (void)edl_error_errno(error, -EEXIST, "making %s", path);
    return edl_error_remedy(error, "give another name, or remove it");
}

/* A file has its name when it is whole, and on this machine's disk: one that was cut off by an end
 * of this program, or of the machine, is no backup. */
static int create(const char *path, char *coming, FILE **ret, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;

    if (access(path, F_OK) == 0)
        return is_taken(path, error);
    fd = mkostemp(coming, O_CLOEXEC); /* mode 0600 */
    if (fd == -1)
        return edl_error_errno(error, -errno, "making %s", coming);
    remove_at_end(coming);
    *ret = fdopen(fd, "w");
    if (*ret == NULL)
        return edl_error_errno(error, -errno, "making %s", coming);
    (void)TAKE_FD(fd);
    return 0;
}

static int finish(FILE *take_file, const char *path, struct edl_error *error)
{
    bool bad = fflush(take_file) != 0 || fsync(fileno(take_file)) == -1;
    int code = -errno;

    if (fclose(take_file) != 0 && !bad) {
        bad = true;
        code = -errno;
    }
    return bad ? edl_error_errno(error, code, "writing %s", path) : 0;
}

/* give_name - never in place of another file: two backups may come to one name */
static int give_name(const char *coming, const char *path, struct edl_error *error)
{
    int r = renameat2(AT_FDCWD, coming, AT_FDCWD, path, RENAME_NOREPLACE);

    if (r == -1 && errno == EINVAL) /* a file system that cannot, such as NFS */
        r = link(coming, path) == 0 ? unlink(coming) : -1;
    if (r == -1 && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS))
        r = rename(coming, path); /* one without links, such as a mount of an object store */
    if (r == -1 && errno == EEXIST)
        return is_taken(path, error);
    if (r == -1)
        return edl_error_errno(error, -errno, "calling it %s", path);
    return name_sync(path, error);
}

static int fetch(struct server *server, FILE *file, const char *path)
{
    struct http_call call = {
        .method = "GET", .path = "/backup", .timeout_us = BACKUP_TIMEOUT_US, .save = file
    };
    struct http_answer answer = { 0 };
    struct edl_error error = { 0 };
    int status = server_call(server, &call, &answer);

    if (ferror(file) != 0) {
        (void)edl_error_set(&error, -EIO, "%s cannot be written", path);
        (void)edl_error_remedy(&error, "is there room for it?");
        status = report_error(&error);
    } else if (status != STATUS_OK) {
        status = report_answer(&answer);
    }
    http_answer_clear(&answer);
    return status;
}

static int backup(const struct admin_options *options, const char *path)
{
    _cleanup_free_ char *coming = text_format("%s.XXXXXX", path);
    struct edl_error error = { 0 };
    struct server server;
    FILE *file = NULL;
    int status = server_open(&options->common, &server);
    long size;

    if (status != STATUS_OK)
        return status;
    if (create(path, coming, &file, &error) < 0) {
        server_clear(&server);
        return report_error(&error);
    }
    status = fetch(&server, file, path);
    server_clear(&server);
    size = ftell(file);
    if (finish(file, path, &error) < 0 && status == STATUS_OK)
        status = report_error(&error);
    if (status == STATUS_OK && give_name(coming, path, &error) < 0)
        status = report_error(&error);
    if (status != STATUS_OK)
        (void)unlink(coming);
    unfinished = NULL;
    if (status != STATUS_OK)
        return status;
    if (options->common.json)
        json_print(json_pack("{s:s,s:I}", "file", path, "bytes", (json_int_t)size));
    else
        (void)printf("%s: %ld bytes\n", path, size);
    return status;
}

/* --- restore and migrate: on the scheduler's machine, by its program --- */

#define ARGS_MAX 16

struct scheduler_args {
    const char *words[ARGS_MAX]; /* ends with NULL */
    size_t n;
};

/* add - an option and its value; NULL: it is a flag */
static void add(struct scheduler_args *args, const char *option, const char *value)
{
    args->words[args->n++] = option;
    if (value != NULL)
        args->words[args->n++] = value;
}

/* become_scheduler - the program beside this one; returns only when it cannot */
static int become_scheduler(const struct scheduler_args *args)
{
    struct edl_error error = { 0 };

    (void)program_become(args->words, "edl-scheduler", &error);
    (void)edl_error_remedy(&error, "run this on the scheduler's machine");
    return report_error(&error);
}

static int missing(const char *option, const char *example)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "%s is missing", option);
    (void)edl_error_remedy(&error, "%s", example);
    return report_error(&error);
}

static int restore(const struct admin_options *options, const char *path)
{
    struct scheduler_args args = { .words = { "edl-scheduler" }, .n = 1 };
    _cleanup_free_ char *example =
        text_format("edl admin restore %s --state-dir " DEFAULT_STATE_DIR, path);

    if (options->state_dir == NULL)
        return missing("--state-dir", example);
    add(&args, "--state-dir", options->state_dir);
    add(&args, "--restore", path);
    if (options->former != NULL)
        add(&args, "--former", options->former);
    return become_scheduler(&args);
}

static int migrate(const struct admin_options *options, const char *path)
{
    struct scheduler_args args = { .words = { "edl-scheduler" }, .n = 1 };
    struct edl_error error = { 0 };

    (void)path;
    if (options->to == NULL)
        return missing("--to", "edl admin migrate --to postgresql:///edl, or --to sqlite:DIR");
    if (options->from != NULL && strncmp(options->to, "sqlite:", strlen("sqlite:")) != 0) {
        (void)edl_error_set(&error, -EINVAL, "--from goes with --to sqlite:DIR alone");
        (void)edl_error_remedy(&error, "the state of --state-dir goes to PostgreSQL");
        return report_error(&error);
    }
    add(&args, "--state-dir", options->state_dir != NULL ? options->state_dir : DEFAULT_STATE_DIR);
    add(&args, "--migrate", options->to);
    if (options->from != NULL)
        add(&args, "--store", options->from);
    if (options->common.json)
        add(&args, "--json", NULL);
    return become_scheduler(&args);
}

static int begin_epoch(const struct admin_options *options, const char *path)
{
    struct scheduler_args args = { .words = { "edl-scheduler" }, .n = 1 };

    (void)path;
    add(&args, "--state-dir", options->state_dir != NULL ? options->state_dir : DEFAULT_STATE_DIR);
    add(&args, "--begin-epoch", NULL);
    if (options->former != NULL)
        add(&args, "--former", options->former);
    return become_scheduler(&args);
}

static const struct action {
    const char *name, *argument; /* argument NULL: it has none */
    int (*run)(const struct admin_options *options, const char *argument);
} actions[] = {
    { "backup", "FILE", backup },
    { "restore", "FILE", restore },
    { "migrate", NULL, migrate },
    { "begin-epoch", NULL, begin_epoch },
};

static int run(const struct invocation *invocation)
{
    const struct admin_options *options = invocation->options;
    char *const *args = invocation->arguments.args;
    size_t n = invocation->arguments.n_args;
    struct edl_error error = { 0 };

    if (streq(args[0], "standby") && n >= 2)
        return standby_run(invocation);
    for (size_t i = 0; i < ELEMENTS(actions); i++)
        if (streq(args[0], actions[i].name) && n == (actions[i].argument != NULL ? 2 : 1))
            return actions[i].run(options, n == 2 ? args[1] : NULL);
    (void)edl_error_set(&error, -EINVAL, "there is no `edl admin %s%s`", args[0],
                        n == 2 ? " ..." : "");
    (void)edl_error_remedy(&error, "edl admin backup FILE, restore FILE, migrate --to URL,"
                                   " begin-epoch, or standby add NAME");
    return report_error(&error);
}

const struct verb verb_admin = {
    .name = "admin",
    .usage =
        "backup FILE | restore FILE --state-dir DIR | migrate --to URL [--state-dir DIR] |"
        " begin-epoch [--state-dir DIR] | standby add NAME | standby remove NAME | standby list",
    .summary = "Back up the scheduler's database, restore it, move it, or share it with a standby",
    .details =
        "`backup` asks the scheduler, which goes on working, and writes FILE here (mode "
        "0600).\n`restore` runs on the scheduler's machine while every scheduler is stopped; "
        "the former\ndatabase is kept aside. Jobs that were submitted after the backup are "
        "forgotten, and their\nprocesses are stopped. Tokens, users and nodes that were "
        "removed since stay so, as far as the\nformer database tells.\n`migrate` copies all "
        "of the state to another engine, while every scheduler is stopped:\n"
        "--to postgresql:///edl, and back with --to sqlite:DIR. The source is not changed.\n"
        "`begin-epoch` comes after the database was put back to an earlier moment by other"
        " means: numbers\nthat were given since are not given again.\n"
        "`standby add` prints the line that makes another machine a standby of this "
        "scheduler. The state\nof both is in a database that they share "
        "(edl-scheduler(8), --store). `standby remove` forgets one\nthat is no more, "
        "`standby list` tells which there are.",
    VERB_OPTIONS(admin_options, struct admin_options),
    .min_args = 1,
    .max_args = 3,
    .run = run,
};
