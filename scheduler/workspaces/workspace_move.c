/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_move.c - see workspace_move.h */
#include "scheduler/workspaces/workspace_move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "scheduler/store/copy/copy.h"
#include "scheduler/store/copy/copy_line.h"
#include "scheduler/store/postgresql/postgresql_copy.h"
#include "scheduler/store/store_workspaces.h"
#include "scheduler/workspaces/workspaces_internal.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define COMING ".moving" /* a start removes one that was left: it is no digest */
#define MIB ((uint64_t)1 << 20)
#define BLOCK_BYTES 4096    /* that the least file takes */
#define PIECE_NAME_BYTES 80 /* of a line, before its digits and behind them */

/* An archive, as a row tells it, or a file. */
struct archive {
    char sha256[WORKSPACE_HEX + 1];
    char sender[WORKSPACE_SENDER_MAX + 1];
    char *owners; /* owned */
    uint64_t bytes;
    bool made; /* a file that was not there before */
    bool gone; /* it stayed behind */
};

struct archives {
    struct archive *all; /* owned */
    size_t n, room;
    uint64_t bytes;
};

static void archives_done(struct archives *archives)
{
    for (size_t i = 0; i < archives->n; i++)
        free(archives->all[i].owners);
    free(archives->all);
}

static struct archive *archives_add(struct archives *archives)
{
    if (archives->n == archives->room) {
        archives->room = MAX_OF(2 * archives->room, (size_t)64);
        archives->all = xreallocarray(archives->all, archives->room, sizeof *archives->all);
    }
    archives->all[archives->n] = (struct archive){ .bytes = 0 };
    return &archives->all[archives->n++];
}

void workspace_moved_done(struct workspace_moved *moved)
{
    free(moved->damaged);
    *moved = (struct workspace_moved){ .n = 0 };
}

static void stays_behind(struct workspace_move *move, struct archive *archive)
{
    struct workspace_moved *moved = &move->moved;
    char *lines = NULL;

    if (asprintf(&lines, "%s  %s\n", moved->damaged != NULL ? moved->damaged : "",
                 archive->sha256) == -1)
        abort();
    free(moved->damaged);
    moved->damaged = lines;
    moved->n_damaged++;
    archive->gone = true;
}

static void tell(const struct workspace_move *move, const char *doing, uint64_t bytes, uint64_t all)
{
    const struct copy_wishes *wishes = move->wishes;

    if (wishes != NULL && wishes->progress != NULL && all >= MIB)
        wishes->progress("archives of workspaces", doing, bytes / MIB, all / MIB, wishes->userdata);
}

/* ---- the folder ---- */

static int open_folder(const char *path, struct edl_error *error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd != -1 ? fd : edl_error_errno(error, -errno, "opening %s", path);
}

