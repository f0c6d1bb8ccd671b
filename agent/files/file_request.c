/* SPDX-License-Identifier: Apache-2.0 */
/* file_request.c - see file_request.h */
#include "agent/files/file_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/environment.h"
#include "agent/layout.h"
#include "agent/logs/log_file.h"
#include "agent/processes/process_id_json.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/workspace_id.h"

uint64_t file_request_id(const json_t *entry)
{
    return json_u64(entry, "read");
}

static int parse_kind(const char *word, enum file_request_kind *ret, struct edl_error *error)
{
    static const char *const words[] = {
        [FILE_REQUEST_LIST] = "list",
        [FILE_REQUEST_SEND] = "send",
        [FILE_REQUEST_LOG] = "log",
        [FILE_REQUEST_LOG_PART] = "log-part",
        [FILE_REQUEST_LOG_CHUNKS] = "log-chunks",
    };

    for (size_t i = 0; i < ELEMENTS(words); i++) {
        if (streq(words[i], word)) {
            *ret = (enum file_request_kind)i;
            return 0;
        }
    }
    (void)edl_error_set(error, -EOPNOTSUPP, "this agent (%s) knows no request \"%.20s\"",
                        EDL_VERSION, word);
    return edl_error_remedy(error, "upgrade edl-agent on this node");
}

/* find_root - the working folder of the process, or the job's output folder on this node */
static int find_root(const json_t *entry, const struct layout *layout, struct file_request *request,
                     struct edl_error *error)
{
    const char *folder = json_text(entry, "folder");
    const char *workspace = json_text(entry, "workspace");

    if (streq(folder, "output")) {
        if (!environment_job_name_valid(json_text(entry, "job")))
            return edl_error_set(error, -EINVAL, "'job' is no name of a job");
        request->root =
            environment_output_dir(layout, json_text(entry, "job"), request->process.job_id);
        return 0;
    }
    if (!streq(folder, "workspace"))
        return edl_error_set(error, -EINVAL, "'folder' is neither workspace nor output");
    request->copy = workspace_hash(workspace) != NULL;
    request->given = !request->copy && workspace[0] != '\0';
    request->unpacked =
        request->copy || (request->given && json_is_true(json_object_get(entry, "unpacked")));
    if (request->given && workspace[0] != '/')
        return edl_error_set(error, -EINVAL, "'workspace' is no absolute path");
    request->root = environment_workspace(layout, &request->process, workspace);
    return 0;
}

int file_request_parse(const json_t *entry, const struct layout *layout, struct file_request *ret,
                       struct edl_error *error)
{
    struct file_request request = { .id = file_request_id(entry),
                                    .offset = json_u64(entry, "offset"),
                                    .bytes = UINT64_MAX,
                                    .sums_bytes = UINT64_MAX,
                                    .told_wait =
                                        json_is_integer(json_object_get(entry, "waited_us")),
                                    .waited_us = json_u64(entry, "waited_us"),
                                    .since_us = json_u64(entry, "since_us") };
    const char *name = json_text(entry, "name");
    int r = parse_kind(json_text(entry, "what"), &request.kind, error);

    if (r == 0)
        r = process_id_from_json(entry, &request.process, error);
    if (r == 0 && strlen(name) > FILE_NAME_MAX)
        r = edl_error_set(error, -EINVAL, "'name' has more than %d bytes", FILE_NAME_MAX);
    if (r == 0 && request.kind < FILE_REQUEST_LOG)
        r = find_root(entry, layout, &request, error);
    if (r < 0)
        return r;
    if (json_is_integer(json_object_get(entry, "bytes")))
        request.bytes = json_u64(entry, "bytes");
    if (json_is_integer(json_object_get(entry, "sums_bytes")))
        request.sums_bytes = json_u64(entry, "sums_bytes");
    request.user = xstrdup(json_text(entry, "user"));
    request.name = xstrdup(name);
    *ret = request;
    return 0;
}

static bool belongs_to_account(const struct stat *st)
{
    return st != NULL && st->st_uid != 0;
}

int file_request_owner(const struct file_request *request, const struct stat *log,
                       const struct stat *folder, bool allow_root, char ret[FILE_OWNER_SIZE],
                       struct edl_error *error)
{
    const struct stat *st = log;

    if (!belongs_to_account(st) && !request->given)
        st = folder;
    if (belongs_to_account(st)) {
        (void)snprintf(ret, FILE_OWNER_SIZE, "%lu:%lu", (unsigned long)st->st_uid,
                       (unsigned long)st->st_gid);
        return 0;
    }
    if (log == NULL || (log->st_mode & 0777) != LOG_MODE_RUNS)
        return edl_error_set(error, -ENOENT, "the process has left nothing on this node");
    if (!allow_root) {
        (void)edl_error_set(error, -EPERM,
                            "the process ran as root, and this agent reads no file as root");
        return edl_error_remedy(error, "start edl-agent there with --allow-root");
    }
    (void)snprintf(ret, FILE_OWNER_SIZE, "-");
    return 0;
}

void file_request_clear(struct file_request *request)
{
    free(request->root);
    free(request->name);
    free(request->user);
    *request = (struct file_request){ 0 };
}
