/* SPDX-License-Identifier: Apache-2.0 */
/* log_names.c - see log_names.h
 *
 * There, train.log and server.log are the terminal output of the two programs, the .INFO files
 * their glog, links to the newest as well. Ours write one log each. */
#include "agent/logs/log_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

#define NAMES 2

static const struct program_names {
    const char *program;
    const char *names[NAMES];
} known[] = {
    { "edl-trainer", { "train.log", "paddle_trainer.INFO" } },
    { "edl-pserver", { "server.log", "paddle_pserver2.INFO" } },
};

/* names_of - by the words of its command, one of which may be a script of the shell's */
static const struct program_names *names_of(const json_t *order)
{
    size_t i;
    json_t *word;

    json_array_foreach(json_object_get(order, "argv"), i, word)
    {
        for (size_t j = 0; j < ELEMENTS(known); j++)
            if (json_is_string(word) && strstr(json_string_value(word), known[j].program) != NULL)
                return &known[j];
    }
    return NULL;
}

/* point - the name is never missing in between */
static int point(int folder_fd, const char *name, const char *target)
{
    char temporary[40];

    (void)snprintf(temporary, sizeof temporary, ".%s", name);
    (void)unlinkat(folder_fd, temporary, 0);
    if (symlinkat(target, folder_fd, temporary) == -1 ||
        renameat(folder_fd, temporary, folder_fd, name) == -1)
        return -errno;
    return 0;
}

void log_names_point(const struct layout *layout, const struct process_id *id, const json_t *order)
{
    const struct program_names *names = names_of(order);
    _cleanup_free_ char *path = layout_log_path(layout, id);
    _cleanup_close_ int fd = -1;
    char *slash = strrchr(path, '/');
    int r = 0;

    if (names == NULL)
        return;
    *slash = '\0';
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1)
        r = -errno;
    for (size_t i = 0; r == 0 && i < NAMES; i++)
        r = point(fd, names->names[i], slash + 1);
    if (r < 0)
        log_warning("%s has no %s: %s", path, names->names[0], strerror(-r));
}
