/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_state.c - what a saved pass keeps of the optimizer */
#include "trainer/model/optimizer_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "kernels/tensor_ops.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/files/file_write.h"
#include "trainer/network/network.h"
#include "trainer/exchange/table.h"

static const char magic[8] = { 'E', 'D', 'L', 'O', 'P', 'T', 'S', '1' };

/* How a parameter lies in a table: states of another layout are of no use. */
struct layout {
    char name[PARAM_NAME_SIZE];
    uint32_t rows, columns, sparse, velocity;
};

static uint32_t crc_of(uint32_t crc, const void *data, size_t size)
{
    return (uint32_t)crc32_z(crc, data, size);
}

static uint32_t header_crc(const struct optimizer_state_header *header)
{
    return crc_of(0, header, offsetof(struct optimizer_state_header, header_crc));
}

static uint32_t values_crc(const struct network *network, float *const *values)
{
    uint32_t crc = 0;

    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;

        crc = crc_of(crc, values[p], (size_t)spec->rows * spec->columns * sizeof(float));
    }
    return crc;
}

static struct layout *layout_of(const struct declaration *declaration)
{
    struct layout *ret = xcalloc(declaration->n_params, sizeof *ret);

    for (uint32_t p = 0; p < declaration->n_params; p++) {
        const struct param_spec *spec = &declaration->params[p];

        ret[p] =
            (struct layout){ .rows = spec->rows,
                             .columns = spec->columns,
                             .sparse = spec->sparse,
                             .velocity = optimizer_has_velocity(&declaration->optimizer, spec) };
        memcpy(ret[p].name, spec->name, strlen(spec->name));
    }
    return ret;
}

/* The values of sparse rows, the slots and the counts: where they lie in the table. */
static size_t table_pieces(struct table *table, struct file_piece *ret)
{
    const struct shard_shape *shape = table_shape(table);
    size_t n = 0, n_touched;
    const uint64_t *touched = table_touched(table, &n_touched);

    ret[n++] = (struct file_piece){ table_values(table) + shape->dense_values,
                                    (shape->total_values - shape->dense_values) * sizeof(float) };
    for (uint32_t s = 0; s < table_n_slots(table); s++)
        ret[n++] = (struct file_piece){ table_slot(table, s), shape->total_values * sizeof(float) };
    ret[n++] = (struct file_piece){ touched, n_touched * sizeof *touched };
    return n;
}

static int check_slots(struct table *table, struct edl_error *error)
{
    const struct shard_shape *shape = table_shape(table);

    for (uint32_t p = 0; p < shape->n_params; p++)
        for (uint32_t s = 0; s < table_n_slots(table); s++) {
            const struct shard_param *part = &shape->params[p];

            if (tensor_ops_f32()->finite(table_slot(table, s) + part->offset, part->values))
                continue;
            (void)edl_error_set(error, -EDOM,
                                "nothing is saved: what the optimizer keeps of the parameter %s is "
                                "not finite any more",
                                table_declaration(table)->params[p].name);
            return edl_error_remedy(error, "set clipping, or look for values in the data that are "
                                           "far too large");
        }
    return 0;
}

int optimizer_state_pack(const struct network *network, float *const *values, struct table *table,
                         uint64_t steps, struct optimizer_state *ret, struct edl_error *error)
{
    const struct declaration *declaration = table_declaration(table);
    struct optimizer_state_header *header = &ret->header;
    int r = check_slots(table, error);

    memset(ret, 0, sizeof *ret);
    if (r < 0)
        return r;
    *header = (struct optimizer_state_header){ .updates = table_updates(table),
                                               .samples = table_samples(table),
                                               .steps = steps,
                                               .method = declaration->optimizer.method,
                                               .n_slots = table_n_slots(table),
                                               .n_params = declaration->n_params,
                                               .values_crc = values_crc(network, values) };
    memcpy(header->magic, magic, sizeof magic);
    ret->layout = layout_of(declaration);
    ret->pieces[0] = (struct file_piece){ header, sizeof *header };
    ret->pieces[1] =
        (struct file_piece){ ret->layout, declaration->n_params * sizeof(struct layout) };
    ret->part = (struct model_part){ .name = OPTIMIZER_STATE_NAME,
                                     .pieces = ret->pieces,
                                     .n = 2 + table_pieces(table, ret->pieces + 2) };
    for (size_t i = 1; i < ret->part.n; i++) {
        header->body_bytes += ret->pieces[i].size;
        header->body_crc = crc_of(header->body_crc, ret->pieces[i].data, ret->pieces[i].size);
    }
    header->header_crc = header_crc(header);
    return 0;
}

