/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_records.c - records of files, alone and as an agent deals them out; files that are
 * damaged, change, vanish, or are none */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libedl/client.h"
#include "libedl/edl/edl.h"
#include "libedl/record_file.h"
#include "libedl/record_index.h"
#include "libedl/record_reader.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/recordio.h"
#include "tests/unit/edl_agent.h"

struct fixture {
    char folder[64];
    char path[128];
    struct edl_records *records;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/test_records.XXXXXX");
    *state = f;
    return mkdtemp(f->folder) != NULL ? chdir(f->folder) : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_closedir_ DIR *dir = opendir(f->folder);
    const struct dirent *entry;
    int r;

    f->records = edl_records_close(f->records);
    while ((entry = readdir(dir)) != NULL)
        if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
            (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    r = chdir("/") == 0 ? rmdir(f->folder) : -1;
    free(f);
    return r;
}

#define TIME_S 1700000000
#define TIME_TEXT "1700000000250000"

/* set_time - of the last change, to microseconds behind TIME_S */
static void set_time(const char *path, long us)
{
    const struct timespec time = { .tv_sec = TIME_S, .tv_nsec = us * 1000 };
    const struct timespec times[2] = { time, time };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void put_file(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    set_time(path, 250000);
}

/* Records of one byte; a chunk has as many as it has bytes. */
static void put_recordio(const char *path, const char *letters, size_t chunk)
{
    struct recordio_writer *writer = NULL;

    assert_int_equal(recordio_writer_open(path, RECORDIO_NONE, chunk, &writer, NULL), 0);
    for (const char *c = letters; *c != '\0'; c++)
        assert_int_equal(recordio_write(writer, c, 1, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
}

static void open_alone(struct fixture *f, const char *paths, enum edl_record_kind kind,
                       uint64_t passes)
{
    f->records = edl_records_close(f->records);
    assert_int_equal(edl_records_open(NULL, paths, kind, passes, &f->records), 0);
}

/* assert_next - the record that comes next */
static void assert_next(struct fixture *f, const char *wanted)
{
    const void *data = NULL;
    size_t size = 0;

    assert_int_equal(edl_records_next(f->records, &data, &size), EDL_RECORD);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(data, wanted, size);
}

static void assert_no_record(struct fixture *f, int wanted)
{
    const void *data;
    size_t size;

    assert_int_equal(edl_records_next(f->records, &data, &size), wanted);
}

static void assert_fails(struct fixture *f, const char *words)
{
    assert_no_record(f, -EIO);
    if (strstr(edl_records_error(f->records), words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, edl_records_error(f->records));
}

/* ---- the name of a data set ---- */

/* python/tests/test_records.py has the same files and the same name */
static void test_digest(void **state)
{
    struct record_index index = { 0 };

    (void)state;
    put_recordio("part-0", "ab", 1);
    set_time("part-0", 250000);
    put_file("m\u00fc", "one\ntwo\n");
    assert_int_equal(record_index_make("part-0,m\u00fc", EDL_RECORD_AUTO, &index, NULL), 0);
    assert_string_equal(index.digest, "0371153b7fd56b5040d419a340c126c3"
                                      "f944c07c2780922fd24a42eb7326d59b");
    record_index_clear(&index);
}

/* ---- alone ---- */

static void test_alone(void **state)
{
    static const char *const wanted[] = { "a", "b", "c", "d", "one", "", "three" };
    struct fixture *f = *state;

    put_recordio("part-00000", "abc", 1);
    put_recordio("part-00001", "d", 100);
    put_file("part-00002", "one\n\nthree");
    put_file("part-00003", "");
    open_alone(f, "part-*", EDL_RECORD_AUTO, 2);
    for (uint64_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < ELEMENTS(wanted); i++) {
            assert_next(f, wanted[i]);
            assert_int_equal(edl_records_pass(f->records), pass);
        }
        assert_no_record(f, EDL_RECORD_PASS_END);
    }
    assert_no_record(f, EDL_RECORD_SAVE_MODEL);
    assert_no_record(f, EDL_RECORD_SAVE_MODEL);
    assert_int_equal(edl_model_saved(NULL, "model"), 0);
    assert_int_equal(edl_records_lost(f->records), 0);
}

static void test_which_files(void **state)
{
    struct fixture *f = *state;

    put_file("b-1", "b1");
    put_file("B-2", "b2");
    put_file("a,c", "ac");
    put_file(".b-3.1.partial", "not yet");
    open_alone(f, " b-1 , [bB]-*", EDL_RECORD_LINES, 1); /* each once, at its first place */
    assert_next(f, "b1");
    assert_next(f, "b2");
    assert_no_record(f, EDL_RECORD_PASS_END);
    open_alone(f, "a,c", EDL_RECORD_LINES, 1);
    assert_next(f, "ac");
    assert_no_record(f, EDL_RECORD_PASS_END);
    open_alone(f, "*", EDL_RECORD_FILES, 1); /* in the order of bytes, in any language */
    assert_next(f, "B-2");
    assert_next(f, "a,c");
    assert_next(f, "b-1");
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_int_equal(setenv("EDL_DATASET", "b-1", 1), 0);
    open_alone(f, NULL, EDL_RECORD_AUTO, 1);
    assert_next(f, "b1");
    assert_int_equal(unsetenv("EDL_DATASET"), 0);
    open_alone(f, NULL, EDL_RECORD_AUTO, 1);
    assert_fails(f, "no dataset specified: name files");
    assert_int_equal(edl_records_open(NULL, "b-1", (enum edl_record_kind)4, 1, &f->records),
                     -EINVAL);
}

static void test_many_tasks(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen("long", "we");

    assert_non_null(file);
    for (int i = 0; i < 60000; i++)
        assert_true(fprintf(file, "line %d\n", i) > 0);
    assert_int_equal(fclose(file), 0);
    open_alone(f, "long", EDL_RECORD_AUTO, 1);
    for (int i = 0; i < 60000; i++) {
        char line[32];

        (void)snprintf(line, sizeof line, "line %d", i);
        assert_next(f, line);
    }
    assert_no_record(f, EDL_RECORD_PASS_END);
    for (int i = 0; i < 3000; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "many-%05d", i);
        put_file(name, name);
    }
    open_alone(f, "many-*", EDL_RECORD_AUTO, 1);
    for (int i = 0; i < 3000; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "many-%05d", i);
        assert_next(f, name);
    }
    assert_no_record(f, EDL_RECORD_PASS_END);
}

static void test_no_data(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    put_file("text", "a\n");
    put_file("empty", "");
    open_alone(f, "none-*", EDL_RECORD_AUTO, 1);
    assert_fails(f, "no file matches none-*: look at: ls none-*");
    open_alone(f, "text,gone", EDL_RECORD_AUTO, 1);
    assert_fails(f, "gone: No such file or directory");
    open_alone(f, "folder", EDL_RECORD_AUTO, 1);
    assert_fails(f, "folder is a folder, not a file of records: name the files in it: folder/*");
    open_alone(f, "fifo", EDL_RECORD_AUTO, 1);
    assert_fails(f, "fifo is not a regular file");
    open_alone(f, "text", EDL_RECORD_RECORDIO, 1);
    assert_fails(f, "text is no RecordIO file: make one: edl recordio convert");
    open_alone(f, "empty", EDL_RECORD_AUTO, 1);
    assert_fails(f, "there is no record in empty");
    assert_fails(f, "there is no record in empty"); /* asked again, it looks again */
    put_file("empty", "not any more");
    assert_next(f, "not any more");
}

/* One byte of the second of three chunks; then a header in the middle. */
static void test_damage(void **state)
{
    struct fixture *f = *state;
    _cleanup_close_ int fd = -1;

    put_recordio("data", "abcdefghi", 3);
    put_file("last", "z");
    fd = open("data", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "X", 1, 35 + 30), 1);
    open_alone(f, "data,last", EDL_RECORD_AUTO, 1);
    assert_next(f, "a");
    assert_next(f, "b");
    assert_next(f, "c");
    assert_next(f, "g");
    assert_int_equal(edl_records_lost(f->records), 3);
    assert_next(f, "h");
    assert_next(f, "i");
    assert_next(f, "z");
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_int_equal(pwrite(fd, "X", 1, 35), 1);
    open_alone(f, "data,last", EDL_RECORD_AUTO, 1);
    assert_next(f, "a");
    assert_next(f, "b");
    assert_next(f, "c");
    assert_next(f, "g"); /* the next whole chunk behind a damaged header */
    assert_next(f, "h");
    assert_next(f, "i");
    assert_next(f, "z");
}

/* What was read once may not be another thing in the next pass; the pass goes on behind it. */
static void test_changes(void **state)
{
    static const struct {
        const char *text, *words; /* NULL: it is gone; "": it is a folder now */
    } rows[] = {
        { NULL, "b cannot be read: No such file or directory" },
        { "", "b has changed: it is a folder now" },
        { "2\n3\n",
          "b has changed: it had 1 bytes, of 2023-11-14T22:13:20.250000Z, when the job cut it into "
          "tasks, and has 4, of 2023-11-14T22:13:20.250000Z: end the job and submit it again" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        put_file("a", "1");
        put_file("b", "2");
        put_file("c", "3");
        open_alone(f, "a,b,c", EDL_RECORD_AUTO, 2);
        assert_next(f, "1");
        assert_next(f, "2");
        assert_next(f, "3");
        assert_no_record(f, EDL_RECORD_PASS_END);
        assert_int_equal(unlink("b"), 0);
        if (rows[i].text != NULL && *rows[i].text == '\0')
            assert_int_equal(mkdir("b", 0700), 0);
        else if (rows[i].text != NULL)
            put_file("b", rows[i].text);
        assert_next(f, "1");
        assert_fails(f, rows[i].words);
        assert_next(f, "3");
        assert_no_record(f, EDL_RECORD_PASS_END);
        (void)rmdir("b");
    }
}

/* ---- as it is dealt out ---- */

#define TASK(id, pass, path, records)                                                              \
    SAYS("{\"task\":{\"id\":" id ",\"pass\":" pass ",\"lease\":9,\"chunks\":[{\"path\":\"" path    \
         "\",\"offset\":0,\"records\":" records "}]}}")
#define CHUNK(name, records, size)                                                                 \
    "{\"path\":\"" name "\",\"offset\":0,\"records\":" records ",\"size\":" size                   \
    ",\"mtime_us\":" TIME_TEXT "}"
#define WAIT SAYS("{\"wait\":true}")
#define LEASE "POST /jobs/self/tasks/lease "
#define FINISH "POST /jobs/self/tasks/finish "

static void open_dealt(struct fixture *f, struct agent *agent, const char *const *answers)
{
    edl_agent_begin(agent, answers);
    assert_int_equal(edl_records_open(agent->client, "text*", EDL_RECORD_AUTO, 99, &f->records), 0);
}

static void test_dealt_out(void **state)
{
    static const char *const answers[] = {
        REFUSES("404 Not Found", "no dataset"),
        SAYS("{\"tasks\":1}"),
        SAYS("{\"task\":{\"id\":5,\"pass\":0,\"lease\":9,\"chunks\":[{\"path\":\"text\",\"offset\":"
             "0,"
             "\"records\":2},{\"path\":\"text\",\"offset\":4,\"records\":2}]}}"),
        TASK("6", "0", "text2", "1"), /* asked for when half of its last chunk is given */
        REFUSES("503 Service Unavailable", "restarting"),
        SAYS("{}"), /* asked again, with the patience that the client has */
        WAIT,       /* nothing ahead */
        REFUSES("409 Conflict", "lease 9 is not the current one"),
        TASK("5", "1", "text", "4"),
        WAIT,
        SAYS("{}"),
        SAYS("{\"finished\":true,\"save_model\":true}"),
        NULL,
    };
    static const char *const wanted[] = {
        "GET /jobs/self/dataset ",
        NULL, /* PUT, below */
        LEASE "{\"known\":[],\"wait\":20}",
        LEASE "{\"known\":[5],\"wait\":0}",
        FINISH "{\"task\":5,\"pass\":0,\"lease\":9}",
        FINISH "{\"task\":5,\"pass\":0,\"lease\":9}",
        LEASE "{\"known\":[6],\"wait\":0}",
        FINISH "{\"task\":6,\"pass\":0,\"lease\":9}",
        LEASE "{\"known\":[],\"wait\":20}",
        LEASE "{\"known\":[5],\"wait\":0}",
        FINISH "{\"task\":5,\"pass\":1,\"lease\":9}",
        LEASE "{\"known\":[],\"wait\":20}",
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\nb\nc\nd\n");
    put_file("text2", "e\n");
    open_dealt(f, &agent, answers);
    edl_client_set_patience(agent.client, 120 * USEC_PER_SEC);
    assert_next(f, "a");
    assert_next(f, "b");
    assert_int_equal(edl_agent_asked(&agent), 3);
    assert_next(f, "c");
    assert_int_equal(edl_agent_asked(&agent), 4);
    assert_next(f, "d");
    assert_int_equal(edl_agent_asked(&agent), 4); /* d is not done with */
    assert_next(f, "e");
    assert_int_equal(edl_agent_asked(&agent), 7);
    assert_no_record(f, EDL_RECORD_PASS_END); /* although e does not count */
    for (const char *c = "abcd"; *c != '\0'; c++)
        assert_next(f, (char[]){ *c, '\0' });
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_no_record(f, EDL_RECORD_SAVE_MODEL);
    for (unsigned i = 0; i < ELEMENTS(wanted); i++)
        if (wanted[i] != NULL)
            assert_string_equal(agent.asked->text[i], wanted[i]);
    assert_non_null(strstr(agent.asked->text[1], "\"passes\":99"));
    assert_non_null(
        strstr(agent.asked->text[1],
               "\"tasks\":[{\"chunks\":[" CHUNK("text", "4",
                                                "8") "]},{\"chunks\":[" CHUNK("text2", "1",
                                                                              "2") "]}]"));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* What damaged chunks of a task lose is told with its end, and of the next task nothing. */
static void test_lost_is_told(void **state)
{
    static const char *const answers[] = {
        SAYS("{}"), /* the data set is there */
        SAYS("{\"task\":{\"id\":5,\"pass\":0,\"lease\":9,\"chunks\":["
             "{\"path\":\"data\",\"offset\":0,\"records\":3},"
             "{\"path\":\"data\",\"offset\":35,\"records\":3},"
             "{\"path\":\"data\",\"offset\":70,\"records\":2}]}}"),
        REFUSES("503 Service Unavailable", "restarting"),
        SAYS("{}"),
        TASK("6", "0", "text", "1"),
        WAIT,
        SAYS("{}"),
        SAYS("{\"finished\":true,\"save_model\":false}"),
        NULL,
    };
    struct fixture *f = *state;
    _cleanup_close_ int fd = -1;
    struct agent agent;

    put_recordio("data", "abcdefgh", 3);
    put_file("text", "z\n");
    fd = open("data", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "X", 1, 24), 1);
    assert_int_equal(pwrite(fd, "X", 1, 70 + 24), 1);
    open_dealt(f, &agent, answers);
    edl_client_set_patience(agent.client, 120 * USEC_PER_SEC);
    assert_next(f, "d");
    assert_next(f, "e");
    assert_next(f, "f");
    assert_next(f, "z");
    assert_int_equal(edl_records_lost(f->records), 5);
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_string_equal(agent.asked->text[3], FINISH "{\"task\":5,\"pass\":0,\"lease\":9,"
                                                     "\"lost\":5,\"lost_chunks\":2}");
    assert_string_equal(agent.asked->text[6], FINISH "{\"task\":6,\"pass\":0,\"lease\":9}");
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

static void test_no_more_is_lost_than_a_task_has(void **state)
{
    static const char *const answers[] = { TASK("5", "0", "text", "4"), SAYS("{}"), NULL };
    struct edl_task *task = NULL;
    struct agent agent;

    (void)state;
    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &task), EDL_NEXT_TASK);
    assert_int_equal(edl_task_lost(agent.client, task, 5, 1), -EINVAL);
    assert_says(&agent, "than the task has left");
    assert_int_equal(edl_task_lost(agent.client, task, 1, 2), -EINVAL);
    assert_int_equal(edl_task_lost(agent.client, task, 1, 0), -EINVAL);
    assert_int_equal(edl_task_lost(agent.client, task, 3, 1), 0);
    assert_int_equal(edl_task_lost(agent.client, task, 1, 1), -EINVAL); /* no chunk is left */
    assert_int_equal(edl_task_done(agent.client, task), 0);
    assert_string_equal(agent.asked->text[1], FINISH "{\"task\":5,\"pass\":0,\"lease\":9,"
                                                     "\"lost\":3,\"lost_chunks\":1}");
    (void)edl_task_free(task);
    edl_agent_end(&agent);
}

/* facts_of - a chunk of the file as it is now, as who cuts it tells of it */
static struct edl_chunk facts_of(const char *path, uint64_t offset_bytes)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (struct edl_chunk){ .path = path,
                               .offset_bytes = offset_bytes,
                               .n_records = 1,
                               .file_bytes = (uint64_t)st.st_size,
                               .mtime_us = record_file_mtime_us(&st) };
}

static void assert_begins(const struct edl_chunk *chunk, const char *words)
{
    struct record_reader reader;
    struct edl_error error = { 0 };
    int r;

    record_reader_init(&reader, EDL_RECORD_AUTO);
    r = record_reader_begin(&reader, chunk, &error);
    assert_int_equal(r, words == NULL ? 0 : -EIO);
    if (words != NULL && strstr(error.text, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.text);
    assert_int_equal(reader.lost, 0);
    record_reader_clear(&reader);
}

/* By a process that opens it first, when it was replaced since it was cut. */
static void test_another_file(void **state)
{
    struct edl_chunk chunk, untold;

    (void)state;
    put_recordio("data", "ab", 1);
    set_time("data", 123456);
    chunk = facts_of("data", 25);
    assert_true(chunk.file_bytes == 50 && chunk.mtime_us == UINT64_C(1700000000123456));
    untold = (struct edl_chunk){ .path = "data", .offset_bytes = 25, .n_records = 1 };
    assert_begins(&chunk, NULL);
    set_time("data", 0); /* a copy by tar */
    assert_begins(&chunk, NULL);
    set_time("data", 654321);
    assert_begins(&chunk, "it had 50 bytes, of 2023-11-14T22:13:20.123456Z, when the job cut it "
                          "into tasks, and has 50, of 2023-11-14T22:13:20.654321Z");
    assert_begins(&untold, NULL); /* of an older version */
    put_recordio("data", "abc", 1);
    set_time("data", 123456);
    assert_begins(&chunk, "it had 50 bytes");
    untold.offset_bytes = 26; /* nothing is damaged: another file has its chunks elsewhere */
    assert_begins(&untold, "no chunk begins where one did");
    untold.offset_bytes = 1000;
    assert_begins(&untold, "no chunk begins where one did");
}

/* Of 2,050 files three are a task, and no more than two of large ones. */
static void test_few_files_a_task(void **state)
{
    static const char *const answers[] = { REFUSES("404 Not Found", "no dataset"),
                                           REFUSES("413 Too Large", "no"), NULL };
    struct fixture *f = *state;
    struct agent agent;

    for (int i = 0; i < 2050; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "text%04d", i);
        put_file(name, i == 0 ? "a\nb" : "c");
    }
    assert_int_equal(truncate("text0004", 1 << 20), 0);
    set_time("text0004", 250000);
    open_dealt(f, &agent, answers);
    assert_no_record(f, -E2BIG);
    assert_non_null(strstr(
        agent.asked->text[1],
        "\"tasks\":[{\"chunks\":[" CHUNK("text0000", "2", "3") "," CHUNK(
            "text0001", "1",
            "1") "," CHUNK("text0002", "1",
                           "1") "]},{\"chunks\":[" CHUNK("text0003", "1",
                                                         "1") "," CHUNK("text0004", "1",
                                                                        "1048576") "]},{\"chunks\":"
                                                                                   "[" CHUNK("text0"
                                                                                             "005",
                                                                                             "1",
                                                                                             "1")));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* A task that cannot be read is told of, and others are taken; four in a row are too many. */
static void test_unreadable(void **state)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "gone1", "1"),
        SAYS("{}"),
        TASK("2", "0", "text", "1"), /* as said: one line, which it has no more */
        WAIT,
        SAYS("{}"),
        TASK("3", "0", "text", "5"),
        SAYS("{}"), /* fail */
        TASK("4", "0", "gone4", "1"),
        SAYS("{}"),
        TASK("5", "0", "gone5", "1"),
        SAYS("{}"),
        TASK("6", "0", "gone6", "1"),
        SAYS("{}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    assert_string_equal(agent.asked->text[2],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":false,\"reason\":\"gone1 cannot be read: No such file or "
                        "directory: look at: ls -l gone1\"}");
    assert_next(f, "a"); /* of the task that says five */
    assert_fails(f, "gone6 cannot be read");
    assert_non_null(strstr(agent.asked->text[7], "text has changed: it has fewer lines"));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* What is held goes back at once: the task under way, and the one that was asked for ahead. */
static void test_closed(void **state)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "text", "1"),
        TASK("2", "0", "text", "1"),
        SAYS("{}"),
        SAYS("{}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    f->records = edl_records_close(f->records);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":true,\"reason\":\"its reader was closed\"}");
    assert_string_equal(agent.asked->text[4],
                        "POST /jobs/self/tasks/fail {\"task\":2,\"pass\":0,\"lease\":9,"
                        "\"returned\":true,\"reason\":\"its reader was closed\"}");
    edl_agent_end(&agent);
}

