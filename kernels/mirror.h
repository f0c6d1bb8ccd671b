/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.h - an array in the program's memory and its image in a back-end's
 *
 * On a back-end that works in the program's memory the two are one, and nothing is copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_backend;

struct mirror {
    void *host;
    void *device;
};

/* mirror_open - zeroed; false: one of the two has not so much */
bool mirror_open(struct mirror *mirror, const struct edl_backend *backend, size_t bytes);
void mirror_close(struct mirror *mirror, const struct edl_backend *backend);

/* mirror_upload, mirror_download - the first bytes of it */
void mirror_upload(const struct mirror *mirror, const struct edl_backend *backend, size_t bytes);
void mirror_download(const struct mirror *mirror, const struct edl_backend *backend, size_t bytes);