static int make_folder(const char *path, struct edl_error *error)
{
    if (mkdir(path, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making %s", path);
    return open_folder(path, error);
}

static bool has_file(int dir_fd, const struct archive *archive)
{
    struct stat st;

    return fstatat(dir_fd, archive->sha256, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == archive->bytes;
}

static int open_archive(int dir_fd, const struct archive *archive, struct edl_error *error)
{
    int fd = openat(dir_fd, archive->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd != -1 ? fd
                    : edl_error_errno(error, -errno, "opening the archive %s", archive->sha256);
}

typedef int (*piece_fn)(uint64_t number, const char *data, size_t size, void *userdata,
                        struct edl_error *error);

static ssize_t read_whole(int fd, char *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, data + done, size - done);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* each_piece - of a file, from its begin */
static int each_piece(int fd, const char *sha256, piece_fn fn, void *userdata,
                      struct edl_error *error)
{
    _cleanup_free_ char *data = xcalloc(WORKSPACE_PIECE_BYTES, 1);
    uint64_t number = 0;
    ssize_t n;
    int r = 0;

    if (lseek(fd, 0, SEEK_SET) == -1)
        return edl_error_errno(error, -errno, "reading the archive %s", sha256);
    while (r == 0 && (n = read_whole(fd, data, WORKSPACE_PIECE_BYTES)) != 0)
        r = n < 0 ? edl_error_errno(error, (int)n, "reading the archive %s", sha256)
                  : fn(number++, data, (size_t)n, userdata, error);
    return r;
}

/* ---- bytes that are summed up, and go into a file or not ---- */

struct sink {
    struct content_hash *hash; /* owned */
    uint64_t bytes;
    int fd;      /* -1: they are only summed up */
    char *piece; /* owned; of a row, made of its digits */
    const struct workspace_move *move;
    const char *doing; /* NULL: it is not told */
    uint64_t before_bytes, all_bytes;
};

static int sink_new(struct sink *ret, int fd, struct edl_error *error)
{
    *ret = (struct sink){ .fd = fd, .piece = xcalloc(WORKSPACE_PIECE_BYTES, 1) };
    return content_hash_new(&ret->hash, error);
}

/* sink_end - whether it was that archive; frees */
static bool sink_end(struct sink *sink, const struct archive *archive)
{
    char hex[WORKSPACE_HEX + 1] = "";

    if (sink->hash != NULL)
        content_hash_end(sink->hash, hex);
    (void)content_hash_free(sink->hash);
    free(sink->piece);
    return streq(hex, archive->sha256) && sink->bytes == archive->bytes;
}

static int sink_add(uint64_t number, const char *data, size_t size, void *userdata,
                    struct edl_error *error)
{
    struct sink *sink = userdata;

    (void)number;
    content_hash_add(sink->hash, data, size);
    sink->bytes += size;
    if (sink->doing != NULL)
        tell(sink->move, sink->doing, sink->before_bytes + sink->bytes, sink->all_bytes);
    return sink->fd == -1 ? 0 : workspace_write(sink->fd, data, size, error);
}

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* sink_line - a piece of a row, as digits that end with '\n' */
static int sink_line(const char *line, size_t size, void *userdata, struct edl_error *error)
{
    struct sink *sink = userdata;
    size_t n = MIN_OF(size / 2, WORKSPACE_PIECE_BYTES);

    for (size_t i = 0; i < n; i++)
        sink->piece[i] = (char)(digit(line[2 * i]) << 4 | digit(line[2 * i + 1]));
    return sink_add(0, sink->piece, n, sink, error);
}

/* read_rows - all pieces of an archive; its name was looked at. They are sorted before they become
 * digits: else all of them would go through temporary files of the server */
static int read_rows(struct copy_place *place, const struct archive *archive, struct sink *sink,
                     struct edl_error *error)
{
    char sql[400];

    (void)snprintf(sql, sizeof sql,
                   "SELECT encode(s.bytes, 'hex') FROM (SELECT p.bytes FROM workspace AS w JOIN"
                   " workspace_piece AS p ON p.pieces = w.pieces WHERE w.sha256 = '%s' ORDER BY"
                   " p.number OFFSET 0) AS s",
                   archive->sha256);
    return postgresql_copy_rows(place, sql, sink_line, sink, error);
}

/* ---- out of the database ---- */

static void copy_field(char *to, size_t size, const char *field)
{
    (void)snprintf(to, size, "%s", field != NULL ? field : "");
}

static int take_row(const char *line, size_t size, void *userdata, struct edl_error *error)
{
    _cleanup_free_ char *buffer = xcalloc(size + 1, 1);
    struct archives *archives = userdata;
    const char *field = NULL;
    struct archive *archive;
    size_t at = 0;

    (void)error;
    if (!copy_field_next(line, size, &at, buffer, &field) || field == NULL ||
        !workspace_hex_valid(field))
        return 0;
    archive = archives_add(archives);
    copy_field(archive->sha256, sizeof archive->sha256, field);
    if (copy_field_next(line, size, &at, buffer, &field) && field != NULL)
        archive->bytes = strtoull(field, NULL, 10);
    if (copy_field_next(line, size, &at, buffer, &field))
        copy_field(archive->sender, sizeof archive->sender, field);
    if (copy_field_next(line, size, &at, buffer, &field) && field != NULL)
        archive->owners = xstrdup(field);
    archives->bytes += archive->bytes;
    return 0;
}

static int list_rows(struct copy_place *from, struct archives *ret, struct edl_error *error)
{
    return postgresql_copy_rows(from,
                                "SELECT sha256, bytes, sender, owners FROM workspace ORDER BY"
                                " sha256",
                                take_row, ret, error);
}

static int check_room(const struct archives *archives, const struct workspace_move *move,
                      int dir_fd, struct edl_error *error)
{
    uint64_t free_bytes, needed_bytes = 0;
    struct statvfs disk;

    for (size_t i = 0; i < archives->n; i++)
        if (!has_file(dir_fd, &archives->all[i]))
            needed_bytes += archives->all[i].bytes + BLOCK_BYTES;
    if (fstatvfs(dir_fd, &disk) == -1)
        return edl_error_errno(error, -errno, "asking for the room in %s", move->folder);
    free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (needed_bytes <= free_bytes)
        return 0;
    (void)edl_error_set(error, -ENOSPC,
                        "archives of workspaces need %" PRIu64 " MiB in %s, and %" PRIu64
                        " MiB are free there",
                        needed_bytes / MIB + 1, move->folder, free_bytes / MIB);
    return edl_error_remedy(error, "make room there, beside that for the database, or give a folder"
                                   " of another disk");
}

int workspace_move_check_room(struct copy_place *from, struct workspace_move *move,
                              struct edl_error *error)
{
    struct archives archives = { .n = 0 };
    _cleanup_close_ int dir_fd = make_folder(move->folder, error);
    int r = dir_fd < 0 ? dir_fd : list_rows(from, &archives, error);

    if (r == 0)
        r = check_room(&archives, move, dir_fd, error);
    archives_done(&archives);
    return r;
}

static void write_attribute(struct workspace_move *move, int fd, const char *name,
                            const char *value)
{
    int r =
        value[0] != '\0' ? fsetxattr(fd, name, value, strlen(value), 0) : fremovexattr(fd, name);

    if (r == -1 && value[0] != '\0')
        move->moved.without_people = true;
}

/* Its people and its time, and all of it on disk: it was needed just now, as far as is known. */
static int seal(struct workspace_move *move, int fd, const struct archive *archive,
                struct edl_error *error)
{
    write_attribute(move, fd, WORKSPACE_SENDER_ATTRIBUTE, archive->sender);
    write_attribute(move, fd, WORKSPACE_OWNERS_ATTRIBUTE,
                    archive->owners != NULL ? archive->owners : "");
    if (futimens(fd, NULL) == -1 || fsync(fd) == -1)
        return edl_error_errno(error, -errno, "storing the archive %s", archive->sha256);
    return 0;
}

/* keep - 1: the folder has it, whole; 0: it has not */
static int keep(struct workspace_move *move, int dir_fd, const struct archive *archive,
                struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct sink sink;
    int r;

    if (!has_file(dir_fd, archive))
        return 0;
    fd = open_archive(dir_fd, archive, error);
    if (fd < 0)
        return fd;
    r = sink_new(&sink, -1, error);
    if (r == 0)
        r = each_piece(fd, archive->sha256, sink_add, &sink, error);
    if (!sink_end(&sink, archive) || r < 0)
        return r;
    r = seal(move, fd, archive, error);
    return r == 0 ? 1 : r;
}

static int fetch(struct copy_place *from, struct workspace_move *move, int dir_fd,
                 struct archive *archive, const struct sink *told, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct sink sink;
    int r;

    (void)unlinkat(dir_fd, COMING, 0);
    fd = openat(dir_fd, COMING, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1)
        return edl_error_errno(error, -errno, "making a file in %s", move->folder);
    r = sink_new(&sink, fd, error);
    sink.move = told->move;
    sink.doing = told->doing;
    sink.before_bytes = told->before_bytes;
    sink.all_bytes = told->all_bytes;
    if (r == 0)
        r = read_rows(from, archive, &sink, error);
    if (!sink_end(&sink, archive) && r == 0) {
        stays_behind(move, archive);
        (void)unlinkat(dir_fd, archive->sha256, 0);
        (void)unlinkat(dir_fd, COMING, 0);
        return 0;
    }
    if (r == 0)
        r = seal(move, fd, archive, error);
    if (r == 0 && renameat(dir_fd, COMING, dir_fd, archive->sha256) == -1)
        r = edl_error_errno(error, -errno, "storing the archive %s", archive->sha256);
    archive->made = r == 0;
    if (r < 0)
        (void)unlinkat(dir_fd, COMING, 0);
    return r;
}

static int bring_all(struct copy_place *from, struct workspace_move *move, int dir_fd,
                     struct archives *archives, struct edl_error *error)
{
    struct sink told = { .move = move, .doing = "MiB copied", .all_bytes = archives->bytes };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < archives->n; i++) {
        struct archive *archive = &archives->all[i];

        r = keep(move, dir_fd, archive, error);
        if (r == 0)
            r = fetch(from, move, dir_fd, archive, &told, error);
        told.before_bytes += archive->bytes;
        if (r >= 0 && !archive->gone) {
            move->moved.n++;
            move->moved.bytes += archive->bytes;
        }
    }
    if (r >= 0 && fsync(dir_fd) == -1)
        r = edl_error_errno(error, -errno, "syncing %s", move->folder);
    return r < 0 ? r : name_sync(move->folder, error);
}

int workspace_move_out(struct copy_place *from, struct workspace_move *move,
                       struct edl_error *error)
{
    struct archives archives = { .n = 0 };
    _cleanup_close_ int dir_fd = make_folder(move->folder, error);
    int r = dir_fd < 0 ? dir_fd : list_rows(from, &archives, error);

    if (r == 0)
        r = check_room(&archives, move, dir_fd, error);
    if (r == 0)
        r = bring_all(from, move, dir_fd, &archives, error);
    for (size_t i = 0; r < 0 && i < archives.n; i++)
        if (archives.all[i].made)
            (void)unlinkat(dir_fd, archives.all[i].sha256, 0);
    archives_done(&archives);
    return r;
}

/* ---- into the database ---- */

static const struct copy_table pieces_table = {
    .name = "workspace_piece",
    .columns = { { .name = "pieces" }, { .name = "number" }, { .name = "bytes" } },
    .n = 3,
};
static const struct copy_table archives_table = {
    .name = "workspace",
    .columns = { { .name = "sha256" },
                 { .name = "pieces" },
                 { .name = "bytes" },
                 { .name = "sender" },
                 { .name = "owners" } },
    .n = 5,
};

/* One archive that is being sent. Its bytes have a name that no term gives: those begin at 1. */
struct sending {
    struct copy_place *to;
    uint64_t name;
    char *line; /* owned: of a whole piece */
    struct sink *told;
};

static int send_piece(uint64_t number, const char *data, size_t size, void *userdata,
                      struct edl_error *error)
{
    static const char digits[] = "0123456789abcdef";
    const struct sending *sending = userdata;
    char *p = sending->line + snprintf(sending->line, PIECE_NAME_BYTES,
                                       "0.%" PRIu64 "\t%" PRIu64 "\t\\\\x", sending->name, number);

    for (size_t i = 0; i < size; i++) {
        *p++ = digits[(unsigned char)data[i] >> 4];
        *p++ = digits[(unsigned char)data[i] & 15];
    }
    *p++ = '\n';
    sending->told->bytes += size;
    tell(sending->told->move, "MiB copied", sending->told->bytes, sending->told->all_bytes);
    return sending->to->calls->write(sending->to, sending->line, (size_t)(p - sending->line),
                                     error);
}

static int send_bytes(struct sending *sending, int fd, const struct archive *archive,
                      struct edl_error *error)
{
    const struct copy_calls *calls = sending->to->calls;
    int r = calls->write_begin(sending->to, &pieces_table, error);

    if (r == 0)
        r = each_piece(fd, archive->sha256, send_piece, sending, error);
    return r == 0 ? calls->write_end(sending->to, error) : r;
}

/* A file that is not what its name says is not sent: nobody could use it. */
static int send_file(struct workspace_move *move, int dir_fd, struct sending *sending,
                     struct archive *archive, struct edl_error *error)
{
    _cleanup_close_ int fd = open_archive(dir_fd, archive, error);
    struct sink sink;
    int r;

    if (fd < 0)
        return fd;
    r = sink_new(&sink, -1, error);
    if (r == 0)
        r = each_piece(fd, archive->sha256, sink_add, &sink, error);
    if (!sink_end(&sink, archive) && r == 0) {
        stays_behind(move, archive);
        return 0;
    }
    return r == 0 ? send_bytes(sending, fd, archive, error) : r;
}

static int check_rows(struct copy_place *to, struct workspace_move *move,
                      const struct archives *archives, struct edl_error *error)
{
    uint64_t before_bytes = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < archives->n; i++) {
        const struct archive *archive = &archives->all[i];
        struct sink sink;

        if (archive->gone)
            continue;
        r = sink_new(&sink, -1, error);
        sink.move = move;
        sink.doing = "MiB compared";
        sink.before_bytes = before_bytes;
        sink.all_bytes = archives->bytes;
        if (r == 0)
            r = read_rows(to, archive, &sink, error);
        if (!sink_end(&sink, archive) && r == 0)
            r = edl_error_set(error, EDL_ECORRUPT,
                              "the database has other bytes of the archive %s than were written",
                              archive->sha256);
        before_bytes += archive->bytes;
    }
    return r;
}

static void read_attribute(int fd, const char *name, char *ret, size_t size)
{
    ssize_t n = fgetxattr(fd, name, ret, size - 1);

    ret[MAX_OF(n, 0)] = '\0';
}

/* An earlier scheduler wrote the sender alone. The sender is an owner, too. */
static void add_line(int dir_fd, const struct archive *archive, uint64_t name,
                     struct copy_line *line)
{
    _cleanup_close_ int fd = openat(dir_fd, archive->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char sender[WORKSPACE_SENDER_MAX + 1], owners[WORKSPACE_OWNERS_BYTES_MAX + 1], pieces[32];

    read_attribute(fd, WORKSPACE_SENDER_ATTRIBUTE, sender, sizeof sender);
    read_attribute(fd, WORKSPACE_OWNERS_ATTRIBUTE, owners, sizeof owners);
    if (owners[0] == '\0' && sender[0] != '\0')
        (void)snprintf(owners, sizeof owners, "%s\n", sender);
    (void)snprintf(pieces, sizeof pieces, "0.%" PRIu64, name);
    copy_line_add(line, archive->sha256);
    copy_line_add(line, pieces);
    copy_line_add_i64(line, (int64_t)archive->bytes);
    copy_line_add(line, sender);
    copy_line_add(line, owners);
    copy_line_end(line);
}

static int name_all(struct copy_place *to, struct workspace_move *move, int dir_fd,
                    const struct archives *archives, struct edl_error *error)
{
    struct copy_line line = { 0 };
    int r = to->calls->write_begin(to, &archives_table, error);

    for (size_t i = 0; r == 0 && i < archives->n; i++) {
        if (archives->all[i].gone)
            continue;
        copy_line_clear(&line);
        add_line(dir_fd, &archives->all[i], i, &line);
        r = to->calls->write(to, line.text, line.size, error);
        move->moved.n++;
        move->moved.bytes += archives->all[i].bytes;
    }
    copy_line_done(&line);
    return r == 0 ? to->calls->write_end(to, error) : r;
}

static int list_files(const char *path, int dir_fd, struct archives *ret, struct edl_error *error)
{
    _cleanup_closedir_ DIR *folder = opendir(path);
    const struct dirent *entry;
    struct stat st;

    if (folder == NULL)
        return edl_error_errno(error, -errno, "opening %s", path);
    while ((entry = readdir(folder)) != NULL) {
        struct archive *archive;

        if (!workspace_hex_valid(entry->d_name) ||
            fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(st.st_mode))
            continue;
        archive = archives_add(ret);
        copy_field(archive->sha256, sizeof archive->sha256, entry->d_name);
        archive->bytes = (uint64_t)st.st_size;
        ret->bytes += archive->bytes;
    }
    return 0;
}

static int send_all(struct copy_place *to, struct workspace_move *move, int dir_fd,
                    struct archives *archives, struct edl_error *error)
{
    struct sink told = { .move = move, .all_bytes = archives->bytes };
    struct sending sending = { .to = to,
                               .line = xcalloc(2 * WORKSPACE_PIECE_BYTES + PIECE_NAME_BYTES, 1),
                               .told = &told };
    int r = 0;

    for (size_t i = 0; r == 0 && i < archives->n; i++) {
        sending.name = i;
        r = send_file(move, dir_fd, &sending, &archives->all[i], error);
    }
    free(sending.line);
    if (r == 0)
        r = name_all(to, move, dir_fd, archives, error);
    return r == 0 ? check_rows(to, move, archives, error) : r;
}

int workspace_move_in(struct copy_place *from, struct copy_place *to, void *what,
                      struct edl_error *error)
{
    struct workspace_move *move = what;
    struct archives archives = { .n = 0 };
    _cleanup_close_ int dir_fd = -1;
    int r = to->calls->run(to, "DELETE FROM workspace", error);

    (void)from;
    if (r == 0)
        r = to->calls->run(to, "DELETE FROM workspace_piece", error);
    if (r < 0 || access(move->folder, F_OK) == -1)
        return r;
    dir_fd = r = open_folder(move->folder, error);
    if (r >= 0)
        r = list_files(move->folder, dir_fd, &archives, error);
    if (r == 0)
        r = send_all(to, move, dir_fd, &archives, error);
    archives_done(&archives);
    return r;
}
