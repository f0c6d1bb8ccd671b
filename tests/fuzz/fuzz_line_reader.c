/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_line_reader.c - any bytes as a text: its lines, put together again, are the text */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/line_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("fuzz_line_reader", MFD_CLOEXEC);
    struct line_reader reader;
    const uint8_t *line = NULL;
    size_t length = 0, at = 0;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    line_reader_init(&reader, fd);
    while (line_reader_next(&reader, &line, &length) == 1) {
        if (length > size - at || memcmp(data + at, line, length) != 0 ||
            memchr(line, '\n', length) != NULL)
            abort();
        at += length;
        if (at < size && data[at++] != '\n')
            abort();
        if (reader.offset_bytes != at)
            abort();
    }
    if (at != size)
        abort();
    line_reader_clear(&reader);
    return 0;
}
