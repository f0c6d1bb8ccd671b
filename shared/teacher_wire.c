/* SPDX-License-Identifier: Apache-2.0 */
/* teacher_wire.c - frames between students and teachers */
#include "shared/teacher_wire.h"

#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define MAGIC UINT32_C(0x544c4445) /* "EDLT" */
#define TEACHER_VERSION 1
#define TENSOR_FIXED_BYTES 8

static const struct {
    const char *name;
    uint64_t max;
} frames[] = {
#define XX(name, number, max) [number] = { #name, max },
    TEACHER_FRAME_MAP(XX)
#undef XX
};

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
#define XX(name, text, bytes) { text, bytes },
    TEACHER_TYPE_MAP(XX)
#undef XX
};

static uint8_t *put(uint8_t *out, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

static uint64_t get(const uint8_t *in, int n_bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t)in[i] << 8 * i;
    return value;
}

const char *teacher_frame_to_string(enum teacher_frame type)
{
    const size_t i = (size_t)type;

    return i < ELEMENTS(frames) && frames[i].name != NULL ? frames[i].name : "?";
}

const char *teacher_type_to_string(enum teacher_type type)
{
    return type < TEACHER_TYPES ? types[type].name : "?";
}

size_t teacher_type_bytes(enum teacher_type type)
{
    return type < TEACHER_TYPES ? types[type].bytes : 0;
}

enum teacher_type teacher_type_of(const char *name)
{
    unsigned i = 0;

    while (i < TEACHER_TYPES && !streq(types[i].name, name))
        i++;
    return (enum teacher_type)i;
}

/* ---- headers, greetings, counts ---- */

size_t teacher_header_encode(enum teacher_frame type, uint64_t body_bytes,
                             uint8_t out[TEACHER_HEADER_BYTES])
{
    uint8_t *end = put(out, MAGIC, 4);

    end = put(end, TEACHER_VERSION, 1);
    end = put(end, type, 1);
    end = put(end, 0, 2);
    end = put(end, body_bytes, 8);
    return (size_t)(end - out);
}

int teacher_header_decode(const uint8_t in[TEACHER_HEADER_BYTES], struct teacher_header *ret,
                          struct edl_error *error)
{
    const unsigned type = in[5];
    const uint64_t size = get(in + 8, 8);

    if (get(in, 4) != MAGIC)
        return edl_error_set(error, -EPROTO, "it speaks another protocol");
    if (in[4] != TEACHER_VERSION)
        return edl_error_set(error, -EPROTO,
                             "it speaks version %u of the protocol, and %d is spoken here: install "
                             "the same release on both",
                             in[4], TEACHER_VERSION);
    if (type >= ELEMENTS(frames) || frames[type].name == NULL || get(in + 6, 2) != 0)
        return edl_error_set(error, -EPROTO, "a frame of the unknown type %u", type);
    if (size > frames[type].max)
        return edl_error_set(error, -EPROTO, "%s of %llu bytes is too long", frames[type].name,
                             (unsigned long long)size);
    *ret = (struct teacher_header){ (enum teacher_frame)type, size };
    return 0;
}

size_t teacher_hello_encode(const struct teacher_hello *hello, uint8_t *out)
{
    uint8_t *end = put(out, 0, 4);
    const size_t n = strnlen(hello->name, TEACHER_NAME_MAX);

    memcpy(end, hello->nonce, TEACHER_NONCE_BYTES);
    memcpy(end + TEACHER_NONCE_BYTES, hello->name, n);
    return 4 + TEACHER_NONCE_BYTES + n;
}

/* text_of - any bytes as a text for people */
static void text_of(const uint8_t *bytes, size_t n, char *ret)
{
    memcpy(ret, bytes, n);
    ret[n] = '\0';
    printable_mask(ret, n, "");
}

int teacher_hello_decode(const uint8_t *body, size_t size, struct teacher_hello *ret,
                         struct edl_error *error)
{
    const size_t fixed = 4 + TEACHER_NONCE_BYTES;

    if (size < fixed || size > TEACHER_HELLO_BYTES_MAX)
        return edl_error_set(error, -EPROTO, "HELLO of another length");
    memcpy(ret->nonce, body + 4, TEACHER_NONCE_BYTES);
    text_of(body + fixed, size - fixed, ret->name);
    return 0;
}

size_t teacher_challenge_encode(const struct teacher_challenge *challenge, uint8_t *out)
{
    memcpy(out, challenge->nonce, TEACHER_NONCE_BYTES);
    memcpy(out + TEACHER_NONCE_BYTES, challenge->proof, TEACHER_PROOF_BYTES);
    return TEACHER_CHALLENGE_BYTES;
}

int teacher_challenge_decode(const uint8_t *body, size_t size, struct teacher_challenge *ret,
                             struct edl_error *error)
{
    if (size != TEACHER_CHALLENGE_BYTES)
        return edl_error_set(error, -EPROTO, "CHALLENGE of another length");
    memcpy(ret->nonce, body, TEACHER_NONCE_BYTES);
    memcpy(ret->proof, body + TEACHER_NONCE_BYTES, TEACHER_PROOF_BYTES);
    return 0;
}

