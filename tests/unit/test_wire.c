/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c - frames: an encoded message comes back, a damaged one is refused */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/parameters/shard.h"
#include "trainer/wire/wire.h"

static struct declaration sample_declaration(void)
{
    struct declaration d = {
        .seed = 5,
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 3e-3f, .epsilon = 1e-6f },
        .n_params = 3
    };

    d.params[0] = (struct param_spec){
        "rows", 10, 4, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    d.params[1] =
        (struct param_spec){ "weight",        6, 3, .initial_std = 0.2f, .learning_rate = 1.0f,
                             .l2_rate = 8e-4f };
    d.params[2] = (struct param_spec){ "bias", 5, 1, .learning_rate = 2.0f, .l2_rate = 8e-4f };
    return d;
}

TEST(test_header)
{
    const struct wire_header header = { WIRE_PUSH_PULL, 77, 123456 };
    struct wire_header back;
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct edl_error error;

    assert_int_equal(wire_header_encode(&header, bytes), WIRE_HEADER_BYTES);
    assert_memory_equal(bytes, "EDLP\x05\0\0\0\x4d\0\0\0\0\0\0\0\x40\xe2\x01\0\0\0\0\0", 24);
    assert_int_equal(wire_header_decode(bytes, &back, &error), 0);
    assert_int_equal(back.type, WIRE_PUSH_PULL);
    assert_int_equal(back.sequence, 77);
    assert_int_equal(back.body_bytes, 123456);
    bytes[0] ^= 1;
    assert_int_equal(wire_header_decode(bytes, &back, &error), -EINVAL);
    bytes[0] ^= 1;
    bytes[4] = 0;
    assert_int_equal(wire_header_decode(bytes, &back, &error), -EINVAL);
    bytes[4] = 99;
    assert_int_equal(wire_header_decode(bytes, &back, &error), -EINVAL);
    bytes[4] = WIRE_HELLO; /* a control frame must not be so long */
    assert_int_equal(wire_header_decode(bytes, &back, &error), -EINVAL);
    bytes[4] = WIRE_PUSH_PULL;
    memset(bytes + 16, 0xff, 8);
    assert_int_equal(wire_header_decode(bytes, &back, &error), -EINVAL);
}

TEST(test_hello)
{
    struct wire_hello hello = {
        .job_id = 9, .incarnation = 3, .trainer = 2, .shard = 1, .n_shards = 4, .nonce = "once"
    };
    struct wire_hello back;
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct edl_error error;

    assert_int_equal(wire_hello_encode(&hello, bytes), WIRE_HELLO_BYTES);
    assert_int_equal(wire_hello_decode(bytes, sizeof bytes, &back, &error), 0);
    assert_int_equal(back.job_id, 9);
    assert_int_equal(back.incarnation, 3);
    assert_int_equal(back.trainer, 2);
    assert_int_equal(back.shard, 1);
    assert_int_equal(back.n_shards, 4);
    assert_memory_equal(back.nonce, hello.nonce, sizeof hello.nonce);
    for (size_t size = 0; size < sizeof bytes; size++)
        assert_int_equal(wire_hello_decode(bytes, size, &back, &error), -EINVAL);
    hello.shard = 4; /* not below n_shards */
    (void)wire_hello_encode(&hello, bytes);
    assert_int_equal(wire_hello_decode(bytes, sizeof bytes, &back, &error), -EINVAL);
}

