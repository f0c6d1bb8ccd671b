/* SPDX-License-Identifier: Apache-2.0 */
/* test_dataset_reader.c - a dataset is read as it comes, however it is cut, and refused where it is
 * wrong */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/workspaces/dataset_reader.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const struct task_queue_config config = { .passes = 1, .failures_max = 3 };

/* In pieces of so many bytes; the error's code, or 0 with *ret (may be NULL). */
static int read_in(const char *text, size_t piece, uint64_t tasks_max, struct dataset_reader **ret,
                   struct edl_error *error)
{
    struct dataset_reader *reader = dataset_reader_new(&config, tasks_max);
    size_t size = strlen(text);
    int r = 0;

    for (size_t at = 0; r == 0 && at < size; at += piece)
        r = dataset_reader_add(reader, text + at, MIN_OF(piece, size - at), error);
    if (r == 0)
        r = dataset_reader_end(reader, error);
    if (ret != NULL && r == 0)
        *ret = reader;
    else
        (void)dataset_reader_free(reader);
    return r;
}

TEST(test_reads_what_is_cut_anywhere)
{
    static const char text[] =
        " { \"other\" : [1, {\"a]\": \"}\\\"\"}], \"digest\":\"d\\u0031\",\r\n\t\"tasks\": [\n"
        "{\"chunks\":[{\"path\":\"/a]}\\\"\\\\\",\"offset\":7,\"records\":8}]} ,"
        "{\"chunks\":[{\"path\":\"b\",\"offset\":0,\"records\":1},"
        "{\"path\":\"c\",\"offset\":9007199254740993,\"records\":2,\"size\":9007199254740995,"
        "\"mtime_us\":1700000000123456}],\"more\":null}],"
        "\"n\":-1.5e3 ,\"t\":true} \n";

    for (size_t piece = 1; piece <= sizeof text; piece++) {
        struct dataset_reader *reader = NULL;
        const struct task_queue *queue;
        const struct task *task;
        struct edl_error error = { 0 };

        if (read_in(text, piece, 2, &reader, &error) < 0)
            fail_msg("in pieces of %zu: %s", piece, error.text);
        assert_string_equal(dataset_reader_digest(reader), "d1");
        queue = dataset_reader_queue(reader);
        assert_int_equal(task_queue_n_tasks(queue), 2);
        task = task_queue_task(queue, 0);
        assert_string_equal(task->chunks[0].path, "/a]}\"\\");
        assert_int_equal(task->chunks[0].offset_bytes, 7);
        task = task_queue_task(queue, 1);
        assert_int_equal(task->n_chunks, 2);
        assert_int_equal(task->n_records, 3);
        assert_int_equal(task->chunks[1].offset_bytes, 9007199254740993);
        assert_int_equal(task->chunks[1].file_bytes, 9007199254740995);
        assert_int_equal(task->chunks[1].mtime_us, UINT64_C(1700000000123456));
        assert_true(task->chunks[0].file_bytes == 0 && task->chunks[0].mtime_us == 0);
        (void)dataset_reader_free(reader);
    }
}

