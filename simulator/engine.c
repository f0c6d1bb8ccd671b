/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - the heap of events, streams of random numbers, the history's hash and trace
 *
 * Events of one instant come in the order in which they were made. Each stream is derived from the
 * seed, a name and two numbers. So one more draw in one place leaves all others as they were. */
#include <inttypes.h>
#include <stdarg.h>

#include "simulator/internal.h"

static bool before(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->seq < b->seq;
}

void heap_push(struct heap *heap, const struct event *event)
{
    size_t i = heap->n++;

    if (i == heap->cap) {
        heap->cap = heap->cap ? 2 * heap->cap : 256;
        heap->items = xreallocarray(heap->items, heap->cap, sizeof *heap->items);
    }
    for (; i > 0 && before(event, &heap->items[(i - 1) / 2]); i = (i - 1) / 2)
        heap->items[i] = heap->items[(i - 1) / 2];
    heap->items[i] = *event;
}

bool heap_pop(struct heap *heap, struct event *ret)
{
    struct event last;
    size_t i = 0;

    if (heap->n == 0)
        return false;
    *ret = heap->items[0];
    last = heap->items[--heap->n];
    for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], &last))
            break;
        heap->items[i] = heap->items[child];
    }
    heap->items[i] = last;
    return true;
}

void sim_at(struct sim *sim, uint64_t at_us, enum event_kind kind, uint32_t a, uint64_t b, void *p)
{
    struct event event = {
        .at_us = MAX_OF(at_us, sim->now_us), .seq = ++sim->seq, .p = p, .b = b, .a = a, .kind = kind
    };

    heap_push(&sim->heap, &event);
}

void sim_after(struct sim *sim, uint64_t delay_us, enum event_kind kind, uint32_t a, uint64_t b)
{
    sim_at(sim, sim->now_us + delay_us, kind, a, b, NULL);
}

uint64_t stream(const struct sim *sim, const char *name, uint64_t a, uint64_t b)
{
    uint64_t state = sim->config.seed;

    for (const char *p = name; *p != '\0'; p++) {
        state ^= (unsigned char)*p;
        state = random_u64(&state);
    }
    state ^= a;
    state = random_u64(&state);
    state ^= b;
    return random_u64(&state);
}

uint64_t draw(uint64_t *state, struct sim_range range)
{
    if (range.max_us <= range.min_us)
        return range.min_us;
    return range.min_us + random_below(state, range.max_us - range.min_us + 1);
}

bool chance(uint64_t *state, uint32_t ppm)
{
    return ppm > 0 && random_below(state, 1000000) < ppm;
}

void sim_mix(struct sim *sim, uint64_t value)
{
    sim->hash = (sim->hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    sim->hash ^= sim->hash >> 29;
}

void sim_trace(struct sim *sim, const char *format, ...)
{
    va_list ap;

    (void)fprintf(sim->config.trace, "%6" PRIu64 ".%06" PRIu64 " ", sim->now_us / USEC_PER_SEC,
                  sim->now_us % USEC_PER_SEC);
    va_start(ap, format);
    (void)vfprintf(sim->config.trace, format, ap);
    va_end(ap);
    (void)fputc('\n', sim->config.trace);
}

bool violate(struct sim *sim, const char *promise, const char *format, ...)
{
    char text[sizeof sim->violation.text];
    va_list ap;

    if (sim->violated)
        return false;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    sim->violated = true;
    (void)edl_error_set(&sim->violation, EDL_EBADTRANSITION, "%s: %s", promise, text);
    TRACE(sim, "VIOLATION %s: %s", promise, text);
    return false;
}

const char *text_kept(struct sim *sim, const char *text)
{
    if (text == NULL)
        return "";
    for (size_t i = 0; i < sim->n_texts; i++)
        if (streq(sim->texts[i], text))
            return sim->texts[i];
    if (sim->n_texts == sim->cap_texts) {
        sim->cap_texts = sim->cap_texts ? 2 * sim->cap_texts : 16;
        sim->texts = xreallocarray(sim->texts, sim->cap_texts, sizeof *sim->texts);
    }
    return sim->texts[sim->n_texts++] = xstrdup(text);
}
