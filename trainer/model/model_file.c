/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - the trained model on disk, each parameter in Paddle's own file format */
#include "trainer/model/model_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/tensor_ops.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "shared/write_all.h"
#include "trainer/files/file_write.h"

static int create_at(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

    return fd < 0 ? -errno : fd;
}

/* write_file - synced and read back: what it takes the place of is removed behind it */
static int write_file(int folder, const char *name, const struct file_piece *pieces, size_t n)
{
    _cleanup_close_ int fd = create_at(folder, name);
    int r = fd < 0 ? fd : file_write_pieces(fd, pieces, n);

    return r < 0 ? r : file_reads_back(folder, name, pieces, n);
}

static int write_param(int folder, const struct param_spec *spec, const float *values)
{
    uint64_t count = (uint64_t)spec->rows * spec->columns;
    struct param_header header = { .version = 0, .value_bytes = sizeof(float), .count = count };
    const struct file_piece pieces[] = { { &header, sizeof header },
                                         { values, count * sizeof(float) } };

    return write_file(folder, spec->name, pieces, ELEMENTS(pieces));
}

static int copy_file(int folder, const char *name, const char *source)
{
    _cleanup_close_ int in = open(source, O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int out = in < 0 ? -errno : create_at(folder, name);
    char buffer[65536];
    ssize_t n;
    int r = out < 0 ? out : 0;

    while (r >= 0 && (n = read(in, buffer, sizeof buffer)) != 0)
        r = n < 0 ? -errno : write_all(out, buffer, (size_t)n);
    if (r >= 0 && fsync(out) < 0)
        r = -errno;
    return r;
}

static int write_text(int folder, const struct model_text *text)
{
    const struct file_piece piece = { text->text, text->size };

    return write_file(folder, text->name, &piece, 1);
}

/* As PaddlePaddle's trainer writes it, whose version has 40 characters (the hash of a commit). The
 * lines of the build are those of `edl-paddle version`. */
static int write_done(int folder)
{
    char text[192];
    const int size = snprintf(text, sizeof text,
                              "paddle version: %-40.40s\n"
                              "\twithGpu: false\n"
                              "\twithAvx: true\n"
                              "\twithPyDataProvider: true\n"
                              "\twithTimer: false\n"
                              "\twithFpga: false\n"
                              "\treal byte size: 4\n\n",
                              "EDL " EDL_VERSION);
    const struct model_text done = { "done", text, (size_t)size };

    return write_text(folder, &done);
}

static int write_contents(const char *path, const struct model_contents *contents,
                          struct edl_error *error)
{
    _cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (folder < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    for (uint32_t p = 0; p < contents->n; p++) {
        r = write_param(folder, contents->specs[p], contents->values[p]);
        if (r < 0)
            return edl_error_errno(error, r, "cannot write %s/%s", path, contents->specs[p]->name);
    }
    for (uint32_t i = 0; i < contents->n_texts; i++) {
        r = write_text(folder, &contents->texts[i]);
        if (r < 0)
            return edl_error_errno(error, r, "cannot write %s/%s", path, contents->texts[i].name);
    }
    if (contents->part != NULL) {
        r = write_file(folder, contents->part->name, contents->part->pieces, contents->part->n);
        if (r < 0)
            return edl_error_errno(error, r, "cannot write %s/%s", path, contents->part->name);
    }
    if (contents->word_dict != NULL) {
        r = copy_file(folder, "word_dict", contents->word_dict);
        if (r < 0)
            return edl_error_errno(error, r, "cannot copy %s to %s", contents->word_dict, path);
    }
    r = write_done(folder);
    if (r < 0)
        return edl_error_errno(error, r, "cannot write %s/done", path);
    if (fsync(folder) < 0)
        return edl_error_errno(error, -errno, "cannot sync %s", path);
    return 0;
}

/* A model folder has files only. What is in the way of that stays, and the rmdir fails. */
static void remove_folder(const char *path)
{
    _cleanup_closedir_ DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)rmdir(path);
}

void model_file_remove(const char *folder)
{
    char done[PATH_MAX];

    if ((size_t)snprintf(done, sizeof done, "%s/done", folder) < sizeof done)
        (void)unlink(done);
    remove_folder(folder);
}

/* A trainer that died between the rename and telling so left a whole model: the new one takes its
 * place at once. */
static int put_in_place(const char *temporary, const char *folder, struct edl_error *error)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, folder, RENAME_NOREPLACE) == 0)
        return name_sync(folder, error);
    if (errno != EEXIST)
        return edl_error_errno(error, -errno, "cannot rename %s to %s", temporary, folder);
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, folder, RENAME_EXCHANGE) < 0)
        return edl_error_errno(error, -errno, "cannot replace %s", folder);
    remove_folder(temporary);
    return name_sync(folder, error);
}

