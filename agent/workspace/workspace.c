/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - program edl-workspace: archives of workspaces, in a process of their own
 *
 * Reading an archive that somebody else made, and removing what somebody's program left behind, is
 * work that may take long or go wrong. So neither agent nor supervisor does it: this program has no
 * credential, no socket, one thing to do, and ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/file_reader.h"
#include "agent/logs/log_trim.h"
#include "agent/files/kept_outputs.h"
#include "agent/machine/node_clock.h"
#include "agent/processes/process_dir.h"
#include "agent/workspace/workspace_share.h"
#include "agent/workspace/workspace_sweep.h"
#include "agent/workspace/workspace_tell.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/printable.h"
#include "shared/workspace_pack.h"
#include "shared/workspace_unpack.h"

#define PACK_WANTED_MAX 8
#define MEMORY_MAX (UINT64_C(1) << 30) /* a compressed file may ask for as much as it likes */

static const char usage[] =
    "Usage: edl-workspace pack FOLDER ARCHIVE [WANTED]...\n"
    "       edl-workspace pack-within BYTES ENTRIES FOLDER ARCHIVE [WANTED]...\n"
    "       edl-workspace list FOLDER\n"
    "       edl-workspace unpack SHA256 <ARCHIVE\n"
    "       edl-workspace share SHA256 FOLDER SLOT <ARCHIVE\n"
    "       edl-workspace sweep COPIES_DIR PROCESSES_DIR TMP_DIR KEEP_US MAX_BYTES\n"
    "                           CLOCK_FILE CLOCK [WORK_DIR [JOB]...]\n"
    "       edl-workspace remove-folders TMP_DIR\n"
    "       edl-workspace trim LOGS_DIR PROCESSES_DIR EACH_BYTES OLD_BYTES\n"
    "       edl-workspace list-files OWNER FOLDER SINCE PATTERN SUMS_BYTES\n"
    "       edl-workspace send-file OWNER FOLDER PATH OFFSET BYTES\n"
    "       edl-workspace send-log FOLDER NAME [OFFSET BYTES [SINCE_US]]\n"
    "Packs a folder and tells its SHA-256 and size. Lists what it would pack. Unpacks an archive\n"
    "into the working directory, or into a folder unless that is there. Removes the copies that\n"
    "belong to no process folder. Keeps logs within their bounds. Reads files of processes for\n"
    "the agent, and removes their folders. See edl-workspace(8).\n";

static int pack_within(char **arguments, const struct unpack_limits *limits,
                       struct edl_error *error)
{
    _cleanup_close_ int fd = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct packed packed;
    const struct workspace_scan *scan = &packed.scan;
    const struct pack_watch watch = workspace_tell_watch(arguments + 2);
    int r = fd != -1 ? workspace_pack(arguments[0], fd, limits, &watch, &packed, error)
                     : edl_error_errno(error, -errno, "cannot make %s", arguments[1]);

    if (r < 0)
        return r;
    workspace_tell_notes(scan, false);
    (void)printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", packed.sha256,
                 packed.bytes, scan->files, scan->bytes, scan->out_files, scan->out_bytes);
    return fflush(stdout) == 0 ? 0 : edl_error_errno(error, -errno, "cannot write");
}

static int pack(char **arguments, struct edl_error *error)
{
    return pack_within(arguments, &unpack_limits_default, error);
}

/* pack_small - of a folder that nobody asked to send by its name: it has to be small */
static int pack_small(char **arguments, struct edl_error *error)
{
    struct unpack_limits limits = unpack_limits_default;

    if (parse_u64(arguments[0], &limits.bytes) < 0 || parse_u64(arguments[1], &limits.entries) < 0)
        return edl_error_set(error, -EINVAL, "%.40s or %.40s is no number", arguments[0],
                             arguments[1]);
    limits.excess = "too much to be sent unasked";
    return pack_within(arguments + 2, &limits, error);
}

/* put - three texts, each with a zero byte behind: names may hold any other */
static void put(const char *kind, const char *what, const char *path)
{
    (void)printf("%s%c%s%c%s%c", kind, 0, what, 0, path, 0);
}

static int list_taken(void *userdata, const struct walk_entry *entry, struct edl_error *error)
{
    char size[32];

    (void)userdata;
    (void)error;
    (void)snprintf(size, sizeof size, "%" PRIu64,
                   S_ISREG(entry->st->st_mode) ? (uint64_t)entry->st->st_size : 0);
    if (!S_ISDIR(entry->st->st_mode))
        put("+", size, entry->path);
    return 0;
}

static int list_left(void *userdata, const struct walk_entry *entry,
                     const struct walk_reason *reason, struct edl_error *error)
{
    char why[WORKSPACE_PATH_BYTES_MAX + 64];
    size_t used;

    (void)userdata;
    (void)error;
    (void)snprintf(why, sizeof why, "%s%s", reason->folder, walk_rule_name(reason->rule));
    used = strlen(why);
    if (reason->line > 0)
        (void)snprintf(why + used, sizeof why - used, ":%zu", reason->line);
    put(S_ISDIR(entry->st->st_mode) ? "-/" : "-", why, entry->path);
    return 0;
}

