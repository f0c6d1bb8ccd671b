/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - frames between trainers and parameter servers: pure encoding and decoding */
#include "trainer/wire/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/parameters/shard.h"

/* Arrays travel as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire format is little-endian");
_Static_assert(sizeof(float) == 4, "the wire format has 32-bit floats");

static const struct {
    const char *name;
    uint64_t max;
} types[] = {
#define XX(name, number, max) [number] = { #name, max },
    WIRE_TYPE_MAP(XX)
#undef XX
};

const char *wire_type_to_string(enum wire_type type)
{
    if ((size_t)type >= ELEMENTS(types) || types[type].name == NULL)
        return "?";
    return types[type].name;
}

static uint8_t *put(uint8_t *out, const void *value, size_t size)
{
    memcpy(out, value, size);
    return out + size;
}

static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    return put(out, &value, sizeof value);
}

static uint8_t *put_u64(uint8_t *out, uint64_t value)
{
    return put(out, &value, sizeof value);
}

/* Fixed-size bodies are read field by field after their one length check. */
static const uint8_t *get(const uint8_t *in, void *value, size_t size)
{
    memcpy(value, in, size);
    return in + size;
}

static int check_size(const char *what, size_t size, size_t expected, struct edl_error *error)
{
    if (size == expected)
        return 0;
    return edl_error_set(error, -EINVAL, "%s has %zu bytes instead of %zu", what, size, expected);
}

size_t wire_header_encode(const struct wire_header *header, uint8_t *out)
{
    out = put_u32(out, WIRE_MAGIC);
    out = put_u32(out, (uint32_t)header->type);
    out = put_u64(out, header->sequence);
    (void)put_u64(out, header->body_bytes);
    return WIRE_HEADER_BYTES;
}

int wire_header_decode(const uint8_t *in, struct wire_header *ret, struct edl_error *error)
{
    uint32_t magic, type;
    uint64_t sequence, body_bytes;

    in = get(in, &magic, sizeof magic);
    in = get(in, &type, sizeof type);
    in = get(in, &sequence, sizeof sequence);
    (void)get(in, &body_bytes, sizeof body_bytes);
    if (magic != WIRE_MAGIC)
        return edl_error_set(error, -EINVAL, "not a parameter-server frame (magic 0x%08x)", magic);
    if (type >= ELEMENTS(types) || types[type].name == NULL)
        return edl_error_set(error, -EINVAL, "frame of unknown type %u", type);
    if (body_bytes > types[type].max)
        return edl_error_set(error, -EINVAL, "%s frame of %llu bytes; %llu are allowed",
                             types[type].name, (unsigned long long)body_bytes,
                             (unsigned long long)types[type].max);
    *ret = (struct wire_header){ .type = (enum wire_type)type,
                                 .sequence = sequence,
                                 .body_bytes = body_bytes };
    return 0;
}

/* Whatever a version has behind it, its number comes first. Version 1 had none: told by its size.
 */
static int check_version(const char *what, const uint8_t *body, size_t size, size_t size_of_1,
                         struct edl_error *error)
{
    uint32_t version = 1;

    if (size != size_of_1 && size >= sizeof version)
        (void)get(body, &version, sizeof version);
    if (version == WIRE_VERSION)
        return 0;
    return edl_error_set(error, -EINVAL,
                         "%s is of version %u of the protocol, and this program speaks version %d: "
                         "the trainers and parameter servers of a job are to be of one release",
                         what, version, WIRE_VERSION);
}

size_t wire_hello_encode(const struct wire_hello *hello, uint8_t *out)
{
    out = put_u32(out, WIRE_VERSION);
    out = put_u32(out, hello->trainer);
    out = put_u32(out, hello->shard);
    out = put_u32(out, hello->n_shards);
    out = put_u64(out, hello->job_id);
    out = put_u64(out, hello->incarnation);
    out = put_u32(out, hello->agreement.trainers);
    out = put_u32(out, hello->agreement.send_every);
    out = put_u32(out, hello->agreement.center);
    out = put(out, &hello->agreement.delta_add_rate, sizeof hello->agreement.delta_add_rate);
    out = put_u32(out, hello->agreement.mode);
    (void)put(out, hello->nonce, sizeof hello->nonce);
    return WIRE_HELLO_BYTES;
}

