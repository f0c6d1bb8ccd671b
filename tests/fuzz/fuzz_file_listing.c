/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_file_listing.c - any bytes as a node's list of files, line by line
 *
 * An accepted listing leads nowhere else, and is written again as it was meant. */
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/file_listing.h"
#include "shared/macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* taken - the path below a folder, and the entry the same after another journey */
static void taken(const struct file_entry *entry)
{
    json_t *json = file_entry_json(entry);
    char *line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    struct file_entry back;
    struct file_sums sums;

    if (line == NULL || entry->path[0] == '/' || strncmp(entry->path, "../", 3) == 0 ||
        strstr(entry->path, "/../") != NULL || strpbrk(entry->path, "\n\r\033") != NULL)
        abort();
    if (strlen(line) <= FILE_LISTING_LINE_BYTES &&
        (file_listing_parse(line, strlen(line), &back, &sums, NULL) != 0 ||
         !streq(back.path, entry->path) || back.bytes != entry->bytes ||
         back.mtime_us != entry->mtime_us || back.mode != entry->mode))
        abort();
    free(line);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data, *end = line + size;

    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((next != NULL ? next : end) - line);
        struct edl_error error = { 0 };
        struct file_entry entry;
        struct file_sums sums;
        int r = file_listing_parse(line, n, &entry, &sums, &error);

        if (r == 0)
            taken(&entry);
        else if (r < 0 && error.text[0] == '\0')
            abort();
        line += n + 1;
    }
    return 0;
}
