/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_show.c - `edl recordio cat|index|check`: the records of RecordIO files, and whether
 * these are whole */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/json_read.h"
#include "client/recordio_verb.h"
#include "client/report.h"
#include "client/table_print.h"
#include "client/verb.h"
#include "client/work_told.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* ---- what is lost ---- */

/* Adds how much a damaged chunk takes along to the error that names it. */
static void add_loss(const struct recordio_chunk *chunk, struct edl_error *error)
{
    size_t used = strlen(error->text);

    (void)snprintf(error->text + used, sizeof error->text - used, "; %" PRIu32 " record%s lost",
                   chunk->n_records, chunk->n_records == 1 ? " is" : "s are");
}

/* report_gaps - STATUS_FAILED: there are some */
static int report_gaps(const char *path, const struct recordio_survey *survey)
{
    struct edl_error error = { 0 };

    for (size_t i = 0; i < survey->n_gaps; i++) {
        (void)recordio_gap_error(path, survey, &survey->gaps[i], &error);
        (void)report_error(&error);
    }
    return survey->n_gaps > 0 ? STATUS_FAILED : STATUS_OK;
}

/* flushed - the status, or that of an output that could not be written */
static int flushed(int status)
{
    struct edl_error error = { 0 };

    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    (void)edl_error_errno(&error, errno != 0 ? -errno : -EIO, "cannot write the output");
    return report_error(&error);
}

/* ---- cat ---- */

static bool print_record(const struct recordio_options *o, const uint8_t *record, uint32_t size)
{
    const uint8_t length[4] = { (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                                (uint8_t)(size >> 24) };

    if (o->raw && fwrite(length, 1, sizeof length, stdout) != sizeof length)
        return false;
    if (size > 0 && fwrite(record, 1, size, stdout) != size)
        return false;
    return o->raw || putchar(o->null ? '\0' : '\n') != EOF;
}

static bool print_chunk(const struct recordio_options *o, const struct recordio_records *records)
{
    for (uint32_t i = 0; i < records->n; i++)
        if (!print_record(o, records->data + records->offsets[i], records->sizes[i]))
            return false;
    return true;
}

/* cat_file - *ret_ok: the output takes more */
static int cat_file(const struct recordio_options *o, const char *path, bool *ret_ok)
{
    struct recordio_survey survey = { 0 };
    struct edl_error error = { 0 };
    int status = STATUS_OK;

    if (recordio_survey(path, &survey, &error) < 0) {
        (void)report_error(&error);
        return STATUS_FAILED;
    }
    for (size_t i = 0; *ret_ok && i < survey.n_chunks; i++) {
        struct recordio_records records = { 0 };

        if (recordio_read_chunk(path, survey.chunks[i].offset_bytes, &records, &error) < 0) {
            add_loss(&survey.chunks[i], &error);
            (void)report_error(&error);
            status = STATUS_FAILED;
            continue;
        }
        *ret_ok = print_chunk(o, &records);
        recordio_records_clear(&records);
    }
    if (*ret_ok && report_gaps(path, &survey) != STATUS_OK)
        status = STATUS_FAILED;
    recordio_survey_clear(&survey);
    return status;
}

int recordio_cat(const struct recordio_call *call)
{
    int status = STATUS_OK;
    bool ok = true;

    for (size_t i = 0; ok && i < call->n_paths; i++)
        if (cat_file(call->options, call->paths[i], &ok) != STATUS_OK)
            status = STATUS_FAILED;
    return flushed(status);
}

/* ---- index ---- */

static json_t *chunks_json(const struct recordio_survey *survey)
{
    json_t *chunks = json_array();

    for (size_t i = 0; i < survey->n_chunks; i++) {
        const struct recordio_chunk *chunk = &survey->chunks[i];

        (void)json_array_append_new(chunks, json_pack("{s:I, s:I, s:I, s:s}", "offset",
                                                      (json_int_t)chunk->offset_bytes, "records",
                                                      (json_int_t)chunk->n_records, "bytes",
                                                      (json_int_t)chunk->stored_bytes, "compressor",
                                                      recordio_compressor_name(chunk->compressor)));
    }
    return chunks;
}

static json_t *lost_records_json(const struct recordio_gap *gap)
{
    return gap->counted ? json_integer((json_int_t)gap->n_records) : json_null();
}

static json_t *gaps_json(const struct recordio_survey *survey)
{
    json_t *gaps = json_array();

    for (size_t i = 0; i < survey->n_gaps; i++) {
        const struct recordio_gap *gap = &survey->gaps[i];

        (void)json_array_append_new(gaps, json_pack("{s:I, s:I, s:o, s:s}", "offset",
                                                    (json_int_t)gap->offset_bytes, "bytes",
                                                    (json_int_t)gap->bytes, "records_lost",
                                                    lost_records_json(gap), "reason", gap->what));
    }
    return gaps;
}

static uint64_t records_of(const struct recordio_survey *survey)
{
    uint64_t n = 0;

    for (size_t i = 0; i < survey->n_chunks; i++)
        n += survey->chunks[i].n_records;
    return n;
}

/* path_json - JSON has no word for bytes that are no UTF-8: these become question marks */
static json_t *path_json(const char *path)
{
    json_t *text = json_string(path);
    char *shown;

    if (text != NULL)
        return text;
    shown = xstrdup(path);
    for (char *c = shown; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    text = json_string(shown);
    free(shown);
    return text;
}

static void list_file(const char *path, const struct recordio_survey *survey, struct table *table)
{
    for (size_t i = 0; i < survey->n_chunks; i++) {
        const struct recordio_chunk *chunk = &survey->chunks[i];

        table_add(table, "%s", path);
        table_add(table, "%" PRIu64, chunk->offset_bytes);
        table_add(table, "%" PRIu32, chunk->n_records);
        table_add(table, "%" PRIu32, chunk->stored_bytes);
        table_add(table, "%s", recordio_compressor_name(chunk->compressor));
    }
}

static json_t *list_json(const char *path, const struct recordio_survey *survey)
{
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:I}", "path", path_json(path), "records",
                     (json_int_t)records_of(survey), "bytes", (json_int_t)survey->file_bytes,
                     "chunks", chunks_json(survey), "gaps", gaps_json(survey), "lost_bytes",
                     (json_int_t)survey->lost_bytes);
}

