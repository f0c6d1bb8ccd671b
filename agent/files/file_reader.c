/* SPDX-License-Identifier: Apache-2.0 */
/* file_reader.c - see file_reader.h */
#include "agent/files/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files/file_frames.h"
#include "agent/files/file_walk.h"
#include "agent/logs/log_line.h"
#include "agent/logs/log_times.h"
#include "agent/logs/log_trim.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/file_listing.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define BIRTH_PREFIX "birth:"
#define LIST_NICE 19 /* checksums are computed while nothing else wants the processor */
#define CLOCKS_DIFFER_US (60 * USEC_PER_SEC)

/* ---- frames ---- */

/* send_frame - the agent reads when the scheduler takes more: this waits. It has gone when that
 * fails, and nobody is left to be told. */
static void send_frame(char kind, const char *data, size_t size)
{
    char frame[FILE_FRAME_BYTES];

    frame[0] = kind;
    if (size > 0)
        memcpy(frame + 1, data, size);
    if (write(STDOUT_FILENO, frame, size + 1) != (ssize_t)(size + 1))
        _exit(1);
}

static void send_failure(const struct edl_error *error)
{
    char kind = FILE_FRAME_FAILED;

    if (error->code == -ENOENT || error->code == -ENOTDIR || error->code == -ESTALE)
        kind = FILE_FRAME_GONE;
    else if (error->code == -EACCES || error->code == -EPERM || error->code == -ELOOP ||
             error->code == -EXDEV)
        kind = FILE_FRAME_DENIED;
    send_frame(kind, error->text, strlen(error->text));
}

static void end(int r, const struct edl_error *error)
{
    if (r < 0)
        send_failure(error);
    else
        send_frame(FILE_FRAME_END, NULL, 0);
}

/* ---- whose rights ---- */

static int parse_owner(const char *owner, uid_t *ret_uid, gid_t *ret_gid)
{
    const char *colon = strchr(owner, ':');
    char uid_text[24];
    uint64_t uid, gid;

    if (colon == NULL || (size_t)(colon - owner) >= sizeof uid_text)
        return -EINVAL;
    (void)snprintf(uid_text, sizeof uid_text, "%.*s", (int)(colon - owner), owner);
    if (parse_u64(uid_text, &uid) < 0 || parse_u64(colon + 1, &gid) < 0 || uid >= UINT32_MAX ||
        gid >= UINT32_MAX)
        return -EINVAL;
    *ret_uid = (uid_t)uid;
    *ret_gid = (gid_t)gid;
    return 0;
}

/* A number without a name has its own group alone. */
static int take_groups(uid_t uid, gid_t gid)
{
    const struct passwd *account = getpwuid(uid);
    int r = account != NULL ? initgroups(account->pw_name, gid) : setgroups(0, NULL);

    return r == -1 ? -errno : 0;
}

/* become - for good; the agent is root, and the files are somebody's whom it does not trust */
static int become(const char *owner, struct edl_error *error)
{
    uid_t uid;
    gid_t gid;
    int r;

    if (streq(owner, "-"))
        return 0;
    r = parse_owner(owner, &uid, &gid);
    if (r < 0)
        return edl_error_set(error, r, "\"%.40s\" is no owner", owner);
    if (uid == 0)
        return edl_error_set(error, -EPERM, "no file is read as root");
    r = take_groups(uid, gid);
    if (r < 0 || setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1)
        return edl_error_errno(error, r < 0 ? r : -errno, "cannot become the owner of the files");
    return 0;
}

/* prepare - not dumpable: the account's other processes must not look into what was root */
static int prepare(const char *owner, struct edl_error *error)
{
    pid_t agent = getppid();
    int r = become(owner, error);

    if (r < 0)
        return r;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 || prctl(PR_SET_DUMPABLE, 0) == -1 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
        return edl_error_errno(error, -errno, "cannot prepare the reader of files");
    if (getppid() != agent) /* it died before the line above */
        _exit(1);
    return 0;
}

static int open_root(const char *owner, const char *root, int *ret, struct edl_error *error)
{
    int r = prepare(owner, error);

    if (r < 0)
        return r;
    *ret = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret == -1 && errno == ENOENT)
        return edl_error_set(error, -ENOENT,
                             "its folder is not on this node any more, or was never made");
    return *ret == -1 ? edl_error_errno(error, -errno, "cannot open its folder %s", root) : 0;
}

