/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - frames between trainers and parameter servers: pure encoding and decoding
 *
 * Frame = 24-byte header {u32 magic, u32 type, u64 sequence, u64 body bytes} + body, all
 * little-endian. A reply carries its request's sequence. Every length is checked before it is used;
 * a decoder accepts a body only if it is exactly as long as its contents say. Arrays of floats and
 * row ids are views into the body (4-byte aligned when the body is), never copied.
 *
 * HELLO body: u32 version, u32 trainer, u32 shard, u32 shards, u64 job, u64 incarnation, u32
 * trainers there are, u32 batches between meetings, u32 method, f32 rate, u32 mode (agreement.h),
 * nonce.
 * CHALLENGE body: u32 version, u32 shard, u64 incarnation, nonce, proof. Both begin with the
 * version, in every version. PROOF body: proof. HELLO_OK has none. Nonces and proofs have 32 bytes;
 * trainer/wire/handshake.h says which bytes are proved.
 *
 * DECLARE body: u64 seed, u32 parameters, u8 awaits values, u8 dense ports, u8 sparse ports, u8 0,
 * struct optimizer_spec, parameters x struct param_spec, with zeros behind the ends of their texts.
 *
 * PAST body, in jobs, behind DECLARE: u64 life, u64 updates, u64 samples, u32 holds, u32 trained.
 * PAST_OK body: u64 life, u64 updates, u64 samples, u32 wish, u32 0. trainer/server/recovery.h
 * tells why.
 *
 * PUSH_PULL body: u32 flags, u32 sections, u32 samples behind this push, u32 their pass, u64 round,
 * sections x {u32 parameter, u32 rows pushed, u32 rows pulled}, [f32 dense gradients of the shard],
 * then for each section: u32 pushed ids, f32 pushed rows, u32 pulled ids. PUSH_PULL_OK body: u64
 * updates, u64 samples, u64 round that is there now, [f32 dense values of the shard], then for each
 * section: f32 pulled rows. trainer/server/rounds.h tells what a round is; 0 without synchronous
 * SGD. */
#pragma once

#include "shared/job_secret.h"
#include "trainer/wire/agreement.h"
#include "trainer/parameters/declaration.h"

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct shard_shape;

#define WIRE_MAGIC UINT32_C(0x504c4445) /* "EDLP" */
/* 2: both ends prove that they know the job's secret. 3: DECLARE names any optimizer, and a push
 * its samples; gradients are sums. 4: values may be set; DECLARE names the ports of a host, and
 * HELLO what all trainers are to be given alike. 5: a server that comes back asks for the values
 * that trainers have. 6: rounds of synchronous SGD. Another version is refused. */
#define WIRE_VERSION 6
#define WIRE_HEADER_BYTES 24
#define WIRE_CONTROL_MAX (64u * 1024) /* body of anything but the two bulk types */
#define WIRE_BULK_MAX (UINT64_C(2) * 1024 * 1024 * 1024) /* body of PUSH_PULL and its reply */
#define WIRE_HELLO_BYTES (52 + JOB_NONCE_BYTES)
#define WIRE_HELLO_1_BYTES 32 /* of version 1, which did not say its version */
#define WIRE_CHALLENGE_BYTES (16 + JOB_NONCE_BYTES + JOB_PROOF_BYTES)
#define WIRE_PROOF_BYTES JOB_PROOF_BYTES
#define WIRE_DECLARE_HEAD_BYTES (16 + sizeof(struct optimizer_spec))
#define WIRE_PARAM_BYTES sizeof(struct param_spec)
#define WIRE_DECLARE_MAX (WIRE_DECLARE_HEAD_BYTES + DECLARATION_PARAMS_MAX * WIRE_PARAM_BYTES)
#define WIRE_DECLARE_OK_BYTES 24
#define WIRE_PAST_BYTES 32
#define WIRE_PAST_OK_BYTES 32
#define WIRE_SECTION_BYTES 12
#define WIRE_PUSH_PULL_FIXED_BYTES 24
#define WIRE_PUSH_PULL_HEAD_MAX                                                                    \
    (WIRE_PUSH_PULL_FIXED_BYTES + DECLARATION_PARAMS_MAX * WIRE_SECTION_BYTES)