static int list(char **arguments, struct edl_error *error)
{
    const struct walk_visitor visitor = { .take = list_taken, .leave = list_left };
    struct workspace_scan scan;
    char sums[128];
    int r = workspace_scan(arguments[0], &unpack_limits_default, &visitor, &scan, error);

    if (r < 0)
        return r;
    (void)snprintf(sums, sizeof sums, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, scan.files,
                   scan.bytes, scan.out_files, scan.out_bytes);
    put("=", sums, "");
    workspace_tell_notes(&scan, true);
    return fflush(stdout) == 0 ? 0 : edl_error_errno(error, -errno, "cannot write");
}

/* What reads an archive may not ask for all memory, and what it writes is not for everybody. */
static int prepare(const char *sha256, struct edl_error *error)
{
#ifndef __SANITIZE_ADDRESS__ /* which maps all there is */
    const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };

    if (setrlimit(RLIMIT_AS, &memory) == -1)
        return edl_error_errno(error, -errno, "cannot limit the memory");
#endif
    if (!workspace_hex_valid(sha256))
        return edl_error_set(error, -EINVAL, "%.80s is not a SHA-256", sha256);
    (void)umask(0027);
    return 0;
}

static int unpack(char **arguments, struct edl_error *error)
{
    _cleanup_close_ int dir_fd = -1;
    int r = prepare(arguments[0], error);

    if (r < 0)
        return r;
    dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd == -1)
        return edl_error_errno(error, -errno, "cannot open the folder");
    return workspace_unpack(STDIN_FILENO, dir_fd, arguments[0], &unpack_limits_default, error);
}

static int share(char **arguments, struct edl_error *error)
{
    int r = prepare(arguments[0], error);

    return r < 0 ? r
                 : workspace_share(STDIN_FILENO, arguments[1], arguments[2], arguments[0], error);
}

/* parse_jobs - those behind the folder of private workspaces, if that is there */
static int parse_jobs(char **arguments, uint64_t **ret, size_t *ret_n, struct edl_error *error)
{
    size_t n = 0;

    for (char **job = arguments; *job != NULL && *++job != NULL;) {
        *ret = xreallocarray(*ret, n + 1, sizeof **ret);
        if (parse_u64(*job, &(*ret)[n++]) < 0)
            return edl_error_set(error, -EINVAL, "\"%.40s\" is no number of a job", *job);
    }
    *ret_n = n;
    return 0;
}

/* sweep - copies, private workspaces, and folders of TMPDIR that no process folder took with it */
static int sweep(char **arguments, struct edl_error *error)
{
    _cleanup_free_ uint64_t *jobs = NULL;
    struct sweep_work work = { .dir = arguments[7] };
    struct elapsed_record clock;
    struct kept_bounds bounds;
    size_t removed = 0, kept = 0;
    int r, tmp;

    if (parse_u64(arguments[3], &bounds.keep_us) < 0 ||
        parse_u64(arguments[4], &bounds.max_bytes) < 0)
        return edl_error_set(error, -EINVAL, "these are no bounds for kept copies");
    if (node_clock_parse(arguments[6], &clock) < 0)
        return edl_error_set(error, -EINVAL, "\"%.80s\" is no time", arguments[6]);
    bounds.now_us = clock.elapsed_us;
    (void)node_clock_write(arguments[5], arguments[6], NULL); /* a full disk is what we are for */
    r = parse_jobs(arguments + 7, &jobs, &work.n_jobs, error);
    if (r < 0)
        return r;
    work.jobs = jobs;
    tmp = workspace_sweep(arguments[2], arguments[1], &removed, error);
    r = workspace_sweep_kept(arguments[0], arguments[1], &work, &bounds, &removed, &kept, error);
    if (r == 0)
        r = tmp;
    return r == 0 && kept > 0 ? edl_error_set(error, -EAGAIN, "copies that are kept: %zu", kept)
                              : r;
}

static int trim(char **arguments, struct edl_error *error)
{
    struct log_bounds bounds;
    struct log_trimmed trimmed;
    int r;

    if (parse_u64(arguments[2], &bounds.each_bytes) < 0 ||
        bounds.each_bytes < LOG_MAX_LEAST_BYTES || parse_u64(arguments[3], &bounds.old_bytes) < 0)
        return edl_error_set(error, -EINVAL, "these are no bounds of logs");
    r = log_trim(arguments[0], arguments[1], &bounds, &trimmed, error);
    if (r == 0 && trimmed.refused > 0)
        r = edl_error_set(error, -EOPNOTSUPP, "logs that cannot be shortened here: %zu",
                          trimmed.refused);
    return r;
}

/* Of the next three what goes wrong is told to the agent. */
static int list_files(char **arguments, struct edl_error *error)
{
    uint64_t sums_bytes;

    if (parse_u64(arguments[4], &sums_bytes) < 0)
        return edl_error_set(error, -EINVAL, "SUMS_BYTES is no number of bytes");
    file_reader_list(arguments[0], arguments[1], arguments[2], arguments[3], sums_bytes);
    return 0;
}