/* They count where the job says none, wherever they stand. */
TEST(test_passes)
{
#define TASKS "\"tasks\":[{\"chunks\":[{\"path\":\"a\",\"offset\":0,\"records\":1}]}]"
    static const struct {
        const char *text;
        bool open;
        uint32_t passes;
    } cases[] = {
        { "{\"digest\":\"d\"," TASKS "}", true, 3 },
        { "{\"digest\":\"d\",\"passes\":5," TASKS "}", true, 5 },
        { "{" TASKS ",\"passes\":1000000,\"digest\":\"d\"}", true, 1000000 },
        { "{\"digest\":\"d\",\"passes\":5," TASKS "}", false, 3 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct task_queue_config asked = { .passes = 3, .passes_open = cases[i].open };
        struct dataset_reader *reader = dataset_reader_new(&asked, 0);

        assert_int_equal(dataset_reader_add(reader, cases[i].text, strlen(cases[i].text), NULL), 0);
        assert_int_equal(dataset_reader_end(reader, NULL), 0);
        assert_int_equal(task_queue_passes(dataset_reader_queue(reader)), cases[i].passes);
        (void)dataset_reader_free(reader);
    }
}

TEST(test_refuses_what_is_wrong)
{
#define CHUNK "{\"path\":\"a\",\"offset\":0,\"records\":1}"
#define TASK "{\"chunks\":[" CHUNK "]}"
    static const struct {
        const char *text, *says;
        int code;
    } wrong[] = {
        { "", "the body is empty", -EINVAL },
        { " ", "the body is empty", -EINVAL },
        { "[]", "not a JSON object", -EINVAL },
        { "{", "ends too early", -EINVAL },
        { "{}", "/digest is missing", -EINVAL },
        { "{\"digest\":\"d\"}", "/tasks is missing", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[]}", "a dataset without tasks", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[]}x", "a comma", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":{}}", "/tasks is not an array", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[{\"path\":\"a\",\"offset\":0,\"records\":1,"
          "\"size\":1}]}]}",
          "/tasks/0/chunks/0 has one of size and mtime_us without the other", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[{\"path\":\"a\",\"offset\":0,\"records\":1,"
          "\"size\":1,\"mtime_us\":-1}]}]}",
          "/tasks/0/chunks/0/mtime_us", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":7}", "/tasks is not an array", -EINVAL },
        { "{\"digest\":\"d\",\"digest\":\"e\",\"tasks\":[" TASK "]}", "twice", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK "],\"tasks\":[" TASK "]}", "twice", -EINVAL },
        { "{\"digest\":\"d\",\"passes\":2,\"tasks\":[" TASK "],\"passes\":2}", "twice", -EINVAL },
        { "{\"digest\":\"d\",\"passes\":0,\"tasks\":[" TASK "]}", "/passes is 0", -EINVAL },
        { "{\"digest\":\"d\",\"passes\":1000001,\"tasks\":[" TASK "]}", "/passes", -EINVAL },
        { "{\"digest\":\"d\",\"passes\":\"5\",\"tasks\":[" TASK "]}", "/passes", -EINVAL },
        { "{\"digest\":1,\"tasks\":[" TASK "]}", "/digest", -EINVAL },
        { "{\"digest\":\"d\" \"tasks\":[" TASK "]}", "a comma", -EINVAL },
        { "{\"digest\":\"d\",,\"tasks\":[" TASK "]}", "a value is missing", -EINVAL },
        { "{digest:\"d\",\"tasks\":[" TASK "]}", "near byte", -EINVAL },
        { "{1:\"d\",\"tasks\":[" TASK "]}", "a key is missing", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK TASK "]}", "a comma", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK ",]}", "a value is missing", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK ",{\"chunks\":[]}]}", "/tasks/1 has no chunks",
          -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK ",{}]}", "/tasks/1/chunks is missing", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[" CHUNK ",{\"path\":\"a\",\"offset\":-1,"
          "\"records\":1}]}]}",
          "/tasks/0/chunks/1/offset", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[" CHUNK "]]}", "near byte", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[\"\xff\"]}]}", "near byte", -EINVAL },
        { "{\"digest\":\"d\",\"tasks\":[" TASK "," TASK "," TASK "]}",
          "a dataset of more than 2 tasks", EDL_EBADSPEC },
    };

    for (size_t i = 0; i < ELEMENTS(wrong); i++)
        for (size_t piece = 1; piece < 50; piece += 7) {
            struct edl_error error = { 0 };

            if (read_in(wrong[i].text, piece, 2, NULL, &error) != wrong[i].code ||
                strstr(error.text, wrong[i].says) == NULL)
                fail_msg("%s: %d: %s", wrong[i].text, error.code, error.text);
        }
}

TEST(test_bounds_a_task_and_every_other_member)
{
    static const char task[] = "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[";
    static const char other[] = "{\"other\":[";
    _cleanup_free_ char *text = xcalloc(DATASET_TASK_BYTES_MAX + 100, 1);
    struct edl_error error = { 0 };

    memset(text, ' ', DATASET_TASK_BYTES_MAX + 99);
    memcpy(text, task, strlen(task));
    assert_int_equal(read_in(text, 4096, 0, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/tasks/0");
    assert_non_null(strstr(error.remedy, "among several tasks"));
    memset(text, ' ', strlen(task));
    memcpy(text, other, strlen(other));
    assert_int_equal(read_in(text, 4096, 0, NULL, &error), -EINVAL);
}

TEST(test_passes_over_tasks_for_their_digest)
{
    static const char text[] = "{\"tasks\":[" TASK "," TASK "," TASK "],\"digest\":\"d\"}";
    struct dataset_reader *reader = dataset_reader_new(NULL, 0);

    assert_int_equal(dataset_reader_add(reader, text, strlen(text), NULL), 0);
    assert_int_equal(dataset_reader_end(reader, NULL), 0);
    assert_string_equal(dataset_reader_digest(reader), "d");
    assert_null(dataset_reader_queue(reader));
    (void)dataset_reader_free(reader);
}