/* ---- list ---- */

static int birth_of(int fd, uint64_t *ret_us, struct edl_error *error)
{
    struct statx stx;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) == -1)
        return edl_error_errno(error, -errno, "cannot look at its folder");
    *ret_us = 0; /* the file system does not know: all of it */
    if (stx.stx_mask & STATX_BTIME)
        *ret_us = (uint64_t)stx.stx_btime.tv_sec * USEC_PER_SEC + stx.stx_btime.tv_nsec / 1000;
    return 0;
}

/* parse_since - of a folder that was there before its job, what its archive brought is old by a
 * minute, whatever the clocks of the two machines say */
static int parse_since(int fd, const char *since, struct file_walk *walk, struct edl_error *error)
{
    const char *number = since;
    uint64_t birth_us = 0;
    int r = 0;

    walk->by_mtime = strncmp(since, BIRTH_PREFIX, sizeof BIRTH_PREFIX - 1) == 0;
    if (walk->by_mtime) {
        number += sizeof BIRTH_PREFIX - 1;
        r = birth_of(fd, &birth_us, error);
    }
    if (r == 0 && parse_u64(number, &walk->since_us) < 0)
        r = edl_error_set(error, -EINVAL, "\"%.40s\" is no time", since);
    if (r == 0 && walk->by_mtime)
        walk->since_us =
            MAX_OF(birth_us, walk->since_us - MIN_OF(walk->since_us, CLOCKS_DIFFER_US));
    return r;
}

static void send_lines(const char *lines, size_t size, void *userdata)
{
    (void)userdata;
    send_frame(FILE_FRAME_DATA, lines, size);
}

void file_reader_list(const char *owner, const char *root, const char *since, const char *pattern,
                      uint64_t sums_bytes)
{
    struct file_walk walk = { .pattern = pattern, .sums_bytes = sums_bytes, .send = send_lines };
    struct edl_error error = { 0 };
    _cleanup_close_ int fd = -1;
    int r = open_root(owner, root, &fd, &error);

    (void)setpriority(PRIO_PROCESS, 0, LIST_NICE);
    if (r == 0)
        r = parse_since(fd, since, &walk, &error);
    if (r == 0)
        r = file_walk(&walk, fd, &error);
    end(r, &error);
}

/* ---- send ---- */

