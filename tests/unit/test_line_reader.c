/* SPDX-License-Identifier: Apache-2.0 */
/* test_line_reader.c - lines of any file: short, longer than a block, without an end, too long */
#include "shared/line_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static int file_of(const void *bytes, size_t size)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

TEST(test_lines)
{
    static const struct {
        const char *text;
        size_t size;
        const char *lines[4]; /* NULL ends them */
    } rows[] = {
        { "", 0, { NULL } },
        { "\n", 1, { "", NULL } },
        { "a", 1, { "a", NULL } },
        { "a\n", 2, { "a", NULL } },
        { "\na", 2, { "", "a", NULL } },
        { "ab\r\n\nc", 6, { "ab\r", "", "c", NULL } },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_close_ int fd = file_of(rows[i].text, rows[i].size);
        struct line_reader reader;
        const uint8_t *line = NULL;
        size_t size = 0;

        line_reader_init(&reader, fd);
        for (size_t j = 0; rows[i].lines[j] != NULL; j++) {
            assert_int_equal(line_reader_next(&reader, &line, &size), 1);
            assert_int_equal(size, strlen(rows[i].lines[j]));
            assert_memory_equal(line, rows[i].lines[j], size);
        }
        assert_int_equal(line_reader_next(&reader, &line, &size), 0);
        assert_int_equal(line_reader_next(&reader, &line, &size), 0);
        assert_int_equal(reader.offset_bytes, rows[i].size);
        line_reader_clear(&reader);
    }
}

/* Lines that are longer than what is read at a time, with NUL bytes in them. */
TEST(test_long_lines)
{
    const size_t n = 3 * 1024 * 1024;
    _cleanup_free_ uint8_t *bytes = xcalloc(1, n);
    struct line_reader reader;
    const uint8_t *line = NULL;
    size_t size = 0, begin = 0;

    for (size_t i = 1000; i < n; i = i * 2 + 1)
        bytes[i] = '\n';

    _cleanup_close_ int fd = file_of(bytes, n);

    line_reader_init(&reader, fd);
    for (size_t i = 1000; i < n; i = i * 2 + 1) {
        assert_int_equal(line_reader_next(&reader, &line, &size), 1);
        assert_int_equal(size, i - begin);
        begin = i + 1;
        assert_int_equal(reader.offset_bytes, begin);
    }
    assert_int_equal(line_reader_next(&reader, &line, &size), 1);
    assert_int_equal(size, n - begin);
    assert_int_equal(line_reader_next(&reader, &line, &size), 0);
    line_reader_clear(&reader);
}

TEST(test_refused)
{
    _cleanup_close_ int fd = memfd_create("long", MFD_CLOEXEC);
    struct line_reader reader;
    const uint8_t *line = NULL;
    size_t size = 0;

    assert_int_equal(ftruncate(fd, (off_t)LINE_BYTES_MAX * 4), 0);
    line_reader_init(&reader, fd);
    assert_int_equal(line_reader_next(&reader, &line, &size), -E2BIG);
    assert_true(reader.room <= (size_t)LINE_BYTES_MAX * 4); /* it has not read on and on */
    line_reader_clear(&reader);
    line_reader_init(&reader, -1);
    assert_int_equal(line_reader_next(&reader, &line, &size), -EBADF);
    line_reader_clear(&reader);
}