static int send_file(char **arguments, struct edl_error *error)
{
    uint64_t offset, bytes;

    if (parse_u64(arguments[3], &offset) < 0 || parse_u64(arguments[4], &bytes) < 0)
        return edl_error_set(error, -EINVAL, "this is no part of a file");
    file_reader_send(arguments[0], arguments[1], arguments[2], offset, bytes);
    return 0;
}

static int send_log(char **arguments, struct edl_error *error)
{
    struct log_part part = { .bytes = INT64_MAX };

    if (arguments[2] != NULL &&
        (parse_u64(arguments[2], &part.offset) < 0 || part.offset > INT64_MAX ||
         arguments[3] == NULL || parse_u64(arguments[3], &part.bytes) < 0))
        return edl_error_set(error, -EINVAL, "this is no part of a log");
    part.chunks = arguments[2] != NULL && arguments[4] != NULL;
    if (part.chunks && parse_u64(arguments[4], &part.since_us) < 0)
        return edl_error_set(error, -EINVAL, "SINCE_US is no time");
    file_reader_log(arguments[0], arguments[1], &part);
    return 0;
}

/* exit_status - no_place: what -ENOTDIR means in this mode */
static int exit_status(const struct edl_error *error, int no_place)
{
    if (error->code == -EOPNOTSUPP)
        return LOG_TRIM_REFUSED;
    if (error->code == -EAGAIN)
        return SWEEP_KEEPS;
    switch (error->code) {
    case 0:
        return 0;
    case -ENOTDIR:
        return no_place;
    case EDL_ECORRUPT:
        return UNPACK_EXIT_DAMAGED;
    case -ENOSPC:
    case -EDQUOT:
        return UNPACK_EXIT_FULL;
    case -EPERM:
    case -EINVAL:
    case -E2BIG:
        return UNPACK_EXIT_BAD;
    default:
        return 1;
    }
}

/* remove_process - and the folder of its name in TMP_DIR before. What cannot be removed there is
 * for the next sweep. */
static int remove_process(const char *path, int tmp_fd, struct edl_error *error)
{
    const char *slash = strrchr(path, '/');
    int tmp = slash != NULL ? workspace_remove(tmp_fd, slash + 1, error) : 0;
    int r = process_dir_remove(path, error);

    return r < 0 ? r : tmp;
}

/* remove_folders - of processes: one path a message, and one message back when it is removed */
static int remove_folders(char **arguments, struct edl_error *error)
{
    _cleanup_close_ int tmp_fd = open(arguments[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[PATH_MAX];
    ssize_t n;

    if (tmp_fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", arguments[0]);
    while ((n = read(STDIN_FILENO, path, sizeof path - 1)) > 0) {
        struct edl_error failure = { 0 };

        path[n] = '\0';
        if (remove_process(path, tmp_fd, &failure) < 0)
            (void)fprintf(stderr, "edl-workspace: %s\n", failure.text);
        if (write(STDOUT_FILENO, ".", 1) != 1)
            return edl_error_errno(error, -errno, "cannot write");
    }
    return 0;
}

static const struct {
    const char *name;
    int n_arguments, n_more; /* that may be given beyond them */
    int (*run)(char **arguments, struct edl_error *error);
    int no_place; /* exit status for a folder that is none */
} modes[] = {
    { "pack", 2, PACK_WANTED_MAX, pack, 1 },
    { "pack-within", 4, PACK_WANTED_MAX, pack_small, 1 },
    { "list", 1, 0, list, 1 },
    { "unpack", 1, 0, unpack, 1 },
    { "share", 3, 0, share, SHARE_EXIT_NO_PLACE },
    { "sweep", 7, 1 + SWEEP_JOBS_MAX, sweep, 1 },
    { "trim", 4, 0, trim, 1 },
    { "remove-folders", 1, 0, remove_folders, 1 },
    { "list-files", 5, 0, list_files, 1 },
    { "send-file", 5, 0, send_file, 1 },
    { "send-log", 2, 3, send_log, 1 },
};

int main(int argc, char **argv)
{
    struct edl_error error = { 0 };

    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-workspace %s\n", EDL_VERSION);
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < ELEMENTS(modes); i++) {
        if (!streq(argv[1], modes[i].name) || argc - 2 < modes[i].n_arguments ||
            argc - 2 > modes[i].n_arguments + modes[i].n_more)
            continue;
        if (modes[i].run(argv + 2, &error) == 0 || error.code == -EAGAIN)
            return exit_status(&error, modes[i].no_place);
        printable_mask(error.text, strlen(error.text), "");
        printable_mask(error.remedy, strlen(error.remedy), "");
        (void)fprintf(stderr, "%s%s%s\n", error.text, error.remedy[0] != '\0' ? "\n  " : "",
                      error.remedy);
        return exit_status(&error, modes[i].no_place);
    }
    (void)fputs(usage, argc == 2 && streq(argv[1], "--help") ? stdout : stderr);
    return argc == 2 && streq(argv[1], "--help") ? 0 : 2;
}
