/* SPDX-License-Identifier: Apache-2.0 */
/* group_signature.c - what trainers of a group must have in common */
#include "trainer/run/group_signature.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/batch_history.h"
#include "shared/macro.h"
#include "trainer/parameters/declaration.h"

enum { WORD_MAX = 40 }; /* characters of a name that are told */

#define DIGEST_OF_NOTHING UINT64_C(14695981039346656037)

struct text {
    char *out;
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    const size_t size = EDL_GROUP_SIGNATURE_BYTES_MAX + 1;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(text->out + text->n, size - text->n, format, arguments);
    va_end(arguments);
    text->n = MIN_OF(text->n + (size_t)MAX_OF(n, 0), size - 1);
}

/* digest - FNV-1a: it tells mistakes apart, and is no proof against forgers */
static uint64_t digest(uint64_t h, const void *bytes, uint64_t n)
{
    for (const uint8_t *p = bytes; n > 0; n--)
        h = (h ^ *p++) * UINT64_C(1099511628211);
    return h;
}

/* digest_of - of the file, and of what arguments and data made of it */
static uint64_t digest_of(const struct group_settings *s)
{
    const struct declaration *d = s->declaration;
    uint64_t h = digest(DIGEST_OF_NOTHING, s->text, s->text_bytes);

    for (uint32_t p = 0; p < d->n_params; p++) {
        const struct param_spec *spec = &d->params[p];
        const size_t n_name = strnlen(spec->name, sizeof spec->name);

        h = digest(h, spec->name, n_name);
        h = digest(h, (const uint8_t *)spec + sizeof spec->name, sizeof *spec - sizeof spec->name);
    }
    return h;
}

void group_signature(const struct group_settings *s, char ret[EDL_GROUP_SIGNATURE_BYTES_MAX + 1])
{
    const struct declaration *d = s->declaration;
    const struct optimizer_spec *o = &d->optimizer;
    struct text text = { .out = ret };

    memset(ret, 0, EDL_GROUP_SIGNATURE_BYTES_MAX + 1);
    add(&text, "network %.*s %016" PRIx64 "\n", WORD_MAX, s->network, digest_of(s));
    add(&text, "samples %" PRIu64 "%s, passes %" PRIu64 "\n", s->samples,
        s->shuffles ? ", shuffled" : "", s->passes);
    add(&text,
        "batch %" PRIu64 " in micro-batches: %" PRIu64 ", %s, at most %" PRIu64
        ", warm-up %" PRIu64,
        s->micro_batch * s->micro_batches, s->micro_batches, s->batch_rule, s->most, s->warm_up);
    if (s->given != NULL)
        add(&text, ", of a file %016" PRIx64,
            digest(DIGEST_OF_NOTHING, s->given, sizeof *s->given));
    add(&text, "\n");
    add(&text, "seed %" PRIu64 "\n", d->seed);
    add(&text, "optimizer %s, rate %.9g, momentum %.9g, L1 %.9g, L2 %.9g, clipping %.9g\n",
        optimizer_kind(o->method)->name, (double)o->learning_rate, (double)o->momentum,
        (double)o->l1_rate, (double)o->l2_rate, (double)o->clipping);
    add(&text, "rho %.9g, epsilon %.9g, beta %.9g %.9g%s\n", (double)o->rho, (double)o->epsilon,
        (double)o->beta1, (double)o->beta2, o->nesterov != 0 ? ", nesterov" : "");
    add(&text, "schedule %s %.9g %.9g %.*s\n", rate_schedule_to_string(o->schedule),
        (double)o->schedule_a, (double)o->schedule_b, WORD_MAX, o->schedule_args);
    if (s->kernels != NULL)
        add(&text, "device %.*s\nkernels %s\nBLAS %.80s\n", WORD_MAX, s->device, s->kernels,
            s->blas);
}
