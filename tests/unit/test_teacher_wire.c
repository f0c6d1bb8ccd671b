/* SPDX-License-Identifier: Apache-2.0 */
/* test_teacher_wire.c - frames of students and teachers: the bytes and proofs of Python's
 * (python/tests/test_distill.py has the same), each way; everything that is damaged is refused */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/hex.h"
#include "shared/job_secret.h"
#include "shared/macro.h"
#include "shared/teacher_welcome.h"
#include "shared/teacher_wire.h"
#include "tests/unit/test.h"

#define TASK_BYTES 192
static const char task_hex[] =
    "45444c5401080000b00000000000000002010000000000000400000000000000050000020000000002000000000000"
    "000300000000000000696d616765000000000000000000803e0000003f0000403f0000803f0000a03f010003010000"
    "000002000000000000006e000000000000000500000000000000faffffffffffffff04000801000000000300000000"
    "000000666c616700000000010001000000000004000602000000000000000000000000040000000000000"
    "06e6f6e6500000000";

static void task_of(uint8_t ret[TASK_BYTES])
{
    assert_int_equal(hex_decode(task_hex, TASK_BYTES, ret), 0);
}

TEST(test_proofs_are_those_of_python)
{
    static const struct {
        const char *secret_byte;
        bool of_teacher;
        const char *hex;
    } cases[] = {
        { "\x07", true, "15dbdeef00d15642db96402c8b70e8ff22e83f6a3ffaddeae0a09835f7d896e1" },
        { "\x07", false, "3c466cba0b46d79bffa4129f27e206d4f76498d1a9fbf02320a15f74189d4ee7" },
        { "\x00", true, "16f99246e058295ff7d48df83293997d96a7c60cf49173c583bbd464544b793d" },
    };
    uint8_t nonces[2 * TEACHER_NONCE_BYTES], secret[JOB_SECRET_BYTES], proof[TEACHER_PROOF_BYTES];
    uint8_t message[TEACHER_PROOF_MESSAGE_MAX], expected[TEACHER_PROOF_BYTES];
    struct edl_error error;

    for (size_t i = 0; i < sizeof nonces; i++)
        nonces[i] = (uint8_t)i;
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        size_t n = teacher_proof_message(cases[i].of_teacher, nonces, nonces + TEACHER_NONCE_BYTES,
                                         message);

        memset(secret, cases[i].secret_byte[0], sizeof secret);
        assert_int_equal(job_hmac(secret, message, n, proof, &error), 0);
        assert_int_equal(hex_decode(cases[i].hex, sizeof expected, expected), 0);
        assert_true(teacher_proof_equal(proof, expected));
        proof[31] ^= 0x80;
        assert_false(teacher_proof_equal(proof, expected));
    }
    memset(secret, 7, sizeof secret);
    assert_int_equal(job_hmac(secret, TEACHER_SERVICE_MESSAGE, strlen(TEACHER_SERVICE_MESSAGE),
                              proof, &error),
                     0);
    assert_int_equal(hex_decode("17183fb8740ef716b04dbd429b0aab1838826bdea4ce54f77a62b27cf6386d19",
                                sizeof expected, expected),
                     0);
    assert_memory_equal(proof, expected, sizeof expected);
}

TEST(test_hello_is_that_of_python)
{
    static const char hex[] =
        "45444c5401010000280000000000000000000000000102030405060708090a0b0c0d0"
        "e0f101112131415161718191a1b1c1d1e1f5a6fc3ab";
    uint8_t bytes[56], again[TEACHER_HELLO_BYTES_MAX + 1] = { 0 };
    struct teacher_header header;
    struct teacher_hello hello;
    struct edl_error error;

    assert_int_equal(hex_decode(hex, sizeof bytes, bytes), 0);
    assert_int_equal(teacher_header_decode(bytes, &header, &error), 0);
    assert_int_equal(header.type, TEACHER_HELLO);
    assert_int_equal(header.body_bytes, 40);
    assert_int_equal(teacher_hello_decode(bytes + 16, 40, &hello, &error), 0);
    assert_string_equal(hello.name, "Zo\u00eb");
    assert_int_equal(hello.nonce[31], 31);
    assert_int_equal(teacher_header_encode(TEACHER_HELLO, 40, again), 16);
    assert_memory_equal(again, bytes, 16);
    assert_int_equal(teacher_hello_encode(&hello, again), 40);
    assert_memory_equal(again, bytes + 16, 40);
    memset(again, 0x1b, sizeof again);
    assert_int_equal(teacher_hello_decode(again, 35, &hello, &error), -EPROTO);
    assert_int_equal(teacher_hello_decode(again, sizeof again, &hello, &error), -EPROTO);
    assert_int_equal(teacher_hello_decode(again, sizeof again - 1, &hello, &error), 0);
    assert_int_equal(strlen(hello.name), TEACHER_NAME_MAX);
    assert_int_equal(hello.name[0], '?');
}