int recordio_list(const struct recordio_call *call)
{
    static const char *const headers[] = {
        "FILE", "OFFSET", "RECORDS", "BYTES", "COMPRESSOR", NULL
    };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0xe);
    _cleanup_json_ json_t *files = json_array();
    int status = STATUS_OK;

    for (size_t i = 0; i < call->n_paths; i++) {
        struct recordio_survey survey = { 0 };
        struct edl_error error = { 0 };

        if (recordio_survey(call->paths[i], &survey, &error) < 0) {
            (void)report_error(&error);
            status = STATUS_FAILED;
            continue;
        }
        if (report_gaps(call->paths[i], &survey) != STATUS_OK)
            status = STATUS_FAILED;
        list_file(call->paths[i], &survey, table);
        (void)json_array_append_new(files, list_json(call->paths[i], &survey));
        recordio_survey_clear(&survey);
    }
    if (call->options->common.json) {
        _cleanup_json_ json_t *all = json_pack("{s:O}", "files", files);

        json_print(all);
    } else {
        table_print(table, stdout);
    }
    return flushed(status);
}

/* ---- check ---- */

/* The damage of one file, and of all. */
struct checked {
    bool json;
    struct work_told told;
    uint64_t n_damaged, n_lost, lost_bytes, n_records;
    json_t *damaged; /* of the file under way */
};

/* The loss at one place of a file. */
struct damage {
    uint64_t offset_bytes, bytes, n_records;
    bool counted; /* n_records is known */
};

static void add_damage(struct checked *checked, const struct damage *damage,
                       const struct edl_error *error)
{
    json_t *records = damage->counted ? json_integer((json_int_t)damage->n_records) : json_null();

    checked->n_damaged++;
    checked->n_lost += damage->n_records;
    checked->lost_bytes += damage->bytes;
    if (!checked->json)
        (void)report_error(error);
    (void)json_array_append_new(checked->damaged,
                                json_pack("{s:I, s:I, s:o, s:o}", "offset",
                                          (json_int_t)damage->offset_bytes, "bytes_lost",
                                          (json_int_t)damage->bytes, "records_lost", records,
                                          "reason", path_json(error->text)));
}

