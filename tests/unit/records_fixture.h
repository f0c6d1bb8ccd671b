/* SPDX-License-Identifier: Apache-2.0 */
/* records_fixture.h - files of records in a folder of the test's own, and their records as libedl
 * gives them
 *
 * Used by: test_libedl_records.c, test_libedl_dealt.c. */
#pragma once

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
#include <unistd.h>

#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/recordio.h"

struct fixture {
    char folder[64];
    char path[128];
    struct edl_records *records;
};

static inline int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/test_records.XXXXXX");
    *state = f;
    return mkdtemp(f->folder) != NULL ? chdir(f->folder) : -1;
}

static inline int teardown(void **state)
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
static inline void set_time(const char *path, long us)
{
    const struct timespec time = { .tv_sec = TIME_S, .tv_nsec = us * 1000 };
    const struct timespec times[2] = { time, time };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline void put_file(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    set_time(path, 250000);
}

/* Records of one byte; a chunk has as many as it has bytes. */
static inline void put_recordio(const char *path, const char *letters, size_t chunk)
{
    struct recordio_writer *writer = NULL;

    assert_int_equal(recordio_writer_open(path, RECORDIO_NONE, chunk, &writer, NULL), 0);
    for (const char *c = letters; *c != '\0'; c++)
        assert_int_equal(recordio_write(writer, c, 1, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
}

static inline void open_alone(struct fixture *f, const char *paths, enum edl_record_kind kind,
                              uint64_t passes)
{
    f->records = edl_records_close(f->records);
    assert_int_equal(edl_records_open(NULL, paths, kind, passes, &f->records), 0);
}

/* assert_next - the record that comes next */
static inline void assert_next(struct fixture *f, const char *wanted)
{
    const void *data = NULL;
    size_t size = 0;

    assert_int_equal(edl_records_next(f->records, &data, &size), EDL_RECORD);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(data, wanted, size);
}

static inline void assert_no_record(struct fixture *f, int wanted)
{
    const void *data;
    size_t size;

    assert_int_equal(edl_records_next(f->records, &data, &size), wanted);
}

static inline void assert_fails(struct fixture *f, const char *words)
{
    assert_no_record(f, -EIO);
    if (strstr(edl_records_error(f->records), words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, edl_records_error(f->records));
}
