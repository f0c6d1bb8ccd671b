/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_sample.c - records of any inputs, and the file that describes them */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "data_fixture.h"
#include "tests/unit/test.h"
#include "trainer/data/description.h"

TEST(test_record_has_the_bytes_that_are_promised)
{
    static const uint8_t bytes[] = { 7, 0, 0, 0, 2, 0, 0,    0,    2, 0, 0, 0,
                                     4, 0, 0, 0, 0, 0, 0xe0, 0x40, 0, 0, 0, 0xbf };
    struct sample_record record = { 0 };
    uint32_t counts[N_INPUTS] = { 9, 9, 9 };

    encode(7, &record);
    assert_int_equal(record.size, sizeof bytes);
    assert_memory_equal(record.bytes, bytes, sizeof bytes);
    assert_int_equal(sample_check(inputs, N_INPUTS, bytes, sizeof bytes, counts, NULL), 0);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[2], 0);
    free(record.bytes);
}

TEST(test_records_of_words_are_those_of_a_corpus)
{
    const struct input_spec words[3] = { { "a", INPUT_INTEGER, 300 },
                                         { "b", INPUT_INTEGER, 300 },
                                         { "c", INPUT_INTEGER, 300 } };
    const int32_t sample[3] = { 1, 299, 0 };
    const struct sample_value values[3] = { { .ids = &sample[0] },
                                            { .ids = &sample[1] },
                                            { .ids = &sample[2] } };
    struct sample_record record = { 0 };
    int32_t back[3];

    assert_int_equal(sample_encode(words, 3, values, &record, NULL), 0);
    assert_int_equal(record.size, sizeof sample);
    assert_memory_equal(record.bytes, sample, sizeof sample);
    sample_integers(record.bytes, 3, back);
    assert_memory_equal(back, sample, sizeof sample);
    free(record.bytes);
}

/* Two places of two values: their number, and the values as they come. */
TEST(test_a_sequence_of_values)
{
    const struct input_spec frames = { "frames", INPUT_DENSE_SEQUENCE, 2 };
    const float floats[] = { 1, 2, 3, -0.5f };
    const struct sample_value value = { .values = floats, .n_ids = 2 };
    struct sample_record record = { 0 };
    struct edl_error error = { 0 };
    uint32_t count = 77;

    assert_int_equal(sample_encode(&frames, 1, &value, &record, NULL), 0);
    assert_int_equal(record.size, 4 + sizeof floats);
    assert_int_equal(record.bytes[0], 2);
    assert_memory_equal(record.bytes + 4, floats, sizeof floats);
    assert_int_equal(sample_check(&frames, 1, record.bytes, record.size, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(sample_check(&frames, 1, record.bytes, record.size - 1, NULL, &error),
                     EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "\"frames\" at byte 12 needs 8 bytes, but 7 are left"));
    memset(record.bytes + 16, 0xff, 4);
    assert_int_equal(sample_check(&frames, 1, record.bytes, record.size, NULL, &error),
                     EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "is not finite"));
    free(record.bytes);
}

static void put_word(uint8_t *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof value);
}

