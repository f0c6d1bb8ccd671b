/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ssh_lines.c - any bytes as a script's output: whole and byte by byte with the same lines */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* a sum of what was told, in order */
static bool add(void *userdata, const char *line, bool before)
{
    uint64_t *sum = userdata;

    if (strlen(line) > SSH_LINE_MAX)
        abort();
    for (; *line != '\0'; line++)
        *sum = *sum * 31 + (unsigned char)*line;
    *sum = *sum * 31 + before;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ssh_lines whole, bytes;
    uint64_t of_whole = 1, of_bytes = 1;

    ssh_lines_begin(&whole, "00");
    ssh_lines_begin(&bytes, "00");
    (void)ssh_lines_feed(&whole, (const char *)data, size, add, &of_whole);
    for (size_t i = 0; i < size; i++)
        (void)ssh_lines_feed(&bytes, (const char *)data + i, 1, add, &of_bytes);
    (void)ssh_lines_flush(&whole, add, &of_whole);
    (void)ssh_lines_flush(&bytes, add, &of_bytes);
    if (of_whole != of_bytes || whole.ended != bytes.ended || whole.status != bytes.status)
        abort();
    return 0;
}