int wire_hello_decode(const uint8_t *body, size_t size, struct wire_hello *ret,
                      struct edl_error *error)
{
    struct wire_hello hello;
    int r = check_version("HELLO", body, size, WIRE_HELLO_1_BYTES, error);

    if (r >= 0)
        r = check_size("HELLO", size, WIRE_HELLO_BYTES, error);
    if (r < 0)
        return r;
    body = get(body + 4, &hello.trainer, sizeof hello.trainer);
    body = get(body, &hello.shard, sizeof hello.shard);
    body = get(body, &hello.n_shards, sizeof hello.n_shards);
    body = get(body, &hello.job_id, sizeof hello.job_id);
    body = get(body, &hello.incarnation, sizeof hello.incarnation);
    body = get(body, &hello.agreement.trainers, sizeof hello.agreement.trainers);
    body = get(body, &hello.agreement.send_every, sizeof hello.agreement.send_every);
    body = get(body, &hello.agreement.center, sizeof hello.agreement.center);
    body = get(body, &hello.agreement.delta_add_rate, sizeof hello.agreement.delta_add_rate);
    body = get(body, &hello.agreement.mode, 4);
    (void)get(body, hello.nonce, sizeof hello.nonce);
    if (hello.n_shards == 0 || hello.n_shards > SHARDS_MAX || hello.shard >= hello.n_shards)
        return edl_error_set(error, -EINVAL, "HELLO names server %u of %u", hello.shard,
                             hello.n_shards);
    *ret = hello;
    return 0;
}

size_t wire_challenge_encode(const struct wire_challenge *challenge, uint8_t *out)
{
    out = put_u32(out, WIRE_VERSION);
    out = put_u32(out, challenge->shard);
    out = put_u64(out, challenge->incarnation);
    out = put(out, challenge->nonce, sizeof challenge->nonce);
    (void)put(out, challenge->proof, sizeof challenge->proof);
    return WIRE_CHALLENGE_BYTES;
}

int wire_challenge_decode(const uint8_t *body, size_t size, struct wire_challenge *ret,
                          struct edl_error *error)
{
    int r = check_version("CHALLENGE", body, size, 0, error);

    if (r >= 0)
        r = check_size("CHALLENGE", size, WIRE_CHALLENGE_BYTES, error);
    if (r < 0)
        return r;
    body = get(body + 4, &ret->shard, sizeof ret->shard);
    body = get(body, &ret->incarnation, sizeof ret->incarnation);
    body = get(body, ret->nonce, sizeof ret->nonce);
    (void)get(body, ret->proof, sizeof ret->proof);
    return 0;
}

int wire_proof_decode(const uint8_t *body, size_t size, uint8_t ret[JOB_PROOF_BYTES],
                      struct edl_error *error)
{
    int r = check_size("PROOF", size, WIRE_PROOF_BYTES, error);

    if (r >= 0)
        memcpy(ret, body, WIRE_PROOF_BYTES);
    return r;
}

size_t wire_declare_encode(const struct declaration *declaration, uint8_t *out)
{
    struct declaration plain;
    uint8_t *start = out;

    declaration_plain(declaration, &plain);
    out = put_u64(out, plain.seed);
    out = put_u32(out, plain.n_params);
    out =
        put(out,
            ((const uint8_t[]){ (uint8_t)plain.awaits_values, (uint8_t)plain.placement.dense_ports,
                                (uint8_t)plain.placement.sparse_ports, 0 }),
            4);
    out = put(out, &plain.optimizer, sizeof plain.optimizer);
    out = put(out, plain.params, plain.n_params * sizeof *plain.params);
    return (size_t)(out - start);
}

