/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - a server's table in a file */
#include "trainer/server/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <zlib.h>

#include "kernels/optimizer.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/files/file_write.h"
#include "trainer/files/one_writer.h"
#include "trainer/server/pserver.h"
#include "trainer/exchange/table.h"

static const char magic_2[8] = { 'E', 'D', 'L', 'C', 'K', 'P', 'T', '2' };
static const char magic_3[8] = { 'E', 'D', 'L', 'C', 'K', 'P', 'T', '3' };
static const char magic_4[8] = { 'E', 'D', 'L', 'C', 'K', 'P', 'T', '4' };
static const char magic_1[8] = { 'E', 'D', 'L', 'C', 'K', 'P', 'T', '1' };

struct file_header {
    char magic[8];
    uint64_t job_id;
    uint64_t updates, samples;
    uint64_t body_bytes;
    uint32_t shard, n_shards;
    uint32_t declaration_bytes;
    uint16_t optimizer, n_slots;
    uint32_t body_crc;
    uint32_t header_crc; /* of the bytes before it */
};
_Static_assert(sizeof(struct file_header) == 64, "written as it lies in memory");

struct file_more {
    uint64_t epoch, place, identity;
    uint32_t micro_batches, n_averages;
};
_Static_assert(sizeof(struct file_more) == 32, "written as it lies in memory");

static uint32_t crc_of(uint32_t crc, const void *data, size_t size)
{
    return (uint32_t)crc32_z(crc, data, size);
}

static uint32_t header_crc(const struct file_header *header)
{
    return crc_of(0, header, offsetof(struct file_header, header_crc));
}

/* A table is a few pieces of memory, one behind the other in the file. */
#define PIECES_MAX (OPTIMIZER_SLOTS_MAX + 2)
#define HEAD_PIECES 2 /* before them: the header, the declaration */
#define MORE_PIECES 3 /* behind them, of version 3; of version 4 the last one */

struct piece {
    void *data;
    size_t size;
};

/* values, slots, touched; returns how many, and *ret_bytes in all */
static size_t pieces_of(struct table *table, struct piece ret[PIECES_MAX], uint64_t *ret_bytes)
{
    const size_t block = table_shape(table)->total_values * sizeof(float);
    size_t n = 0, n_touched;
    uint64_t *touched = table_touched(table, &n_touched);

    ret[n++] = (struct piece){ table_values(table), block };
    for (uint32_t s = 0; s < table_n_slots(table); s++)
        ret[n++] = (struct piece){ table_slot(table, s), block };
    ret[n++] = (struct piece){ touched, n_touched * sizeof *touched };
    *ret_bytes = 0;
    for (size_t i = 0; i < n; i++)
        *ret_bytes += ret[i].size;
    return n;
}

/* header_of - of a file with these pieces, the declaration first */
static struct file_header header_of(const char magic[8], uint64_t job_id, const struct table *table,
                                    const struct file_piece *pieces, size_t n)
{
    const struct shard_shape *shape = table_shape(table);
    struct file_header header = { .job_id = job_id,
                                  .updates = table_updates(table),
                                  .samples = table_samples(table),
                                  .shard = shape->shard,
                                  .n_shards = shape->n_shards,
                                  .declaration_bytes = (uint32_t)pieces[0].size,
                                  .optimizer = (uint16_t)table_declaration(table)->optimizer.method,
                                  .n_slots = (uint16_t)table_n_slots(table) };

    memcpy(header.magic, magic, sizeof header.magic);
    for (size_t i = 0; i < n; i++) {
        header.body_bytes += pieces[i].size;
        header.body_crc = crc_of(header.body_crc, pieces[i].data, pieces[i].size);
    }
    header.header_crc = header_crc(&header);
    return header;
}

static const char *magic_of(const struct checkpoint_more *more)
{
    if (more == NULL)
        return magic_2;
    return more->n_choices > 0 ? magic_4 : magic_3;
}