#define WIRE_PUSH_PULL_OK_HEAD_BYTES 24
#define WIRE_REFUSED_MAX 512
#define WIRE_COUNT_MAX (UINT64_C(1) << 62) /* updates and samples of a PAST */

/* name, number, largest body */
#define WIRE_TYPE_MAP(XX)                                                                          \
    XX(HELLO, 1, WIRE_CONTROL_MAX)                                                                 \
    XX(HELLO_OK, 2, WIRE_CONTROL_MAX)                                                              \
    XX(DECLARE, 3, WIRE_CONTROL_MAX)                                                               \
    XX(DECLARE_OK, 4, WIRE_CONTROL_MAX)                                                            \
    XX(PUSH_PULL, 5, WIRE_BULK_MAX)                                                                \
    XX(PUSH_PULL_OK, 6, WIRE_BULK_MAX)                                                             \
    XX(REFUSED, 7, WIRE_CONTROL_MAX)                                                               \
    XX(CHALLENGE, 8, WIRE_CONTROL_MAX)                                                             \
    XX(PROOF, 9, WIRE_CONTROL_MAX)                                                                 \
    XX(PAST, 10, WIRE_CONTROL_MAX)                                                                 \
    XX(PAST_OK, 11, WIRE_CONTROL_MAX)

enum wire_type {
#define XX(name, number, max) WIRE_##name = (number),
    WIRE_TYPE_MAP(XX)
#undef XX
};

struct wire_header {
    enum wire_type type;
    uint64_t sequence;
    uint64_t body_bytes;
};

struct wire_hello {
    uint64_t job_id;
    uint64_t incarnation;
    uint32_t trainer; /* index */
    uint32_t shard;   /* that the trainer believes to talk to */
    uint32_t n_shards;
    struct agreement agreement;
    uint8_t nonce[JOB_NONCE_BYTES]; /* the server's proof answers it */
};

struct wire_challenge {
    uint64_t incarnation; /* the server's */
    uint32_t shard;
    uint8_t nonce[JOB_NONCE_BYTES]; /* the trainer's proof answers it */
    uint8_t proof[JOB_PROOF_BYTES]; /* the server's */
};

struct wire_declare_ok {
    uint64_t updates;
    uint64_t dense_values;
    uint32_t created; /* 1: since the server started, 0: they are those of a checkpoint */
    uint32_t awaits;  /* 1: trainer 0 has not set the values yet */
};

/* What a trainer has of a server's values. */
struct wire_past {
    uint64_t life;    /* of the server, when they were pulled; 0: none were */
    uint64_t updates; /* that were in them */
    uint64_t samples; /* behind those */
    uint32_t holds;   /* 1: it still has them, all dense ones at least */
    uint32_t trained; /* 1: its job has been trained, as far as it knows */
};

enum wire_wish {
    WISH_NOTHING,
    WISH_WAIT,   /* it has no values yet: another trainer has them */
    WISH_VALUES, /* that this trainer sets what it has */
    WISH_ROWS,   /* the same of its sparse rows alone */
    WISHES
};

struct wire_past_ok {
    uint64_t life; /* a number that no other life of it has */
    uint64_t updates;
    uint64_t samples;
    uint32_t wish;
};

enum {
    WIRE_PUSH_DENSE = 1,
    WIRE_PULL_DENSE = 2,
    WIRE_PUSH = 4, /* counts as an update */
    WIRE_SET = 8,  /* values are pushed */
    WIRE_SEED =
        16, /* likewise, as PAST_OK has wished: dense ones, and of the rows those there are */
    WIRE_ENTER = 32, /* owes pushes from that round on; answered when it is there */
    WIRE_ROUND = 64, /* a push of that round; answered when it is over */
    WIRE_LEAVE = 128 /* owes no more pushes, behind this one if it is one */
};