int wire_declare_decode(const uint8_t *body, size_t size, struct declaration *ret,
                        struct edl_error *error)
{
    struct declaration declaration = { 0 };
    uint8_t bytes[4];
    int r;

    if (size < WIRE_DECLARE_HEAD_BYTES)
        return check_size("DECLARE", size, WIRE_DECLARE_HEAD_BYTES, error);
    body = get(body, &declaration.seed, sizeof declaration.seed);
    body = get(body, &declaration.n_params, sizeof declaration.n_params);
    body = get(body, bytes, sizeof bytes);
    declaration.awaits_values = bytes[0];
    declaration.placement = (struct block_placement){ bytes[1], bytes[2] };
    body = get(body, &declaration.optimizer, sizeof declaration.optimizer);
    if (bytes[3] != 0)
        return edl_error_set(error, -EINVAL, "DECLARE has %u where nothing is to be", bytes[3]);
    if (declaration.n_params > DECLARATION_PARAMS_MAX)
        return edl_error_set(error, -EINVAL, "DECLARE has more than %u parameters: %u",
                             DECLARATION_PARAMS_MAX, declaration.n_params);
    r = check_size("DECLARE", size,
                   WIRE_DECLARE_HEAD_BYTES + (size_t)declaration.n_params * WIRE_PARAM_BYTES,
                   error);
    if (r < 0)
        return r;
    (void)get(body, declaration.params, declaration.n_params * sizeof *declaration.params);
    r = declaration_check(&declaration, error);
    if (r < 0)
        return r;
    *ret = declaration;
    return 0;
}

size_t wire_declare_ok_encode(const struct wire_declare_ok *ok, uint8_t *out)
{
    out = put_u64(out, ok->updates);
    out = put_u64(out, ok->dense_values);
    out = put_u32(out, ok->created);
    (void)put_u32(out, ok->awaits);
    return WIRE_DECLARE_OK_BYTES;
}

int wire_declare_ok_decode(const uint8_t *body, size_t size, struct wire_declare_ok *ret,
                           struct edl_error *error)
{
    int r = check_size("DECLARE_OK", size, WIRE_DECLARE_OK_BYTES, error);

    if (r < 0)
        return r;
    body = get(body, &ret->updates, sizeof ret->updates);
    body = get(body, &ret->dense_values, sizeof ret->dense_values);
    body = get(body, &ret->created, sizeof ret->created);
    (void)get(body, &ret->awaits, sizeof ret->awaits);
    return 0;
}

size_t wire_past_encode(const struct wire_past *past, uint8_t *out)
{
    out = put_u64(out, past->life);
    out = put_u64(out, past->updates);
    out = put_u64(out, past->samples);
    out = put_u32(out, past->holds);
    (void)put_u32(out, past->trained);
    return WIRE_PAST_BYTES;
}

int wire_past_decode(const uint8_t *body, size_t size, struct wire_past *ret,
                     struct edl_error *error)
{
    struct wire_past past;
    int r = check_size("PAST", size, WIRE_PAST_BYTES, error);

    if (r < 0)
        return r;
    body = get(body, &past.life, sizeof past.life);
    body = get(body, &past.updates, sizeof past.updates);
    body = get(body, &past.samples, sizeof past.samples);
    body = get(body, &past.holds, sizeof past.holds);
    (void)get(body, &past.trained, sizeof past.trained);
    if (past.holds > 1 || past.trained > 1 || past.updates > WIRE_COUNT_MAX ||
        past.samples > WIRE_COUNT_MAX)
        return edl_error_set(error, -EINVAL, "PAST has a number that is too large");
    *ret = past;
    return 0;
}

size_t wire_past_ok_encode(const struct wire_past_ok *ok, uint8_t *out)
{
    out = put_u64(out, ok->life);
    out = put_u64(out, ok->updates);
    out = put_u64(out, ok->samples);
    out = put_u32(out, ok->wish);
    (void)put_u32(out, 0);
    return WIRE_PAST_OK_BYTES;
}

