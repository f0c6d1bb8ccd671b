/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_tell.c - what a person is told while a folder is packed */
#include "agent/workspace/workspace_tell.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define SHOWN_FROM_BYTES (UINT64_C(32) << 20) /* less is packed before anybody looks */
#define SHOWN_EVERY_US (200 * USEC_PER_MSEC)

/* count_text - with a comma before each three digits */
static const char *count_text(uint64_t count, char buffer[32])
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

static const char *size_text(uint64_t bytes, char buffer[32])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    uint64_t whole = bytes, tenths = 0;
    size_t unit = 0;

    while (whole >= 1024 && unit + 1 < ELEMENTS(units)) {
        tenths = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit++;
    }
    if (unit > 0 && whole < 10)
        (void)snprintf(buffer, 32, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, units[unit]);
    else
        (void)snprintf(buffer, 32, "%" PRIu64 " %s", whole, units[unit]);
    return buffer;
}

/* append_rules - ".edlignore and .gitignore": the rules that have left out something */
static void append_rules(const struct workspace_scan *scan, char *buffer, size_t size)
{
    size_t n = 0, done = 0;

    for (enum walk_rule rule = 0; rule < WALK_SPECIAL; rule++)
        n += scan->out_by[rule];
    for (enum walk_rule rule = 0; rule < WALK_SPECIAL; rule++) {
        size_t used = strlen(buffer);
        const char *between = done == 0 ? "" : done + 1 == n ? " and " : ", ";

        if (!scan->out_by[rule])
            continue;
        (void)snprintf(buffer + used, size - used, "%s%s%s", between, walk_rule_name(rule),
                       rule == WALK_GIT ? " (always)" : "");
        done++;
    }
}

const char *workspace_tell_out(const struct workspace_scan *scan, char *buffer, size_t size)
{
    bool some =
        scan->out_by[WALK_EDLIGNORE] || scan->out_by[WALK_GITIGNORE] || scan->out_by[WALK_GIT];
    char count[32], bytes[32], rules[96] = "";

    buffer[0] = '\0';
    if (!some || (scan->out_files == 0 && !scan->out_more)) /* empty folders */
        return buffer;
    append_rules(scan, rules, sizeof rules);
    (void)snprintf(buffer, size, "left out %s%s file%s, %s, by %s",
                   scan->out_more ? "more than " : "", count_text(scan->out_files, count),
                   scan->out_files == 1 ? "" : "s", size_text(scan->out_bytes, bytes), rules);
    return buffer;
}

static void tell_venv(const struct workspace_scan *scan)
{
    char venv[sizeof scan->venv], interpreter[sizeof scan->interpreter], line[256];
    size_t n;

    (void)printable_escape(scan->venv, venv, sizeof venv);
    (void)printable_escape(scan->interpreter, interpreter, sizeof interpreter);
    n = strlen(scan->venv);
    (void)snprintf(line, sizeof line, "%.*s", (int)(n > 0 ? n - 1 : 0), scan->venv);
    (void)fprintf(stderr, "note: %s is a virtual environment and goes along",
                  n > 0 ? venv : "the folder");
    if (scan->interpreter[0] != '\0')
        (void)fprintf(stderr, "; it runs where the node has %s too", interpreter);
    if (n > 0) {
        char rule[256], shown[256];

        (void)printable_escape(ignore_rules_line(line, true, rule, sizeof rule), shown,
                               sizeof shown);
        (void)fprintf(stderr, "; to leave it out, write %s into .edlignore", shown);
    }
    (void)fputc('\n', stderr);
}

void workspace_tell_notes(const struct workspace_scan *scan, bool listed)
{
    char line[256];

    if (workspace_tell_out(scan, line, sizeof line)[0] != '\0')
        (void)fprintf(stderr, "note: %s%s\n", line,
                      listed ? "" : "; edl workspace add --list shows what is sent");
    if (scan->special > 0) {
        (void)printable_escape(scan->special_path, line, sizeof line);
        (void)fprintf(stderr, "note: %s%s left out: neither files nor folders nor links\n", line,
                      scan->special > 1 ? " and others" : "");
    }
    if (scan->venv[0] != '\0')
        tell_venv(scan);
}

/* ---- how far it is ---- */

static void show(void *userdata, uint64_t packed_bytes, uint64_t all_bytes)
{
    static uint64_t shown_us;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    char packed[32], all[32];

    (void)userdata;
    if (all_bytes < SHOWN_FROM_BYTES)
        return;
    if (packed_bytes >= all_bytes) {
        (void)fputs("\r\033[K", stderr);
        return;
    }
    if (now_us - shown_us < SHOWN_EVERY_US)
        return;
    shown_us = now_us;
    (void)fprintf(stderr, "\rpacking: %s of %s\033[K", size_text(packed_bytes, packed),
                  size_text(all_bytes, all));
}

/* is_below - whether path is that entry, or in it */
static bool is_below(const char *path, const char *entry)
{
    size_t n = strlen(entry);

    while (strncmp(path, "./", 2) == 0)
        path += 2 + strspn(path + 2, "/");
    return strncmp(path, entry, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* tell_wanted - what brings it back: "!" and the line that leaves it out */
static void tell_wanted(void *userdata, const struct walk_entry *entry,
                        const struct walk_reason *reason)
{
    char *const *wanted = userdata;
    char line[256], rule[256], path[256], by[256];

    for (size_t i = 0; wanted[i] != NULL; i++) {
        if (reason->rule == WALK_SPECIAL || !is_below(wanted[i], entry->path))
            continue;
        (void)printable_escape(wanted[i], path, sizeof path);
        (void)printable_escape(reason->folder, by, sizeof by);
        (void)ignore_rules_line(entry->path, S_ISDIR(entry->st->st_mode), line, sizeof line);
        (void)printable_escape(line, rule, sizeof rule);
        (void)fprintf(stderr,
                      "note: %s is left out by %s%s:%zu; to send it, write !%s into "
                      ".edlignore\n",
                      path, by, walk_rule_name(reason->rule), reason->line, rule);
    }
}

struct pack_watch workspace_tell_watch(char *const *wanted)
{
    /* why the cast: it is only read */
    return (struct pack_watch){ .on_bytes = isatty(STDERR_FILENO) == 1 ? show : NULL,
                                .on_left = tell_wanted,
                                .userdata = (void *)(uintptr_t)wanted };
}
