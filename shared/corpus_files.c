/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_files.c - the text files below some paths, each content once, in sorted order
 *
 * Documentation holds the same licence and changelog hundreds of times. Counting them once needs a
 * look at every byte before the first is handed on. So a file is read twice (the second time from
 * the page cache). Memory is one buffer and one small entry for each file, with any tree. */
#include "shared/corpus_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define BUFFER_BYTES (64 * 1024)
#define PROBE_BYTES 4096                        /* enough to tell text from the rest */
#define UNPACKED_BYTES_MAX (256u * 1024 * 1024) /* of one file: a .gz may be a bomb */

/* What has been read: an inode, or a content. Zeroed before use, so that padding never matters to
 * the hash. */
struct seen {
    struct {
        uint64_t kind, a, b; /* 0, device, inode; or 1, size, hash */
    } key;
    UT_hash_handle hh;
};

struct walk {
    const struct corpus_sink *sink;
    struct seen *seen;
    uint8_t *buffer;
    uint64_t files;
    bool stop;
};

const char *const *corpus_files_default(size_t *ret_n)
{
    static const char *const paths[] = {
        "/usr/share/common-licenses",
        "/usr/share/doc",
        "/usr/share/info",
        "/usr/share/perl",
    };

    *ret_n = ELEMENTS(paths);
    return paths;
}

static bool remember(struct walk *walk, uint64_t kind, uint64_t a, uint64_t b)
{
    struct seen *seen = xcalloc(1, sizeof *seen), *old;

    seen->key.kind = kind;
    seen->key.a = a;
    seen->key.b = b;
    HASH_FIND(hh, walk->seen, &seen->key, sizeof seen->key, old);
    if (old != NULL) {
        free(seen);
        return false;
    }
    HASH_ADD(hh, walk->seen, key, sizeof seen->key, seen);
    return true;
}

static void forget_all(struct walk *walk)
{
    struct seen *seen, *next;

    HASH_ITER(hh, walk->seen, seen, next)
    {
        HASH_DEL(walk->seen, seen);
        free(seen);
    }
}

/* utf8_length - bytes of the sequence that starts here, 0 when it is not UTF-8 or is cut */
static size_t utf8_length(const uint8_t *p, size_t size)
{
    size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

    if (n == 0 || n > size)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* looks_like_text - no NUL, at most one byte in twenty outside UTF-8 or a control character */
static bool looks_like_text(const uint8_t *bytes, size_t size)
{
    size_t odd = 0;

    if (memchr(bytes, '\0', size) != NULL)
        return false;
    for (size_t i = 0; i < size;) {
        size_t n = utf8_length(bytes + i, size - i);

        odd += n == 0 || (bytes[i] < ' ' && memchr("\t\n\r\f\b\033", bytes[i], 6) == NULL);
        i += n > 0 ? n : 1;
    }
    return size > 0 && odd * 20 <= size;
}

/* is_markup - HTML, XML, SVG, PostScript, PDF: valid text, but most of its words are tags and
 * operators */
static bool is_markup(const uint8_t *bytes, size_t size)
{
    static const char *const starts[] = { "<", "%!", "%PDF", "\xef\xbb\xbf<" };
    size_t blanks = 0;

    while (blanks < size && memchr(" \t\r\n", bytes[blanks], 4) != NULL)
        blanks++;
    for (size_t i = 0; i < ELEMENTS(starts); i++)
        if (size - blanks >= strlen(starts[i]) &&
            memcmp(bytes + blanks, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* content_hash - FNV-1a over the bytes as stored; 0 when the file cannot be read to its end */
static uint64_t content_hash(struct walk *walk, int fd)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    ssize_t n;

    while ((n = read(fd, walk->buffer, BUFFER_BYTES)) > 0)
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ walk->buffer[i]) * UINT64_C(0x100000001b3);
    return n < 0 || lseek(fd, 0, SEEK_SET) < 0 ? 0 : hash;
}

/* hand_on - gzread passes plain files through as they are, so that both kinds take one way */
static void hand_on(struct walk *walk, gzFile file)
{
    enum corpus_verdict verdict = CORPUS_MORE;
    uint64_t total = 0;
    int n = gzread(file, walk->buffer, PROBE_BYTES);

    if (n <= 0 || !looks_like_text(walk->buffer, (size_t)n) || is_markup(walk->buffer, (size_t)n))
        return;
    walk->files++;
    while (n > 0 && verdict == CORPUS_MORE && total < UNPACKED_BYTES_MAX) {
        total += (uint64_t)n;
        verdict = walk->sink->text(walk->buffer, (size_t)n, walk->sink->userdata);
        if (verdict == CORPUS_MORE)
            n = gzread(file, walk->buffer, BUFFER_BYTES);
    }
    walk->sink->file_end(walk->files, walk->sink->userdata);
    walk->stop = verdict == CORPUS_STOP;
}

static void read_file(struct walk *walk, const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    gzFile file;
    uint64_t hash;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    if (!remember(walk, 0, (uint64_t)st.st_dev, (uint64_t)st.st_ino))
        return;
    hash = content_hash(walk, fd);
    if (hash == 0 || !remember(walk, 1, (uint64_t)st.st_size, hash))
        return;
    file = gzdopen(fd, "rb");
    if (file == NULL)
        return;
    (void)TAKE_FD(fd); /* gzclose closes it */
    hand_on(walk, file);
    (void)gzclose(file);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_tree(struct walk *walk, char *path, bool must_exist, struct edl_error *error)
{
    char *roots[] = { path, NULL };
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    int r = 0;

    if (fts == NULL)
        return edl_error_errno(error, -errno, "cannot read %s", path);
    while (!walk->stop && r == 0 && (entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_F)
            read_file(walk, entry->fts_accpath);
        else if (entry->fts_level == 0 && must_exist &&
                 (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR))
            r = edl_error_errno(error, -entry->fts_errno, "cannot read %s", path);
        else if (entry->fts_level == 0 && must_exist &&
                 (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE))
            r = edl_error_set(error, -ELOOP, "%s is a symbolic link; name what it points to", path);
    }
    (void)fts_close(fts);
    return r;
}

int corpus_files_read(const char *const *paths, size_t n_paths, bool must_exist,
                      const struct corpus_sink *sink, uint64_t *ret_files, struct edl_error *error)
{
    _cleanup_free_ char **sorted = xcalloc(n_paths, sizeof *sorted);
    _cleanup_free_ uint8_t *buffer = xcalloc(1, BUFFER_BYTES);
    struct walk walk = { .sink = sink, .buffer = buffer };
    int r = 0;

    for (size_t i = 0; i < n_paths; i++)
        sorted[i] = xstrdup(paths[i]);
    qsort(sorted, n_paths, sizeof *sorted, by_path);
    for (size_t i = 0; i < n_paths && r == 0 && !walk.stop; i++)
        r = read_tree(&walk, sorted[i], must_exist, error);
    for (size_t i = 0; i < n_paths; i++)
        free(sorted[i]);
    forget_all(&walk);
    if (r < 0)
        return r;
    *ret_files = walk.files;
    return 0;
}
