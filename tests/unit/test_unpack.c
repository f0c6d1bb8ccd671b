/* SPDX-License-Identifier: Apache-2.0 */
/* test_unpack.c - archives of workspaces: the accepted ones, and every way out that others have
 * found
 *
 * Each archive is written here, entry by entry, into memory; it is unpacked into ROOT/in, beside
 * which lies ROOT/secret. With any archive, that file stays as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "agent/layout.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/workspace_pack.h"
#include "shared/workspace_path.h"
#include "shared/workspace_unpack.h"
#include "tests/unit/test.h"

#define SECRET "nobody touched this"

struct fixture {
    char root[64];
    char in[96], from[96], secret[96];
    int fd;              /* of the archive */
    struct archive *out; /* while it is written */
    struct unpack_limits limits;
    struct edl_error error;
};

static void put_file(const char *path, const char *text)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static void assert_file(const char *folder, const char *name, const char *expected)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char text[256] = "";

    if (file == NULL)
        fail_msg("%s: %s", path, strerror(errno));
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_string_equal(text, expected);
}

static bool is_there(const struct fixture *f, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", f->in, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static mode_t mode_of(const struct fixture *f, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", f->in, name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)umask(022);
    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-unpack-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->in, sizeof f->in, "%s/in", f->root);
    (void)snprintf(f->from, sizeof f->from, "%s/from", f->root);
    (void)snprintf(f->secret, sizeof f->secret, "%s/secret", f->root);
    assert_int_equal(mkdir(f->in, 0700), 0);
    assert_int_equal(mkdir(f->from, 0700), 0);
    put_file(f->secret, SECRET);
    f->fd = memfd_create("archive", MFD_CLOEXEC);
    assert_true(f->fd >= 0);
    f->limits = unpack_limits_default;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *none = text_format("%s/none", f->root);
    _cleanup_fclose_ FILE *file = fopen(f->secret, "re");
    char text[64] = "";
    size_t removed;

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_string_equal(text, SECRET);
    assert_int_equal(chdir("/"), 0);
    (void)safe_close(f->fd);
    assert_int_equal(mkdir(none, 0700), 0);
    assert_int_equal(workspace_sweep(f->root, none, &removed, NULL), 0);
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

/* ---- archives, entry by entry ---- */

static void begin(struct fixture *f, int (*filter)(struct archive *))
{
    assert_int_equal(ftruncate(f->fd, 0), 0);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    f->out = archive_write_new();
    assert_non_null(f->out);
    assert_int_equal(archive_write_set_format_pax_restricted(f->out), ARCHIVE_OK);
    if (filter != NULL)
        assert_int_equal(filter(f->out), ARCHIVE_OK);
    assert_int_equal(archive_write_open_fd(f->out, f->fd), ARCHIVE_OK);
}

struct entry {
    const char *path;
    mode_t type; /* AE_IFREG when 0 */
    mode_t perm; /* 0644 when 0 */
    const char *text, *symlink, *hardlink;
};

static void add(struct fixture *f, const struct entry *e)
{
    struct archive_entry *entry = archive_entry_new();
    size_t size = e->text != NULL ? strlen(e->text) : 0;

    archive_entry_set_pathname(entry, e->path);
    archive_entry_set_filetype(entry, e->type != 0 ? e->type : AE_IFREG);
    archive_entry_set_perm(entry, e->perm != 0 ? e->perm : 0644);
    archive_entry_set_size(entry, (la_int64_t)size);
    if (e->symlink != NULL)
        archive_entry_set_symlink(entry, e->symlink);
    if (e->hardlink != NULL)
        archive_entry_set_hardlink(entry, e->hardlink);
    assert_int_equal(archive_write_header(f->out, entry), ARCHIVE_OK);
    if (size > 0)
        assert_int_equal(archive_write_data(f->out, e->text, size), size);
    archive_entry_free(entry);
}

static void end(struct fixture *f)
{
    assert_int_equal(archive_write_close(f->out), ARCHIVE_OK);
    assert_int_equal(archive_write_free(f->out), ARCHIVE_OK);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
}