int model_file_prepare(const char *folder, struct edl_error *error)
{
    _cleanup_free_ char *parent = file_parent(folder);
    _cleanup_close_ int fd = -1;
    int r = file_make_parent(folder, error);

    if (r < 0) {
        (void)edl_error_remedy(error, "make it yourself: mkdir -p %s", parent);
        return r;
    }
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    r = edl_error_errno(error, -errno, "the model cannot be written to %s", parent);
    (void)edl_error_remedy(error, "name a folder that you may write to: --output-dir DIR");
    return r;
}

/* first_bad - the place of the first value that is not a number; n: there is none */
static size_t first_bad(const float *values, size_t n)
{
    size_t i = 0;

    if (tensor_ops_f32()->finite(values, n))
        return n;
    while (i < n && isfinite(values[i]))
        i++;
    return i;
}

int model_contents_check(const struct model_contents *contents, struct edl_error *error)
{
    for (uint32_t p = 0; p < contents->n; p++) {
        const struct param_spec *spec = contents->specs[p];
        const size_t n = (size_t)spec->rows * spec->columns;
        const size_t bad = first_bad(contents->values[p], n);

        if (bad == n)
            continue;
        (void)edl_error_set(error, -EDOM,
                            "nothing is saved: value %zu of the parameter %s is %f: the training "
                            "has diverged",
                            bad, spec->name, (double)contents->values[p][bad]);
        return edl_error_remedy(error, "lower the learning rate, set clipping, or look for values "
                                       "in the data that are far too large");
    }
    return 0;
}

int model_file_save_contents(const char *folder, const struct model_contents *contents,
                             struct edl_error *error)
{
    char temporary[PATH_MAX];
    int r = model_contents_check(contents, error);

    if (r < 0)
        return r;
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.tmp.%ld", folder, (long)getpid()) >=
        sizeof temporary)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    remove_folder(temporary); /* of an earlier process with the same number */
    if (mkdir(temporary, 0755) < 0)
        return edl_error_errno(error, -errno, "cannot create %s", temporary);
    r = write_contents(temporary, contents, error);
    if (r >= 0)
        r = put_in_place(temporary, folder, error);
    if (r < 0)
        remove_folder(temporary);
    return r;
}

int model_file_save(const char *folder, const struct declaration *declaration, float *const *params,
                    const char *word_dict, struct edl_error *error)
{
    const struct param_spec *specs[DECLARATION_PARAMS_MAX];
    const struct model_contents contents = {
        .specs = specs, .values = params, .n = declaration->n_params, .word_dict = word_dict
    };

    for (uint32_t p = 0; p < declaration->n_params; p++)
        specs[p] = &declaration->params[p];
    return model_file_save_contents(folder, &contents, error);
}

int model_file_read(const char *path, float *ret, size_t n, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct param_header header;
    struct stat status;
    size_t bad;
    int r;

    if (fd < 0 || fstat(fd, &status) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    r = file_read_all(fd, &header, sizeof header);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    if (header.version != 0 || header.value_bytes != sizeof(float) || header.count != n ||
        (uint64_t)status.st_size != sizeof header + n * sizeof(float))
        return edl_error_set(error, EDL_ECORRUPT, "%s is not a parameter of %zu value%s", path, n,
                             PLURAL(n));
    r = file_read_all(fd, ret, n * sizeof(float));
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    bad = first_bad(ret, n);
    if (bad == n)
        return 0;
    (void)edl_error_set(error, EDL_ECORRUPT, "%s: value %zu of the parameter is %f", path, bad,
                        (double)ret[bad]);
    return edl_error_remedy(error, "name a saved model whose values are all numbers");
}