/* One word of a good record is replaced, or its end is moved. */
TEST(test_every_wrong_byte_is_named)
{
    static const struct {
        size_t at;
        uint32_t value;
        size_t size;
        const char *says;
    } wrong[] = {
        { 0, 10, 24, "input \"id\" at byte 0: id 10 is outside 0 to 9" },
        { 0, UINT32_MAX, 24, "input \"id\" at byte 0: id -1 is outside 0 to 9" },
        { 4, 0, 24, "input \"title\" at byte 4: a sequence of 0;" },
        { 4, 65537, 24, "input \"title\" at byte 4: a sequence of 65537;" },
        { 4, UINT32_MAX, 24, "a sequence of 4294967295;" },
        { 4, 5, 24, "input \"title\" at byte 8 needs 20 bytes, but 16 are left" },
        { 4, 1, 24, "a record of 24 bytes, but its sample ends at 20" },
        { 4, 3, 24, "input \"title\" at byte 16: id 1088421888 is outside 0 to 4" },
        { 8, 5, 24, "input \"title\" at byte 8: id 5 is outside 0 to 4" },
        { 16, 0x7f800000, 24, "input \"pixels\" at byte 16: value 0 is not finite" },
        { 20, 0x7fc00000, 24, "input \"pixels\" at byte 20: value 1 is not finite" },
        { 0, 7, 23, "input \"pixels\" at byte 16 needs 8 bytes, but 7 are left" },
        { 0, 7, 7, "input \"title\" at byte 4 needs 4 bytes, but 3 are left" },
        { 0, 7, 3, "input \"id\" at byte 0 needs 4 bytes, but 3 are left" },
        { 0, 7, 0, "input \"id\" at byte 0 needs 4 bytes, but 0 are left" },
        { 0, 7, 25, "a record of 25 bytes, but its sample ends at 24" },
    };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct sample_record good = { 0 };
        struct edl_error error = { 0 };
        uint32_t counts[N_INPUTS] = { 77, 77, 77 };
        uint8_t *record = xcalloc(wrong[i].size, 1), whole[32] = { 0 };
        int r;

        encode(7, &good);
        memcpy(whole, good.bytes, good.size);
        put_word(whole, wrong[i].at, wrong[i].value);
        memcpy(record, whole, wrong[i].size);
        r = sample_check(inputs, N_INPUTS, record, wrong[i].size, counts, &error);
        if (r != EDL_ECORRUPT || strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %d %s", wrong[i].says, r, error.text);
        assert_int_equal(counts[1], 77); /* a failure writes nothing */
        free(record);
        free(good.bytes);
    }
}

TEST(test_encode_refuses_what_no_reader_would_take)
{
    const int32_t good = 1, high = 10, low = -1;
    const float finite[2] = { 0, 1 }, nan[2] = { 0, NAN };
    const struct {
        const char *says;
        struct sample_value values[N_INPUTS];
    } wrong[] = {
        { "input \"id\": id 10 ", { { &high, 0, NULL }, { &good, 1, NULL }, { NULL, 0, finite } } },
        { "input \"id\": id -1 ", { { &low, 0, NULL }, { &good, 1, NULL }, { NULL, 0, finite } } },
        { "input \"title\": a sequence of 0;",
          { { &good, 0, NULL }, { &good, 0, NULL }, { NULL, 0, finite } } },
        { "input \"title\": a sequence of 65537;",
          { { &good, 0, NULL }, { &good, 65537, NULL }, { NULL, 0, finite } } },
        { "input \"title\": id 10 ",
          { { &good, 0, NULL }, { &high, 1, NULL }, { NULL, 0, finite } } },
        { "input \"pixels\": value 1 is not finite",
          { { &good, 0, NULL }, { &good, 1, NULL }, { NULL, 0, nan } } },
    };
    struct sample_record record = { 0 };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct edl_error error = { 0 };

        assert_int_equal(sample_encode(inputs, N_INPUTS, wrong[i].values, &record, &error),
                         -EINVAL);
        if (strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %s", wrong[i].says, error.text);
    }
    free(record.bytes);
}