static int unpack(struct fixture *f, const char *sha256)
{
    _cleanup_close_ int dir_fd = open(f->in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir_fd >= 0);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    f->error = (struct edl_error){ 0 };
    return workspace_unpack(f->fd, dir_fd, sha256, &f->limits, &f->error);
}

static int unpack_entries(struct fixture *f, const struct entry *entries, size_t n)
{
    begin(f, NULL);
    for (size_t i = 0; i < n; i++)
        add(f, &entries[i]);
    end(f);
    return unpack(f, NULL);
}

#define UNPACK(f, ...)                                                                             \
    unpack_entries(f, (const struct entry[]){ __VA_ARGS__ },                                       \
                   ELEMENTS(((const struct entry[]){ __VA_ARGS__ })))

static void hash_archive(const struct fixture *f, char ret[WORKSPACE_HEX + 1])
{
    struct content_hash *hash = NULL;
    char piece[4096];
    ssize_t n;

    assert_int_equal(content_hash_new(&hash, NULL), 0);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    while ((n = read(f->fd, piece, sizeof piece)) > 0)
        content_hash_add(hash, piece, (size_t)n);
    content_hash_end(hash, ret);
    (void)content_hash_free(hash);
}

/* ---- what is taken ---- */

static int pack(const struct fixture *f, struct packed *ret, struct edl_error *error)
{
    return workspace_pack(f->from, f->fd, &f->limits, NULL, ret, error);
}

TEST(what_is_packed_is_unpacked_the_same)
{
    struct fixture *f = *state;
    _cleanup_free_ char *sub = text_format("%s/sub", f->from);
    _cleanup_free_ char *run = text_format("%s/sub/run.sh", f->from);
    _cleanup_free_ char *text = text_format("%s/a.txt", f->from);
    _cleanup_free_ char *link = text_format("%s/sub/up", f->from);
    struct packed first;

    assert_int_equal(mkdir(sub, 0750), 0);
    put_file(run, "#!/bin/sh\n");
    assert_int_equal(chmod(run, 0755), 0);
    put_file(text, "text");
    assert_int_equal(symlink("../a.txt", link), 0);
    assert_int_equal(pack(f, &first, NULL), 0);
    assert_int_equal(unpack(f, first.sha256), 0);
    assert_file(f->in, "a.txt", "text");
    assert_file(f->in, "sub/run.sh", "#!/bin/sh\n");
    assert_int_equal(mode_of(f, "sub/run.sh"), 0755);
    assert_int_equal(mode_of(f, "sub"), 0750);
    assert_file(f->in, "sub/up", "text");
    assert_int_equal(first.scan.entries, 4);
}

/* put_numbers - 99 files, from the first or from the last on */
static void put_numbers(const struct fixture *f, bool backwards)
{
    const struct timespec times[2] = { { .tv_sec = 1000 },
                                       { .tv_sec = 1000, .tv_nsec = backwards ? 7 : 0 } };

    for (int i = 1; i < 100; i++) {
        _cleanup_free_ char *name = text_format("%s/%d", f->from, backwards ? 100 - i : i);

        (void)unlink(name);
        put_file(name, "");
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
    }
}

/* A file system may list its entries in the order of their hashes, which would do by chance. */
static void assert_sorted(const struct fixture *f)
{
    struct archive *in = archive_read_new();
    struct archive_entry *entry;
    char last[64] = "";

    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    (void)archive_read_support_filter_all(in);
    (void)archive_read_support_format_all(in);
    assert_int_equal(archive_read_open_fd(in, f->fd, 4096), ARCHIVE_OK);
    while (archive_read_next_header(in, &entry) == ARCHIVE_OK) {
        assert_true(strcmp(last, archive_entry_pathname(entry)) < 0);
        (void)snprintf(last, sizeof last, "%s", archive_entry_pathname(entry));
    }
    assert_string_equal(last, "99");
    (void)archive_read_free(in);
}