int wire_past_ok_decode(const uint8_t *body, size_t size, struct wire_past_ok *ret,
                        struct edl_error *error)
{
    struct wire_past_ok ok;
    int r = check_size("PAST_OK", size, WIRE_PAST_OK_BYTES, error);

    if (r < 0)
        return r;
    body = get(body, &ok.life, sizeof ok.life);
    body = get(body, &ok.updates, sizeof ok.updates);
    body = get(body, &ok.samples, sizeof ok.samples);
    (void)get(body, &ok.wish, sizeof ok.wish);
    if (ok.life == 0 || ok.wish >= WISHES)
        return edl_error_set(error, -EINVAL, "PAST_OK of life %llu with wish %u",
                             (unsigned long long)ok.life, ok.wish);
    *ret = ok;
    return 0;
}

size_t wire_refused_encode(const struct wire_refused *refused, uint8_t *out)
{
    size_t used = strnlen(refused->text, WIRE_REFUSED_MAX - 8);

    out = put(out, &refused->code, 4);
    (void)put(out, refused->text, used);
    return 4 + used;
}

int wire_refused_decode(const uint8_t *body, size_t size, struct wire_refused *ret,
                        struct edl_error *error)
{
    int32_t code;

    if (size < 4 || size - 4 >= WIRE_REFUSED_MAX)
        return edl_error_set(error, -EINVAL, "REFUSED has %zu bytes", size);
    body = get(body, &code, sizeof code);
    if (code >= 0)
        return edl_error_set(error, -EINVAL, "REFUSED with code %d", code);
    ret->code = code;
    memcpy(ret->text, body, size - 4);
    ret->text[size - 4] = '\0';
    return 0;
}

size_t wire_push_pull_head_encode(const struct wire_push_pull *request, uint8_t *out)
{
    uint8_t *start = out;

    out = put_u32(out, request->flags);
    out = put_u32(out, request->n_sections);
    out = put_u32(out, request->samples);
    out = put_u32(out, request->pass);
    out = put_u64(out, request->round);
    for (uint32_t s = 0; s < request->n_sections; s++) {
        out = put_u32(out, request->sections[s].param);
        out = put_u32(out, request->sections[s].n_push);
        out = put_u32(out, request->sections[s].n_pull);
    }
    return (size_t)(out - start);
}

/* Reads the section table; adds up what must follow it. Cannot overflow: rows are bounded by the
 * shape, whose every parameter is at most 1 GiB. */
static int decode_sections(const uint8_t *in, const struct shard_shape *shape,
                           struct wire_push_pull *request, uint64_t *ret_bytes,
                           struct edl_error *error)
{
    bool seen[DECLARATION_PARAMS_MAX] = { false };
    uint64_t bytes = 0;

    for (uint32_t s = 0; s < request->n_sections; s++) {
        struct wire_section *section = &request->sections[s];
        const struct shard_param *part;

        in = get(in, &section->param, 4);
        in = get(in, &section->n_push, 4);
        in = get(in, &section->n_pull, 4);
        if (section->param >= shape->n_params || !shape->params[section->param].sparse)
            return edl_error_set(error, -EINVAL, "rows of parameter %u, which is not sparse",
                                 section->param);
        if (seen[section->param])
            return edl_error_set(error, -EINVAL, "parameter %u comes twice", section->param);
        seen[section->param] = true;
        part = &shape->params[section->param];
        if (section->n_push > part->rows || section->n_pull > part->rows)
            return edl_error_set(error, -EINVAL, "%u row%s pushed, %u pulled, but %u are here",
                                 section->n_push, PLURAL(section->n_push), section->n_pull,
                                 part->rows);
        bytes += 4 * ((uint64_t)section->n_push * (1 + part->columns) + section->n_pull);
    }
    *ret_bytes = bytes;
    return 0;
}