void optimizer_state_clear(struct optimizer_state *state)
{
    free(state->layout);
    *state = (struct optimizer_state){ 0 };
}

/* ---- reading ---- */

static int damaged(const char *path, const char *what, struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ECORRUPT, "%s %s", path, what);
    return edl_error_remedy(error, "take an earlier pass, or remove the file: the optimizer then "
                                   "begins anew");
}

/* none - returns 0 */
static int none(struct edl_error *error, const char *path, const char *why)
{
    (void)edl_error_set(error, -ENOENT, "%s %s", path, why);
    return 0;
}

/* fits - whether the file is of this training, as far as its header tells: 1, 0 and why not */
static int fits(const struct optimizer_state_header *header, const struct table *table,
                const char *path, struct edl_error *error)
{
    const struct declaration *declaration = table_declaration(table);
    const struct optimizer_kind *kind = optimizer_kind(header->method);
    char text[128];

    if (header->method != declaration->optimizer.method) {
        (void)snprintf(text, sizeof text, "is of %s, and this training has %s",
                       kind != NULL ? kind->name : "another method",
                       optimizer_kind(declaration->optimizer.method)->name);
        return none(error, path, text);
    }
    if (header->n_slots != table_n_slots(table) || header->n_params != declaration->n_params)
        return none(error, path, "is of other parameters, or another momentum");
    return 1;
}

static uint8_t *take(const struct file_piece *piece, uint8_t *from)
{
    if (piece->size > 0)
        memcpy((void *)piece->data, from, piece->size); /* the table's, and we may write it */
    return from + piece->size;
}

static int restore(const struct optimizer_state_header *header, uint8_t *body, const char *path,
                   struct table *table, struct edl_error *error)
{
    struct file_piece pieces[OPTIMIZER_SLOTS_MAX + 2];
    const size_t n = table_pieces(table, pieces);
    _cleanup_free_ struct layout *layout = layout_of(table_declaration(table));
    const size_t layout_bytes = header->n_params * sizeof *layout;

    if (memcmp(body, layout, layout_bytes) != 0)
        return none(error, path, "is of other parameters, or another momentum");
    body += layout_bytes;
    for (size_t i = 0; i < n; i++)
        body = take(&pieces[i], body);
    table_set_updates(table, header->updates);
    table_set_samples(table, header->samples);
    return 1;
}

static uint64_t body_bytes_of(struct table *table)
{
    struct file_piece pieces[OPTIMIZER_SLOTS_MAX + 2];
    const size_t n = table_pieces(table, pieces);
    uint64_t bytes = table_declaration(table)->n_params * sizeof(struct layout);

    for (size_t i = 0; i < n; i++)
        bytes += pieces[i].size;
    return bytes;
}

static int read_body(int fd, const struct optimizer_state_header *header, const char *path,
                     struct table *table, struct edl_error *error)
{
    _cleanup_free_ uint8_t *body = malloc(header->body_bytes + 1);
    int r;

    if (body == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for %s", path);
    r = file_read_all(fd, body, header->body_bytes);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    if (crc_of(0, body, header->body_bytes) != header->body_crc)
        return damaged(path, "fails its checksum", error);
    return restore(header, body, path, table, error);
}

int optimizer_state_read(const char *folder, const struct network *network, float *const *values,
                         uint32_t pass, struct table *table, uint64_t *ret_steps,
                         struct edl_error *error)
{
    struct optimizer_state_header header;
    _cleanup_close_ int fd = -1;
    struct stat status;
    char path[PATH_MAX];
    int r;

    if ((size_t)snprintf(path, sizeof path, "%s/" OPTIMIZER_STATE_NAME, folder) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return none(error, path, "is missing");
    if (fd < 0 || fstat(fd, &status) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < sizeof header)
        return damaged(path, "is cut off", error);
    r = file_read_all(fd, &header, sizeof header);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    if (memcmp(header.magic, magic, sizeof magic) != 0 || header.header_crc != header_crc(&header))
        return damaged(path, "has a damaged header", error);
    if (header.body_bytes != (uint64_t)status.st_size - sizeof header)
        return damaged(path, "is cut off", error);
    r = fits(&header, table, path, error);
    if (r <= 0)
        return r;
    if (header.values_crc != values_crc(network, values))
        return none(error, path, "is of other values than those beside it");
    if (header.body_bytes != body_bytes_of(table))
        return none(error, path, "is of other parameters, or another momentum");
    r = read_body(fd, &header, path, table, error);
    if (r <= 0)
        return r;
    table_set_pass(table, pass);
    *ret_steps = header.steps;
    return r;
}