TEST(the_same_folder_gives_the_same_archive)
{
    struct fixture *f = *state;
    struct packed first, second;

    put_numbers(f, false);
    assert_int_equal(pack(f, &first, NULL), 0);
    assert_sorted(f);
    put_numbers(f, true);
    assert_int_equal(pack(f, &second, NULL), 0);
    assert_string_equal(first.sha256, second.sha256);
}

TEST(an_empty_folder_is_a_workspace)
{
    struct fixture *f = *state;
    struct packed packed;

    assert_int_equal(pack(f, &packed, NULL), 0);
    assert_int_equal(unpack(f, packed.sha256), 0);
}

TEST(what_cannot_be_packed_is_said)
{
    struct fixture *f = *state;
    _cleanup_free_ char *link = text_format("%s/out", f->from);
    _cleanup_free_ char *fifo = text_format("%s/fifo", f->from);
    struct packed packed;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(pack(f, &packed, &f->error), 0);
    assert_int_equal(packed.scan.special, 1);
    assert_string_equal(packed.scan.special_path, "fifo");
    assert_int_equal(symlink("../secret", link), 0);
    assert_int_equal(pack(f, &packed, &f->error), -EPERM);
    assert_non_null(strstr(f->error.text, "out is a link to ../secret"));
    assert_non_null(strstr(f->error.remedy, "remove the link"));
}

TEST(each_filter_is_read)
{
    struct fixture *f = *state;
    int (*const filters[])(struct archive *) = { archive_write_add_filter_gzip,
                                                 archive_write_add_filter_xz,
                                                 archive_write_add_filter_zstd };

    for (size_t i = 0; i < ELEMENTS(filters); i++) {
        begin(f, filters[i]);
        add(f, &(struct entry){ .path = "a", .text = "text" });
        end(f);
        assert_int_equal(unpack(f, NULL), 0);
        assert_file(f->in, "a", "text");
    }
}

TEST(hard_links_to_its_own_files_are_made)
{
    struct fixture *f = *state;

    assert_int_equal(UNPACK(f, { .path = "a", .text = "text" }, { .path = "b", .hardlink = "a" }),
                     0);
    assert_file(f->in, "b", "text");
}

TEST(rights_beyond_rwx_are_dropped)
{
    struct fixture *f = *state;

    assert_int_equal(UNPACK(f, { .path = "d", .type = AE_IFDIR, .perm = 03777 },
                            { .path = "d/suid", .perm = 06755 },
                            { .path = "shut", .type = AE_IFDIR, .perm = 01 },
                            { .path = "none", .perm = 01 }),
                     0);
    assert_int_equal(mode_of(f, "d/suid"), 0755);
    assert_int_equal(mode_of(f, "d") & 07000, 0);
    assert_int_equal(mode_of(f, "shut"), 0701); /* whoever removes it can enter it */
    assert_int_equal(mode_of(f, "none"), 0601);
}

TEST(the_last_of_a_name_counts)
{
    struct fixture *f = *state;

    assert_int_equal(UNPACK(f, { .path = "a", .text = "old" }, { .path = "b", .hardlink = "a" },
                            { .path = "a", .text = "new" }),
                     0);
    assert_file(f->in, "a", "new");
    assert_file(f->in, "b", "old");
    assert_int_equal(UNPACK(f, { .path = "c", .type = AE_IFLNK, .symlink = "a" },
                            { .path = "c", .text = "own" }),
                     0);
    assert_file(f->in, "a", "new"); /* not written through the link */
}

/* ---- ways out ---- */

static void assert_refused(struct fixture *f, int r, const char *names)
{
    assert_int_equal(r, -EPERM);
    if (strstr(f->error.text, names) == NULL)
        fail_msg("\"%s\" does not name %s", f->error.text, names);
}