/* write_content - and reads it back: only then may it take the place of the one before */
static int write_content(int fd, const char *path, uint64_t job_id, struct table *table,
                         const struct checkpoint_more *more)
{
    uint8_t declaration[WIRE_DECLARE_MAX];
    struct file_piece all[HEAD_PIECES + PIECES_MAX + MORE_PIECES];
    struct piece pieces[PIECES_MAX];
    struct file_header header;
    struct file_more told;
    uint64_t bytes;
    size_t n = pieces_of(table, pieces, &bytes);
    int r;

    all[1] = (struct file_piece){ declaration,
                                  wire_declare_encode(table_declaration(table), declaration) };
    for (size_t i = 0; i < n; i++)
        all[HEAD_PIECES + i] = (struct file_piece){ pieces[i].data, pieces[i].size };
    if (more != NULL) {
        told = (struct file_more){ more->epoch, more->place, more->identity, more->micro_batches,
                                   more->n_averages };
        all[HEAD_PIECES + n++] = (struct file_piece){ &told, sizeof told };
        all[HEAD_PIECES + n++] =
            (struct file_piece){ more->averages, more->n_averages * sizeof *more->averages };
        if (more->n_choices > 0)
            all[HEAD_PIECES + n++] = (struct file_piece){ more->choices, more->n_choices };
    }
    header = header_of(magic_of(more), job_id, table, all + 1, n + 1);
    all[0] = (struct file_piece){ &header, sizeof header };
    r = file_write_pieces(fd, all, n + HEAD_PIECES);
    return r < 0 ? r : file_reads_back(AT_FDCWD, path, all, n + HEAD_PIECES);
}

/* ---- the file beside it, until it is whole ---- */

#define ASIDE_DIGITS 16

static const char aside_mark[] = ".tmp", next_mark[] = ".next", hex_digits[] = "0123456789abcdef";

static int name_beside(const char *path, const char *mark, char *ret, size_t size,
                       struct edl_error *error)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return edl_error_errno(error, -errno, "cannot name a file beside %s", path);
    if ((size_t)snprintf(ret, size, "%s%s-%0*" PRIx64, path, mark, ASIDE_DIGITS, number) >= size)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", path);
    return 0;
}

/* behind_mark - what follows the mark and its number; NULL: there is no such mark. Releases before
 * had one name for all writers */
static const char *behind_mark(const char *text, const char *mark)
{
    const size_t n = strlen(mark);

    if (strncmp(text, mark, n) != 0)
        return NULL;
    text += n;
    if (*text == '-' && strspn(text + 1, hex_digits) == ASIDE_DIGITS)
        text += 1 + ASIDE_DIGITS;
    return text;
}

/* is_aside - text: behind the name of the file that it is beside */
static bool is_aside(const char *text)
{
    const char *end = behind_mark(text, aside_mark);

    return end != NULL && *end == '\0';
}

/* is_next - also one that is half written */
static bool is_next(const char *text)
{
    const char *end = behind_mark(text, next_mark);

    return end != NULL && (*end == '\0' || is_aside(end));
}

/* sweep - the files beside it whose names go on so; own: but for this one and what is beside it */
static void sweep(const char *path, bool (*goes)(const char *text), const char *own)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    _cleanup_free_ char *parent = file_parent(path);
    _cleanup_closedir_ DIR *folder = opendir(parent);
    struct dirent *entry;

    own = own != NULL ? strrchr(own, '/') + 1 : NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, name, strlen(name)) == 0 && goes(entry->d_name + strlen(name)) &&
            (own == NULL || strncmp(entry->d_name, own, strlen(own)) != 0) &&
            unlinkat(dirfd(folder), entry->d_name, 0) < 0)
            log_warning("cannot remove the half written checkpoint %s/%s: %s", parent,
                        entry->d_name, strerror(errno));
}

void checkpoint_sweep(const char *path)
{
    sweep(path, is_aside, NULL);
}

int checkpoint_next(const char *path, char *ret, size_t size, struct edl_error *error)
{
    return name_beside(path, next_mark, ret, size, error);
}