TEST(test_task_is_that_of_python)
{
    static struct teacher_tensors found;
    uint8_t bytes[TASK_BYTES], again[TASK_BYTES];
    struct teacher_header header;
    struct edl_error error;
    uint64_t id;

    task_of(bytes);
    assert_int_equal(teacher_header_decode(bytes, &header, &error), 0);
    assert_int_equal(header.type, TEACHER_TASK);
    assert_int_equal(header.body_bytes, TASK_BYTES - 16);
    assert_int_equal(teacher_id_decode(bytes + 16, TASK_BYTES - 16, &id, &error), 0);
    assert_int_equal(id, 258);
    assert_int_equal(teacher_tensors_decode(bytes + 24, TASK_BYTES - 24, &found, &error), 0);
    assert_int_equal(found.n, 4);
    assert_string_equal(found.tensors[0].name, "image");
    assert_int_equal(found.tensors[0].type, TEACHER_FLOAT32);
    assert_int_equal(found.tensors[0].n_dimensions, 2);
    assert_int_equal(found.tensors[0].dimensions[1], 3);
    assert_true(((const float *)found.tensors[0].values)[5] == 1.25f);
    assert_int_equal(found.tensors[1].type, TEACHER_INT64);
    assert_int_equal(found.tensors[2].type, TEACHER_BOOL);
    assert_int_equal(found.tensors[2].n_values, 3);
    assert_int_equal(found.tensors[3].n_values, 0);
    assert_int_equal(found.tensors[3].dimensions[1], 4);
    assert_int_equal(teacher_header_encode(TEACHER_TASK, TASK_BYTES - 16, again), 16);
    assert_int_equal(teacher_id_encode(258, again + 16), 8);
    assert_int_equal(teacher_tensors_bytes(found.tensors, found.n), TASK_BYTES - 24);
    assert_int_equal(teacher_tensors_encode(found.tensors, found.n, again + 24), TASK_BYTES - 24);
    assert_memory_equal(again, bytes, TASK_BYTES);
}

TEST(test_header_is_checked)
{
    static const struct {
        int at;
        uint8_t value;
        const char *says;
    } cases[] = {
        { 0, 'F', "another protocol" },
        { 4, 2, "version 2" },
        { 5, 0, "unknown type 0" },
        { 5, 13, "unknown type 13" },
        { 5, 255, "unknown type 255" },
        { 6, 1, "unknown type" },
        { 11, 0x41, "bytes is too long" },
        { 15, 0x80, "bytes is too long" },
        { 5, TEACHER_OFFER, "OFFER of 65537 bytes" },
    };
    struct teacher_header header = { TEACHER_REFUSED, 3 };
    uint8_t bytes[TEACHER_HEADER_BYTES];
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        (void)teacher_header_encode(TEACHER_TASK, TEACHER_CONTROL_MAX + 1, bytes);
        bytes[cases[i].at] = cases[i].value;
        assert_int_equal(teacher_header_decode(bytes, &header, &error), -EPROTO);
        assert_non_null(strstr(error.text, cases[i].says));
        assert_int_equal(header.body_bytes, 3);
    }
    (void)teacher_header_encode(TEACHER_RESULT, TEACHER_BULK_MAX, bytes);
    assert_int_equal(teacher_header_decode(bytes, &header, &error), 0);
    assert_string_equal(teacher_frame_to_string(header.type), "RESULT");
    assert_string_equal(teacher_frame_to_string((enum teacher_frame)0), "?");
    assert_string_equal(teacher_frame_to_string((enum teacher_frame)77), "?");
}

