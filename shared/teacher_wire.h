/* SPDX-License-Identifier: Apache-2.0 */
/* teacher_wire.h - frames between students and teachers: pure encoding and decoding
 *
 * Frame = 16-byte header {u32 magic, u8 version, u8 type, u16 0, u64 bytes of the body} + body, all
 * little-endian. python/edl/distill/_wire.py has the same.
 *
 * HELLO (student): u32 0, nonce, then its name in UTF-8. CHALLENGE (teacher): nonce, proof. PROOF
 * (student): proof. WELCOME (teacher): JSON (teacher_welcome.h). OFFER (student): u32 tasks that
 * wait for a teacher. CREDIT (teacher): u32 more tasks that it takes. RETURN (student): u32 credits
 * that it has no task for. TASK (student): u64 id, tensors. RESULT (teacher): u64 id, tensors.
 * FAILED (teacher): u64 id, text. LEAVING (teacher): it gives no more credit, and answers what it
 * has. REFUSED: text.
 *
 * Tensors: u32 count, u32 0, each {u16 bytes of the name, u8 type, u8 dimensions, u32 0, u64 of
 * each dimension, name, zeros up to a multiple of 8, values, zeros likewise}. The first dimension
 * is that of the samples.
 *
 * A proof is HMAC-SHA-256(secret, teacher_proof_message): of the role of its maker and both nonces.
 * Secrets of another length than 32 bytes stand nowhere; all zeros is the secret of nobody, and
 * proves as much as none.
 *
 * Used by: trainer, libedl. Tests: tests/unit/test_teacher_wire.c, tests/fuzz/fuzz_teacher_wire.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define TEACHER_HEADER_BYTES 16
#define TEACHER_NONCE_BYTES 32
#define TEACHER_PROOF_BYTES 32
#define TEACHER_CONTROL_MAX 65536            /* body of anything but TASK and RESULT */
#define TEACHER_BULK_MAX (UINT64_C(1) << 30) /* of these */
#define TEACHER_NAME_MAX 200                 /* of a student, in bytes */
#define TEACHER_HELLO_BYTES_MAX (4 + TEACHER_NONCE_BYTES + TEACHER_NAME_MAX)
#define TEACHER_CHALLENGE_BYTES (TEACHER_NONCE_BYTES + TEACHER_PROOF_BYTES)
#define TEACHER_COUNT_BYTES 4
#define TEACHER_ID_BYTES 8
#define TEACHER_TEXT_MAX 300 /* of FAILED and REFUSED, as it is read */
#define TEACHER_TENSORS_MAX 256
#define TEACHER_DIMENSIONS_MAX 8
#define TEACHER_FIELD_MAX 255 /* bytes of a tensor's name */
#define TEACHER_PROOF_MESSAGE_MAX 96

/* HMAC-SHA-256(secret of a job, this) is the secret of its service: what its teachers prove, and
 * what students of the user's other jobs are told. */
#define TEACHER_SERVICE_MESSAGE "edl-teacher service"

/* name, number, largest body */
#define TEACHER_FRAME_MAP(XX)                                                                      \
    XX(HELLO, 1, TEACHER_CONTROL_MAX)                                                              \
    XX(CHALLENGE, 2, TEACHER_CONTROL_MAX)                                                          \
    XX(PROOF, 3, TEACHER_CONTROL_MAX)                                                              \
    XX(WELCOME, 4, TEACHER_CONTROL_MAX)                                                            \
    XX(OFFER, 5, TEACHER_CONTROL_MAX)                                                              \
    XX(CREDIT, 6, TEACHER_CONTROL_MAX)                                                             \
    XX(RETURN, 7, TEACHER_CONTROL_MAX)                                                             \
    XX(TASK, 8, TEACHER_BULK_MAX)                                                                  \
    XX(RESULT, 9, TEACHER_BULK_MAX)                                                                \
    XX(FAILED, 10, TEACHER_CONTROL_MAX)                                                            \
    XX(LEAVING, 11, TEACHER_CONTROL_MAX)                                                           \
    XX(REFUSED, 12, TEACHER_CONTROL_MAX)

enum teacher_frame {
#define XX(name, number, max) TEACHER_##name = (number),
    TEACHER_FRAME_MAP(XX)
#undef XX
};

/* name as numpy has it, bytes of a value; the place in the list is part of the protocol */
#define TEACHER_TYPE_MAP(XX)                                                                       \
    XX(FLOAT32, "float32", 4)                                                                      \
    XX(FLOAT64, "float64", 8)                                                                      \
    XX(INT32, "int32", 4)                                                                          \
    XX(INT64, "int64", 8)                                                                          \
    XX(UINT8, "uint8", 1)                                                                          \
    XX(FLOAT16, "float16", 2)                                                                      \
    XX(INT8, "int8", 1)                                                                            \
    XX(INT16, "int16", 2)                                                                          \
    XX(BOOL, "bool", 1)

enum teacher_type {
#define XX(name, text, bytes) TEACHER_##name,
    TEACHER_TYPE_MAP(XX)
#undef XX
        TEACHER_TYPES
};

