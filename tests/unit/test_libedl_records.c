/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_records.c - records of files, without a job; files that are damaged, change, vanish,
 * or are none */
#include <sys/wait.h>

#include "libedl/record_file.h"
#include "libedl/record_index.h"
#include "libedl/record_reader.h"
#include "tests/unit/records_fixture.h"
#include "tests/unit/test.h"

/* ---- the name of a data set ---- */

TEST_EACH(setup, teardown);

/* python/tests/test_records.py has the same files and the same name */
TEST(test_digest)
{
    struct record_index index = { 0 };

    put_recordio("part-0", "ab", 1);
    set_time("part-0", 250000);
    put_file("m\u00fc", "one\ntwo\n");
    assert_int_equal(record_index_make("part-0,m\u00fc", EDL_RECORD_AUTO, 0, &index, NULL), 0);
    assert_string_equal(index.digest, "0371153b7fd56b5040d419a340c126c3"
                                      "f944c07c2780922fd24a42eb7326d59b");
    record_index_clear(&index);
}

/* Of files with three lines each, and of one with a chunk of three and one of one record. */
TEST(test_task_records)
{
    static const uint32_t sizes[] = { 2, 1, 2, 1, 3, 1 };
    struct record_index index = { 0 };

    put_file("part-0", "one\ntwo\nthree\n");
    put_file("part-1", "four\nfive\nsix");
    put_recordio("part-2", "abcd", 3);
    assert_int_equal(record_index_make("part-0,part-1,part-2", EDL_RECORD_AUTO, 2, &index, NULL),
                     0);
    assert_int_equal(index.n_pieces, ELEMENTS(sizes));
    for (size_t i = 0; i < index.n_pieces; i++) {
        assert_int_equal(index.pieces[i].n_chunks, 1);
        assert_int_equal(index.pieces[i].chunks[0].n_records, sizes[i]);
    }
    assert_int_equal(index.pieces[3].chunks[0].offset_bytes, 10);
    record_index_clear(&index);
}

/* ---- alone ---- */

TEST(test_alone)
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
    assert_no_record(f, EDL_RECORD_END);
    assert_no_record(f, EDL_RECORD_END);
    assert_int_equal(edl_model_saved(NULL, "model"), 0);
    assert_int_equal(edl_records_lost(f->records), 0);
    open_alone(f, "part-00001", EDL_RECORD_AUTO, 0); /* it does not say how many passes */
    assert_next(f, "d");
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_no_record(f, EDL_RECORD_SAVE_MODEL);
}

/* A program that takes whatever is more than 0 for a record. */
TEST(test_a_loop_while_there_is_something_ends)
{
    struct fixture *f = *state;
    const void *data = "";
    size_t size = 1, n = 0, n_records = 0;

    put_file("part-0", "a\nb\n");
    open_alone(f, "part-0", EDL_RECORD_AUTO, 2);
    for (; edl_records_next(f->records, &data, &size) > 0 && n < 100; n++) {
        n_records += data != NULL;
        assert_true(data != NULL || size == 0);
    }
    assert_int_equal(n, 4 + 2 + 1);
    assert_int_equal(n_records, 4);
}

/* A child would go on at the offset at which its parent is. */
TEST(test_a_child_of_the_reader)
{
    struct fixture *f = *state;
    const void *data;
    size_t size;
    int status;
    pid_t child;

    put_file("part-0", "a\nb\n");
    open_alone(f, "part-0", EDL_RECORD_AUTO, 1);
    assert_next(f, "a");
    child = fork();
    if (child == 0) {
        int r = edl_records_next(f->records, &data, &size), fail = edl_records_fail(f->records, "");
        bool told = strstr(edl_records_error(f->records), "open them in the child") != NULL;

        (void)edl_records_close(f->records);
        _exit(r == -EBUSY && fail == -EBUSY && told ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_next(f, "b");
    assert_no_record(f, EDL_RECORD_PASS_END);
}

TEST(test_which_files)
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

static void put_bytes(const char *name, const void *bytes, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_int_equal(write(fd, bytes, size), size);
    (void)safe_close(fd);
}

/* python/tests/test_records.py has the same ones */
TEST(test_files_that_are_no_text)
{
#define FILE_OF(text, words)                                                                       \
    {                                                                                              \
        text, sizeof(text) - 1, words                                                              \
    }
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } files[] = {
        FILE_OF("\x1f\x8b\x08\n", "a gzip file, and no RecordIO file: unpack it"),
        FILE_OF("BZh91AY&SY\n", "a bzip2 file"),
        FILE_OF("\xfd"
                "7zXZ\0\n",
                "an xz file"),
        FILE_OF("PK\3\4\n\0", "a zip archive"),
        FILE_OF("\x93NUMPY\1\0v\0{'descr': '<f4'}\n", "npy"),
        FILE_OF("PAR1\x15\0\n", "a parquet file"),
        FILE_OF("\3\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                "abc\0\0\0\0",
                "a TFRecord file"),
        FILE_OF("\xff\xfe"
                "a\0\n\0",
                "iconv -f UTF-16"),
        FILE_OF("a\0\n\0", "EDL_RECORD_LINES if you mean its lines"),
    };
    static const char *const texts[] = { "PAR1 is a name", "ORC", "RIFFs", "BZh9", "\x1f" };
    struct fixture *f = *state;
    char tar[512] = "a\n";

    for (size_t i = 0; i < ELEMENTS(files); i++) {
        put_bytes("part-0", files[i].bytes, files[i].size);
        open_alone(f, "part-0", i % 2 == 0 ? EDL_RECORD_AUTO : EDL_RECORD_RECORDIO, 1);
        assert_fails(f, files[i].words);
        open_alone(f, "part-0", EDL_RECORD_FILES, 1);
        assert_next(f, "part-0");
    }
    memcpy(tar + 257, "ustar", 5);
    put_bytes("part-0", tar, sizeof tar);
    open_alone(f, "part-0", EDL_RECORD_AUTO, 1);
    assert_fails(f, "a tar archive");
    open_alone(f, "part-0", EDL_RECORD_LINES, 1);
    assert_next(f, "a");
    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        put_file("part-0", texts[i]);
        open_alone(f, "part-0", EDL_RECORD_AUTO, 1);
        assert_next(f, texts[i]);
    }
}

TEST(test_many_tasks)
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

TEST(test_no_data)
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
TEST(test_damage)
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
TEST(test_changes)
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
TEST(test_another_file)
{
    struct edl_chunk chunk, untold;

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
