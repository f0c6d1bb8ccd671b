/* SPDX-License-Identifier: Apache-2.0 */
/* network_files.h - a network by its name or its file
 *
 * A name is a file NAME.json of those that ship, in EDL_MODELS_DIR. Else it is one where they are
 * installed, else one in the checkout of a program that is not. */
#pragma once

#include <stddef.h>

#include "trainer/data/batch.h"

struct edl_error;
struct model_part;
struct network;

/* The text of a network. */
struct network_file {
    char path[1024];
    char *text;
    size_t size;
    const char *source; /* the file that it was made from and is saved as; NULL: this one */
};

/* network_file_open - of a name or a path (with a / in it, or .json behind); the caller's, for
 * network_file_close. -EINVAL: there is none that may be read, with the names that there are */
int network_file_open(const char *name, struct network_file *ret, struct edl_error *error);
void network_file_close(struct network_file *file);

/* network_file_parse - the network of it
 * arguments: "depth=20,width=16" or NULL. data: the inputs of the samples, or NULL: where an
 * input's size is an argument ("=vocabulary") that arguments do not set, it is the data's. -EINVAL
 * with what cannot be read. */
int network_file_parse(const struct network_file *file, const char *arguments,
                       const struct input_spec *data, uint32_t n_data, struct network **ret,
                       struct edl_error *error);

/* network_fits_data - kinds and sizes of the inputs, one by one; -EINVAL names the first that
 * differs */
int network_fits_data(const struct network *network, const struct input_spec *data, uint32_t n_data,
                      struct edl_error *error);

/* network_save_tar - each parameter in a tar of paddle.v2 (model_tar.h) */
int network_save_tar(const struct network *network, float *const *values, const char *path,
                     struct edl_error *error);

/* network_save - each parameter in a file of the folder, with the network, path.txt (its name) and
 * done; a network with a source is saved as that file; values: f32[rows, columns] of each;
 * word_dict is copied, NULL: none. part: one file more, NULL: none. The folder's parent exists
 * (model_file_prepare). */
int network_save(const struct network *network, const struct network_file *file,
                 float *const *values, const char *word_dict, const struct model_part *part,
                 const char *folder, struct edl_error *error);
