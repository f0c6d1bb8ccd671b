/* SPDX-License-Identifier: Apache-2.0 */
/* restore_archives.c - see restore_archives.h */
#include "scheduler/restore_archives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uthash.h>

#include "scheduler/core/core.h"
#include "scheduler/options.h"
#include "scheduler/state.h"
#include "scheduler/store/copy/copy.h"
#include "shared/macro.h"
#include "shared/workspace_id.h"

struct needed_archive {
    char sha256[WORKSPACE_HEX + 1];
    char user[ACCOUNT_NAME_MAX + 1];
    uint64_t job; /* the first that needs it */
    UT_hash_handle hh;
};

static void add(struct needed_archives *needed, const struct job *job, const char *sha256)
{
    struct needed_archive *archive;

    HASH_FIND_STR(needed->all, sha256, archive);
    if (archive != NULL)
        return;
    archive = xcalloc(1, sizeof *archive);
    (void)snprintf(archive->sha256, sizeof archive->sha256, "%s", sha256);
    (void)snprintf(archive->user, sizeof archive->user, "%s", job->user);
    archive->job = job->id;
    HASH_ADD_STR(needed->all, sha256, archive);
}

void needed_archives_add(struct needed_archives *needed, const struct cluster *cluster)
{
    for (const struct job *job = cluster_active_jobs(cluster); job != NULL; job = job->active_next)
        for (uint32_t i = 0; i < job->spec->n_roles; i++) {
            const char *sha256 = workspace_hash(job->spec->roles[i].workspace);

            if (sha256 != NULL)
                add(needed, job, sha256);
        }
}

static void drop(struct needed_archives *needed, struct needed_archive *archive)
{
    HASH_DEL(needed->all, archive);
    free(archive);
}

void needed_archives_in_folder(struct needed_archives *needed,
                               const struct scheduler_options *options)
{
    struct needed_archive *archive, *next;

    HASH_ITER(hh, needed->all, archive, next)
    {
        char path[STATE_PATH_MAX], name[sizeof "workspaces/" + WORKSPACE_HEX];

        (void)snprintf(name, sizeof name, "workspaces/%s", archive->sha256);
        state_path(options, name, path);
        if (access(path, F_OK) == 0)
            drop(needed, archive);
    }
}

void needed_archives_in_rows(struct needed_archives *needed, struct copy_place *place)
{
    struct needed_archive *archive, *next;

    HASH_ITER(hh, needed->all, archive, next)
    {
        char sql[200];

        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM workspace WHERE sha256 = '%s'",
                       archive->sha256);
        if (place->calls->number(place, sql) > 0)
            drop(needed, archive);
    }
}

char *needed_archives_text(const struct needed_archives *needed, size_t *ret_n)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    *ret_n = HASH_COUNT(needed->all);
    if (*ret_n == 0)
        return NULL;
    out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    for (const struct needed_archive *at = needed->all; at != NULL; at = at->hh.next)
        (void)fprintf(out, "  sha256:%s  job %" PRIu64 " of %s\n", at->sha256, at->job,
                      at->user[0] != '\0' ? at->user : "an admin");
    (void)fclose(out);
    return text;
}

void needed_archives_done(struct needed_archives *needed)
{
    struct needed_archive *archive, *next;

    HASH_ITER(hh, needed->all, archive, next)
    drop(needed, archive);
}
