/* SPDX-License-Identifier: Apache-2.0 */
/* model_tar.c - a trained model as one tar */
#include "trainer/model/model_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/model/model_file.h"

#define MEMBER_MODE 0644
#define PROTOBUF_MAX (PARAM_NAME_SIZE + 48)

struct piece {
    const void *data;
    size_t size;
};

static int fail(struct archive *out, const char *path, struct edl_error *error)
{
    const char *why = archive_error_string(out);

    return edl_error_set(error, archive_errno(out) > 0 ? -archive_errno(out) : -EIO,
                         "cannot write %s: %s", path, why != NULL ? why : "no reason is told");
}

/* Without a time or an owner: the same values give the same file. */
static int write_member(struct archive *out, const char *name, const struct piece *pieces, size_t n)
{
    struct archive_entry *entry = archive_entry_new();
    size_t size = 0;
    bool ok;

    if (entry == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        size += pieces[i].size;
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, MEMBER_MODE);
    archive_entry_set_size(entry, (la_int64_t)size);
    archive_entry_set_mtime(entry, 0, 0);
    ok = archive_write_header(out, entry) >= ARCHIVE_WARN;
    archive_entry_free(entry);
    for (size_t i = 0; ok && i < n; i++)
        ok = archive_write_data(out, pieces[i].data, pieces[i].size) == (la_ssize_t)pieces[i].size;
    return ok ? 0 : -EIO;
}

/* ---- protobuf's wire format ---- */

static uint8_t *put_varint(uint8_t *out, uint64_t n)
{
    for (; n > 127; n >>= 7)
        *out++ = (uint8_t)(n | 128);
    *out++ = (uint8_t)n;
    return out;
}

static uint8_t *put_number(uint8_t *out, unsigned field, uint64_t n)
{
    return put_varint(put_varint(out, field << 3), n);
}

static size_t describe(const struct param_spec *spec, uint8_t ret[static PROTOBUF_MAX])
{
    const size_t length = strlen(spec->name);
    uint8_t *out = put_varint(put_varint(ret, 1 << 3 | 2), length);

    memcpy(out, spec->name, length);
    out = put_number(out + length, 2, (uint64_t)spec->rows * spec->columns);
    out = put_number(out, 9, spec->rows);
    out = put_number(out, 9, spec->columns);
    return (size_t)(out - ret);
}

/* ---- the tar ---- */

static int write_param(struct archive *out, const struct param_spec *spec, const float *values)
{
    const uint64_t count = (uint64_t)spec->rows * spec->columns;
    const struct param_header header = { .value_bytes = sizeof(float), .count = count };
    const struct piece file[] = { { &header, sizeof header }, { values, count * sizeof(float) } };
    uint8_t protobuf[PROTOBUF_MAX];
    const struct piece text = { protobuf, describe(spec, protobuf) };
    char name[PARAM_NAME_SIZE + sizeof ".protobuf"];
    int r = write_member(out, spec->name, file, ELEMENTS(file));

    (void)snprintf(name, sizeof name, "%s.protobuf", spec->name);
    return r < 0 ? r : write_member(out, name, &text, 1);
}

static int write_all(int fd, const char *path, const struct model_contents *contents,
                     struct edl_error *error)
{
    struct archive *out = archive_write_new();
    int r = 0;

    if (out == NULL)
        abort();
    if (archive_write_set_format_ustar(out) < ARCHIVE_WARN ||
        archive_write_open_fd(out, fd) < ARCHIVE_WARN)
        r = fail(out, path, error);
    for (uint32_t p = 0; r >= 0 && p < contents->n; p++)
        if (write_param(out, contents->specs[p], contents->values[p]) < 0)
            r = fail(out, path, error);
    if (r >= 0 && archive_write_close(out) < ARCHIVE_WARN)
        r = fail(out, path, error);
    (void)archive_write_free(out);
    if (r >= 0 && fsync(fd) < 0)
        r = edl_error_errno(error, -errno, "cannot sync %s", path);
    return r;
}

