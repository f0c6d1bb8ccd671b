/* SPDX-License-Identifier: Apache-2.0 */
/* model_tar.h - a trained model as one tar, as paddle.v2 reads and writes it
 *
 * Of each parameter the member NAME, which is its file of a saved pass, and NAME.protobuf. That
 * tells name, number of values and shape (ParameterConfig of PaddlePaddle, fields 1, 2 and 9). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct model_contents;
struct param_spec;

/* model_tar_save - of contents only the parameters; is written aside and appears whole, in the
 * place of an older one. The folder of path exists. */
int model_tar_save(const char *path, const struct model_contents *contents,
                   struct edl_error *error);

/* model_tar_read - the members that have the names of these parameters into values, NULL: not this
 * one; ret_found: of each whether it is there
 * EDL_ECORRUPT: it is no tar, or a member is no parameter of that many numbers; -errno. */
int model_tar_read(const char *path, const struct param_spec *const *specs, float *const *values,
                   uint32_t n, bool *ret_found, struct edl_error *error);

/* model_tar_clean - removes from a folder of saved passes the tars that processes which are dead
 * had begun; one that is being written stays */
void model_tar_clean(const char *dir);