TEST(paths_that_lead_out_are_refused)
{
    struct fixture *f = *state;
    static const char *const paths[] = { "../secret", "a/../../secret", "..", "a/..", "a/b/../c" };

    for (size_t i = 0; i < ELEMENTS(paths); i++)
        assert_refused(f, UNPACK(f, { .path = paths[i], .text = "gotcha" }), paths[i]);
    assert_refused(f, UNPACK(f, { .path = f->secret, .text = "gotcha" }), f->secret);
}

TEST(symbolic_links_that_lead_out_are_refused)
{
    struct fixture *f = *state;
    static const struct {
        const char *path, *target;
    } links[] = {
        { "l", "../secret" },   { "l", "/etc/passwd" }, { "l", ".." },
        { "d/l", "../.." },     { "d/l", "../../x" },   { "l", "d/../../secret" },
        { "l", "d/.." },        { "l", "./../secret" }, { "d/e/l", "../../../secret" },
        { "l", "a/../secret" }, { "./l", "../secret" }, { "d//l", "../..//secret" },
    };

    for (size_t i = 0; i < ELEMENTS(links); i++)
        assert_refused(
            f, UNPACK(f, { .path = links[i].path, .type = AE_IFLNK, .symlink = links[i].target }),
            links[i].path);
    assert_false(is_there(f, "l"));
}

TEST(links_that_stay_are_taken)
{
    struct fixture *f = *state;

    assert_true(workspace_link_stays("d/l", ".."));
    assert_true(workspace_link_stays("d/e/l", "../../a"));
    assert_true(workspace_link_stays("l", "./a/b"));
    assert_false(workspace_link_stays(".", "a"));
    assert_int_equal(UNPACK(f, { .path = "d/l", .type = AE_IFLNK, .symlink = ".." },
                            { .path = "a", .text = "text" }),
                     0);
    assert_file(f->in, "d/l/a", "text");
}

TEST(nothing_is_written_through_a_link)
{
    struct fixture *f = *state;
    _cleanup_free_ char *planted = text_format("%s/planted", f->in);

    /* the link is refused before that */
    assert_refused(f,
                   UNPACK(f, { .path = "l", .type = AE_IFLNK, .symlink = ".." },
                          { .path = "l/secret", .text = "x" }),
                   "l");
    /* a link that stays inside is not written through either */
    assert_int_equal(UNPACK(f, { .path = "d", .type = AE_IFDIR, .perm = 0755 },
                            { .path = "m", .type = AE_IFLNK, .symlink = "d" },
                            { .path = "m/file", .text = "x" }),
                     -EPERM);
    assert_false(is_there(f, "d/file"));
    /* nor is one that somebody else put there */
    assert_int_equal(symlink("..", planted), 0);
    assert_int_equal(UNPACK(f, { .path = "planted/secret", .text = "gotcha" }), -EPERM);
    assert_int_equal(UNPACK(f, { .path = "PLANTED/secret", .text = "mine" }), 0); /* case counts */
    assert_file(f->in, "PLANTED/secret", "mine");
}

TEST(hard_links_that_lead_out_are_refused)
{
    struct fixture *f = *state;
    _cleanup_free_ char *planted = text_format("%s/planted", f->in);

    assert_refused(f, UNPACK(f, { .path = "h", .hardlink = "../secret" }), "../secret");
    assert_refused(f, UNPACK(f, { .path = "h", .hardlink = f->secret }), f->secret);
    assert_int_equal(symlink("..", planted), 0);
    assert_int_equal(UNPACK(f, { .path = "h", .hardlink = "planted/secret" }), -EPERM);
    assert_false(is_there(f, "h"));
}

TEST(devices_and_fifos_are_refused)
{
    struct fixture *f = *state;
    static const mode_t types[] = { AE_IFCHR, AE_IFBLK, AE_IFIFO };

    for (size_t i = 0; i < ELEMENTS(types); i++)
        assert_refused(f, UNPACK(f, { .path = "node", .type = types[i], .perm = 0666 }), "node");
    assert_false(is_there(f, "node"));
}

/* ---- too much ---- */

