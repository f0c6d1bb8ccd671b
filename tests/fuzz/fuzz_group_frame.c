/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_group_frame.c - any bytes as the head of a message between two ranks of a group */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libedl/group_frame.h"
#include "shared/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes, again[GROUP_FRAME_BYTES];
    struct edl_error error = { 0 };
    struct group_frame frame;
    struct group_plan plan;

    if (size < GROUP_FRAME_BYTES)
        return 0;
    bytes = malloc(GROUP_FRAME_BYTES); /* exactly as long: reading on is noticed */
    if (bytes == NULL)
        abort();
    memcpy(bytes, data, GROUP_FRAME_BYTES);
    if (group_frame_decode(bytes, &frame, &error) == 0) {
        group_frame_encode(&frame, again);
        if (memcmp(bytes, again, sizeof again) != 0 || frame.rank >= GROUP_RANKS_MAX ||
            *group_frame_kind_to_string(frame.kind) == '?')
            abort();
        if (group_plan_micro_batches(&frame.hello, 1) != frame.hello.chosen)
            abort();
        /* whatever a rank says of itself, each micro-batch is computed once */
        group_plan_make(&frame.hello, 1, GROUP_MICRO_BATCHES_MAX, &plan);
        if (group_cover_count(&plan.take[0]) != GROUP_MICRO_BATCHES_MAX)
            abort();
    } else if ((error.code != -EPROTO && error.code != -EBADMSG) || error.text[0] == '\0')
        abort();
    free(bytes);
    return 0;
}
