/* SPDX-License-Identifier: Apache-2.0 */
/* visit_record.c - see visit_record.h */
#include "agent/drop_ins/visit_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/processes/process_dir.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define FILE_NAME "record.json"

static const char *const stages[] = {
    [VISIT_STAGE_PROLOG] = "prolog", [VISIT_STAGE_OPEN] = "open", [VISIT_STAGE_EPILOG] = "epilog"
};

void visit_record_done(struct visit_record *record)
{
    free(record->job);
    free(record->user);
    free(record->gpus);
    *record = (struct visit_record){ .job = NULL };
}

/* is_there - the folder was not removed by who held its lock before */
static bool is_there(int fd, const char *path)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

int visit_open(const char *path, int *ret_fd, struct edl_error *error)
{
    for (;;) {
        _cleanup_close_ int fd = -1;
        int r = folder_make(path, 0700, error);

        if (r < 0)
            return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd == -1 && errno == ENOENT)
            continue;
        if (fd == -1 || flock(fd, LOCK_EX) == -1)
            return edl_error_errno(error, -errno, "cannot lock %s", path);
        if (!is_there(fd, path))
            continue;
        *ret_fd = TAKE_FD(fd);
        return 0;
    }
}

static int stage_of(const char *word)
{
    for (unsigned i = 0; i < ELEMENTS(stages); i++)
        if (streq(word, stages[i]))
            return (int)i;
    return -EINVAL;
}

int visit_read(int fd, struct visit_record *ret, struct edl_error *error)
{
    json_t *json = NULL;
    int stage, r = file_read_json(fd, FILE_NAME, &json, error);

    *ret = (struct visit_record){ .job = NULL };
    if (r < 0)
        return r;
    stage = stage_of(json_text(json, "stage"));
    if (stage < 0 || json_u64(json, "job_id") == 0) {
        json_decref(json);
        return edl_error_set(error, EDL_ECORRUPT, FILE_NAME " is damaged");
    }
    *ret = (struct visit_record){ .stage = (enum visit_stage)stage,
                                  .job_id = json_u64(json, "job_id"),
                                  .job = xstrdup(json_text(json, "job")),
                                  .user = xstrdup(json_text(json, "user")),
                                  .uid = (uid_t)json_u64(json, "uid"),
                                  .gid = (gid_t)json_u64(json, "gid"),
                                  .gpus = xstrdup(json_text(json, "gpus")) };
    json_decref(json);
    return 0;
}

int visit_write(int fd, const struct visit_record *record, struct edl_error *error)
{
    json_t *json =
        json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:s}", "stage", stages[record->stage], "job_id",
                  (json_int_t)record->job_id, "job", record->job, "user", record->user, "uid",
                  (json_int_t)record->uid, "gid", (json_int_t)record->gid, "gpus", record->gpus);
    _cleanup_free_ char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;

    json_decref(json);
    if (text == NULL)
        return edl_error_set(error, -EINVAL, "cannot write " FILE_NAME ": not valid text");
    return file_write_atomic(fd, FILE_NAME, text, strlen(text), 0600, error);
}

void visit_remove(int fd, const char *path)
{
    (void)unlinkat(fd, FILE_NAME, 0);
    (void)unlinkat(fd, "." FILE_NAME ".tmp", 0); /* of a write that was cut */
    (void)rmdir(path);
}
