/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ignore_rules.c - any bytes as a file of rules, and as a path
 *
 * The first line is the path, the rest the file. The file's word on the path may be anything, but
 * it ends. The line that is told for a path leaves out that path. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"

#define PATH_BYTES 1000 /* so that its line fits a buffer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* usable - as a walk makes them: names with "/" between */
static bool usable(const char *path)
{
    size_t n = strlen(path);

    return n > 0 && path[0] != '/' && path[n - 1] != '/';
}

static void check_line(const char *path)
{
    char line[2 * PATH_BYTES + 8];
    struct ignore_rules *rules = NULL;

    for (int folder = 0; folder <= 1; folder++) {
        (void)ignore_rules_line(path, folder == 1, line, sizeof line);
        if (ignore_rules_parse(line, strlen(line), &rules, NULL) < 0 ||
            ignore_rules_judge(rules, path, folder == 1, NULL) != IGNORE_OUT)
            abort();
        rules = ignore_rules_free(rules);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = xcalloc(1, size + 1);
    struct ignore_rules *rules = NULL;
    char path[PATH_BYTES + 1] = "";
    size_t first;

    memcpy(text, data, size);
    first = MIN_OF(strcspn(text, "\n"), (size_t)PATH_BYTES);
    memcpy(path, text, first);
    if (!usable(path))
        return 0;
    if (ignore_rules_parse(text + first, size - first, &rules, NULL) == 0) {
        (void)ignore_rules_judge(rules, path, false, NULL);
        (void)ignore_rules_judge(rules, path, true, NULL);
    }
    (void)ignore_rules_free(rules);
    check_line(path);
    return 0;
}
