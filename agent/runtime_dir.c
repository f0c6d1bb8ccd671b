/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_dir.c - which folder holds the process folders and the lease */
#include "agent/runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

static bool holds_processes(const char *runtime_dir)
{
    _cleanup_free_ char *path = text_format("%s/processes", runtime_dir);
    _cleanup_closedir_ DIR *folders = opendir(path);
    const struct dirent *entry;
    struct process_id id;

    while (folders != NULL && (entry = readdir(folders)) != NULL)
        if (process_id_parse(entry->d_name, &id) == 0)
            return true;
    return false;
}

/* record - the link is replaced as a whole: there is always one that says the truth, since the
 * folder that it names until then holds nothing */
static int record(const char *link, const char *runtime_dir, struct edl_error *error)
{
    _cleanup_free_ char *temporary = text_format("%s.tmp", link);

    (void)unlink(temporary);
    if (symlink(runtime_dir, temporary) == -1 || rename(temporary, link) == -1)
        return edl_error_errno(error, -errno, "cannot record the runtime folder in %s", link);
    return name_sync(link, error);
}

int runtime_dir_choose(const char *state_dir, const char *wanted, char **ret,
                       struct edl_error *error)
{
    _cleanup_free_ char *link = text_format("%s/runtime", state_dir);
    _cleanup_free_ char *made = NULL;
    char last[PATH_MAX];
    ssize_t n = readlink(link, last, sizeof last - 1);
    int r = folder_absolute(wanted != NULL ? wanted : state_dir, 0700, &made, error);

    if (r == 0)
        r = folder_protected(made, error);
    if (r < 0)
        return r;
    if (n > 0)
        last[n] = '\0';
    else
        (void)snprintf(last, sizeof last, "%s", state_dir);
    if (streq(made, last)) {
        *ret = TAKE_PTR(made);
        return 0;
    }
    if (holds_processes(last)) {
        log_warning("process folders stay in %s until an agent starts that finds none there", last);
        *ret = xstrdup(last);
        return 0;
    }
    r = record(link, made, error);
    if (r == 0)
        *ret = TAKE_PTR(made);
    return r;
}