void checkpoint_next_sweep(const char *path, const char *own)
{
    sweep(path, is_next, own);
}

int checkpoint_claim(struct one_writer *writer, const struct pserver_config *config,
                     struct edl_error *error)
{
    static const char text[] = "edl-checkpoint"; /* as the Python module names a job */
    struct writer_name me = { .incarnation = config->incarnation };
    uint8_t digest[JOB_PROOF_BYTES];
    char path[PATH_MAX];
    int r;

    if (one_writer_holds(writer))
        return 0;
    r = job_hmac(config->secret, text, strlen(text), digest, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(me.job + 2 * i, sizeof me.job - 2 * i, "%02x", digest[i]);
    (void)snprintf(me.place, sizeof me.place, "pserver %u", config->index);
    if ((size_t)snprintf(path, sizeof path, "%s.writer", config->checkpoint_path) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", config->checkpoint_path);
    r = one_writer_claim(writer, path, &me, error);
    if (r >= 0)
        checkpoint_sweep(config->checkpoint_path);
    return r;
}

/* put_in_place - unless it is another one's by now. A server that takes it over after this question
 * has swept the file before it reads what is there. */
static int put_in_place(const char *aside, const char *path, const struct one_writer *writer,
                        struct edl_error *error)
{
    if (writer != NULL && !one_writer_holds(writer))
        return edl_error_set(error, -EBUSY, "another server has taken over %s", path);
    if (rename(aside, path) < 0)
        return edl_error_errno(error, -errno, "cannot rename %s", aside);
    return name_sync(path, error);
}

int checkpoint_write(const char *path, uint64_t job_id, struct table *table,
                     const struct checkpoint_more *more, const struct one_writer *writer,
                     struct edl_error *error)
{
    char aside[PATH_MAX];
    _cleanup_close_ int fd = -1;
    int r;

    r = file_make_parent(path, error);
    if (r >= 0)
        r = name_beside(path, aside_mark, aside, sizeof aside, error);
    if (r < 0)
        return r;
    fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot create %s", aside);
    r = write_content(fd, aside, job_id, table, more);
    if (r < 0)
        (void)edl_error_errno(error, r, "cannot write %s, and the one before stays", aside);
    else
        r = put_in_place(aside, path, writer, error);
    if (r < 0)
        (void)unlink(aside);
    return r;
}

static int check_header(const struct file_header *header, const char *path, uint64_t file_bytes,
                        uint64_t job_id, uint32_t shard, struct edl_error *error)
{
    if (memcmp(header->magic, magic_1, sizeof magic_1) == 0)
        return edl_error_set(error, EDL_ECORRUPT,
                             "checkpoint %s is of an older release of edl, whose learning rate and "
                             "L2 meant something else: finish the job with that release, or start "
                             "it anew without the file",
                             path);
    if ((memcmp(header->magic, magic_2, sizeof magic_2) != 0 &&
         memcmp(header->magic, magic_3, sizeof magic_3) != 0 &&
         memcmp(header->magic, magic_4, sizeof magic_4) != 0) ||
        header->header_crc != header_crc(header))
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s has a damaged header", path);
    if (header->job_id != job_id)
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s is of job %llu, this is job %llu",
                             path, (unsigned long long)header->job_id, (unsigned long long)job_id);
    if (header->shard != shard || header->n_shards == 0 || header->n_shards > SHARDS_MAX ||
        shard >= header->n_shards)
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s is of server %u of %u, this is %u",
                             path, header->shard, header->n_shards, shard);
    if (header->body_bytes != file_bytes - sizeof *header ||
        header->declaration_bytes > header->body_bytes)
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s is cut off", path);
    return 0;
}

/* read_more - from the last n bytes of the body; false: they are no such thing */
static bool read_more(const struct file_header *header, const uint8_t *from, uint64_t n,
                      struct checkpoint_more *ret)
{
    const bool has_choices = memcmp(header->magic, magic_4, sizeof magic_4) == 0;
    struct file_more more;
    uint64_t bytes;

