/* SPDX-License-Identifier: Apache-2.0 */
/* batch_room.c - some samples side by side, each value copied once */
#include "shared/macro.h"
#include "trainer/data/sample_set.h"

#define WORD_BYTES 4

/* The values in a record and in a batch have one form: little-endian words of four bytes. */
_Static_assert(sizeof(float) == WORD_BYTES && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "a record is copied as it is");

struct slot_room {
    void *words; /* int32_t or float, four bytes each */
    size_t n_words, room;
    uint32_t *starts;
    size_t starts_room;
};

struct batch_room {
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
    struct slot_room slots[INPUTS_MAX];
};

struct batch_room *batch_room_new(const struct input_spec *inputs, uint32_t n_inputs)
{
    struct batch_room *room = xcalloc(1, sizeof *room);

    memcpy(room->inputs, inputs, n_inputs * sizeof *inputs);
    room->n_inputs = n_inputs;
    return room;
}

struct batch_room *batch_room_free(struct batch_room *room)
{
    if (room == NULL)
        return NULL;
    for (uint32_t i = 0; i < room->n_inputs; i++) {
        free(room->slots[i].words);
        free(room->slots[i].starts);
    }
    free(room);
    return NULL;
}

static void copy_words(struct slot_room *slot, const uint8_t *from, size_t n)
{
    size_t end = slot->n_words + n;

    if (end > slot->room) {
        slot->room = MAX_OF(end, slot->room * 2);
        slot->words = xreallocarray(slot->words, slot->room, WORD_BYTES);
    }
    memcpy((uint8_t *)slot->words + slot->n_words * WORD_BYTES, from, n * WORD_BYTES);
    slot->n_words = end;
}

/* Adds the values of one sample, the i-th of the batch. */
static void add_sample(struct batch_room *room, uint32_t i, const uint8_t *record)
{
    for (uint32_t s = 0; s < room->n_inputs; s++) {
        struct slot_room *slot = &room->slots[s];
        const struct input_spec *input = &room->inputs[s];
        const size_t width = input_is_dense(input->kind) ? input->size : 1;
        uint32_t places = 1;

        if (input_is_sequence(input->kind)) {
            memcpy(&places, record, sizeof places);
            record += sizeof places;
        }
        copy_words(slot, record, places * width);
        record += places * width * WORD_BYTES;
        if (input_is_sequence(input->kind))
            slot->starts[i + 1] = (uint32_t)(slot->n_words / width);
    }
}

static void clear(struct batch_room *room, uint32_t n)
{
    for (uint32_t s = 0; s < room->n_inputs; s++) {
        struct slot_room *slot = &room->slots[s];

        slot->n_words = 0;
        if (!input_is_sequence(room->inputs[s].kind))
            continue;
        if (slot->starts_room < (size_t)n + 1) {
            slot->starts_room = (size_t)n + 1;
            slot->starts = xreallocarray(slot->starts, slot->starts_room, sizeof *slot->starts);
        }
        slot->starts[0] = 0;
    }
}

static void take_batch(const struct batch_room *room, uint32_t n, struct batch *ret)
{
    *ret = (struct batch){ .n = n, .n_slots = room->n_inputs };
    for (uint32_t s = 0; s < room->n_inputs; s++) {
        const struct slot_room *slot = &room->slots[s];

        ret->slots[s] = (struct batch_slot){
            .ids = !input_is_dense(room->inputs[s].kind) ? slot->words : NULL,
            .starts = input_is_sequence(room->inputs[s].kind) ? slot->starts : NULL,
            .values = input_is_dense(room->inputs[s].kind) ? slot->words : NULL,
        };
    }
}

void sample_set_batch(const struct sample_set *set, size_t first, uint32_t n,
                      struct batch_room *room, struct batch *ret)
{
    clear(room, n);
    for (uint32_t i = 0; i < n; i++) {
        size_t size;

        add_sample(room, i, sample_set_record(set, first + i, &size));
    }
    take_batch(room, n, ret);
}

void sample_set_pick(const struct sample_set *set, const uint64_t *indices, uint32_t n,
                     struct batch_room *room, struct batch *ret)
{
    clear(room, n);
    for (uint32_t i = 0; i < n; i++) {
        size_t size;

        add_sample(room, i, sample_set_record(set, (size_t)indices[i], &size));
    }
    take_batch(room, n, ret);
}
