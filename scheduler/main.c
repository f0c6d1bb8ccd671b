/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - edl-scheduler: one per cluster */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "scheduler/leadership/join_standby.h"
#include "scheduler/migrate_command.h"
#include "scheduler/restore_backup.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/journal.h"
#include "shared/log.h"
#include "shared/macro.h"

#define EXIT_USAGE 2

static void print_revoked(const struct restored *restored)
{
    static const char *const words[] = {
        [REVOKED_TOKEN] = "tokens that were removed since stay so, %zu:\n",
        [REVOKED_USER] = "users that were removed since stay so, %zu:\n",
        [REVOKED_ROLE] = "users who were given a lower role since keep it, %zu:\n",
        [REVOKED_NODE] = "nodes that were removed since have no credential any more, %zu:\n",
        [REVOKED_CREDENTIAL] = "credentials of nodes that were replaced since stay so, %zu:\n",
        [REVOKED_LEFT_OUT] = "nodes that joined since are not known, and have to join anew, %zu:\n",
        [REVOKED_UNKNOWN] = "what may have been removed before an earlier restore is valid, %zu:\n",
    };
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(words); i++) {
        n += i < REVOKED_LEFT_OUT ? restored->n_revoked[i] : 0;
        if (restored->n_revoked[i] != 0) {
            (void)printf(words[i], restored->n_revoked[i]);
            (void)printf("%s", restored->revoked[i]);
        }
    }
    if (restored->unknown.code == 0)
        (void)printf("revoked since the backup, and still so: %zu\n", n);
    else
        (void)fprintf(
            stderr,
            "edl-scheduler: warning: rights that were revoked since the backup are valid again: it"
            " cannot be known (%s); look through edl token list, edl user list and edl"
            " nodes\n",
            restored->unknown.text);
}

/* A backup has no archives: their owners send the missing ones again. */
static void print_lacks(const struct restored *restored)
{
    size_t n = 0;
    char *text = needed_archives_text(&restored->lacks, &n);

    if (text != NULL)
        (void)fprintf(stderr,
                      "edl-scheduler: warning: archives of workspaces that jobs need are not here,"
                      " and a backup has none: %zu; their owners send them again, with edl submit"
                      " --upload of the same folder\n%s",
                      n, text);
    free(text);
}

/* edl admin restore */
static int restore(const struct scheduler_options *options)
{
    struct restored restored = { 0 };
    struct edl_error error = { 0 };

    if (restore_backup(options, &restored, &error) < 0) {
        (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                      error.remedy[0] != '\0' ? "; " : "", error.remedy);
        restored_clear(&restored);
        return EXIT_FAILURE;
    }
    (void)printf("restored %" PRIu64 " job%s and %" PRIu64 " node%s\n"
                 "new jobs are numbered from %" PRIu64 " on\n",
                 restored.jobs, PLURAL(restored.jobs), restored.nodes, PLURAL(restored.nodes),
                 restored.first_job);
    if (restored.aside[0] != '\0')
        (void)printf("the former database is %s\n", restored.aside);
    print_revoked(&restored);
    print_lacks(&restored);
    restored_clear(&restored);
    return EXIT_SUCCESS;
}

/* the line of edl admin standby add */
static int join(const struct scheduler_options *options)
{
    struct edl_error error = { 0 };

    if (join_standby(options, &error) == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                  error.remedy[0] != '\0' ? "; " : "", error.remedy);
    return EXIT_FAILURE;
}

static void tell_gone(const struct scheduler_options *options)
{
    const char *name = options_gone(options);

    if (name != NULL)
        log_warning("the option %s does nothing any more: take it out of scheduler.conf or the "
                    "command line, the next version refuses it",
                    name);
}

int main(int argc, char **argv)
{
    struct edl_error error = { 0 };
    struct scheduler_options options;
    struct scheduler *scheduler;
    bool done;
    int r;

    log_init("edl-scheduler");
    journal_open();
    (void)umask(077);
    if (options_parse(argc, argv, &options, &done, &error) < 0) {
        (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                      error.remedy[0] != '\0' ? "; " : "", error.remedy);
        return EXIT_USAGE;
    }
    if (done)
        return EXIT_SUCCESS;
    if (options.restore_file[0] != '\0' || options.begin_epoch)
        return restore(&options);
    if (options.join_standby[0] != '\0')
        return join(&options);
    if (options.migrate_to[0] != '\0')
        return migrate_command(&options);
    tell_gone(&options);
    if (scheduler_new(&options, &scheduler, &error) < 0) {
        (void)log_failure(&error, "cannot start");
        return EXIT_FAILURE;
    }
    r = scheduler_run(scheduler);
    (void)scheduler_free(scheduler);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
