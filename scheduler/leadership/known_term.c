/* SPDX-License-Identifier: Apache-2.0 */
/* known_term.c - see known_term.h */
#include "scheduler/leadership/known_term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/options.h"
#include "scheduler/state.h"
#include "shared/cleanup.h"
#include "shared/whole_file.h"

uint64_t known_term_read(const struct scheduler_options *options)
{
    _cleanup_free_ char *text = NULL;
    char path[STATE_PATH_MAX];
    uint64_t term;

    state_path(options, KNOWN_TERM_FILE, path);
    if (access(path, F_OK) == -1 || whole_file_read(path, false, &text, NULL) < 0)
        return 0;
    term = strtoull(text, NULL, 10);
    return term < TERM_END ? term : 0;
}

int known_term_keep(const struct scheduler_options *options, uint64_t term, struct edl_error *error)
{
    char path[STATE_PATH_MAX], text[24];

    if (term <= known_term_read(options))
        return 0;
    state_path(options, KNOWN_TERM_FILE, path);
    (void)snprintf(text, sizeof text, "%" PRIu64 "\n", term);
    return whole_file_write(path, text, 0600, error);
}