TEST(test_challenge_and_proof)
{
    struct wire_challenge challenge = {
        .incarnation = 3, .shard = 1, .nonce = "once", .proof = "proven"
    };
    struct wire_challenge back;
    uint8_t bytes[WIRE_CHALLENGE_BYTES + 1] = { 0 }, proof[JOB_PROOF_BYTES] = { 0 };
    struct edl_error error;

    assert_int_equal(wire_challenge_encode(&challenge, bytes), WIRE_CHALLENGE_BYTES);
    assert_int_equal(wire_challenge_decode(bytes, WIRE_CHALLENGE_BYTES, &back, &error), 0);
    assert_int_equal(back.incarnation, 3);
    assert_int_equal(back.shard, 1);
    assert_memory_equal(back.nonce, challenge.nonce, sizeof back.nonce);
    assert_memory_equal(back.proof, challenge.proof, sizeof back.proof);
    for (size_t size = 0; size <= sizeof bytes; size++)
        if (size != WIRE_CHALLENGE_BYTES)
            assert_int_equal(wire_challenge_decode(bytes, size, &back, &error), -EINVAL);
    for (size_t size = 0; size <= sizeof proof + 1; size++)
        assert_int_equal(wire_proof_decode(bytes, size, proof, &error),
                         size == sizeof proof ? 0 : -EINVAL);
    assert_memory_equal(proof, bytes, sizeof proof);
}

/* Whoever is of another release hears which one, and what to do. */
TEST(test_other_versions)
{
    struct wire_hello hello = { .job_id = 2, .n_shards = 1 };
    struct wire_challenge challenge = { 0 };
    uint8_t bytes[MAX_OF(WIRE_HELLO_BYTES, WIRE_CHALLENGE_BYTES)];
    struct edl_error error;
    char next[64];

    (void)snprintf(next, sizeof next, "version %d of the protocol", WIRE_VERSION + 1);
    (void)wire_hello_encode(&hello, bytes);
    bytes[0] = WIRE_VERSION + 1;
    for (size_t size = 4; size <= WIRE_HELLO_BYTES; size++)
        if (size != WIRE_HELLO_1_BYTES) {
            assert_int_equal(wire_hello_decode(bytes, size, &hello, &error), -EINVAL);
            assert_non_null(strstr(error.text, next));
        }
    /* version 1 began with the job's number: 2 is no version there */
    bytes[0] = 2;
    assert_int_equal(wire_hello_decode(bytes, WIRE_HELLO_1_BYTES, &hello, &error), -EINVAL);
    assert_non_null(strstr(error.text, "version 1 of the protocol"));
    assert_non_null(strstr(error.text, "of one release"));
    (void)wire_challenge_encode(&challenge, bytes);
    bytes[0] = WIRE_VERSION + 1;
    assert_int_equal(wire_challenge_decode(bytes, WIRE_CHALLENGE_BYTES, &challenge, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, next));
}

TEST(test_declare)
{
    struct declaration d = sample_declaration(), back;
    uint8_t bytes[WIRE_DECLARE_MAX];
    struct edl_error error;
    size_t size = wire_declare_encode(&d, bytes);

    assert_int_equal(size, WIRE_DECLARE_HEAD_BYTES + 3 * WIRE_PARAM_BYTES);
    assert_int_equal(wire_declare_decode(bytes, size, &back, &error), 0);
    assert_true(declaration_equal(&d, &back));
    back.params[2].l2_rate = 1e-3f;
    assert_false(declaration_equal(&d, &back));
    back.params[2].l2_rate = d.params[2].l2_rate;
    back.optimizer.rho = 0.5f;
    assert_false(declaration_equal(&d, &back));
    back.optimizer.rho = d.optimizer.rho;
    assert_true(declaration_equal(&d, &back));
    back.params[1].name[63] = 'x'; /* behind the name's end */
    back.optimizer.schedule_args[9] = 'x';
    assert_true(declaration_equal(&d, &back));
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(wire_declare_decode(bytes, cut, &back, &error), -EINVAL);
}