/* open_below - a regular file, by a way without links; never waits for a writer */
static int open_below(int root_fd, const char *path, struct stat *ret_st, int *ret,
                      struct edl_error *error)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

    *ret = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
    if (*ret == -1 && errno == ENOENT)
        return edl_error_set(error, -ENOENT, "there is no file %.300s", path);
    if (*ret == -1 && errno == ELOOP)
        return edl_error_set(error, -ELOOP,
                             "%.300s is or lies behind a symbolic link, which is not followed",
                             path);
    if (*ret == -1)
        return edl_error_errno(error, -errno, "cannot open %.300s", path);
    if (fstat(*ret, ret_st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %.300s", path);
    return S_ISREG(ret_st->st_mode)
               ? 0
               : edl_error_set(error, -EPERM, "%.300s is not a regular file", path);
}

/* send_range - as far as the file goes: one that grows may be longer than it was listed, one that
 * was cut is shorter, and its checksum tells */
static int send_range(int fd, uint64_t offset, uint64_t bytes, struct edl_error *error)
{
    char data[FILE_FRAME_BYTES - 1];

    while (bytes > 0) {
        ssize_t n = pread(fd, data, MIN_OF(bytes, sizeof data), (off_t)offset);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "cannot read on at byte %llu",
                                   (unsigned long long)offset);
        if (n == 0)
            return 0;
        send_frame(FILE_FRAME_DATA, data, (size_t)n);
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

void file_reader_send(const char *owner, const char *root, const char *path, uint64_t offset,
                      uint64_t bytes)
{
    struct edl_error error = { 0 };
    _cleanup_close_ int root_fd = -1, fd = -1;
    struct stat st;
    int r = file_path_allowed(path)
                ? open_root(owner, root, &root_fd, &error)
                : edl_error_set(&error, -EPERM, "the path leads out of the folder");

    if (r == 0)
        r = open_below(root_fd, path, &st, &fd, &error);
    if (r == 0)
        r = send_range(fd, offset, bytes, &error);
    end(r, &error);
}

/* ---- logs ---- */

struct log_reader {
    int fd;
    uint64_t offset, end;
    uint64_t left; /* so many bytes at most are sent */
    bool chunks;   /* each behind a line that tells its place and its time */
    struct log_times times;
    char frame[FILE_FRAME_BYTES - 1];
    size_t used;
};

#define LOG_READ_BYTES 16384
#define LOG_HEAD_BYTES 80

static void flush_log(struct log_reader *reader)
{
    if (reader->used > 0)
        send_frame(FILE_FRAME_DATA, reader->frame, reader->used);
    reader->used = 0;
}

/* put_chunks - bytes of the log at reader->offset; those of one time are a chunk */
static void put_chunks(struct log_reader *reader, const char *data, size_t size)
{
    while (size > 0) {
        uint64_t end = UINT64_MAX;
        uint64_t wall_us = reader->chunks ? log_times_at(&reader->times, reader->offset, &end) : 0;
        size_t n = (size_t)MIN_OF((uint64_t)size, end - reader->offset);

        if (reader->used + LOG_HEAD_BYTES + n > sizeof reader->frame)
            flush_log(reader);
        if (reader->chunks)
            reader->used +=
                (size_t)snprintf(reader->frame + reader->used, LOG_HEAD_BYTES,
                                 "%" PRIu64 " %zu %" PRIu64 "\n", reader->offset, n, wall_us);
        memcpy(reader->frame + reader->used, data, n);
        reader->used += n;
        reader->offset += n;
        reader->left -= n;
        data += n;
        size -= n;
    }
}

/* send_log - the part that is held; its front may be cut off meanwhile, and reads as zeros then */
static int send_log(struct log_reader *reader, struct edl_error *error)
{
    char data[LOG_READ_BYTES];
    struct stat st;

    while (reader->offset < reader->end && reader->left > 0) {
        uint64_t wanted = MIN_OF(reader->end - reader->offset, reader->left);
        ssize_t n = pread(reader->fd, data, MIN_OF(wanted, sizeof data), (off_t)reader->offset);
        uint64_t held_from;

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 || fstat(reader->fd, &st) == -1)
            return edl_error_errno(error, -errno, "cannot read on at byte %llu",
                                   (unsigned long long)reader->offset);
        if (n == 0)
            break;
        held_from = log_held_from(reader->fd, (uint64_t)st.st_size);
        if (held_from > reader->offset)
            reader->offset = held_from;
        else
            put_chunks(reader, data, (size_t)n);
    }
    flush_log(reader);
    return 0;
}

static void read_times(struct log_reader *reader, int folder_fd, const char *name)
{
    _cleanup_free_ char *times = log_times_name(name);
    struct edl_error error = { 0 };
    _cleanup_close_ int fd = -1;
    struct stat st;

    (void)open_below(folder_fd, times, &st, &fd, &error); /* without it no time is known */
    log_times_read(fd, &reader->times);
}

/* skip_to - the first line that may have been written at since_us or later; tells where that is */
static void skip_to(struct log_reader *reader, uint64_t since_us, uint64_t size)
{
    uint64_t from = log_times_since(&reader->times, since_us);

    if (from >= size)
        reader->offset = MAX_OF(reader->offset, size);
    else if (from > reader->offset)
        reader->offset = MAX_OF(reader->offset, log_line_begin(reader->fd, from));
    reader->used =
        (size_t)snprintf(reader->frame, LOG_HEAD_BYTES, "%" PRIu64 " 0 0\n", reader->offset);
}

void file_reader_log(const char *folder, const char *name, const struct log_part *part)
{
    struct log_reader reader = {
        .offset = part->offset, .end = INT64_MAX, .left = part->bytes, .chunks = part->chunks
    };
    struct edl_error error = { 0 };
    _cleanup_close_ int folder_fd = -1, fd = -1;
    struct stat st;
    int r = open_root("-", folder, &folder_fd, &error);

    if (!part->chunks && part->bytes < INT64_MAX - part->offset)
        reader.end = part->offset + part->bytes;
    if (r == 0)
        r = open_below(folder_fd, name, &st, &fd, &error);
    reader.fd = fd;
    if (r == 0 && part->chunks)
        read_times(&reader, folder_fd, name);
    if (r == 0 && part->since_us > 0)
        skip_to(&reader, part->since_us, (uint64_t)st.st_size);
    if (r == 0)
        r = send_log(&reader, &error);
    log_times_clear(&reader.times);
    end(r, &error);
}
