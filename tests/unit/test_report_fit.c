/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_fit.c - whatever processes tell, the report stays within what a scheduler takes */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/link/report_fit.h"
#include "shared/document_bounds.h"
#include "shared/json_text.h"
#include "shared/process_progress.h"
#include "shared/report_bounds.h"
#include "tests/unit/test.h"

#define BIG 9223372036854775807

/* entry - all that an agent tells of a process, with a reason of 255 bytes that are escaped */
static json_t *entry(json_int_t index)
{
    char reason[256];
    json_t *json = json_pack("{s:I,s:s,s:I,s:I,s:s}", "job_id", (json_int_t)BIG, "role", "pserver",
                             "index", index, "incarnation", (json_int_t)BIG, "state", "running");
    static const char *const numbers[] = { "pid",
                                           "exit_code",
                                           "exit_signal",
                                           "cpu_used_us",
                                           "memory_used_bytes",
                                           "memory_peak_bytes",
                                           "tasks",
                                           "ran_us",
                                           "frozen_us",
                                           "orphans_reaped",
                                           "error_before_us",
                                           "unfit",
                                           "start_fault",
                                           "cause" };

    memset(reason, '"', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    (void)json_object_set_new(json, "reason", json_string(reason));
    (void)json_object_set_new(json, "error", json_string(reason));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)json_object_set_new(json, numbers[i], json_integer(BIG));
    return json;
}

static json_t *rows_of(size_t n, json_int_t cell)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(rows, json_pack("[I,I,I,I]", (json_int_t)i, cell, cell, cell));
    return rows;
}

/* chatty - progress with the longest texts that one call may bring */
static json_t *chatty(void)
{
    json_t *progress = json_object();
    char name[3] = "a0", text[PROGRESS_TEXT_BYTES + 1];

    memset(text, '\\', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < PROGRESS_MEMBERS_MAX - 1; i++, name[0]++)
        (void)json_object_set_new(progress, name, json_string(text));
    return progress;
}

static void add(json_t *body, json_t *take_progress)
{
    json_t *processes = json_object_get(body, "processes");
    json_t *process = entry((json_int_t)json_array_size(processes));

    if (take_progress != NULL)
        (void)json_object_set_new(process, "progress", take_progress);
    (void)json_array_append_new(processes, process);
}

static json_t *report(void)
{
    json_t *body = json_pack("{s:[],s:[],s:i}", "processes", "ports_foreign", "sent_us", 1);

    for (int port = 0; port < 256; port++)
        (void)json_array_append_new(json_object_get(body, "ports_foreign"), json_integer(port));
    return body;
}

static json_t *progress_of(const json_t *body, size_t i)
{
    return json_object_get(json_array_get(json_object_get(body, "processes"), i), "progress");
}

static size_t n_rows(const json_t *body, size_t i)
{
    return json_array_size(json_object_get(progress_of(body, i), PROGRESS_PUSHES));
}

/* assert_taken - by a scheduler that knows of so many processes */
static void assert_taken(const json_t *body, size_t n)
{
    size_t length = 0, bytes = (REPORT_KIB + REPORT_PROCESS_KIB * n) * 1024;
    char *text = json_to_text(body, &length);

    assert_non_null(text);
    assert_true(length <= bytes && length <= REPORT_BYTES_MOST);
    assert_true(json_values_at_most(text, length) <= REPORT_VALUES + REPORT_PROCESS_VALUES * n);
    free(text);
}

/* Four servers, each with all the rows that a process can gather. */
TEST(test_full_rows_of_several_processes)
{
    static const json_int_t cells[] = { 1, BIG };

    for (size_t c = 0; c < 2; c++) {
        json_t *body = report(), *kept = rows_of(PROGRESS_PUSHES_MAX, cells[c]);
        struct report_left_out left_out;
        size_t told = 0;

        for (size_t i = 0; i < 4; i++)
            add(body, json_pack("{s:i,s:O}", "step", (int)i, PROGRESS_PUSHES, kept));
        left_out = report_fit(body);
        assert_taken(body, 4);
        assert_int_equal(json_array_size(kept), PROGRESS_PUSHES_MAX);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(json_integer_value(json_object_get(progress_of(body, i), "step")), i);
            assert_true(n_rows(body, i) > 150);
            assert_true(n_rows(body, 0) - n_rows(body, i) <= 1);
            told += n_rows(body, i);
        }
        assert_int_equal(left_out.processes, 0);
        assert_int_equal(left_out.rows + told, 4 * PROGRESS_PUSHES_MAX);
        json_decref(kept);
        json_decref(body);
    }
}

/* 64 trainers at three servers of a process, on a node with three of them: nothing is cut, and
 * neighbours with few rows keep them beside one with many. */
TEST(test_usual_rows_are_all_told)
{
    json_t *body = report();
    struct report_left_out left_out;

    for (size_t i = 0; i < 3; i++)
        add(body, json_pack("{s:o}", PROGRESS_PUSHES, rows_of(192, 123456789)));
    left_out = report_fit(body);
    assert_int_equal(left_out.rows + left_out.processes, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(n_rows(body, i), 192);
    assert_taken(body, 3);
    for (size_t i = 0; i < 3; i++)
        add(body, json_pack("{s:o}", PROGRESS_PUSHES, rows_of(512, BIG)));
    (void)report_fit(body);
    assert_true(n_rows(body, 5) > 60 && n_rows(body, 5) < 512);
    assert_taken(body, 6);
    json_decref(body);
}

/* A whole report has an end however many processes there are: who tells little is told. */
TEST(test_texts_of_thousands)
{
    json_t *body = report();
    struct report_left_out left_out;

    for (size_t i = 0; i < 2000; i++)
        add(body, i % 100 == 99 ? json_pack("{s:i}", "step", 7) : chatty());
    left_out = report_fit(body);
    assert_taken(body, 2000);
    assert_true(left_out.processes > 0 && left_out.processes < 1980);
    for (size_t i = 99; i < 2000; i += 100)
        assert_non_null(progress_of(body, i));
    json_decref(body);
}

/* What is within its own share is left alone. */
TEST(test_few_are_left_alone)
{
    json_t *body = report(), *before;

    for (size_t i = 0; i < 20; i++)
        add(body, chatty());
    add(body, json_pack("{s:i}", PROGRESS_PUSHES, 3));
    assert_taken(body, 21);
    before = json_deep_copy(body);
    assert_int_equal(report_fit(body).processes, 0);
    assert_true(json_equal(body, before));
    json_decref(before);
    json_decref(body);
}
