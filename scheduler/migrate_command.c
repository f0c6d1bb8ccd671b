/* SPDX-License-Identifier: Apache-2.0 */
/* migrate_command.c - what edl-scheduler --migrate tells people and scripts */
#include "scheduler/migrate_command.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/leadership/store_url.h"
#include "scheduler/migrate.h"
#include "scheduler/options.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define BETWEEN_WORDS_US (2 * USEC_PER_SEC)

/* On stderr: scripts read the result on stdout. */
static void tell_progress(const char *table, const char *doing, uint64_t rows, uint64_t all,
                          void *userdata)
{
    uint64_t *told_us = userdata;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    if (now_us - *told_us < BETWEEN_WORDS_US)
        return;
    *told_us = now_us;
    (void)fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " %s\n", table, rows, all, doing);
}

static void print_json(const struct migrated *migrated)
{
    json_t *tables = json_array();
    json_t *object;

    for (size_t i = 0; i < migrated->sum.n; i++) {
        const struct copy_table_sum *table = &migrated->sum.tables[i];

        (void)json_array_append_new(tables,
                                    json_pack("{s:s,s:I,s:s}", "table", table->name, "rows",
                                              (json_int_t)table->rows, "sha256", table->digest));
    }
    object = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:f,s:s,s:o}", "from", migrated->from, "to",
                       migrated->to, "jobs", (json_int_t)migrated->jobs, "nodes",
                       (json_int_t)migrated->nodes, "rows", (json_int_t)migrated->sum.rows,
                       "mended", (json_int_t)migrated->sum.mended, "seconds",
                       (double)migrated->took_us / (double)USEC_PER_SEC, "conf", migrated->conf,
                       "tables", tables);
    (void)json_object_set_new(object, "archives", json_integer((json_int_t)migrated->archives.n));
    (void)json_object_set_new(object, "archive_bytes",
                              json_integer((json_int_t)migrated->archives.bytes));
    (void)json_object_set_new(object, "archives_damaged",
                              json_integer((json_int_t)migrated->archives.n_damaged));
    (void)json_object_set_new(object, "replaced", json_boolean(migrated->replaced));
    if (migrated->aside[0] != '\0')
        (void)json_object_set_new(object, "aside", json_string(migrated->aside));
    (void)json_dumpf(object, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    json_decref(object);
}

/* On stderr, with --json as well: somebody has to do something. */
static void warn(const struct migrated *migrated)
{
    const struct workspace_moved *archives = &migrated->archives;

    if (migrated->lacks_authority)
        (void)fprintf(stderr,
                      "the authority of the cluster is not beside %s: before the first"
                      " start bring ca.key, ca.pem and admin-token there from the folder of"
                      " a scheduler, else no node and nobody believes this one\n",
                      migrated->to);
    if (archives->n_damaged > 0)
        (void)fprintf(stderr,
                      "archives of workspaces that are damaged where they were, and stayed there:"
                      " %" PRIu64 "; their owners send them again\n%s",
                      archives->n_damaged, archives->damaged);
    if (archives->without_people)
        (void)fprintf(stderr,
                      "the folder of archives keeps no extended attributes: until their jobs run"
                      " nobody knows whose archives they are, and their owners send them again\n");
}

static void print(const struct scheduler_options *options, const struct migrated *migrated)
{
    for (size_t i = 0; i < migrated->sum.n; i++)
        if (migrated->sum.tables[i].rows > 0)
            (void)printf("%-20s %10" PRIu64 " rows  %.16s\n", migrated->sum.tables[i].name,
                         migrated->sum.tables[i].rows, migrated->sum.tables[i].digest);
    (void)printf("%" PRId64 " job%s and %" PRId64 " node%s, %" PRIu64 " row%s in %.1f s; each table"
                 " has the same rows in %s and %s\n",
                 migrated->jobs, PLURAL(migrated->jobs), migrated->nodes, PLURAL(migrated->nodes),
                 migrated->sum.rows, PLURAL(migrated->sum.rows),
                 (double)migrated->took_us / (double)USEC_PER_SEC, migrated->from, migrated->to);
    if (migrated->archives.n > 0)
        (void)printf("%" PRIu64
                     " archive%s of workspaces, %.1f MiB, with the digests that name them\n",
                     migrated->archives.n, PLURAL(migrated->archives.n),
                     (double)migrated->archives.bytes / (1 << 20));
    if (migrated->replaced)
        (void)printf("the rows that %s had were of the past: they are replaced\n", migrated->to);
    if (migrated->sum.mended > 0)
        (void)printf("texts that were not UTF-8: %" PRIu64
                     "; U+FFFD stands for their wrong bytes\n",
                     migrated->sum.mended);
    if (migrated->aside[0] != '\0')
        (void)printf("the database of before is %s\n", migrated->aside);
    (void)printf("now write into /etc/edl/scheduler.conf:  %s\n", migrated->conf);
    if (store_url_has_password(options->migrate_to))
        (void)printf("and the password into ~/.pgpass of the scheduler's account, see"
                     " edl-scheduler(8)\n");
}

int migrate_command(const struct scheduler_options *options)
{
    struct migrated migrated = { 0 };
    struct edl_error error = { 0 };
    uint64_t told_us = clock_read_us(CLOCK_BOOTTIME);
    const struct copy_wishes wishes = { .progress = tell_progress, .userdata = &told_us };
    int r = migrate(options, &wishes, &migrated, &error);

    if (r < 0)
        (void)fprintf(stderr, "edl-scheduler: %s%s%s\n", error.text,
                      error.remedy[0] != '\0' ? "; " : "", error.remedy);
    else if (options->json)
        print_json(&migrated);
    else
        print(options, &migrated);
    if (r == 0)
        warn(&migrated);
    migrated_clear(&migrated);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