/* The program cannot use a record: its task fails, the one that was asked for ahead goes on. */
static void test_fail(void **state)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "text", "2"),
        TASK("2", "0", "text2", "1"),
        SAYS("{}"), /* fail */
        WAIT,
        REFUSES("409 Conflict", "lease 9 is not the current one"),
        SAYS("{\"finished\":true,\"save_model\":false}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\nb\n");
    put_file("text2", "c\n");
    open_dealt(f, &agent, answers);
    assert_int_equal(edl_records_fail(f->records, "none yet"), -EINVAL);
    assert_next(f, "a");
    assert_int_equal(edl_records_fail(f->records, "a is no number"), 0);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":false,\"reason\":\"a is no number\"}");
    assert_int_equal(edl_records_fail(f->records, "again"), -EINVAL);
    assert_next(f, "c");
    assert_int_equal(edl_records_fail(f->records, "c"), 0); /* somebody else's by now */
    assert_no_record(f, EDL_RECORD_PASS_END);
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

static int next_of(struct edl_records *records)
{
    const void *data;
    size_t size;

    return edl_records_next(records, &data, &size);
}

/* It was forked while its parent had a record: it may work off what it has seen, and gets no more.
 */
static _Noreturn void be_a_child(struct edl_records *records)
{
    bool is_refused = next_of(records) == EDL_RECORD && next_of(records) == -EBUSY &&
                      strstr(edl_records_error(records), "was forked from") != NULL;

    _exit(is_refused ? 0 : 1);
}