int model_tar_save(const char *path, const struct model_contents *contents, struct edl_error *error)
{
    char temporary[PATH_MAX];
    _cleanup_close_ int fd = -1;
    int r = model_contents_check(contents, error);

    if (r < 0)
        return r;
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid()) >=
        sizeof temporary)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", path);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, MEMBER_MODE);
    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot create %s", temporary);
    (void)flock(fd, LOCK_EX | LOCK_NB); /* until it is closed: model_tar_clean leaves it alone */
    r = write_all(fd, temporary, contents, error);
    if (r >= 0 && rename(temporary, path) < 0)
        r = edl_error_errno(error, -errno, "cannot rename %s to %s", temporary, path);
    if (r < 0) {
        (void)unlink(temporary);
        return r;
    }
    return name_sync(path, error);
}

/* ---- reading ---- */

static int bad_member(const char *path, const char *name, const char *why, struct edl_error *error)
{
    return edl_error_set(error, EDL_ECORRUPT, "%s, %s: %s", path, name, why);
}

static bool read_all(struct archive *in, void *ret, size_t n)
{
    return archive_read_data(in, ret, n) == (la_ssize_t)n;
}

static int read_member(struct archive *in, struct archive_entry *entry, const char *path,
                       const struct param_spec *spec, float *ret, struct edl_error *error)
{
    const uint64_t count = (uint64_t)spec->rows * spec->columns;
    struct param_header header;

    if (archive_entry_filetype(entry) != AE_IFREG || !read_all(in, &header, sizeof header) ||
        header.version != 0 || header.value_bytes != sizeof(float) || header.count != count ||
        archive_entry_size(entry) != (la_int64_t)(sizeof header + count * sizeof(float)))
        return edl_error_set(error, EDL_ECORRUPT, "%s, %s: it is no parameter of %llu value%s",
                             path, spec->name, (unsigned long long)count, PLURAL(count));
    if (!read_all(in, ret, count * sizeof(float)))
        return bad_member(path, spec->name, "it is cut off", error);
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(ret[i]))
            return bad_member(path, spec->name, "a value is no number", error);
    return 0;
}

static int read_members(struct archive *in, const char *path, const struct param_spec *const *specs,
                        float *const *values, uint32_t n, bool *ret_found, struct edl_error *error)
{
    struct archive_entry *entry;
    int status, r = 0;

    while (r >= 0 && (status = archive_read_next_header(in, &entry)) != ARCHIVE_EOF) {
        const char *name;

        if (status < ARCHIVE_WARN)
            return edl_error_set(error, EDL_ECORRUPT, "%s is no tar of a model: %s", path,
                                 archive_error_string(in));
        name = archive_entry_pathname(entry);
        for (uint32_t p = 0; r >= 0 && name != NULL && p < n; p++) {
            if (values[p] == NULL || !streq(name, specs[p]->name))
                continue;
            r = read_member(in, entry, path, specs[p], values[p], error);
            ret_found[p] = r >= 0;
        }
    }
    return r;
}

int model_tar_read(const char *path, const struct param_spec *const *specs, float *const *values,
                   uint32_t n, bool *ret_found, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct archive *in;
    int r = 0;

    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    in = archive_read_new();
    if (in == NULL)
        abort();
    (void)archive_read_support_format_tar(in);
    (void)archive_read_support_filter_gzip(in);
    if (archive_read_open_fd(in, fd, 1 << 16) < ARCHIVE_WARN)
        r = edl_error_set(error, EDL_ECORRUPT, "%s is no tar of a model: %s", path,
                          archive_error_string(in));
    if (r >= 0)
        r = read_members(in, path, specs, values, n, ret_found, error);
    (void)archive_read_free(in);
    return r;
}

/* ---- what is left over ---- */

/* is_temporary - of a saved pass: pass-00000.tar.tmp.123, pass-00000-001.tar.tmp.123 */
static bool is_temporary(const char *name)
{
    static const char begin[] = "pass-", middle[] = ".tar.tmp.", digits[] = "0123456789";
    const char *rest = name + strlen(begin);

    if (strncmp(name, begin, strlen(begin)) != 0)
        return false;
    rest += strspn(rest, "0123456789-");
    if (strncmp(rest, middle, strlen(middle)) != 0)
        return false;
    rest += strlen(middle);
    return *rest != '\0' && rest[strspn(rest, digits)] == '\0';
}

void model_tar_clean(const char *dir)
{
    _cleanup_closedir_ DIR *folder = opendir(dir);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        _cleanup_close_ int fd = -1;

        if (!is_temporary(entry->d_name))
            continue;
        fd = openat(dirfd(folder), entry->d_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
}