TEST(test_small_frames_are_checked)
{
    uint8_t bytes[TEACHER_CHALLENGE_BYTES + 1] = { 1, 2, 3, 4 }, proof[TEACHER_PROOF_BYTES];
    char text[TEACHER_TEXT_MAX + 1];
    struct teacher_challenge challenge;
    struct edl_error error;
    uint64_t id;
    uint32_t n;

    assert_int_equal(teacher_count_decode(bytes, 4, &n, &error), 0);
    assert_int_equal(n, 0x04030201);
    assert_int_equal(teacher_count_decode(bytes, 5, &n, &error), -EPROTO);
    assert_int_equal(teacher_id_decode(bytes, 7, &id, &error), -EPROTO);
    assert_int_equal(teacher_proof_decode(bytes, 31, proof, &error), -EPROTO);
    assert_int_equal(teacher_proof_decode(bytes, 32, proof, &error), 0);
    assert_int_equal(teacher_challenge_decode(bytes, 65, &challenge, &error), -EPROTO);
    assert_int_equal(teacher_challenge_decode(bytes, 64, &challenge, &error), 0);
    assert_int_equal(teacher_challenge_encode(&challenge, bytes), 64);
    assert_int_equal(teacher_count_encode(0x04030201, bytes), 4);
    assert_int_equal(bytes[0], 1);
    teacher_text_decode((const uint8_t *)"no\nway", 6, text);
    assert_string_equal(text, "no?way");
}

/* Each head field of the task, damaged; and the task cut at each byte. */
TEST(test_tensors_are_checked)
{
    static const struct {
        int at; /* of the tensors */
        uint8_t value;
        const char *says;
    } cases[] = {
        { 0, 3, "follows" },       { 0, 5, "cut off" },         { 1, 2, "tensors: 516" },
        { 8, 60, "a NUL" },        { 9, 1, "another head" },    { 10, 9, "another head" },
        { 11, 9, "another head" }, { 11, 255, "another head" }, { 16, 3, "another head" },
        { 20, 1, "too large" },    { 23, 0x80, "too large" },   { 32, 0xff, "no UTF-8" },
        { 32, 0, "NUL" },
    };
    static struct teacher_tensors found;
    uint8_t bytes[TASK_BYTES], *exact;
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        task_of(bytes);
        bytes[24 + cases[i].at] = cases[i].value;
        assert_int_equal(teacher_tensors_decode(bytes + 24, TASK_BYTES - 24, &found, &error),
                         -EPROTO);
        if (strstr(error.text, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, error.text);
        assert_int_equal(found.n, 0);
    }
    task_of(bytes);
    for (size_t n = 0; n < TASK_BYTES - 24; n++) {
        exact = malloc(n + (n == 0));
        memcpy(exact, bytes + 24, n);
        assert_int_equal(teacher_tensors_decode(exact, n, &found, &error), -EPROTO);
        free(exact);
    }
}

TEST(test_a_name_comes_once)
{
    static struct teacher_tensors found;
    const float value = 1;
    struct teacher_tensor tensors[2] = {
        { .name = "x", .n_dimensions = 1, .dimensions = { 1 }, .values = &value, .n_values = 1 },
    };
    uint8_t bytes[128];
    struct edl_error error;
    size_t n;

    tensors[1] = tensors[0];
    n = teacher_tensors_encode(tensors, 2, bytes);
    assert_int_equal(teacher_tensors_decode(bytes, n, &found, &error), -EPROTO);
    assert_non_null(strstr(error.text, "twice"));
    tensors[1].name[0] = 'y';
    n = teacher_tensors_encode(tensors, 2, bytes);
    assert_int_equal(teacher_tensors_decode(bytes, n, &found, &error), 0);
}

