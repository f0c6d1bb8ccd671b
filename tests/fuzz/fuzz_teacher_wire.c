/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_teacher_wire.c - any bytes as a frame between a student and a teacher
 *
 * First byte: which decoder. A frame that is accepted is encoded again, and means the same. */
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/teacher_welcome.h"
#include "shared/teacher_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool alike(const struct teacher_tensor *a, const struct teacher_tensor *b)
{
    return streq(a->name, b->name) && a->type == b->type && a->n_dimensions == b->n_dimensions &&
           memcmp(a->dimensions, b->dimensions, a->n_dimensions * sizeof a->dimensions[0]) == 0 &&
           a->n_values == b->n_values &&
           (a->n_values == 0 ||
            memcmp(a->values, b->values, a->n_values * teacher_type_bytes(a->type)) == 0);
}

static void tensors(const uint8_t *body, size_t size)
{
    static struct teacher_tensors found, back;
    uint8_t *again;

    if (teacher_tensors_decode(body, size, &found, NULL) < 0)
        return;
    if (teacher_tensors_bytes(found.tensors, found.n) != size)
        abort();
    again = malloc(size);
    if (again == NULL || teacher_tensors_encode(found.tensors, found.n, again) != size ||
        teacher_tensors_decode(again, size, &back, NULL) < 0 || back.n != found.n)
        abort();
    for (uint32_t i = 0; i < found.n; i++)
        if (!alike(&found.tensors[i], &back.tensors[i]))
            abort();
    free(again);
}

static void fits(const struct teacher_welcome *welcome)
{
    struct teacher_tensor tensor = { .n_dimensions = 2, .dimensions = { 1, 2 } };

    for (uint32_t i = 0; i < welcome->n_feeds; i++)
        (void)teacher_feed_fits(&welcome->feeds[i], &tensor, NULL);
}

static void welcome(const uint8_t *body, size_t size)
{
    struct teacher_welcome found, back;
    char *text;
    size_t n;

    if (teacher_welcome_decode(body, size, &found, NULL) < 0)
        return;
    fits(&found);
    if (teacher_welcome_encode(&found, &text, &n, NULL) >= 0) {
        if (teacher_welcome_decode((const uint8_t *)text, n, &back, NULL) < 0 ||
            back.n_feeds != found.n_feeds || back.n_fetches != found.n_fetches ||
            back.batch != found.batch || back.free != found.free || !streq(back.model, found.model))
            abort();
        teacher_welcome_clear(&back);
        free(text);
    }
    teacher_welcome_clear(&found);
}

static void greetings(const uint8_t *body, size_t size)
{
    uint8_t again[MAX_OF(TEACHER_HELLO_BYTES_MAX, TEACHER_CHALLENGE_BYTES)];
    struct teacher_hello hello;
    struct teacher_challenge challenge;

    if (teacher_hello_decode(body, size, &hello, NULL) >= 0 &&
        (teacher_hello_encode(&hello, again) != size ||
         memcmp(again + 4, body + 4, TEACHER_NONCE_BYTES) != 0))
        abort();
    if (teacher_challenge_decode(body, size, &challenge, NULL) >= 0 &&
        (teacher_challenge_encode(&challenge, again) != size || memcmp(again, body, size) != 0))
        abort();
}

static void others(const uint8_t *body, size_t size)
{
    char text[TEACHER_TEXT_MAX + 1];
    uint8_t proof[TEACHER_PROOF_BYTES], again[TEACHER_HEADER_BYTES];
    struct teacher_header header;
    uint32_t count;
    uint64_t id;

    if (size >= TEACHER_HEADER_BYTES && teacher_header_decode(body, &header, NULL) >= 0 &&
        (teacher_header_encode(header.type, header.body_bytes, again) != sizeof again ||
         memcmp(again, body, sizeof again) != 0))
        abort();
    greetings(body, size);
    (void)teacher_proof_decode(body, size, proof, NULL);
    (void)teacher_count_decode(body, size, &count, NULL);
    (void)teacher_id_decode(body, size, &id, NULL);
    teacher_text_decode(body, size, text);
    if (strlen(text) > size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const uint8_t *body, size_t size) = { tensors, welcome, others };
    uint8_t *body;

    if (size < 1)
        return 0;
    body = malloc(size > 1 ? size - 1 : 1); /* exactly as long: reading on is noticed */
    if (body == NULL)
        abort();
    memcpy(body, data + 1, size - 1);
    targets[data[0] % ELEMENTS(targets)](body, size - 1);
    free(body);
    return 0;
}