/* A second client of the process is refused, a process that is forked from it, and no client of
 * another index. */
static void test_one_reader(void **state)
{
    static const char *const answers[] = { SAYS("{}"), TASK("1", "0", "text", "2"),
                                           WAIT,       SAYS("{}"),
                                           SAYS("{}"), NULL };
    static const char *const others[] = { SAYS("{}"), SAYS("{}"), TASK("1", "0", "text", "2"),
                                          WAIT,       SAYS("{}"), NULL };
    struct fixture *f = *state;
    struct agent agent, other_agent;
    struct edl_records *other = NULL;
    int status = -1;
    pid_t child;

    assert_int_equal(setenv("EDL_OUTPUT_DIR", f->folder, 1), 0);
    put_file("text", "a\nb\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    edl_agent_begin(&other_agent, others);
    assert_int_equal(edl_records_open(other_agent.client, "text", EDL_RECORD_AUTO, 1, &other), 0);
    assert_int_equal(next_of(other), -EBUSY);
    assert_non_null(strstr(edl_records_error(other), "another client of this one"));
    assert_non_null(strstr(edl_records_error(other), "one client of one process"));
    other = edl_records_close(other);
    child = fork();
    if (child == 0)
        be_a_child(f->records);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(setenv("EDL_INDEX", "1", 1), 0);
    assert_int_equal(edl_records_open(other_agent.client, "text", EDL_RECORD_AUTO, 1, &other), 0);
    assert_int_equal(next_of(other), EDL_RECORD);
    assert_int_equal(unsetenv("EDL_INDEX"), 0);
    assert_int_equal(unsetenv("EDL_OUTPUT_DIR"), 0);
    other = edl_records_close(other);
    f->records = edl_records_close(f->records);
    edl_agent_end(&other_agent);
    edl_agent_end(&agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_digest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_which_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_tasks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_data, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dealt_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost_is_told, setup, teardown),
        cmocka_unit_test(test_no_more_is_lost_than_a_task_has),
        cmocka_unit_test_setup_teardown(test_another_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_few_files_a_task, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_reader, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