int teacher_proof_decode(const uint8_t *body, size_t size, uint8_t ret[TEACHER_PROOF_BYTES],
                         struct edl_error *error)
{
    if (size != TEACHER_PROOF_BYTES)
        return edl_error_set(error, -EPROTO, "PROOF of another length");
    memcpy(ret, body, TEACHER_PROOF_BYTES);
    return 0;
}

size_t teacher_count_encode(uint32_t count, uint8_t *out)
{
    return (size_t)(put(out, count, TEACHER_COUNT_BYTES) - out);
}

int teacher_count_decode(const uint8_t *body, size_t size, uint32_t *ret, struct edl_error *error)
{
    if (size != TEACHER_COUNT_BYTES)
        return edl_error_set(error, -EPROTO, "a count of another length");
    *ret = (uint32_t)get(body, TEACHER_COUNT_BYTES);
    return 0;
}

size_t teacher_id_encode(uint64_t id, uint8_t *out)
{
    return (size_t)(put(out, id, TEACHER_ID_BYTES) - out);
}

int teacher_id_decode(const uint8_t *body, size_t size, uint64_t *ret, struct edl_error *error)
{
    if (size < TEACHER_ID_BYTES)
        return edl_error_set(error, -EPROTO, "a frame without its number");
    *ret = get(body, TEACHER_ID_BYTES);
    return 0;
}

void teacher_text_decode(const uint8_t *body, size_t size, char ret[TEACHER_TEXT_MAX + 1])
{
    text_of(body, MIN_OF(size, (size_t)TEACHER_TEXT_MAX), ret);
}

/* ---- tensors ---- */

/* shape_decode - an extent beside one of 0 is bounded as well: numpy knows no other array */
static int shape_decode(const uint8_t *in, struct teacher_tensor *tensor, struct edl_error *error)
{
    uint64_t n = 1;
    bool empty = false;

    for (uint32_t i = 0; i < tensor->n_dimensions; i++) {
        const uint64_t extent = get(in + 8 * i, 8);

        tensor->dimensions[i] = extent;
        empty |= extent == 0;
        if (extent > TEACHER_BULK_MAX || n * MAX_OF(extent, UINT64_C(1)) > TEACHER_BULK_MAX)
            return edl_error_set(error, -EPROTO, "a tensor is too large");
        n *= MAX_OF(extent, UINT64_C(1));
    }
    tensor->n_values = empty ? 0 : n;
    return 0;
}

static int name_decode(const uint8_t *in, size_t n, struct teacher_tensor *tensor,
                       struct edl_error *error)
{
    if (n > TEACHER_FIELD_MAX)
        return edl_error_set(error, -EPROTO, "a name of %zu bytes; at most %d it may have", n,
                             TEACHER_FIELD_MAX);
    if (memchr(in, '\0', n) != NULL)
        return edl_error_set(error, -EPROTO, "a name with a NUL");
    memcpy(tensor->name, in, n);
    tensor->name[n] = '\0';
    if (!printable_is_utf8(tensor->name))
        return edl_error_set(error, -EPROTO, "a name that is no UTF-8");
    return 0;
}

/* tensor_decode - the one at *at, which moves behind it */
static int tensor_decode(const uint8_t *body, size_t size, size_t *at,
                         struct teacher_tensor *tensor, struct edl_error *error)
{
    const size_t left = size - *at;
    const uint8_t *in = body + *at;
    size_t name_bytes, head;
    uint64_t bytes;
    int r;

    if (left < TENSOR_FIXED_BYTES)
        return edl_error_set(error, -EPROTO, "a tensor is cut off");
    name_bytes = (size_t)get(in, 2);
    tensor->type = (enum teacher_type)in[2];
    tensor->n_dimensions = in[3];
    head = TENSOR_FIXED_BYTES + 8 * (size_t)tensor->n_dimensions + name_bytes;
    head += teacher_padding(head);
    if (tensor->type >= TEACHER_TYPES || tensor->n_dimensions > TEACHER_DIMENSIONS_MAX ||
        left < head)
        return edl_error_set(error, -EPROTO, "a tensor with another head");
    r = shape_decode(in + TENSOR_FIXED_BYTES, tensor, error);
    if (r >= 0)
        r = name_decode(in + TENSOR_FIXED_BYTES + 8 * (size_t)tensor->n_dimensions, name_bytes,
                        tensor, error);
    if (r < 0)
        return r;
    bytes = tensor->n_values * teacher_type_bytes(tensor->type);
    if (left - head < bytes + teacher_padding(bytes))
        return edl_error_set(error, -EPROTO, "a tensor is cut off");
    tensor->values = in + head;
    *at += head + (size_t)bytes + teacher_padding(bytes);
    return 0;
}