TEST(test_welcome_comes_back)
{
    static const char of_python[] = "{\"model\": \"digits\", \"feeds\": [{\"name\": \"image\", "
                                    "\"type\": \"float32\", \"shape\": [null, 3]}, {\"name\": "
                                    "\"any\"}], \"fetches\": [\"prediction\"], \"batch\": 64, "
                                    "\"free\": 4294967295}";
    static const char *const bad[] = {
        "",
        "[]",
        "{\"model\": 1, \"feeds\": [], \"fetches\": []}",
        "{\"model\": \"m\", \"feeds\": {}, \"fetches\": []}",
        "{\"model\": \"m\", \"feeds\": [{}], \"fetches\": []}",
        "{\"model\": \"m\", \"feeds\": [{\"name\": \"x\", \"type\": \"float128\"}], \"fetches\": "
        "[]}",
        "{\"model\": \"m\", \"feeds\": [{\"name\": \"x\", \"shape\": [-1]}], \"fetches\": []}",
        "{\"model\": \"m\", \"feeds\": [{\"name\": \"x\", \"shape\": [1,1,1,1,1,1,1,1,1]}], "
        "\"fetches\": []}",
        "{\"model\": \"m\", \"feeds\": [], \"fetches\": [null]}",
        "{\"model\": \"m\", \"feeds\": [], \"fetches\": []",
        "{\"model\": \"m\", \"feeds\": [], \"fetches\": [], \"free\": -1}",
        "{\"model\": \"m\", \"feeds\": [], \"fetches\": [], \"batch\": 4294967296}",
        "{\"model\": \"m\", \"feeds\": [], \"fetches\": [], \"batch\": null}",
    };
    struct teacher_welcome welcome, again;
    struct edl_error error;
    char *text;
    size_t size;

    assert_int_equal(teacher_welcome_decode((const uint8_t *)of_python, strlen(of_python), &welcome,
                                            &error),
                     0);
    assert_string_equal(welcome.model, "digits");
    assert_int_equal(welcome.n_feeds, 2);
    assert_int_equal(welcome.feeds[0].dimensions[0], TEACHER_EXTENT_ANY);
    assert_int_equal(welcome.feeds[0].dimensions[1], 3);
    assert_int_equal(welcome.feeds[1].n_dimensions, TEACHER_DIMENSIONS_ANY);
    assert_int_equal(welcome.feeds[1].type, TEACHER_TYPES);
    assert_int_equal(teacher_welcome_encode(&welcome, &text, &size, &error), 0);
    assert_int_equal(teacher_welcome_decode((const uint8_t *)text, size, &again, &error), 0);
    assert_string_equal(again.fetches[0].name, "prediction");
    assert_int_equal(again.batch, 64);
    assert_int_equal(again.free, UINT32_MAX);
    assert_int_equal(again.feeds[0].dimensions[0], TEACHER_EXTENT_ANY);
    free(text);
    teacher_welcome_clear(&again);
    teacher_welcome_clear(&welcome);
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_int_equal(teacher_welcome_decode((const uint8_t *)bad[i], strlen(bad[i]), &welcome,
                                                &error),
                         -EPROTO);
}

TEST(test_what_does_not_fit_is_told_of_both_sides)
{
    const struct teacher_feed feed = { "image", TEACHER_FLOAT32, 2, { TEACHER_EXTENT_ANY, 3 } };
    struct teacher_tensor tensor = { .name = "image",
                                     .type = TEACHER_FLOAT32,
                                     .n_dimensions = 3,
                                     .dimensions = { 5, 7, 3 },
                                     .n_values = 105 };
    struct edl_error error;

    assert_int_equal(teacher_feed_fits(&feed, &tensor, &error), 0);
    tensor.type = TEACHER_FLOAT64;
    assert_int_equal(teacher_feed_fits(&feed, &tensor, &error), -EINVAL);
    assert_string_equal(error.text, "image has the type float64, and this teacher wants float32");
    tensor.dimensions[2] = 4;
    assert_int_equal(teacher_feed_fits(&feed, &tensor, &error), -EINVAL);
    assert_string_equal(
        error.text, "image has the shape (7, 4) for each sample, and this teacher wants (any, 3)");
    tensor.n_dimensions = 1;
    assert_int_equal(teacher_feed_fits(&feed, &tensor, &error), -EINVAL);
    tensor.n_dimensions = 0;
    assert_int_equal(teacher_feed_fits(&feed, &tensor, &error), -EINVAL);
}
