/* SPDX-License-Identifier: Apache-2.0 */
/* report_fit.c - see report_fit.h */
#include "agent/link/report_fit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/json_text.h"
#include "shared/macro.h"
#include "shared/process_progress.h"
#include "shared/report_bounds.h"

#define KIB ((size_t)1024)
#define PROGRESS "progress"
#define MEMBER_BYTES (sizeof ",\"" PROGRESS "\":") /* beside its value */
#define ROWS_BYTES (sizeof ",\"" PROGRESS_PUSHES "\":[]")

struct room {
    size_t bytes, values;
};

/* One process that told of its progress. */
struct told {
    json_t *entry;      /* borrowed; of the report */
    json_t *progress;   /* owned; as it was told */
    const json_t *rows; /* of progress; NULL: none */
    struct room cost;   /* of the progress without its rows */
    json_t *kept;       /* borrowed from entry; the progress in the report; NULL: none */
    json_t *kept_rows;  /* borrowed from kept; NULL: none */
};

static struct room bounds_of(const json_t *processes)
{
    const size_t n = json_array_size(processes);

    return (struct room){
        .bytes = MIN_OF((REPORT_KIB + REPORT_PROCESS_KIB * n) * KIB, (size_t)REPORT_BYTES_MOST),
        .values = MIN_OF(REPORT_VALUES + REPORT_PROCESS_VALUES * n, (size_t)REPORT_VALUES_MOST),
    };
}

static struct room cost_of(const json_t *value)
{
    size_t length = 0;
    _cleanup_free_ char *text = json_to_text(value, &length);

    return (struct room){ .bytes = length,
                          .values = text != NULL ? json_values_at_most(text, length) : 0 };
}

static bool take(struct room *room, const struct room *cost)
{
    if (cost->bytes > room->bytes || cost->values > room->values)
        return false;
    room->bytes -= cost->bytes;
    room->values -= cost->values;
    return true;
}

/* needs_fit - false: every process is within its own share, and so is the report */
static bool needs_fit(const json_t *processes)
{
    size_t i;
    json_t *entry;

    if ((REPORT_KIB + REPORT_PROCESS_KIB * json_array_size(processes)) * KIB > REPORT_BYTES_MOST)
        return true;
    json_array_foreach(processes, i, entry)
    {
        if (json_is_array(json_object_get(json_object_get(entry, PROGRESS), PROGRESS_PUSHES)))
            return true;
    }
    return false;
}

/* take_out - progress leaves its entry; without rows it costs what ret->cost says */
static void take_out(json_t *entry, struct told *ret)
{
    json_t *rows = NULL;

    *ret = (struct told){ .entry = entry, .progress = json_object_get(entry, PROGRESS) };
    json_incref(ret->progress);
    (void)json_object_del(entry, PROGRESS);
    rows = json_object_get(ret->progress, PROGRESS_PUSHES);
    ret->kept = ret->progress;
    if (json_is_array(rows)) {
        ret->rows = rows;
        ret->kept = json_copy(ret->progress);
        (void)json_object_del(ret->kept, PROGRESS_PUSHES);
    } else {
        json_incref(ret->kept);
    }
    ret->cost = cost_of(ret->kept);
    ret->cost.bytes += MEMBER_BYTES;
}

/* put_back - of those that cost at most this */
static void put_back(struct told *all, size_t n, struct room *room, const struct room *most)
{
    for (size_t i = 0; i < n; i++) {
        struct told *told = &all[i];

        if (json_object_get(told->entry, PROGRESS) != NULL || told->cost.bytes > most->bytes ||
            told->cost.values > most->values || !take(room, &told->cost))
            continue;
        (void)json_object_set(told->entry, PROGRESS, told->kept);
    }
}

/* add_rows - one of each process in turn, until one has no room */
static void add_rows(struct told *all, size_t n, struct room *room)
{
    bool more = true;

    for (size_t k = 0; more; k++) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            struct told *told = &all[i];
            json_t *row = json_array_get(told->rows, k);
            struct room cost;

            if (row == NULL || json_object_get(told->entry, PROGRESS) == NULL)
                continue;
            cost = cost_of(row);
            cost.bytes += 1 + (k == 0 ? ROWS_BYTES : 0);
            cost.values += k == 0 ? 2 : 0;
            if (!take(room, &cost))
                return;
            if (k == 0) {
                told->kept_rows = json_array();
                (void)json_object_set_new(told->kept, PROGRESS_PUSHES, told->kept_rows);
            }
            (void)json_array_append(told->kept_rows, row);
            more = true;
        }
    }
}

static struct report_left_out let_go(struct told *all, size_t n)
{
    struct report_left_out left_out = { 0 };

    for (size_t i = 0; i < n; i++) {
        if (json_object_get(all[i].entry, PROGRESS) == NULL)
            left_out.processes++;
        else
            left_out.rows += json_array_size(all[i].rows) - json_array_size(all[i].kept_rows);
        json_decref(all[i].kept);
        json_decref(all[i].progress);
    }
    return left_out;
}

struct report_left_out report_fit(json_t *body)
{
    const json_t *processes = json_object_get(body, "processes");
    struct room room = bounds_of(processes), base, share;
    _cleanup_free_ struct told *all = NULL;
    size_t i, n = 0;
    json_t *entry;

    if (!needs_fit(processes))
        return (struct report_left_out){ 0 };
    all = xcalloc(json_array_size(processes), sizeof *all);
    json_array_foreach(processes, i, entry)
    {
        if (json_object_get(entry, PROGRESS) != NULL)
            take_out(entry, &all[n++]);
    }
    base = cost_of(body);
    if (n > 0 && take(&room, &base)) {
        share = (struct room){ room.bytes / n, room.values / n };
        put_back(all, n, &room, &share);
        put_back(all, n, &room, &room);
        add_rows(all, n, &room);
    }
    return let_go(all, n);
}