static void check_chunk(const char *path, const struct recordio_chunk *chunk,
                        struct checked *checked)
{
    const struct damage damage = { .offset_bytes = chunk->offset_bytes,
                                   .bytes = RECORDIO_HEADER_BYTES + (uint64_t)chunk->stored_bytes,
                                   .n_records = chunk->n_records,
                                   .counted = true };
    struct recordio_records records = { 0 };
    struct edl_error error = { 0 };

    if (work_told_due(&checked->told))
        report_note("checking: %" PRIu64 " record%s so far, now in %s", checked->n_records,
                    PLURAL(checked->n_records), path);
    if (recordio_read_chunk(path, chunk->offset_bytes, &records, &error) < 0) {
        add_loss(chunk, &error);
        add_damage(checked, &damage, &error);
        return;
    }
    checked->n_records += records.n;
    recordio_records_clear(&records);
}

static void check_gap(const char *path, const struct recordio_survey *survey,
                      const struct recordio_gap *gap, struct checked *checked)
{
    const struct damage damage = { .offset_bytes = gap->offset_bytes,
                                   .bytes = gap->bytes,
                                   .n_records = gap->n_records,
                                   .counted = gap->counted };
    struct edl_error error = { 0 };

    (void)recordio_gap_error(path, survey, gap, &error);
    add_damage(checked, &damage, &error);
}

/* check_parts - chunks and gaps in the order of the file */
static void check_parts(const char *path, const struct recordio_survey *survey,
                        struct checked *checked)
{
    size_t g = 0;

    for (size_t i = 0; i < survey->n_chunks; i++) {
        while (g < survey->n_gaps && survey->gaps[g].offset_bytes < survey->chunks[i].offset_bytes)
            check_gap(path, survey, &survey->gaps[g++], checked);
        check_chunk(path, &survey->chunks[i], checked);
    }
    while (g < survey->n_gaps)
        check_gap(path, survey, &survey->gaps[g++], checked);
}

static json_t *check_file(const char *path, struct checked *checked)
{
    struct recordio_survey survey = { 0 };
    struct edl_error error = { 0 };
    const uint64_t before = checked->n_damaged, records = checked->n_records;
    json_t *json;

    checked->damaged = json_array();
    if (recordio_survey(path, &survey, &error) < 0)
        add_damage(checked, &(struct damage){ 0 }, &error);
    else
        check_parts(path, &survey, checked);
    json = json_pack("{s:o, s:I, s:I, s:o}", "path", path_json(path), "chunks",
                     (json_int_t)survey.n_chunks, "records",
                     (json_int_t)(checked->n_records - records), "damaged", checked->damaged);
    if (!checked->json)
        (void)printf("%s: %zu chunk%s, %" PRIu64 " record%s, %s\n", path, survey.n_chunks,
                     survey.n_chunks == 1 ? "" : "s", checked->n_records - records,
                     checked->n_records - records == 1 ? "" : "s",
                     checked->n_damaged == before ? "whole" : "damaged");
    recordio_survey_clear(&survey);
    return json;
}

int recordio_check(const struct recordio_call *call)
{
    const bool json = call->options->common.json;
    struct checked checked = { .json = json, .told = { .quiet = json } };
    _cleanup_json_ json_t *files = json_array();

    for (size_t i = 0; i < call->n_paths; i++)
        (void)json_array_append_new(files, check_file(call->paths[i], &checked));
    if (json) {
        _cleanup_json_ json_t *all =
            json_pack("{s:O, s:I, s:I, s:I, s:I}", "files", files, "records",
                      (json_int_t)checked.n_records, "records_lost", (json_int_t)checked.n_lost,
                      "bytes_lost", (json_int_t)checked.lost_bytes, "damaged",
                      (json_int_t)checked.n_damaged);

        json_print(all);
    }
    return flushed(checked.n_damaged == 0 ? STATUS_OK : STATUS_FAILED);
}