struct teacher_header {
    enum teacher_frame type;
    uint64_t body_bytes;
};

struct teacher_hello {
    uint8_t nonce[TEACHER_NONCE_BYTES];
    char name[TEACHER_NAME_MAX + 1]; /* control characters are '?' */
};

struct teacher_challenge {
    uint8_t nonce[TEACHER_NONCE_BYTES];
    uint8_t proof[TEACHER_PROOF_BYTES];
};

struct teacher_tensor {
    char name[TEACHER_FIELD_MAX + 1];
    enum teacher_type type;
    uint32_t n_dimensions;
    uint64_t dimensions[TEACHER_DIMENSIONS_MAX];
    const void *values; /* borrowed; of a body that is 8-aligned, 8-aligned as well */
    uint64_t n_values;
};

struct teacher_tensors {
    uint32_t n;
    struct teacher_tensor tensors[TEACHER_TENSORS_MAX]; /* names differ */
};

const char *teacher_frame_to_string(enum teacher_frame type); /* "HELLO"; "?" when none */
const char *teacher_type_to_string(enum teacher_type type);   /* "float32" */
size_t teacher_type_bytes(enum teacher_type type);

/* teacher_type_of - TEACHER_TYPES when there is none of that name */
enum teacher_type teacher_type_of(const char *name);

/* Encoders write into a buffer of at least the size named above and return the bytes written. */
size_t teacher_header_encode(enum teacher_frame type, uint64_t body_bytes,
                             uint8_t out[TEACHER_HEADER_BYTES]);
size_t teacher_hello_encode(const struct teacher_hello *hello, uint8_t *out);
size_t teacher_challenge_encode(const struct teacher_challenge *challenge, uint8_t *out);
size_t teacher_count_encode(uint32_t count, uint8_t *out);
size_t teacher_id_encode(uint64_t id, uint8_t *out);

/* Decoders: -EPROTO with a text for people; outputs untouched then. */
int teacher_header_decode(const uint8_t in[TEACHER_HEADER_BYTES], struct teacher_header *ret,
                          struct edl_error *error);
int teacher_hello_decode(const uint8_t *body, size_t size, struct teacher_hello *ret,
                         struct edl_error *error);
int teacher_challenge_decode(const uint8_t *body, size_t size, struct teacher_challenge *ret,
                             struct edl_error *error);
int teacher_proof_decode(const uint8_t *body, size_t size, uint8_t ret[TEACHER_PROOF_BYTES],
                         struct edl_error *error);
int teacher_count_decode(const uint8_t *body, size_t size, uint32_t *ret, struct edl_error *error);

/* teacher_id_decode - of TASK, RESULT and FAILED: what follows begins at TEACHER_ID_BYTES */
int teacher_id_decode(const uint8_t *body, size_t size, uint64_t *ret, struct edl_error *error);

/* teacher_text_decode - of REFUSED, and of FAILED behind its id: any bytes, cut; control characters
 * become '?' */
void teacher_text_decode(const uint8_t *body, size_t size, char ret[TEACHER_TEXT_MAX + 1]);

/* teacher_tensors_decode - values are views into the body */
int teacher_tensors_decode(const uint8_t *body, size_t size, struct teacher_tensors *ret,
                           struct edl_error *error);

/* teacher_tensors_bytes - what teacher_tensors_encode writes */
uint64_t teacher_tensors_bytes(const struct teacher_tensor *tensors, uint32_t n);
size_t teacher_tensors_encode(const struct teacher_tensor *tensors, uint32_t n, uint8_t *out);

/* teacher_tensors_head_encode, teacher_tensor_head_encode - the same in pieces, for values that are
 * sent from where they lie: the head of all, then of each tensor its head, its values and
 * teacher_padding(bytes of the values) zeros */
#define TEACHER_TENSORS_HEAD_BYTES 8
#define TEACHER_TENSOR_HEAD_MAX (8 + 8 * TEACHER_DIMENSIONS_MAX + TEACHER_FIELD_MAX + 7)
size_t teacher_tensors_head_encode(uint32_t n, uint8_t out[TEACHER_TENSORS_HEAD_BYTES]);
size_t teacher_tensor_head_encode(const struct teacher_tensor *tensor,
                                  uint8_t out[TEACHER_TENSOR_HEAD_MAX]);

static inline size_t teacher_padding(uint64_t bytes)
{
    return (size_t)(-bytes & 7);
}

/* teacher_proof_message - what a proof is the HMAC of; returns its bytes */
size_t teacher_proof_message(bool of_teacher, const uint8_t student_nonce[TEACHER_NONCE_BYTES],
                             const uint8_t teacher_nonce[TEACHER_NONCE_BYTES],
                             uint8_t ret[TEACHER_PROOF_MESSAGE_MAX]);

/* teacher_proof_equal - takes as long whatever they hold */
bool teacher_proof_equal(const uint8_t a[TEACHER_PROOF_BYTES],
                         const uint8_t b[TEACHER_PROOF_BYTES]);
