/* SPDX-License-Identifier: Apache-2.0 */
/* data_fixture.h - samples of three inputs, each known by its number */
#pragma once

#include <stdio.h>

#include "trainer/data/sample.h"
#include "trainer_fixture.h"

static const struct input_spec inputs[] = {
    { "id", INPUT_INTEGER, 10 },
    { "title", INPUT_SEQUENCE, 5 },
    { "pixels", INPUT_DENSE, 2 },
};

enum { N_INPUTS = ELEMENTS(inputs) };

/* Sample number i: its title has i % 3 + 1 ids. */
static inline void encode(int32_t i, struct sample_record *record)
{
    const int32_t id = i % 10, title[] = { i % 5, 4, 0 };
    const float pixels[] = { (float)i, -0.5f };
    const struct sample_value values[N_INPUTS] = {
        { .ids = &id },
        { .ids = title, .n_ids = (uint32_t)i % 3 + 1 },
        { .values = pixels },
    };

    assert_int_equal(sample_encode(inputs, N_INPUTS, values, record, NULL), 0);
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* What data.json says of these inputs. */
#define DESCRIPTION                                                                                \
    "{\"inputs\": [{\"name\": \"id\", \"kind\": \"integer\", \"size\": 10},\n"                     \
    " {\"name\": \"title\", \"kind\": \"integer_sequence\", \"size\": 5},\n"                       \
    " {\"name\": \"pixels\", \"kind\": \"dense\", \"size\": 2}], \"more\": 1}"
