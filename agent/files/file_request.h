/* SPDX-License-Identifier: Apache-2.0 */
/* file_request.h - what the scheduler asks for of a process' files, checked
 *
 * Orders list what somebody waits for ("reads"). Each entry names a process and one of five
 * things: a list of files, the bytes of one file, the whole log, a part of it, a part with times.
 * Pure, but for the paths of layout.h.
 *
 * Used by: file_reads.c. Tests: tests/unit/test_file_request.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/process_id.h"

struct edl_error;
struct layout;
struct stat;

#define FILE_OWNER_SIZE 48
#define FILE_NAME_MAX 4000 /* of a path or a pattern, bytes */

enum file_request_kind {
    FILE_REQUEST_LIST,
    FILE_REQUEST_SEND,
    FILE_REQUEST_LOG,
    FILE_REQUEST_LOG_PART,
    FILE_REQUEST_LOG_CHUNKS
};

struct file_request {
    uint64_t id; /* of the scheduler's; never given twice */
    enum file_request_kind kind;
    struct process_id process;
    char *root;          /* folder that the files are in; owned, absolute */
    char *name;          /* pattern or path below root; "": no pattern; owned */
    bool copy;           /* root is this process' own copy of an archive */
    bool given;          /* root is a folder that the job names */
    bool unpacked;       /* root holds an archive: files have the times that they had in it */
    uint64_t offset;     /* of the first byte that is wanted */
    uint64_t bytes;      /* so many from there on, at most */
    uint64_t sums_bytes; /* a list has checksums of files of at most so many */
    char *user;          /* for whom it is, so that all have a share; "": not told; owned */
    /* no pattern: only what was changed since the job was submitted: so long before the start of
     * the process; and by the clock of a scheduler's of before, or where no start is noted */
    bool told_wait;
    uint64_t waited_us, since_us; /* since_us of a log: see struct log_part */
};

/* file_request_id - of an entry; 0: it has none, so nobody can be answered */
uint64_t file_request_id(const json_t *entry);

/* file_request_parse - an entry of "reads"; *ret is the caller's to clear
 * -EINVAL: a value that no scheduler sends; -EOPNOTSUPP: a request of a later version */
int file_request_parse(const json_t *entry, const struct layout *layout, struct file_request *ret,
                       struct edl_error *error);
void file_request_clear(struct file_request *request);

/* file_request_owner - whose rights its reader takes, where the agent is root: "UID:GID"
 * log, folder: what lstat(2) says of the log of the process and of request->root; NULL: not there.
 * The log belongs to the account that the process ran as; a folder that was made for the process
 * tells it as well, one that the job names does not. Root is no such account: a log stays root's
 * when the node refuses the process. Only with allow_root, and of a log that the supervisor marked
 * (LOG_MODE_RUNS), it is "-", no change of account.
 * -ENOENT: nothing ran; -EPERM: it ran as root, and this agent reads nothing as root */
int file_request_owner(const struct file_request *request, const struct stat *log,
                       const struct stat *folder, bool allow_root, char ret[FILE_OWNER_SIZE],
                       struct edl_error *error);
