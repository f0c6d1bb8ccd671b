/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_set.c - samples in memory: read by chunks, shuffled, put into batches */
#include "tests/unit/test.h"
#include "trainer/data/sample_set.h"

#include <errno.h>
#include <stdio.h>

#include "data_fixture.h"
#include "shared/recordio.h"
#include "trainer/data/dataset.h"

/* Each sample of the batch is that of its number. */
static void check_batch(const struct batch *batch, const int32_t *numbers)
{
    assert_int_equal(batch->n_slots, N_INPUTS);
    assert_int_equal(batch->slots[1].starts[0], 0);
    for (uint32_t i = 0; i < batch->n; i++) {
        const int32_t k = numbers[i];
        const uint32_t *starts = batch->slots[1].starts;

        assert_int_equal(batch->slots[0].ids[i], k % 10);
        assert_int_equal(starts[i + 1] - starts[i], (uint32_t)k % 3 + 1);
        assert_int_equal(batch->slots[1].ids[starts[i]], k % 5);
        if (k % 3 > 0)
            assert_int_equal(batch->slots[1].ids[starts[i] + 1], 4);
        assert_true(batch->slots[2].values[2 * i] == (float)k);
        assert_true(batch->slots[2].values[2 * i + 1] == -0.5f);
    }
}

static struct sample_set *numbered_set(int32_t n)
{
    struct sample_set *set = sample_set_new(inputs, N_INPUTS);
    struct sample_record record = { 0 };

    for (int32_t i = 0; i < n; i++) {
        encode(i, &record);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
    }
    free(record.bytes);
    return set;
}

TEST(test_batches_have_every_value_in_its_place)
{
    struct sample_set *set = numbered_set(100);
    struct batch_room *room = batch_room_new(inputs, N_INPUTS);
    struct batch batch;
    int32_t numbers[100];

    for (int32_t i = 0; i < 100; i++)
        numbers[i] = i;
    for (uint32_t n = 1; n <= 100;
         n += 11) { /* growing, then a small one in the room of large ones */
        sample_set_batch(set, 100 - n, n, room, &batch);
        assert_int_equal(batch.n, n);
        assert_null(batch.slots[0].values);
        assert_null(batch.slots[2].ids);
        check_batch(&batch, numbers + 100 - n);
    }
    sample_set_batch(set, 3, 2, room, &batch);
    check_batch(&batch, numbers + 3);
    (void)batch_room_free(room);
    (void)sample_set_free(set);
}

static void order_of(uint64_t seed, int32_t *ret, struct batch_room *room)
{
    struct sample_set *set = numbered_set(100);
    struct batch batch;

    sample_set_shuffle(set, seed);
    sample_set_batch(set, 0, 100, room, &batch);
    for (int i = 0; i < 100; i++)
        ret[i] = (int32_t)batch.slots[2].values[2 * i];
    check_batch(&batch, ret);
    (void)sample_set_free(set);
}

TEST(test_shuffle_follows_its_seed)
{
    struct batch_room *room = batch_room_new(inputs, N_INPUTS);
    int32_t one[100], again[100], two[100];
    bool seen[100] = { 0 };

    order_of(1, one, room);
    order_of(1, again, room);
    order_of(2, two, room);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, two, sizeof one);
    for (int i = 0; i < 100; i++) {
        assert_false(seen[one[i]]);
        seen[one[i]] = true;
    }
    (void)batch_room_free(room);
}

/* The order for a seed is that of every release: the bits of a training follow from it. */
TEST(test_shuffled_as_ever)
{
    static const int32_t first[] = { 90, 43, 60, 88, 64, 50, 56, 84 };
    const struct input_spec word = { "w", INPUT_INTEGER, 100 };
    struct sample_set *set = sample_set_new(&word, 1);

    for (int32_t i = 0; i < 100; i++)
        assert_int_equal(sample_set_add(set, (const uint8_t *)&i, sizeof i, NULL), 0);
    sample_set_shuffle(set, 5);
    for (size_t i = 0; i < ELEMENTS(first); i++) {
        size_t size = 0;

        assert_memory_equal(sample_set_record(set, i, &size), &first[i], sizeof first[i]);
    }
    (void)sample_set_free(set);
}

static void write_records(const char *folder, const char *name, int32_t first, int32_t end,
                          size_t chunk_bytes)
{
    struct recordio_writer *writer = NULL;
    struct sample_record record = { 0 };
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(recordio_writer_open(path, RECORDIO_NONE, chunk_bytes, &writer, NULL), 0);
    for (int32_t i = first; i < end; i++) {
        encode(i, &record);
        assert_int_equal(recordio_write(writer, record.bytes, record.size, NULL), 0);
    }
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
    free(record.bytes);
}

static void check_numbers(struct sample_set *set, const int32_t *numbers, uint32_t n)
{
    struct batch_room *room = batch_room_new(inputs, N_INPUTS);
    struct batch batch;

    assert_int_equal(sample_set_n(set), n);
    sample_set_batch(set, 0, n, room, &batch);
    check_batch(&batch, numbers);
    (void)batch_room_free(room);
    (void)sample_set_free(set);
}

TEST(test_dataset_of_any_inputs)
{
    static const int32_t every_third[] = { 30, 33, 36, 39 };
    struct dataset_chunk *chunks = NULL;
    struct dataset *dataset = NULL;
    struct sample_set *set = NULL;
    char folder[64], pattern[128];
    int32_t numbers[30];
    uint32_t n_inputs = 0;
    size_t n = 0;

    folder_make(folder, sizeof folder);
    (void)snprintf(pattern, sizeof pattern, "%s/train-*.recordio", folder);
    write_text(folder, "data.json", DESCRIPTION);
    write_records(folder, "train-0.recordio", 0, 20, 100);
    write_records(folder, "train-1.recordio", 20, 30, 1000);
    write_records(folder, "test-0.recordio", 30, 41, 100);
    for (int32_t i = 0; i < 30; i++)
        numbers[i] = i;
    assert_int_equal(dataset_open(pattern, &dataset, NULL), 0);
    assert_memory_equal(dataset_inputs(dataset, &n_inputs), inputs, sizeof inputs);
    assert_int_equal(n_inputs, N_INPUTS);
    assert_int_equal(dataset_ngram(dataset), 0);
    assert_int_equal(dataset_train_chunks(dataset, &chunks, &n, NULL), 0);
    assert_true(n > 3);
    assert_int_equal(dataset_samples(dataset, chunks, n, &set, NULL), 0);
    check_numbers(set, numbers, 30);
    assert_int_equal(dataset_samples(dataset, chunks + n - 1, 1, &set, NULL), 0);
    check_numbers(set, numbers + 20, 10);
    assert_int_equal(dataset_held_out_samples(dataset, 4, &set, NULL), 0);
    check_numbers(set, every_third, 4);
    dataset_chunks_free(chunks, n);
    (void)dataset_free(dataset);
    folder_remove(folder);
}

TEST(test_damaged_record_is_named_with_file_and_chunk)
{
    const struct input_spec narrow[] = { { "id", INPUT_INTEGER, 3 }, inputs[1], inputs[2] };
    struct sample_set *set = sample_set_new(narrow, N_INPUTS);
    struct edl_error error = { 0 };
    char folder[64], path[128];
    size_t count = 0;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/a", folder);
    write_records(folder, "a", 0, 20, 1000);
    assert_int_equal(sample_set_read(set, path, 0, 1, &count, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "/a at 0, record 3: input \"id\" at byte 0: id 3 is"));
    assert_int_equal(sample_set_n(set), 3);
    (void)sample_set_free(set);
    folder_remove(folder);
}
