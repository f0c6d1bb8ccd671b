/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_admin.c - `edl admin backup` and `edl admin restore`: the scheduler's database
 *
 * A backup comes over the API and is kept where the command runs. A restore is done on the
 * scheduler's own machine by its program, which alone knows its database. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "client/cmd_standby.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define BACKUP_TIMEOUT_US (3600 * USEC_PER_SEC)

struct admin_options {
    struct common_options common;
    const char *state_dir;
};

static const struct option_row admin_options[] = {
    { "state-dir", "DIR", "restore: the scheduler's state directory", option_text,
      OPTION_FIELD(struct admin_options, state_dir) },
};

/* --- backup --- */

static int create(const char *path, FILE **ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd == -1) {
        (void)edl_error_errno(error, -errno, "making %s", path);
        return error->code == -EEXIST ? edl_error_remedy(error, "give another name, or remove it")
                                      : error->code;
    }
    *ret = fdopen(fd, "w");
    if (*ret == NULL)
        return edl_error_errno(error, -errno, "making %s", path);
    (void)TAKE_FD(fd);
    return 0;
}

/* A backup is one when it is on this machine's disk. */
static int finish(FILE *take_file, const char *path, struct edl_error *error)
{
    bool bad = fflush(take_file) != 0 || fsync(fileno(take_file)) == -1;
    int code = -errno;

    if (fclose(take_file) != 0 && !bad) {
        bad = true;
        code = -errno;
    }
    return bad ? edl_error_errno(error, code, "writing %s", path) : name_sync(path, error);
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
    struct edl_error error = { 0 };
    struct server server;
    FILE *file = NULL;
    int status = server_open(&options->common, &server);
    long size;

    if (status != STATUS_OK)
        return status;
    if (create(path, &file, &error) < 0) {
        server_clear(&server);
        return report_error(&error);
    }
    status = fetch(&server, file, path);
    server_clear(&server);
    size = ftell(file);
    if (finish(file, path, &error) < 0 && status == STATUS_OK)
        status = report_error(&error);
    if (status != STATUS_OK)
        (void)unlink(path);
    else if (options->common.json)
        json_print(json_pack("{s:s,s:I}", "file", path, "bytes", (json_int_t)size));
    else
        (void)printf("%s: %ld bytes\n", path, size);
    return status;
}

/* --- restore --- */

/* Becomes edl-scheduler, which lies beside this program; returns only when it cannot. */
static int restore(const struct admin_options *options, const char *path)
{
    _cleanup_free_ char *self = xcalloc(1, 4096);
    _cleanup_free_ char *program = NULL;
    struct edl_error error = { 0 };
    ssize_t n = readlink("/proc/self/exe", self, 4095);
    char *slash = n > 0 ? strrchr(self, '/') : NULL;

    if (options->state_dir == NULL) {
        (void)edl_error_set(&error, -EINVAL, "--state-dir is missing");
        (void)edl_error_remedy(&error, "edl admin restore %s --state-dir /var/lib/edl/scheduler",
                               path);
        return report_error(&error);
    }
    if (slash != NULL)
        *slash = '\0';
    program = text_format("%s/edl-scheduler", slash != NULL ? self : ".");
    (void)execl(program, "edl-scheduler", "--state-dir", options->state_dir, "--restore", path,
                (char *)NULL);
    (void)edl_error_errno(&error, -errno, "starting %s", program);
    (void)edl_error_remedy(&error, "run this on the scheduler's machine");
    return report_error(&error);
}

static int run(const struct invocation *invocation)
{
    const struct admin_options *options = invocation->options;
    char *const *args = invocation->arguments.args;
    struct edl_error error = { 0 };

    if (streq(args[0], "backup") && invocation->arguments.n_args == 2)
        return backup(options, args[1]);
    if (streq(args[0], "restore") && invocation->arguments.n_args == 2)
        return restore(options, args[1]);
    if (streq(args[0], "standby"))
        return standby_run(invocation);
    (void)edl_error_set(&error, -EINVAL, "there is no `edl admin %s`", args[0]);
    (void)edl_error_remedy(&error, "edl admin backup FILE, restore FILE, or standby add NAME");
    return report_error(&error);
}

const struct verb verb_admin = {
    .name = "admin",
    .usage =
        "backup FILE | restore FILE --state-dir DIR | standby add NAME | standby remove NAME | "
        "standby list",
    .summary = "Back up the scheduler's database, restore it, or share it with a standby",
    .details = "`backup` asks the scheduler, which goes on working, and writes FILE here (mode "
               "0600).\n`restore` runs on the scheduler's machine while the scheduler is stopped; "
               "the former\ndatabase is kept aside. Jobs that were submitted after the backup are "
               "forgotten, and their\nprocesses are stopped. Tokens, users and nodes that were "
               "removed since stay so, as far as the\nformer database tells.\n"
               "`standby add` prints the line that makes another machine a standby of this "
               "scheduler. The state\nof both is in a database that they share "
               "(edl-scheduler(8), --store). `standby remove` forgets one\nthat is no more.",
    VERB_OPTIONS(admin_options, struct admin_options),
    .min_args = 2,
    .max_args = 3,
    .run = run,
};
