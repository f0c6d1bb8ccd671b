/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_secret.c - proofs of a job's secret: the published figures, a proof worked out
 * elsewhere, and that each part of a claim counts */
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/hex.h"
#include "shared/job_secret.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_hex)
{
    static const char *const bad[] = { "", "0", "00ff0", "00ff00ff", "00fg00", "00FF00", " 0ff00" };
    const uint8_t bytes[] = { 0x00, 0xff, 0x1a };
    uint8_t back[3] = { 9, 9, 9 };
    char text[7];

    hex_encode(bytes, sizeof bytes, text);
    assert_string_equal(text, "00ff1a");
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        assert_int_equal(hex_decode(bad[i], sizeof back, back), -EINVAL);
        assert_memory_equal(back, "\x09\x09\x09", 3);
    }
    assert_int_equal(hex_decode(text, sizeof back, back), 0);
    assert_memory_equal(back, bytes, sizeof bytes);
}

/* RFC 4231, 4.2 to 4.5. A key that is shorter than a block is filled up with zeros, by HMAC or by
 * us. */
TEST(test_rfc_4231)
{
    static const struct {
        const char *key, *data;
        size_t n_key, n_data;
        const char *mac;
    } cases[] = {
        { "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
          "Hi There", 20, 8, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { "Jefe", "what do ya want for nothing?", 4, 28,
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa", NULL,
          20, 0xdd, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
        { "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
          "\x17\x18\x19",
          NULL, 25, 0xcd, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        uint8_t key[JOB_SECRET_BYTES] = { 0 };
        uint8_t mac[JOB_PROOF_BYTES];
        char fifty[50], text[2 * JOB_PROOF_BYTES + 1];
        const char *data = cases[i].data != NULL ? cases[i].data : fifty;

        memcpy(key, cases[i].key, cases[i].n_key);
        memset(fifty, (int)cases[i].n_data, sizeof fifty);
        assert_int_equal(job_hmac(key, data, data == fifty ? sizeof fifty : cases[i].n_data, mac,
                                  NULL),
                         0);
        hex_encode(mac, sizeof mac, text);
        assert_string_equal(text, cases[i].mac);
    }
}

static uint8_t secret[JOB_SECRET_BYTES], nonce[JOB_NONCE_BYTES], peer_nonce[JOB_NONCE_BYTES];

static struct job_claim a_claim(void)
{
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)i;
    memset(nonce, 0xa5, sizeof nonce);
    memset(peer_nonce, 0x5a, sizeof peer_nonce);
    return (struct job_claim){ .protocol = "edl-pserver",
                               .job_id = 7,
                               .role = "trainer",
                               .index = 3,
                               .incarnation = 12,
                               .nonce = nonce,
                               .peer_nonce = peer_nonce };
}

/* The encoding is fixed: other programs prove themselves by it. Worked out with Python's hmac. */
TEST(test_a_known_proof)
{
    struct job_claim claim = a_claim();
    uint8_t proof[JOB_PROOF_BYTES];
    char text[2 * JOB_PROOF_BYTES + 1];

    assert_int_equal(job_proof_make(secret, &claim, proof, NULL), 0);
    hex_encode(proof, sizeof proof, text);
    assert_string_equal(text, "b67b00783aa9b7404aa914f73c77f137ec3589e1b6768c7736b7d1e874eb7686");
    assert_true(job_proof_check(secret, &claim, proof));
}

TEST(test_each_part_counts)
{
    static const char *const wrong[] = { "protocol", "job",         "role",  "index",
                                         "the next", "incarnation", "nonce", "peer nonce" };
    struct job_claim claim = a_claim();
    uint8_t other[JOB_NONCE_BYTES] = { 0xa5 };
    uint8_t proof[JOB_PROOF_BYTES];

    assert_int_equal(job_proof_make(secret, &claim, proof, NULL), 0);
    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct job_claim said = claim;

        if (i == 0)
            said.protocol = "edl-group";
        if (i == 1)
            said.job_id++;
        if (i == 2)
            said.role = "pserver";
        if (i == 3)
            said.index = UINT64_C(3) << 8;
        if (i == 4)
            said.index++;
        if (i == 5)
            said.incarnation--;
        if (i == 6)
            said.nonce = other;
        if (i == 7)
            said.peer_nonce = other;
        if (job_proof_check(secret, &said, proof))
            fail_msg("a proof is good for another %s", wrong[i]);
    }
    for (size_t bit = 0; bit < 8 * sizeof secret; bit++) {
        secret[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(job_proof_check(secret, &claim, proof));
        secret[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof proof; bit++) {
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(job_proof_check(secret, &claim, proof));
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(job_proof_check(secret, &claim, proof));
}

/* What one name ends with does not become the begin of the next part. */
TEST(test_encoding_is_unambiguous)
{
    struct job_claim a = a_claim(), b = a_claim();
    uint8_t proof[JOB_PROOF_BYTES];

    a.protocol = "edlABCDEFGH";
    a.job_id = UINT64_C(0x6867666564636261); /* "abcdefgh" */
    a.role = "trainer";
    b.protocol = "edl";
    b.job_id = UINT64_C(0x4847464544434241); /* "ABCDEFGH" */
    b.role = "abcdefghtrainer";
    assert_int_equal(job_proof_make(secret, &a, proof, NULL), 0);
    assert_false(job_proof_check(secret, &b, proof));
    a = a_claim();
    b = a_claim();
    a.nonce = b.peer_nonce;
    a.peer_nonce = b.nonce;
    assert_int_equal(job_proof_make(secret, &a, proof, NULL), 0);
    assert_false(job_proof_check(secret, &b, proof));
}

TEST(test_names_are_bounded)
{
    struct job_claim claim = a_claim();
    char name[JOB_CLAIM_TEXT_MAX + 2];
    uint8_t proof[JOB_PROOF_BYTES] = { 0 };
    struct edl_error error;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    claim.role = name;
    assert_int_equal(job_proof_make(secret, &claim, proof, &error), -EINVAL);
    assert_false(job_proof_check(secret, &claim, proof));
    name[sizeof name - 2] = '\0'; /* as long as may be */
    claim.protocol = name;
    assert_int_equal(job_proof_make(secret, &claim, proof, &error), 0);
    assert_true(job_proof_check(secret, &claim, proof));
}

TEST(test_what_is_made_differs)
{
    uint8_t a[JOB_SECRET_BYTES] = { 0 }, b[JOB_SECRET_BYTES] = { 0 };

    assert_false(job_secret_is_set(a));
    assert_int_equal(job_secret_make(a, NULL), 0);
    assert_int_equal(job_secret_make(b, NULL), 0);
    assert_true(job_secret_is_set(a));
    assert_memory_not_equal(a, b, sizeof a);
    assert_int_equal(job_nonce_make(a, NULL), 0);
    assert_int_equal(job_nonce_make(b, NULL), 0);
    assert_memory_not_equal(a, b, sizeof a);
    memset(a, 0, sizeof a);
    a[JOB_SECRET_BYTES - 1] = 1;
    assert_true(job_secret_is_set(a));
}