TEST(too_many_entries_are_refused)
{
    struct fixture *f = *state;

    f->limits.entries = 100;
    begin(f, archive_write_add_filter_zstd);
    for (int i = 0; i < 1000000; i++) {
        char path[32];

        (void)snprintf(path, sizeof path, "%d", i);
        add(f, &(struct entry){ .path = path });
    }
    end(f);
    assert_int_equal(unpack(f, NULL), -E2BIG);
    assert_non_null(strstr(f->error.text, "more than 100 entries"));
    assert_true(is_there(f, "99"));
    assert_false(is_there(f, "100"));
}

TEST(a_bomb_is_refused)
{
    struct fixture *f = *state;
    static char zeros[1 << 20];
    struct archive_entry *entry = archive_entry_new();

    begin(f, archive_write_add_filter_zstd);
    archive_entry_set_pathname(entry, "bomb");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, 200 << 20);
    assert_int_equal(archive_write_header(f->out, entry), ARCHIVE_OK);
    for (int i = 0; i < 200; i++)
        assert_int_equal(archive_write_data(f->out, zeros, sizeof zeros), sizeof zeros);
    archive_entry_free(entry);
    end(f);
    assert_int_equal(unpack(f, NULL), -E2BIG);
    assert_non_null(strstr(f->error.text, "times its size"));
    f->limits.bytes = 100 << 20;
    assert_int_equal(unpack(f, NULL), -E2BIG);
    assert_non_null(strstr(f->error.text, "larger than 104857600 bytes"));
}

TEST(holes_count_as_bytes)
{
    struct fixture *f = *state;
    struct archive_entry *entry = archive_entry_new();
    static char zeros[1 << 20];

    f->limits.bytes = 1 << 20;
    begin(f, NULL);
    archive_entry_set_pathname(entry, "sparse");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, 64 << 20);
    archive_entry_sparse_add_entry(entry, (64 << 20) - 4096, 4096);
    assert_int_equal(archive_write_header(f->out, entry), ARCHIVE_OK);
    archive_entry_free(entry);
    for (int i = 0; i < 64; i++)
        assert_int_equal(archive_write_data(f->out, zeros, sizeof zeros), sizeof zeros);
    end(f);
    assert_true(lseek(f->fd, 0, SEEK_END) < 32 << 10);
    assert_int_equal(unpack(f, NULL), -E2BIG);
    assert_false(is_there(f, "sparse"));
}

/* ---- not what was meant ---- */

TEST(another_archive_is_refused)
{
    struct fixture *f = *state;
    char hex[WORKSPACE_HEX + 1];

    assert_int_equal(UNPACK(f, { .path = "a", .text = "text" }), 0);
    hash_archive(f, hex);
    assert_int_equal(unpack(f, hex), 0);
    /* what follows the last entry counts, too, however far */
    assert_int_equal(ftruncate(f->fd, 1 << 20), 0);
    assert_int_equal(unpack(f, hex), EDL_ECORRUPT);
    assert_non_null(strstr(f->error.text, hex));
    hash_archive(f, hex);
    assert_int_equal(unpack(f, hex), 0);
}

TEST(what_is_no_archive_is_refused)
{
    struct fixture *f = *state;
    char hex[WORKSPACE_HEX + 1] = "";

    assert_int_equal(unpack(f, NULL), -EINVAL); /* it is empty */
    assert_int_equal(write(f->fd, "this is no archive", 18), 18);
    assert_int_equal(unpack(f, NULL), -EINVAL);
    assert_int_equal(ftruncate(f->fd, 0), 0);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    assert_int_equal(UNPACK(f, { .path = "a", .text = "text" }), 0);
    hash_archive(f, hex);
    assert_int_equal(ftruncate(f->fd, 512 + 2), 0); /* within the text */
    assert_int_equal(unpack(f, NULL), -EINVAL);
    assert_int_equal(unpack(f, hex), EDL_ECORRUPT); /* rather than that it cannot be read */
    assert_non_null(strstr(f->error.text, "is damaged"));
}