TEST(test_declare_refuses)
{
    static const struct {
        const char *name;
        uint32_t rows, columns, sparse;
        float std;
    } bad[] = {
        { "", 1, 1, 0, 0 },
        { "../x", 1, 1, 0, 0 },
        { ".hidden", 1, 1, 0, 0 },
        { "a/b", 1, 1, 0, 0 },
        { "a", 0, 1, 0, 0 },
        { "a", 1, 0, 0, 0 },
        { "a", 1u << 31, 1u << 31, 0, 0 },
        { "a", 1, 1, 2, 0 },
        { "a", 1, 1, 0, -1.0f },
        { "a", 1, 1, 0, INFINITY },
        { "a", 1, 1, 0, NAN },
        { "weight", 1, 1, 0, 0 },
    };
    uint8_t bytes[WIRE_DECLARE_MAX];
    struct edl_error error;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct declaration d = sample_declaration(), back;

        memset(d.params[0].name, 0, sizeof d.params[0].name);
        memcpy(d.params[0].name, bad[i].name, strlen(bad[i].name));
        d.params[0].rows = bad[i].rows;
        d.params[0].columns = bad[i].columns;
        d.params[0].sparse = bad[i].sparse;
        d.params[0].initial_std = bad[i].std;
        assert_int_equal(wire_declare_decode(bytes, wire_declare_encode(&d, bytes), &back, &error),
                         -EINVAL);
    }
}

/* As many parameters as there may be, with the longest names: a control frame has room for it. */
TEST(test_declare_most)
{
    struct declaration d = sample_declaration(), back;
    uint8_t bytes[WIRE_DECLARE_MAX];
    struct edl_error error;
    size_t size;

    assert_true(WIRE_DECLARE_MAX <= WIRE_CONTROL_MAX);
    d.n_params = DECLARATION_PARAMS_MAX;
    for (uint32_t p = 0; p < d.n_params; p++) {
        d.params[p] = d.params[1];
        memset(d.params[p].name, 'a', PARAM_NAME_SIZE - 1);
        (void)snprintf(d.params[p].name + PARAM_NAME_SIZE - 8, 8, "%07u", p % 10000000);
    }
    size = wire_declare_encode(&d, bytes);
    assert_int_equal(size, WIRE_DECLARE_MAX);
    assert_int_equal(wire_declare_decode(bytes, size, &back, &error), 0);
    assert_true(declaration_equal(&d, &back));
    bytes[8] = 1; /* 513 */
    assert_int_equal(wire_declare_decode(bytes, size, &back, &error), -EINVAL);
    assert_non_null(strstr(error.text, "parameters: 513"));
    memset(d.params[0].name, 'a', PARAM_NAME_SIZE); /* no end */
    assert_int_equal(wire_declare_decode(bytes, wire_declare_encode(&d, bytes), &back, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "no valid name"));
}

/* A request by hand: one section, 2 rows pushed and 3 pulled, dense gradients of shard 1 of 2. */
static size_t build_push_pull(const struct shard_shape *shape, uint8_t *bytes)
{
    struct wire_push_pull request = { .flags = WIRE_PUSH | WIRE_PUSH_DENSE | WIRE_PULL_DENSE,
                                      .n_sections = 1,
                                      .samples = 32,
                                      .pass = 7,
                                      .round = UINT64_C(0x123456789abcdef0) };
    size_t used;
    float value = 1.0f;

    request.sections[0] = (struct wire_section){ .param = 0, .n_push = 2, .n_pull = 3 };
    used = wire_push_pull_head_encode(&request, bytes);
    for (size_t i = 0; i < shape->dense_values; i++, value += 1.0f, used += 4)
        memcpy(bytes + used, &value, 4);
    for (uint32_t i = 0; i < 2; i++, used += 4)
        memcpy(bytes + used, &(uint32_t){ 2 * i + 1 }, 4);
    for (uint32_t i = 0; i < 8; i++, used += 4)
        memcpy(bytes + used, &(float){ (float)i }, 4);
    for (uint32_t i = 0; i < 3; i++, used += 4)
        memcpy(bytes + used, &(uint32_t){ 2 * i + 5 }, 4);
    return used;
}