struct wire_section {
    uint32_t param;
    uint32_t n_push, n_pull;
    const uint32_t *push_ids;
    const float *push_rows; /* f32[n_push, columns] */
    const uint32_t *pull_ids;
};

struct wire_push_pull {
    uint32_t flags;
    uint32_t n_sections;
    uint32_t samples; /* whose gradients were summed */
    uint32_t pass;
    uint64_t round;     /* with ENTER and ROUND */
    const float *dense; /* NULL without WIRE_PUSH_DENSE */
    struct wire_section sections[DECLARATION_PARAMS_MAX];
};

struct wire_refused {
    int32_t code; /* as in shared/error.h */
    char text[WIRE_REFUSED_MAX];
};

const char *wire_type_to_string(enum wire_type type); /* "HELLO"; "?" when none */

/* Encoders write into a buffer of at least the size named above and return the bytes written. */
size_t wire_header_encode(const struct wire_header *header, uint8_t *out);
size_t wire_hello_encode(const struct wire_hello *hello, uint8_t *out);
size_t wire_challenge_encode(const struct wire_challenge *challenge, uint8_t *out);
size_t wire_declare_encode(const struct declaration *declaration, uint8_t *out);
size_t wire_declare_ok_encode(const struct wire_declare_ok *ok, uint8_t *out);
size_t wire_past_encode(const struct wire_past *past, uint8_t *out);
size_t wire_past_ok_encode(const struct wire_past_ok *ok, uint8_t *out);
size_t wire_refused_encode(const struct wire_refused *refused, uint8_t *out);

/* wire_push_pull_head_encode - flags and section table only (the arrays follow from the caller's
 * memory) */
size_t wire_push_pull_head_encode(const struct wire_push_pull *request, uint8_t *out);

/* Decoders: -EINVAL with a text for people; outputs untouched then. */
int wire_header_decode(const uint8_t *in, struct wire_header *ret, struct edl_error *error);
int wire_hello_decode(const uint8_t *body, size_t size, struct wire_hello *ret,
                      struct edl_error *error);
int wire_challenge_decode(const uint8_t *body, size_t size, struct wire_challenge *ret,
                          struct edl_error *error);
int wire_proof_decode(const uint8_t *body, size_t size, uint8_t ret[JOB_PROOF_BYTES],
                      struct edl_error *error);
int wire_declare_decode(const uint8_t *body, size_t size, struct declaration *ret,
                        struct edl_error *error);
int wire_declare_ok_decode(const uint8_t *body, size_t size, struct wire_declare_ok *ret,
                           struct edl_error *error);
int wire_past_decode(const uint8_t *body, size_t size, struct wire_past *ret,
                     struct edl_error *error);
int wire_past_ok_decode(const uint8_t *body, size_t size, struct wire_past_ok *ret,
                        struct edl_error *error);
int wire_refused_decode(const uint8_t *body, size_t size, struct wire_refused *ret,
                        struct edl_error *error);

/* wire_push_pull_decode - body is 4-byte aligned; ids are NOT checked here (the table knows its
 * rows), but a section never has more rows than the shard holds, so that replies are bounded */
int wire_push_pull_decode(const uint8_t *body, size_t size, const struct shard_shape *shape,
                          struct wire_push_pull *ret, struct edl_error *error);

/* wire_push_pull_max - longest valid PUSH_PULL body for this shape (to bound a receive buffer) */
uint64_t wire_push_pull_max(const struct shard_shape *shape);

/* wire_push_pull_ok_size - exact body size of the reply to a request */
uint64_t wire_push_pull_ok_size(const struct wire_push_pull *request,
                                const struct shard_shape *shape);
