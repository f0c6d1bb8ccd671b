/* SPDX-License-Identifier: Apache-2.0 */
/* group_frame.c - the head of each message between two ranks of a group */
#include "libedl/group_frame.h"

#include <errno.h>
#include <string.h>

#include "shared/error.h"

#define MAGIC UINT32_C(0x474c4445) /* "EDLG" */

static uint8_t *put(uint8_t *out, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

static uint64_t get(const uint8_t **in, int n_bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t) * (*in)++ << 8 * i;
    return value;
}

void group_frame_encode(const struct group_frame *frame, uint8_t ret[GROUP_FRAME_BYTES])
{
    uint8_t *out = put(ret, MAGIC, 4);

    out = put(out, GROUP_VERSION, 2);
    out = put(out, frame->kind, 1);
    out = put(out, frame->form, 1);
    out = put(out, frame->job, 8);
    out = put(out, frame->generation, 8);
    out = put(out, frame->step, 8);
    out = put(out, frame->bytes, 8);
    out = put(out, frame->rank, 2);
    out = put(out, frame->hello.micro_batches, 2);
    out = put(out, frame->flags, 4);
    out = put(out, frame->count, 4);
    out = put(out, frame->hello.chosen, 2);
    out = put(out, 0, 2);
    out = put(out, frame->values, 8);
    out = put(out, frame->state_bytes, 8);
    out = put(out, frame->hello.identity, 8);
    out = put(out, frame->hello.applied, 8);
    out = put(out, frame->hello.gradient_step, 8);
    out = put(out, frame->machine, 8);
    out = put(out, frame->window, 8);
    memcpy(out, frame->hello.cover.bits, GROUP_COVER_BYTES);
}

uint64_t group_frame_greeting_bytes(enum group_frame_kind kind)
{
    switch (kind) {
    case GROUP_HELLO:
    case GROUP_FOLLOW:
        return JOB_NONCE_BYTES + GROUP_SIGNATURE_BYTES;
    case GROUP_CHALLENGE:
        return JOB_NONCE_BYTES + JOB_PROOF_BYTES + GROUP_SIGNATURE_BYTES;
    case GROUP_PROOF:
        return JOB_PROOF_BYTES;
    default:
        return 0;
    }
}

const char *group_frame_kind_to_string(enum group_frame_kind kind)
{
    switch (kind) {
#define XX(name, value)                                                                            \
    case GROUP_##name:                                                                             \
        return #name;
        GROUP_FRAME_KIND_MAP(XX)
#undef XX
    }
    return "?";
}

static bool is_kind(uint64_t kind)
{
    return kind >= GROUP_HELLO && kind <= GROUP_NODE;
}

/* is_chosen - who has a state says how large the next step shall be */
static bool is_chosen(const struct group_frame *f)
{
    bool says = f->kind == GROUP_HELLO || f->kind == GROUP_CHALLENGE || f->kind == GROUP_FOLLOW;

    return f->hello.chosen <= GROUP_MICRO_BATCHES_MAX && says == (f->hello.chosen > 0);
}

static bool is_possible(const struct group_frame *f)
{
    return is_chosen(f) && f->form < GROUP_FORMS && f->rank < GROUP_RANKS_MAX &&
           (f->flags & ~GROUP_FLAGS) == 0 && f->hello.micro_batches <= GROUP_MICRO_BATCHES_MAX &&
           f->hello.applied < UINT64_MAX - 1 && f->step < UINT64_MAX - 1;
}

int group_frame_decode(const uint8_t bytes[GROUP_FRAME_BYTES], struct group_frame *ret,
                       struct edl_error *error)
{
    const uint8_t *in = bytes;
    struct group_frame f = { 0 };
    uint64_t version, kind, nothing;

    if (get(&in, 4) != MAGIC)
        return edl_error_set(error, -EBADMSG, "this is no message of a group");
    version = get(&in, 2);
    if (version != GROUP_VERSION) {
        (void)edl_error_set(error, -EPROTO, "a rank speaks version %u of the protocol, this one %d",
                            (unsigned)version, GROUP_VERSION);
        return edl_error_remedy(error, "use the same version of libedl on all nodes");
    }
    kind = get(&in, 1);
    f.kind = (enum group_frame_kind)kind;
    f.form = (enum group_form)get(&in, 1);
    f.job = get(&in, 8);
    f.generation = get(&in, 8);
    f.step = get(&in, 8);
    f.bytes = get(&in, 8);
    f.rank = (uint32_t)get(&in, 2);
    f.hello.micro_batches = (unsigned)get(&in, 2);
    f.flags = (uint32_t)get(&in, 4);
    f.count = (uint32_t)get(&in, 4);
    f.hello.chosen = (unsigned)get(&in, 2);
    nothing = get(&in, 2);
    f.values = get(&in, 8);
    f.state_bytes = get(&in, 8);
    f.hello.identity = get(&in, 8);
    f.hello.applied = get(&in, 8);
    f.hello.gradient_step = get(&in, 8);
    f.machine = get(&in, 8);
    f.window = get(&in, 8);
    memcpy(f.hello.cover.bits, in, GROUP_COVER_BYTES);
    if (!is_kind(kind) || nothing != 0 || !is_possible(&f) ||
        (group_frame_greeting_bytes(f.kind) != 0 && f.bytes != group_frame_greeting_bytes(f.kind)))
        return edl_error_set(error, -EPROTO, "a message of kind %u has a value that cannot be",
                             (unsigned)kind);
    *ret = f;
    return 0;
}
