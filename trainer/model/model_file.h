/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.h - the trained model on disk, each parameter in Paddle's own file format
 *
 * A folder with one file per parameter, a copy of word_dict, and `done`. A file is a 16-byte header
 * {int32 version 0, uint32 value size 4, uint64 count}, then the floats, little-endian. `done`
 * tells the version that has written it in 169 bytes, as PaddlePaddle's does. Written to a
 * temporary folder, synced, read back, and put in place by one rename: a reader that sees the
 * folder sees all of it, and what it replaces stays until then. */
#pragma once

#include "trainer/parameters/declaration.h"
#include "trainer/files/file_write.h"

#include <stddef.h>
#include <stdint.h>

struct edl_error;

/* The beginning of a parameter's file. */
struct param_header {
    int32_t version;
    uint32_t value_bytes;
    uint64_t count;
};
_Static_assert(sizeof(struct param_header) == 16, "Paddle's header has 16 bytes");

/* model_file_prepare - makes the folder that `folder` is to lie in (one level) and looks whether it
 * can be written to, before somebody trains for hours; the error has a remedy */
int model_file_prepare(const char *folder, struct edl_error *error);

/* A small file beside the parameters. */
struct model_text {
    const char *name, *text;
    size_t size;
};

/* A file whose bytes lie in several places. */
struct model_part {
    const char *name;
    const struct file_piece *pieces;
    size_t n;
};

struct model_contents {
    const struct param_spec *const *specs; /* [n] */
    float *const *values;                  /* [n] */
    uint32_t n, n_texts;
    const struct model_text *texts;
    const struct model_part *part; /* NULL: none */
    const char *word_dict;         /* is copied; NULL: none */
};

/* model_contents_check - whether each value is a number: -EDOM names the parameter, the value and
 * its place */
int model_contents_check(const struct model_contents *contents, struct edl_error *error);

/* model_file_save_contents - folder's parent exists; an older model there is replaced, but for one
 * that is not checked (model_contents_check) */
int model_file_save_contents(const char *folder, const struct model_contents *contents,
                             struct edl_error *error);

/* model_file_remove - a saved folder, `done` first: it is no whole model from then on. A folder
 * that is not there, or has folders in it, is left so */
void model_file_remove(const char *folder);

/* model_file_save - folder's parent exists; an older model there is replaced; word_dict may be NULL
 */
int model_file_save(const char *folder, const struct declaration *declaration, float *const *params,
                    const char *word_dict, struct edl_error *error);

/* model_file_read - one parameter: exactly n floats, all of them numbers; EDL_ECORRUPT when the
 * file says otherwise */
int model_file_read(const char *path, float *ret, size_t n, struct edl_error *error);
