/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_body.c - see proxy_body.h */
#include "agent/link/proxy_body.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/fair_share.h"
#include "shared/macro.h"

int proxy_body_new(struct proxy_bodies *bodies, uint64_t job_id, struct proxy_body **ret,
                   struct edl_error *error)
{
    int fd = memfd_create("edl-body", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    struct proxy_body *body;

    if (file == NULL) {
        int r = edl_error_errno(error, -errno, "cannot take a body");

        (void)safe_close(fd);
        return r;
    }
    body = xcalloc(1, sizeof *body);
    *body = (struct proxy_body){ .job_id = job_id, .file = file };
    DL_APPEND(bodies->list, body);
    *ret = body;
    return 0;
}

static uint64_t held_by(const struct proxy_bodies *bodies, uint64_t job_id)
{
    const struct proxy_body *body;
    uint64_t held = 0;

    DL_FOREACH(bodies->list, body)
    {
        if (body->job_id == job_id)
            held += body->size_bytes;
    }
    return held;
}

int proxy_body_take(struct proxy_bodies *bodies, struct proxy_body *body, const void *data,
                    size_t size, struct edl_error *error)
{
    uint64_t mine = held_by(bodies, body->job_id) + size;

    if (!fair_share_has_room(mine, bodies->size_bytes + size, PROXY_BODIES_MAX_BYTES)) {
        (void)edl_error_set(
            error, EDL_ETOOMANY,
            "this node holds %llu bytes of bodies that job %llu has not sent to their end",
            (unsigned long long)(mine - size), (unsigned long long)body->job_id);
        return edl_error_remedy(error, "send one large body at a time");
    }
    if (fwrite(data, 1, size, body->file) != size)
        return edl_error_errno(error, -errno, "cannot keep a body");
    body->size_bytes += size;
    bodies->size_bytes += size;
    return 0;
}

void proxy_body_free(struct proxy_bodies *bodies, struct proxy_body *body)
{
    DL_DELETE(bodies->list, body);
    bodies->size_bytes -= body->size_bytes;
    (void)fclose(body->file);
    free(body);
}