TEST(test_push_pull)
{
    struct declaration d = sample_declaration();
    struct shard_shape shape;
    struct wire_push_pull request;
    struct edl_error error;
    uint8_t *bytes = aligned_alloc(64, 1024);
    size_t size;

    shard_shape_init(&d, 1, 2, &shape);
    size = build_push_pull(&shape, bytes);
    assert_true(size <= wire_push_pull_max(&shape));
    assert_int_equal(wire_push_pull_decode(bytes, size, &shape, &request, &error), 0);
    assert_true(request.dense[0] == 1.0f);
    assert_int_equal(request.samples, 32);
    assert_int_equal(request.pass, 7);
    assert_int_equal(request.round, UINT64_C(0x123456789abcdef0));
    assert_int_equal(request.sections[0].push_ids[1], 3);
    assert_true(request.sections[0].push_rows[7] == 7.0f);
    assert_int_equal(request.sections[0].pull_ids[2], 9);
    assert_int_equal(wire_push_pull_ok_size(&request, &shape),
                     24 + 4 * shape.dense_values + 3 * 4 * 4);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(wire_push_pull_decode(bytes, cut, &shape, &request, &error), -EINVAL);
    assert_int_equal(wire_push_pull_decode(bytes, size + 4, &shape, &request, &error), -EINVAL);
    free(bytes);
}

TEST(test_push_pull_refuses)
{
    static const struct {
        size_t at;
        uint32_t value;
    } bad[] = {
        { 0, 0x100 },                                                    /* unknown flag */
        { 0, WIRE_ROUND | WIRE_PUSH_DENSE },                             /* a round of nothing */
        { 0, WIRE_ENTER | WIRE_PUSH | WIRE_PUSH_DENSE },                 /* both at once */
        { 0, WIRE_LEAVE | WIRE_SET | WIRE_PUSH_DENSE },                  /* the same */
        { 0, WIRE_SET | WIRE_PUSH | WIRE_PUSH_DENSE | WIRE_PULL_DENSE }, /* values or gradients */
        { 4, DECLARATION_PARAMS_MAX + 1 },                               /* too many sections */
        { 4, UINT32_MAX }, /* the same, with overflow in mind */
        { 24, 1 },         /* a dense parameter */
        { 24, 3 },         /* none at all */
        { 28, 6 },         /* more rows than the shard has */
        { 28, UINT32_MAX },
        { 32, UINT32_MAX },
    };
    struct declaration d = sample_declaration();
    struct shard_shape shape;
    struct wire_push_pull request;
    struct edl_error error;
    uint8_t *bytes = aligned_alloc(64, 1024);
    size_t size;

    shard_shape_init(&d, 1, 2, &shape);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size = build_push_pull(&shape, bytes);
        memcpy(bytes + bad[i].at, &bad[i].value, 4);
        assert_int_equal(wire_push_pull_decode(bytes, size, &shape, &request, &error), -EINVAL);
    }
    free(bytes);
}

TEST(test_refused)
{
    struct wire_refused refused = { .code = EDL_ESTALE, .text = "too old" }, back;
    uint8_t bytes[WIRE_REFUSED_MAX + 4];
    struct edl_error error;
    size_t size = wire_refused_encode(&refused, bytes);

    assert_int_equal(wire_refused_decode(bytes, size, &back, &error), 0);
    assert_int_equal(back.code, EDL_ESTALE);
    assert_string_equal(back.text, "too old");
    assert_int_equal(wire_refused_decode(bytes, 3, &back, &error), -EINVAL);
    memset(bytes, 0, sizeof bytes); /* code 0 is no refusal */
    assert_int_equal(wire_refused_decode(bytes, 8, &back, &error), -EINVAL);
    memset(refused.text, 'x', sizeof refused.text); /* no end: cut, not overrun */
    assert_true(wire_refused_encode(&refused, bytes) <= WIRE_REFUSED_MAX);
}