TEST(test_descriptions_that_are_wrong)
{
#define ONE(name, kind, size) "{\"name\":" name ",\"kind\":" kind ",\"size\":" size "}"
    static const struct {
        const char *text, *says;
    } wrong[] = {
        { "{\n\n x", "F line 3: " },
        { "[]", "F is not a JSON object" },
        { "{}", "F: /inputs is not an array of 1 to 32 inputs" },
        { "{\"inputs\":[]}", "F: /inputs is not" },
        { "{\"inputs\":7}", "F: /inputs is not" },
        { "{\"inputs\":[7]}", "F: /inputs/0/name is not a text of 1 to 63" },
        { "{\"inputs\":[" ONE("\"\"", "\"dense\"", "1") "]}", "F: /inputs/0/name" },
        { "{\"inputs\":[" ONE("\"a\"", "\"dens\"", "1") "]}",
          "F: /inputs/0/kind of \"a\" is \"dens\", not integer, dense" },
        { "{\"inputs\":[" ONE("\"a\"", "3", "1") "]}", "F: /inputs/0/kind" },
        { "{\"inputs\":[" ONE("\"a\"", "\"dense\"", "0") "]}", "F: /inputs/0/size of \"a\"" },
        { "{\"inputs\":[" ONE("\"a\"", "\"dense\"", "1.5") "]}", "F: /inputs/0/size" },
        { "{\"inputs\":[" ONE("\"a\"", "\"dense\"", "4294967297") "]}", "F: /inputs/0/size" },
        { "{\"inputs\":[" ONE("\"a\"", "\"dense\"", "1048577") "]}",
          "F: input \"a\": size 1048577 is outside 1 to 1048576" },
        { "{\"inputs\":[" ONE("\"a\"", "\"integer\"", "1") "," ONE("\"a\"", "\"dense\"", "1") "]}",
          "F: two inputs have the name \"a\"" },
        { "{\"inputs\":[1],\"inputs\":[2]}", "F line 1: " },
    };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct description description = { .n_inputs = 77 };
        struct edl_error error = { 0 };
        int r = description_parse(wrong[i].text, strlen(wrong[i].text), "F", &description, &error);

        if (r != EDL_ECORRUPT || strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %d %s", wrong[i].text, r, error.text);
        assert_int_equal(description.n_inputs, 77);
    }
}

TEST(test_corpus_is_described_by_its_own_file)
{
    static const char good[] = "{\"ngram\": 5, \"vocabulary\": 63, \"words\": 7}";
    static const char *const wrong[] = { "{}", "{\"ngram\":1,\"vocabulary\":63}",
                                         "{\"ngram\":33,\"vocabulary\":63}",
                                         "{\"ngram\":5,\"vocabulary\":0}",
                                         "{\"ngram\":5,\"vocabulary\":16777217}" };
    struct description description = { 0 };

    assert_int_equal(description_parse_corpus(good, strlen(good), "F", &description, NULL), 0);
    assert_int_equal(description.n_inputs, 5);
    assert_int_equal(description_words(&description), 5);
    assert_string_equal(description.inputs[4].name, "word_5");
    assert_int_equal(description.inputs[4].kind, INPUT_INTEGER);
    assert_int_equal(description.inputs[4].size, 63);
    description.inputs[3].size = 62;
    assert_int_equal(description_words(&description), 0);
    for (size_t i = 0; i < ELEMENTS(wrong); i++)
        assert_int_equal(description_parse_corpus(wrong[i], strlen(wrong[i]), "F", &description,
                                                  NULL),
                         EDL_ECORRUPT);
}

TEST(test_folder_without_a_description_has_no_data)
{
    struct description description = { 0 };
    struct edl_error error = { 0 };
    char folder[64];

    folder_make(folder, sizeof folder);
    assert_int_equal(description_read(folder, &description, &error), -ENOMEDIUM);
    assert_non_null(strstr(error.remedy, "edl-trainer data NAME --out "));
    write_text(folder, "corpus.json", "{\"ngram\": 3, \"vocabulary\": 9}");
    assert_int_equal(description_read(folder, &description, NULL), 0);
    assert_int_equal(description.n_inputs, 3);
    write_text(folder, "data.json", DESCRIPTION); /* goes before the other */
    assert_int_equal(description_read(folder, &description, NULL), 0);
    assert_string_equal(description.inputs[1].name, "title");
    write_text(folder, "data.json", "{");
    assert_int_equal(description_read(folder, &description, NULL), EDL_ECORRUPT);
    folder_remove(folder);
}
