/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.c - an array in the program's memory and its image in a back-end's */
#include "kernels/mirror.h"

#include <stdlib.h>

#include "kernels/kernels.h"

bool mirror_open(struct mirror *mirror, const struct edl_backend *backend, size_t bytes)
{
    mirror->device = backend->allocate(bytes);
    mirror->host = backend->host_memory ? mirror->device : calloc(1, bytes > 0 ? bytes : 1);
    if (mirror->device != NULL && mirror->host != NULL)
        return true;
    mirror_close(mirror, backend);
    return false;
}

void mirror_close(struct mirror *mirror, const struct edl_backend *backend)
{
    if (mirror->host != mirror->device)
        free(mirror->host);
    if (mirror->device != NULL)
        backend->release(mirror->device);
    *mirror = (struct mirror){ 0 };
}

void mirror_upload(const struct mirror *mirror, const struct edl_backend *backend, size_t bytes)
{
    if (mirror->host != mirror->device && bytes > 0)
        backend->upload(mirror->host, bytes, mirror->device);
}

void mirror_download(const struct mirror *mirror, const struct edl_backend *backend, size_t bytes)
{
    if (mirror->host != mirror->device && bytes > 0)
        backend->download(mirror->device, bytes, mirror->host);
}
