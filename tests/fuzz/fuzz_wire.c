/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire.c - any bytes as a frame of the parameter servers' protocol
 *
 * First byte: which decoder. PUSH_PULL goes through the table's checks too, and a message that
 * passes is applied. So a length or a row which is wrong after all shows as a memory error. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/macro.h"
#include "trainer/exchange/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct table *fuzz_table(void)
{
    static struct table *table;
    struct declaration d = {
        .seed = 1,
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 0.1f, .epsilon = 1e-6f },
        .n_params = 3
    };

    if (table != NULL)
        return table;
    d.optimizer.l2_rate = 0.01f;
    d.params[0] = (struct param_spec){
        "rows", 10, 2, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    d.params[1] = (struct param_spec){ "weight", 3, 2, .initial_std = 0.1f, .learning_rate = 1.0f };
    d.params[2] = (struct param_spec){
        "more", 4, 1, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    if (table_new(&d, 1, 2, &table, NULL) < 0)
        abort();
    return table;
}

static void push_pull(const uint8_t *body, size_t size)
{
    struct table *table = fuzz_table();
    struct wire_push_pull request;
    uint64_t reply;
    float *rows;

    if (wire_push_pull_decode(body, size, table_shape(table), &request, NULL) < 0 ||
        table_check(table, &request, NULL) < 0)
        return;
    reply = wire_push_pull_ok_size(&request, table_shape(table));
    if (size > wire_push_pull_max(table_shape(table)) || reply > 4096)
        abort();
    rows = malloc(reply + 1);
    if (rows == NULL)
        abort();
    if (request.flags & WIRE_SEED)
        (void)table_seed(table, &request, table_updates(table) + 1, 1, NULL);
    else
        table_push(table, &request);
    table_pull_rows(table, &request, rows);
    free(rows);
}

static void declare(const uint8_t *body, size_t size)
{
    uint8_t again[WIRE_DECLARE_MAX];
    struct declaration declaration, back;

    if (wire_declare_decode(body, size, &declaration, NULL) < 0)
        return;
    /* what is accepted can be said again and means the same */
    if (wire_declare_encode(&declaration, again) != size ||
        wire_declare_decode(again, size, &back, NULL) < 0 ||
        !declaration_equal(&declaration, &back))
        abort();
}

/* what is accepted is said again with the same bytes */
static void greetings(const uint8_t *body, size_t size, struct wire_hello *hello,
                      struct wire_challenge *challenge)
{
    uint8_t again[MAX_OF(WIRE_HELLO_BYTES, WIRE_CHALLENGE_BYTES)];

    if (wire_hello_decode(body, size, hello, NULL) >= 0 &&
        (wire_hello_encode(hello, again) != size || memcmp(again, body, size) != 0))
        abort();
    if (wire_challenge_decode(body, size, challenge, NULL) >= 0 &&
        (wire_challenge_encode(challenge, again) != size || memcmp(again, body, size) != 0))
        abort();
}

static void others(const uint8_t *body, size_t size)
{
    struct wire_header header;
    struct wire_hello hello;
    struct wire_challenge challenge;
    uint8_t proof[JOB_PROOF_BYTES];
    struct wire_declare_ok declare_ok;
    struct wire_past past;
    struct wire_past_ok past_ok;
    struct wire_refused refused;

    if (size >= WIRE_HEADER_BYTES && wire_header_decode(body, &header, NULL) >= 0 &&
        (header.body_bytes > WIRE_BULK_MAX || strcmp(wire_type_to_string(header.type), "?") == 0))
        abort();
    greetings(body, size, &hello, &challenge);
    (void)wire_proof_decode(body, size, proof, NULL);
    (void)wire_declare_ok_decode(body, size, &declare_ok, NULL);
    if (wire_past_decode(body, size, &past, NULL) >= 0 &&
        (past.updates > WIRE_COUNT_MAX || past.samples > WIRE_COUNT_MAX))
        abort();
    if (wire_past_ok_decode(body, size, &past_ok, NULL) >= 0 && past_ok.wish >= WISHES)
        abort();
    if (wire_refused_decode(body, size, &refused, NULL) >= 0 && strlen(refused.text) > size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const uint8_t *body, size_t size) = { push_pull, declare,
                                                                         others };
    uint8_t *body;

    if (size < 1)
        return 0;
    body =
        malloc(size > 1 ? size - 1 : 1); /* exactly as long as the frame: reading on is noticed */
    if (body == NULL)
        abort();
    memcpy(body, data + 1, size - 1);
    targets[data[0] % 3](body, size - 1);
    free(body);
    return 0;
}
