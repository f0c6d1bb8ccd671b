/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - see image.h
 *
 * A run is its head, then its parameters; the text of one follows it, with its NUL. */
#include "scheduler/store/far/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ALIGNMENT 8
#define ROOM_FIRST ((size_t)16 << 10)

struct run {
    int32_t statement, n;
};

struct parameter {
    uint64_t kind; /* enum far_kind */
    union {
        int64_t number;
        double real;
        uint64_t text_bytes; /* its NUL included */
    } as;
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static void add_bytes(struct image *image, const void *bytes, size_t size)
{
    size_t need = image->size + aligned(size);

    if (need > image->room) {
        image->room = MAX_OF(MAX_OF(2 * image->room, need), ROOM_FIRST);
        image->bytes = xreallocarray(image->bytes, image->room, 1);
    }
    memcpy(image->bytes + image->size, bytes, size);
    memset(image->bytes + image->size + size, 0, aligned(size) - size);
    image->size = need;
}

static void add_value(struct image *image, const struct far_value *value)
{
    struct parameter parameter = { .kind = (uint64_t)value->kind };

    if (value->kind == FAR_NUMBER)
        parameter.as.number = value->number;
    else if (value->kind == FAR_REAL)
        parameter.as.real = value->real;
    else if (value->kind == FAR_TEXT)
        parameter.as.text_bytes = strlen(value->text) + 1;
    add_bytes(image, &parameter, sizeof parameter);
    if (value->kind == FAR_TEXT)
        add_bytes(image, value->text, parameter.as.text_bytes);
}

void image_add(struct image *image, int statement, const struct far_value *values, int n)
{
    struct run run = { .statement = statement, .n = n };

    add_bytes(image, &run, sizeof run);
    for (int i = 0; i < n; i++)
        add_value(image, &values[i]);
    image->n_runs++;
}

static const char *bind(struct prepared *statement, int at, const char *bytes)
{
    struct parameter parameter;

    memcpy(&parameter, bytes, sizeof parameter);
    bytes += sizeof parameter;
    switch ((enum far_kind)parameter.kind) {
    case FAR_NULL:
        store_bind_text(statement, at, NULL);
        break;
    case FAR_NUMBER:
        store_bind_i64(statement, at, parameter.as.number);
        break;
    case FAR_REAL:
        store_bind_real(statement, at, parameter.as.real);
        break;
    case FAR_TEXT:
        store_bind_text(statement, at, bytes);
        return bytes + aligned(parameter.as.text_bytes);
    }
    return bytes;
}

int image_play(const struct image *image, struct store *store, struct edl_error *error)
{
    const char *bytes = image->bytes;
    int r = 0;

    for (size_t i = 0; r == 0 && i < image->n_runs; i++) {
        struct run run;

        memcpy(&run, bytes, sizeof run);
        bytes += sizeof run;
        for (int at = 1; at <= run.n; at++)
            bytes = bind(store->statements[run.statement], at, bytes);
        r = store_step_done(store, (enum statement)run.statement, error);
    }
    return r;
}

void image_done(struct image *image)
{
    free(image->bytes);
    *image = (struct image){ .size = 0 };
}