static void view_sections(const uint8_t *in, const struct shard_shape *shape,
                          struct wire_push_pull *request)
{
    for (uint32_t s = 0; s < request->n_sections; s++) {
        struct wire_section *section = &request->sections[s];

        section->push_ids = (const uint32_t *)(const void *)in;
        in += 4 * (size_t)section->n_push;
        section->push_rows = (const float *)(const void *)in;
        in += 4 * (size_t)section->n_push * shape->params[section->param].columns;
        section->pull_ids = (const uint32_t *)(const void *)in;
        in += 4 * (size_t)section->n_pull;
    }
}

/* A frame pushes gradients, or values in one way, or enters. */
static bool flags_are_valid(uint32_t flags)
{
    const uint32_t ways = flags & (WIRE_PUSH | WIRE_SET | WIRE_SEED | WIRE_ENTER);
    const uint32_t known = WIRE_PUSH_DENSE | WIRE_PULL_DENSE | WIRE_PUSH | WIRE_SET | WIRE_SEED |
                           WIRE_ENTER | WIRE_ROUND | WIRE_LEAVE;

    return (flags & ~known) == 0 && (ways & (ways - 1)) == 0 &&
           ((flags & WIRE_ROUND) == 0 || ways == WIRE_PUSH) &&
           ((flags & WIRE_LEAVE) == 0 || ways == WIRE_PUSH || ways == 0);
}

int wire_push_pull_decode(const uint8_t *body, size_t size, const struct shard_shape *shape,
                          struct wire_push_pull *ret, struct edl_error *error)
{
    struct wire_push_pull request = { 0 };
    uint64_t bytes = 0, head, dense;
    int r;

    if (size < WIRE_PUSH_PULL_FIXED_BYTES)
        return check_size("PUSH_PULL", size, WIRE_PUSH_PULL_FIXED_BYTES, error);
    (void)get(get(body, &request.flags, 4), &request.n_sections, 4);
    (void)get(get(get(body + 8, &request.samples, 4), &request.pass, 4), &request.round, 8);
    if (!flags_are_valid(request.flags))
        return edl_error_set(error, -EINVAL, "PUSH_PULL with unknown flags 0x%x", request.flags);
    if (request.n_sections > DECLARATION_PARAMS_MAX)
        return edl_error_set(error, -EINVAL, "PUSH_PULL with too many sections: %u",
                             request.n_sections);
    head = WIRE_PUSH_PULL_FIXED_BYTES + (uint64_t)request.n_sections * WIRE_SECTION_BYTES;
    if (size < head)
        return check_size("PUSH_PULL", size, (size_t)head, error);
    r = decode_sections(body + WIRE_PUSH_PULL_FIXED_BYTES, shape, &request, &bytes, error);
    if (r < 0)
        return r;
    dense = request.flags & WIRE_PUSH_DENSE ? 4 * (uint64_t)shape->dense_values : 0;
    r = check_size("PUSH_PULL", size, (size_t)(head + dense + bytes), error);
    if (r < 0)
        return r;
    if (request.flags & WIRE_PUSH_DENSE)
        request.dense = (const float *)(const void *)(body + head);
    view_sections(body + head + dense, shape, &request);
    *ret = request;
    return 0;
}

uint64_t wire_push_pull_max(const struct shard_shape *shape)
{
    uint64_t bytes = WIRE_PUSH_PULL_HEAD_MAX + 4 * (uint64_t)shape->dense_values;

    for (uint32_t p = 0; p < shape->n_params; p++)
        if (shape->params[p].sparse)
            bytes += 4 * (uint64_t)shape->params[p].rows * (2 + (uint64_t)shape->params[p].columns);
    return MIN_OF(bytes, WIRE_BULK_MAX);
}

uint64_t wire_push_pull_ok_size(const struct wire_push_pull *request,
                                const struct shard_shape *shape)
{
    uint64_t bytes = WIRE_PUSH_PULL_OK_HEAD_BYTES;

    if (request->flags & WIRE_PULL_DENSE)
        bytes += 4 * (uint64_t)shape->dense_values;
    for (uint32_t s = 0; s < request->n_sections; s++)
        bytes += 4 * (uint64_t)request->sections[s].n_pull *
                 shape->params[request->sections[s].param].columns;
    return bytes;
}