static bool comes_twice(const struct teacher_tensors *tensors, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (streq(tensors->tensors[k].name, tensors->tensors[i].name))
            return true;
    return false;
}

int teacher_tensors_decode(const uint8_t *body, size_t size, struct teacher_tensors *ret,
                           struct edl_error *error)
{
    size_t at = TEACHER_TENSORS_HEAD_BYTES;
    uint32_t n;

    ret->n = 0;
    if (size < TEACHER_TENSORS_HEAD_BYTES)
        return edl_error_set(error, -EPROTO, "tensors without their number");
    n = (uint32_t)get(body, 4);
    if (n > TEACHER_TENSORS_MAX)
        return edl_error_set(error, -EPROTO, "there are tensors: %u; %d at most there may be", n,
                             TEACHER_TENSORS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        int r = tensor_decode(body, size, &at, &ret->tensors[i], error);

        if (r < 0)
            return r;
        if (comes_twice(ret, i))
            return edl_error_set(error, -EPROTO, "a tensor comes twice");
    }
    if (at != size)
        return edl_error_set(error, -EPROTO, "something follows the tensors");
    ret->n = n;
    return 0;
}

size_t teacher_tensors_head_encode(uint32_t n, uint8_t out[TEACHER_TENSORS_HEAD_BYTES])
{
    (void)put(put(out, n, 4), 0, 4);
    return TEACHER_TENSORS_HEAD_BYTES;
}

size_t teacher_tensor_head_encode(const struct teacher_tensor *tensor,
                                  uint8_t out[TEACHER_TENSOR_HEAD_MAX])
{
    const size_t name_bytes = strnlen(tensor->name, TEACHER_FIELD_MAX);
    uint8_t *end = put(out, name_bytes, 2);

    end = put(end, tensor->type, 1);
    end = put(end, tensor->n_dimensions, 1);
    end = put(end, 0, 4);
    for (uint32_t i = 0; i < tensor->n_dimensions; i++)
        end = put(end, tensor->dimensions[i], 8);
    memcpy(end, tensor->name, name_bytes);
    end += name_bytes;
    end = put(end, 0, (int)teacher_padding((uint64_t)(end - out)));
    return (size_t)(end - out);
}

static uint64_t value_bytes(const struct teacher_tensor *tensor)
{
    return tensor->n_values * teacher_type_bytes(tensor->type);
}

uint64_t teacher_tensors_bytes(const struct teacher_tensor *tensors, uint32_t n)
{
    uint64_t bytes = TEACHER_TENSORS_HEAD_BYTES;

    for (uint32_t i = 0; i < n; i++) {
        const uint64_t head = TENSOR_FIXED_BYTES + 8 * (uint64_t)tensors[i].n_dimensions +
                              strnlen(tensors[i].name, TEACHER_FIELD_MAX);
        const uint64_t values = value_bytes(&tensors[i]);

        bytes += head + teacher_padding(head) + values + teacher_padding(values);
    }
    return bytes;
}

size_t teacher_tensors_encode(const struct teacher_tensor *tensors, uint32_t n, uint8_t *out)
{
    uint8_t *end = out + teacher_tensors_head_encode(n, out);

    for (uint32_t i = 0; i < n; i++) {
        const size_t bytes = (size_t)value_bytes(&tensors[i]);

        end += teacher_tensor_head_encode(&tensors[i], end);
        if (bytes > 0)
            memcpy(end, tensors[i].values, bytes);
        end = put(end + bytes, 0, (int)teacher_padding(bytes));
    }
    return (size_t)(end - out);
}

/* ---- proofs ---- */

size_t teacher_proof_message(bool of_teacher, const uint8_t student_nonce[TEACHER_NONCE_BYTES],
                             const uint8_t teacher_nonce[TEACHER_NONCE_BYTES],
                             uint8_t ret[TEACHER_PROOF_MESSAGE_MAX])
{
    static const char teacher[] = "edl-teacher 1 teacher", student[] = "edl-teacher 1 student";
    const size_t n = sizeof teacher; /* with its NUL; the other is as long */

    _Static_assert(sizeof teacher == sizeof student, "roles of one length");
    _Static_assert(sizeof teacher + 2 * TEACHER_NONCE_BYTES <= TEACHER_PROOF_MESSAGE_MAX, "room");
    memcpy(ret, of_teacher ? teacher : student, n);
    memcpy(ret + n, student_nonce, TEACHER_NONCE_BYTES);
    memcpy(ret + n + TEACHER_NONCE_BYTES, teacher_nonce, TEACHER_NONCE_BYTES);
    return n + 2 * (size_t)TEACHER_NONCE_BYTES;
}

bool teacher_proof_equal(const uint8_t a[TEACHER_PROOF_BYTES], const uint8_t b[TEACHER_PROOF_BYTES])
{
    uint8_t differences = 0;

    for (int i = 0; i < TEACHER_PROOF_BYTES; i++)
        differences |= a[i] ^ b[i];
    return differences == 0;
}