    *ret = (struct checkpoint_more){ 0 };
    if (memcmp(header->magic, magic_2, sizeof magic_2) == 0)
        return n == 0;
    if (n < sizeof more)
        return false;
    memcpy(&more, from, sizeof more);
    bytes = more.n_averages * sizeof *ret->averages;
    n -= sizeof more;
    if (has_choices ? n <= bytes || n - bytes > UINT32_MAX : n != bytes)
        return false;
    *ret = (struct checkpoint_more){ .epoch = more.epoch,
                                     .place = more.place,
                                     .identity = more.identity,
                                     .micro_batches = more.micro_batches,
                                     .n_averages = more.n_averages,
                                     .n_choices = (uint32_t)(n - bytes) };
    ret->averages = xcalloc(MAX_OF(more.n_averages, 1u), sizeof *ret->averages);
    memcpy(ret->averages, from + sizeof more, bytes);
    if (has_choices) {
        ret->choices = xcalloc(ret->n_choices, 1);
        memcpy(ret->choices, from + sizeof more + bytes, ret->n_choices);
    }
    return true;
}

static int restore(const struct file_header *header, const uint8_t *body, const char *path,
                   struct table **ret, struct checkpoint_more *ret_more, struct edl_error *error)
{
    struct declaration declaration;
    struct piece pieces[PIECES_MAX];
    struct table *table = NULL;
    uint64_t bytes;
    size_t n;
    int r;

    if (crc_of(0, body, header->body_bytes) != header->body_crc)
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s fails its checksum", path);
    r = wire_declare_decode(body, header->declaration_bytes, &declaration, error);
    if (r < 0) {
        edl_error_prefix(error, "checkpoint %s: ", path);
        return r;
    }
    r = table_new(&declaration, header->shard, header->n_shards, &table, error);
    if (r < 0)
        return r;
    n = pieces_of(table, pieces, &bytes);
    if (header->optimizer != declaration.optimizer.method ||
        header->n_slots != table_n_slots(table) ||
        header->body_bytes < header->declaration_bytes + bytes ||
        !read_more(header, body + header->declaration_bytes + bytes,
                   header->body_bytes - header->declaration_bytes - bytes, ret_more)) {
        (void)table_free(table);
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s does not fit its declaration",
                             path);
    }
    body += header->declaration_bytes;
    for (size_t i = 0; i < n; body += pieces[i++].size)
        memcpy(pieces[i].data, body, pieces[i].size);
    table_set_updates(table, header->updates);
    table_set_samples(table, header->samples);
    table_set_restored(table);
    *ret = table;
    return 0;
}

int checkpoint_read(const char *path, uint64_t job_id, uint32_t shard, struct table **ret,
                    struct checkpoint_more *ret_more, struct edl_error *error)
{
    struct checkpoint_more more = { 0 };
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ uint8_t *body = NULL;
    struct file_header header;
    struct stat status;
    int r;

    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot open checkpoint %s", path);
    if (fstat(fd, &status) < 0)
        return edl_error_errno(error, -errno, "cannot stat checkpoint %s", path);
    if ((uint64_t)status.st_size < sizeof header)
        return edl_error_set(error, EDL_ECORRUPT, "checkpoint %s is cut off", path);
    r = file_read_all(fd, &header, sizeof header);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read checkpoint %s", path);
    r = check_header(&header, path, (uint64_t)status.st_size, job_id, shard, error);
    if (r < 0)
        return r;
    body = malloc(header.body_bytes + 1);
    if (body == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for checkpoint %s", path);
    r = file_read_all(fd, body, header.body_bytes);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read checkpoint %s", path);
    r = restore(&header, body, path, ret, &more, error);
    if (r >= 0 && ret_more != NULL)
        *ret_more = more;
    else {
        free(more.averages);
        free(more.choices);
    }
    return r;
}
